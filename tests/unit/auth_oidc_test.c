/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/issuer_keys.h"
#include "apiserver/auth/jwt.h"
#include "apiserver/auth/oidc.h"
#include "base/encode.h"
#include "server_people.h"

/* Tokens of issuers elsewhere: an issuer with a key of its own, and each way a token can be wrong.
 */

#define ISSUER  "https://idp.example.com/realms/r"
#define REVIEWS "/apis/authentication.k8s.io/v1/tokenreviews"
#define NOW     1577934245 /* what the clock shows */

#define CONFIG(more)                                                              \
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n" \
    "jwt:\n- issuer: {url: '" ISSUER "', audiences: [kairship]}\n" more
#define PLAIN                                                                           \
    CONFIG("  claimMappings: {username: {claim: preferred_username, prefix: 'oidc:'}, " \
           "groups: {claim: groups, prefix: 'oidc:'}}\n")

/* The claims that Keycloak gives. */
#define CLAIMS                                                                                     \
    "{\"exp\":1577934545,\"iat\":1577934245,\"jti\":\"j\",\"iss\":\"" ISSUER                       \
    "\",\"aud\":[\"account\",\"kairship\"],\"sub\":\"s\",\"typ\":\"Bearer\",\"azp\":\"kairship\"," \
    "\"realm_access\":{\"roles\":[\"dev\",\"offline_access\"]},\"email_verified\":true,"           \
    "\"preferred_username\":\"jane\",\"email\":\"jane@example.com\",\"groups\":[\"devs\"]}"

struct world {
    struct clock clock;
    struct arena *arena;
    struct status st;
    struct oidc *oidc;
    struct keys *keys; /* the issuer's */
    struct loop *loop;
    bool down, held, other_issuer;
    struct callout *asked; /* that is held */
    int gets, came;
};

static void reply(struct world *w, struct callout *c)
{
    struct status st;
    str text = STR("{\"issuer\":\"" ISSUER "\",\"jwks_uri\":\"https://keys.example.com/k?v=1\"}");

    status_init(&st, w->arena);
    if (w->down) {
        (void)status_set(&st, REASON_UNAVAILABLE, "connection refused");
        c->done(c, STR_NONE, &st);
        return;
    }
    if (w->other_issuer)
        text = STR("{\"issuer\":\"https://other\",\"jwks_uri\":\"https://keys.example.com/k\"}");
    if (str_starts(c->url, STR("https://keys.example.com/k")))
        CHECK(keys_jwks(w->keys, w->arena, &text, &st) == 0);
    else
        CHECK(str_is(c->url, ISSUER "/.well-known/openid-configuration"));
    c->done(c, text, NULL);
}

static void get(void *arg, struct callout *c)
{
    struct world *w = arg;

    CHECK(c->get && c->operators && c->timeout_ms > 0 && c->reply_max == ISSUER_DOCUMENT_MAX);
    w->gets++;
    if (w->held)
        w->asked = c;
    else
        reply(w, c);
}

static struct keys *new_keys(struct arena *a)
{
    struct keys *k = keys_new();
    struct status st;
    secret pem;

    status_init(&st, a);
    CHECK(sign_key_make(a, &pem, &st) == 0 && keys_load(k, &pem, 1, &st) == 0);
    return k;
}

static void open_world(struct world *w, const char *config)
{
    struct oidc_options o = { .clock = &w->clock,
                              .own_issuer = STR("https://kubernetes.default.svc"),
                              .get = get,
                              .arg = w };

    *w = (struct world){ .arena = arena_new() };
    log_open(2, LOG_ERROR, LOG_JSON);
    clock_jump(&w->clock, (int64_t)NOW * 1000000);
    status_init(&w->st, w->arena);
    w->loop = loop_new();
    w->keys = new_keys(w->arena);
    w->oidc = oidc_new(&o);
    if (!CHECK(oidc_load(w->oidc, str_of(config), &w->st) == 0))
        printf("# %.*s\n", STR_ARG(w->st.message));
    epoch_enter();
}

static void close_world(struct world *w)
{
    epoch_exit();
    oidc_free(w->oidc);
    loop_free(w->loop);
    keys_free(w->keys);
    epoch_drain();
    arena_free(w->arena);
}

static const struct json *parse(struct world *w, const char *text)
{
    const struct json *v = &json_null;

    CHECK(json_parse(w->arena, str_of(text), NULL, &v, &w->st) == 0);
    return v;
}

static secret make(struct world *w, const struct json *claims)
{
    secret token = { 0 };

    CHECK(jwt_make(w->arena, w->keys, claims, &token, &w->st) == 0);
    return token;
}

/* The claims with one changed; NULL: taken away. */
static secret with(struct world *w, const char *name, const char *value)
{
    return make(w, json_set(w->arena, parse(w, CLAIMS), name, value ? parse(w, value) : NULL));
}

/* "user group,group", or "!" and why not, "?" when it is another's, "later". */
static const char *whose(struct world *w, secret token)
{
    struct arena *a = w->arena;
    struct identity who;
    struct status st;
    str out;

    status_init(&st, a);
    switch (oidc_check(w->oidc, a, token, NULL, &who, &st)) {
    case OIDC_YES:
        break;
    case OIDC_NO:
        CHECK(st.reason == REASON_UNAUTHORIZED);
        return arena_printf(a, "!%.*s", STR_ARG(st.message));
    case OIDC_OTHER:
        return "?";
    case OIDC_LATER:
        return "later";
    }
    out = who.user;
    for (size_t i = 0; i < who.ngroups; i++)
        out = str_printf(a, "%.*s%c%.*s", STR_ARG(out), i ? ',' : ' ', STR_ARG(who.groups[i]));
    return str_z(a, out);
}

static void check_has(const char *got, const char *part)
{
    if (!CHECK(strstr(got, part)))
        printf("#  got: %s\n# want: %s\n", got, part);
}

#define JANE "oidc:jane oidc:devs,system:authenticated"

TEST(a_token_of_keycloaks_shape_is_its_person)
{
    struct world w;
    struct identity who;

    open_world(&w, PLAIN);
    CHECK_STR(whose(&w, with(&w, "nonce", "1")), JANE);
    CHECK(oidc_check(w.oidc, w.arena, with(&w, "x", "1"), NULL, &who, &w.st) == OIDC_YES);
    CHECK(who.nextra == 1 && str_is(who.extra[0].values[0], "JTI=j"));
    CHECK(str_is(who.extra[0].key, "authentication.kubernetes.io/credential-id"));
    CHECK(w.gets == 2); /* the document and the set, once */
    close_world(&w);
}

TEST(each_way_a_token_can_be_wrong)
{
    static const struct {
        const char *name, *value, *why;
    } rows[] = {
        { "aud", "\"kairship\"", JANE },
        { "aud", "[\"account\"]", "another audience" },
        { "aud", "\"other\"", "another audience" },
        { "aud", "{\"kairship\":1}", "another audience" },
        { "aud", NULL, "another audience" },
        { "exp", "1577934246", JANE },
        { "exp", "1577934245", "token is expired" },
        { "exp", "1577934245.5", "token is expired" },
        { "exp", "1577934546.5", JANE },
        { "exp", "0", "token is expired" },
        { "exp", "-1", "token is expired" },
        { "exp", "\"1577934545\"", "no exp claim" },
        { "exp", "1e300", "no exp claim" },
        { "exp", NULL, "no exp claim" },
        { "nbf", "1577934545", JANE },
        { "nbf", "1577934546", "before the nbf time" },
        { "nbf", "true", "it is no time" },
        { "iat", "1577934546", "before the iat time" },
        { "iat", NULL, JANE },
        { "iss", "\"" ISSUER "/\"", "?" },
        { "iss", "[\"" ISSUER "\"]", "?" },
        { "iss", NULL, "?" },
        { "preferred_username", NULL, "parse username claims \"preferred_username\": claim not" },
        { "preferred_username", "7", "it is no string" },
        { "groups", NULL, "oidc:jane system:authenticated" },
        { "groups", "\"one\"", "oidc:jane oidc:one,system:authenticated" },
        { "groups", "[\"a\",7]", "parse groups claim \"groups\"" },
        { "groups", "{}", "parse groups claim \"groups\"" },
    };
    struct world w;

    open_world(&w, PLAIN);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_has(whose(&w, with(&w, rows[i].name, rows[i].value)), rows[i].why);
    close_world(&w);
}

static secret pieces(struct world *w, const char *header, str claims, str signature)
{
    str h = base64_encode(w->arena, BASE64_URL, str_of(header));

    claims = base64_encode(w->arena, BASE64_URL, claims);
    return secret_of(
        str_printf(w->arena, "%.*s.%.*s.%.*s", STR_ARG(h), STR_ARG(claims), STR_ARG(signature)));
}

TEST(signatures_that_are_none)
{
    struct world w;
    struct keys *own;
    const char *kid;
    str good, claims = STR(CLAIMS);

    open_world(&w, PLAIN);
    good = secret_reveal(with(&w, "x", "1"));
    CHECK_STR(whose(&w, secret_of(good)), JANE);
    kid = str_z(w.arena, sign_key_id(keys_peek_signer(w.keys)));
    check_has(whose(&w, pieces(&w, "{\"alg\":\"none\"}", claims, STR_NONE)), "algorithm");
    check_has(whose(&w, pieces(&w, arena_printf(w.arena, "{\"alg\":\"HS256\",\"kid\":\"%s\"}", kid),
                               claims, STR("AAAA"))),
              "algorithm");
    check_has(whose(&w, pieces(&w, arena_printf(w.arena, "{\"alg\":\"RS256\",\"kid\":\"%s\"}", kid),
                               claims, STR("AAAA"))),
              "signature");
    check_has(whose(&w, pieces(&w, arena_printf(w.arena, "{\"alg\":\"ES256\",\"kid\":\"%s\"}", kid),
                               claims, STR("AAAA"))),
              "signature");
    /* Another's signature under the right name of the key: bad, and no reason to look for keys. */
    own = w.keys;
    w.keys = new_keys(w.arena);
    good = secret_reveal(make(&w, parse(&w, CLAIMS)));
    keys_free(w.keys);
    w.keys = own;
    check_has(whose(&w, pieces(&w, arena_printf(w.arena, "{\"alg\":\"ES256\",\"kid\":\"%s\"}", kid),
                               claims, str_from(good, good.n - 86))),
              "signature");
    CHECK(w.gets == 2);
    CHECK_STR(whose(&w, secret_of(STR("no.token"))), "?");
    CHECK_STR(whose(&w, secret_of(STR("abcdef.0123456789abcdef"))), "?");
    close_world(&w);
}

TEST(keys_turn_over_and_are_not_asked_for_too_often)
{
    struct world w;
    struct keys *old;
    secret before, stranger;

    open_world(&w, PLAIN);
    before = with(&w, "x", "1");
    CHECK_STR(whose(&w, before), JANE);
    old = w.keys;
    w.keys = new_keys(w.arena);
    /* Within ten seconds nobody looks again; then one look finds the new key. */
    check_has(whose(&w, with(&w, "x", "2")), "signature");
    CHECK(w.gets == 2);
    clock_advance(&w.clock, OIDC_GAP_MS);
    (void)whose(&w, with(&w, "x", "2"));
    CHECK(w.gets == 4);
    CHECK_STR(whose(&w, with(&w, "x", "2")), JANE);
    /* The old key is withdrawn with that, for what was remembered, too. */
    check_has(whose(&w, before), "signature");
    /* Whoever makes up keys makes us look once in ten seconds, however often they come. */
    keys_free(old);
    old = w.keys;
    w.keys = new_keys(w.arena);
    stranger = with(&w, "x", "3");
    keys_free(w.keys);
    w.keys = old;
    w.gets = 0;
    for (int i = 0; i < 100; i++) {
        clock_advance(&w.clock, 1000);
        check_has(whose(&w, stranger), "signature");
    }
    CHECK(w.gets == 20);
    close_world(&w);
}

TEST(keys_that_are_old_are_fetched_beside_and_stay_while_the_issuer_is_down)
{
    struct world w;
    secret token;

    open_world(&w, PLAIN);
    token = with(&w, "exp", "1677934245");
    CHECK_STR(whose(&w, token), JANE);
    clock_advance(&w.clock, OIDC_REFRESH_MS + 1);
    w.down = true;
    w.gets = 0;
    CHECK_STR(whose(&w, token), JANE);
    CHECK(w.gets == 1);
    clock_advance(&w.clock, OIDC_REMEMBER_MS);
    CHECK_STR(whose(&w, token), JANE);
    w.down = false;
    clock_advance(&w.clock, OIDC_BACKOFF_MAX_MS);
    w.gets = 0;
    CHECK_STR(whose(&w, token), JANE);
    CHECK(w.gets == 2);
    close_world(&w);
}

TEST(an_issuer_that_is_down_is_left_alone_longer_and_longer)
{
    struct world w;
    int looked = 0;

    open_world(&w, PLAIN);
    w.down = true;
    for (int i = 0; i < 200; i++) {
        check_has(whose(&w, with(&w, "x", "1")), "not known");
        clock_advance(&w.clock, 1000);
        looked = w.gets;
    }
    CHECK(looked >= 6 && looked <= 9); /* after 1, 2, 4, 8, 16, 32, 60 seconds */
    w.down = false;
    clock_advance(&w.clock, OIDC_BACKOFF_MAX_MS);
    (void)whose(&w, with(&w, "exp", "1677934245"));
    CHECK_STR(whose(&w, with(&w, "exp", "1677934245")), JANE);
    close_world(&w);
}

TEST(a_document_of_another_issuer_gives_no_keys)
{
    struct world w;

    open_world(&w, PLAIN);
    w.other_issuer = true;
    check_has(whose(&w, with(&w, "x", "1")), "not known");
    close_world(&w);
}

struct waiter {
    struct oidc_wait wait; /* first */
    struct world *world;
};

static void came(struct oidc_wait *wait)
{
    ((struct waiter *)(void *)wait)->world->came++;
}

static void stop(void *arg)
{
    loop_stop(arg);
}

TEST(requests_wait_for_keys_that_are_on_their_way)
{
    struct world w;
    static struct waiter waiters[OIDC_WAITING_MAX + 5];
    struct identity who;
    secret token;
    int later = 0;

    open_world(&w, PLAIN);
    w.held = true;
    token = with(&w, "x", "1");
    for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        waiters[i] = (struct waiter){ .wait = { .ready = came, .loop = w.loop }, .world = &w };
        later += oidc_check(w.oidc, a, token, &waiters[i].wait, &who, &st) == OIDC_LATER;
    }
    CHECK(later == OIDC_WAITING_MAX); /* the others are refused at once */
    REQUIRE(w.gets == 1 && w.asked);
    reply(&w, w.asked);
    REQUIRE(w.gets == 2);
    CHECK(w.came == 0);
    reply(&w, w.asked);
    loop_call(w.loop, stop, w.loop);
    loop_run(w.loop);
    CHECK(w.came == OIDC_WAITING_MAX);
    CHECK_STR(whose(&w, token), JANE);
    close_world(&w);
}

TEST(what_is_remembered_ends_with_the_token_and_with_the_configuration)
{
    struct world w;
    secret token;

    open_world(&w, PLAIN);
    token = with(&w, "exp", "1577934248"); /* in three seconds */
    CHECK_STR(whose(&w, token), JANE);
    clock_advance(&w.clock, 2900);
    CHECK_STR(whose(&w, token), JANE);
    clock_advance(&w.clock, 100);
    check_has(whose(&w, token), "token is expired");

    token = with(&w, "x", "1");
    CHECK_STR(whose(&w, token), JANE);
    CHECK(oidc_load(w.oidc, STR("apiVersion: wrong"), &w.st) < 0);
    CHECK_STR(whose(&w, token), JANE); /* the old one stays */
    status_reset(&w.st);
    CHECK(oidc_load(w.oidc,
                    STR(CONFIG("  claimMappings: {username: {claim: email, prefix: ''}}\n")),
                    &w.st) == 0);
    w.down = true; /* the keys are those of the old one */
    CHECK_STR(whose(&w, token), "jane@example.com system:authenticated");
    CHECK(oidc_load(w.oidc,
                    STR("apiVersion: apiserver.config.k8s.io/v1\n"
                        "kind: AuthenticationConfiguration\n"),
                    &w.st) == 0);
    CHECK_STR(whose(&w, token), "?");
    close_world(&w);
}

#define MAPPED(mappings) CONFIG("  claimMappings: {" mappings "}\n")
#define USER(expression) MAPPED("username: {expression: \"" expression "\"}")

TEST(claims_become_identities)
{
    static const struct {
        const char *config, *name, *value, *who;
    } rows[] = {
        { MAPPED("username: {claim: email, prefix: ''}"), "x", "1",
          "jane@example.com system:authenticated" },
        { MAPPED("username: {claim: email, prefix: ''}"), "email_verified", "false",
          "!oidc: email not verified" },
        { MAPPED("username: {claim: email, prefix: ''}"), "email_verified", "\"true\"",
          "parse 'email_verified' claim" },
        { MAPPED("username: {claim: email, prefix: ''}"), "email_verified", NULL,
          "jane@example.com " },
        { MAPPED("username: {claim: sub, prefix: '" ISSUER "#'}"), "x", "1", ISSUER "#s " },
        { USER("claims.preferred_username + '@r'"), "x", "1", "jane@r " },
        { USER("claims.realm_access.roles[0]"), "x", "1", "dev " },
        { USER("claims.nothing"), "x", "1", "error evaluating username expression" },
        { USER("claims.realm_access"), "x", "1", "must return a string" },
        { USER("claims.sub"), "sub", "\"\"", "the username is empty" },
        { USER("claims.sub"), "sub", "\"system:admin\"", "begins with system:" },
        { USER("'system:' + claims.sub"), "x", "1", "begins with system:" },
        { MAPPED("username: {claim: sub, prefix: ''}, groups: {claim: groups, prefix: ''}"),
          "groups", "[\"a\",\"system:masters\"]", "a group begins with system:" },
        { MAPPED("username: {claim: sub, prefix: 'p:'}, groups: {claim: groups, prefix: 'p:'}"),
          "groups", "[\"system:masters\"]", "p:s p:system:masters,system:authenticated" },
        { MAPPED("username: {claim: sub, prefix: ''}, groups: {expression: "
                 "'claims.realm_access.roles.map(r, \"role:\" + r)'}"),
          "x", "1", "s role:dev,role:offline_access,system:authenticated" },
        { MAPPED("username: {claim: sub, prefix: ''}, groups: {expression: "
                 "'claims.?none.orValue(\"\")'}"),
          "x", "1", "s system:authenticated" },
        { MAPPED("username: {claim: sub, prefix: ''}, uid: {claim: none}"), "x", "1",
          "parse uid claims \"none\"" },
        { MAPPED("username: {claim: sub, prefix: ''}, extra: [{key: example.com/azp, "
                 "valueExpression: claims.exp}]"),
          "x", "1", "error evaluating extra claim" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  claimValidationRules: [{claim: azp, requiredValue: kairship}]\n"),
          "azp", "\"kairship\"", "s system:authenticated" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  claimValidationRules: [{claim: azp, requiredValue: kairship}]\n"),
          "azp", "\"other\"", "required claim azp value does not match" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  claimValidationRules: [{claim: azp, requiredValue: kairship}]\n"),
          "azp", NULL, "required claim azp not present" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  claimValidationRules: [{expression: 'claims.exp - claims.iat <= 300', message: "
                 "'too long'}]\n"),
          "exp", "1577934546", "failed: too long" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  claimValidationRules: [{expression: 'claims.exp - claims.iat <= 300', message: "
                 "'too long'}]\n"),
          "exp", "1577934545", "s system:authenticated" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  userValidationRules: [{expression: \"!user.username.startsWith('x') && "
                 "user.groups.size() == 0 && user.uid == ''\"}]\n"),
          "sub", "\"y\"", "y system:authenticated" },
        { CONFIG("  claimMappings: {username: {claim: sub, prefix: ''}}\n"
                 "  userValidationRules: [{expression: \"!user.username.startsWith('x')\"}]\n"),
          "sub", "\"xy\"", "error evaluating user info validation rule" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct world w;

        open_world(&w, rows[i].config);
        check_has(whose(&w, with(&w, rows[i].name, rows[i].value)), rows[i].who);
        close_world(&w);
    }
}

TEST(uid_and_extra)
{
    struct world w;
    struct identity who;

    open_world(&w, MAPPED("username: {claim: sub, prefix: ''}, uid: {claim: sub}, extra: [{key: "
                          "example.com/roles, valueExpression: claims.realm_access.roles}, {key: "
                          "example.com/none, valueExpression: '\"\"'}]"));
    REQUIRE(oidc_check(w.oidc, w.arena, with(&w, "jti", NULL), NULL, &who, &w.st) == OIDC_YES);
    CHECK(str_is(who.uid, "s") && who.nextra == 1 && who.extra[0].nvalues == 2);
    CHECK(str_is(who.extra[0].key, "example.com/roles"));
    CHECK(str_is(who.extra[0].values[1], "offline_access"));
    close_world(&w);
}

/* ---- at the door ---- */

static void give_issuer(struct host *h, struct world *w, const char *config)
{
    *w = (struct world){ .arena = h->arena, .keys = new_keys(h->arena), .loop = h->loop };
    status_init(&w->st, h->arena);
    oidc_free(h->server->oidc);
    h->server->oidc = oidc_new(&(struct oidc_options){
        .clock = &h->clock, .own_issuer = STR("https://own"), .get = get, .arg = w });
    CHECK(oidc_load(h->server->oidc, str_of(config), &w->st) == 0);
}

static struct ask *come(struct host *h, secret token, const char *path)
{
    struct ask *a = ask(h, "GET", path);

    a->call->peer = NULL;
    return ask_header(a, "authorization",
                      arena_printf(h->arena, "Bearer %.*s", STR_ARG(secret_reveal(token))));
}

static void grant(struct host *h, struct world *w, const char *workspace)
{
    struct permissions *p = (struct permissions *)(uintptr_t)people_permissions(h->server->people);

    permissions_set(p, IAM_WORKSPACES, STR("team"), workspace ? parse(w, workspace) : NULL);
    permissions_publish(p, UINT64_MAX);
}

TEST(a_person_is_at_home_in_root_and_elsewhere_by_a_role)
{
    struct host *h = host_new(0, 0);
    struct world w;
    struct ask *there, *nowhere;
    secret token;

    give_issuer(h, &w, PLAIN);
    CHECK_STR(make_instance(h, "demo"), "201");
    token = with(&w, "x", "1");
    CHECK_STR(code_of(come(h, token, CONFIGMAPS)), "403 Forbidden");
    CHECK_STR(code_of(come(h, token, "/version")), "200");
    CHECK_STR(code_of(come(h, with(&w, "exp", "1"), "/version")), "401 Unauthorized");
    CHECK_STR(code_of(come(h, token, "/clusters/*" CONFIGMAPS)), "401 Unauthorized");

    /* Without a role an instance is as if it were not there. */
    there = come(h, token, "/clusters/demo" CONFIGMAPS);
    nowhere = come(h, token, "/clusters/none" CONFIGMAPS);
    CHECK_STR(answer(there), "401 Unauthorized");
    CHECK_STR(answer(nowhere), "401 Unauthorized");
    CHECK(str_eq(buf_str(&there->text), buf_str(&nowhere->text)));
    ask_free(there);
    ask_free(nowhere);

    grant(h, &w,
          arena_printf(h->arena,
                       "{\"spec\":{\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":"
                       "\"demo\",\"uid\":\"%s\"}],\"members\":[{\"kind\":\"Group\",\"name\":"
                       "\"oidc:devs\",\"role\":\"Viewer\"}]}}",
                       uid_of_instance(h, "demo")));
    CHECK_STR(code_of(come(h, token, "/clusters/demo" CONFIGMAPS)), "200");
    CHECK_STR(code_of(come(h, token, "/clusters/demo" SECRETS)), "403 Forbidden");
    CHECK_STR(code_of(come(h, with(&w, "groups", "[]"), "/clusters/demo" CONFIGMAPS)),
              "401 Unauthorized");
    grant(h, &w, NULL);
    CHECK_STR(code_of(come(h, token, "/clusters/demo" CONFIGMAPS)), "401 Unauthorized");
    keys_free(w.keys);
    host_free(h);
}

TEST(who_is_disabled_does_not_get_in)
{
    struct host *h = host_new(0, 0);
    struct permissions *p = (struct permissions *)(uintptr_t)people_permissions(h->server->people);
    struct world w;
    secret token;

    give_issuer(h, &w, MAPPED("username: {claim: preferred_username, prefix: ''}"));
    token = with(&w, "x", "1");
    CHECK_STR(code_of(come(h, token, "/version")), "200");
    permissions_set(p, IAM_USERS, STR("jane"), parse(&w, "{\"spec\":{\"disabled\":true}}"));
    permissions_publish(p, UINT64_MAX);
    CHECK_STR(code_of(come(h, token, "/version")), "401 Unauthorized");
    keys_free(w.keys);
    host_free(h);
}

static const char *change(struct host *h, const char *path, const char *body)
{
    struct ask *a =
        ask_header(ask(h, "PATCH", path), "content-type", "application/merge-patch+json");

    return code_of(ask_body(a, body));
}

static bool has_ended(void *arg)
{
    return !((struct ask *)arg)->streaming;
}

#define IAM "/apis/iam.kairship.io/v1alpha1"

/* Their role as Global Management has it; the first request is refused, and an open watch ends. */
TEST(what_is_withdrawn_from_someone_from_elsewhere)
{
    static const struct {
        const char *path, *body;
    } ways[] = { { IAM "/workspaces/team", "{\"spec\":{\"members\":[]}}" },
                 { IAM "/users/jane", "{\"spec\":{\"disabled\":true}}" } };

    for (size_t i = 0; i < 4; i++) {
        struct host *h = host_new(0, 0);
        struct world w;
        struct ask *a;
        secret token;

        give_issuer(h, &w, MAPPED("username: {claim: preferred_username, prefix: ''}"));
        token = with(&w, "x", "1");
        CHECK_STR(make_instance(h, "demo"), "201");
        CHECK_STR(post(h, "", IAM "/users", "{\"metadata\":{\"name\":\"jane\"}}"), "201");
        CHECK_STR(post(h, "", IAM "/gproductresources",
                       "{\"metadata\":{\"name\":\"kairship.demo\"},\"spec\":{\"gproduct\":"
                       "\"kairship\",\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}}"),
                  "201");
        CHECK_STR(post(h, "", IAM "/workspaces",
                       "{\"metadata\":{\"name\":\"team\"},\"spec\":{\"resources\":[{"
                       "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}],\"members\":[{"
                       "\"kind\":\"User\",\"name\":\"jane\",\"role\":\"Viewer\"}]}}"),
                  "201");
        CHECK_STR(code_of(come(h, token, "/clusters/demo" CONFIGMAPS)), "200");
        a = come(h, token, "/clusters/demo" CONFIGMAPS "?watch=true");
        CHECK_STR(answer(a), "200");
        CHECK_STR(change(h, ways[i % 2].path, ways[i % 2].body), "200");
        if (i < 2)
            CHECK_STR(code_of(come(h, token, "/clusters/demo" CONFIGMAPS)), "401 Unauthorized");
        CHECK_STR(make_configmap(h, "/clusters/demo", "late"), "201");
        CHECK(host_until(h, has_ended, a));
        CHECK(!str_contains(buf_str(&a->text), STR("\"late\"")));
        ask_free(a);
        keys_free(w.keys);
        host_free(h);
    }
}

TEST(a_request_waits_for_the_keys)
{
    struct host *h = host_new(0, 0);
    struct world w;
    struct ask *a, *b;

    give_issuer(h, &w, PLAIN);
    w.held = true;
    a = come(h, with(&w, "x", "1"), "/version");
    b = come(h, with(&w, "exp", "1"), "/version");
    ask_send(a);
    ask_send(b);
    host_turn(h);
    CHECK(!a->done && !b->done && w.gets == 1);
    reply(&w, w.asked);
    reply(&w, w.asked);
    CHECK_STR(answer_of(a), "200");
    CHECK_STR(answer_of(b), "401 Unauthorized");
    ask_free(a);
    ask_free(b);
    keys_free(w.keys);
    host_free(h);
}

TEST(a_review_tells_whose_token_it_is)
{
    struct host *h = host_new(0, 0);
    struct world w;
    struct ask *a;

    give_issuer(h, &w, PLAIN);
    w.held = true;
    a = ask_body(ask(h, "POST", REVIEWS), arena_printf(h->arena, "{\"spec\":{\"token\":\"%.*s\"}}",
                                                       STR_ARG(secret_reveal(with(&w, "x", "1")))));
    ask_send(a);
    host_turn(h);
    reply(&w, w.asked);
    reply(&w, w.asked);
    CHECK_STR(answer_of(a), "201");
    CHECK_STR(answer_field(a, "status.user.username"), "oidc:jane");
    CHECK_STR(answer_field(a, "status.audiences"), "[\"https://kubernetes.default.svc\"]");
    ask_free(a);
    a = ask_body(ask(h, "POST", REVIEWS),
                 arena_printf(h->arena, "{\"spec\":{\"token\":\"%.*s\"}}",
                              STR_ARG(secret_reveal(with(&w, "exp", "1")))));
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.error"),
              "[invalid bearer token, oidc: verify token: oidc: token is expired]");
    ask_free(a);
    a = ask_body(ask(h, "POST", REVIEWS),
                 arena_printf(h->arena, "{\"spec\":{\"token\":\"%.*s\",\"audiences\":[\"x\"]}}",
                              STR_ARG(secret_reveal(with(&w, "x", "1")))));
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.error"), "invalid bearer token");
    ask_free(a);
    keys_free(w.keys);
    host_free(h);
}

TEST(nobody_comes_where_the_configuration_says_so)
{
    struct host *h = host_new(0, 0);
    struct world w;
    struct ask *a;

    give_issuer(h, &w, PLAIN "anonymous: {enabled: true, conditions: [{path: /livez}]}\n");
    a = ask(h, "GET", "/livez");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "200");
    a = ask(h, "GET", "/version");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "401 Unauthorized");
    CHECK(oidc_load(h->server->oidc, STR(PLAIN "anonymous: {enabled: false}\n"), &w.st) == 0);
    a = ask(h, "GET", "/livez");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "401 Unauthorized");
    CHECK_STR(code_of(ask(h, "GET", "/livez")), "200");
    keys_free(w.keys);
    host_free(h);
}
