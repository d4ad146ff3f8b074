/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 1 of DESIGN 8 as it says: the GETs of a service account with a token, whose rights a
 * Role and a RoleBinding give; in an instance of their own where the server has such.
 */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"
#define NAME      "bench-token"
#define RBAC      "rbac.authorization.k8s.io"

/* What is there already is fine. */
static int post(struct bench *b, struct arena *a, str path, const char *body,
                const struct json **out, struct status *st)
{
    struct client_request req = { .method = STR("POST"),
                                  .path = path,
                                  .content_type = STR("application/json"),
                                  .body = str_of(body) };

    if (client_do(b->client, a, &req, out, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return status_wrap(st, "%.*s", STR_ARG(path));
    status_reset(st);
    return 0;
}

int bench_enter(struct bench *b, const char *name, struct status *st)
{
    scoped_arena a = arena_new();
    const char *body =
        arena_printf(a,
                     "{\"kind\":\"Instance\",\"apiVersion\":\"tenancy.kairship.io/v1alpha1\","
                     "\"metadata\":{\"name\":\"%s\"}}",
                     name);

    if (post(b, a, STR(INSTANCES), body, NULL, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    bench_disconnect(b);
    b->k.prefix = str_printf(b->arena, "%.*s/clusters/%s", STR_ARG(b->k.prefix), name);
    b->target.prefix = b->k.prefix;
    b->client = client_open(NULL, &b->k, st);
    return b->client ? 1 : -1;
}

static str in_namespace(struct bench *b, struct arena *a, const char *group, const char *rest)
{
    return str_printf(a, "%s/v1/namespaces/%s/%s", group, b->o.namespace, rest);
}

/* An account with these rights in the namespace, and its token. */
static int make_account(struct bench *b, struct arena *a, const char *rules, secret *token,
                        struct status *st)
{
    const struct json *answer = NULL;
    const char *role = arena_printf(a, "{\"metadata\":{\"name\":\"bench\"},\"rules\":%s}", rules);
    const char *binding =
        arena_printf(a,
                     "{\"metadata\":{\"name\":\"bench\"},\"roleRef\":{\"apiGroup\":\"" RBAC "\","
                     "\"kind\":\"Role\",\"name\":\"bench\"},\"subjects\":[{"
                     "\"kind\":\"ServiceAccount\",\"namespace\":\"%s\",\"name\":\"bench\"}]}",
                     b->o.namespace);

    if (post(b, a, in_namespace(b, a, "/api", "serviceaccounts"),
             "{\"metadata\":{\"name\":\"bench\"}}", NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/apis/" RBAC, "roles"), role, NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/apis/" RBAC, "rolebindings"), binding, NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/api", "serviceaccounts/bench/token"),
             "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\",\"spec\":{}}",
             &answer, st) < 0)
        return -1;
    *token = secret_of(json_get_str(answer, "status.token"));
    return !secret_empty(*token) ? 0 : status_set(st, REASON_INTERNAL, "the server gave no token");
}

void bench_stranger(struct bench *b, struct bench_target *out, secret token)
{
    struct kubeconfig k = b->k;

    k.cert_pem = STR_NONE;
    k.key_pem = SECRET_NONE;
    k.username = STR_NONE;
    k.token = secret_dup(b->arena, token);
    bench_target_init(out, b->arena, &k);
}

int bench_account(struct bench *b, const char *rules, struct status *st)
{
    scoped_arena a = arena_new();
    secret token;

    if (make_account(b, a, rules, &token, st) < 0)
        return -1;
    bench_stranger(b, &b->target, token);
    return 0;
}

void bench_leave(struct bench *b, const char *name)
{
    scoped_arena a = arena_new();
    struct client_request req = { .method = STR("DELETE"),
                                  .path = str_printf(a, INSTANCES "/%s", name) };
    struct status st;

    if (b->o.keep)
        return;
    status_init(&st, a);
    if (client_do(b->client, a, &req, NULL, &st) < 0)
        (void)fprintf(stderr, "bench: deleting the instance %s: %.*s\n", name, STR_ARG(st.message));
}

/* Back to the server's own, and away with the instance. */
static void leave(struct bench *b, bool instance)
{
    scoped_arena a = arena_new();
    struct status st;

    if (!instance) {
        bench_clean(b);
        return;
    }
    status_init(&st, a);
    bench_disconnect(b);
    if (bench_connect(b, &st) == 0)
        bench_leave(b, NAME);
}

int bench_get_token(struct bench *b, struct bench_result *r, struct status *st)
{
    static const char rules[] = "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],"
                                "\"verbs\":[\"get\",\"list\",\"watch\"]}]";
    unsigned n = bench_or(b->o.objects, 10000);
    int instance = bench_enter(b, NAME, st), rc = -1;

    if (instance < 0)
        return -1;
    if (bench_objects(b, n, st) == 0 && bench_account(b, rules, st) == 0)
        rc = bench_gets(b, n, r, st);
    leave(b, instance > 0);
    return rc;
}
