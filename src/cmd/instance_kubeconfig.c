/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/instance_kubeconfig.h"

#include <time.h>

#include "apiserver/auth/signer.h"
#include "base/banned.h"
#include "base/encode.h"

enum {
    WAIT_MS = 30000, /* for the certificate */
    POLL_MS = 20,
};

static bool asks_for_masters(const struct instance_kubeconfig *o)
{
    for (size_t i = 0; i < o->who.norgs; i++)
        if (str_is(o->who.orgs[i], "system:masters"))
            return true;
    return false;
}

static struct json words(struct arena *a, const char *first, const char *second)
{
    struct json_array r = json_array_new(a);

    json_push(&r, json_of_str(str_of(first)));
    json_push(&r, json_of_str(str_of(second)));
    return json_array_value(&r);
}

static const struct json *request_of(const struct instance_kubeconfig *o, str pem)
{
    struct json_object spec = json_object_new(o->arena), obj = json_object_new(o->arena);
    struct json name = json_of_str(STR("kubeconfig-"));

    json_add(&spec, STR("request"), json_of_str(base64_encode(o->arena, BASE64_STD, pem)));
    json_add(&spec, STR("signerName"),
             json_of_str(asks_for_masters(o) ? STR(SIGNER_ADMIN_CLIENT) : STR(SIGNER_API_CLIENT)));
    json_add(&spec, STR("expirationSeconds"), json_of_int(o->ttl_s));
    json_add(&spec, STR("usages"), words(o->arena, "digital signature", "client auth"));
    json_add(&obj, STR("apiVersion"), json_of_str(STR("certificates.k8s.io/v1")));
    json_add(&obj, STR("kind"), json_of_str(STR("CertificateSigningRequest")));
    json_add(&obj, STR("spec"), json_object_value(&spec));
    return json_set(o->arena, json_object_done(&obj), "metadata.generateName",
                    json_box(o->arena, name));
}

static int approve(struct instance_kubeconfig *o, const struct json *csr, struct status *st)
{
    struct json_object c = json_object_new(o->arena);
    struct json_array all = json_array_new(o->arena);
    struct client_ref ref = o->ref;

    json_add(&c, STR("type"), json_of_str(STR("Approved")));
    json_add(&c, STR("status"), json_of_str(STR("True")));
    json_add(&c, STR("reason"), json_of_str(STR("KairshipKubeconfig")));
    json_add(&c, STR("message"), json_of_str(STR("Asked for and approved by kairship kubeconfig")));
    json_push(&all, json_object_value(&c));
    ref.subresource = STR("approval");
    return client_update(o->client, o->arena, &ref,
                         json_set(o->arena, csr, "status.conditions", json_array_done(&all)), NULL,
                         st);
}

static str failure_of(const struct json *csr)
{
    json_for_each (c, json_path(csr, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Failed") || str_is(json_get_str(c, "type"), "Denied"))
            return json_get_str(c, "message");
    return STR_NONE;
}

static int wait_for_certificate(struct instance_kubeconfig *o, str *cert, struct status *st)
{
    const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
    const struct json *csr;

    for (int waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        if (client_get(o->client, o->arena, &o->ref, &csr, st) < 0)
            return -1;
        if (base64_decode(o->arena, BASE64_GO, json_get_str(csr, "status.certificate"), cert) &&
            cert->n)
            return 0;
        if (failure_of(csr).n)
            return status_set(st, REASON_FORBIDDEN, "the certificate was refused: %.*s",
                              STR_ARG(failure_of(csr)));
        (void)nanosleep(&pause, NULL);
    }
    return status_set(st, REASON_TIMEOUT,
                      "no certificate came within %d s; see kubectl describe csr %.*s",
                      WAIT_MS / 1000, STR_ARG(o->ref.name));
}

static bool is_root(const struct instance_kubeconfig *o)
{
    return str_is(o->instance, "root");
}

static str server_of(const struct instance_kubeconfig *o, const struct kubeconfig *k)
{
    bool v6 = str_find(k->host, ':', 0) >= 0;
    str base = o->server.n
                   ? o->server
                   : str_printf(o->arena, "%s://%s%.*s%s:%.*s", k->tls ? "https" : "http",
                                v6 ? "[" : "", STR_ARG(k->host), v6 ? "]" : "", STR_ARG(k->port));

    while (str_ends(base, STR("/")))
        base = str_sub(base, 0, base.n - 1);
    return is_root(o)
               ? base
               : str_printf(o->arena, "%.*s/clusters/%.*s", STR_ARG(base), STR_ARG(o->instance));
}

int instance_kubeconfig_issue(struct instance_kubeconfig *o, const struct kubeconfig *admin,
                              struct kubeconfig *out, struct status *st)
{
    const struct json *csr;
    str pem;

    o->ref = (struct client_ref){ .instance = is_root(o) ? STR_NONE : o->instance,
                                  .group = STR("certificates.k8s.io"),
                                  .version = STR("v1"),
                                  .resource = STR("certificatesigningrequests") };
    *out = (struct kubeconfig){ .context = o->instance,
                                .server = server_of(o, admin),
                                .server_name = o->server.n ? STR_NONE : admin->server_name,
                                .ca_pem = admin->ca_pem,
                                .insecure = admin->insecure };
    if (csr_make(o->arena, &o->who, &pem, &out->key_pem, st) < 0 ||
        client_create(o->client, o->arena, &o->ref, request_of(o, pem), &csr, st) < 0)
        return -1;
    o->ref.name = json_get_str(csr, "metadata.name");
    if (approve(o, csr, st) < 0)
        return -1;
    return wait_for_certificate(o, &out->cert_pem, st);
}
