/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/verdict_review.h"
#include "server_people.h"

/* Webhooks of the operator that know tokens and rights: what they may answer, and what becomes of
 * it.
 */

#define TOKEN_REVIEWS  "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define RULES_REVIEWS  "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
#define US             "https://kubernetes.default.svc"

#define TOKEN(status) \
    "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"status\":" status "}"
#define USER(user) TOKEN("{\"authenticated\":true,\"user\":" user "}")
#define JANE       USER("{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[\"devs\"]}")
#define ACCESS(status)                                                         \
    "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/" \
    "v1\",\"status\":" status "}"
#define YES ACCESS("{\"allowed\":true,\"reason\":\"because\"}")
#define NO  ACCESS("{\"allowed\":false,\"reason\":\"because not\"}")

/* ---- what is read ---- */

static const char *read_token(struct arena *a, const char *text)
{
    struct answer_cache_answer got;
    struct status st;
    str out;

    status_init(&st, a);
    if (token_review_read(a, str_of(text), STR(US), &got, &st) < 0)
        return arena_printf(a, "?%.*s", STR_ARG(st.message));
    if (!got.yes)
        return arena_printf(a, "!%.*s", STR_ARG(got.reason));
    out = got.who.user;
    for (size_t i = 0; i < got.who.ngroups; i++)
        out = str_printf(a, "%.*s%c%.*s", STR_ARG(out), i ? ',' : ' ', STR_ARG(got.who.groups[i]));
    for (size_t i = 0; i < got.who.nextra; i++)
        out = str_printf(a, "%.*s %.*s=%zu", STR_ARG(out), STR_ARG(got.who.extra[i].key),
                         got.who.extra[i].nvalues);
    return str_z(a, out);
}

TEST(each_answer_about_a_token)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { JANE, "jane devs,system:authenticated" },
        { USER("{\"username\":\"jane\",\"groups\":[\"system:authenticated\"]}"),
          "jane system:authenticated" },
        { USER("{\"username\":\"jane\",\"groups\":null,\"extra\":{\"Scope\":[\"a\",\"b\"]}}"),
          "jane system:authenticated scope=2" },
        { TOKEN("{\"authenticated\":false}"), "!" },
        { TOKEN("{}"), "!" },
        { TOKEN("{\"user\":{\"username\":\"jane\"}}"), "!" },
        { TOKEN("{\"authenticated\":false,\"error\":\"no idea\"}"), "?no idea" },
        { TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"j\"},\"audiences\":[\"a\",\"" US
                "\"]}"),
          "j system:authenticated" },
        { TOKEN("{\"authenticated\":true,\"user\":{\"username\":\"j\"},\"audiences\":[\"a\"]}"),
          "!the token is for another audience" },
        { USER("{\"username\":\"system:admin\"}"),
          "!the username begins with system:, which nobody else may give" },
        { USER("{\"username\":\"j\",\"groups\":[\"system:masters\"]}"),
          "!a group begins with system:, which nobody else may give" },
        { USER("{\"username\":\"\"}"), "?the webhook's answer has a status.user that is none" },
        { USER("{}"), "?the webhook's answer has a status.user that is none" },
        { USER("{\"username\":\"j\",\"groups\":[1]}"),
          "?the webhook's answer has a status.user that is none" },
        { USER("{\"username\":\"j\",\"groups\":\"devs\"}"),
          "?the webhook's answer has a status.user that is none" },
        { USER("{\"username\":\"j\",\"extra\":{\"a\":\"b\"}}"),
          "?the webhook's answer has a status.user that is none" },
        { TOKEN("{\"authenticated\":\"true\",\"user\":{\"username\":\"j\"}}"),
          "?the webhook's answer has a status.authenticated that is no bool" },
        { TOKEN("null"), "?the webhook's answer is no TokenReview of authentication.k8s.io/v1 with "
                         "a status" },
        { "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1beta1\","
          "\"status\":{\"authenticated\":true,\"user\":{\"username\":\"j\"}}}",
          "?the webhook's answer is no TokenReview of authentication.k8s.io/v1 with a status" },
        { YES,
          "?the webhook's answer is no TokenReview of authentication.k8s.io/v1 with a status" },
        { "[]",
          "?the webhook's answer is no TokenReview of authentication.k8s.io/v1 with a status" },
        { "<html>", "?the webhook's answer is not JSON" },
        { "", "?the webhook's answer is not JSON" },
    };
    struct arena *a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(read_token(a, rows[i].text), rows[i].want);
    arena_free(a);
}

static const char *read_access(struct arena *a, const char *text)
{
    struct answer_cache_answer got;
    struct status st;

    status_init(&st, a);
    if (access_review_read(a, str_of(text), STR_NONE, &got, &st) < 0)
        return arena_printf(a, "?%.*s", STR_ARG(st.message));
    return arena_printf(a, "%s %.*s", got.yes ? "yes" : "no", STR_ARG(got.reason));
}

TEST(each_answer_about_rights)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { YES, "yes because" },
        { NO, "no because not" },
        { ACCESS("{}"), "no " },
        { ACCESS("{\"allowed\":false,\"denied\":true}"), "no " },
        { ACCESS("{\"allowed\":true,\"denied\":true}"),
          "?the webhook's answer is both allowed and denied" },
        { ACCESS("{\"allowed\":1}"), "?the webhook's answer has a status.allowed that is no bool" },
        { JANE, "?the webhook's answer is no SubjectAccessReview of authorization.k8s.io/v1 with a "
                "status" },
        { "{\"status\":{\"allowed\":true}}", "?the webhook's answer is no SubjectAccessReview of "
                                             "authorization.k8s.io/v1 with a status" },
        { "true", "?the webhook's answer is no SubjectAccessReview of authorization.k8s.io/v1 with "
                  "a status" },
    };
    struct arena *a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(read_access(a, rows[i].text), rows[i].want);
    arena_free(a);
}

TEST(questions_are_those_of_kubernetes)
{
    static const str groups[] = { STR_INIT("devs") };
    static const struct identity_extra extra = { STR_INIT("k"), groups, 1 };
    static const struct identity_extra forged = { STR_INIT("kairship.io/instance"), groups, 1 };
    struct identity who = { .user = STR("jane"),
                            .uid = STR("7"),
                            .groups = groups,
                            .ngroups = 1,
                            .extra = &extra,
                            .nextra = 1 };
    struct instance root = { .id = INSTANCE_ROOT }, demo = { .id = 9, .name = STR("demo") };
    struct access x = { .who = &who,
                        .instance = &root,
                        .verb = STR("get"),
                        .is_resource = true,
                        .group = STR("apps"),
                        .resource = STR("deployments"),
                        .subresource = STR("scale"),
                        .namespace_ = STR("ns"),
                        .name = STR("n") };
    struct arena *a = arena_new();

    CHECK_STR(str_z(a, access_review_question(a, &x, STR("v1"))),
              "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
              "\"metadata\":{},\"spec\":{\"resourceAttributes\":{\"namespace\":\"ns\",\"verb\":"
              "\"get\",\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\","
              "\"subresource\":\"scale\",\"name\":\"n\"},\"user\":\"jane\",\"groups\":[\"devs\"],"
              "\"extra\":{\"k\":[\"devs\"]},\"uid\":\"7\"}}");
    x = (struct access){
        .who = &who, .instance = &root, .verb = STR("get"), .path = STR("/metrics")
    };
    who = (struct identity){ .user = STR("jane") };
    CHECK_STR(str_z(a, access_review_question(a, &x, STR_NONE)),
              "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
              "\"metadata\":{},\"spec\":{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":"
              "\"get\"},\"user\":\"jane\"}}");
    /* Of which instance it is, is ours to say. */
    who.extra = &forged;
    who.nextra = 1;
    CHECK(!str_contains(access_review_question(a, &x, STR_NONE), STR("extra")));
    x.instance = &demo;
    CHECK(str_contains(access_review_question(a, &x, STR_NONE),
                       STR("\"extra\":{\"kairship.io/instance\":[\"demo\"]}")));
    CHECK_STR(
        str_z(a, token_review_question(a, secret_of(STR("t\"")), STR(US))),
        "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{},"
        "\"spec\":{\"token\":\"t\\\"\",\"audiences\":[\"" US "\"]}}");
    arena_free(a);
}

/* ---- at the door ---- */

struct world {
    struct host *h;
    struct verdict_source source;
    const char *tokens, *rights; /* what is answered; NULL: it is down */
    const char *yes[4];          /* what of a question makes the answer a yes */
    bool held;
    struct callout *asked; /* that is held */
    int token_asks, access_asks;
};

static void reply(struct world *w, struct callout *c)
{
    bool token = str_contains(c->body, STR("TokenReview"));
    const char *text = token ? w->tokens : w->rights;
    struct status st;

    for (size_t i = 0; !token && i < 4 && w->yes[i]; i++)
        if (str_contains(c->body, str_of(w->yes[i])))
            text = YES;
    status_init(&st, w->h->arena);
    (void)status_set(&st, REASON_UNAVAILABLE, "connection refused");
    c->done(c, text ? str_of(text) : STR_NONE, text ? NULL : &st);
}

/* A turn of its own, as a real one. */
static void reply_soon(struct loop_msg *msg)
{
    struct callout *c = (struct callout *)((char *)msg - offsetof(struct callout, msg));

    reply(c->user, c);
}

static void start(void *arg, struct callout *c)
{
    struct world *w = arg;

    CHECK(!c->get && c->operators && c->timeout_ms == VERDICT_MS);
    CHECK(c->reply_max == VERDICT_REPLY_MAX && c->as == &w->source.as);
    *(str_contains(c->body, STR("TokenReview")) ? &w->token_asks : &w->access_asks) += 1;
    c->user = w;
    if (w->held) {
        w->asked = c;
        return;
    }
    c->msg.fn = reply_soon;
    loop_post(w->h->loop, &c->msg);
}

static struct verdicts *webhook(struct world *w, verdict_read *read)
{
    return verdicts_new(&(struct verdicts_options){ .clock = &w->h->clock,
                                                    .source = &w->source,
                                                    .audience = STR(US),
                                                    .read = read,
                                                    .ask = start,
                                                    .arg = w });
}

static void open_world(struct world *w)
{
    *w = (struct world){ .h = host_new(0, 0), .tokens = JANE, .rights = NO };
    log_open(2, LOG_ERROR, LOG_JSON);
    w->source = (struct verdict_source){ .url = STR("https://w"), .yes_ms = 5000, .no_ms = 1000 };
    w->h->server->token_verdicts = webhook(w, token_review_read);
    w->h->server->access_verdicts = webhook(w, access_review_read);
}

static struct ask *come(struct world *w, const char *token, const char *path)
{
    struct ask *a = ask(w->h, "GET", path);

    a->call->peer = NULL;
    return ask_header(a, "authorization", arena_printf(w->h->arena, "Bearer %s", token));
}

TEST(a_token_that_nobody_knows_is_asked_about_and_remembered)
{
    struct world w;

    open_world(&w);
    CHECK_STR(code_of(come(&w, "t", "/version")), "200");
    CHECK_STR(code_of(come(&w, "t", "/version")), "200");
    CHECK(w.token_asks == 1);
    CHECK_STR(code_of(come(&w, "u", "/version")), "200");
    CHECK(w.token_asks == 2);
    w.tokens = TOKEN("{\"authenticated\":false}");
    CHECK_STR(code_of(come(&w, "t", "/version")), "200");
    clock_advance(&w.h->clock, 5001);
    CHECK_STR(code_of(come(&w, "t", "/version")), "401 Unauthorized");
    CHECK_STR(code_of(come(&w, "t", "/version")), "401 Unauthorized");
    CHECK(w.token_asks == 3);
    w.tokens = JANE;
    clock_advance(&w.h->clock, 1001);
    CHECK_STR(code_of(come(&w, "t", "/version")), "200");
    host_free(w.h);
}

TEST(a_webhook_that_fails_lets_nobody_in)
{
    static const char *const answers[] = { NULL, "",
                                           "{}", TOKEN("{\"error\":\"x\"}"),
                                           YES,  USER("{\"username\":\"system:admin\"}") };
    struct world w;

    open_world(&w);
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        w.tokens = answers[i];
        CHECK_STR(code_of(come(&w, "t", "/version")), "401 Unauthorized");
        CHECK(w.token_asks == (int)i + 1); /* a failure is not remembered */
    }
    w.tokens = JANE;
    clock_advance(&w.h->clock, 1001);
    CHECK_STR(code_of(come(&w, "t", "/version")), "200");
    host_free(w.h);
}

TEST(tokens_of_ours_are_not_shown_to_others)
{
    struct world w;
    const char *token;

    open_world(&w);
    CHECK_STR(make_instance(w.h, "demo"), "201");
    token = token_of(w.h, "/clusters/demo", "robot", "{}");
    CHECK_STR(code_of(come(&w, token, "/version")), "401 Unauthorized");
    CHECK_STR(code_of(come(&w, "abcdef.0123456789abcdef", "/version")), "401 Unauthorized");
    CHECK(w.token_asks == 0);
    host_free(w.h);
}

/* The group devs may read in demo. */
static const char *team_of(struct host *h)
{
    return arena_printf(h->arena,
                        "{\"spec\":{\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":"
                        "\"demo\",\"uid\":\"%s\"}],\"members\":[{\"kind\":\"Group\",\"name\":"
                        "\"devs\",\"role\":\"Viewer\"}]}}",
                        uid_of_instance(h, "demo"));
}

TEST(who_a_webhook_knows_enters_instances_by_a_role_only)
{
    struct world w;
    struct permissions *p;
    const struct json *team;
    struct ask *there, *nowhere;
    struct status st;

    open_world(&w);
    w.rights = YES;
    p = (struct permissions *)(uintptr_t)people_permissions(w.h->server->people);
    CHECK_STR(make_instance(w.h, "demo"), "201");
    there = come(&w, "t", "/clusters/demo" CONFIGMAPS);
    nowhere = come(&w, "t", "/clusters/none" CONFIGMAPS);
    CHECK_STR(answer(there), "401 Unauthorized");
    CHECK_STR(answer(nowhere), "401 Unauthorized");
    CHECK(str_eq(buf_str(&there->text), buf_str(&nowhere->text)));
    ask_free(there);
    ask_free(nowhere);
    CHECK_STR(code_of(come(&w, "t", "/clusters/*" CONFIGMAPS)), "401 Unauthorized");
    status_init(&st, w.h->arena);
    CHECK(json_parse(w.h->arena, str_of(team_of(w.h)), NULL, &team, &st) == 0);
    permissions_set(p, IAM_WORKSPACES, STR("team"), team);
    permissions_publish(p, UINT64_MAX);
    CHECK_STR(code_of(come(&w, "t", "/clusters/demo" CONFIGMAPS)), "200");
    CHECK(w.access_asks == 0);
    /* The other webhook says yes to all, and is not asked about an instance. */
    CHECK_STR(code_of(come(&w, "t", "/clusters/demo" SECRETS)), "403 Forbidden");
    CHECK(w.access_asks == 0 && w.token_asks == 1);
    CHECK_STR(code_of(come(&w, "t", SECRETS)), "200");
    host_free(w.h);
}

TEST(what_roles_do_not_give_the_webhook_may)
{
    struct world w;
    struct ask *a;

    open_world(&w);
    a = come(&w, "t", CONFIGMAPS);
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK(strstr(answer_field(a, "message"), "because not"));
    ask_free(a);
    CHECK_STR(code_of(come(&w, "t", "/version")), "200"); /* RBAC's, of all */
    CHECK_STR(code_of(ask(w.h, "GET", CONFIGMAPS)), "200");
    CHECK(w.access_asks == 1);
    w.rights = YES;
    CHECK_STR(code_of(come(&w, "t", CONFIGMAPS)), "403 Forbidden"); /* the no holds */
    CHECK_STR(code_of(come(&w, "t", SECRETS)), "200");
    CHECK(w.access_asks == 2);
    clock_advance(&w.h->clock, 1001);
    CHECK_STR(code_of(come(&w, "t", CONFIGMAPS)), "200");
    w.rights = NO;
    CHECK_STR(code_of(come(&w, "t", CONFIGMAPS)), "200"); /* the yes holds */
    clock_advance(&w.h->clock, 5001);
    CHECK_STR(code_of(come(&w, "t", CONFIGMAPS)), "403 Forbidden");
    host_free(w.h);
}

TEST(without_an_answer_nobody_may)
{
    static const char *const answers[] = { NULL, "", "{}",
                                           ACCESS("{\"allowed\":true,\"denied\":true}"), JANE };
    struct world w;

    open_world(&w);
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        w.rights = answers[i];
        CHECK_STR(code_of(come(&w, "t", CONFIGMAPS)), "500 InternalError");
        CHECK(w.access_asks == (int)i + 1);
    }
    host_free(w.h);
}

TEST(requests_wait_and_others_do_not)
{
    struct world w;
    struct ask *a, *b;

    open_world(&w);
    w.held = true;
    w.rights = YES;
    a = come(&w, "t", CONFIGMAPS);
    ask_send(a);
    host_turn(w.h);
    CHECK(!a->done && w.token_asks == 1);
    CHECK_STR(code_of(ask(w.h, "GET", CONFIGMAPS)), "200");
    reply(&w, w.asked);
    host_turn(w.h);
    CHECK(!a->done && w.access_asks == 1);
    a->call->gone = true; /* answered all the same */
    reply(&w, w.asked);
    CHECK_STR(answer_of(a), "200");
    ask_free(a);
    b = come(&w, "t", CONFIGMAPS);
    CHECK_STR(answer(b), "200"); /* both remembered */
    ask_free(b);
    host_free(w.h);
}

TEST(reviews_tell_what_webhooks_say)
{
    struct world w;
    struct ask *a;

    open_world(&w);
    w.rights = YES;
    a = ask_body(ask(w.h, "POST", TOKEN_REVIEWS), "{\"spec\":{\"token\":\"t\"}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.user.username"), "jane");
    ask_free(a);
    a = ask_body(ask(w.h, "POST", ACCESS_REVIEWS),
                 "{\"spec\":{\"user\":\"jane\",\"resourceAttributes\":{\"verb\":\"list\","
                 "\"resource\":\"pods\"}}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.allowed"), "true");
    CHECK_STR(answer_field(a, "status.reason"), "because");
    ask_free(a);
    w.rights = NULL;
    a = ask_body(ask(w.h, "POST", ACCESS_REVIEWS),
                 "{\"spec\":{\"user\":\"jane\",\"resourceAttributes\":{\"verb\":\"get\","
                 "\"resource\":\"pods\"}}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.allowed"), "false");
    CHECK_STR(answer_field(a, "status.evaluationError"),
              "the webhook that knows rights gives no answer");
    ask_free(a);
    a = ask_body(ask(w.h, "POST", RULES_REVIEWS), "{\"spec\":{\"namespace\":\"default\"}}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "status.incomplete"), "true");
    ask_free(a);
    host_free(w.h);
}

TEST(questions_on_their_way_are_bounded)
{
    static struct verdict all[VERDICT_WAITING_MAX + 1];
    struct world w;
    struct verdicts *v;

    open_world(&w);
    v = w.h->server->token_verdicts;
    w.held = true;
    for (size_t i = 0; i <= VERDICT_WAITING_MAX; i++) {
        all[i] = (struct verdict){ .arena = w.h->arena,
                                   .body = str_printf(w.h->arena, "TokenReview %zu", i) };
        CHECK(verdicts_ask(v, &all[i]) == (i == VERDICT_WAITING_MAX));
    }
    CHECK(!all[VERDICT_WAITING_MAX].answer);
    CHECK(all[VERDICT_WAITING_MAX].why.reason == REASON_UNAVAILABLE);
    host_free(w.h);
}

/* ---- wherever RBAC is asked ---- */

static struct ask *come_with(struct world *w, const char *method, const char *path,
                             const char *body)
{
    struct ask *a = ask_body(ask(w->h, method, path), body);

    a->call->peer = NULL;
    return ask_header(a, "authorization", "Bearer t");
}

TEST(who_may_be_another_is_asked_of_it_for_every_part)
{
    struct world w;
    struct ask *a;

    open_world(&w);
    w.source.yes_ms = w.source.no_ms = 0; /* nothing is remembered, and it ends all the same */
    w.yes[0] =
        "\"verb\":\"impersonate\",\"version\":\"v1\",\"resource\":\"users\",\"name\":\"bob\"";
    w.yes[1] = "\"resource\":\"groups\",\"name\":\"ops\"},\"user\":\"jane\"";
    w.yes[2] = "\"user\":\"bob\",\"groups\":[\"ops\",\"system:authenticated\"]";
    a = ask_header(ask_header(come(&w, "t", CONFIGMAPS), "impersonate-user", "bob"),
                   "impersonate-group", "ops");
    CHECK_STR(answer(a), "200");
    ask_free(a);
    CHECK(w.access_asks == 3);
    a = ask_header(ask_header(come(&w, "t", CONFIGMAPS), "impersonate-user", "bob"),
                   "impersonate-group", "others");
    CHECK_STR(answer(a), "403 Forbidden");
    CHECK(strstr(answer_field(a, "message"), "cannot impersonate resource \"groups\""));
    CHECK(strstr(answer_field(a, "message"), "because not"));
    ask_free(a);
    /* Groups of the system are nobody's to give. */
    w.rights = YES;
    w.access_asks = 0;
    a = ask_header(ask_header(come(&w, "t", CONFIGMAPS), "impersonate-user", "bob"),
                   "impersonate-group", "system:masters");
    CHECK_STR(answer(a), "403 Forbidden");
    ask_free(a);
    CHECK(w.access_asks == 1);
    w.rights = w.yes[0] = NULL;
    CHECK_STR(code_of(ask_header(come(&w, "t", CONFIGMAPS), "impersonate-user", "bob")),
              "500 InternalError");
    host_free(w.h);
}

#define RBAC_API "/apis/rbac.authorization.k8s.io/v1"
#define ROLE                                                                                    \
    "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"]," \
    "\"verbs\":[\"get\"]}]}"
#define ROLE_BINDING                                                                             \
    "{\"metadata\":{\"name\":\"b\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"x\"}],"          \
    "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":" \
    "\"view\"}}"

TEST(who_may_give_rights_away_is_asked_of_it)
{
    struct world w;

    open_world(&w);
    w.source.yes_ms = w.source.no_ms = 0;
    w.yes[0] = "\"verb\":\"create\"";
    CHECK_STR(code_of(come_with(&w, "POST", RBAC_API "/clusterroles", ROLE)), "403 Forbidden");
    CHECK(w.access_asks == 2);
    w.yes[1] = "\"verb\":\"escalate\",\"group\":\"rbac.authorization.k8s.io\",\"version\":\"*\","
               "\"resource\":\"clusterroles\"";
    CHECK_STR(code_of(come_with(&w, "POST", RBAC_API "/clusterroles", ROLE)), "201");
    CHECK_STR(code_of(come_with(&w, "POST", RBAC_API "/clusterrolebindings", ROLE_BINDING)),
              "403 Forbidden");
    w.yes[1] = "\"verb\":\"bind\",\"group\":\"rbac.authorization.k8s.io\",\"version\":\"*\","
               "\"resource\":\"clusterroles\",\"name\":\"view\"";
    CHECK_STR(code_of(come_with(&w, "POST", RBAC_API "/clusterrolebindings", ROLE_BINDING)), "201");
    w.yes[1] = NULL;
    w.rights = NULL;
    CHECK_STR(code_of(come_with(&w, "POST", RBAC_API "/clusterroles", ROLE)), "500 InternalError");
    host_free(w.h);
}

TEST(an_apply_that_creates_asks_it_for_that)
{
    static const char body[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"x\"}}";
    struct world w;

    open_world(&w);
    w.source.yes_ms = w.source.no_ms = 0;
    w.yes[0] = "\"verb\":\"patch\"";
    for (int i = 0; i < 2; i++) {
        struct ask *a = ask_header(come_with(&w, "PATCH", CONFIGMAPS "/x?fieldManager=m", body),
                                   "content-type", "application/apply-patch+yaml");

        CHECK_STR(code_of(a), i ? "201" : "403 Forbidden");
        w.yes[1] = "\"verb\":\"create\",\"version\":\"v1\",\"resource\":\"configmaps\"";
    }
    host_free(w.h);
}

#define ADMISSION_API "/apis/admissionregistration.k8s.io/v1"
#define POLICY                                                                                     \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":[{"          \
    "\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":["    \
    "\"configmaps\"]}]},\"validations\":[{\"expression\":\"authorizer.group('').resource('pods')." \
    "check('dance').allowed()\"},{\"expression\":\"!authorizer.serviceAccount('default','bot')."   \
    "path('/x').check('get').allowed()\"}]}}"
#define POLICY_BINDING                                                                      \
    "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\",\"validationActions\":[" \
    "\"Deny\"]}}"

TEST(expressions_of_policies_ask_it)
{
    static const char map[] = "{\"metadata\":{\"name\":\"x\"}}";
    struct world w;

    open_world(&w);
    w.source.yes_ms = w.source.no_ms = 0;
    CHECK_STR(post(w.h, "", ADMISSION_API "/validatingadmissionpolicies", POLICY), "201");
    CHECK_STR(post(w.h, "", ADMISSION_API "/validatingadmissionpolicybindings", POLICY_BINDING),
              "201");
    host_turn(w.h);
    w.yes[0] = "\"verb\":\"create\"";
    CHECK_STR(code_of(come_with(&w, "POST", CONFIGMAPS, map)), "422 Invalid");
    CHECK(w.access_asks == 2);
    w.yes[1] = "\"verb\":\"dance\",\"version\":\"*\",\"resource\":\"pods\"";
    w.yes[2] = "\"user\":\"system:serviceaccount:default:bot\"";
    CHECK_STR(code_of(come_with(&w, "POST", CONFIGMAPS, map)), "422 Invalid");
    w.yes[2] = NULL;
    w.access_asks = 0;
    CHECK_STR(code_of(come_with(&w, "POST", CONFIGMAPS, map)), "201");
    CHECK(w.access_asks == 3);
    host_free(w.h);
}

TEST(writes_wait_for_it_and_others_do_not)
{
    struct world w;
    struct ask *a;

    open_world(&w);
    w.rights = YES;
    a = come_with(&w, "POST", RBAC_API "/clusterroles", ROLE);
    CHECK_STR(code_of(come(&w, "t", "/version")), "200"); /* the token is known */
    w.held = true;
    ask_send(a);
    host_turn(w.h);
    CHECK(!a->done && w.access_asks == 1);
    reply(&w, w.asked); /* may create */
    host_turn(w.h);
    CHECK(!a->done && w.access_asks == 2);
    CHECK_STR(code_of(ask(w.h, "GET", CONFIGMAPS)), "200");
    a->call->gone = true; /* done all the same */
    reply(&w, w.asked);   /* may escalate */
    CHECK_STR(answer_of(a), "201");
    ask_free(a);
    host_free(w.h);
}

TEST(instances_are_asked_about_where_the_operator_wants_it)
{
    const struct json *team;
    struct permissions *p;
    struct status st;
    struct world w;

    open_world(&w);
    w.source.instances = true;
    w.yes[0] = "\"kairship.io/instance\":[\"demo\"]";
    status_init(&st, w.h->arena);
    CHECK_STR(make_instance(w.h, "demo"), "201");
    CHECK(json_parse(w.h->arena, str_of(team_of(w.h)), NULL, &team, &st) == 0);
    p = (struct permissions *)(uintptr_t)people_permissions(w.h->server->people);
    permissions_set(p, IAM_WORKSPACES, STR("team"), team);
    permissions_publish(p, UINT64_MAX);
    CHECK_STR(code_of(come(&w, "t", "/clusters/demo" SECRETS)), "200");
    CHECK(w.access_asks == 1);
    CHECK_STR(code_of(come(&w, "t", SECRETS)), "403 Forbidden");
    CHECK(w.access_asks == 2);
    /* What does not exist is not asked about. */
    CHECK_STR(code_of(come(&w, "t", "/clusters/none" SECRETS)), "401 Unauthorized");
    CHECK(w.access_asks == 2);
    host_free(w.h);
}
