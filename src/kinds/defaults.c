/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/defaults.h"

#include "base/banned.h"
#include "kinds/tables.h"
#include "object/meta/root_ca.h"

static const char *const namespaces[] = { "default", "kube-node-lease", "kube-public",
                                          "kube-system" };

/* Texts with the name of the namespace in them. */
#define NAMESPACE                                                                  \
    "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"," \
    "\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}},"                        \
    "\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}"
#define ACCOUNT                                           \
    "{\"kind\":\"ServiceAccount\",\"apiVersion\":\"v1\"," \
    "\"metadata\":{\"name\":\"default\",\"namespace\":\"%s\"}}"

/*
 * By which other programs of the instance that have a port, such as kube-controller-manager, know
 * whom they may let in; without it they do not start.  Our own CA signs the server's and the
 * platform admin's certificate only: with those that instances sign one could enter the programs
 * of others.  Nobody has a certificate of a proxy.
 * k8s: pkg/controlplane/controller/clusterauthenticationtrust
 */
#define TRUST                                                                                   \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"                              \
    "\"name\":\"extension-apiserver-authentication\",\"namespace\":\"kube-system\"},\"data\":{" \
    "\"requestheader-allowed-names\":\"[\\\"front-proxy-client\\\"]\","                         \
    "\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\","                     \
    "\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","                             \
    "\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\"]\","                                 \
    "\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\"}}"

static int add_trust(struct json_array *out, str ca_pem, struct status *st)
{
    static const char *const members[] = { "client-ca-file", "requestheader-client-ca-file" };
    const struct json *v, *data;
    struct json_object o;

    if (ca_pem.n == 0)
        return 0;
    if (json_parse(out->arena, STR(TRUST), NULL, &v, st) < 0)
        return -1;
    data = json_get(v, STR("data"));
    o = json_object_from(out->arena, data);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_put(&o, str_of(members[i]), json_of_str(ca_pem));
    json_push(out, *json_set(out->arena, v, "data", json_object_done(&o)));
    return 0;
}

static int add_namespace(struct json_array *out, const char *name, str ca_pem, struct status *st)
{
    struct arena *a = out->arena;
    const struct json *v;

    if (json_parse(a, str_printf(a, NAMESPACE, name, name), NULL, &v, st) < 0)
        return -1;
    json_push(out, *v);
    if (json_parse(a, str_printf(a, ACCOUNT, name), NULL, &v, st) < 0)
        return -1;
    json_push(out, *v);
    if (ca_pem.n == 0)
        return 0;
    json_push(out, *root_ca_new(a, str_of(name), ca_pem));
    return 0;
}

int defaults_make(struct arena *a, str ca_pem, const struct installation *here,
                  const struct json **out, struct status *st)
{
    struct json_array objects = json_array_new(a);

    for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
        if (add_namespace(&objects, namespaces[i], ca_pem, st) < 0)
            return -1;
    if (add_trust(&objects, ca_pem, st) < 0)
        return -1;
    json_push(&objects, *installation_object(a, here));
    for (size_t i = 0; i < default_roles_count; i++)
        if (default_roles_read(default_roles[i].text, &objects, st) < 0)
            return status_wrap(st, "%s", default_roles[i].name);
    if (system_defaults(&objects, st) < 0)
        return -1;
    *out = json_array_done(&objects);
    return 0;
}
