/* SPDX-License-Identifier: Apache-2.0 */

/* Every route there is, asked by everyone who must not get in. */

#include "apiserver/server/dispatch_check.h"
#include "server_fixture.h"

TEST(every_handler_is_authorized_as_what_it_serves)
{
    static const struct catalog nothing = { .nkinds = 0 };
    struct host *h = host_new(0, 0); /* was checked at its start, too */
    struct status st;

    status_init(&st, h->arena);
    CHECK(dispatch_check(h->arena, kinds_catalog_root(), &st) == 0);
    CHECK(chain_check(&st) == 0);
    CHECK(specials_check(kinds_catalog_root(), &st) == 0);
    /* What the checks are for: a handler of no resource, a document in the place of one. */
    CHECK(specials_check(&nothing, &st) < 0);
    CHECK(document_check(h->arena, STR("/readyz"), &st) == 0);
    CHECK(document_check(h->arena, STR("/apis/*"), &st) == 0);
    CHECK(document_check(h->arena, STR("/api/v1/secrets"), &st) < 0);
    CHECK(document_check(h->arena, STR("/apis/apps/v1/*"), &st) < 0);
    CHECK(document_check(h->arena, STR("/clusters/x/metrics"), &st) < 0);
    CHECK(document_check(h->arena, STR("metrics"), &st) < 0);
    host_free(h);
}

TEST(a_kind_that_is_reached_under_another_name_is_refused)
{
    static const struct kind odd[] = {
        { .group = STR_INIT("g/v1"), .version = STR_INIT("v1"), .plural = STR_INIT("things") },
        { .group = STR_INIT("g"), .version = STR_INIT("v1"), .plural = STR_INIT("a/b") },
        { .group = STR_INIT("g"), .version = STR_INIT("v1"), .plural = STR_INIT("watch") },
        { .group = STR_INIT("g"), .version = STR_INIT("v1"), .plural = STR_INIT("") },
    };
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        const struct kind *one = &odd[i];
        struct catalog c = { .kinds = &one, .nkinds = 1 };

        if (!CHECK(kinds_check(a, &c, &st) < 0))
            printf("# row %zu\n", i);
    }
}

/* ---- everyone, everywhere ---- */

static const str teams[] = { STR_INIT("team") };
static const str other_home[] = { STR_INIT(
    "urn:kairship:instance:00000000-0000-4000-8000-000000000000") };
static const struct http_peer alice = {
    .cn = STR_INIT("alice"), .orgs = teams, .norgs = 1, .not_after = INT64_MAX
};
static const struct http_peer expired = {
    .cn = STR_INIT("admin"), .orgs = ask_masters, .norgs = 1, .not_after = 1
};
static const struct http_peer elsewhere = { .cn = STR_INIT("admin"),
                                            .orgs = ask_masters,
                                            .norgs = 1,
                                            .uris = other_home,
                                            .nuris = 1,
                                            .not_after = INT64_MAX };

static const struct visitor {
    const char *name;
    const struct http_peer *peer;
    bool rejected;
    const char *token, *want, *abroad; /* what he gets; the same in an instance */
} visitors[] = {
    { "nobody", NULL, false, NULL, "403", "403" },
    { "weak", &alice, false, NULL, "403", "401" }, /* one door: root's */
    { "of another authority", NULL, true, NULL, "401", "401" },
    { "expired", &expired, false, NULL, "401", "401" },
    { "of another instance", &elsewhere, false, NULL, "401", "401" },
    { "with no token", NULL, false, "Bearer x", "401", "401" },
    { "with an unsigned token", NULL, false,
      "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ.", "401", "401" },
    { "with a password", NULL, false, "Basic YTpi", "401", "401" },
};

struct matrix {
    struct host *h;
    unsigned asked, wrong;
};

/* What the default roles give to those who are known at all, or to everyone. */
static bool is_open(const struct visitor *v, const char *method, const char *path)
{
    static const char *const all[] = { "/healthz*", "/livez*", "/readyz*", "/version",
                                       "/version/" };
    static const char *const known[] = { "/",       "/api",       "/api/*",    "/apis",
                                         "/apis/*", "/openapi/*", "/openid/*", "/.well-known/*" };
    bool doc = strncmp(path, "/api/v1/", 8) != 0;

    for (size_t i = 0; strcmp(method, "GET") == 0 && i < sizeof(all) / sizeof(*all); i++)
        if (strcmp(path, all[i]) == 0)
            return true;
    if (strstr(path, "iam.kairship.io/v1alpha1/logins")) /* everybody's */
        return strcmp(method, "POST") == 0;
    if (v->peer != &alice)
        return false;
    if (strstr(path, "/selfsubject"))
        return strcmp(method, "POST") == 0;
    for (size_t i = 0; doc && strcmp(method, "GET") == 0 && i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(path, known[i]) == 0)
            return true;
    return false;
}

static void knock(struct matrix *m, const char *prefix, const char *method, const char *path)
{
    for (size_t i = 0; i < sizeof(visitors) / sizeof(*visitors); i++) {
        const struct visitor *v = &visitors[i];
        const char *want = *prefix ? v->abroad : v->want, *got;
        struct ask *a = ask(m->h, method, arena_printf(m->h->arena, "%s%s", prefix, path));

        a->call->peer = v->peer;
        a->call->peer_rejected = v->rejected;
        if (v->token)
            ask_header(a, "authorization", v->token);
        got = code_of(ask_body(a, "{}"));
        m->asked++;
        if (strncmp(got, want, 3) == 0 || (want[2] == '3' && is_open(v, method, path)))
            continue;
        m->wrong++;
        printf("# %s: %s %s%s: %s\n", v->name, method, prefix, path, got);
    }
}

static void knock_at_kind(struct matrix *m, const char *prefix, const struct kind *k)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    const char *all = str_z(m->h->arena, route_path(m->h->arena, k, STR("default")));
    const char *one = arena_printf(m->h->arena, "%s/x", all);

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        knock(m, prefix, methods[i], all);
        knock(m, prefix, methods[i], one);
        for (size_t j = 0; j < k->nsubresources; j++)
            knock(m, prefix, methods[i],
                  arena_printf(m->h->arena, "%s/%.*s", one, STR_ARG(k->subresources[j].name)));
    }
    knock(m, prefix, "GET", arena_printf(m->h->arena, "%s?watch=1", all));
}

static void knock_everywhere(struct matrix *m, const char *prefix, const struct catalog *c)
{
    for (size_t i = 0; i < c->nkinds; i++)
        knock_at_kind(m, prefix, c->kinds[i]);
    for (size_t i = 0; document_path(i); i++) {
        knock(m, prefix, "GET", document_path(i));
        knock(m, prefix, "POST", document_path(i));
    }
}

TEST(no_route_is_open_to_those_without_rights)
{
    struct matrix m = { .h = host_new(0, 0) };

    CHECK_STR(make_instance(m.h, "one"), "201");
    knock_everywhere(&m, "", kinds_catalog_root());
    knock_everywhere(&m, "/clusters/one", kinds_catalog_instance());
    knock_everywhere(&m, "/clusters/none", kinds_catalog_instance());
    printf("# %u requests\n", m.asked);
    CHECK(m.asked > 1000);
    CHECK(m.wrong == 0);
    host_free(m.h);
}
