/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "base/encode.h"
#include "server_fixture.h"

/* Tokens at the door: whose they are, where they open, and when they no longer do. */

#define ACCOUNTS   "/api/v1/namespaces/default/serviceaccounts"
#define SECRETS    "/api/v1/namespaces/default/secrets"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define REVIEWS    "/apis/authentication.k8s.io/v1/tokenreviews"

/* Someone without rights: 403 says that the credential was good. */
#define KNOWN   "403 Forbidden"
#define REFUSED "401 Unauthorized"

static const char *post(struct host *h, const char *path, const char *body)
{
    return code_of(ask_body(ask(h, "POST", path), body));
}

static const char *make_account(struct host *h, const char *prefix, const char *name)
{
    return post(h, arena_printf(h->arena, "%s" ACCOUNTS, prefix),
                arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

/* The token, or the code of the refusal. */
static const char *token_of(struct host *h, const char *prefix, const char *name, const char *spec)
{
    struct ask *a =
        ask_body(ask(h, "POST", arena_printf(h->arena, "%s" ACCOUNTS "/%s/token", prefix, name)),
                 arena_printf(h->arena, "{\"spec\":%s}", spec));
    const char *code = answer(a), *token = answer_field(a, "status.token");

    ask_free(a);
    return strcmp(code, "201") == 0 ? token : code;
}

static struct ask *come(struct host *h, const char *token, const char *path)
{
    struct ask *a = ask(h, "GET", path);

    a->call->peer = NULL;
    return ask_header(a, "authorization", arena_printf(h->arena, "Bearer %s", token));
}

static const char *use(struct host *h, const char *token, const char *path)
{
    return code_of(come(h, token, path));
}

/* status.user.username, or "!" and the error. */
static const char *review(struct host *h, const char *prefix, const char *token,
                          const char *audiences)
{
    struct ask *a = ask_body(
        ask(h, "POST", arena_printf(h->arena, "%s" REVIEWS, prefix)),
        arena_printf(h->arena, "{\"spec\":{\"token\":\"%s\",\"audiences\":%s}}", token, audiences));
    const char *out;

    CHECK_STR(answer(a), "201");
    out = strcmp(answer_field(a, "status.authenticated"), "true") == 0
              ? arena_printf(h->arena, "%s %s", answer_field(a, "status.user.username"),
                             answer_field(a, "status.audiences"))
              : arena_printf(h->arena, "!%s", answer_field(a, "status.error"));
    ask_free(a);
    return out;
}

static const char *delete_at(struct host *h, const char *path)
{
    return code_of(ask(h, "DELETE", path));
}

TEST(a_token_is_its_account)
{
    struct host *h = host_new(0, 0);
    const char *token;
    struct ask *a;

    CHECK_STR(make_account(h, "", "bot"), "201");
    token = token_of(h, "", "bot", "{}");
    for (int i = 0; i < 3; i++) { /* the second time from the cache */
        a = come(h, token, CONFIGMAPS);
        CHECK_STR(answer(a), KNOWN);
        CHECK_STR(answer_field(a, "message"),
                  "configmaps is forbidden: User \"system:serviceaccount:default:bot\" cannot list "
                  "resource \"configmaps\" in API group \"\" in the namespace \"default\"");
        ask_free(a);
    }
    CHECK_STR(review(h, "", token, "[]"),
              "system:serviceaccount:default:bot [\"https://kubernetes.default.svc\"]");
    CHECK_STR(delete_at(h, ACCOUNTS "/bot"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED); /* at once, cache or not */
    CHECK_STR(use(h, token, "/healthz"), REFUSED);
    CHECK_STR(make_account(h, "", "bot"), "201"); /* another of the same name */
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(an_account_that_is_going_opens_nothing)
{
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(post(h, ACCOUNTS, "{\"metadata\":{\"name\":\"bot\",\"finalizers\":[\"a/b\"]}}"),
              "201");
    token = token_of(h, "", "bot", "{}");
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(delete_at(h, ACCOUNTS "/bot"), "200"); /* it is still there */
    CHECK_STR(code_of(ask(h, "GET", ACCOUNTS "/bot")), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(a_token_opens_one_door)
{
    struct host *h = host_new(0, 0);
    const char *root, *one;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(make_instance(h, "two"), "201");
    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(make_account(h, "/clusters/one", "bot"), "201");
    CHECK_STR(make_account(h, "/clusters/two", "bot"), "201");
    root = token_of(h, "", "bot", "{}");
    /* The audiences of all doors do not make it a master key. */
    one = token_of(h, "/clusters/one", "bot",
                   "{\"audiences\":[\"https://kubernetes.default.svc/clusters/one\","
                   "\"https://kubernetes.default.svc/clusters/two\","
                   "\"https://kubernetes.default.svc\"]}");
    for (int i = 0; i < 2; i++) {
        CHECK_STR(use(h, root, CONFIGMAPS), KNOWN);
        CHECK_STR(use(h, root, "/clusters/one" CONFIGMAPS), REFUSED);
        CHECK_STR(use(h, root, "/clusters/nowhere" CONFIGMAPS), REFUSED);
        CHECK_STR(use(h, root, "/clusters/*/api/v1/configmaps"), REFUSED);
        CHECK_STR(use(h, one, "/clusters/one" CONFIGMAPS), KNOWN);
        CHECK_STR(use(h, one, CONFIGMAPS), REFUSED);
        CHECK_STR(use(h, one, "/clusters/two" CONFIGMAPS), REFUSED);
        CHECK_STR(use(h, one, "/clusters/nowhere/version"), REFUSED);
        CHECK_STR(use(h, one, "/clusters/*/api/v1/configmaps"), REFUSED);
    }
    CHECK(review(h, "/clusters/two", one, "[]")[0] == '!');
    CHECK_STR(
        review(h, "/clusters/one", one, "[]"),
        "system:serviceaccount:default:bot [\"https://kubernetes.default.svc/clusters/one\"]");
    host_free(h);
}

TEST(a_token_dies_with_its_instance)
{
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(make_instance(h, "one"), "201");
    token = token_of(h, "/clusters/one", "default", "{}"); /* a template's account */
    CHECK_STR(use(h, token, "/clusters/one" CONFIGMAPS), KNOWN);
    CHECK_STR(delete_at(h, "/apis/tenancy.kairship.io/v1alpha1/instances/one"), "200");
    CHECK_STR(use(h, token, "/clusters/one" CONFIGMAPS), REFUSED);
    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/one" ACCOUNTS "/default")), "200");
    CHECK_STR(use(h, token, "/clusters/one" CONFIGMAPS), REFUSED);
    host_free(h);
}

/* ---- claims that are signed by us and yet are not right ---- */

static const char *signed_claims(struct host *h, const char *token, const char *path,
                                 const char *value)
{
    const struct json *claims, *v = NULL;
    struct status st;
    struct jwt t;
    secret out;

    status_init(&st, h->arena);
    epoch_enter();
    if (!CHECK(jwt_parse(h->arena, secret_of(str_of(token)), &t)))
        exit(1);
    claims = jwt_claims(h->arena, &t);
    if (value)
        CHECK(json_parse(h->arena, str_of(value), NULL, &v, &st) == 0);
    if (strncmp(path, "kubernetes.io/", 14) == 0) { /* its name has a dot */
        const struct json *inner = json_get(claims, STR("kubernetes.io"));
        struct json_object o = json_object_from(h->arena, claims);

        json_put(&o, STR("kubernetes.io"), *json_set(h->arena, inner, path + 14, v));
        claims = json_object_done(&o);
    } else if (strcmp(path, "kairship.io") == 0) {
        struct json_object o = json_object_from(h->arena, claims);

        if (v)
            json_put(&o, STR("kairship.io"), *v);
        else
            json_remove(&o, STR("kairship.io"));
        claims = json_object_done(&o);
    } else if (*path) {
        claims = json_set(h->arena, claims, path, v);
    }
    CHECK(jwt_make(h->arena, h->server->keys, claims, &out, &st) == 0);
    epoch_exit();
    return str_z(h->arena, secret_reveal(out));
}

TEST(every_claim_counts)
{
    static const struct {
        const char *path, *value, *want;
    } rows[] = {
        { "", NULL, KNOWN },
        { "jti", NULL, KNOWN },
        { "more", "{\"x\":1}", KNOWN },
        { "nbf", "1577934300", KNOWN }, /* a clock was set back, by less than a minute */
        { "aud", "[\"a\",\"https://kubernetes.default.svc\"]", KNOWN },
        { "iss", "\"https://other\"", REFUSED },
        { "iss", "\"https://kubernetes.default.svc/\"", REFUSED },
        { "iss", NULL, REFUSED },
        { "aud", "[\"https://other\"]", REFUSED },
        { "aud", "[]", REFUSED },
        { "aud", "\"https://kubernetes.default.svc\"", REFUSED },
        { "aud", "[\"https://kubernetes.default.svc\",1]", REFUSED },
        { "aud", NULL, REFUSED },
        { "exp", "1577934245", REFUSED },
        { "exp", "1577934244", REFUSED },
        { "exp", "0", REFUSED },
        { "exp", "-1", REFUSED },
        { "exp", "\"1999999999\"", REFUSED },
        { "exp", "1.5e99", REFUSED },
        { "exp", NULL, REFUSED },
        { "nbf", "1577934306", REFUSED },
        { "nbf", NULL, REFUSED },
        { "iat", "1577934306", REFUSED },
        { "iat", NULL, REFUSED },
        { "sub", "\"system:serviceaccount:default:other\"", REFUSED },
        { "sub", "\"system:admin\"", REFUSED },
        { "sub", NULL, REFUSED },
        { "kairship.io", NULL, REFUSED },
        { "kairship.io", "{}", REFUSED },
        { "kairship.io", "{\"instance\":\"00000000-0000-0000-0000-000000000000\"}", REFUSED },
        { "kubernetes.io/namespace", "\"kube-system\"", REFUSED },
        { "kubernetes.io/namespace", NULL, REFUSED },
        { "kubernetes.io/serviceaccount.name", "\"other\"", REFUSED },
        { "kubernetes.io/serviceaccount.uid", "\"other\"", REFUSED },
        { "kubernetes.io/serviceaccount.uid", NULL, REFUSED },
        { "kubernetes.io/serviceaccount", NULL, REFUSED },
        { "kubernetes.io/secret", "{\"name\":\"s\",\"uid\":\"u\"}", REFUSED },
        { "kubernetes.io/secret", "{}", REFUSED },
        { "kubernetes.io/pod", "{\"name\":\"p\",\"uid\":\"u\"}", REFUSED },
        { "kubernetes.io/node", "{\"name\":\"n\",\"uid\":\"u\"}", REFUSED },
    };
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(make_account(h, "", "other"), "201");
    token = token_of(h, "", "bot", "{}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *bent = signed_claims(h, token, rows[i].path, rows[i].value);

        for (int again = 0; again < 2; again++) {
            const char *got = use(h, bent, CONFIGMAPS);

            if (!CHECK(strcmp(got, rows[i].want) == 0))
                printf("# %s = %s: %s\n", rows[i].path, rows[i].value ? rows[i].value : "(none)",
                       got);
        }
    }
    host_free(h);
}

TEST(a_token_ends)
{
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(make_account(h, "", "bot"), "201");
    token = token_of(h, "", "bot", "{\"expirationSeconds\":600}");
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    clock_advance(&h->clock, 599000);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    clock_advance(&h->clock, 1000);
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    CHECK_STR(review(h, "", token, "[]"),
              "![invalid bearer token, service account token has expired]");
    host_free(h);
}

TEST(keys_change_while_it_runs)
{
    struct host *h = host_new(0, 0);
    const char *before, *after;
    struct status st;
    secret keys[2];

    status_init(&st, h->arena);
    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK(sign_key_make(h->arena, &keys[1], &st) == 0);
    CHECK(server_reload_keys(h->server, &keys[1], 1, &st) == 0);
    before = token_of(h, "", "bot", "{}");
    CHECK_STR(use(h, before, CONFIGMAPS), KNOWN);
    CHECK(sign_key_make(h->arena, &keys[0], &st) == 0);
    CHECK(server_reload_keys(h->server, keys, 2, &st) == 0);
    after = token_of(h, "", "bot", "{}");
    CHECK_STR(use(h, before, CONFIGMAPS), KNOWN);
    CHECK_STR(use(h, after, CONFIGMAPS), KNOWN);
    CHECK(server_reload_keys(h->server, keys, 1, &st) == 0); /* the old one is withdrawn */
    CHECK_STR(use(h, before, CONFIGMAPS), REFUSED);
    CHECK_STR(use(h, after, CONFIGMAPS), KNOWN);
    host_free(h);
}

TEST(a_token_is_for_whom_it_says)
{
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(make_account(h, "", "bot"), "201");
    token = token_of(h, "", "bot", "{\"audiences\":[\"vault\",\"bank\"]}");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    CHECK_STR(review(h, "", token, "[\"bank\",\"zoo\"]"),
              "system:serviceaccount:default:bot [\"bank\"]");
    CHECK_STR(review(h, "", token, "[]"),
              "![invalid bearer token, token audiences are invalid for the target audiences]");
    CHECK_STR(review(h, "", "rubbish", "[]"), "!invalid bearer token");
    CHECK_STR(post(h, REVIEWS, "{\"spec\":{}}"), "400 BadRequest");
    host_free(h);
}

TEST(a_token_of_many_audiences_works_but_is_not_kept)
{
    struct host *h = host_new(0, 0);
    scoped_buf spec = { .max = 1 << 20 };
    const char *token;

    buf_lit(&spec, "{\"audiences\":[");
    for (int i = 0; i < 500; i++)
        buf_printf(&spec, "\"audience-%d\",", i);
    buf_lit(&spec, "\"https://kubernetes.default.svc\"]}");
    buf_byte(&spec, '\0');
    CHECK_STR(make_account(h, "", "bot"), "201");
    token = token_of(h, "", "bot", spec.p);
    CHECK(strlen(token) > 8192);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(review(h, "", token, "[\"audience-499\"]"),
              "system:serviceaccount:default:bot [\"audience-499\"]");
    CHECK_STR(delete_at(h, ACCOUNTS "/bot"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(a_bound_token_goes_with_its_secret)
{
    struct host *h = host_new(0, 0);
    const char *token, *ref = "{\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\","
                              "\"name\":\"s\"}}";

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(token_of(h, "", "bot", ref), "404 NotFound");
    CHECK_STR(post(h, SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), "201");
    token = token_of(h, "", "bot", ref);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(delete_at(h, SECRETS "/s"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    CHECK_STR(post(h, SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), "201");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(what_a_bound_token_hangs_on_may_take_a_minute_to_go)
{
    struct host *h = host_new(0, 0);
    const char *token;

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(post(h, SECRETS, "{\"metadata\":{\"name\":\"s\",\"finalizers\":[\"a/b\"]}}"), "201");
    token = token_of(h, "", "bot",
                     "{\"expirationSeconds\":3600,\"boundObjectRef\":{\"kind\":\"Secret\","
                     "\"apiVersion\":\"v1\",\"name\":\"s\"}}");
    CHECK_STR(delete_at(h, SECRETS "/s"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    clock_advance(&h->clock, 60000);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    clock_advance(&h->clock, 1000);
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

#define PODS "/api/v1/namespaces/default/pods"
#define POD(account)                                                             \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"serviceAccountName\":\"" account \
    "\",\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

TEST(a_pods_token_tells_pod_and_node)
{
    struct host *h = host_new(0, 0);
    const char *token, *ref = "{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                              "\"name\":\"p\"}}";
    struct ask *a;

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(make_account(h, "", "other"), "201");
    CHECK_STR(post(h, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}"), "201");
    CHECK_STR(post(h, PODS, POD("bot")), "201");
    CHECK_STR(token_of(h, "", "other", ref), "400 BadRequest");
    token = token_of(h, "", "bot", ref);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    a = ask_body(ask(h, "POST", REVIEWS),
                 arena_printf(h->arena, "{\"spec\":{\"token\":\"%s\"}}", token));
    CHECK_STR(answer(a), "201");
    CHECK(strstr(answer_field(a, "status.user.extra"),
                 "\"authentication.kubernetes.io/pod-name\":[\"p\"]"));
    CHECK(strstr(answer_field(a, "status.user.extra"),
                 "\"authentication.kubernetes.io/node-name\":[\"n\"]"));
    CHECK(strstr(answer_field(a, "status.user.extra"), "\"JTI="));
    ask_free(a);
    /* The node is only told of; the pod must be there. */
    CHECK_STR(delete_at(h, "/api/v1/nodes/n"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(delete_at(h, PODS "/p?gracePeriodSeconds=0"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(a_token_of_a_node_goes_with_the_node)
{
    struct host *h = host_new(0, 0);
    const char *token, *ref = "{\"boundObjectRef\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                              "\"name\":\"n\"}}";

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(post(h, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}"), "201");
    token = token_of(h, "", "bot", ref);
    CHECK_STR(use(h, token, CONFIGMAPS), KNOWN);
    CHECK_STR(delete_at(h, "/api/v1/nodes/n"), "200");
    CHECK_STR(use(h, token, CONFIGMAPS), REFUSED);
    host_free(h);
}

TEST(what_cannot_be_asked_for)
{
    static const struct {
        const char *account, *spec, *want;
    } rows[] = {
        { "nobody", "{}", "404 NotFound" },
        { "bot", "{\"expirationSeconds\":599}", "422 Invalid" },
        { "bot", "{\"expirationSeconds\":0}", "422 Invalid" },
        { "bot", "{\"expirationSeconds\":-3600}", "422 Invalid" },
        { "bot", "{\"expirationSeconds\":4294967297}", "422 Invalid" },
        { "bot",
          "{\"boundObjectRef\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"name\":\"x\"}}",
          "400 BadRequest" },
        { "bot", "{\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v2\",\"name\":\"x\"}}",
          "400 BadRequest" },
        { "bot", "{\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}}",
          "404 NotFound" },
        { "bot",
          "{\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"name\":\"s\","
          "\"uid\":\"other\"}}",
          "409 Conflict" },
        { "bot", "{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"p\"}}",
          "404 NotFound" },
        { "bot", "{},\"metadata\":{\"name\":\"other\"}", "422 Invalid" },
        { "bot", "{},\"metadata\":{\"namespace\":\"other\"}", "422 Invalid" },
        { "bot", "{},\"kind\":\"TokenReview\"", "400 BadRequest" },
    };
    struct host *h = host_new(0, 0);

    CHECK_STR(make_account(h, "", "bot"), "201");
    CHECK_STR(post(h, SECRETS, "{\"metadata\":{\"name\":\"s\"}}"), "201");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got = token_of(h, "", rows[i].account, rows[i].spec);

        if (!CHECK(strcmp(got, rows[i].want) == 0))
            printf("# %s: %s\n", rows[i].spec, got);
    }
    host_free(h);
}

/* ---- many at once ---- */

enum { CROWD = 4, ROUNDS = 300, TOKENS = 8 };

struct crowd {
    struct host *host;
    const char *tokens[TOKENS];
    struct instance root;
    atomic_bool wrong;
};

/* Good, or refused while no key knows it; never another's. */
static void *push_in(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < ROUNDS; i++) {
        scoped_arena a = arena_new();
        struct authn_token_answer out;
        struct status st;
        int n = i % TOKENS;
        str want = str_printf(a, "system:serviceaccount:default:bot-%d", n);

        status_init(&st, a);
        epoch_enter();
        if (authn_token_check(c->host->server->tokens, a, &c->root, secret_of(str_of(c->tokens[n])),
                              NULL, 0, &out, &st) == 0) {
            if (!str_eq(out.who.user, want) || out.who.ngroups != 3 || out.who.nextra != 1)
                atomic_store(&c->wrong, true);
        } else if (!status_is(&st, REASON_UNAUTHORIZED)) {
            atomic_store(&c->wrong, true);
        }
        epoch_exit();
    }
    return NULL;
}

TEST(a_crowd_at_the_door_while_keys_change)
{
    struct host *h = host_new(0, 0);
    struct crowd c = { .host = h };
    pthread_t threads[CROWD];
    struct status st;
    secret keys[2];

    status_init(&st, h->arena);
    CHECK(sign_key_make(h->arena, &keys[0], &st) == 0);
    CHECK(sign_key_make(h->arena, &keys[1], &st) == 0);
    CHECK(server_reload_keys(h->server, keys, 2, &st) == 0);
    for (int i = 0; i < TOKENS; i++) {
        const char *name = arena_printf(h->arena, "bot-%d", i);

        CHECK_STR(make_account(h, "", name), "201");
        c.tokens[i] = token_of(h, "", name, "{}");
    }
    epoch_enter();
    CHECK(instance_find(rest_instances(h->server->rest), h->arena, STR_NONE, &c.root, &st) == 0);
    epoch_exit();
    for (int i = 0; i < CROWD; i++)
        CHECK(pthread_create(&threads[i], NULL, push_in, &c) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(server_reload_keys(h->server, i % 2 ? keys : &keys[1], i % 2 ? 2 : 1, &st) == 0);
        (void)epoch_reclaim();
    }
    for (int i = 0; i < CROWD; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(!atomic_load(&c.wrong));
    CHECK_STR(use(h, c.tokens[0], CONFIGMAPS), KNOWN);
    host_free(h);
}

/* ---- how a token comes ---- */

TEST(ways_to_bring_a_token)
{
    static const struct {
        const char *before, *after, *want;
    } rows[] = {
        { "Bearer ", "", KNOWN },     { "bearer ", "", KNOWN },    { "BEARER  ", "", KNOWN },
        { "Bearer ", " ", KNOWN },    { "", "", REFUSED },         { "Bearer", "", REFUSED },
        { "Basic ", "", REFUSED },    { "Bearer ", ".", REFUSED }, { "Bearer ", " x", REFUSED },
        { "Bearer x ", "", REFUSED }, { "Bearer\t", "", REFUSED },
    };
    struct host *h = host_new(0, 0);
    const char *token, *in_protocol;
    struct ask *a;

    CHECK_STR(make_account(h, "", "bot"), "201");
    token = token_of(h, "", "bot", "{}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        a = ask(h, "GET", CONFIGMAPS);
        a->call->peer = NULL;
        if (!CHECK(strcmp(code_of(ask_header(a, "authorization",
                                             arena_printf(h->arena, "%s%s%s", rows[i].before, token,
                                                          rows[i].after))),
                          rows[i].want) == 0))
            printf("# row %zu\n", i);
    }
    in_protocol =
        arena_printf(h->arena, "base64url.bearer.authorization.k8s.io.%s, base64.binary.k8s.io",
                     base64_encode(h->arena, BASE64_URL, str_of(token)).p);
    a = ask_header(ask(h, "GET", CONFIGMAPS), "sec-websocket-protocol", in_protocol);
    a->call->peer = NULL;
    CHECK_STR(code_of(ask_header(a, "upgrade", "websocket")), KNOWN);
    a = ask_header(ask(h, "GET", "/version"), "sec-websocket-protocol",
                   "base64url.bearer.authorization.k8s.io.eHl6");
    a->call->peer = NULL;
    CHECK_STR(code_of(ask_header(a, "upgrade", "websocket")), REFUSED);
    host_free(h);
}

/* ---- bootstrap tokens ---- */

static void put_bootstrap(struct host *h, const char *id, const char *type, const char *data)
{
    (void)delete_at(
        h, arena_printf(h->arena, "/api/v1/namespaces/kube-system/secrets/bootstrap-token-%s", id));
    CHECK_STR(post(h, "/api/v1/namespaces/kube-system/secrets",
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"bootstrap-token-%s\"},\"type\":\"%s\","
                                "\"stringData\":{%s}}",
                                id, type, data)),
              "201");
}

#define BOOTSTRAP "bootstrap.kubernetes.io/token"
#define GOOD                                                         \
    "\"token-id\":\"abcdef\",\"token-secret\":\"0123456789abcdef\"," \
    "\"usage-bootstrap-authentication\":\"true\""

TEST(bootstrap_tokens)
{
    static const struct {
        const char *type, *data, *want;
    } rows[] = {
        { BOOTSTRAP, GOOD, KNOWN },
        { BOOTSTRAP, GOOD ",\"expiration\":\"2020-01-02T03:04:06Z\"", KNOWN },
        { BOOTSTRAP, GOOD ",\"auth-extra-groups\":\"system:bootstrappers:a:b-1\"", KNOWN },
        { "Opaque", GOOD, REFUSED },
        { BOOTSTRAP, GOOD ",\"expiration\":\"2020-01-02T03:04:05Z\"", REFUSED },
        { BOOTSTRAP, GOOD ",\"expiration\":\"never\"", REFUSED },
        { BOOTSTRAP, GOOD ",\"auth-extra-groups\":\"system:masters\"", REFUSED },
        { BOOTSTRAP, GOOD ",\"auth-extra-groups\":\"system:bootstrappers:a,system:masters\"",
          REFUSED },
        { BOOTSTRAP, GOOD ",\"auth-extra-groups\":\"system:bootstrappers:\"", REFUSED },
        { BOOTSTRAP, "\"token-id\":\"abcdef\",\"token-secret\":\"0123456789abcdef\"", REFUSED },
        { BOOTSTRAP,
          "\"token-id\":\"abcdeg\",\"token-secret\":\"0123456789abcdef\","
          "\"usage-bootstrap-authentication\":\"true\"",
          REFUSED },
        { BOOTSTRAP,
          "\"token-id\":\"abcdef\",\"token-secret\":\"0123456789abcdeg\","
          "\"usage-bootstrap-authentication\":\"true\"",
          REFUSED },
        { BOOTSTRAP, "\"token-id\":\"abcdef\",\"usage-bootstrap-authentication\":\"true\"",
          REFUSED },
    };
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(use(h, "abcdef.0123456789abcdef", CONFIGMAPS), REFUSED);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        put_bootstrap(h, "abcdef", rows[i].type, rows[i].data);
        if (!CHECK(strcmp(use(h, "abcdef.0123456789abcdef", CONFIGMAPS), rows[i].want) == 0))
            printf("# row %zu\n", i);
    }
    put_bootstrap(h, "abcdef", BOOTSTRAP, GOOD ",\"auth-extra-groups\":\"system:bootstrappers:x\"");
    a = ask_body(ask(h, "POST", REVIEWS), "{\"spec\":{\"token\":\"abcdef.0123456789abcdef\"}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.user"),
              "{\"username\":\"system:bootstrap:abcdef\",\"groups\":[\"system:bootstrappers\","
              "\"system:bootstrappers:x\",\"system:authenticated\"]}");
    ask_free(a);
    /* One door, too. */
    CHECK_STR(use(h, "abcdef.0123456789abcdef", "/clusters/one" CONFIGMAPS), REFUSED);
    host_free(h);
}

/* ---- for those who verify tokens elsewhere ---- */

TEST(openid_documents)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make_instance(h, "one"), "201");
    a = ask(h, "GET", "/clusters/one/.well-known/openid-configuration");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "content-type"), "application/json");
    CHECK_STR(answer_header(a, "cache-control"), "public, max-age=3600");
    CHECK_STR(answer_field(a, "issuer"), "https://kubernetes.default.svc/clusters/one");
    CHECK_STR(answer_field(a, "jwks_uri"),
              "https://kubernetes.default.svc/clusters/one/openid/v1/jwks");
    ask_free(a);
    a = ask(h, "GET", "/openid/v1/jwks");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "content-type"), "application/jwk-set+json");
    CHECK(strstr(answer_field(a, "keys"), "\"alg\":\"ES256\""));
    ask_free(a);
    a = ask_header(ask(h, "GET", "/openid/v1/jwks"), "accept", "application/json");
    CHECK_STR(code_of(a), "406");
    a = ask_header(ask(h, "GET", "/openid/v1/jwks"), "accept", "text/html, */*;q=0.1");
    CHECK_STR(code_of(a), "200");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/*/openid/v1/jwks")), "404");
    host_free(h);
}
