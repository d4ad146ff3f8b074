/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/signer.h"

#include "apiserver/auth/authn_cert.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "http/csr.h"

/* k8s: pkg/controller/certificates/signer/signer.go, pkg/apis/certificates/v1/helpers.go */

enum {
    MONTHS_12_S = 365 * 86400,
    SHORTEST_S = 600,
    SHORT_LIVED_S = 8 * 3600, /* below this the backdating is not taken off the end */
    USAGES_MAX = 32,
};

static int refuse(struct status *st, const char *why)
{
    return status_set(st, REASON_INVALID, "%s", why);
}

/* ---- the rules of each signer ---- */

static int check_node(const struct csr *c, struct status *st)
{
    if (c->norgs != 1 || !str_is(c->orgs[0], "system:nodes"))
        return refuse(st, "subject organization is not system:nodes");
    if (!str_starts(c->cn, STR("system:node:")))
        return refuse(st, "subject common name does not begin with system:node: ");
    if (c->nemails)
        return refuse(st, "email subjectAltNames are not allowed");
    if (c->nuris)
        return refuse(st, "URI subjectAltNames are not allowed");
    return 0;
}

static int check_kubelet_client(const struct csr *c, struct status *st)
{
    if (c->ndns)
        return refuse(st, "DNS subjectAltNames are not allowed");
    if (c->nips)
        return refuse(st, "IP subjectAltNames are not allowed");
    return check_node(c, st);
}

static int check_kubelet_server(const struct csr *c, struct status *st)
{
    if (c->ndns == 0 && c->nips == 0)
        return refuse(st, "DNS or IP subjectAltName is required");
    return check_node(c, st);
}

/* One usage that must be there; those that may; whether others of these two are needed, too. */
struct signer {
    const char *name;
    const char *purpose;
    bool signature; /* "digital signature" is needed */
    int (*check)(const struct csr *c, struct status *st);
};

static const struct signer signers[] = {
    { SIGNER_API_CLIENT, "client auth", false, NULL },
    { SIGNER_ADMIN_CLIENT, "client auth", false, NULL },
    { SIGNER_KUBELET_CLIENT, "client auth", true, check_kubelet_client },
    { SIGNER_KUBELET_SERVER, "server auth", true, check_kubelet_server },
};

static const struct signer *signer_of(str name)
{
    for (size_t i = 0; i < sizeof(signers) / sizeof(*signers); i++)
        if (str_is(name, signers[i].name))
            return &signers[i];
    return NULL;
}

static int check_usages(const struct signer *s, const struct csr_order *o, struct status *st)
{
    bool purpose = false, signature = false;

    for (size_t i = 0; i < o->nusages; i++) {
        str u = o->usages[i];

        purpose |= str_is(u, s->purpose);
        signature |= str_is(u, "digital signature");
        if (!str_is(u, s->purpose) && !str_is(u, "digital signature") &&
            !str_is(u, "key encipherment"))
            return status_set(st, REASON_INVALID, "invalid usage for client certificate: %.*s",
                              STR_ARG(u));
    }
    if (!purpose)
        return status_set(st, REASON_INVALID, "missing required usage for client certificate: %s",
                          s->purpose);
    if (s->signature && !signature)
        return status_set(st, REASON_INVALID, "usages did not match [digital signature %s]",
                          s->purpose);
    return 0;
}

/* ---- one request ---- */

static void set_times(struct csr_order *o, const struct json *csr, int64_t now_s)
{
    int64_t ttl = json_int(json_path(csr, "spec.expirationSeconds"), MONTHS_12_S);

    ttl = ttl > MONTHS_12_S ? MONTHS_12_S : ttl < SHORTEST_S ? SHORTEST_S : ttl;
    o->not_before = now_s - PKI_BACKDATE_S;
    o->not_after = now_s + (ttl < SHORT_LIVED_S ? ttl : ttl - PKI_BACKDATE_S);
}

static int set_usages(struct arena *a, struct csr_order *o, const struct json *csr,
                      struct status *st)
{
    const struct json *list = json_path(csr, "spec.usages");
    str *usages = arena_array(a, str, USAGES_MAX);

    if (json_len(list) > USAGES_MAX)
        return refuse(st, "too many usages");
    json_for_each (u, list)
        usages[o->nusages++] = json_str(u);
    o->usages = usages;
    return 0;
}

static int uri_of(struct server *s, struct arena *a, str instance, str *out, struct status *st)
{
    struct instance found;
    int rc;

    if (str_is(instance, INSTANCE_ROOT_NAME))
        instance = STR_NONE;
    epoch_enter();
    rc = instance_find(rest_instances(s->rest), a, instance, &found, st);
    if (rc == 0)
        *out = authn_cert_uri(a, &found);
    epoch_exit();
    return rc;
}

static bool is_for_masters(const struct csr *c)
{
    for (size_t i = 0; i < c->norgs; i++)
        if (str_is(c->orgs[i], "system:masters"))
            return true;
    return false;
}

static bool asked_by_master(const struct json *csr)
{
    json_for_each (g, json_path(csr, "spec.groups"))
        if (str_is(json_str(g), "system:masters"))
            return true;
    return false;
}

/* Admission has seen to the masters already (apiserver/admission/admit_csr.c); here is the key. */
static int check_subject(const struct signer *s, const struct json *csr, const struct csr *facts,
                         struct status *st)
{
    bool admin = str_is(str_of(s->name), SIGNER_ADMIN_CLIENT);

    if (admin ? !asked_by_master(csr) : is_for_masters(facts))
        return refuse(st, admin ? "only members of system:masters may ask for this certificate"
                                : "the signer does not sign for system:masters");
    return s->check ? s->check(facts, st) : 0;
}

int signer_sign(void *server, struct arena *a, str instance, const struct json *csr, str *cert_pem,
                struct status *st)
{
    struct server *s = server;
    const struct signer *signer = signer_of(json_get_str(csr, "spec.signerName"));
    struct csr_order order = { 0 };
    struct csr facts;

    if (!signer || secret_empty(s->signer.key_pem))
        return 0;
    if (!base64_decode(a, BASE64_GO, json_get_str(csr, "spec.request"), &order.pem) ||
        csr_read(a, order.pem, &facts, st) < 0)
        return refuse(st, "unable to parse the certificate request");
    if (set_usages(a, &order, csr, st) < 0 || check_subject(signer, csr, &facts, st) < 0 ||
        check_usages(signer, &order, st) < 0 || uri_of(s, a, instance, &order.uri, st) < 0)
        return -1;
    set_times(&order, csr, clock_wall_s(s->clock));
    return csr_sign(a, &s->signer, &order, cert_pem, st) < 0 ? -1 : 1;
}
