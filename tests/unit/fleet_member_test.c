/* SPDX-License-Identifier: Apache-2.0 */

/* Members as connections: shared, remade, dropped; and members that lie, hang, or are not there. */

#include "fleet/member_config.h"
#include "fleet/probe.h"
#include "fleet_rig.h"

static struct member *member(struct fleet_rig *f, const char *instance, const char *cluster)
{
    struct member_name name = { .instance = str_of(instance), .cluster = str_of(cluster) };
    struct member *m = NULL;

    status_reset(&f->rig.st);
    return fleet_member(f->fleet, f->rig.arena, &name, &m, &f->rig.st) == 0 ? m : NULL;
}

static int get(struct fleet_rig *f, struct member *m, const char *path)
{
    struct client_request req = { .method = STR("GET"), .path = str_of(path) };

    status_reset(&f->rig.st);
    return client_do(member_client(m), f->rig.arena, &req, NULL, &f->rig.st);
}

#define CLUSTERS "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters"
#define SECRETS  "/clusters/demo/api/v1/namespaces/karmada-cluster/secrets"

TEST(a_member_is_one_connection_until_its_credentials_change)
{
    struct fleet_rig f;
    struct fake fake;
    struct member *one, *two;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    fake.mode = FAKE_ECHO;
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("t0p"), fake.ca.cert);
    one = member(&f, "demo", "m1");
    two = member(&f, "demo", "m1");
    REQUIRE(one && one == two);
    CHECK(get(&f, one, "/api") == 0);
    CHECK(fake_saw(&fake, "authorization: Bearer t0p\n"));
    member_unref(two);
    CHECK(ask_api(&f.rig, "PATCH", SECRETS "/m1", "{\"data\":{\"token\":\"bmV3\"}}", NULL) == 200);
    two = member(&f, "demo", "m1");
    REQUIRE(two && two != one);
    CHECK(get(&f, two, "/api") == 0);
    CHECK(fake_saw(&fake, "authorization: Bearer new\n"));
    CHECK(get(&f, one, "/api") == 0); /* who still holds it may end its work */
    CHECK(ask_api(&f.rig, "DELETE", CLUSTERS "/m1", "", NULL) == 200);
    CHECK(!member(&f, "demo", "m1"));
    CHECK(status_is(&f.rig.st, REASON_NOT_FOUND));
    member_unref(one);
    member_unref(two);
    fleet_rig_close(&f);
    fake_close(&fake);
}

struct talk {
    struct client *client;
    str name;
    int logged;
};

static void fail_often(void *arg)
{
    struct talk *t = arg;

    for (int i = 0; i < 5; i++)
        t->logged += client_may_log(t->client, &t->name);
}

TEST(a_dead_member_is_logged_once_and_by_name)
{
    struct talk dead = { 0 }, own = { 0 };
    struct fleet_rig f;
    struct fake fake;
    struct member *m;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("a"), fake.ca.cert);
    m = member(&f, "demo", "m1");
    REQUIRE(m);
    dead.client = member_client(m);
    own.client = f.rig.client;
    loop_call_wait(f.rig.host->loop, fail_often, &dead);
    loop_call_wait(f.rig.host->loop, fail_often, &own);
    CHECK(dead.logged == 1 && str_is(dead.name, "demo/m1"));
    CHECK(own.logged == 5 && own.name.n == 0); /* its failures are of many kinds */
    member_unref(m);
    fleet_rig_close(&f);
    fake_close(&fake);
}

TEST(members_of_equal_names_are_of_their_instances)
{
    struct fleet_rig f;
    struct fake fake;
    struct member *one, *two;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    CHECK(ask_api(&f.rig, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\","
                  "\"metadata\":{\"name\":\"other\"}}",
                  NULL) == 200);
    CHECK(ask_api(&f.rig, "POST", "/clusters/other/api/v1/namespaces",
                  "{\"metadata\":{\"name\":\"karmada-cluster\"}}", NULL) == 200);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("a"), fake.ca.cert);
    add_cluster(&f, "other", "m1", http_server_address(fake.http), STR("b"), fake.ca.cert);
    one = member(&f, "demo", "m1");
    two = member(&f, "other", "m1");
    REQUIRE(one && two);
    CHECK(one != two);
    fake.mode = FAKE_ECHO;
    CHECK(get(&f, two, "/api") == 0 && fake_saw(&fake, "Bearer b\n"));
    CHECK(get(&f, one, "/api") == 0 && fake_saw(&fake, "Bearer a\n"));
    member_unref(one);
    member_unref(two);
    fleet_rig_close(&f);
    fake_close(&fake);
}

TEST(an_address_that_egress_denies_is_not_connected_to)
{
    struct fleet_rig f;
    struct fake fake;
    struct member *m;

    fleet_rig_open(&f, &(struct fleet_options){ .egress = NULL });
    fake_open(&fake);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    m = member(&f, "demo", "m1");
    REQUIRE(m);
    CHECK(get(&f, m, "/api") < 0);
    CHECK(str_contains(f.rig.st.message, STR("not allowed: loopback address")));
    CHECK(atomic_load(&fake.requests) == 0);
    member_unref(m);
    fleet_rig_close(&f);
    fake_close(&fake);
}

TEST(a_member_with_another_certificate_is_not_talked_to)
{
    struct fleet_rig f;
    struct fake fake, other;
    struct member *m;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    fake_open(&other);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("t"), other.ca.cert);
    m = member(&f, "demo", "m1");
    REQUIRE(m);
    CHECK(get(&f, m, "/api") < 0);
    CHECK(status_is(&f.rig.st, REASON_UNAVAILABLE));
    CHECK(atomic_load(&fake.requests) == 0);
    member_unref(m);
    fleet_rig_close(&f);
    fake_close(&fake);
    fake_close(&other);
}

TEST(what_a_member_answers_is_limited)
{
    struct fleet_rig f;
    struct fake fake;
    struct member *m;

    fleet_rig_open(&f, &(struct fleet_options){
                           .egress = &rig_egress, .timeout_ms = 400, .reply_max = 1 << 20 });
    fake_open(&fake);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    m = member(&f, "demo", "m1");
    REQUIRE(m);
    fake.mode = FAKE_HUGE;
    fake.left = 4 << 20;
    CHECK(get(&f, m, "/api") < 0);
    CHECK(status_is(&f.rig.st, REASON_TOO_LARGE));
    fake.mode = FAKE_GARBAGE;
    CHECK(get(&f, m, "/api") < 0);
    fake.mode = FAKE_REDIRECTS;
    CHECK(get(&f, m, "/api") < 0);
    fake.mode = FAKE_HANGS;
    CHECK(get(&f, m, "/api") < 0);
    CHECK(status_is(&f.rig.st, REASON_TIMEOUT));
    fake.mode = FAKE_ECHO;
    CHECK(get(&f, m, "/api") == 0);
    member_unref(m);
    fleet_rig_close(&f);
    fake_close(&fake);
}

/* ---- looks ---- */

struct looking {
    struct fleet *fleet;
    struct member_name name;
    struct probe_report report;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool over;
};

static void looked(void *arg, struct probe_report *r)
{
    struct looking *l = arg;

    (void)pthread_mutex_lock(&l->mu);
    l->report = *r;
    l->over = true;
    (void)pthread_cond_signal(&l->cond);
    (void)pthread_mutex_unlock(&l->mu);
}

static void look_now(void *arg)
{
    struct looking *l = arg;

    (void)probe_start(l->fleet, &l->name,
                      &(struct probe_options){ .health_ms = 200, .total_ms = 1000 }, looked, l);
}

static struct probe_report look(struct fleet_rig *f, const char *cluster)
{
    struct looking l = { .fleet = f->fleet,
                         .name = { .instance = STR("demo"), .cluster = str_of(cluster) } };

    (void)pthread_mutex_init(&l.mu, NULL);
    (void)pthread_cond_init(&l.cond, NULL);
    loop_call(fleet_loop(f->fleet), look_now, &l);
    (void)pthread_mutex_lock(&l.mu);
    while (!l.over)
        (void)pthread_cond_wait(&l.cond, &l.mu);
    (void)pthread_mutex_unlock(&l.mu);
    (void)pthread_cond_destroy(&l.cond);
    (void)pthread_mutex_destroy(&l.mu);
    arena_defer(f->rig.arena, (void (*)(void *))arena_free, l.report.arena);
    return l.report;
}

TEST(a_look_tells_sick_members_from_silent_ones)
{
    struct fleet_rig f;
    struct fake fake;
    struct probe_report r;

    fleet_rig_open(&f, NULL);
    fake_open(&fake);
    add_cluster(&f, "demo", "m1", http_server_address(fake.http), STR("t"), fake.ca.cert);
    r = look(&f, "m1");
    CHECK(r.health == PROBE_READY);
    CHECK(!r.complete && json_len(r.enablements) == 0 && r.trouble.n);
    fake.mode = FAKE_SICK;
    CHECK(look(&f, "m1").health == PROBE_NOT_READY);
    fake.mode = FAKE_REDIRECTS;
    CHECK(look(&f, "m1").health == PROBE_NOT_READY);
    fake.mode = FAKE_HANGS;
    r = look(&f, "m1");
    CHECK(r.health == PROBE_NOT_REACHED);
    CHECK(str_starts(r.why, STR("cluster is not reachable")));
    fake.mode = FAKE_GARBAGE;
    r = look(&f, "m1");
    CHECK(r.health == PROBE_READY); /* it says 200; and then nothing that could be used */
    CHECK(!r.version.n && !r.nodes && !r.resources && r.trouble.n);
    CHECK(look(&f, "nobody").health == PROBE_GONE);
    CHECK(ask_api(&f.rig, "DELETE", SECRETS "/m1", "", NULL) == 200);
    r = look(&f, "m1");
    CHECK(r.health == PROBE_UNUSABLE);
    CHECK(str_contains(r.why, STR("spec.secretRef: there is no such Secret")));
    fleet_rig_close(&f);
    fake_close(&fake);
}

/* ---- what a Cluster may say ---- */

/* data: of the Secret; NULL: there is none. */
static const char *refusal(struct arena *a, const char *spec, const char *data)
{
    struct member_config_options o = { 0 };
    const struct json *cluster, *creds = NULL;
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    if (json_parse(a, str_printf(a, "{\"spec\":%s}", spec), NULL, &cluster, &st) < 0 ||
        (data && json_parse(a, str_printf(a, "{\"data\":%s}", data), NULL, &creds, &st) < 0))
        return "no JSON";
    if (member_config_read(a, cluster, creds, NULL, &o, &k, &st) == 0)
        return "";
    CHECK(status_is(&st, REASON_INVALID));
    return str_z(a, st.message);
}

#define ENDPOINT "\"apiEndpoint\":\"https://m.example:6443\""
#define GOOD     "{\"token\":\"dA==\",\"caBundle\":\"Y2E=\"}"

TEST(a_good_cluster_is_read)
{
    scoped_arena a = arena_new();

    CHECK_STR(refusal(a, "{" ENDPOINT "}", GOOD), "");
    CHECK_STR(refusal(a, "{" ENDPOINT "}",
                      "{\"tls.crt\":\"YQ==\",\"tls.key\":\"YQ==\",\"ca.crt\":\"Y2E=\"}"),
              "");
}

TEST(an_endpoint_without_tls_is_refused)
{
    scoped_arena a = arena_new();

    CHECK(strstr(refusal(a, "{\"apiEndpoint\":\"http://m.example\"}", GOOD), "spec.apiEndpoint"));
    CHECK(strstr(refusal(a, "{}", GOOD), "spec.apiEndpoint: is missing"));
    CHECK(strstr(refusal(a, "{\"secretRef\":{\"name\":\"s\"}}", GOOD),
                 "spec.secretRef: the Secret has no data.kubeconfig"));
    CHECK(strstr(refusal(a, "{\"secretRef\":{\"name\":\"s\"}}", NULL),
                 "spec.secretRef: there is no such Secret"));
    CHECK(strstr(refusal(a, "{\"apiEndpoint\":\"https://u@m.example\"}", GOOD), "user"));
    CHECK(strstr(refusal(a, "{\"apiEndpoint\":\"https://m.example:0\"}", GOOD), "apiEndpoint"));
    CHECK(strstr(refusal(a, "{\"apiEndpoint\":\"file:///etc/passwd\"}", GOOD), "apiEndpoint"));
    CHECK(strstr(refusal(a, "{\"apiEndpoint\":\"https://m.example?x\"}", GOOD), "query"));
}

TEST(a_proxy_is_refused)
{
    scoped_arena a = arena_new();

    CHECK(strstr(refusal(a, "{" ENDPOINT ",\"proxyURL\":\"http://p:1\"}", GOOD), "spec.proxyURL"));
}

TEST(skipping_verification_is_refused)
{
    scoped_arena a = arena_new();

    CHECK(strstr(refusal(a, "{" ENDPOINT ",\"insecureSkipTLSVerification\":true}", GOOD),
                 "insecureSkipTLSVerification"));
    CHECK(strstr(refusal(a, "{" ENDPOINT "}", "{\"token\":\"dA==\"}"), "caBundle"));
}

TEST(broken_secrets_are_refused)
{
    scoped_arena a = arena_new();

    CHECK(strstr(refusal(a, "{" ENDPOINT "}", "{\"token\":\"%%\",\"caBundle\":\"Y2E=\"}"),
                 "data.token: is not base64"));
    CHECK(strstr(refusal(a, "{" ENDPOINT "}", "{\"caBundle\":\"Y2E=\"}"), "neither data.token"));
    CHECK(strstr(refusal(a, "{" ENDPOINT "}", "{\"caBundle\":\"Y2E=\",\"tls.crt\":\"YQ==\"}"),
                 "neither data.token"));
    /* "t\r\nx: y" */
    CHECK(strstr(refusal(a, "{" ENDPOINT "}", "{\"token\":\"dA0KeDogeQ==\",\"caBundle\":\"Y2E=\"}"),
                 "token: must be one line"));
}

static const char *kubeconfig_refusal(struct arena *a, const char *cluster, const char *user)
{
    const char *text = arena_printf(
        a,
        "{\"kubeconfig\":\"{current-context: c, contexts: [{name: c, context: {cluster: c, user: "
        "u}}], clusters: [{name: c, cluster: {server: 'https://m', %s}}], users: [{name: u, user: "
        "{%s}}]}\"}",
        cluster, user);

    return refusal(a, text, "{}");
}

TEST(forms_of_an_inline_kubeconfig_are_refused)
{
    static const struct {
        const char *cluster, *user, *says;
    } forms[] = {
        { "", "exec: {command: sh}", "exec" },
        { "", "auth-provider: {name: x}", "auth-provider" },
        { "", "tokenFile: /etc/passwd", "tokenFile" },
        { "", "client-certificate: /etc/passwd", "client-certificate" },
        { "", "client-key: /etc/passwd", "client-key" },
        { "certificate-authority: /etc/passwd", "", "certificate-authority" },
        { "proxy-url: 'http://p'", "", "proxy-url" },
        { "insecure-skip-tls-verify: true", "", "insecure-skip-tls-verify" },
    };
    scoped_arena a = arena_new();

    CHECK_STR(kubeconfig_refusal(a, "", "token: t"), "");
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (!CHECK(strstr(kubeconfig_refusal(a, forms[i].cluster, forms[i].user), forms[i].says)))
            printf("# %s: %s\n", forms[i].says,
                   kubeconfig_refusal(a, forms[i].cluster, forms[i].user));
}
