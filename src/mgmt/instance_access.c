/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A kubeconfig for an instance: the token of a service account there that may do everything, for a
 * limited time.  The account and its binding are made when they are first needed, by the caller,
 * who must be allowed to.
 */

#include "base/banned.h"
#include "base/encode.h"
#include "mgmt/instance.h"

#define ACCOUNT "kairship-admin"

enum { SECONDS = 3600, SECONDS_MIN = 600, SECONDS_MAX = 365 * 24 * 3600 };

static int make(const struct mgmt_parts *p, struct rpc_context *ctx, const struct client_ref *ref,
                const char *object, struct status *st)
{
    struct client_request req;
    const struct json *obj;

    if (json_parse(ctx->arena, str_of(object), NULL, &obj, st) < 0)
        return -1;
    req = client_request_create(ctx->arena, ref, NULL, obj);
    if (mgmt_do(p, ctx, &req, NULL, st) < 0 && !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int make_account(const struct mgmt_parts *p, struct rpc_context *ctx, str instance,
                        struct status *st)
{
    static const char account[] = "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\","
                                  "\"metadata\":{\"name\":\"" ACCOUNT "\"}}";
    static const char binding[] =
        "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\","
        "\"metadata\":{\"name\":\"" ACCOUNT "\"},"
        "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
        "\"name\":\"cluster-admin\"},"
        "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"" ACCOUNT "\","
        "\"namespace\":\"kube-system\"}]}";
    struct client_ref accounts = { .instance = instance,
                                   .version = STR("v1"),
                                   .resource = STR("serviceaccounts"),
                                   .namespace = STR("kube-system") };
    struct client_ref bindings = { .instance = instance,
                                   .group = STR("rbac.authorization.k8s.io"),
                                   .version = STR("v1"),
                                   .resource = STR("clusterrolebindings") };

    if (make(p, ctx, &accounts, account, st) < 0)
        return -1;
    return make(p, ctx, &bindings, binding, st);
}

static int make_token(const struct mgmt_parts *p, struct rpc_context *ctx, str instance,
                      int64_t seconds, secret *out, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("serviceaccounts"),
                              .namespace = STR("kube-system"),
                              .name = STR(ACCOUNT),
                              .subresource = STR("token") };
    struct json expiry = json_of_int(seconds);
    const struct json *obj =
        json_set(ctx->arena, &json_empty_object, "spec.expirationSeconds", &expiry);
    struct client_request req = client_request_create(ctx->arena, &ref, NULL, obj);
    const struct json *made;

    if (mgmt_do(p, ctx, &req, &made, st) < 0)
        return -1;
    *out = secret_of(json_get_str(made, "status.token"));
    return 0;
}

static secret kubeconfig(struct arena *a, const struct mgmt_parts *p, str instance, secret token)
{
    str ca = base64_encode(a, BASE64_STD, p->ca_pem), address = p->address(p->address_arg, a);

    return secret_printf(a,
                         "apiVersion: v1\n"
                         "kind: Config\n"
                         "clusters:\n"
                         "- name: %.*s\n"
                         "  cluster:\n"
                         "    server: https://%.*s/clusters/%.*s\n"
                         "    certificate-authority-data: %.*s\n"
                         "users:\n"
                         "- name: " ACCOUNT "\n"
                         "  user:\n"
                         "    token: %.*s\n"
                         "contexts:\n"
                         "- name: %.*s\n"
                         "  context:\n"
                         "    cluster: %.*s\n"
                         "    user: " ACCOUNT "\n"
                         "current-context: %.*s\n",
                         STR_ARG(instance), STR_ARG(address), STR_ARG(instance), STR_ARG(ca),
                         STR_ARG(secret_reveal(token)), STR_ARG(instance), STR_ARG(instance),
                         STR_ARG(instance));
}

int instance_kubeconfig(void *arg, struct rpc_context *ctx, const struct json *request,
                        const struct json **response, struct status *st)
{
    int64_t seconds = json_int(json_path(request, "expirationSeconds"), SECONDS);
    str instance = json_get_str(request, "instance");
    secret token;
    struct json_object o = json_object_new(ctx->arena);
    const struct json *obj;
    struct mgmt_parts *p;

    if (mgmt_parts_of(arg, &p, st) < 0 || mgmt_require(p, ctx, instance, IAM_ADMIN, st) < 0)
        return -1;
    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX)
        return message_refuse(st, STR("expirationSeconds"), "must be %d to %d", SECONDS_MIN,
                              SECONDS_MAX);
    if (instance_get(p, ctx, instance, &obj, st) < 0 || make_account(p, ctx, instance, st) < 0 ||
        make_token(p, ctx, instance, seconds, &token, st) < 0)
        return -1;
    json_add(&o, STR("kubeConfigString"),
             json_of_str(secret_reveal(kubeconfig(ctx->arena, p, instance, token))));
    json_add(&o, STR("instance"), json_of_str(instance));
    *response = json_object_done(&o);
    return 0;
}
