/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every route there is, in every kind of place, asked by everyone whose credential is missing,
 * weak, false, over, or another's.  What each of them gets is known beforehand, and nothing else is
 * an answer.
 */

#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "apiserver/server/dispatch_check.h"
#include "base/encode.h"
#include "http/sign.h"
#include "server_people.h"

enum { NOW = 1577934245 }; /* of the fixture's clock */

enum place { ROOT, ONE, NONE, GONE, ALL, NPLACES };

static const char *const prefixes[NPLACES] = { "", "/clusters/one", "/clusters/none",
                                               "/clusters/gone", "/clusters/*" };

enum standing {
    REFUSED,  /* everywhere */
    STRANGER, /* everywhere, with what is open to strangers */
    IMPOSTOR, /* a stranger who asks for another's name: nothing is open to him */
    KNOWN,    /* at home, with what is open to all who are known; refused elsewhere */
};

struct visitor {
    const char *name;
    enum standing standing;
    enum place home;
    const struct http_peer *peer;
    bool rejected;
    const char *token;
    const char *headers[9][2];
};

enum { VISITORS_MAX = 48 };

struct matrix {
    struct host *h;
    struct visitor visitors[VISITORS_MAX];
    size_t n;
    secret keys[2];
    unsigned asked, wrong;
};

static struct visitor *visitor(struct matrix *m, const char *name, enum standing standing)
{
    struct visitor *v = &m->visitors[m->n];

    if (++m->n > VISITORS_MAX)
        exit(1);
    *v = (struct visitor){ .name = name, .standing = standing };
    return v;
}

/* ---- who comes ---- */

static void strangers(struct matrix *m)
{
    static const char *const tricks[][2] = {
        { "x-remote-user", "admin" },
        { "x-remote-group", "system:masters" },
        { "x-kubernetes-cluster", "one" },
        { "x-forwarded-client-cert", "By=admin" },
        { "x-ssl-client-s-dn", "CN=admin,O=system:masters" },
        { "x-forwarded-user", "admin" },
        { "x-original-url", "/healthz" },
        { "x-http-method-override", "GET" },
    };
    struct visitor *v;

    visitor(m, "nobody", STRANGER);
    v = visitor(m, "nobody with many headers", STRANGER);
    memcpy(v->headers, tricks, sizeof(tricks));
    v = visitor(m, "nobody as an admin", IMPOSTOR);
    v->headers[0][0] = "impersonate-user";
    v->headers[0][1] = "admin";
    v->headers[1][0] = "impersonate-group";
    v->headers[1][1] = "system:masters";
}

static void holders_of_certificates(struct matrix *m)
{
    static const str names_of_others[] = { STR_INIT("spiffe://elsewhere/admin") };
    struct http_peer *p;
    str *doors = arena_array(m->h->arena, str, 2);

    visitor(m, "certificate of another authority", REFUSED)->rejected = true;
    p = cert_of(m->h, "one", "admin", "system:masters");
    p->not_after = NOW;
    visitor(m, "expired certificate", REFUSED)->peer = p;
    p = cert_of(m->h, "one", "admin", "system:masters");
    p->not_before = NOW + 1;
    visitor(m, "certificate of tomorrow", REFUSED)->peer = p;
    p = cert_of(m->h, "one", "admin", "system:masters");
    p->not_for_clients = true;
    visitor(m, "certificate of a server", REFUSED)->peer = p;
    p = cert_of(m->h, "one", "", "system:masters");
    visitor(m, "certificate without a name", REFUSED)->peer = p;
    p = cert_of(m->h, "one", "admin", "system:masters");
    p->uris = names_of_others;
    visitor(m, "certificate with a name of others", REFUSED)->peer = p;
    p = cert_of(m->h, "one", "admin", "system:masters");
    doors[0] = p->uris[0];
    doors[1] = authn_cert_uri(m->h->arena, &(struct instance){ .uid = m->h->server->root_uid });
    p->uris = doors;
    p->nuris = 2;
    visitor(m, "certificate for two doors", REFUSED)->peer = p;
    visitor(m, "certificate of another instance", REFUSED)->peer =
        cert_of(m->h, "far", "admin", "system:masters");
    visitor(m, "certificate of a gone instance", REFUSED)->peer =
        cert_of(m->h, "gone", "admin", "system:masters");
    visitor(m, "weak certificate", KNOWN)->peer = cert_of(m->h, "one", "alice", "devs");
    m->visitors[m->n - 1].home = ONE;
    /* Our own parts have rights by a row of theirs, not by their name. */
    visitor(m, "certificate with a name of ours", KNOWN)->peer =
        cert_of(m->h, "one", "system:kairship:namespace-controller", "system:kairship");
    m->visitors[m->n - 1].home = ONE;
    p = cert_of(m->h, "one", "bob", "devs");
    p->nuris = 0;
    visitor(m, "weak certificate of root", KNOWN)->peer = p;
}

static str part_of(struct arena *a, const char *token, int n)
{
    str rest = str_of(token), part = STR_NONE, plain = STR_NONE;

    for (int i = 0; i <= n; i++)
        CHECK(str_split(&rest, '.', &part));
    CHECK(base64_decode(a, BASE64_URL, part, &plain));
    return plain;
}

/* The token with another header, or other claims; the signature, if it is not given, is as it was.
 */
static const char *forged(struct arena *a, const char *token, str header, str claims,
                          const str *signature)
{
    str parts[3] = { header.n ? header : part_of(a, token, 0),
                     claims.n ? claims : part_of(a, token, 1),
                     signature ? *signature : part_of(a, token, 2) };

    for (int i = 0; i < 3; i++)
        parts[i] = base64_encode(a, BASE64_URL, parts[i]);
    return arena_printf(a, "%.*s.%.*s.%.*s", STR_ARG(parts[0]), STR_ARG(parts[1]),
                        STR_ARG(parts[2]));
}

/* Signed with what everybody may know: the public half of the key, as if it were a password. */
static const char *by_public_key(struct matrix *m, const char *token)
{
    struct arena *a = m->h->arena;
    str pem = secret_reveal(m->keys[0]);
    BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n), *out = BIO_new(BIO_s_mem());
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    str header = STR("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"), text, mac;
    unsigned char sum[SHA256_SIZE];
    char *public;
    long n;

    CHECK(PEM_write_bio_PUBKEY(out, key) == 1);
    n = BIO_get_mem_data(out, &public);
    text = str_printf(a, "%.*s.%.*s", STR_ARG(base64_encode(a, BASE64_URL, header)),
                      STR_ARG(base64_encode(a, BASE64_URL, part_of(a, token, 1))));
    CHECK(HMAC(EVP_sha256(), public, (int)n, (const unsigned char *)text.p, text.n, sum, NULL));
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(out);
    mac = (str){ (const char *)sum, sizeof(sum) };
    return forged(a, token, header, STR_NONE, &mac);
}

static str replaced(struct arena *a, str text, const char *from, const char *to)
{
    const char *at = memmem(text.p, text.n, from, strlen(from));

    if (!CHECK(at))
        return text;
    return str_printf(a, "%.*s%s%.*s", (int)(at - text.p), text.p, to,
                      (int)(text.n - (size_t)(at - text.p) - strlen(from)), at + strlen(from));
}

/* What anyone could do to a token of `one` that he got hold of. */
static void holders_of_forged_tokens(struct matrix *m)
{
    struct arena *a = m->h->arena;
    const char *good = token_of(m->h, prefixes[ONE], "bot", "{}");
    str claims = part_of(a, good, 1), header = part_of(a, good, 0), none = STR_NONE;
    str admin = replaced(a, claims, "system:serviceaccount:default:bot", "system:admin");
    secret both[2] = { m->keys[1], m->keys[0] };
    struct status st;
    const char *other;

    status_init(&st, a);
    CHECK(server_reload_keys(m->h->server, both, 2, &st) == 0); /* from now on the other signs */
    other = token_of(m->h, prefixes[ONE], "bot", "{}");
    visitor(m, "rubbish", REFUSED)->token = "x";
    visitor(m, "weak password", REFUSED)->token = "admin";
    visitor(m, "three dots", REFUSED)->token = "a.b.c";
    visitor(m, "alg none", REFUSED)->token =
        forged(a, good, STR("{\"alg\":\"none\"}"), STR_NONE, &none);
    visitor(m, "alg none with a key", REFUSED)->token =
        forged(a, good, replaced(a, header, "ES256", "none"), STR_NONE, &none);
    visitor(m, "HS256 with the public key", REFUSED)->token = by_public_key(m, good);
    visitor(m, "alg of another kind", REFUSED)->token =
        forged(a, good, replaced(a, header, "ES256", "RS256"), STR_NONE, NULL);
    visitor(m, "swapped keys", REFUSED)->token =
        forged(a, good, part_of(a, other, 0), STR_NONE, NULL);
    visitor(m, "unknown key", REFUSED)->token =
        forged(a, good, STR("{\"alg\":\"ES256\",\"kid\":\"x\"}"), STR_NONE, NULL);
    visitor(m, "other claims", REFUSED)->token = forged(a, good, STR_NONE, admin, NULL);
    visitor(m, "no signature", REFUSED)->token = forged(a, good, STR_NONE, STR_NONE, &none);
    visitor(m, "weak token", KNOWN)->token = good;
    m->visitors[m->n - 1].home = ONE;
    visitor(m, "weak token of the other key", KNOWN)->token = other;
    m->visitors[m->n - 1].home = ONE;
}

static const char *bound(struct matrix *m, const char *kind, const char *name)
{
    return token_of(m->h, prefixes[ONE], "bound",
                    arena_printf(m->h->arena,
                                 "{\"boundObjectRef\":{\"kind\":\"%s\",\"apiVersion\":\"v1\","
                                 "\"name\":\"%s\"}}",
                                 kind, name));
}

#define POD                                                                      \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"serviceAccountName\":\"bound\"," \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define BOOTSTRAP                                                                             \
    "{\"metadata\":{\"name\":\"bootstrap-token-abcdef\"},\"type\":\"bootstrap.kubernetes.io/" \
    "token\",\"stringData\":{\"token-id\":\"abcdef\",\"token-secret\":\"0123456789abcdef\","  \
    "\"usage-bootstrap-authentication\":\"true\",\"expiration\":\"2020-01-02T03:04:05Z\"}}"

static void holders_of_ended_tokens(struct matrix *m)
{
    const char *one = prefixes[ONE];

    visitor(m, "token of another instance", REFUSED)->token =
        token_of(m->h, "/clusters/far", "bot", "{}");
    visitor(m, "token of a gone instance", REFUSED)->token =
        token_of(m->h, prefixes[GONE], "bot", "{}");
    visitor(m, "token for others", REFUSED)->token =
        token_of(m->h, one, "bot", "{\"audiences\":[\"vault\"]}");
    visitor(m, "token of a deleted account", REFUSED)->token = token_of(m->h, one, "old", "{}");
    CHECK_STR(delete_at(m->h, one, ACCOUNTS "/old"), "200");
    CHECK_STR(post(m->h, one, SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), "201");
    (void)make_account(m->h, one, "bound");
    CHECK_STR(post(m->h, one, PODS, POD), "201");
    visitor(m, "token of a deleted secret", REFUSED)->token = bound(m, "Secret", "s");
    visitor(m, "token of a deleted pod", REFUSED)->token = bound(m, "Pod", "p");
    CHECK_STR(delete_at(m->h, one, SECRETS "/s"), "200");
    CHECK_STR(delete_at(m->h, one, PODS "/p?gracePeriodSeconds=0"), "200");
    CHECK_STR(post(m->h, one, "/api/v1/namespaces/kube-system/secrets", BOOTSTRAP), "201");
    visitor(m, "expired bootstrap token", REFUSED)->token = "abcdef.0123456789abcdef";
    visitor(m, "unknown bootstrap token", REFUSED)->token = "abcdef.0123456789abcdeg";
}

static void matrix_open(struct matrix *m)
{
    struct status st;
    const struct http_peer *old_cert;
    const char *old_token, *expired;

    *m = (struct matrix){ .h = host_new(0, 0) };
    status_init(&st, m->h->arena);
    for (int i = 0; i < 2; i++)
        CHECK(sign_key_make(m->h->arena, &m->keys[i], &st) == 0);
    CHECK(server_reload_keys(m->h->server, m->keys, 2, &st) == 0);
    CHECK_STR(make_instance(m->h, "one"), "201");
    CHECK_STR(make_instance(m->h, "two"), "201"); /* whose things path tricks are after */
    CHECK_STR(make_instance(m->h, "far"), "201");
    CHECK_STR(make_instance(m->h, "gone"), "201");
    old_cert = cert_of(m->h, "one", "admin", "system:masters");
    old_token = token_of(m->h, prefixes[ONE], "bot", "{}");
    CHECK_STR(delete_at(m->h, INSTANCES, "/one"), "200");
    CHECK_STR(make_instance(m->h, "one"), "201"); /* another of the same name */
    clock_jump(&m->h->clock, (NOW - 600) * INT64_C(1000000));
    expired = token_of(m->h, prefixes[ONE], "bot", "{\"expirationSeconds\":600}");
    clock_jump(&m->h->clock, NOW * INT64_C(1000000));

    strangers(m);
    holders_of_certificates(m);
    holders_of_ended_tokens(m);
    holders_of_forged_tokens(m);
    visitor(m, "certificate of an earlier instance", REFUSED)->peer = old_cert;
    visitor(m, "token of an earlier instance", REFUSED)->token = old_token;
    visitor(m, "expired token", REFUSED)->token = expired;
    CHECK_STR(delete_at(m->h, INSTANCES, "/gone"), "200");
}

/* ---- what they get ---- */

static bool is_among(const char *const *list, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list[i]);

        if (list[i][len - 1] == '*' ? strncmp(path, list[i], len - 1) == 0
                                    : strcmp(path, list[i]) == 0)
            return true;
    }
    return false;
}

#define IS_AMONG(list, path) is_among(list, sizeof(list) / sizeof(*(list)), path)

/* By the default roles: system:public-info-viewer, system:discovery, system:basic-user, … */
static bool is_open(const struct visitor *v, const char *method, const char *path, bool resource)
{
    static const char *const to_all[] = { "/healthz", "/livez", "/readyz", "/version",
                                          "/version/" };
    static const char *const to_known[] = { "/api", "/api/*", "/apis", "/apis/*", "/openapi/*" };
    static const char *const to_accounts[] = { "/.well-known/openid-configuration",
                                               "/openid/v1/jwks" };

    if (v->standing == IMPOSTOR)
        return false;
    if (resource && strstr(path, "iam.kairship.io/v1alpha1/logins"))
        return strcmp(method, "POST") == 0;
    if (resource)
        return v->standing == KNOWN && strstr(path, "/selfsubject") && strcmp(method, "POST") == 0;
    if (strcmp(method, "GET") != 0)
        return false;
    if (IS_AMONG(to_all, path))
        return true;
    return v->standing == KNOWN &&
           (IS_AMONG(to_known, path) || (v->token && IS_AMONG(to_accounts, path)));
}

static int expected(const struct visitor *v, enum place at)
{
    if (v->standing == REFUSED)
        return 401;
    return v->standing == KNOWN && v->home != at ? 401 : 403;
}

static int send_one(struct matrix *m, const struct visitor *v, const char *method,
                    const char *target)
{
    struct ask *a = ask(m->h, method, target);
    int code;

    a->call->peer = v->peer;
    a->call->peer_rejected = v->rejected;
    if (v->token)
        ask_header(a, "authorization", arena_printf(m->h->arena, "Bearer %s", v->token));
    for (size_t i = 0; v->headers[i][0]; i++)
        ask_header(a, v->headers[i][0], v->headers[i][1]);
    ask_send(ask_body(a, "{}"));
    CHECK(host_until(m->h, ask_done, a));
    code = a->code;
    ask_free(a);
    m->asked++;
    return code;
}

static void knock(struct matrix *m, enum place at, const char *method, const char *path,
                  bool resource)
{
    struct arena *kept = m->h->arena;

    m->h->arena = arena_new(); /* of these requests */
    for (size_t i = 0; i < m->n; i++) {
        const struct visitor *v = &m->visitors[i];
        int want = expected(v, at);
        int got = send_one(m, v, method, arena_printf(m->h->arena, "%s%s", prefixes[at], path));
        bool open = want == 403 && at != ALL && is_open(v, method, path, resource);

        /* What is open may still say that it wants something else in the body. */
        if (open ? got != 401 && got != 403 && got < 500 : got == want)
            continue;
        m->wrong++;
        printf("# %s: %s %s%s: %d\n", v->name, method, prefixes[at], path, got);
    }
    arena_free(m->h->arena);
    m->h->arena = kept;
}

static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS" };

static void knock_at_kind(struct matrix *m, enum place at, const struct kind *k)
{
    struct arena *a = m->h->arena;
    const char *all = str_z(a, route_path(a, k, STR("default")));
    const char *one = arena_printf(a, "%s/x", all);

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        knock(m, at, methods[i], all, true);
        knock(m, at, methods[i], one, true);
        for (size_t j = 0; j < k->nsubresources; j++)
            knock(m, at, methods[i],
                  arena_printf(a, "%s/%.*s", one, STR_ARG(k->subresources[j].name)), true);
    }
    knock(m, at, "GET", arena_printf(a, "%s?watch=1", all), true);
    if (k->namespaced)
        knock(m, at, "GET", str_z(a, route_path(a, k, STR_NONE)), true);
}

/* The path itself, and where a row stands for more than one, another. */
static void knock_at_document(struct matrix *m, enum place at, const char *pattern)
{
    size_t n = strlen(pattern);
    bool more = pattern[n - 1] == '*';
    const char *path = arena_printf(m->h->arena, "%.*s", (int)(more ? n - 1 : n), pattern);

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        knock(m, at, methods[i], path, false);
        if (more)
            knock(m, at, methods[i], arena_printf(m->h->arena, "%sx", path), false);
    }
}

static void knock_everywhere(struct matrix *m, enum place at, const struct catalog *c)
{
    for (size_t i = 0; i < c->nkinds; i++)
        knock_at_kind(m, at, c->kinds[i]);
    for (size_t i = 0; document_path(i); i++)
        knock_at_document(m, at, document_path(i));
    knock(m, at, "GET", "/nowhere", false);
    knock(m, at, "GET", "/apis/nowhere.example.com/v1/things", true);
}

TEST(every_route_and_everyone)
{
    struct matrix m;

    matrix_open(&m);
    for (enum place at = ROOT; at < NPLACES; at++)
        knock_everywhere(&m, at, at == ROOT ? kinds_catalog_root() : kinds_catalog_instance());
    printf("# %u requests of %zu visitors, %u unexpected answers\n", m.asked, m.n, m.wrong);
    CHECK(m.asked > 100000);
    CHECK(m.wrong == 0);
    host_free(m.h);
}

/* ---- path tricks ---- */

#define SECRET_OF_TWO "treasure-of-two"
#define MAPS          "/api/v1/namespaces/default/configmaps"

/* Ways to write the path of something in `two`, for who is in `one` or nowhere. */
static const char *const tricks[] = {
    "/clusters/two" MAPS,
    "/clusters/one/../two" MAPS,
    "/clusters/one/%2e%2e/two" MAPS,
    "/clusters/one/.%2e/two" MAPS,
    "/clusters/one/..%2ftwo" MAPS,
    "/clusters/one%2f..%2ftwo" MAPS,
    "/clusters/one/%252e%252e/two" MAPS,
    "/clusters/one/./../two" MAPS,
    "/clusters/./two" MAPS,
    "/./clusters/two" MAPS,
    "//clusters/two" MAPS,
    "/clusters//two" MAPS,
    "/clusters/two/" MAPS,
    "/clusters/two//api/v1/namespaces/default/configmaps",
    "/clusters/two/api//v1/namespaces/default/configmaps",
    "/clusters/two/./api/v1/namespaces/default/configmaps",
    "/clusters/two/api/v1/namespaces/default/configmaps/",
    "/clusters/two/api/v1/namespaces/default/../default/configmaps",
    "/clusters/%74wo" MAPS,
    "/clusters/t%77o" MAPS,
    "/%63lusters/two" MAPS,
    "/clusters%2ftwo" MAPS,
    "/clusters/two%2fapi/v1/namespaces/default/configmaps",
    "/clusters/TWO" MAPS,
    "/clusters/Two" MAPS,
    "/Clusters/two" MAPS,
    "/CLUSTERS/two" MAPS,
    "/clusters/two." MAPS,
    "/clusters/two.." MAPS,
    "/clusters/.two" MAPS,
    "/clusters/two%20" MAPS,
    "/clusters/two%00" MAPS,
    "/clusters/two%00one" MAPS,
    "/clusters/two%0d%0a" MAPS,
    "/clusters/two;one" MAPS,
    "/clusters/one,two" MAPS,
    "/clusters/one/clusters/two" MAPS,
    "/clusters/one/api/v1/namespaces/default/..%2f..%2f..%2f..%2f..%2ftwo" MAPS,
    "/clusters/one/api/v1/../../../two" MAPS,
    "/clusters/*/api/v1/configmaps",
    "/clusters/%2a/api/v1/configmaps",
    "/clusters/**/api/v1/configmaps",
    "/clusters/t*/api/v1/configmaps",
    "/clusters/root" MAPS,
    "/clusters/" MAPS,
    "/clusters" MAPS,
    "/clusters/0" MAPS,
    "/clusters/17" MAPS,
    "/clusters/-1" MAPS,
    "/clusters/tw%c3%b3" MAPS,
    "/clusters/two%ff" MAPS,
    "/clusters/%zz" MAPS,
    "clusters/two" MAPS,
    "",
    "*",
    "https://127.0.0.1/clusters/two" MAPS,
    "\\clusters\\two\\api",
    "/clusters\\two" MAPS,
    "/api/v1/watch/../../clusters/two" MAPS,
    "/clusters/one/api/v1/proxy/namespaces/default/services/two",
    "/clusters/two/api/v1/watch/namespaces/default/configmaps",
    "/clusters/two/API/v1/namespaces/default/configmaps",
    "/clusters/two/healthz/..%2fapi",
};

/* Nobody gets in, and the answer is one of those that tell nothing. */
static void try_trick(struct matrix *m, const struct visitor *v, const char *method,
                      const char *path)
{
    struct ask *a = ask(m->h, method, path);
    bool quiet;

    a->call->peer = v->peer;
    a->call->peer_rejected = v->rejected;
    if (v->token)
        ask_header(a, "authorization", arena_printf(m->h->arena, "Bearer %s", v->token));
    for (size_t i = 0; v->headers[i][0]; i++)
        ask_header(a, v->headers[i][0], v->headers[i][1]);
    ask_send(ask_body(a, "{}"));
    CHECK(host_until(m->h, ask_done, a));
    quiet = a->code == 400 || a->code == 401 || (a->code >= 403 && a->code <= 405);
    if (!quiet || str_contains(buf_str(&a->text), STR(SECRET_OF_TWO))) {
        m->wrong++;
        printf("# %s: %s %s: %d\n", v->name, method, path, a->code);
    }
    m->asked++;
    ask_free(a);
}

TEST(path_tricks_open_nothing)
{
    struct matrix m;
    struct visitor *v;

    matrix_open(&m);
    CHECK_STR(make_configmap(m.h, "/clusters/two", SECRET_OF_TWO), "201");
    CHECK_STR(make_configmap(m.h, "", SECRET_OF_TWO), "201"); /* not of root, either */
    visitor(&m, "admin of one", KNOWN)->peer = cert_of(m.h, "one", "admin", "system:masters");
    v = visitor(&m, "admin of one with a header", KNOWN);
    v->peer = m.visitors[m.n - 2].peer;
    v->headers[0][0] = "x-kubernetes-cluster";
    v->headers[0][1] = "two";
    for (size_t i = 0; i < m.n; i++)
        for (size_t t = 0; t < sizeof(tricks) / sizeof(*tricks); t++)
            for (size_t w = 0; w < sizeof(methods) / sizeof(*methods); w++)
                try_trick(&m, &m.visitors[i], methods[w], tricks[t]);
    printf("# %u requests of %zu visitors, %u unexpected answers\n", m.asked, m.n, m.wrong);
    CHECK(m.wrong == 0);
    host_free(m.h);
}

/* That the tricks are not refused for another reason: straight on, these very people do get in. */
TEST(the_doors_do_open)
{
    struct matrix m;
    struct visitor own = { .name = "admin of one" };

    matrix_open(&m);
    own.peer = cert_of(m.h, "one", "admin", "system:masters");
    CHECK(send_one(&m, &own, "GET", "/clusters/one" MAPS) == 200);
    CHECK(send_one(&m, &own, "GET", "/clusters/%6fne" MAPS) == 200);
    own.headers[0][0] = "x-kubernetes-cluster";
    own.headers[0][1] = "two";
    CHECK(send_one(&m, &own, "GET", "/clusters/one" MAPS) == 200);
    CHECK(send_one(&m, &own, "GET", "/clusters/two" MAPS) == 401);
    for (size_t i = 0; i < m.n; i++)
        if (m.visitors[i].standing == KNOWN)
            CHECK(send_one(&m, &m.visitors[i], "GET",
                           arena_printf(m.h->arena, "%s/api", prefixes[m.visitors[i].home])) ==
                  200);
    host_free(m.h);
}
