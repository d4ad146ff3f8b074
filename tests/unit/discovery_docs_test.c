/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/docs.h"

#include <pthread.h>

#include "apiserver/discovery/openapi_v3.h"
#include "base/banned.h"
#include "object/meta/schema_table.h"
#include "tap.h"

static const char table[] = "table io.k8s.apimachinery.pkg.apis.meta.v1\n"
                            "type ObjectMeta | Metadata.\n"
                            "  name 1 string | Name.\n"
                            "type Thing | A thing.\n"
                            "  metadata 1 ObjectMeta always | Metadata.\n";

static struct kind things[] = {
    { .group = STR_INIT(""),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Thing"),
      .plural = STR_INIT("things"),
      .singular = STR_INIT("thing"),
      .list_kind = STR_INIT("ThingList"),
      .verbs = VERBS_ALL,
      .storage = &things[0],
      .api_version = STR_INIT("v1") },
    { .group = STR_INIT("x.io"),
      .version = STR_INIT("v1"),
      .kind = STR_INIT("Thing"),
      .plural = STR_INIT("things"),
      .singular = STR_INIT("thing"),
      .list_kind = STR_INIT("ThingList"),
      .verbs = VERBS_ALL,
      .storage = &things[1],
      .api_version = STR_INIT("x.io/v1") },
};
static const struct kind *const list[] = { &things[0], &things[1] };

struct fixture {
    struct arena *arena;
    struct schema_set *set;
    struct catalog catalog;
    struct docs *docs;
    struct status st;
};

static bool setup(struct fixture *f)
{
    f->arena = arena_new();
    f->set = schema_set_new();
    f->docs = docs_new(1 << 20);
    status_init(&f->st, f->arena);
    if (schema_set_add(f->set, str_of(table), &f->st) < 0 || schema_set_link(f->set, &f->st) < 0)
        return false;
    things[0].schema = things[1].schema =
        schema_set_find(f->set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.Thing"));
    f->catalog = (struct catalog){ .kinds = list, .nkinds = 2, .schemas = f->set, .etag = 5 };
    return true;
}

static void teardown(struct fixture *f)
{
    docs_free(f->docs);
    schema_set_free(f->set);
    arena_free(f->arena);
}

static struct docs_answer ask(struct fixture *f, struct docs_request r)
{
    struct docs_answer out = { 0 };

    r.catalog = &f->catalog;
    r.now_s = 1700000000;
    status_reset(&f->st);
    if (docs_serve(f->docs, f->arena, &r, &out, &f->st) < 0)
        out.code = status_http(&f->st);
    return out;
}
#define ASK(f, ...) ask((f), (struct docs_request){ __VA_ARGS__ })

#define DISCOVERY_V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

TEST(where_clients_connect_to_may_change)
{
    struct fixture f;

    REQUIRE(setup(&f));
    CHECK(str_contains(ASK(&f, .path = STR("/api"), .server = STR("a.example:6443")).body,
                       STR("\"serverAddress\":\"a.example:6443\"")));
    CHECK(str_contains(ASK(&f, .path = STR("/api"), .server = STR("b.example:6443")).body,
                       STR("\"serverAddress\":\"b.example:6443\"")));
    CHECK(str_contains(ASK(&f, .path = STR("/api")).body, STR("ByClientCIDRs\":[]")));
    teardown(&f);
}

TEST(every_path_has_its_document)
{
    static const struct {
        const char *path;
        int code;
        const char *part;
    } rows[] = {
        { "/", 200, "{\"paths\":[" },
        { "/version", 200, "\"gitVersion\":\"v1.35.0+kairship-" },
        { "/api", 200, "\"APIVersions\"" },
        { "/api/", 200, "\"APIVersions\"" },
        { "/apis", 200, "\"APIGroupList\"" },
        { "/apis/x.io", 200, "\"APIGroup\"" },
        { "/apis/x.io/", 200, "\"APIGroup\"" },
        { "/api/v1", 200, "\"APIResourceList\"" },
        { "/apis/x.io/v1", 200, "\"groupVersion\":\"x.io/v1\"" },
        { "/openapi/v2", 200, "\"swagger\":\"2.0\"" },
        { "/openapi/v3", 200, "\"apis/x.io/v1\"" },
        { "/openapi/v3/api/v1", 200, "\"openapi\":\"3.0.0\"" },
        { "/openapi/v3/apis/x.io/v1", 200, "\"openapi\":\"3.0.0\"" },
        { "/api/v2", 404, "" },
        { "/apis/y.io", 404, "404 page not found" },
        { "/apis/x.io/v2", 404, "" },
        { "/apis//v1", 404, "404 page not found" },
        { "/openapi/v3/apis//v1", 404, "404 page not found" },
        { "/openapi/v3/apis/x.io", 200, "\"/apis/x.io/\"" },
        { "/openapi/v3/apis/x.io/v9", 404, "404 page not found" },
        { "/openapi/v3/version", 200, "\"/version/\"" },
        { "/openapi/v3/versions", 404, "404 page not found" },
        { "/openapi/v3/apis/y.io", 404, "404 page not found" },
    };
    struct fixture f;

    REQUIRE(setup(&f));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct docs_answer o = ASK(&f, .path = str_of(rows[i].path));

        CHECK(docs_has(str_of(rows[i].path)));
        if (!CHECK(o.code == rows[i].code && str_contains(o.body, str_of(rows[i].part))))
            printf("# %s: %d %.*s\n", rows[i].path, o.code, STR_ARG(str_sub(o.body, 0, 200)));
    }
    CHECK(!docs_has(STR("/openapi")) && !docs_has(STR("/metrics")) && !docs_has(STR("/apix")));
    teardown(&f);
}

TEST(a_group_that_is_built_in_says_which_versions_it_lacks)
{
    struct fixture f;
    struct docs_answer o;

    REQUIRE(setup(&f));
    o = ASK(&f, .path = STR("/apis/x.io/v2"));
    CHECK(o.code == 404 && o.body.n == 0 && f.st.empty_details);
    CHECK_STR(str_z(f.arena, f.st.message), "the server could not find the requested resource");
    things[1].schema_id = 7;
    o = ASK(&f, .path = STR("/apis/x.io/v2"));
    CHECK(o.code == 404 && str_is(o.body, "404 page not found\n"));
    things[1].schema_id = 0;
    teardown(&f);
}

TEST(aggregated_discovery_has_an_etag)
{
    struct fixture f;
    struct docs_answer o, again;

    REQUIRE(setup(&f));
    o = ASK(&f, .path = STR("/apis"), .accept = STR(DISCOVERY_V2 ",application/json"));
    CHECK(o.code == 200 && o.json);
    CHECK_STR(str_z(f.arena, o.content_type), DISCOVERY_V2);
    CHECK_STR(str_z(f.arena, o.cache_control), "public");
    CHECK_STR(str_z(f.arena, o.vary), "Accept");
    CHECK(o.etag.n > 2 && o.etag.p[0] == '"' && o.etag.p[o.etag.n - 1] == '"');
    CHECK(str_contains(o.body, STR("APIGroupDiscoveryList")));
    again = ASK(&f, .path = STR("/apis"), .accept = STR(DISCOVERY_V2),
                .if_none_match = str_printf(f.arena, "\"x\", W/%.*s", STR_ARG(o.etag)));
    CHECK(again.code == 304 && again.body.n == 0 && str_eq(again.etag, o.etag));
    /* another document, another tag */
    again = ASK(&f, .path = STR("/api"), .accept = STR(DISCOVERY_V2), .if_none_match = o.etag);
    CHECK(again.code == 200 && !str_eq(again.etag, o.etag));
    f.catalog.etag++;
    again = ASK(&f, .path = STR("/apis"), .accept = STR(DISCOVERY_V2), .if_none_match = o.etag);
    CHECK(again.code == 200 && !str_eq(again.etag, o.etag));
    /* the legacy form has none */
    o = ASK(&f, .path = STR("/apis"));
    CHECK(o.etag.n == 0 && str_contains(o.body, STR("APIGroupList")));
    teardown(&f);
}

TEST(openapi_v2_in_two_forms)
{
    struct fixture f;
    struct docs_answer o, pb;

    REQUIRE(setup(&f));
    o = ASK(&f, .path = STR("/openapi/v2"));
    pb = ASK(&f, .path = STR("/openapi/v2"),
             .accept = STR("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"));
    CHECK_STR(str_z(f.arena, o.content_type), "application/json");
    CHECK(o.json && !pb.json);
    CHECK_STR(str_z(f.arena, pb.content_type),
              "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    CHECK(pb.body.n > 5 && memcmp(pb.body.p,
                                  "\x0a\x03"
                                  "2.0",
                                  5) == 0);
    CHECK(!str_eq(o.etag, pb.etag));
    CHECK(ASK(&f, .path = STR("/openapi/v2"), .if_none_match = o.etag).code == 304);
    CHECK(ASK(&f, .path = STR("/openapi/v2"), .accept = STR("text/html")).code == 406);
    CHECK(ASK(&f, .path = STR("/version"), .accept = STR("text/html")).code == 406);
    CHECK(ASK(&f, .path = STR("/version"), .accept = STR("application/yaml")).code == 406);
    CHECK(ASK(&f, .path = STR("/version"), .accept = STR("application/yaml,*/*;q=0.1")).code ==
          200);
    teardown(&f);
}

TEST(openapi_v3_by_hash)
{
    struct fixture f;
    char hash[OPENAPI_HASH_LEN + 1];
    struct docs_answer o;

    REQUIRE(setup(&f));
    openapi_v3_hash(hash, &f.catalog, STR("api/v1"));
    o = ASK(&f, .path = STR("/openapi/v3/api/v1"), .query = str_printf(f.arena, "hash=%s", hash));
    CHECK(o.code == 200);
    CHECK_STR(str_z(f.arena, o.cache_control), "public, immutable");
    CHECK_STR(str_z(f.arena, o.expires), "Wed, 13 Nov 2024 22:13:20 GMT");
    o = ASK(&f, .path = STR("/openapi/v3/api/v1"), .prefix = STR("/clusters/t1"),
            .query = STR("hash=ABC"));
    CHECK(o.code == 301 && o.body.n == 0);
    CHECK_STR(str_z(f.arena, o.location),
              arena_printf(f.arena, "/clusters/t1/openapi/v3/api/v1?hash=%s", hash));
    o = ASK(&f, .path = STR("/openapi/v3/api/v1"));
    CHECK(o.code == 200 && o.cache_control.n == 0 && o.etag.n > 0);
    o = ASK(&f, .path = STR("/openapi/v3"), .prefix = STR("/clusters/t1"));
    CHECK(
        str_contains(o.body, str_printf(f.arena, "/clusters/t1/openapi/v3/api/v1?hash=%s", hash)));
    o = ASK(&f, .path = STR("/openapi/v3"));
    CHECK(str_contains(o.body, str_printf(f.arena, "\"/openapi/v3/api/v1?hash=%s", hash)));
    teardown(&f);
}

/* ---- the cache ---- */

static struct bytes *filled(size_t n)
{
    struct bytes *b = bytes_new(n);

    memset(b->p, 'x', n);
    return b;
}

static bool is_cached(struct docs *d, uint64_t etag, const char *name)
{
    struct bytes *b = docs_get(d, etag, str_of(name));

    bytes_unref(b);
    return b != NULL;
}

TEST(the_least_used_goes_first)
{
    struct docs *d = docs_new(3500);
    struct bytes *b = filled(1000);

    docs_put(d, 1, STR("a"), b);
    docs_put(d, 1, STR("b"), b);
    docs_put(d, 2, STR("a"), b);
    CHECK(is_cached(d, 1, "b") && is_cached(d, 2, "a") && is_cached(d, 1, "a"));
    docs_put(d, 3, STR("a"), b); /* pushes out b, the oldest use */
    CHECK(!is_cached(d, 1, "b") && is_cached(d, 1, "a") && is_cached(d, 2, "a") &&
          is_cached(d, 3, "a"));
    docs_put(d, 3, STR("a"), b); /* again: no second entry */
    CHECK(is_cached(d, 1, "a"));
    bytes_unref(b);
    b = filled(5000); /* more than there is room for */
    docs_put(d, 4, STR("a"), b);
    CHECK(!is_cached(d, 4, "a") && !is_cached(d, 1, "a"));
    bytes_unref(b);
    docs_free(d);
    docs_free(NULL);
}

static void *use_cache(void *arg)
{
    for (unsigned i = 0; i < 2000; i++) {
        struct bytes *b = docs_get(arg, i % 7, STR("doc"));

        if (!b) {
            b = filled(100);
            docs_put(arg, i % 7, STR("doc"), b);
        }
        bytes_unref(b);
    }
    return NULL;
}

TEST(threads_share_the_cache)
{
    struct docs *d = docs_new(700);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use_cache, d) == 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(is_cached(d, 1999 % 7, "doc"));
    docs_free(d);
}
