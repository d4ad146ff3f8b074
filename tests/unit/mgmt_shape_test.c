/* SPDX-License-Identifier: Apache-2.0 */

/* Objects as messages: metadata, clusters, instances, and pages of them. */

#include "mgmt/cluster.h"
#include "mgmt/instance.h"
#include "tap.h"

static struct arena *arena;

static const struct json *tree(const char *text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, arena);
    CHECK(json_parse(arena, str_of(text), NULL, &v, &st) == 0);
    return v;
}

static const char *text_at(const struct json *v, const char *path)
{
    const struct json *at = json_path(v, path);

    return at ? str_z(arena, json_text(arena, at)) : "nothing";
}

TEST(metadata)
{
    struct json m;

    arena = arena_new();
    m = mgmt_metadata(arena, tree("{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
                                  "\"1970-01-01T00:01:00Z\",\"managedFields\":[{}],"
                                  "\"annotations\":{\"x\":\"y\",\"shadow.clusterpedia.io/"
                                  "cluster-name\":\"k-a\"},\"ownerReferences\":[{\"uid\":\"u\","
                                  "\"controller\":true,\"kind\":\"X\"}]}}"));
    CHECK_STR(text_at(&m, "creationTimestamp"), "60");
    CHECK_STR(text_at(&m, "annotations"), "{\"x\":\"y\"}");
    CHECK_STR(text_at(&m, "ownerReferences"), "[{\"uid\":\"u\",\"controller\":true}]");
    CHECK_STR(text_at(&m, "managedFields"), "nothing");
    arena_free(arena);
}

TEST(phases_of_clusters)
{
    static const struct {
        const char *joined, *known, *want;
    } rows[] = {
        { NULL, "{\"status\":{\"phase\":\"Running\"}}", "\"RUNNING\"" },
        { NULL, "{\"status\":{\"phase\":\"Odd\"}}", "\"CREATING\"" },
        { "{}", NULL, "\"CREATING\"" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
          "{\"status\":{\"phase\":\"Failed\"}}", "\"RUNNING\"" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}", NULL,
          "\"FAILED\"" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}", NULL,
          "\"UNKNOWN\"" },
        { "{\"metadata\":{\"deletionTimestamp\":\"1970-01-01T00:01:00Z\"}}", NULL, "\"DELETING\"" },
    };

    arena = arena_new();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct json m = cluster_shape(arena, rows[i].joined ? tree(rows[i].joined) : NULL,
                                      rows[i].known ? tree(rows[i].known) : NULL);

        CHECK_STR(text_at(&m, "status.phase"), rows[i].want);
    }
    arena_free(arena);
}

TEST(clusters_have_words_of_both)
{
    struct json m;

    arena = arena_new();
    m = cluster_shape(arena,
                      tree("{\"metadata\":{\"name\":\"m\"},\"spec\":{\"provider\":\"x\",\"region\":"
                           "\"r\",\"zones\":[\"z1\",\"z2\"],\"taints\":[{\"key\":\"k\"}]}}"),
                      tree("{\"spec\":{\"provider\":\"aws_eks\",\"aliasName\":\"Me\","
                           "\"roles\":[\"WORKER\"]},\"status\":{\"podCIDR\":\"10.0.0.0/8\"}}"));
    CHECK_STR(text_at(&m, "spec.provider"), "\"AWS_EKS\"");
    CHECK_STR(text_at(&m, "spec.zone"), "\"z1\"");
    CHECK_STR(text_at(&m, "spec.aliasName"), "\"Me\"");
    CHECK_STR(text_at(&m, "spec.taints"), "[{\"key\":\"k\"}]");
    CHECK_STR(text_at(&m, "status.podCIDR"), "\"10.0.0.0/8\"");
    arena_free(arena);
}

TEST(clusters_are_filtered)
{
    static const struct {
        const char *request;
        bool takes;
    } rows[] = {
        { "{}", true },
        { "{\"region\":\"r\",\"phase\":\"running\"}", true },
        { "{\"region\":\"q\"}", false },
        { "{\"labelSelector\":\"a in (b,c)\"}", true },
        { "{\"labelSelector\":\"a=x\"}", false },
        { "{\"role\":[\"A\",\"WORKER\"]}", true },
        { "{\"role\":[\"A\"]}", false },
    };
    const struct json *message;
    const struct cluster_filter *f;
    struct status st;

    arena = arena_new();
    message = tree("{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"region\":\"r\","
                   "\"roles\":[\"WORKER\"]},\"status\":{\"phase\":\"RUNNING\"}}");
    status_init(&st, arena);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CHECK(cluster_filter_read(arena, tree(rows[i].request), &f, &st) == 0);
        CHECK(cluster_filter_takes(f, message) == rows[i].takes);
    }
    CHECK(cluster_filter_read(arena, tree("{\"labelSelector\":\"a=(\"}"), &f, &st) < 0);
    arena_free(arena);
}

TEST(instances_and_back)
{
    const struct json *obj;
    struct json m;

    arena = arena_new();
    obj = tree("{\"metadata\":{\"name\":\"i\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"alias\":\"I\","
               "\"release\":\"Orphan\"},\"status\":{\"state\":\"TERMINAL\"}}");
    m = instance_shape(arena, obj);
    CHECK_STR(text_at(&m, "metadata.annotations"), "{\"kairship.io/alias\":\"I\"}");
    CHECK_STR(text_at(&m, "metadata.labels"),
              "{\"a\":\"b\",\"karmada.install.io/disable-cascading-deletion\":\"true\"}");
    CHECK_STR(text_at(&m, "status.state"), "\"INSTANCE_STATE_TERMINAL\"");
    obj = instance_with(arena, obj,
                        tree("{\"annotations\":{\"kairship.io/description\":\"D\",\"x\":\"y\"},"
                             "\"labels\":{\"karmada.install.io/disable-cascading-deletion\":"
                             "\"false\"}}"));
    CHECK_STR(text_at(obj, "spec"), "{\"description\":\"D\"}"); /* "false" is no order */
    CHECK_STR(text_at(obj, "metadata.annotations"), "{\"x\":\"y\"}");
    CHECK_STR(text_at(obj, "metadata.labels"), "{}");
    m = instance_shape(arena, obj);
    CHECK_STR(text_at(&m, "metadata.labels"), "{}");
    obj = tree("{\"metadata\":{\"name\":\"i\"},\"spec\":{\"release\":\"Destroy\"}}");
    m = instance_shape(arena, obj);
    CHECK_STR(text_at(&m, "metadata.labels"),
              "{\"karmada.install.io/disable-cascading-deletion\":\"false\"}");
    obj = instance_with(arena, obj, tree(text_at(&m, "metadata")));
    CHECK_STR(text_at(obj, "spec"), "{\"release\":\"Destroy\"}");
    arena_free(arena);
}

static struct json name_of(struct arena *a, const struct json *obj)
{
    (void)a;
    return *json_path(obj, "metadata.name");
}

TEST(pages)
{
    static const struct {
        const char *request, *want;
    } rows[] = {
        { "{}", "[\"a1\",\"b\",\"c1\"]" },
        { "{\"pageSize\":2}", "[\"a1\",\"b\"]" },
        { "{\"pageSize\":2,\"page\":2}", "[\"c1\"]" },
        { "{\"pageSize\":2,\"page\":3}", "[]" },
        { "{\"page\":0,\"pageSize\":0}", "[\"a1\",\"b\",\"c1\"]" },
        { "{\"page\":-1}", "page: must not be negative" },
        { "{\"pageSize\":-1}", "pageSize: must not be negative; 0 shows all" },
        { "{\"name\":\"1\"}", "[\"a1\",\"c1\"]" },
        { "{\"sortBy\":\"field_name\"}", "[\"c1\",\"b\",\"a1\"]" },
        { "{\"sortBy\":\"field_name\",\"sortDir\":\"asc\"}", "[\"a1\",\"b\",\"c1\"]" },
        { "{\"sortBy\":\"created_at\",\"orderBy\":\"asc\"}", "[\"b\",\"c1\",\"a1\"]" },
    };

    arena = arena_new();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct json *objects[] = {
            tree("{\"metadata\":{\"name\":\"c1\",\"creationTimestamp\":\"2\"}}"),
            tree("{\"metadata\":{\"name\":\"a1\",\"creationTimestamp\":\"3\"}}"),
            tree("{\"metadata\":{\"name\":\"b\",\"creationTimestamp\":\"1\"}}"),
        };
        struct mgmt_page page;
        struct status st;

        status_init(&st, arena);
        if (mgmt_page_read(tree(rows[i].request), &page, &st) < 0) {
            CHECK_STR(str_z(arena, st.message), rows[i].want);
            continue;
        }
        CHECK_STR(text_at(mgmt_page_answer(arena, &page, objects, 3, name_of), "items"),
                  rows[i].want);
    }
    arena_free(arena);
}
