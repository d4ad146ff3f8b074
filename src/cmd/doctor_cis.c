/* SPDX-License-Identifier: Apache-2.0 */

/* The items of the CIS Kubernetes Benchmark (1.11) for API servers, in its order. */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rand.h"
#include "cmd/doctor.h"

enum { TOKEN_S = 3600, LEEWAY_S = 60 };

/* ---- asking ---- */

static int get_as(struct doctor *d, const char *user, const char *group, const char *path)
{
    str groups[] = { str_of(group) };
    struct identity who = { .user = str_of(user), .groups = groups, .ngroups = *group ? 1 : 0 };

    return doctor_request(d, d->admin, "GET", path, NULL, &who, NULL);
}

static bool is_refused(int status)
{
    return status == 401 || status == 403;
}

/* ---- who gets in ---- */

static struct doctor_finding anonymous(struct doctor *d)
{
    static const char *const closed[] = { "/api/v1/namespaces", "/metrics", "/api/v1/secrets" };

    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
        int got = doctor_request(d, d->anonymous, "GET", closed[i], NULL, NULL, NULL);

        if (!is_refused(got))
            return doctor_fails(d,
                                "who shows no credential gets %d from %s; look for bindings of "
                                "system:anonymous and system:unauthenticated",
                                got, closed[i]);
    }
    return doctor_holds(d, "who shows no credential gets health and version only");
}

static struct doctor_finding token_file(struct doctor *d)
{
    struct kubeconfig k = d->to;
    struct client *c;
    struct status st;
    int got;

    k.cert_pem = STR_NONE;
    k.key_pem = k.password = SECRET_NONE;
    k.token = secret_of(STR("0123456789abcdef"));
    k.exec = NULL;
    status_init(&st, d->arena);
    c = client_open(NULL, &k, &st);
    got = c ? doctor_request(d, c, "GET", "/version", NULL, NULL, NULL) : 0;
    client_free(c);
    return got == 401 ? doctor_holds(d, "a token that nobody signed is refused")
                      : doctor_fails(d, "a token that nobody signed gets %d", got);
}

static struct doctor_finding always_allow(struct doctor *d)
{
    int got = get_as(d, "kairship-doctor", "", "/api/v1/secrets");

    return got == 403 ? doctor_holds(d, "a user without roles is refused")
                      : doctor_fails(d, "a user without roles gets %d from all Secrets", got);
}

static struct doctor_finding node_mode(struct doctor *d)
{
    int got = get_as(d, "system:node:kairship-doctor", "system:nodes", "/api/v1/secrets");

    return got == 403
               ? doctor_holds(d, "a node's name alone reads no Secrets; there are no kubelets")
               : doctor_fails(d, "a user system:node:… gets %d from all Secrets", got);
}

static struct doctor_finding rbac_mode(struct doctor *d)
{
    const char *path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin";

    if (doctor_request(d, d->admin, "GET", path, NULL, NULL, NULL) != 200)
        return doctor_fails(d, "there is no ClusterRole cluster-admin");
    return get_as(d, "kairship-doctor", "", path) == 403
               ? doctor_holds(d, "roles are served, and who has none is refused")
               : doctor_fails(d, "who has no role reads roles");
}

/* ---- admission ---- */

#define DRY "?dryRun=All"

static struct doctor_finding external_ips(struct doctor *d)
{
    int got =
        doctor_request(d, d->admin, "POST", "/api/v1/namespaces/default/services" DRY,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"generateName\":"
                       "\"doctor-\"},\"spec\":{\"ports\":[{\"port\":80}],\"externalIPs\":"
                       "[\"192.0.2.1\"]}}",
                       NULL, NULL);

    return got == 403 ? doctor_holds(d, "a Service with externalIPs is refused")
                      : doctor_fails(d,
                                     "a Service with externalIPs gets %d: do not disable "
                                     "DenyServiceExternalIPs",
                                     got);
}

static struct doctor_finding event_rate(struct doctor *d)
{
    int64_t n;

    return doctor_metric(d, "kairship_event_rate_limit{type=\"Server\"}", &n) && n > 0
               ? doctor_holds(d, "an instance takes %lld a second", (long long)n)
               : doctor_fails(d, "events have no rate: do not disable EventRateLimit");
}

static struct doctor_finding namespace_lifecycle(struct doctor *d)
{
    int got = doctor_request(
        d, d->admin, "POST", "/api/v1/namespaces/kairship-doctor-none/configmaps" DRY,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}", NULL, NULL);

    return got == 404 ? doctor_holds(d, "nothing is made in a namespace that is not there")
                      : doctor_fails(d, "an object in a namespace that is not there gets %d", got);
}

static struct doctor_finding service_account(struct doctor *d)
{
    const struct json *pod = NULL;
    int got = doctor_request(
        d, d->admin, "POST", "/api/v1/namespaces/default/pods" DRY,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"kairship-doctor\"},"
        "\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"a\"}]}}",
        NULL, &pod);

    return pod && str_is(json_str(json_path(pod, "spec.serviceAccountName")), "default")
               ? doctor_holds(d, "a pod that names no account gets the default one")
               : doctor_fails(d, "a pod that names no account gets none (%d)", got);
}

static struct doctor_finding node_restriction(struct doctor *d)
{
    str groups[] = { STR("system:nodes") };
    struct identity who = { .user = STR("system:node:a"), .groups = groups, .ngroups = 1 };
    int got = doctor_request(d, d->admin, "DELETE", "/api/v1/nodes/b" DRY, NULL, &who, NULL);

    return got == 403 ? doctor_holds(d, "a node does not touch another")
                      : doctor_fails(d, "a node that deletes another gets %d", got);
}

/* ---- the service ---- */

static struct doctor_finding profiling(struct doctor *d)
{
    int got = doctor_request(d, d->admin, "GET", "/debug/pprof/", NULL, NULL, NULL);

    return got == 404 ? doctor_holds(d, "there is none")
                      : doctor_fails(d, "/debug/pprof/ answers %d", got);
}

static struct doctor_finding request_timeout(struct doctor *d)
{
    int got =
        doctor_request(d, d->admin, "GET", "/api/v1/namespaces?timeout=never", NULL, NULL, NULL);

    return got == 400
               ? doctor_holds(d, "requests have a deadline, of a minute or what they ask for")
               : doctor_fails(d, "a timeout that is none gets %d", got);
}

/* An account is made for a moment, and a token of it used after its end. */
static void try_token(struct doctor *d)
{
    static const char base[] = "/api/v1/namespaces/kube-system/serviceaccounts";
    const char *name = arena_printf(d->arena, "kairship-doctor-%08x", rand_below(UINT32_MAX));
    const char *path = arena_printf(d->arena, "%s/%s", base, name);
    struct kubeconfig k = d->to;
    struct client *c;
    struct status st;

    if (doctor_request(
            d, d->admin, "POST", base,
            arena_printf(
                d->arena,
                "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                "\"%s\"}}",
                name),
            NULL, NULL) != 200)
        return;
    (void)doctor_request(
        d, d->admin, "POST", arena_printf(d->arena, "%s/token", path),
        arena_printf(d->arena,
                     "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\","
                     "\"spec\":{\"expirationSeconds\":%d}}",
                     TOKEN_S),
        NULL, &d->token);
    (void)doctor_request(d, d->admin, "DELETE", path, NULL, NULL, NULL);
    if (!d->token)
        return;
    k.cert_pem = STR_NONE;
    k.key_pem = k.password = SECRET_NONE;
    k.token = secret_of(json_str(json_path(d->token, "status.token")));
    k.exec = NULL;
    status_init(&st, d->arena);
    c = client_open(NULL, &k, &st);
    d->token_survives = !c || doctor_request(d, c, "GET", "/api", NULL, NULL, NULL) != 401;
    client_free(c);
}

static struct doctor_finding account_lookup(struct doctor *d)
{
    try_token(d);
    if (!d->token)
        return doctor_fails(d, "no token could be had for an account");
    return d->token_survives ? doctor_fails(d, "a token outlives its account")
                             : doctor_holds(d, "a token ends with its account");
}

static struct doctor_finding token_expiry(struct doctor *d)
{
    int64_t end, now = clock_wall_s(clock_real());

    if (!d->token ||
        !time_parse_seconds(json_str(json_path(d->token, "status.expirationTimestamp")), &end))
        return doctor_fails(d, "no token could be had for an account");
    return end <= now + TOKEN_S + LEEWAY_S
               ? doctor_holds(d, "a token for an hour ends in an hour")
               : doctor_fails(d, "a token for an hour holds for %lld s", (long long)(end - now));
}

static void count_key(void *arg, const char *name)
{
    str s = str_of(name);

    if (str_starts(s, STR("sa-")) && str_ends(s, STR(".key")))
        ++*(size_t *)arg;
}

static struct doctor_finding account_keys(struct doctor *d)
{
    size_t n = 0;

    if (!d->dir)
        return doctor_unseen("say --data-dir");
    (void)file_list(file_real(), arena_printf(d->arena, "%s/pki", d->dir), count_key, &n);
    return n ? doctor_holds(d, "%zu of its own", n)
             : doctor_fails(d, "there is no pki/sa-….key: tokens end with the process");
}

static struct doctor_finding store_inside(struct doctor *d)
{
    (void)d;
    return doctor_not_for_us("there is no etcd: the store is in the process");
}

static struct doctor_finding serving_certificate(struct doctor *d)
{
    return d->to.tls && !d->to.insecure && d->to.ca_pem.n &&
                   doctor_request(d, d->admin, "GET", "/version", NULL, NULL, NULL) == 200
               ? doctor_holds(d, "the certificate fits the kubeconfig's authority")
               : doctor_fails(d, "the kubeconfig does not check the server's certificate");
}

static struct doctor_finding client_authority(struct doctor *d)
{
    const struct json *me = NULL;

    if (!d->to.cert_pem.n)
        return doctor_unseen("the kubeconfig has no client certificate");
    (void)doctor_request(
        d, d->admin, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}", NULL, &me);
    return me && json_str(json_path(me, "status.userInfo.username")).n
               ? doctor_holds(d, "our certificate says who we are: %.*s",
                              STR_ARG(json_str(json_path(me, "status.userInfo.username"))))
               : doctor_fails(d, "our certificate is not taken");
}

static struct doctor_finding members_verified(struct doctor *d)
{
    const struct json *list = NULL;

    (void)doctor_request(d, d->admin, "GET",
                         "/clusters/*/apis/cluster.karmada.io/v1alpha1/clusters", NULL, NULL,
                         &list);
    json_for_each (c, json_get(list, STR("items")))
        if (json_bool(json_path(c, "spec.insecureSkipTLSVerification")))
            return doctor_fails(d,
                                "the certificate of cluster %.*s is not checked: join it with its "
                                "authority",
                                STR_ARG(json_str(json_path(c, "metadata.name"))));
    return doctor_holds(d, "there are no kubelets; certificates of all %zu clusters are checked",
                        json_len(json_get(list, STR("items"))));
}

static struct doctor_finding pull_images(struct doctor *d)
{
    (void)d;
    return doctor_not_for_us("no pod runs here, and what goes to clusters is not changed: let each "
                             "cluster do it");
}

const struct doctor_check doctor_cis[] = {
    { "1.2.1", "no anonymous requests", anonymous },
    { "1.2.2", "no file of fixed tokens", token_file },
    { "1.2.3", "no externalIPs in Services", external_ips },
    { "1.2.4", "a certificate towards kubelets", members_verified },
    { "1.2.5", "certificates of kubelets are checked", members_verified },
    { "1.2.6", "not everything is allowed", always_allow },
    { "1.2.7", "nodes have the rights of nodes", node_mode },
    { "1.2.8", "rights are RBAC", rbac_mode },
    { "1.2.9", "events have a rate", event_rate },
    { "1.2.10", "not everything is admitted", namespace_lifecycle },
    { "1.2.11", "images are always pulled", pull_images },
    { "1.2.12", "pods have service accounts", service_account },
    { "1.2.13", "namespaces that end take nothing", namespace_lifecycle },
    { "1.2.14", "nodes touch only themselves", node_restriction },
    { "1.2.15", "no profiling", profiling },
    { "1.2.16", "an audit log", doctor_audited },
    { "1.2.17", "audit logs are kept for 30 days", doctor_audit_age },
    { "1.2.18", "ten old audit logs are kept", doctor_audit_backups },
    { "1.2.19", "audit logs of 100 MB", doctor_audit_size },
    { "1.2.20", "requests have a deadline", request_timeout },
    { "1.2.21", "accounts of tokens are looked up", account_lookup },
    { "1.2.22", "keys of service accounts", account_keys },
    { "1.2.23", "a certificate towards etcd", store_inside },
    { "1.2.24", "a serving certificate", serving_certificate },
    { "1.2.25", "an authority of client certificates", client_authority },
    { "1.2.26", "the authority of etcd", store_inside },
    { "1.2.27", "Secrets are encrypted at rest", doctor_encryption },
    { "1.2.28", "with a strong cipher", doctor_encryption },
    { "1.2.29", "strong ciphers in TLS", doctor_ciphers },
    { "1.2.30", "tokens are not extended", token_expiry },
};
const size_t doctor_ncis = sizeof(doctor_cis) / sizeof(*doctor_cis);
