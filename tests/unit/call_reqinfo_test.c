/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/reqinfo.h"

#include "base/arena.h"
#include "base/banned.h"
#include "tap.h"

/* "verb|group|version|namespace|resource|name|subresource|rest", or "-verb|path" if no resource */
static const char *show(struct arena *a, const struct reqinfo *i)
{
    if (!i->is_resource)
        return arena_printf(a, "-%.*s|%.*s", STR_ARG(i->verb), STR_ARG(i->path));
    return arena_printf(a, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", STR_ARG(i->verb),
                        STR_ARG(i->group), STR_ARG(i->version), STR_ARG(i->namespace_),
                        STR_ARG(i->resource), STR_ARG(i->name), STR_ARG(i->subresource),
                        STR_ARG(i->rest));
}

static const char *parse(struct arena *a, const char *method, const char *path, const char *query)
{
    struct reqinfo i;
    struct status st;

    status_init(&st, a);
    if (reqinfo_parse(a, str_of(method), str_of(path), str_of(query), &i, &st) < 0)
        return arena_printf(a, "%d", status_http(&st));
    return show(a, &i);
}

TEST(paths_of_resources)
{
    static const struct {
        const char *method, *path, *query, *want;
    } rows[] = {
        { "GET", "/api/v1/namespaces/d/configmaps/x", "", "get||v1|d|configmaps|x||" },
        { "HEAD", "/api/v1/namespaces/d/configmaps/x", "", "get||v1|d|configmaps|x||" },
        { "GET", "/api/v1/namespaces/d/configmaps", "", "list||v1|d|configmaps|||" },
        { "GET", "/api/v1/namespaces/d/configmaps/", "", "list||v1|d|configmaps|||" },
        { "GET", "/api/v1/configmaps", "", "list||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "limit=5&watch=1", "watch||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "watch", "watch||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "watch=false", "list||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "watch=0", "list||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "watch=False&watch=1", "list||v1||configmaps|||" },
        { "GET", "/api/v1/configmaps", "w%61tch=true", "watch||v1||configmaps|||" },
        { "GET", "/api/v1/namespaces/d/configmaps/x", "watch=1", "get||v1|d|configmaps|x||" },
        { "POST", "/api/v1/namespaces/d/configmaps", "", "create||v1|d|configmaps|||" },
        { "PUT", "/api/v1/namespaces/d/configmaps/x", "", "update||v1|d|configmaps|x||" },
        { "PATCH", "/api/v1/namespaces/d/configmaps/x", "", "patch||v1|d|configmaps|x||" },
        { "DELETE", "/api/v1/namespaces/d/configmaps/x", "", "delete||v1|d|configmaps|x||" },
        { "DELETE", "/api/v1/namespaces/d/configmaps", "", "deletecollection||v1|d|configmaps|||" },
        { "OPTIONS", "/api/v1/namespaces/d/configmaps", "", "||v1|d|configmaps|||" },
        { "BREW", "/api/v1/namespaces/d/configmaps", "", "||v1|d|configmaps|||" },
        /* namespaces themselves: the attribute is their own name */
        { "GET", "/api/v1/namespaces", "", "list||v1||namespaces|||" },
        { "GET", "/api/v1/namespaces/d", "", "get||v1|d|namespaces|d||" },
        { "PUT", "/api/v1/namespaces/d/finalize", "", "update||v1|d|namespaces|d|finalize|" },
        { "GET", "/api/v1/namespaces/d/status", "", "get||v1|d|namespaces|d|status|" },
        /* groups, subresources, what follows them */
        { "GET", "/apis/apps/v1/deployments", "", "list|apps|v1||deployments|||" },
        { "PATCH", "/apis/apps/v1/namespaces/d/deployments/x/scale", "",
          "patch|apps|v1|d|deployments|x|scale|" },
        { "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:admin", "",
          "get|rbac.authorization.k8s.io|v1||clusterroles|system:admin||" },
        { "GET", "/apis/c.io/v1/clusters/m/proxy/api/v1/pods", "",
          "get|c.io|v1||clusters|m|proxy|api/v1/pods" },
        { "GET", "/apis/c.io/v1/namespaces/n/clusters/m/proxy/a/b/c/d/e/f/g/h", "",
          "get|c.io|v1|n|clusters|m|proxy|a/b/c/d/e/f/g/h" },
        /* the deprecated watch prefix */
        { "GET", "/api/v1/watch/configmaps", "", "watch||v1||configmaps|||" },
        { "GET", "/api/v1/watch/namespaces/d/configmaps/x", "", "watch||v1|d|configmaps|x||" },
        { "GET", "/apis/apps/v1/watch/namespaces/d/deployments", "",
          "watch|apps|v1|d|deployments|||" },
        { "POST", "/api/v1/watch/namespaces/d/configmaps", "", "||v1|d|configmaps|||" },
        { "GET", "/api/v1/watch", "", "list||v1||watch|||" },
        /* escapes, decoded once */
        { "GET", "/api/v1/namespaces/d/configmaps/a%2Eb", "", "get||v1|d|configmaps|a.b||" },
        { "GET", "/api/v1/namespaces/d/configmaps/a%252Fb", "", "get||v1|d|configmaps|a%2Fb||" },
        { "GET", "/api/v1/namespaces/d/configmaps/a+b", "", "get||v1|d|configmaps|a+b||" },
        { "GET", "/%61pi/v1/namespaces/d/configmaps/a", "", "get||v1|d|configmaps|a||" },
        { "GET", "/api/v1/namespaces/d/configmaps/%C3%A9", "", "get||v1|d|configmaps|\xc3\xa9||" },
        /* no resources */
        { "GET", "/", "", "-get|/" },
        { "GET", "/healthz", "", "-get|/healthz" },
        { "POST", "/api", "", "-post|/api" },
        { "GET", "/api/v1", "", "-get|/api/v1" },
        { "GET", "/api/v1/", "", "-get|/api/v1/" },
        { "GET", "/apis/apps/v1", "", "-get|/apis/apps/v1" },
        { "BREW", "/pot", "", "-brew|/pot" },
        { "GET", "/apix/v1/pods", "", "-get|/apix/v1/pods" },
        { "GET", "/api/v1//configmaps", "", "-get|/api/v1//configmaps" },
        { "GET", "/api/v1/namespaces//configmaps", "", "-get|/api/v1/namespaces//configmaps" },
        { "GET", "//api/v1/configmaps", "", "-get|//api/v1/configmaps" },
        { "GET", "/api/v1/configmaps//", "", "-get|/api/v1/configmaps//" },
        { "GET", "/apis/c.io/v1/namespaces/n/clusters/m/proxy/a/b/c/d//f", "",
          "-get|/apis/c.io/v1/namespaces/n/clusters/m/proxy/a/b/c/d//f" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(parse(a, rows[i].method, rows[i].path, rows[i].query), rows[i].want);
}

TEST(bad_paths_are_refused)
{
    static const char *const paths[] = {
        "",
        "api/v1",
        "*",
        "/api/v1/namespaces/../configmaps",
        "/api/v1/namespaces/./configmaps",
        "/api/v1/namespaces/d/configmaps/..",
        "/api/v1/namespaces/%2e%2e/configmaps",
        "/api/v1/namespaces/%2E/configmaps",
        "/api/v1/namespaces/d/configmaps/a%2Fb",
        "/api/v1/namespaces/d/configmaps/a%2fb",
        "/api/v1/namespaces/d/configmaps/a%00b",
        "/api/v1/namespaces/d/configmaps/a%",
        "/api/v1/namespaces/d/configmaps/a%2",
        "/api/v1/namespaces/d/configmaps/a%zz",
        "/api/v1/namespaces/d/configmaps/a%ff",
        "/api/v1/namespaces/d/configmaps/a\xff",
        "/clusters/t1/../t2/api/v1/configmaps",
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        CHECK_STR(parse(a, "GET", paths[i], ""), "400");
}

TEST(bad_queries_are_refused)
{
    scoped_arena a = arena_new();

    CHECK_STR(parse(a, "DELETE", "/api/v1/namespaces/d/secrets", "labelSelector=%zz"), "400");
    CHECK_STR(parse(a, "GET", "/api/v1/secrets", "a=b&labelSelector=a%00"), "400");
    CHECK_STR(parse(a, "GET", "/api/v1/secrets", "x=%ff"), "400");
}

TEST(instances_are_taken_from_the_path)
{
    static const struct {
        const char *path, *instance, *prefix, *rest;
    } rows[] = {
        { "/clusters/t1/api/v1/configmaps", "t1", "/clusters/t1", "/api/v1/configmaps" },
        { "/clusters/*/api/v1/configmaps", "*", "/clusters/*", "/api/v1/configmaps" },
        { "/clusters/%2a/api/v1/configmaps", "*", "/clusters/*", "/api/v1/configmaps" },
        { "/clusters/t1", "t1", "/clusters/t1", "/" },
        { "/clusters/t1/", "t1", "/clusters/t1", "/" },
        { "/clusters/t1/clusters/t2/api", "t1", "/clusters/t1", "/clusters/t2/api" },
        { "/clusters/", "", "", "/clusters/" },
        { "/clusters", "", "", "/clusters" },
        { "/api/v1/configmaps", "", "", "/api/v1/configmaps" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct reqinfo info;
        struct status st;

        status_init(&st, a);
        REQUIRE(reqinfo_parse(a, STR("GET"), str_of(rows[i].path), STR(""), &info, &st) == 0);
        CHECK_STR(str_z(a, info.instance), rows[i].instance);
        CHECK_STR(str_z(a, info.prefix), rows[i].prefix);
        CHECK_STR(str_z(a, info.path), rows[i].rest);
    }
}

TEST(names_that_no_instance_can_have_are_not_found)
{
    scoped_arena a = arena_new();
    struct reqinfo info;
    struct status st;

    status_init(&st, a);
    CHECK_STR(parse(a, "GET", "/clusters/UPPER/api", ""), "404");
    CHECK_STR(parse(a, "GET", "/clusters//api/v1/pods", ""), "404");
    CHECK_STR(parse(a, "GET", "/clusters/a.b/api", ""), "404");
    CHECK(reqinfo_parse(a, STR("GET"), STR("/clusters/a_b/api"), STR(""), &info, &st) < 0);
    CHECK_STR(str_z(a, st.message), "instances.tenancy.kairship.io \"a_b\" not found");
}

/* ---- queries ---- */

TEST(query_values_are_decoded)
{
    scoped_arena a = arena_new();
    str q = STR("a=1&labelSelector=app%3Dx%2Cb+in+%28c%29&empty=&bare&a=2&=x&&"), v;

    REQUIRE(query_get(a, q, STR("labelSelector"), &v));
    CHECK_STR(str_z(a, v), "app=x,b in (c)");
    REQUIRE(query_get(a, q, STR("a"), &v));
    CHECK_STR(str_z(a, v), "1");
    REQUIRE(query_get(a, q, STR("empty"), &v));
    CHECK(v.n == 0);
    REQUIRE(query_get(a, q, STR("bare"), &v));
    CHECK(v.n == 0);
    CHECK(!query_get(a, q, STR("b"), &v));
    CHECK(!query_get(a, STR(""), STR("b"), &v));
    CHECK(!query_get(a, STR_NONE, STR("b"), &v));
}

TEST(timeouts_are_durations)
{
    static const struct {
        const char *query;
        int64_t ms; /* -1: refused */
    } rows[] = {
        { "", 0 },
        { "timeout=34s", 34000 },
        { "timeout=1m30s", 90000 },
        { "timeout=0", 0 },
        { "timeout=1.5s", 1500 },
        { "timeout=250ms", 250 },
        { "timeout=2h", 7200000 },
        { "timeout=5", -1 },
        { "timeout=s", -1 },
        { "timeout=-3s", 0 },
        { "timeout=1d", -1 },
        { "timeout=9999999999h", (int64_t)1e15 },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct status st;
        int64_t ms = -2;
        int rc;

        status_init(&st, a);
        rc = query_timeout(a, str_of(rows[i].query), &ms, &st);
        if (!CHECK(rows[i].ms < 0 ? rc < 0 && status_is(&st, REASON_BAD_REQUEST)
                                  : rc == 0 && ms == rows[i].ms))
            printf("# %s: %lld\n", rows[i].query, (long long)ms);
    }
}

TEST(list_options)
{
    scoped_arena a = arena_new();
    struct list_options o;
    struct status st;

    status_init(&st, a);
    REQUIRE(list_options_parse(a,
                               STR("labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=500&"
                                   "continue=abc&resourceVersion=0&resourceVersionMatch=Exact&"
                                   "timeoutSeconds=30&watch=true&allowWatchBookmarks=1&"
                                   "sendInitialEvents=false&unknown=1"),
                               &o, &st) == 0);
    CHECK_STR(str_z(a, o.label_selector), "a=b");
    CHECK_STR(str_z(a, o.field_selector), "metadata.name=x");
    CHECK_STR(str_z(a, o.continue_token), "abc");
    CHECK_STR(str_z(a, o.resource_version), "0");
    CHECK_STR(str_z(a, o.resource_version_match), "Exact");
    CHECK(o.limit == 500 && o.timeout_s == 30 && o.watch && o.allow_bookmarks);
    CHECK(o.send_initial_events_given && !o.send_initial_events);

    REQUIRE(list_options_parse(a, STR(""), &o, &st) == 0);
    CHECK(o.limit == 0 && !o.watch && !o.send_initial_events_given && o.label_selector.n == 0);
    REQUIRE(list_options_parse(a, STR("limit=-3&timeoutSeconds=%2B7"), &o, &st) == 0);
    CHECK(o.limit == 0 && o.timeout_s == 7);
}

TEST(numbers_that_are_none_are_refused)
{
    static const char *const queries[] = { "limit=abc",        "limit=",
                                           "limit=1.5",        "timeoutSeconds=abc",
                                           "timeoutSeconds=-", "limit=99999999999999999999" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
        struct list_options o = { .limit = 77 };
        struct status st;

        status_init(&st, a);
        CHECK(list_options_parse(a, str_of(queries[i]), &o, &st) < 0);
        CHECK(status_is(&st, REASON_BAD_REQUEST));
        CHECK(o.limit == 77); /* outputs untouched on failure */
    }
}

TEST(a_bad_number_is_refused)
{
    scoped_arena a = arena_new();
    struct list_options o;
    struct status st;

    status_init(&st, a);
    CHECK(list_options_parse(a, STR("limit=abc"), &o, &st) < 0);
    CHECK_STR(str_z(a, st.message), "\"abc\" must be an integer of 64 bits");
}

TEST(write_options)
{
    scoped_arena a = arena_new();
    struct write_options o;
    struct status st;

    status_init(&st, a);
    REQUIRE(write_options_parse(
                a, STR("dryRun=All&fieldManager=kubectl&fieldValidation=Strict&pretty=true"),
                WRITE_CREATE, &o, &st) == 0);
    CHECK(o.dry_run && o.field_validation == FIELD_STRICT && !o.force_given);
    CHECK_STR(str_z(a, o.field_manager), "kubectl");
    REQUIRE(write_options_parse(a, STR("force="), WRITE_UPDATE, &o, &st) == 0);
    CHECK(!o.dry_run && o.field_validation == FIELD_WARN);
    REQUIRE(write_options_parse(a, STR("force=true&fieldManager=m"), WRITE_APPLY, &o, &st) == 0);
    CHECK(o.force && o.force_given);
}

static const char *write_error(struct arena *a, enum write_kind kind, const char *query)
{
    struct write_options o;
    struct status st;

    status_init(&st, a);
    if (write_options_parse(a, str_of(query), kind, &o, &st) == 0)
        return "";
    if (!status_is(&st, REASON_INVALID) || !str_is(st.group, "meta.k8s.io") || !st.causes)
        return "?";
    return arena_printf(a, "%.*s %s %.*s: %.*s", STR_ARG(st.kind), cause_reason(st.causes->type),
                        STR_ARG(st.causes->field), STR_ARG(st.causes->message));
}

TEST(wrong_write_options_are_invalid)
{
    scoped_arena a = arena_new();

    CHECK_STR(write_error(a, WRITE_CREATE, "dryRun=Some"),
              "CreateOptions FieldValueNotSupported dryRun: "
              "Unsupported value: [\"Some\"]: supported values: \"All\"");
    CHECK_STR(write_error(a, WRITE_CREATE, "dryRun="),
              "CreateOptions FieldValueNotSupported dryRun: "
              "Unsupported value: [\"\"]: supported values: \"All\"");
    CHECK_STR(write_error(a, WRITE_UPDATE, "dryRun=All&dryRun=x&dryRun=y"),
              "UpdateOptions FieldValueNotSupported dryRun: "
              "Unsupported value: [\"All\",\"x\",\"y\"]: supported values: \"All\"");
    CHECK_STR(write_error(a, WRITE_PATCH, "fieldValidation=strict"),
              "PatchOptions FieldValueNotSupported fieldValidation: Unsupported value: \"strict\": "
              "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    CHECK_STR(write_error(a, WRITE_PATCH, "force=true"),
              "PatchOptions FieldValueForbidden force: "
              "Forbidden: may not be specified for non-apply patch");
    CHECK_STR(write_error(a, WRITE_APPLY, ""), "PatchOptions FieldValueRequired fieldManager: "
                                               "Required value: is required for apply patch");
    CHECK_STR(write_error(a, WRITE_CREATE, "fieldManager=a%0Ab"),
              "CreateOptions FieldValueInvalid fieldManager: "
              "Invalid value: \"a\\nb\": invalid character U+000A (at position 1)");
    CHECK_STR(write_error(a, WRITE_CREATE, arena_printf(a, "fieldManager=%0129d", 1)),
              "CreateOptions FieldValueTooLong fieldManager: "
              "Too long: may not be more than 128 bytes");
}

TEST(delete_options)
{
    scoped_arena a = arena_new();
    struct delete_options o;
    struct status st;

    status_init(&st, a);
    REQUIRE(
        delete_options_parse(a, STR("dryRun=All&propagationPolicy=Foreground&gracePeriodSeconds=0"),
                             &o, &st) == 0);
    CHECK(o.dry_run && o.propagation == PROPAGATION_FOREGROUND);
    REQUIRE(delete_options_parse(a, STR("orphanDependents=true"), &o, &st) == 0);
    CHECK(o.propagation == PROPAGATION_ORPHAN);
    REQUIRE(delete_options_parse(a, STR("orphanDependents=false"), &o, &st) == 0);
    CHECK(o.propagation == PROPAGATION_BACKGROUND);
    REQUIRE(delete_options_parse(a, STR(""), &o, &st) == 0);
    CHECK(!o.dry_run && o.propagation == PROPAGATION_DEFAULT);

    CHECK(!o.has_uid && !o.has_rv);
    REQUIRE(delete_options_parse(a, STR("uid=u&resourceVersion=7"), &o, &st) == 0);
    CHECK(o.has_uid && o.has_rv && str_is(o.precondition_rv, "7"));

    CHECK(delete_options_parse(a, STR("gracePeriodSeconds=soon"), &o, &st) < 0);
    CHECK(status_is(&st, REASON_BAD_REQUEST));
    status_reset(&st);
    CHECK(delete_options_parse(a, STR("propagationPolicy=Sideways&dryRun=1"), &o, &st) < 0);
    CHECK(status_is(&st, REASON_INVALID) && st.ncauses == 2);
    CHECK_STR(str_z(a, st.kind), "DeleteOptions");
    status_reset(&st);
    CHECK(delete_options_parse(a, STR("propagationPolicy=Orphan&orphanDependents=true"), &o, &st) <
          0);
    status_reset(&st);
    CHECK(delete_options_parse(a, STR("propagationPolicy="), &o, &st) < 0);
    status_reset(&st);
    CHECK(delete_options_parse(a, STR("dryRun="), &o, &st) < 0);
}
