/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A credential opens what it was handed out for.  Each kind of credential is shown at each kind of
 * address; where it is good it lets in, and elsewhere it is refused with the address of its own
 * instance, if and only if it is good there.
 */

#include "http/sign.h"
#include "server_people.h"

enum { NOW = 1577934245 }; /* of the fixture's clock */

enum place { ROOT, ONE, TWO, NONE, GONE, ALL, PLACES };
static const char *const prefixes[PLACES] = {
    "", "/clusters/one", "/clusters/two", "/clusters/none", "/clusters/gone", "/clusters/*"
};

#define PLAIN "Unauthorized"

struct credential {
    const char *name;
    enum place home;
    bool good; /* at home */
    const struct http_peer *peer;
    const char *token;
};

enum { MAX = 24 };

struct bunch {
    struct host *h;
    struct credential all[MAX];
    size_t n;
};

static struct credential *credential(struct bunch *b, const char *name, enum place home, bool good)
{
    struct credential *c = &b->all[b->n++];

    CHECK(b->n <= MAX);
    *c = (struct credential){ .name = name, .home = home, .good = good };
    return c;
}

static const char *bootstrap(struct bunch *b, enum place at)
{
    CHECK_STR(post(b->h, prefixes[at], "/api/v1/namespaces/kube-system/secrets",
                   "{\"metadata\":{\"name\":\"bootstrap-token-abcdef\"},\"type\":"
                   "\"bootstrap.kubernetes.io/token\",\"stringData\":{\"token-id\":\"abcdef\","
                   "\"token-secret\":\"0123456789abcdef\",\"usage-bootstrap-authentication\":"
                   "\"true\"}}"),
              "201");
    return "abcdef.0123456789abcdef";
}

static void fill(struct bunch *b)
{
    struct host *h = b->h;
    struct http_peer *p;

    credential(b, "certificate of an instance", ONE, true)->peer = cert_of(h, "one", "a", "devs");
    credential(b, "certificate of its admin", ONE, true)->peer =
        cert_of(h, "one", "admin", "system:masters");
    p = cert_of(h, "one", "a", "devs");
    p->nuris = 0;
    credential(b, "certificate of root", ROOT, true)->peer = p;
    p = cert_of(h, "one", "a", "devs");
    p->not_after = NOW - 1;
    credential(b, "expired certificate", ONE, false)->peer = p;
    p = cert_of(h, "two", "a", "devs");
    p->uris = arena_new_of(h->arena, str);
    *(str *)(uintptr_t)p->uris = str_printf(
        h->arena, AUTHN_CERT_URI "%s?=one",
        str_z(h->arena, str_of(uid_of_instance(h, "two")))); /* a name that is not its uid's */
    credential(b, "certificate with another's name", TWO, true)->peer = p;
    credential(b, "certificate of a gone instance", GONE, false)->peer =
        cert_of(h, "gone", "a", "devs");
    credential(b, "token of an instance", ONE, true)->token =
        token_of(h, prefixes[ONE], "bot", "{}");
    credential(b, "token of root", ROOT, true)->token = token_of(h, prefixes[ROOT], "bot", "{}");
    credential(b, "token for others", ONE, false)->token =
        token_of(h, prefixes[ONE], "bot", "{\"audiences\":[\"vault\"]}");
    credential(b, "token of a deleted account", ONE, false)->token =
        token_of(h, prefixes[ONE], "old", "{}");
    CHECK_STR(delete_at(h, prefixes[ONE], ACCOUNTS "/old"), "200");
    credential(b, "token of a gone instance", GONE, false)->token =
        token_of(h, prefixes[GONE], "bot", "{}");
    credential(b, "bootstrap token", ONE, true)->token = bootstrap(b, ONE);
    credential(b, "no token", ROOT, false)->token = "x.y.z";
    CHECK_STR(delete_at(h, INSTANCES, "/gone"), "200");
}

/* Those that do not say whose they are, or say it wrongly. */
static bool is_mute(const struct credential *c)
{
    return strstr(c->name, "bootstrap") || strstr(c->name, "another's name");
}

static const char *expected(struct bunch *b, const struct credential *c)
{
    struct arena *a = b->h->arena;
    const char *kind = c->peer ? "client certificate" : "token";

    if (!c->good || is_mute(c))
        return PLAIN;
    return arena_printf(a, PLAIN ": this %s opens the %s%s only, whose address is https://here:1%s",
                        kind, c->home == ROOT ? "root instance" : "instance ",
                        c->home == ROOT ? "" : "one", prefixes[c->home]);
}

static void show(struct bunch *b, const struct credential *c, enum place at)
{
    struct ask *a = ask(b->h, "GET", arena_printf(b->h->arena, "%s/api", prefixes[at]));
    bool home = c->good && c->home == at;
    const char *code, *said;

    a->call->peer = c->peer;
    ask_header(a, "host", "here:1");
    if (c->token)
        ask_header(a, "authorization", arena_printf(b->h->arena, "Bearer %s", c->token));
    code = answer(a);
    said = home ? "" : answer_field(a, "message");
    if (!CHECK(strcmp(code, home ? "200" : "401 Unauthorized") == 0) ||
        !CHECK(home || strcmp(said, expected(b, c)) == 0))
        printf("# %s at %s: %s %s\n", c->name, *prefixes[at] ? prefixes[at] : "root", code, said);
    ask_free(a);
}

TEST(every_credential_at_every_address)
{
    struct bunch b = { .h = host_new(0, 0) };
    struct status st;
    secret key;

    status_init(&st, b.h->arena);
    CHECK(sign_key_make(b.h->arena, &key, &st) == 0);
    CHECK(server_reload_keys(b.h->server, &key, 1, &st) == 0);
    CHECK_STR(make_instance(b.h, "one"), "201");
    CHECK_STR(make_instance(b.h, "two"), "201");
    CHECK_STR(make_instance(b.h, "gone"), "201");
    clock_jump(&b.h->clock, NOW * INT64_C(1000000));
    fill(&b);
    for (size_t i = 0; i < b.n; i++)
        for (enum place at = ROOT; at < PLACES; at++)
            show(&b, &b.all[i], at);
    host_free(b.h);
}
