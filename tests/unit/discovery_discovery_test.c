/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/discovery.h"

#include "base/banned.h"
#include "tap.h"

static const str shorts[] = { STR_INIT("w"), STR_INIT("wi") };
static const str all[] = { STR_INIT("all") };
static const struct subresource widget_subs[] = {
    { .name = STR_INIT("scale"),
      .verbs = VERBS_STATUS,
      .group = STR_INIT("autoscaling"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Scale") },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

#define KIND(g, v, k, p, s, ns)                                                               \
    .group = STR_INIT(g), .version = STR_INIT(v), .kind = STR_INIT(k), .plural = STR_INIT(p), \
    .singular = STR_INIT(s), .namespaced = ns, .list_kind = STR_INIT(k "List")

static const struct kind kinds[] = {
    { KIND("", "v1", "Secret", "secrets", "secret", true), .verbs = VERBS_ALL,
      .storage = &kinds[0] },
    { KIND("", "v1", "Namespace", "namespaces", "namespace", false),
      .verbs = VERBS_ALL & ~VERB_DELETE_COLLECTION, .storage = &kinds[1] },
    { KIND("x.io", "v1beta1", "Widget", "widgets", "widget", true), .verbs = VERBS_ALL,
      .storage = &kinds[4] },
    { KIND("x.io", "v1", "Widget", "widgets", "widget", true), .verbs = VERBS_ALL,
      .short_names = shorts, .nshort_names = 2, .categories = all, .ncategories = 1,
      .subresources = widget_subs, .nsubresources = 2, .storage = &kinds[4] },
    { KIND("x.io", "v2", "Widget", "widgets", "widget", true), .verbs = VERBS_ALL,
      .storage = &kinds[4] },
    { KIND("x.io", "v1", "Review", "reviews", "review", false), .verbs = VERB_CREATE,
      .storage = &kinds[5] },
    { KIND("a.io", "v1alpha1", "Gear", "gears", "gear", false), .verbs = VERBS_ALL, .schema_id = 7,
      .storage = &kinds[6] }, /* a CRD's, */
    { KIND("a.io", "v1alpha2", "Gear", "gears", "gear", false), .verbs = VERBS_ALL, .schema_id = 8,
      .storage = &kinds[6] }, /* and its other version */
};

static const struct kind *const list[] = { &kinds[0], &kinds[1], &kinds[2], &kinds[3],
                                           &kinds[4], &kinds[5], &kinds[6] };
static const struct catalog catalog = { .kinds = list, .nkinds = 7, .etag = 1 };
static const struct catalog empty = { .etag = 2 };
static const struct kind *const of_another_version[] = { &kinds[7] };
static const struct catalog other = { .kinds = of_another_version, .nkinds = 1, .etag = 3 };

static const char *text(struct arena *a, const struct json *v)
{
    return v ? str_z(a, json_text(a, v)) : "null";
}

TEST(versions_by_preference)
{
    static const char *const order[] = { "v10",      "v2",      "v1",        "v11beta2",
                                         "v10beta3", "v3beta1", "v12alpha1", "v11alpha2",
                                         "foo1",     "foo10",   "v1x",       "v1zeta1" };
    size_t n = sizeof(order) / sizeof(*order);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            int got = discovery_version_cmp(str_of(order[i]), str_of(order[k]));

            if (!CHECK(i < k ? got < 0 : i > k ? got > 0 : got == 0))
                printf("# %s %s\n", order[i], order[k]);
        }
    }
}

TEST(api)
{
    scoped_arena a = arena_new();

    CHECK_STR(text(a, discovery_api(a, &catalog, STR_NONE)),
              "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}");
    CHECK_STR(text(a, discovery_api(a, &catalog, STR("192.0.2.1:6443"))),
              "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":["
              "{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"192.0.2.1:6443\"}]}");
}

TEST(groups)
{
    scoped_arena a = arena_new();
    const struct json *v = discovery_apis(a, &catalog);
    const struct json *x = json_at(json_get(v, STR("groups")), 1); /* others are by name */

    CHECK_STR(str_z(a, json_get_str(v, "kind")), "APIGroupList");
    CHECK_STR(str_z(a, json_get_str(v, "apiVersion")), "v1");
    CHECK(json_len(json_get(v, STR("groups"))) == 2); /* the core group is not among them */
    CHECK_STR(text(a, x),
              "{\"name\":\"x.io\",\"versions\":["
              "{\"groupVersion\":\"x.io/v2\",\"version\":\"v2\"},"
              "{\"groupVersion\":\"x.io/v1\",\"version\":\"v1\"},"
              "{\"groupVersion\":\"x.io/v1beta1\",\"version\":\"v1beta1\"}],"
              "\"preferredVersion\":{\"groupVersion\":\"x.io/v2\",\"version\":\"v2\"}}");
    CHECK_STR(text(a, discovery_group(a, &catalog, STR("a.io"))),
              "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"a.io\",\"versions\":["
              "{\"groupVersion\":\"a.io/v1alpha1\",\"version\":\"v1alpha1\"}],"
              "\"preferredVersion\":{\"groupVersion\":\"a.io/v1alpha1\","
              "\"version\":\"v1alpha1\"}}");
    CHECK(!discovery_group(a, &catalog, STR("b.io")));
    CHECK(!discovery_group(a, &catalog, STR("")));
}

TEST(resources)
{
    scoped_arena a = arena_new();

    CHECK_STR(text(a, discovery_resources(a, &catalog, STR("x.io"), STR("v1"))),
              "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"x.io/v1\","
              "\"resources\":["
              "{\"name\":\"reviews\",\"singularName\":\"review\",\"namespaced\":false,"
              "\"kind\":\"Review\",\"verbs\":[\"create\"]},"
              "{\"name\":\"widgets\",\"singularName\":\"widget\",\"namespaced\":true,"
              "\"kind\":\"Widget\",\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\","
              "\"list\",\"patch\",\"update\",\"watch\"],\"shortNames\":[\"w\",\"wi\"],"
              "\"categories\":[\"all\"],\"storageVersionHash\":\"syLu1MfDJX4=\"},"
              "{\"name\":\"widgets/scale\",\"singularName\":\"\",\"namespaced\":true,"
              "\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\","
              "\"verbs\":[\"get\",\"patch\",\"update\"]},"
              "{\"name\":\"widgets/status\",\"singularName\":\"\",\"namespaced\":true,"
              "\"kind\":\"Widget\",\"verbs\":[\"get\",\"patch\",\"update\"]}]}");
    CHECK_STR(
        text(a, discovery_resources(a, &catalog, STR(""), STR("v1"))),
        "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["
        "{\"name\":\"namespaces\",\"singularName\":\"namespace\",\"namespaced\":false,"
        "\"kind\":\"Namespace\",\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"patch\","
        "\"update\",\"watch\"],\"storageVersionHash\":\"Q3oi5N2YM8M=\"},"
        "{\"name\":\"secrets\",\"singularName\":\"secret\",\"namespaced\":true,"
        "\"kind\":\"Secret\",\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\","
        "\"list\",\"patch\",\"update\",\"watch\"],\"storageVersionHash\":\"S6u1pOWzb84=\"}]}");
    CHECK_STR(
        text(a, discovery_resources(a, &catalog, STR("a.io"), STR("v1alpha1"))),
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\","
        "\"groupVersion\":\"a.io/v1alpha1\",\"resources\":["
        "{\"name\":\"gears\",\"singularName\":\"gear\",\"namespaced\":false,"
        "\"kind\":\"Gear\",\"verbs\":[\"delete\",\"deletecollection\",\"get\",\"list\","
        "\"patch\",\"create\",\"update\",\"watch\"],\"storageVersionHash\":\"y4PbzLCRh5E=\"}]}");
    CHECK(!strstr(text(a, discovery_resources(a, &other, STR("a.io"), STR("v1alpha2"))), "Hash"));
    CHECK(!discovery_resources(a, &catalog, STR("x.io"), STR("v3")));
    CHECK(!discovery_resources(a, &catalog, STR("b.io"), STR("v1")));
}

TEST(aggregated)
{
    scoped_arena a = arena_new();
    const struct json *core = discovery_aggregated(a, &catalog, true, STR("v2")),
                      *rest = discovery_aggregated(a, &catalog, false, STR("v2beta1")), *items, *v1;

    CHECK_STR(str_z(a, json_get_str(core, "apiVersion")), "apidiscovery.k8s.io/v2");
    CHECK_STR(str_z(a, json_get_str(core, "kind")), "APIGroupDiscoveryList");
    items = json_get(core, STR("items"));
    REQUIRE(json_len(items) == 1);
    CHECK(json_len(json_get(json_at(items, 0), STR("metadata"))) == 0);

    CHECK_STR(str_z(a, json_get_str(rest, "apiVersion")), "apidiscovery.k8s.io/v2beta1");
    items = json_get(rest, STR("items"));
    REQUIRE(json_len(items) == 2);
    CHECK_STR(str_z(a, json_get_str(json_at(items, 1), "metadata.name")), "x.io");
    v1 = json_at(json_get(json_at(items, 1), STR("versions")), 1);
    CHECK_STR(str_z(a, json_get_str(v1, "version")), "v1");
    CHECK_STR(str_z(a, json_get_str(v1, "freshness")), "Current");
    CHECK_STR(text(a, json_at(json_get(v1, STR("resources")), 1)),
              "{\"resource\":\"widgets\",\"responseKind\":{\"group\":\"\",\"version\":\"\","
              "\"kind\":\"Widget\"},\"scope\":\"Namespaced\",\"singularResource\":\"widget\","
              "\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\","
              "\"update\",\"watch\"],\"shortNames\":[\"w\",\"wi\"],\"categories\":[\"all\"],"
              "\"subresources\":[{\"subresource\":\"scale\",\"responseKind\":{"
              "\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"},"
              "\"verbs\":[\"get\",\"patch\",\"update\"]},{\"subresource\":\"status\","
              "\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"Widget\"},"
              "\"verbs\":[\"get\",\"patch\",\"update\"]}]}");
}

static bool has_path(const struct json *v, const char *path)
{
    json_for_each (p, json_get(v, STR("paths"))) {
        if (str_is(json_str(p), path))
            return true;
    }
    return false;
}

TEST(paths)
{
    scoped_arena a = arena_new();
    const struct json *v = discovery_paths(a, &catalog), *list_ = json_get(v, STR("paths"));

    CHECK(has_path(v, "/api") && has_path(v, "/api/v1") && has_path(v, "/apis"));
    CHECK(has_path(v, "/apis/x.io") && has_path(v, "/apis/x.io/v1beta1"));
    CHECK(has_path(v, "/healthz") && has_path(v, "/openapi/v2") && has_path(v, "/openapi/v3"));
    CHECK(has_path(v, "/version") && !has_path(v, "/apis/"));
    for (size_t i = 1; i < json_len(list_); i++)
        CHECK(str_cmp(json_str(json_at(list_, i - 1)), json_str(json_at(list_, i))) < 0);
}

TEST(an_empty_catalog_is_fine)
{
    scoped_arena a = arena_new();

    CHECK_STR(text(a, discovery_apis(a, &empty)),
              "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[]}");
    CHECK(json_len(json_get(discovery_aggregated(a, &empty, false, STR("v2")), STR("items"))) == 0);
    CHECK(!discovery_resources(a, &empty, STR(""), STR("v1")));
    CHECK(json_is(discovery_api(a, &empty, STR_NONE), JSON_OBJECT));
}
