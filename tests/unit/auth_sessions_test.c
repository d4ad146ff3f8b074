/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/rbac_builtin.h"
#include "apiserver/auth/session.h"
#include "base/encode.h"
#include "http/password.h"
#include "server_people.h"

/*
 * What is withdrawn is withdrawn: as soon as that is acknowledged the first request with the old
 * credential is refused, and a watch that it has opened tells nothing more.
 */

#define IAM      "/apis/iam.kairship.io/v1alpha1"
#define SESSIONS IAM "/sessions"
#define KUBE     "/api/v1/namespaces/kube-system"
#define PASSWORD KUBE "/secrets/kairship-password-jane"

#define REFUSED   "401 Unauthorized"
#define FORBIDDEN "403 Forbidden"

/* ---- who comes ---- */

enum come { BY_LOGIN, BY_ACCOUNT, BY_BOUND_ACCOUNT, BY_CERTIFICATE, BY_NAME };

struct visitor {
    struct host *h;
    enum come how;
    const char *door; /* "" or "/clusters/demo" */
    const char *token, *session;
    struct http_peer *peer;
};

static const char *patch(struct host *h, const char *path, const char *body)
{
    struct ask *a =
        ask_header(ask(h, "PATCH", path), "content-type", "application/merge-patch+json");

    return code_of(ask_body(a, body));
}

static const char *password_secret(struct host *h, const char *password)
{
    static char kept[2][512]; /* one takes a tenth of a second */
    char *its = kept[strcmp(password, "first word") != 0];
    str hash;

    if (!*its) {
        hash = base64_encode(h->arena, BASE64_STD,
                             password_hash(h->arena, secret_of(str_of(password))));
        (void)snprintf(its, sizeof(*kept),
                       "{\"metadata\":{\"name\":\"kairship-password-jane\"},\"data\":{\"hash\":"
                       "\"%.*s\"}}",
                       STR_ARG(hash));
    }
    return its;
}

static void make_jane(struct host *h)
{
    CHECK_STR(post(h, "", IAM "/users", "{\"metadata\":{\"name\":\"jane\"}}"), "201");
    CHECK_STR(post(h, "", KUBE "/secrets", password_secret(h, "first word")), "201");
}

static const char *login(struct host *h, const char *password, const char **session)
{
    struct ask *a = ask_body(
        ask(h, "POST", IAM "/logins"),
        arena_printf(
            h->arena,
            "{\"spec\":{\"username\":\"jane\",\"password\":\"%s\",\"expirationSeconds\":600}}",
            password));
    const char *token;

    a->call->peer = NULL;
    a->call->remote = STR("192.0.2.7:5000");
    CHECK_STR(answer(ask_header(a, "user-agent", "kubectl/v1.36")), "201");
    token = answer_field(a, "status.token");
    *session = answer_field(a, "status.session");
    ask_free(a);
    return token;
}

static struct ask *come(const struct visitor *v, const char *method, const char *path)
{
    static const str groups[] = { STR_INIT("system:authenticated") };
    struct ask *a = ask(v->h, method, arena_printf(v->h->arena, "%s%s", v->door, path));

    a->call->peer = v->peer;
    if (v->how == BY_NAME) /* as an issuer elsewhere vouches for them */
        a->call->who = (struct identity){ .user = STR("jane"), .groups = groups, .ngroups = 1 };
    else if (v->token)
        (void)ask_header(a, "authorization", arena_printf(v->h->arena, "Bearer %s", v->token));
    return a;
}

static void bind_role(struct host *h, const char *door, const char *subject)
{
    CHECK_STR(post(h, door, ROLES "/clusterroles",
                   "{\"metadata\":{\"name\":\"reader\"},\"rules\":[{\"apiGroups\":[\"\"],"
                   "\"resources\":[\"configmaps\"],\"verbs\":[\"*\"]}]}"),
              "201");
    CHECK_STR(post(h, door, ROLES "/clusterrolebindings",
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"reader\"},\"roleRef\":{\"apiGroup\":"
                                "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
                                "\"reader\"},\"subjects\":[%s]}",
                                subject)),
              "201");
}

#define USER_SUBJECT \
    "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"jane\"}"
#define ACCOUNT_SUBJECT "{\"kind\":\"ServiceAccount\",\"namespace\":\"default\",\"name\":\"bot\"}"

enum by { BY_RBAC, BY_PLATFORM, BY_WORKSPACE, BY_GROUP };

static void give_role(struct host *h, enum by right)
{
    static const char *const members[] = {
        [BY_WORKSPACE] = "\"User\",\"name\":\"jane\"", [BY_GROUP] = "\"Group\",\"name\":\"devs\""
    };

    if (right == BY_PLATFORM) {
        CHECK_STR(post(h, "", IAM "/platformroles",
                       "{\"metadata\":{\"name\":\"admins\"},\"spec\":{\"members\":[{\"kind\":"
                       "\"User\",\"name\":\"jane\"}]}}"),
                  "201");
        return;
    }
    CHECK_STR(post(h, "", IAM "/groups",
                   "{\"metadata\":{\"name\":\"devs\"},\"spec\":{\"members\":[\"jane\"]}}"),
              "201");
    CHECK_STR(post(h, "", IAM "/gproductresources",
                   "{\"metadata\":{\"name\":\"kairship.demo\"},\"spec\":{\"gproduct\":\"kairship\","
                   "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}}"),
              "201");
    CHECK_STR(post(h, "", IAM "/workspaces",
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"team\"},\"spec\":{\"resources\":[{"
                                "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}],"
                                "\"members\":[{\"kind\":%s,\"role\":\"Viewer\"}]}}",
                                members[right])),
              "201");
}

static struct visitor visitor_new(enum come how, enum by right)
{
    struct visitor v = { .h = host_new(0, 0), .how = how, .door = "" };
    struct host *h = v.h;
    bool account = how == BY_ACCOUNT || how == BY_BOUND_ACCOUNT;
    const char *spec = "{}";

    CHECK_STR(make_instance(h, "demo"), "201");
    make_jane(h);
    if (how == BY_CERTIFICATE || right >= BY_WORKSPACE)
        v.door = "/clusters/demo";
    if (right == BY_RBAC)
        bind_role(h, v.door, account ? ACCOUNT_SUBJECT : USER_SUBJECT);
    else
        give_role(h, right);
    if (how == BY_LOGIN)
        v.token = login(h, "first word", &v.session);
    if (how == BY_CERTIFICATE) {
        v.peer = cert_of(h, "demo", "jane", "people");
        v.peer->not_before = clock_wall_s(&h->clock); /* after the user was made */
    }
    if (how == BY_BOUND_ACCOUNT) {
        CHECK_STR(post(h, "", SECRETS, "{\"metadata\":{\"name\":\"ticket\"}}"), "201");
        spec =
            "{\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"name\":\"ticket\"}}";
    }
    if (account)
        v.token = token_of(h, "", "bot", spec);
    CHECK_STR(make_configmap(h, v.door, "one"), "201");
    CHECK_STR(make_configmap(h, v.door, "two"), "201");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    return v;
}

/* ---- what is withdrawn ---- */

static const struct {
    const char *what;
    enum come how;
    enum by right;
    const char *method, *path, *body; /* %s of the path: the visitor's session */
    bool at_door;
    const char *then;
} ways[] = {
    { "session", BY_LOGIN, BY_RBAC, "DELETE", SESSIONS "/%s", "", false, REFUSED },
    { "all sessions", BY_LOGIN, BY_RBAC, "DELETE", SESSIONS "?fieldSelector=spec.user.name%%3Djane",
      "", false, REFUSED },
    { "disabled", BY_LOGIN, BY_RBAC, "PATCH", IAM "/users/jane", "{\"spec\":{\"disabled\":true}}",
      false, REFUSED },
    { "deleted", BY_LOGIN, BY_RBAC, "DELETE", IAM "/users/jane", "", false, REFUSED },
    { "password", BY_LOGIN, BY_RBAC, "PATCH", PASSWORD, NULL, false, REFUSED },
    { "no password", BY_LOGIN, BY_RBAC, "DELETE", PASSWORD, "", false, REFUSED },
    { "platform role", BY_LOGIN, BY_PLATFORM, "PATCH", IAM "/platformroles/admins",
      "{\"spec\":{\"members\":[]}}", false, FORBIDDEN },
    { "disabled admin", BY_LOGIN, BY_PLATFORM, "PATCH", IAM "/users/jane",
      "{\"spec\":{\"disabled\":true}}", false, REFUSED },
    { "binding", BY_LOGIN, BY_RBAC, "DELETE", ROLES "/clusterrolebindings/reader", "", true,
      FORBIDDEN },
    /* in an instance, by a role there: */
    { "session", BY_LOGIN, BY_WORKSPACE, "DELETE", SESSIONS "/%s", "", false, REFUSED },
    { "disabled", BY_LOGIN, BY_WORKSPACE, "PATCH", IAM "/users/jane",
      "{\"spec\":{\"disabled\":true}}", false, REFUSED },
    { "deleted", BY_LOGIN, BY_WORKSPACE, "DELETE", IAM "/users/jane", "", false, REFUSED },
    { "password", BY_LOGIN, BY_WORKSPACE, "PATCH", PASSWORD, NULL, false, REFUSED },
    { "role", BY_LOGIN, BY_WORKSPACE, "PATCH", IAM "/workspaces/team",
      "{\"spec\":{\"members\":[]}}", false, REFUSED },
    { "resource", BY_LOGIN, BY_GROUP, "PATCH", IAM "/workspaces/team",
      "{\"spec\":{\"resources\":[]}}", false, REFUSED },
    { "group", BY_LOGIN, BY_GROUP, "PATCH", IAM "/groups/devs", "{\"spec\":{\"members\":[]}}",
      false, REFUSED },
    { "binding", BY_ACCOUNT, BY_RBAC, "DELETE", ROLES "/clusterrolebindings/reader", "", true,
      FORBIDDEN },
    { "rules", BY_ACCOUNT, BY_RBAC, "PATCH", ROLES "/clusterroles/reader", "{\"rules\":[]}", true,
      FORBIDDEN },
    { "account", BY_ACCOUNT, BY_RBAC, "DELETE", ACCOUNTS "/bot", "", true, REFUSED },
    { "bound to", BY_BOUND_ACCOUNT, BY_RBAC, "DELETE", SECRETS "/ticket", "", true, REFUSED },
    { "binding", BY_CERTIFICATE, BY_RBAC, "DELETE", ROLES "/clusterrolebindings/reader", "", true,
      FORBIDDEN },
    { "role", BY_CERTIFICATE, BY_WORKSPACE, "PATCH", IAM "/workspaces/team",
      "{\"spec\":{\"members\":[]}}", false, FORBIDDEN },
    { "role", BY_NAME, BY_WORKSPACE, "PATCH", IAM "/workspaces/team", "{\"spec\":{\"members\":[]}}",
      false, FORBIDDEN },
    { "resource", BY_NAME, BY_WORKSPACE, "PATCH", IAM "/workspaces/team",
      "{\"spec\":{\"resources\":[]}}", false, FORBIDDEN },
    { "workspace", BY_NAME, BY_WORKSPACE, "DELETE", IAM "/workspaces/team", "", false, FORBIDDEN },
    { "group", BY_NAME, BY_GROUP, "PATCH", IAM "/groups/devs", "{\"spec\":{\"members\":[]}}", false,
      FORBIDDEN },
    { "group deleted", BY_NAME, BY_GROUP, "DELETE", IAM "/groups/devs", "", false, FORBIDDEN },
    { "disabled", BY_NAME, BY_GROUP, "PATCH", IAM "/users/jane", "{\"spec\":{\"disabled\":true}}",
      false, FORBIDDEN },
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static void withdraw(const struct visitor *v, size_t way)
{
    struct host *h = v->h;
    const char *rest = strstr(ways[way].path, "%s") ? v->session : "";
    char *path = arena_printf(h->arena, "%s%s", ways[way].at_door ? v->door : "", ways[way].path);
    const char *body = ways[way].body ? ways[way].body : password_secret(h, "second word");
    char *hole = strstr(path, "%s"), *percent = strstr(path, "%%");

    if (hole)
        path = arena_printf(h->arena, "%.*s%s", (int)(hole - path), path, rest);
    if (percent)
        memmove(percent, percent + 1, strlen(percent));
    if (strcmp(ways[way].method, "PATCH") == 0)
        CHECK_STR(patch(h, path, body), "200");
    else
        CHECK_STR(code_of(ask(h, ways[way].method, path)), "200");
}

TEST(the_first_request_after_a_withdrawal_is_refused)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct visitor v = visitor_new(ways[i].how, ways[i].right);
        const char *code;

        withdraw(&v, i);
        code = code_of(come(&v, "GET", CONFIGMAPS));
        if (!CHECK(strcmp(code, ways[i].then) == 0))
            printf("# %s of %d: %s\n", ways[i].what, (int)ways[i].how, code);
        host_free(v.h);
    }
}

/* Enabled again, who was disabled logs in again: also if no request came between the two. */
TEST(a_user_who_is_enabled_again_has_no_old_session)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_RBAC);
    const char *field = "spec.timesDisabled", *older = v.token;

    CHECK_STR(field_at(v.h, IAM "/users", "/jane", field), "");
    CHECK_STR(patch(v.h, IAM "/users/jane", "{\"spec\":{\"disabled\":true}}"), "200");
    CHECK_STR(patch(v.h, IAM "/users/jane", "{\"spec\":{\"disabled\":true}}"), "200");
    CHECK_STR(patch(v.h, IAM "/users/jane", "{\"spec\":{\"disabled\":false}}"), "200");
    CHECK_STR(field_at(v.h, IAM "/users", "/jane", field), "1");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), REFUSED);
    v.token = login(v.h, "first word", &v.session);
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");

    /* The count is the server's. */
    CHECK_STR(patch(v.h, IAM "/users/jane", "{\"spec\":{\"timesDisabled\":null}}"), "200");
    CHECK_STR(field_at(v.h, IAM "/users", "/jane", field), "1");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    CHECK_STR(patch(v.h, IAM "/users/jane", "{\"spec\":{\"disabled\":null,\"displayName\":\"J\"}}"),
              "200");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    v.token = older;
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), REFUSED);
    host_free(v.h);
}

/* ---- watches ---- */

static bool is_over(void *arg)
{
    return !((struct ask *)arg)->streaming;
}

static bool has_two_frames(void *arg)
{
    return ((struct ask *)arg)->frames >= 2 || is_over(arg);
}

/* By a part of our own, which waits for nobody's roles. */
static void delete_one(const struct visitor *v, const char *name)
{
    str user = STR("system:kairship:namespace-controller");
    struct ask *a =
        ask(v->h, "DELETE", arena_printf(v->h->arena, "%s" CONFIGMAPS "/%s", v->door, name));

    a->call->peer = NULL;
    a->call->who = (struct identity){ .user = user,
                                      .rights = rbac_builtins_find(v->h->server->builtins, user) };
    CHECK_STR(code_of(a), "200");
}

static struct ask *watch(const struct visitor *v)
{
    struct ask *a = come(v, "GET",
                         CONFIGMAPS "?watch=true&resourceVersion=0&sendInitialEvents=false"
                                    "&resourceVersionMatch=NotOlderThan");

    CHECK_STR(answer(a), "200");
    CHECK(a->streaming);
    return a;
}

static bool tells_of(struct ask *a, const char *name)
{
    return str_contains(buf_str(&a->text),
                        str_of(arena_printf(a->host->arena, "\"name\":\"%s\"", name)));
}

TEST(a_watch_tells_nothing_after_a_withdrawal)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct visitor v = visitor_new(ways[i].how, ways[i].right);
        struct ask *a = watch(&v);

        delete_one(&v, "one");
        withdraw(&v, i);
        delete_one(&v, "two");
        if (!CHECK(host_until(v.h, is_over, a) && tells_of(a, "one") && !tells_of(a, "two") &&
                   str_contains(buf_str(&a->text), STR("{\"type\":\"ERROR\"")) && a->frames == 2))
            printf("# %s of %d: %.*s\n", ways[i].what, (int)ways[i].how,
                   STR_ARG(buf_str(&a->text)));
        ask_free(a);
        host_free(v.h);
    }
}

/* Changes that concern others: it waits until it is known that they do. */
TEST(a_watch_goes_on_when_others_lose_something)
{
    static const struct {
        enum come how;
        enum by right;
    } visitors[] = { { BY_LOGIN, BY_RBAC },         { BY_LOGIN, BY_PLATFORM },
                     { BY_LOGIN, BY_WORKSPACE },    { BY_ACCOUNT, BY_RBAC },
                     { BY_BOUND_ACCOUNT, BY_RBAC }, { BY_CERTIFICATE, BY_RBAC },
                     { BY_NAME, BY_GROUP } };

    for (size_t i = 0; i < sizeof(visitors) / sizeof(*visitors); i++) {
        struct visitor v = visitor_new(visitors[i].how, visitors[i].right);
        struct ask *a = watch(&v);

        CHECK_STR(post(v.h, "", IAM "/users", "{\"metadata\":{\"name\":\"joe\"}}"), "201");
        CHECK_STR(make_account(v.h, v.door, "other"), "201");
        CHECK_STR(post(v.h, v.door, SECRETS, "{\"metadata\":{\"name\":\"other\"}}"), "201");
        CHECK_STR(post(v.h, v.door, ROLES "/clusterroles", "{\"metadata\":{\"name\":\"other\"}}"),
                  "201");
        delete_one(&v, "one");
        CHECK_STR(patch(v.h, IAM "/users/joe", "{\"spec\":{\"disabled\":true}}"), "200");
        delete_one(&v, "two");
        CHECK(host_until(v.h, has_two_frames, a));
        if (!CHECK(a->streaming && tells_of(a, "one") && tells_of(a, "two")))
            printf("# %d: %.*s\n", (int)visitors[i].how, STR_ARG(buf_str(&a->text)));
        ask_free(a);
        host_free(v.h);
    }
}

TEST(a_watch_ends_with_its_token)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_RBAC);
    struct ask *a = watch(&v);

    delete_one(&v, "one");
    clock_jump(&v.h->clock, 1577934245000000 + 600000000);
    loop_skip_ms(v.h->loop, 600000); /* a watch has half an hour at least */
    delete_one(&v, "two");
    CHECK(host_until(v.h, is_over, a) && tells_of(a, "one") && !tells_of(a, "two"));
    CHECK(str_contains(buf_str(&a->text), STR("{\"type\":\"ERROR\"")));
    ask_free(a);
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), REFUSED);
    host_free(v.h);
}

TEST(a_watch_elsewhere_ends_with_its_token)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_WORKSPACE);
    struct ask *a = watch(&v);

    delete_one(&v, "one");
    clock_jump(&v.h->clock, 1577934245000000 + 600000000);
    loop_skip_ms(v.h->loop, 600000);
    delete_one(&v, "two");
    CHECK(host_until(v.h, is_over, a) && tells_of(a, "one") && !tells_of(a, "two"));
    ask_free(a);
    host_free(v.h);
}

/* ---- a login in instances ---- */

static const char *said(struct host *h, struct visitor *v, const char *door)
{
    struct ask *a;
    const char *text;

    v->door = door;
    a = come(v, "GET", CONFIGMAPS);
    CHECK_STR(answer(a), REFUSED);
    text = str_z(h->arena, buf_str(&a->text));
    ask_free(a);
    return text;
}

TEST(a_login_opens_the_instances_in_which_its_user_has_a_role)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_WORKSPACE);
    struct host *h = v.h;

    CHECK_STR(make_instance(h, "other"), "201");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    CHECK_STR(code_of(come(&v, "GET", SECRETS)), FORBIDDEN); /* a Viewer */
    CHECK_STR(code_of(come(&v, "DELETE", CONFIGMAPS "/one")), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "GET", SESSIONS "?fieldSelector=spec.user.name%3Djane")),
              FORBIDDEN); /* they are in the root instance */
    v.door = "";
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), FORBIDDEN);

    /* Without a role an instance is as if it were not there. */
    CHECK_STR(said(h, &v, "/clusters/other"), said(h, &v, "/clusters/none"));
    CHECK(strstr(said(h, &v, "/clusters/other"), "and the instances in which its user has a role"));
    (void)said(h, &v, "/clusters/*");
    CHECK_STR(delete_at(h, SESSIONS "/", v.session), "200");
    CHECK_STR(said(h, &v, "/clusters/other"), said(h, &v, "/clusters/none"));
    CHECK(strstr(said(h, &v, "/clusters/demo"), "this session has ended, log in again"));
    host_free(h);
}

/* A role that names an instance which has gone does not open the next one of that name. */
TEST(a_role_in_an_instance_that_has_gone_opens_nothing)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_WORKSPACE);
    struct host *h = v.h;

    CHECK_STR(delete_at(h, INSTANCES "/", "demo"), "200");
    CHECK(strncmp(code_of(come(&v, "GET", CONFIGMAPS)), "4", 1) == 0);
    CHECK_STR(make_instance(h, "demo"), "201");
    CHECK_STR(make_configmap(h, "/clusters/demo", "mine"), "201");
    CHECK(strncmp(code_of(come(&v, "GET", CONFIGMAPS)), "40", 2) == 0);
    host_free(h);
}

/* ---- sessions ---- */

TEST(a_login_is_an_object)
{
    struct host *h = host_new(0, 0);
    struct visitor v = { .h = h, .door = "" };
    struct ask *a;

    make_jane(h);
    v.token = login(h, "first word", &v.session);
    a = ask(h, "GET", arena_printf(h->arena, SESSIONS "/%s", v.session));
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_field(a, "spec.user.name"), "jane");
    CHECK_STR(answer_field(a, "spec.user.uid"), field_at(h, IAM, "/users/jane", "metadata.uid"));
    CHECK_STR(answer_field(a, "spec.issued"), "2020-01-02T03:04:05Z");
    CHECK_STR(answer_field(a, "spec.expires"), "2020-01-02T03:14:05Z");
    CHECK_STR(answer_field(a, "spec.remote"), "192.0.2.7");
    CHECK_STR(answer_field(a, "spec.userAgent"), "kubectl/v1.36");
    ask_free(a);
    a = come(&v, "GET", CONFIGMAPS);
    CHECK_STR(code_of(a), FORBIDDEN);
    CHECK_STR(delete_at(h, SESSIONS "/", v.session), "200");
    a = come(&v, "GET", CONFIGMAPS);
    CHECK_STR(answer(a), REFUSED);
    CHECK_STR(answer_field(a, "message"), "Unauthorized: this session has ended, log in again");
    ask_free(a);
    host_free(h);
}

/* Not even by the platform's admin: only the server knows who has logged in. */
TEST(nobody_makes_or_changes_a_session)
{
    struct host *h = host_new(0, 0);
    const char *session, *path;
    static const char made[] =
        "{\"apiVersion\":\"iam.kairship.io/v1alpha1\",\"kind\":\"Session\",\"metadata\":{\"name\":"
        "\"x\"},\"spec\":{\"user\":{\"name\":\"jane\",\"uid\":\"u\"}}}";

    make_jane(h);
    (void)login(h, "first word", &session);
    path = arena_printf(h->arena, SESSIONS "/%s", session);
    CHECK_STR(post(h, "", SESSIONS, made), "405 MethodNotAllowed");
    CHECK_STR(code_of(ask_body(ask_header(ask(h, "PATCH", SESSIONS "/x?fieldManager=me"),
                                          "content-type", "application/apply-patch+yaml"),
                               made)),
              FORBIDDEN);
    CHECK_STR(code_of(ask_body(ask(h, "PUT", SESSIONS "/x"), made)), "404 NotFound");
    CHECK_STR(patch(h, path, "{\"spec\":{\"expires\":\"2030-01-01T00:00:00Z\"}}"), "422 Invalid");
    CHECK_STR(patch(h, path, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), "200");
    host_free(h);
}

TEST(one_that_is_on_its_way_out_is_over)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_RBAC);
    const char *path = arena_printf(v.h->arena, SESSIONS "/%s", v.session);

    CHECK_STR(patch(v.h, path, "{\"metadata\":{\"finalizers\":[\"a/b\"]}}"), "200");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    CHECK_STR(code_of(ask(v.h, "DELETE", path)), "200");
    CHECK_STR(code_of(ask(v.h, "GET", path)), "200");
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), REFUSED);
    host_free(v.h);
}

TEST(own_sessions_are_seen_and_ended_without_a_role)
{
    struct host *h = host_new(0, 0);
    struct visitor v = { .h = h, .door = "" }, second = v, admin = { .h = h, .how = BY_NAME };
    static const char own[] = SESSIONS "?fieldSelector=spec.user.name%3Djane";
    const char *other;

    make_jane(h);
    CHECK_STR(post(h, "", IAM "/users", "{\"metadata\":{\"name\":\"joe\"}}"), "201");
    v.token = login(h, "first word", &v.session);
    second.token = login(h, "first word", &second.session);
    other = arena_printf(h->arena, SESSIONS "/%s", second.session);
    CHECK_STR(code_of(come(&v, "GET", SESSIONS)), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "DELETE", SESSIONS)), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "GET", SESSIONS "?fieldSelector=spec.user.name%3Djoe")), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "GET", SESSIONS "?fieldSelector=spec.user.name%21%3Djane")),
              FORBIDDEN);
    CHECK_STR(code_of(come(&v, "GET", SESSIONS "/x")), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "GET", own)), "200");
    CHECK_STR(code_of(come(&v, "GET", other)), "200");
    CHECK_STR(patch(h, other, "{}"), "200");
    CHECK_STR(code_of(ask_body(ask_header(come(&v, "PATCH", other), "content-type",
                                          "application/merge-patch+json"),
                               "{}")),
              FORBIDDEN);
    admin.door = ""; /* who came in another way has a name, and no sessions */
    CHECK_STR(code_of(come(&admin, "GET", own)), FORBIDDEN);
    CHECK_STR(code_of(come(&v, "DELETE", other)), "200");
    CHECK_STR(code_of(come(&second, "GET", own)), REFUSED);
    CHECK_STR(code_of(come(&v, "DELETE", own)), "200");
    CHECK_STR(code_of(come(&v, "GET", own)), REFUSED);
    host_free(h);
}

/* ---- not too many ---- */

struct order {
    struct session_order session; /* first */
    struct loop_msg msg;
    bool made;
};

static void made(struct session_order *o, const struct json *session, const struct status *why)
{
    CHECK(session && !why);
    ((struct order *)(void *)o)->made = true;
}

static void begin(struct loop_msg *msg)
{
    session_make(&((struct order *)(void *)((char *)msg - offsetof(struct order, msg)))->session);
}

static bool is_made(void *arg)
{
    return ((struct order *)arg)->made;
}

/* Without the work of a password each. */
static void make_sessions(struct host *h, const char *uid, unsigned n)
{
    struct ask *a = ask(h, "POST", IAM "/logins");
    struct call *c = a->call;

    c->rest.instance = (struct instance){ .id = INSTANCE_ROOT };
    c->rest.catalog = kinds_catalog_root();
    for (unsigned i = 0; i < n; i++) {
        struct order o = { .msg.fn = begin,
                           .session = { .call = c,
                                        .user = STR("jane"),
                                        .uid = str_of(uid),
                                        .fingerprint = STR("x"),
                                        .now_s = i,
                                        .expires_s = 4102444800,
                                        .made = made } };

        loop_post(h->loop, &o.msg);
        CHECK(host_until(h, is_made, &o));
    }
    CHECK_STR(code_of(a), "400 BadRequest"); /* it was only there to be asked for */
}

static size_t count_sessions(struct host *h)
{
    struct ask *a = ask(h, "GET", SESSIONS);
    const struct json *list = NULL;
    struct status st;

    CHECK_STR(answer(a), "200");
    status_init(&st, h->arena);
    CHECK(json_parse(h->arena, str_dup(h->arena, buf_str(&a->text)), NULL, &list, &st) == 0);
    ask_free(a);
    return json_len(json_get(list, STR("items")));
}

TEST(of_too_many_sessions_the_oldest_ends)
{
    struct visitor v = visitor_new(BY_LOGIN, BY_RBAC), last = v;
    struct host *h = v.h;

    make_sessions(h, "another", 3);
    make_sessions(h, field_at(h, IAM, "/users/jane", "metadata.uid"), SESSIONS_MAX - 1);
    CHECK(count_sessions(h) == SESSIONS_MAX + 3);
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), "200");
    last.token = login(h, "first word", &last.session);
    CHECK(count_sessions(h) == SESSIONS_MAX + 3);
    CHECK_STR(code_of(come(&v, "GET", CONFIGMAPS)), REFUSED);
    CHECK_STR(code_of(come(&last, "GET", CONFIGMAPS)), "200");
    host_free(h);
}
