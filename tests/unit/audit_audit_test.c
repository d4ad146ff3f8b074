/* SPDX-License-Identifier: Apache-2.0 */

/* What a policy decides, what an event looks like, and that no secret is in one. */

#include <fcntl.h>
#include <unistd.h>

#include "apiserver/audit/audit.h"
#include "apiserver/audit/audit_event.h"
#include "apiserver/audit/audit_redact.h"
#include "apiserver/call/metrics.h"
#include "server_people.h"

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/"
#define HEAD      "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

/* ---- policies ---- */

struct question {
    const char *user, *group, *verb, *target; /* target: a path as the server gets it */
    enum audit_level level;
};

static struct audit_decision decide(struct arena *a, const struct audit_policy *p,
                                    const struct question *q)
{
    str group = str_of(q->group);
    struct identity who = { .user = str_of(q->user), .groups = &group, .ngroups = q->group != 0 };
    const char *method = strcmp(q->verb, "list") == 0    ? "GET"
                         : strcmp(q->verb, "get") == 0   ? "GET"
                         : strcmp(q->verb, "watch") == 0 ? "GET"
                                                         : q->verb;
    struct reqinfo info;
    struct status st;

    status_init(&st, a);
    if (!CHECK(reqinfo_parse(a, str_of(method), str_of(q->target), STR_NONE, &info, &st) == 0))
        return (struct audit_decision){ 0 };
    if (strcmp(q->verb, "watch") == 0)
        info.verb = STR("watch");
    return audit_policy_decide(p, q->user ? &who : NULL, &info);
}

static void check_all(const char *text, const struct question *qs, size_t n)
{
    scoped_arena a = arena_new();
    struct audit_policy *p;
    struct status st;

    status_init(&st, a);
    p = audit_policy_new(str_of(text), &st);
    if (!CHECK(p)) {
        printf("# %.*s\n", STR_ARG(st.message));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        enum audit_level level = decide(a, p, &qs[i]).level;

        if (!CHECK(level == qs[i].level))
            printf("# %s %s of %s is %s\n", qs[i].verb, qs[i].target,
                   qs[i].user ? qs[i].user : "nobody", audit_level_name(level));
    }
    audit_policy_free(p);
}
#define CHECK_ALL(text, qs) check_all((text), (qs), sizeof(qs) / sizeof(*(qs)))

#define NS "/api/v1/namespaces/d/"

TEST(rules_match_as_in_kubernetes)
{
    static const struct question by_user[] = {
        { "jane", NULL, "GET", NS "pods/x", AUDIT_METADATA },
        { "john", NULL, "GET", NS "pods/x", AUDIT_NONE },
        { "john", "devs", "GET", NS "pods/x", AUDIT_REQUEST },
        { "jane", "devs", "GET", NS "pods/x", AUDIT_METADATA }, /* the first counts */
        { NULL, NULL, "GET", NS "pods/x", AUDIT_NONE },
    };
    static const struct question by_resource[] = {
        { "j", NULL, "GET", NS "pods/x", AUDIT_METADATA },
        { "j", NULL, "GET", NS "pods/x/log", AUDIT_REQUEST },
        { "j", NULL, "GET", NS "pods/x/status", AUDIT_NONE },
        { "j", NULL, "GET", NS "services/x", AUDIT_REQUEST_RESPONSE },
        { "j", NULL, "GET", NS "services/x/proxy", AUDIT_REQUEST_RESPONSE },
        { "j", NULL, "PUT", "/apis/apps/v1/namespaces/d/deployments/x/scale", AUDIT_REQUEST },
        { "j", NULL, "PUT", "/apis/apps/v1/namespaces/d/deployments/x", AUDIT_NONE },
        { "j", NULL, "GET", "/apis/batch/v1/namespaces/d/jobs/x/status", AUDIT_METADATA },
        { "j", NULL, "GET", "/apis/policy/v1/namespaces/d/anything", AUDIT_METADATA },
        { "j", NULL, "GET", NS "configmaps/one", AUDIT_METADATA },
        { "j", NULL, "GET", NS "configmaps/two", AUDIT_NONE },
        { "j", NULL, "GET", NS "configmaps", AUDIT_NONE },
        { "j", NULL, "GET", "/healthz", AUDIT_NONE },
    };
    static const struct question by_place[] = {
        { "j", NULL, "GET", NS "pods/x", AUDIT_METADATA },
        { "j", NULL, "GET", "/api/v1/namespaces/e/pods/x", AUDIT_NONE },
        { "j", NULL, "GET", "/api/v1/nodes/x", AUDIT_REQUEST },
        { "j", NULL, "GET", "/healthz", AUDIT_NONE },
    };
    static const struct question by_verb[] = {
        { "j", NULL, "POST", NS "pods", AUDIT_METADATA },
        { "j", NULL, "GET", NS "pods", AUDIT_NONE },
        { "j", NULL, "watch", NS "pods", AUDIT_REQUEST },
        { "j", NULL, "POST", "/some/path", AUDIT_METADATA },
        { "j", NULL, "OPTIONS", "/some/path", AUDIT_METADATA },
        { "j", NULL, "GET", "/some/path", AUDIT_NONE },
    };
    static const struct question by_path[] = {
        { "j", NULL, "GET", "/healthz", AUDIT_METADATA },
        { "j", NULL, "GET", "/healthz/ping", AUDIT_METADATA },
        { "j", NULL, "GET", "/version", AUDIT_REQUEST },
        { "j", NULL, "GET", "/version/more", AUDIT_NONE },
        { "j", NULL, "GET", NS "pods/x", AUDIT_NONE },
    };
    static const struct question by_any[] = {
        { "j", NULL, "GET", "/any", AUDIT_METADATA },
        { NULL, NULL, "GET", NS "pods/x", AUDIT_REQUEST_RESPONSE },
    };

    CHECK_ALL(HEAD "rules:\n- {level: Metadata, users: [jane]}\n"
                   "- {level: Request, userGroups: [admins, devs]}\n",
              by_user);
    CHECK_ALL(HEAD "rules:\n"
                   "- {level: Metadata, resources: [{resources: [pods]}]}\n"
                   "- {level: Request, resources: [{group: '', resources: [pods/log]},"
                   " {group: apps, resources: ['*/scale']}]}\n"
                   "- {level: RequestResponse, resources: [{resources: ['services/*']}]}\n"
                   "- {level: Metadata, resources: [{group: batch, resources: ['*']},"
                   " {group: policy}, {resources: [configmaps], resourceNames: [one]}]}\n",
              by_resource);
    CHECK_ALL(HEAD "rules:\n- {level: Metadata, namespaces: [d]}\n"
                   "- {level: Request, namespaces: ['']}\n",
              by_place);
    CHECK_ALL(HEAD "rules:\n- {level: Metadata, verbs: [create, post, options]}\n"
                   "- {level: Request, verbs: [watch]}\n",
              by_verb);
    CHECK_ALL(HEAD "rules:\n- {level: Metadata, nonResourceURLs: ['/healthz*']}\n"
                   "- {level: Request, nonResourceURLs: [/version]}\n",
              by_path);
    CHECK_ALL(HEAD "rules:\n- {level: Metadata, nonResourceURLs: ['*']}\n"
                   "- {level: RequestResponse}\n- {level: None}\n",
              by_any);
}

TEST(stages_and_managed_fields_of_policy_and_rule)
{
    scoped_arena a = arena_new();
    struct question q = { "j", NULL, "GET", NS "pods/x", 0 }, other = q;
    struct audit_policy *p;
    struct audit_decision d;
    struct status st;

    status_init(&st, a);
    p = audit_policy_new(STR(HEAD "omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
                                  "- {level: Metadata, users: [j], omitStages: [Panic,"
                                  " ResponseStarted], omitManagedFields: false}\n"
                                  "- {level: Request}\n"),
                         &st);
    REQUIRE(p);
    d = decide(a, p, &q);
    CHECK(d.omitted == (1U << AUDIT_RECEIVED | 1U << AUDIT_PANIC | 1U << AUDIT_STARTED));
    CHECK(!d.omit_managed_fields);
    other.user = "k";
    d = decide(a, p, &other);
    CHECK(d.omitted == 1U << AUDIT_RECEIVED && d.omit_managed_fields);
    audit_policy_free(p);
}

TEST(wrong_policies_say_which_fields)
{
    static const struct {
        const char *text, *why[4];
    } rows[] = {
        { "", { "no Policy of audit.k8s.io/v1" } },
        { "rules: [", { "line" } },
        { "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n",
          { "no Policy of audit.k8s.io/v1" } },
        { HEAD, { "rules: Required value" } },
        { HEAD "rules: []\n", { "rules: Required value" } },
        { HEAD "rules: {}\n", { "rules: Invalid value: {}: must be a list" } },
        { HEAD "rules: [{}, 7]\n",
          { "rules[0].level: Required value", "rules[1]: Invalid value" } },
        { HEAD "rules: [{level: All}]\n", { "rules[0].level: Unsupported value: \"All\"" } },
        { HEAD "rules: [{level: None, omitStages: [Later], user: [x]}]\nomitStages: [x]\n",
          { "rules[0].omitStages[0]: Invalid value: \"Later\": allowed stages are",
            "rules[0].user: Invalid value", "omitStages[0]: Invalid value: \"x\"" } },
        { HEAD "rules: [{level: None, nonResourceURLs: [healthz, /a*b]}]\n",
          { "rules[0].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must "
            "begin with a '/' character",
            "rules[0].nonResourceURLs[1]: Invalid value: \"/a*b\"" } },
        { HEAD "rules: [{level: None, namespaces: [a], nonResourceURLs: [/a]}]\n",
          { "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both" } },
        { HEAD "rules: [{level: None, resources: [{group: apps/v1, resourceNames: [a]}]}]\n",
          { "rules[0].resources[0].group: Invalid value: \"apps/v1\"",
            "rules[0].resources[0].resourceNames: Invalid value" } },
        { HEAD "rules: [{level: None, users: [1], verbs: get}]\n",
          { "rules[0].users[0]: Invalid value: 1: must be a string",
            "rules[0].verbs: Invalid value: \"get\": must be a list" } },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        if (!CHECK(!audit_policy_new(str_of(rows[i].text), &st)))
            continue;
        for (size_t w = 0; w < 4 && rows[i].why[w]; w++)
            if (!CHECK(str_contains(st.message, str_of(rows[i].why[w]))))
                printf("# %s\n# %.*s\n", rows[i].why[w], STR_ARG(st.message));
    }
}

TEST(the_default_policy)
{
    static const struct question qs[] = {
        { "jane", NULL, "GET", NS "pods/x", AUDIT_NONE },
        { "jane", NULL, "GET", NS "pods", AUDIT_NONE },
        { "jane", NULL, "watch", NS "configmaps", AUDIT_NONE },
        { "jane", NULL, "POST", NS "configmaps", AUDIT_METADATA },
        { "jane", NULL, "DELETE", NS "pods/x", AUDIT_METADATA },
        { "jane", NULL, "DELETE", NS "pods", AUDIT_METADATA },
        { "jane", NULL, "PATCH", "/clusters/t/apis/apps/v1/namespaces/d/deployments/x",
          AUDIT_METADATA },
        { "jane", NULL, "GET", NS "secrets/x", AUDIT_METADATA },
        { "jane", NULL, "watch", "/api/v1/secrets", AUDIT_METADATA },
        { "jane", NULL, "POST", NS "serviceaccounts/x/token", AUDIT_METADATA },
        { "jane", NULL, "GET", NS "serviceaccounts/x", AUDIT_NONE },
        { "jane", NULL, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", AUDIT_METADATA },
        { "jane", NULL, "POST", "/apis/iam.kairship.io/v1alpha1/logins", AUDIT_METADATA },
        { NULL, NULL, "POST", "/apis/iam.kairship.io/v1alpha1/logins", AUDIT_METADATA },
        { "jane", NULL, "GET", "/apis/cluster.karmada.io/v1alpha1/clusters/m/proxy/api/v1/secrets",
          AUDIT_METADATA },
        { "jane", NULL, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          AUDIT_NONE },
        { "jane", NULL, "PUT", "/apis/coordination.k8s.io/v1/namespaces/d/leases/x", AUDIT_NONE },
        { "jane", NULL, "POST", NS "events", AUDIT_NONE },
        { "jane", NULL, "GET", "/healthz", AUDIT_NONE },
        { "jane", NULL, "GET", "/backup", AUDIT_METADATA },
        { "jane", NULL, "GET", "/metrics", AUDIT_NONE },
        { "jane", NULL, "POST", "/grpc.health.v1.Health/Check", AUDIT_NONE },
        { "jane", NULL, "POST", "/some.Service/Method", AUDIT_METADATA },
        { "p", "system:kairship:parts", "watch", "/api/v1/secrets", AUDIT_NONE },
        { "p", "system:kairship:parts", "POST", NS "secrets", AUDIT_METADATA },
        { "p", "system:kairship:parts", "PUT",
          "/apis/cluster.karmada.io/v1alpha1/clusters/m/status", AUDIT_NONE },
        { "jane", NULL, "PUT", "/apis/cluster.karmada.io/v1alpha1/clusters/m/status",
          AUDIT_METADATA },
    };

    CHECK_ALL(audit_policy_default, qs);
}

/* ---- what is hidden ---- */

static str redacted(struct arena *a, const char *resource, const char *text)
{
    struct reqinfo info = { .is_resource = true, .resource = str_of(resource) };
    const struct json *v;
    struct status st;

    status_init(&st, a);
    if (!CHECK(json_parse(a, str_of(text), NULL, &v, &st) == 0))
        return STR_NONE;
    return json_text(a, audit_redact(a, v, &info, true));
}

#define APPLIED "\"kubectl.kubernetes.io/last-applied-configuration\""

TEST(secrets_are_hidden_wherever_they_are)
{
    static const struct {
        const char *resource, *body, *shown;
    } rows[] = {
        { "secrets",
          "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"annotations\":{" APPLIED
          ":\"{CANARY}\",\"a\":\"b\"},\"managedFields\":[{}]},\"data\":{\"k\":\"CANARY\"},"
          "\"stringData\":{\"l\":\"CANARY\"},\"type\":\"Opaque\"}",
          "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"annotations\":{" APPLIED
          ":\"REDACTED\",\"a\":\"b\"}},\"data\":{\"k\":\"REDACTED\"},\"stringData\":{\"l\":"
          "\"REDACTED\"},\"type\":\"Opaque\"}" },
        { "secrets", "{\"items\":[{\"data\":{\"k\":\"CANARY\"}}]}",
          "{\"items\":[{\"data\":{\"k\":\"REDACTED\"}}]}" },
        { "secrets", "{\"data\":{\"k\":null,\"l\":{\"m\":\"CANARY\"}}}",
          "{\"data\":{\"k\":null,\"l\":\"REDACTED\"}}" },
        { "secrets",
          "[{\"op\":\"add\",\"path\":\"/immutable\",\"value\":true},"
          "{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"k\":\"CANARY\"}}]",
          "[{\"op\":\"add\",\"path\":\"/immutable\",\"value\":\"REDACTED\"},"
          "{\"op\":\"add\",\"path\":\"/data\",\"value\":\"REDACTED\"}]" },
        { "secrets", "{\"rows\":[{\"cells\":[\"s\",1],\"object\":{\"data\":{\"k\":\"CANARY\"}}}]}",
          "{\"rows\":[{\"cells\":[\"s\",1],\"object\":{\"data\":{\"k\":\"REDACTED\"}}}]}" },
        { "works",
          "{\"spec\":{\"workload\":{\"manifests\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
          "\"data\":{\"k\":\"CANARY\"}},{\"kind\":\"ConfigMap\",\"data\":{\"k\":\"v\"}}]}}}",
          "{\"spec\":{\"workload\":{\"manifests\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
          "\"data\":{\"k\":\"REDACTED\"}},{\"kind\":\"ConfigMap\",\"data\":{\"k\":\"v\"}}]}}}" },
        { "works",
          "[{\"op\":\"add\",\"path\":\"/spec/workload/manifests/0/data/k\",\"value\":\"CANARY\"},"
          "{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"a\":\"b\"}}]",
          "[{\"op\":\"add\",\"path\":\"/spec/workload/manifests/0/data/k\",\"value\":\"REDACTED\"}"
          ",{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"a\":\"b\"}}]" },
        { "overridepolicies",
          "{\"overriders\":{\"plaintext\":[{\"path\":\"/data/k\",\"value\":\"CANARY\"}]}}",
          "{\"overriders\":{\"plaintext\":[{\"path\":\"/data/k\",\"value\":\"REDACTED\"}]}}" },
        { "configmaps", "{\"data\":{\"k\":\"v\",\"password\":\"CANARY\"}}",
          "{\"data\":{\"k\":\"v\",\"password\":\"REDACTED\"}}" },
        { "configmaps", "[{\"op\":\"add\",\"path\":\"/data/k\",\"value\":\"v\"}]",
          "[{\"op\":\"add\",\"path\":\"/data/k\",\"value\":\"v\"}]" },
        { "serviceaccounts", "{\"status\":{\"token\":\"CANARY\"}}",
          "{\"status\":{\"token\":\"REDACTED\"}}" },
        { "logins", "{\"spec\":{\"username\":\"u\",\"password\":\"CANARY\"}}",
          "{\"spec\":{\"username\":\"u\",\"password\":\"REDACTED\"}}" },
        { "logins", "{\"spec\":{\"password\":[\"CANARY\"],\"token\":4711}}",
          "{\"spec\":{\"password\":\"REDACTED\",\"token\":\"REDACTED\"}}" },
        { "instances", "{\"kubeConfigString\":\"CANARY\"}", "{\"kubeConfigString\":\"REDACTED\"}" },
        { "clusters", "{\"spec\":{\"kubeconfig\":\"CANARY\"}}",
          "{\"spec\":{\"kubeconfig\":\"REDACTED\"}}" },
        { "pediaclusters", "{\"spec\":{\"tokenData\":\"CANARY\",\"keyData\":\"CANARY\"}}",
          "{\"spec\":{\"tokenData\":\"REDACTED\",\"keyData\":\"REDACTED\"}}" },
        { "customresourcedefinitions", "{\"properties\":{\"password\":{\"type\":\"string\"}}}",
          "{\"properties\":{\"password\":{\"type\":\"string\"}}}" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(str_z(a, redacted(a, rows[i].resource, rows[i].body)), rows[i].shown);
}

/* ---- events ---- */

TEST(the_shape_of_an_event)
{
    static const str groups[] = { STR_INIT("devs"), STR_INIT("system:authenticated") };
    static const str scopes[] = { STR_INIT("all") };
    static const struct identity_extra extra = { STR_INIT("scopes"), scopes, 1 };
    static const struct identity jane = { .user = STR_INIT("jane"),
                                          .uid = STR_INIT("u1"),
                                          .groups = groups,
                                          .ngroups = 2,
                                          .extra = &extra,
                                          .nextra = 1 };
    static const struct identity bob = { .user = STR_INIT("bob") };
    const struct reqinfo info = { .is_resource = true,
                                  .verb = STR("create"),
                                  .group = STR("apps"),
                                  .version = STR("v1"),
                                  .namespace_ = STR("d"),
                                  .resource = STR("deployments") };
    struct audit_event e = {
        .decision.level = AUDIT_REQUEST_RESPONSE,
        .stage = AUDIT_COMPLETE,
        .id = STR("id-1"),
        .path = STR("/apis/apps/v1/namespaces/d/deployments"),
        .query = STR("dryRun=All&access_token=CANARY&x=%20&Client%5FSecret=CANARY&tokens=1"),
        .info = &info,
        .user = &jane,
        .impersonated = &bob,
        .agent = STR("curl \"x\"\xff"),
        .name = STR("web"),
        .uid = STR("u2"),
        .revision = STR("7"),
        .code = 201,
        .sent = &json_empty_object,
        .answered = STR("{\"kind\":\"Deployment\",\"metadata\":{}}"),
        .received_us = 1577934245000001,
        .stage_us = 1577934245000002
    };
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 0 };

    audit_sources(&e, STR("10.0.0.9, nonsense, 2001:db8::1"), STR("10.0.0.8"), STR("[::1]:4711"));
    audit_note(&e, STR("z/z"), STR("last"));
    audit_note(&e, STR("a/a"), STR("first"));
    audit_note(&e, STR("a/a"), STR("second"));
    audit_event_print(a, &e, &b);
    CHECK_STR(
        str_z(a, buf_str(&b)),
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"RequestResponse\","
        "\"auditID\":\"id-1\",\"stage\":\"ResponseComplete\","
        "\"requestURI\":\"/apis/apps/v1/namespaces/d/deployments?dryRun=All&access_token=REDACTED"
        "&x=%20&Client%5FSecret=REDACTED&tokens=1\",\"verb\":\"create\","
        "\"user\":{\"username\":\"jane\",\"uid\":\"u1\",\"groups\":[\"devs\","
        "\"system:authenticated\"],\"extra\":{\"scopes\":[\"all\"]}},"
        "\"impersonatedUser\":{\"username\":\"bob\"},"
        "\"sourceIPs\":[\"10.0.0.9\",\"2001:db8::1\",\"10.0.0.8\",\"::1\"],"
        "\"userAgent\":\"curl \\u0022x\\u0022\\u00ff\","
        "\"objectRef\":{\"resource\":\"deployments\",\"namespace\":\"d\",\"name\":\"web\","
        "\"uid\":\"u2\",\"apiGroup\":\"apps\",\"apiVersion\":\"v1\",\"resourceVersion\":\"7\"},"
        "\"responseStatus\":{\"metadata\":{},\"code\":201},\"requestObject\":{},"
        "\"responseObject\":{\"kind\":\"Deployment\",\"metadata\":{}},"
        "\"requestReceivedTimestamp\":\"2020-01-02T03:04:05.000001Z\","
        "\"stageTimestamp\":\"2020-01-02T03:04:05.000002Z\","
        "\"annotations\":{\"a/a\":\"first\",\"z/z\":\"last\"}}");
}

TEST(large_bodies_are_left_out_and_it_says_so)
{
    const struct reqinfo info = { .is_resource = true, .verb = STR("create") };
    struct audit_event e = { .decision.level = AUDIT_REQUEST_RESPONSE,
                             .stage = AUDIT_COMPLETE,
                             .info = &info,
                             .code = 200 };
    scoped_arena a = arena_new();
    scoped_buf b = { .max = 0 };
    char *large = arena_alloc(a, AUDIT_EVENT_MAX + 1);
    struct json text;

    memset(large, 'x', AUDIT_EVENT_MAX);
    text = json_of_str((str){ large, AUDIT_EVENT_MAX });
    e.sent = &text;
    audit_event_print(a, &e, &b);
    CHECK(b.n < 1000);
    CHECK(!str_contains(buf_str(&b), STR("requestObject")));
    CHECK(str_contains(buf_str(&b), STR("\"annotations\":{\"audit.k8s.io/truncated\":\"true\"}}")));
}

/* ---- the chain ---- */

struct trial {
    struct host *host;
    char path[64];
    const struct json *events[64];
    size_t n;
    str text;
    struct arena *arena;
};

static void trial_begin(struct trial *t, const char *policy)
{
    static struct clock clock;
    struct audit_options o = { .policy = str_of(policy) };
    struct status st;
    int fd;

    *t = (struct trial){ .arena = arena_new() };
    (void)snprintf(t->path, sizeof(t->path), "audit-test-XXXXXX");
    fd = mkstemp(t->path);
    CHECK(fd >= 0);
    (void)close(fd);
    o.log = (struct audit_file_options){ .path = t->path, .clock = &clock };
    status_init(&st, t->arena);
    host_audit = audit_new(&o, &st);
    if (!CHECK(host_audit))
        exit(1);
    t->host = host_new(0, 0);
}

/* Stops all of it and reads what was written. */
static void trial_read(struct trial *t)
{
    char *text = arena_alloc(t->arena, 1 << 20);
    struct file *f;
    struct status st;
    str line;

    host_free(t->host);
    audit_free(host_audit);
    host_audit = NULL;
    f = file_open(file_real(), t->path, FILE_READ);
    t->text = (str){ text, (size_t)file_read(f, text, 1 << 20, 0) };
    file_close(f);
    CHECK(unlink(t->path) == 0);
    status_init(&st, t->arena);
    for (str rest = t->text; rest.n && str_split(&rest, '\n', &line) && t->n < 64;)
        if (line.n)
            CHECK(json_parse(t->arena, line, NULL, &t->events[t->n++], &st) == 0);
}

static const char *field(const struct trial *t, size_t i, const char *path)
{
    const struct json *v = json_path(i < t->n ? t->events[i] : NULL, path);

    return !v ? ""
              : str_z(t->arena, json_is(v, JSON_STRING) ? json_str(v) : json_text(t->arena, v));
}

static const char *note(const struct trial *t, size_t i, const char *key)
{
    const struct json *all = json_get(i < t->n ? t->events[i] : NULL, STR("annotations"));

    return str_z(t->arena, json_str(json_get(all, str_of(key))));
}

static const str devs[] = { STR_INIT("devs") };
static const struct http_peer jane = {
    .cn = STR_INIT("jane"), .orgs = devs, .norgs = 1, .not_after = INT64_MAX
};

TEST(requests_are_seen_with_who_and_what)
{
    struct trial t;
    struct ask *a;

    trial_begin(&t, "");
    CHECK_STR(code_of(ask(t.host, "GET", CONFIGMAPS)), "200"); /* not seen */
    a = ask_header(ask(t.host, "POST", CONFIGMAPS "?dryRun=All"), "user-agent", "me/1");
    a = ask_header(a, "x-forwarded-for", "10.1.2.3");
    a->call->remote = STR("192.0.2.1:99");
    CHECK_STR(code_of(ask_body(a, "{\"metadata\":{\"name\":\"a\"}}")), "201");
    a = ask(t.host, "DELETE", CONFIGMAPS "/nothing");
    CHECK_STR(code_of(a), "404 NotFound");
    a = ask(t.host, "DELETE", CONFIGMAPS "/nothing");
    a->call->peer = &jane;
    CHECK_STR(code_of(a), "403 Forbidden");
    a = ask_header(ask(t.host, "DELETE", CONFIGMAPS "/nothing"), "impersonate-user", "bob");
    CHECK_STR(code_of(a), "403 Forbidden");
    a = ask_header(ask(t.host, "POST", CONFIGMAPS), "authorization", "Bearer CANARY");
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "401 Unauthorized");
    CHECK_STR(make_instance(t.host, "t1"), "201");
    CHECK_STR(make_configmap(t.host, "/clusters/t1", "b"), "201");
    trial_read(&t);

    REQUIRE(t.n == 7);
    CHECK_STR(field(&t, 0, "stage"), "ResponseComplete");
    CHECK_STR(field(&t, 0, "level"), "Metadata");
    CHECK_STR(field(&t, 0, "verb"), "create");
    CHECK_STR(field(&t, 0, "requestURI"), CONFIGMAPS "?dryRun=All");
    CHECK_STR(field(&t, 0, "user.username"), "admin");
    CHECK_STR(field(&t, 0, "userAgent"), "me/1");
    CHECK_STR(field(&t, 0, "sourceIPs"), "[\"10.1.2.3\",\"192.0.2.1\"]");
    CHECK_STR(field(&t, 0, "objectRef.name"), "a");
    CHECK_STR(field(&t, 0, "responseStatus"), "{\"metadata\":{},\"code\":201}");
    CHECK_STR(field(&t, 0, "requestReceivedTimestamp"), "2020-01-02T03:04:05.000000Z");
    CHECK_STR(note(&t, 0, "authorization.k8s.io/decision"), "allow");
    CHECK_STR(field(&t, 1, "responseStatus.reason"), "NotFound");
    CHECK_STR(field(&t, 1, "responseStatus.code"), "404");
    CHECK_STR(field(&t, 2, "user.username"), "jane");
    CHECK_STR(field(&t, 2, "responseStatus.reason"), "Forbidden");
    CHECK_STR(note(&t, 2, "authorization.k8s.io/decision"), "forbid");
    CHECK_STR(field(&t, 3, "user.username"), "admin");
    CHECK_STR(field(&t, 3, "impersonatedUser.username"), "bob");
    CHECK_STR(field(&t, 4, "stage"), "ResponseStarted"); /* k8s: of failed authentication */
    CHECK_STR(field(&t, 4, "user"), "{}");
    CHECK_STR(field(&t, 4, "responseStatus.message"), "Authentication failed, attempted: bearer");
    CHECK_STR(field(&t, 4, "responseStatus.code"), "401");
    CHECK_STR(field(&t, 6, "requestURI"), "/clusters/t1" CONFIGMAPS);
    CHECK_STR(note(&t, 6, "kairship.io/instance"), "t1");
    CHECK_STR(note(&t, 5, "kairship.io/instance"), "");
    CHECK(!str_contains(t.text, STR("CANARY")));
    arena_free(t.arena);
}

/* Nobody listens there, and one event fills the buffer. */
static struct audit *stuck(bool blocking)
{
    scoped_arena a = arena_new();
    struct kubeconfig nowhere = { .host = STR("127.0.0.1"), .port = STR("1") };
    struct audit_options o = {
        .webhook = { .config = &nowhere,
                     .batch = { .max_size = 1, .max_wait_ms = 1, .pause_ms = 60000, .burst = 1 },
                     .buffer = 1 },
        .webhook_blocking = blocking,
    };
    struct audit *out;
    struct status st;

    status_init(&st, a);
    out = audit_new(&o, &st);
    if (!CHECK(out))
        exit(1);
    return out;
}

TEST(what_cannot_be_seen_is_refused_if_it_must_be_seen)
{
    struct metrics_audit stats;
    struct host *h;
    struct ask *a;

    host_audit = stuck(true);
    h = host_new(0, 0);
    log_open(2, LOG_ERROR + 1, LOG_JSON); /* that nothing arrives is what is tested */
    CHECK_STR(make_configmap(h, "", "a"), "201");
    a = ask_body(ask(h, "POST", CONFIGMAPS), "{\"metadata\":{\"name\":\"b\"}}");
    CHECK_STR(code_of(a), "503 ServiceUnavailable");
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "/b")), "404 NotFound"); /* it did nothing, */
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "/a")), "200");          /* … reads are not seen */
    audit_stats(host_audit, &stats);
    CHECK(stats.rejected == 1 && stats.webhook_errors == 0);
    host_free(h);
    audit_free(host_audit);

    /* Else it is done, and the event is lost and counted. */
    host_audit = stuck(false);
    h = host_new(0, 0);
    log_open(2, LOG_ERROR + 1, LOG_JSON);
    CHECK_STR(make_configmap(h, "", "a"), "201");
    CHECK_STR(make_configmap(h, "", "b"), "201");
    audit_stats(host_audit, &stats);
    CHECK(stats.rejected == 0 && stats.webhook_errors == 1);
    host_free(h);
    audit_free(host_audit);
    host_audit = NULL;
}

TEST(a_policy_that_fails_tells_the_audit)
{
    struct trial t;

    trial_begin(&t, "");
    CHECK_STR(
        code_of(ask_body(ask(t.host, "POST", ADMISSION "validatingadmissionpolicies"),
                         "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{"
                         "\"resourceRules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],"
                         "\"operations\":[\"CREATE\"],\"resources\":[\"configmaps\"]}]},"
                         "\"validations\":[{\"expression\":\"true\"},{\"expression\":"
                         "\"object.metadata.name != 'a'\",\"message\":\"not \\\"a\\\"\"}]}}")),
        "201");
    CHECK_STR(code_of(ask_body(ask(t.host, "POST", ADMISSION "validatingadmissionpolicybindings"),
                               "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\","
                               "\"validationActions\":[\"Warn\",\"Audit\"]}}")),
              "201");
    CHECK_STR(make_configmap(t.host, "", "a"), "201");
    CHECK_STR(make_configmap(t.host, "", "c"), "201");
    trial_read(&t);
    REQUIRE(t.n == 4);
    CHECK_STR(note(&t, 2, "validation.policy.admission.k8s.io/validation_failure"),
              "[{\"message\":\"not \\\"a\\\"\",\"policy\":\"p\",\"binding\":\"b\","
              "\"expressionIndex\":1,\"validationActions\":[\"Warn\",\"Audit\"]}]");
    CHECK_STR(note(&t, 3, "validation.policy.admission.k8s.io/validation_failure"), "");
    arena_free(t.arena);
}

TEST(watches_have_a_beginning_and_an_end)
{
    struct trial t;
    struct ask *a;

    trial_begin(&t, HEAD "rules: [{level: Metadata, resources: [{resources: [configmaps]}]}]\n");
    a = ask(t.host, "GET", CONFIGMAPS "?watch=1");
    CHECK_STR(answer(a), "200");
    ask_free(a);
    trial_read(&t);
    REQUIRE(t.n == 3);
    CHECK_STR(field(&t, 0, "stage"), "RequestReceived");
    CHECK_STR(field(&t, 0, "responseStatus"), "");
    CHECK_STR(field(&t, 0, "verb"), "watch");
    CHECK_STR(field(&t, 1, "stage"), "ResponseStarted");
    CHECK_STR(field(&t, 2, "stage"), "ResponseComplete");
    CHECK_STR(field(&t, 2, "responseStatus.code"), "200");
    CHECK_STR(field(&t, 0, "auditID"), field(&t, 2, "auditID"));
    arena_free(t.arena);
}

#define ALL HEAD "omitStages: [RequestReceived]\nrules: [{level: RequestResponse}]\n"

TEST(bodies_are_shown_where_the_policy_says)
{
    struct trial t;
    struct ask *a;

    trial_begin(&t, ALL);
    CHECK_STR(make_configmap(t.host, "", "a"), "201");
    a = ask_header(ask(t.host, "PATCH", CONFIGMAPS "/a"), "content-type",
                   "application/merge-patch+json");
    CHECK_STR(code_of(ask_body(a, "{\"data\":{\"k\":\"v\"}}")), "200");
    a = ask_header(ask(t.host, "PATCH", CONFIGMAPS "/a?fieldManager=me&force=true"), "content-type",
                   "application/apply-patch+yaml");
    CHECK_STR(code_of(ask_body(a, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                  "data: {k: w}\n")),
              "200");
    CHECK_STR(code_of(ask(t.host, "GET", CONFIGMAPS "/a")), "200");
    CHECK_STR(code_of(ask(t.host, "GET", "/healthz")), "200");
    trial_read(&t);
    REQUIRE(t.n == 5);
    CHECK_STR(field(&t, 0, "requestObject"), "{\"metadata\":{\"name\":\"a\"}}");
    CHECK_STR(field(&t, 0, "responseObject.kind"), "ConfigMap");
    CHECK_STR(field(&t, 1, "requestObject"), "{\"data\":{\"k\":\"v\"}}");
    CHECK_STR(field(&t, 1, "responseObject.data.k"), "v");
    CHECK_STR(field(&t, 2, "requestObject.data"), "{\"k\":\"w\"}");
    CHECK_STR(field(&t, 3, "requestObject"), "");
    CHECK_STR(field(&t, 3, "responseObject.data.k"), "w");
    CHECK_STR(field(&t, 4, "responseObject"), "");
    CHECK_STR(field(&t, 4, "responseStatus.code"), "200");
    arena_free(t.arena);
}

TEST(no_secret_is_in_it_at_any_level)
{
    struct trial t;
    const char *token;
    struct ask *a;

    trial_begin(&t, ALL);
    CHECK_STR(post(t.host, "", SECRETS,
                   "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"k\":\"CANARY\"}}"),
              "201");
    CHECK_STR(post(t.host, "", SECRETS,
                   "{\"metadata\":{\"name\":\"S\"},\"data\":{\"k\":\"CANARY!\"},\"stringdata\":{"
                   "\"k\":\"CANARY\"}}"),
              "400 BadRequest");
    CHECK_STR(post(t.host, "", SECRETS,
                   "{\"metadata\":{\"name\":\"x\"},\"type\":\"kubernetes.io/tls\",\"data\":{"
                   "\"tls.crt\":\"Q0FOQVJZ\"}}"),
              "422 Invalid");
    CHECK_STR(code_of(ask(t.host, "GET", SECRETS "/s")), "200");
    CHECK_STR(code_of(ask(t.host, "GET", SECRETS)), "200");
    a = ask_header(ask(t.host, "PATCH", SECRETS "/s"), "content-type",
                   "application/json-patch+json");
    CHECK_STR(code_of(ask_body(a, "[{\"op\":\"replace\",\"path\":\"/data/k\",\"value\":"
                                  "\"Q0FOQVJZ\"}]")),
              "200");
    CHECK_STR(code_of(ask(t.host, "DELETE", SECRETS "/s")), "200");
    token = token_of(t.host, "", "bot", "{}");
    a = ask(t.host, "GET", arena_printf(t.host->arena, CONFIGMAPS "?access_token=%s", token));
    ask_header(a, "authorization", arena_printf(t.host->arena, "Bearer %s", token));
    a->call->peer = NULL;
    CHECK_STR(code_of(a), "403 Forbidden");
    CHECK_STR(post(t.host, "", "/apis/authentication.k8s.io/v1/tokenreviews",
                   arena_printf(t.host->arena, "{\"spec\":{\"token\":\"%s\"}}", token)),
              "201");
    (void)post(t.host, "", "/apis/iam.kairship.io/v1alpha1/logins",
               "{\"spec\":{\"username\":\"u\",\"password\":\"CANARY\"}}");
    token = str_z(t.arena, str_of(strrchr(token, '.') + 1));
    trial_read(&t);
    CHECK(t.n >= 10);
    CHECK(str_contains(t.text, STR("REDACTED")));
    CHECK(!str_contains(t.text, STR("CANARY")));
    CHECK(!str_contains(t.text, STR("Q0FOQVJZ"))); /* the same in base64 */
    CHECK(!str_contains(t.text, str_of(token)));
    arena_free(t.arena);
}
