/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 1 of DESIGN 8 as it says: the GETs of a service account with a token, whose rights a
 * Role and a RoleBinding give; in an instance of their own where the server has such.
 */

#include <stdio.h>

#include "base/banned.h"
#include "cmd/bench_work.h"

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

/* 1 when all that follows is in an instance of its own, 0 when the server knows none. */
static int enter_instance(struct bench *b, struct arena *a, struct status *st)
{
    if (post(b, a, STR(INSTANCES),
             "{\"kind\":\"Instance\",\"apiVersion\":\"tenancy.kairship.io/v1alpha1\","
             "\"metadata\":{\"name\":\"" NAME "\"}}",
             NULL, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    bench_disconnect(b);
    b->k.prefix = str_printf(b->arena, "%.*s/clusters/" NAME, STR_ARG(b->k.prefix));
    b->target.prefix = b->k.prefix;
    b->client = client_open(NULL, &b->k, st);
    return b->client ? 1 : -1;
}

static str in_namespace(struct bench *b, struct arena *a, const char *group, const char *rest)
{
    return str_printf(a, "%s/v1/namespaces/%s/%s", group, b->o.namespace, rest);
}

/* An account that may read configmaps, and its token. */
static int make_account(struct bench *b, struct arena *a, str *token, struct status *st)
{
    const struct json *answer = NULL;
    const char *binding =
        arena_printf(a,
                     "{\"metadata\":{\"name\":\"bench\"},\"roleRef\":{\"apiGroup\":\"" RBAC "\","
                     "\"kind\":\"Role\",\"name\":\"bench\"},\"subjects\":[{"
                     "\"kind\":\"ServiceAccount\",\"namespace\":\"%s\",\"name\":\"bench\"}]}",
                     b->o.namespace);

    if (post(b, a, in_namespace(b, a, "/api", "serviceaccounts"),
             "{\"metadata\":{\"name\":\"bench\"}}", NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/apis/" RBAC, "roles"),
             "{\"metadata\":{\"name\":\"bench\"},\"rules\":[{\"apiGroups\":[\"\"],"
             "\"resources\":[\"configmaps\"],\"verbs\":[\"get\",\"list\",\"watch\"]}]}",
             NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/apis/" RBAC, "rolebindings"), binding, NULL, st) < 0 ||
        post(b, a, in_namespace(b, a, "/api", "serviceaccounts/bench/token"),
             "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\",\"spec\":{}}",
             &answer, st) < 0)
        return -1;
    *token = json_get_str(answer, "status.token");
    return token->n ? 0 : status_set(st, REASON_INTERNAL, "the server gave no token");
}

/* From here on the load comes with the token and without a certificate. */
static void use_token(struct bench *b, str token)
{
    struct kubeconfig k = b->k;

    k.cert_pem = STR_NONE;
    k.key_pem = secret_of(STR_NONE);
    k.username = STR_NONE;
    k.token = secret_of(str_dup(b->arena, token));
    bench_target_init(&b->target, b->arena, &k);
}

static void leave(struct bench *b, bool instance)
{
    scoped_arena a = arena_new();
    struct client_request req = { .method = STR("DELETE"), .path = STR(INSTANCES "/" NAME) };
    struct status st;

    if (!instance) {
        bench_clean(b);
        return;
    }
    status_init(&st, a);
    bench_disconnect(b);
    if (b->o.keep || bench_connect(b, &st) < 0)
        return;
    if (client_do(b->client, a, &req, NULL, &st) < 0)
        (void)fprintf(stderr, "bench: deleting the instance " NAME ": %.*s\n", STR_ARG(st.message));
}

int bench_get_token(struct bench *b, struct bench_result *r, struct status *st)
{
    scoped_arena a = arena_new();
    unsigned n = bench_or(b->o.objects, 10000);
    int instance = enter_instance(b, a, st), rc = -1;
    str token;

    if (instance < 0)
        return -1;
    if (bench_objects(b, n, st) == 0 && make_account(b, a, &token, st) == 0) {
        use_token(b, token);
        rc = bench_gets(b, n, r, st);
    }
    leave(b, instance > 0);
    return rc;
}
