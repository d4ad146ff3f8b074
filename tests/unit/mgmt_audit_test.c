/* SPDX-License-Identifier: Apache-2.0 */

/* Records of what people did: every RPC that writes has one, and who may read them. */

#include "kinds/kinds.h"
#include "mgmt_rig.h"
#include "rest/made.h"
#include "tap.h"

static void check_recorded(const struct rpc_service *s, const struct rpc_method *m)
{
    bool ok = m->nrecorded > 0;

    for (size_t i = 0; i < m->nrecorded; i++)
        ok = ok && *m->recorded[i].event && *m->recorded[i].object;
    if (!CHECK(ok))
        printf("# %.*s/%.*s\n", STR_ARG(s->name), STR_ARG(m->name));
}

TEST(every_rpc_that_writes_is_recorded)
{
    size_t n = 0;

    for (size_t f = 0; f < kairship_api.nfiles; f++)
        for (size_t s = 0; s < kairship_api.files[f].nservices; s++) {
            const struct rpc_service *service = &kairship_api.files[f].services[s];

            for (size_t m = 0; m < service->nmethods; m++)
                if (service->methods[m].nrules &&
                    strcmp(service->methods[m].rules->verb, "GET") != 0) {
                    check_recorded(service, &service->methods[m]);
                    n++;
                }
        }
    CHECK(n > 70);
}

/* The n-th, the later the n the newer: every third by joe, every fifth a failure. */
static void make(struct bed *b, const struct kind *k, const char *uid, int n)
{
    scoped_arena a = arena_new();
    const char *text = arena_printf(
        a,
        "{\"metadata\":{\"name\":\"%016llx-0123456789abcdef-%08x\"},\"spec\":{\"event\":"
        "\"Create-Deployment\",\"time\":\"2026-01-01T00:%02d:%02d.000000Z\",\"person\":\"%s\","
        "\"verb\":\"create\",\"group\":\"apps\",\"resource\":\"deployments\",\"name\":\"d%d\","
        "\"instance\":\"demo\",\"instanceUID\":\"%s\",\"code\":%d,\"auditID\":\"a%d\"}}",
        (unsigned long long)(INT64_MAX - n), (unsigned)n, n / 60 % 60, n % 60,
        n % 3 ? "a,b=c\\\\" : "joe", n, uid, n % 5 ? 200 : 403, n);
    const struct json *obj;
    struct status st;
    size_t made;

    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(text), NULL, &obj, &st) == 0);
    CHECK(rest_make(b->rig.host->server->rest, k, &obj, 1, &made, &st) == 0);
}

static const struct kind *records(void)
{
    return catalog_find(kinds_catalog_root(), STR("audit.kairship.io"), STR("v1alpha1"),
                        STR("records"));
}

static void make_all(struct bed *b, int n, const char *uid)
{
    for (int i = 0; i < n; i++)
        make(b, records(), uid, i);
}

static const char *answered(struct bed *b, const struct identity *who, const char *request)
{
    const struct json *v = bed_ok(b, who, "Audit/ListAudits", request);
    const struct json *items = json_path(v, "items");

    return arena_printf(b->rig.arena, "%lld %zu %.*s %.*s",
                        (long long)json_int(json_path(v, "pagination.total"), 0), json_len(items),
                        STR_ARG(json_get_str(json_at(items, 0), "name")),
                        STR_ARG(json_get_str(json_at(items, json_len(items) - 1), "name")));
}

TEST(they_are_found_by_what_is_asked)
{
    static const struct {
        const char *request, *want; /* total, on the page, first, last */
    } rows[] = {
        { "{}", "1200 100 d1199 d1100" },
        { "{\"page\":2,\"pageSize\":1000}", "1200 200 d199 d0" },
        { "{\"page\":9}", "1200 100 d399 d300" },
        { "{\"page\":13}", "1200 0  " },
        { "{\"pageSize\":100000}", "1200 1000 d1199 d200" },
        { "{\"person\":\"joe\"}", "400 100 d1197 d900" },
        { "{\"person\":\"a,b=c\\\\\"}", "800 100 d1199 d1051" },
        { "{\"person\":\"jane\"}", "0 0  " },
        { "{\"object\":\"deployments\",\"pageSize\":1}", "1200 1 d1199 d1199" },
        { "{\"object\":\"deployments/d7\"}", "1 1 d7 d7" },
        { "{\"event\":\"Create-Deployment\",\"verb\":\"create\",\"instance\":\"demo\","
          "\"pageSize\":1}",
          "1200 1 d1199 d1199" },
        { "{\"verb\":\"delete\"}", "0 0  " },
        { "{\"from\":1767225660,\"to\":1767225719}", "60 60 d119 d60" },
        { "{\"to\":1}", "0 0  " },
    };
    char longest[1026] = "";
    struct bed b;

    bed_open(&b);
    make_all(&b, 1200, "u");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(answered(&b, &bed_admin, rows[i].request), rows[i].want);
    bed_refused(&b, &bed_admin, "Audit/ListAudits", "{\"from\":-1}", REASON_INVALID);
    memset(longest, 'x', sizeof(longest) - 1);
    bed_refused(&b, &bed_admin, "Audit/ListAudits",
                arena_printf(b.rig.arena, "{\"person\":\"%s\"}", longest), REASON_INVALID);
    bed_close(&b);
}

TEST(who_may_not_is_told_nothing)
{
    struct bed b;

    bed_open(&b);
    make_all(&b, 3, "u");
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{}", REASON_FORBIDDEN);
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{\"person\":\"jane\"}", REASON_FORBIDDEN);
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{\"instance\":\"demo\"}", REASON_FORBIDDEN);
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{\"instance\":\"none\"}", REASON_FORBIDDEN);
    bed_close(&b);
}

TEST(an_admin_sees_what_is_about_the_instance_of_today)
{
    static const char *const less[] = { "Viewer", "Editor" };
    const struct json *demo;
    const char *uid;
    struct bed b;

    bed_open(&b);
    if (!CHECK(ask_api(&b.rig, "GET", "/apis/tenancy.kairship.io/v1alpha1/instances/demo", "",
                       &demo) == 200))
        exit(1);
    uid = str_z(b.rig.arena, json_get_str(demo, "metadata.uid"));
    make_all(&b, 2, "of-one-that-had-the-name-before");
    make(&b, records(), uid, 7);
    for (size_t i = 0; i < 2; i++) {
        bed_role(&b, less[i]);
        bed_refused(&b, &bed_jane, "Audit/ListAudits", "{\"instance\":\"demo\"}", REASON_FORBIDDEN);
    }
    bed_role(&b, "Admin");
    CHECK_STR(answered(&b, &bed_jane, "{\"instance\":\"demo\"}"), "1 1 d7 d7");
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{}", REASON_FORBIDDEN);
    bed_refused(&b, &bed_jane, "Audit/ListAudits", "{\"instance\":\"other\"}", REASON_FORBIDDEN);
    bed_close(&b);
}
