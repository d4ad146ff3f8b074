/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faults that control planes have had, each class with a test that would find it here; the table in
 * docs/security.md says where the classes are that are tested elsewhere.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "apiserver/server/dispatch_check.h"
#include "base/encode.h"
#include "server_people.h"

#define CLUSTERROLES ROLES "/clusterroles"
#define CRDS         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static const str devs[] = { STR_INIT("devs") };
static const struct http_peer bob = {
    .cn = STR_INIT("bob"), .orgs = devs, .norgs = 1, .not_after = INT64_MAX
};

static struct ask *ask_bob(struct host *h, const char *method, const char *path)
{
    struct ask *a = ask(h, method, path);

    a->call->peer = &bob;
    return a;
}

static int raw_code(struct ask *a)
{
    int code;

    ask_send(a);
    CHECK(host_until(a->host, ask_done, a));
    code = a->code;
    ask_free(a);
    return code;
}

/* bob gets these rules, in the namespace default or everywhere. */
static void allow_bob(struct host *h, bool everywhere, const char *rules)
{
    const char *where = everywhere ? ROLES : ROLES "/namespaces/default";
    const char *role = everywhere ? "ClusterRole" : "Role";

    CHECK_STR(
        post(h, where, everywhere ? "/clusterroles" : "/roles",
             arena_printf(h->arena, "{\"metadata\":{\"name\":\"bobs\"},\"rules\":%s}", rules)),
        "201");
    CHECK_STR(post(h, where, everywhere ? "/clusterrolebindings" : "/rolebindings",
                   arena_printf(h->arena,
                                "{\"metadata\":{\"name\":\"bobs\"},\"roleRef\":{\"apiGroup\":"
                                "\"rbac.authorization.k8s.io\",\"kind\":\"%s\",\"name\":\"bobs\"},"
                                "\"subjects\":[{\"kind\":\"User\",\"name\":\"bob\"}]}",
                                role)),
              "201");
}

/* ---- CVE-2018-1002105, CVE-2020-8559, CVE-2022-3172 ---- */

static const char *const upgrades[] = { "SPDY/3.1", "websocket", "h2c", "TLS/1.0" };
static const char *const streams[] = { "exec", "attach", "portforward", "proxy" };

TEST(class_upgrade_confusion_no_connection_is_given_away)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(post(h, "", PODS,
                   "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                   "\"image\":\"i\"}]}}"),
              "201");
    allow_bob(h, false, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"*\"]}]");
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
        for (size_t u = 0; u < sizeof(upgrades) / sizeof(*upgrades); u++)
            for (int who = 0; who < 3; who++) {
                struct ask *a = ask(h, who % 2 ? "GET" : "POST",
                                    arena_printf(h->arena, PODS "/p/%s", streams[i]));
                int code;

                a->call->peer = who == 0 ? a->call->peer : who == 1 ? &bob : NULL;
                ask_header(ask_header(a, "connection", "Upgrade"), "upgrade", upgrades[u]);
                code = raw_code(a);
                /* The right to pods is none to what lies behind them; nobody gets a 101 or 2xx. */
                if (!CHECK(who == 0 ? code >= 400 && code != 401 : code == 403))
                    printf("# %d %s %s: %d\n", who, streams[i], upgrades[u], code);
            }
    host_free(h);
}

/* ---- kcp CVE-2026-39429, GHSA-w2rr-38wv-8rrp, GHSA-c7xh-gjv4-4jgv ---- */

TEST(class_second_entrance_there_is_none)
{
    static const char *const doors[] = {
        "/clusters/one/kairship/backup",
        "/clusters/one/kairship/v1/backup",
        "/clusters/one/debug/pprof/",
        "/clusters/one/services/cache/",
        "/clusters/one/apis/tenancy.kairship.io/v1alpha1/instances",
        "/services/cache/shards/root/clusters/one/api/v1/configmaps",
        "/shards/root/clusters/one/api/v1/configmaps",
    };
    struct host *h = host_new(0, 0);
    const struct http_peer *admin;

    CHECK_STR(make_instance(h, "one"), "201");
    admin = cert_of(h, "one", "admin", "system:masters");
    for (size_t i = 0; i < sizeof(doors) / sizeof(*doors); i++)
        for (int write = 0; write < 2; write++) {
            struct ask *a = ask_body(ask(h, write ? "PUT" : "GET", doors[i]), "{}");
            int code;

            a->call->peer = admin;
            code = raw_code(a);
            if (!CHECK(code >= 401 && code <= 405))
                printf("# %s: %d\n", doors[i], code);
        }
    host_free(h);
}

TEST(class_second_entrance_impersonation_reaches_no_group_of_the_system)
{
    static const char *const groups[] = { "system:masters", "system:nodes", "system:monitoring",
                                          "system:kairship" };
    struct host *h = host_new(0, 0);

    /* Whoever may do everything by a role may still not become who needs none. */
    allow_bob(h, true, "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]");
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        struct ask *a = ask_bob(h, "GET", CONFIGMAPS);

        ask_header(ask_header(a, "impersonate-user", "x"), "impersonate-group", groups[i]);
        CHECK_STR(code_of(a), "403 Forbidden");
    }
    host_free(h);
}

/* ---- CVE-2019-11247, CVE-2022-3162 ---- */

static void check_scope(struct host *h, const struct kind *k)
{
    struct arena *a = h->arena;
    const char *group = k->group.n ? arena_printf(a, "/apis/%.*s", STR_ARG(k->group)) : "/api";
    const char *path = arena_printf(a, "%s/%.*s/namespaces/default/%.*s", group,
                                    STR_ARG(k->version), STR_ARG(k->plural));
    const char *one = arena_printf(a, "%s/cluster-admin", path);
    static const char *const methods[] = { "GET", "PUT", "PATCH", "DELETE", "POST" };

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        int codes[] = { raw_code(ask_body(ask_bob(h, methods[i], path), "{}")),
                        raw_code(ask_body(ask_bob(h, methods[i], one), "{}")) };

        if (!CHECK(codes[0] == 404 && codes[1] == 404))
            printf("# %s %s: %d %d\n", methods[i], path, codes[0], codes[1]);
    }
}

TEST(class_scope_confusion_a_namespace_holds_nothing_of_the_cluster)
{
    struct host *h = host_new(0, 0);
    const struct catalog *c = kinds_catalog_root();
    unsigned n = 0;

    /* All rights in one namespace: none outside, by whatever path. */
    allow_bob(h, false, "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]");
    for (size_t i = 0; i < c->nkinds; i++) {
        if (c->kinds[i]->namespaced || str_is(c->kinds[i]->plural, "namespaces"))
            continue;
        n++;
        check_scope(h, c->kinds[i]);
        CHECK(raw_code(ask_bob(
                  h, "GET", str_z(h->arena, route_path(h->arena, c->kinds[i], STR_NONE)))) == 403);
    }
    CHECK(n > 5);
    CHECK_STR(code_of(ask_bob(h, "GET", CONFIGMAPS)), "200");
    CHECK_STR(code_of(ask_bob(h, "GET", "/api/v1/configmaps")), "403 Forbidden");
    CHECK_STR(code_of(ask_bob(h, "GET", "/api/v1/namespaces/kube-system/secrets")),
              "403 Forbidden");
    host_free(h);
}

TEST(class_scope_confusion_one_type_is_not_read_as_another)
{
    static const char *const tricks[] = {
        "/api/v1/namespaces/default/configmaps/..%2fsecrets",
        "/api/v1/namespaces/default/configmaps/../secrets/s",
        "/api/v1/namespaces/default/configmaps%2fs",
        "/api/v1/namespaces/default/configmaps/..%2f..%2f..%2fsecrets%2fs",
        "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/s",
        "/api/v1/namespaces/default/configmaps/s/../../secrets/s",
        "/api/v1/namespaces/default/configmaps/.%00./secrets/s",
        "/api/v1/namespaces/default/configmaps//secrets/s",
        "/api/v1/namespaces/default/configmaps.secrets/s",
        "/api/v1/namespaces/default/CONFIGMAPS/s",
        "/api/v1/namespaces/default%2fsecrets/configmaps/s",
        "/api/v1/namespaces/*/configmaps",
        "/api/v1/namespaces/%2a/secrets",
    };
    struct host *h = host_new(0, 0);

    CHECK_STR(
        post(h, "", SECRETS, "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"k\":\"treasure\"}}"),
        "201");
    allow_bob(h, false,
              "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"*\"]}]");
    for (size_t i = 0; i < sizeof(tricks) / sizeof(*tricks); i++) {
        int code = raw_code(ask_bob(h, "GET", tricks[i]));

        if (!CHECK(code >= 400 && code <= 404))
            printf("# %s: %d\n", tricks[i], code);
    }
    host_free(h);
}

/* ---- CVE-2019-11253, CVE-2019-1002100, CVE-2019-11254, CVE-2020-8552 ---- */

static const char *filled(struct host *h, const char *before, const char *part, int n,
                          const char *behind)
{
    struct buf b;
    const char *text;

    buf_init(&b, 64 << 20);
    buf_str_append(&b, str_of(before));
    for (int i = 0; i < n; i++)
        buf_str_append(&b, str_of(part));
    buf_str_append(&b, str_of(behind));
    text = str_z(h->arena, buf_str(&b));
    buf_release(&b);
    return text;
}

static int sent(struct host *h, const char *method, const char *path, const char *type,
                const char *body)
{
    return raw_code(ask_body(ask_header(ask(h, method, path), "content-type", type), body));
}

TEST(class_resource_exhaustion_documents_have_limits)
{
    static const char yaml_bomb[] =
        "metadata: {name: x}\ndata:\n  a: &a [x,x,x,x,x,x,x,x,x]\n"
        "  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
        "  f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n  g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"
        "  h: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n  i: [*h,*h,*h,*h,*h,*h,*h,*h,*h]\n";
    struct host *h = host_new(0, 0);
    const char *patch = "application/json-patch+json";
    struct ask *a;
    int code;

    CHECK_STR(make_configmap(h, "", "m"), "201");
    code = sent(h, "POST", CONFIGMAPS, "application/json",
                filled(h, "{\"metadata\":{\"name\":\"x\",\"annotations\":", "[", 200000, ""));
    CHECK(code == 400 || code == 413);
    CHECK(sent(h, "POST", CONFIGMAPS, "application/yaml", yaml_bomb) >= 400);
    code = sent(h, "PATCH", CONFIGMAPS "/m", patch,
                filled(h, "[", "{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"ConfigMap\"},",
                       10001, "{\"op\":\"remove\",\"path\":\"/data\"}]"));
    CHECK(code == 413);
    /* Each operation doubles what is there: thirty would be a gigabyte. */
    code =
        sent(h, "PATCH", CONFIGMAPS "/m", patch,
             filled(h, "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"aaaaaaaaaaaa\"}},",
                    "{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/data/b\"},", 40,
                    "{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"ConfigMap\"}]"));
    CHECK(code >= 400 && code < 500);
    a = ask(h, "POST", CONFIGMAPS);
    a->call->body_too_large = true;
    CHECK_STR(code_of(a), "413 RequestEntityTooLarge");
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "/m")), "200");
    host_free(h);
}

/* ---- CVE-2021-25735, CVE-2023-2728, CVE-2024-3177, CVE-2025-4563 ---- */

static const char *patched(struct host *h, const char *path, const char *body, const char *field)
{
    struct ask *a = ask_body(
        ask_header(ask(h, "PATCH", path), "content-type", "application/merge-patch+json"), body);
    const char *code = answer(a), *value = answer_field(a, field);

    ask_free(a);
    return code[0] == '2' ? value : code;
}

TEST(class_admission_bypass_no_view_changes_what_it_does_not_show)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(post(h, "", PODS,
                   "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                   "\"image\":\"good\"}]}}"),
              "201");
    CHECK_STR(patched(h, PODS "/p/status",
                      "{\"spec\":{\"serviceAccountName\":\"admin\",\"hostNetwork\":true},"
                      "\"status\":{\"phase\":\"Running\"}}",
                      "spec.hostNetwork"),
              "");
    CHECK_STR(
        patched(h, PODS "/p/status",
                "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                "\"name\":\"n\",\"uid\":\"u\"}]}}",
                "metadata.ownerReferences"),
        "");
    CHECK_STR(patched(h, PODS "/p", "{\"status\":{\"phase\":\"Failed\"}}", "status.phase"),
              "Running");
    CHECK_STR(post(h, "", "/apis/apps/v1/namespaces/default/deployments",
                   "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                   "\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
                   "\"containers\":[{\"name\":\"c\",\"image\":\"good\"}]}}}}"),
              "201");
    (void)patched(h, "/apis/apps/v1/namespaces/default/deployments/d/scale",
                  "{\"spec\":{\"replicas\":3,\"template\":{\"spec\":{\"hostPID\":true}}},"
                  "\"metadata\":{\"labels\":{\"x\":\"y\"}}}",
                  "spec.replicas");
    CHECK_STR(field_at(h, "", "/apis/apps/v1/namespaces/default/deployments/d", "metadata.labels"),
              "");
    CHECK_STR(field_at(h, "", "/apis/apps/v1/namespaces/default/deployments/d",
                       "spec.template.spec.hostPID"),
              "");
    host_free(h);
}

TEST(class_admission_bypass_no_way_of_writing_escalates)
{
    static const struct {
        const char *method, *path, *type, *body;
    } ways[] = {
        { "POST", CLUSTERROLES, "application/json",
          "{\"metadata\":{\"name\":\"mine\"},\"rules\":[{\"apiGroups\":[\"\"],"
          "\"resources\":[\"secrets\"],\"verbs\":[\"get\"]}]}" },
        { "PUT", CLUSTERROLES "/bobs", "application/json",
          "{\"metadata\":{\"name\":\"bobs\"},\"rules\":[{\"apiGroups\":[\"*\"],"
          "\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { "PUT", CLUSTERROLES "/new", "application/json",
          "{\"metadata\":{\"name\":\"new\"},\"rules\":[{\"apiGroups\":[\"*\"],"
          "\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { "PUT", ROLES "/clusterrolebindings/up", "application/json",
          "{\"metadata\":{\"name\":\"up\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
          "\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\","
          "\"name\":\"bob\"}]}" },
        { "PATCH", CLUSTERROLES "/bobs", "application/merge-patch+json",
          "{\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { "PATCH", CLUSTERROLES "/bobs", "application/strategic-merge-patch+json",
          "{\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { "PATCH", CLUSTERROLES "/bobs", "application/json-patch+json",
          "[{\"op\":\"add\",\"path\":\"/rules/-\",\"value\":{\"apiGroups\":[\"*\"],"
          "\"resources\":[\"*\"],\"verbs\":[\"*\"]}}]" },
        { "PATCH", CLUSTERROLES "/bobs?fieldManager=x&force=true", "application/apply-patch+yaml",
          "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","
          "\"metadata\":{\"name\":\"bobs\"},\"rules\":[{\"apiGroups\":[\"*\"],"
          "\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { "POST", ROLES "/clusterrolebindings", "application/json",
          "{\"metadata\":{\"name\":\"up\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
          "\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\","
          "\"name\":\"bob\"}]}" },
        { "PATCH", ROLES "/clusterrolebindings/up?fieldManager=x", "application/apply-patch+yaml",
          "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\","
          "\"metadata\":{\"name\":\"up\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
          "\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\","
          "\"name\":\"bob\"}]}" },
    };
    struct host *h = host_new(0, 0);

    allow_bob(h, true,
              "[{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"clusterroles\","
              "\"clusterrolebindings\"],\"verbs\":[\"get\",\"create\",\"update\",\"patch\"]}]");
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct ask *a = ask_body(ask_bob(h, ways[i].method, ways[i].path), ways[i].body);
        int code = raw_code(ask_header(a, "content-type", ways[i].type));

        if (!CHECK(code == 403))
            printf("# %s %s: %d\n", ways[i].type, ways[i].path, code);
    }
    CHECK_STR(code_of(ask_bob(h, "GET", SECRETS)), "403 Forbidden");
    host_free(h);
}

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"

TEST(class_admission_bypass_a_put_that_makes_an_object_needs_create)
{
    static const char *const verbs[] = { "\"update\"", "\"update\",\"create\"" };
    static const char *const answers[] = { "403 Forbidden", "201" };

    for (size_t i = 0; i < 2; i++) {
        struct host *h = host_new(0, 0);

        allow_bob(h, true,
                  arena_printf(h->arena,
                               "[{\"apiGroups\":[\"coordination.k8s.io\"],\"resources\":["
                               "\"leases\"],\"verbs\":[%s]}]",
                               verbs[i]));
        CHECK_STR(
            code_of(ask_body(ask_bob(h, "PUT", LEASES "/l"), "{\"metadata\":{\"name\":\"l\"}}")),
            answers[i]);
        host_free(h);
    }
}

/* ---- CVE-2020-8563 to 8566 ---- */

TEST(class_secrets_in_logs_there_are_none)
{
    int fd = memfd_create("log", MFD_CLOEXEC);
    struct host *h = host_new(0, 0);
    const char *good, *bent, *signature;
    scoped_buf log = { .max = 16 << 20 };
    char *text;
    off_t n;

    if (!CHECK(fd >= 0))
        return;
    log_open(fd, LOG_DEBUG, LOG_JSON);
    good = token_of(h, "", "bot", "{}");
    bent = arena_printf(h->arena, "%.*sAAAA", (int)strlen(good) - 4, good);
    signature = strrchr(good, '.') + 1;
    for (int i = 0; i < 3; i++) {
        struct ask *a = ask(
            h, "GET", arena_printf(h->arena, CONFIGMAPS "?access_token=%s&token=%s", good, good));

        a->call->peer = NULL;
        ask_header(a, "authorization",
                   i == 0   ? arena_printf(h->arena, "Bearer %s", good)
                   : i == 1 ? arena_printf(h->arena, "Bearer %s", bent)
                            : "Basic dHJlYXN1cmU6dHJlYXN1cmU=");
        CHECK(raw_code(a) == (i ? 401 : 403));
    }
    CHECK_STR(post(h, "", "/apis/authentication.k8s.io/v1/tokenreviews",
                   arena_printf(h->arena, "{\"spec\":{\"token\":\"%s\"}}", bent)),
              "201");
    CHECK_STR(
        post(h, "", SECRETS, "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"k\":\"treasure\"}}"),
        "201");
    CHECK_STR(post(h, "", SECRETS,
                   "{\"metadata\":{\"name\":\"S\"},\"stringData\":{\"k\":"
                   "\"treasure\"},\"treasure\":1}"),
              "422 Invalid");
    log_open(2, LOG_ERROR, LOG_JSON);
    n = lseek(fd, 0, SEEK_END);
    text = buf_reserve(&log, (size_t)n);
    CHECK(n > 0 && pread(fd, text, (size_t)n, 0) == n);
    log.n = (size_t)n;
    CHECK(str_contains(buf_str(&log), STR("authorized"))); /* it does say much */
    CHECK(!str_contains(buf_str(&log), str_of(signature)));
    CHECK(!str_contains(buf_str(&log), STR("dHJlYXN1cmU6")));
    CHECK(!str_contains(buf_str(&log), STR("treasure")));
    (void)close(fd);
    host_free(h);
}

/* ---- Karmada CVE-2024-56514 ---- */

TEST(class_archive_and_path_names_are_never_paths)
{
    static const char *const names[] = { "..",     ".",           "../x",  "a/../../b",
                                         "..%2fx", "/etc/passwd", "%2e%2e" };
    static const char *const kinds[] = { INSTANCES,  "/api/v1/namespaces",
                                         CONFIGMAPS, CLUSTERROLES,
                                         ACCOUNTS,   CRDS };
    struct host *h = host_new(0, 0);

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            const char *got =
                post(h, "", kinds[k],
                     arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", names[i]));

            if (!CHECK(got[0] == '4'))
                printf("# %s %s: %s\n", kinds[k], names[i], got);
        }
    host_free(h);
}
