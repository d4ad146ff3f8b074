/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/negotiate.h"

#include "base/arena.h"
#include "base/banned.h"
#include "tap.h"

#define TABLES                                                                          \
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;" \
    "g=meta.k8s.io,application/json"
#define DISCOVERY_V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define DISCOVERY_V2BETA1 \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

static const char *choose(struct arena *a, const char *header, enum accept_endpoint endpoint)
{
    static const char *const media[] = { "json", "yaml" }, *const forms[] = { "", " table",
                                                                              " partial", " list",
                                                                              " discovery" };
    struct accept out;
    struct status st;

    status_init(&st, a);
    if (accept_negotiate(str_of(header), endpoint, &out, &st) < 0)
        return arena_printf(a, "%d", status_http(&st));
    return arena_printf(a, "%s%s%s%.*s", media[out.media], forms[out.transform],
                        out.version.n ? " " : "", STR_ARG(out.version));
}

TEST(the_first_choice_that_can_be_met_wins)
{
    static const struct {
        const char *header;
        enum accept_endpoint endpoint;
        const char *want;
    } rows[] = {
        { "", ACCEPT_OBJECT, "json" },
        { "*/*", ACCEPT_OBJECT, "json" },
        { "*", ACCEPT_OBJECT, "json" },
        { "application/*", ACCEPT_LIST, "json" },
        { "application/json", ACCEPT_LIST, "json" },
        { "application/json; charset=utf-8", ACCEPT_LIST, "json" },
        { "Application/JSON", ACCEPT_LIST, "json" },
        { "application/yaml", ACCEPT_LIST, "yaml" },
        { "application/yaml, application/json", ACCEPT_LIST, "yaml" },
        { "application/yaml;q=0.5, application/json", ACCEPT_LIST, "json" },
        { "*/*, application/yaml", ACCEPT_LIST, "yaml" },
        { "application/json;q=0, */*;q=0.1", ACCEPT_LIST, "json" },
        { "text/html,application/xhtml+xml,*/*;q=0.8", ACCEPT_LIST, "json" },
        { "application/vnd.kubernetes.protobuf,application/json", ACCEPT_OBJECT, "json" },
        { "application/vnd.kubernetes.protobuf", ACCEPT_OBJECT, "406" },
        { "text/html", ACCEPT_OBJECT, "406" },
        { "application/json;q=0", ACCEPT_OBJECT, "406" },
        { ",,;,", ACCEPT_OBJECT, "406" },
        { "application/yaml", ACCEPT_WATCH, "406" },
        { "application/json;stream=watch", ACCEPT_WATCH, "json" },
        { "application/json;stream=watch,application/yaml", ACCEPT_LIST, "yaml" },
        /* Tables */
        { TABLES, ACCEPT_OBJECT, "json table v1" },
        { TABLES, ACCEPT_LIST, "json table v1" },
        { TABLES, ACCEPT_WATCH, "json table v1" },
        { TABLES, ACCEPT_PLAIN, "json" },
        { "application/json;as=Table;v=v1beta1;g=meta.k8s.io", ACCEPT_LIST, "json table v1beta1" },
        { "application/json; as=Table; v=v1; g=\"meta.k8s.io\"", ACCEPT_LIST, "json table v1" },
        { "application/yaml;as=Table;v=v1;g=meta.k8s.io", ACCEPT_LIST, "yaml table v1" },
        { "application/json;as=Table;v=v9;g=meta.k8s.io", ACCEPT_LIST, "406" },
        { "application/json;as=Chart;v=v1;g=meta.k8s.io,application/json", ACCEPT_LIST, "json" },
        { "application/json;as=Table;v=v1", ACCEPT_LIST, "406" },
        /* partial metadata: the wrong one of the two is refused, whatever follows */
        { "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
          ACCEPT_OBJECT, "json partial v1" },
        { "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
          ACCEPT_WATCH, "json partial v1" },
        { "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
          ACCEPT_LIST, "406" },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", ACCEPT_LIST,
          "json list v1" },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
          ACCEPT_OBJECT, "406" },
        { "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
          "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
          ACCEPT_LIST, "json list v1" },
        /* discovery */
        { DISCOVERY_V2 "," DISCOVERY_V2BETA1 ",application/json", ACCEPT_DISCOVERY,
          "json discovery v2" },
        { DISCOVERY_V2BETA1 ",application/json", ACCEPT_DISCOVERY, "json discovery v2beta1" },
        { "application/json," DISCOVERY_V2, ACCEPT_DISCOVERY, "json" },
        { DISCOVERY_V2 ";q=0.1,application/json", ACCEPT_DISCOVERY, "json" },
        { DISCOVERY_V2, ACCEPT_PLAIN, "406" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got = choose(a, rows[i].header, rows[i].endpoint);

        if (!CHECK(strcmp(got, rows[i].want) == 0))
            printf("# %s: %s, want %s\n", rows[i].header, got, rows[i].want);
    }
}

TEST(only_discovery_answers_with_parameters)
{
    scoped_arena a = arena_new();
    struct accept out;
    struct status st;

    status_init(&st, a);
    REQUIRE(accept_negotiate(STR(DISCOVERY_V2), ACCEPT_DISCOVERY, &out, &st) == 0);
    CHECK_STR(str_z(a, out.content_type), DISCOVERY_V2);
    REQUIRE(accept_negotiate(STR(TABLES), ACCEPT_LIST, &out, &st) == 0);
    CHECK_STR(str_z(a, out.content_type), "application/json");
    REQUIRE(accept_negotiate(STR("application/yaml"), ACCEPT_LIST, &out, &st) == 0);
    CHECK_STR(str_z(a, out.content_type), "application/yaml");
}

TEST(ranges_beyond_the_limit_do_not_count)
{
    scoped_arena a = arena_new();
    char header[4096] = "";
    size_t n = 0;

    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(header + n, sizeof(header) - n, "text/x%d,", i);
    (void)snprintf(header + n, sizeof(header) - n, "application/json");
    CHECK_STR(choose(a, header, ACCEPT_OBJECT), "406");
}

TEST(offers)
{
    static const str offers[] = { STR_INIT("application/json"),
                                  STR_INIT("application/com.github.x.v2@v1.0+protobuf") };

    CHECK(accept_offer(STR(""), offers, 2) == 0);
    CHECK(accept_offer(STR("*/*"), offers, 2) == 0);
    CHECK(accept_offer(STR("application/com.github.x.v2@v1.0+protobuf"), offers, 2) == 1);
    CHECK(accept_offer(STR("application/com.github.x.v2@v1.0+protobuf, */*"), offers, 2) == 1);
    CHECK(accept_offer(STR("application/json;q=0.1,application/*;q=0.9"), offers, 2) == 0);
    CHECK(accept_offer(STR("text/plain"), offers, 2) == -1);
}

TEST(content_types_of_bodies)
{
    scoped_arena a = arena_new();
    enum content c = CONTENT_YAML;
    struct status st;

    status_init(&st, a);
    CHECK(content_of_body(STR(""), &c, &st) == 0 && c == CONTENT_JSON);
    CHECK(content_of_body(STR("application/yaml"), &c, &st) == 0 && c == CONTENT_YAML);
    CHECK(content_of_body(STR("application/json; charset=utf-8"), &c, &st) == 0 &&
          c == CONTENT_JSON);
    CHECK(content_of_body(STR("application/vnd.kubernetes.protobuf"), &c, &st) == 0 &&
          c == CONTENT_PROTOBUF);
    CHECK(content_of_body(STR("application/merge-patch+json"), &c, &st) < 0);
    CHECK(content_of_body(STR("text/xml"), &c, &st) < 0);
    CHECK(status_is(&st, REASON_UNSUPPORTED_MEDIA_TYPE) && !st.empty_details);
}

TEST(content_types_of_patches)
{
    scoped_arena a = arena_new();
    enum content c = CONTENT_JSON;
    struct status st;

    status_init(&st, a);
    CHECK(content_of_patch(STR("application/json-patch+json"), &c, &st) == 0 &&
          c == CONTENT_JSON_PATCH);
    CHECK(content_of_patch(STR("application/merge-patch+json;charset=utf-8"), &c, &st) == 0 &&
          c == CONTENT_MERGE_PATCH);
    CHECK(content_of_patch(STR("application/strategic-merge-patch+json"), &c, &st) == 0 &&
          c == CONTENT_STRATEGIC_PATCH);
    CHECK(content_of_patch(STR("application/apply-patch+yaml"), &c, &st) == 0 &&
          c == CONTENT_APPLY_PATCH);
    CHECK(content_of_patch(STR("application/json"), &c, &st) < 0);
    CHECK(status_is(&st, REASON_UNSUPPORTED_MEDIA_TYPE) && st.empty_details);
    CHECK(content_of_patch(STR(""), &c, &st) < 0);
}

TEST(gzip)
{
    CHECK(accepts_gzip(STR("gzip")));
    CHECK(accepts_gzip(STR("deflate, gzip;q=0.5")));
    CHECK(!accepts_gzip(STR("gzip;q=0")));
    CHECK(!accepts_gzip(STR("deflate, br")));
    CHECK(!accepts_gzip(STR("")));
    CHECK(!accepts_gzip(STR_NONE));
}

TEST(pretty)
{
    scoped_arena a = arena_new();

    CHECK(wants_pretty(a, STR("pretty=true"), STR("kubectl")));
    CHECK(wants_pretty(a, STR("x=1&pretty=1"), STR("")));
    CHECK(!wants_pretty(a, STR("pretty=0"), STR("curl/7.88")));
    CHECK(!wants_pretty(a, STR("pretty=nonsense"), STR("curl/7.88")));
    CHECK(wants_pretty(a, STR("pretty="), STR("curl/7.88")));
    CHECK(wants_pretty(a, STR(""), STR("Wget/1.21")));
    CHECK(wants_pretty(a, STR(""), STR("Mozilla/5.0 (X11)")));
    CHECK(!wants_pretty(a, STR(""), STR("kubectl/v1.32")));
    CHECK(!wants_pretty(a, STR_NONE, STR_NONE));
}
