/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* LimitRanges, as kube-apiserver's LimitRanger words them. */

#define NS "/api/v1/namespaces/default/"

static void make_range(struct host *h, const char *name, const char *items)
{
    struct ask *a = ask(h, "POST", NS "limitranges");
    const char *body = arena_printf(
        h->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"limits\":[%s]}}", name, items);

    CHECK_STR(code_of(ask_body(a, body)), "201");
}

/* The message, or what the container's resources became. */
static const char *make_pod(struct host *h, const char *name, const char *resources)
{
    struct ask *a = ask(h, "POST", NS "pods");
    const char *code, *out;

    code = answer(ask_body(a, arena_printf(h->arena,
                                           "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                                           "\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                                           "\"resources\":{%s}}]}}",
                                           name, resources)));
    if (strcmp(code, "201") == 0) {
        const struct json *v = NULL;
        struct status st;

        status_init(&st, h->arena);
        CHECK(json_parse(h->arena, buf_str(&a->text), NULL, &v, &st) == 0);
        out = str_z(h->arena,
                    json_text(h->arena, json_get(json_at(json_path(v, "spec.containers"), 0),
                                                 STR("resources"))));
    } else {
        out = answer_field(a, "message");
    }
    ask_free(a);
    return out;
}

TEST(containers_get_what_they_do_not_say)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    make_range(h, "r",
               "{\"type\":\"Container\",\"default\":{\"cpu\":\"200m\",\"memory\":\"1Gi\"},"
               "\"defaultRequest\":{\"cpu\":\"100m\"}}");
    CHECK_STR(make_pod(h, "a", ""),
              "{\"limits\":{\"cpu\":\"200m\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"100m\","
              "\"memory\":\"1Gi\"}}");
    a = ask(h, "GET", NS "pods/a");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "metadata.annotations"),
              "{\"kubernetes.io/limit-ranger\":\"LimitRanger plugin set: cpu, memory request for "
              "container c; cpu, memory limit for container c\"}");
    ask_free(a);
    /* A limit that is said is the request, too. */
    CHECK_STR(make_pod(h, "b", "\"limits\":{\"cpu\":\"150m\"}"),
              "{\"limits\":{\"cpu\":\"150m\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"150m\","
              "\"memory\":\"1Gi\"}}");
    CHECK_STR(make_pod(h, "c", "\"requests\":{\"cpu\":\"10m\",\"memory\":\"2Mi\"}"),
              "{\"limits\":{\"cpu\":\"200m\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"10m\","
              "\"memory\":\"2Mi\"}}");
    host_free(h);
}

TEST(containers_stay_within_bounds)
{
    struct host *h = host_new(0, 0);

    make_range(h, "r",
               "{\"type\":\"Container\",\"min\":{\"cpu\":\"100m\"}},"
               "{\"type\":\"Pod\",\"max\":{\"memory\":\"1Gi\"}}");
    CHECK_STR(
        make_pod(h, "low", "\"requests\":{\"cpu\":\"50m\"},\"limits\":{\"memory\":\"1Gi\"}"),
        "pods \"low\" is forbidden: minimum cpu usage per Container is 100m, but request is 50m");
    CHECK_STR(make_pod(h, "big", "\"requests\":{\"cpu\":\"100m\"},\"limits\":{\"memory\":\"2Gi\"}"),
              "pods \"big\" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi");
    CHECK_STR(
        make_pod(h, "none", "\"requests\":{\"cpu\":\"50m\"}"),
        "pods \"none\" is forbidden: [minimum cpu usage per Container is 100m, but request is "
        "50m, maximum memory usage per Pod is 1Gi.  No limit is specified]");
    host_free(h);
}

static const char *resize(struct host *h, const char *resources)
{
    struct ask *a = ask(h, "PATCH", NS "pods/a/resize");
    const char *code, *out;

    ask_header(a, "content-type", "application/strategic-merge-patch+json");
    code = answer(ask_body(a, arena_printf(h->arena,
                                           "{\"spec\":{\"containers\":[{\"name\":\"c\","
                                           "\"resources\":{%s}}]}}",
                                           resources)));
    out = strcmp(code, "200") == 0 ? code : answer_field(a, "message");
    ask_free(a);
    return out;
}

TEST(a_resize_stays_within_bounds_too)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_pod(h, "a", "\"requests\":{\"cpu\":\"200m\"}"),
              "{\"requests\":{\"cpu\":\"200m\"}}");
    make_range(h, "r",
               "{\"type\":\"Container\",\"min\":{\"cpu\":\"100m\"},"
               "\"max\":{\"cpu\":\"500m\"},\"default\":{\"cpu\":\"400m\"}}");
    CHECK_STR(resize(h, "\"requests\":{\"cpu\":\"50m\"}"),
              "pods \"a\" is forbidden: minimum cpu usage per Container is 100m, but request is "
              "50m");
    CHECK_STR(resize(h, "\"limits\":{\"cpu\":\"600m\"}"),
              "pods \"a\" is forbidden: maximum cpu usage per Container is 500m, but limit is "
              "600m");
    CHECK_STR(resize(h, "\"requests\":{\"cpu\":\"300m\"}"), "200");
    a = ask(h, "GET", NS "pods/a");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "metadata.annotations"), "");
    ask_free(a);
    host_free(h);
}

TEST(what_a_pod_says_of_itself_counts)
{
    struct host *h = host_new(0, 0);
    static const char whole[] = "}}],\"resources\":{\"limits\":{\"memory\":\"%s\"}},"
                                "\"hostAliases\":[{\"ip\":\"1.2.3.4\",\"x\":{";

    make_range(h, "r", "{\"type\":\"Pod\",\"max\":{\"memory\":\"1Gi\"}}");
    CHECK_STR(make_pod(h, "a", arena_printf(h->arena, whole, "2Gi")),
              "pods \"a\" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi");
    CHECK_STR(make_pod(h, "b", arena_printf(h->arena, whole, "1Gi")), "{}");
    host_free(h);
}

TEST(limits_are_not_too_far_above_requests)
{
    struct host *h = host_new(0, 0);

    make_range(h, "r", "{\"type\":\"Pod\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}");
    CHECK_STR(make_pod(h, "a", "\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"3\"}"),
              "pods \"a\" is forbidden: cpu max limit to request ratio per Pod is 2, but provided "
              "ratio is 3.000000");
    CHECK_STR(
        make_pod(h, "b", ""),
        "pods \"b\" is forbidden: cpu max limit to request ratio per Pod is 2, but no request "
        "is specified or request is 0");
    CHECK_STR(make_pod(h, "c", "\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}"),
              "{\"limits\":{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"1\"}}");
    host_free(h);
}

static const char *make_claim(struct host *h, const char *size)
{
    struct ask *a = ask(h, "POST", NS "persistentvolumeclaims");
    const char *code, *text;

    code = answer(ask_body(a, arena_printf(h->arena,
                                           "{\"metadata\":{\"name\":\"v\"},\"spec\":{"
                                           "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                                           "\"requests\":{\"storage\":\"%s\"}}}}",
                                           size)));
    text = strcmp(code, "201") == 0 ? code : answer_field(a, "message");
    ask_free(a);
    return text;
}

TEST(claims_stay_within_bounds)
{
    struct host *h = host_new(0, 0);

    make_range(h, "r",
               "{\"type\":\"PersistentVolumeClaim\",\"min\":{\"storage\":\"1Gi\"},"
               "\"max\":{\"storage\":\"5Gi\"}}");
    CHECK_STR(make_claim(h, "1Mi"),
              "persistentvolumeclaims \"v\" is forbidden: minimum storage usage per "
              "PersistentVolumeClaim is 1Gi, but request is 1Mi");
    CHECK_STR(make_claim(h, "6Gi"),
              "persistentvolumeclaims \"v\" is forbidden: maximum storage usage per "
              "PersistentVolumeClaim is 5Gi, but request is 6Gi");
    CHECK_STR(make_claim(h, "5Gi"), "201");
    host_free(h);
}

TEST(what_several_ranges_say_is_told_once)
{
    struct host *h = host_new(0, 0);
    static const char *const item = "{\"type\":\"Container\",\"max\":{\"cpu\":\"1\"}}";

    make_range(h, "a", item);
    make_range(h, "b", item);
    CHECK_STR(make_pod(h, "p", "\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}"),
              "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
    host_free(h);
}

TEST(a_range_without_a_name_gets_one)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "POST", NS "limitranges");

    CHECK_STR(answer(ask_body(a, "{\"spec\":{\"limits\":[]}}")), "201");
    CHECK(strlen(answer_field(a, "metadata.name")) == 36);
    ask_free(a);
    host_free(h);
}
