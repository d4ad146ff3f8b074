/* SPDX-License-Identifier: Apache-2.0 */

/* The same services as REST, as google.api.http says it in the .proto (grpc-gateway's manner). */

#include "base/banned.h"
#include "rpc/error.h"
#include "rpc/recorded.h"
#include "rpc/rpc.h"

static const struct http_header json_type = { STR_INIT("content-type"),
                                              STR_INIT("application/json") };

static void release_buf(void *arg)
{
    buf_release(arg);
}

/* A buffer that lives as long as the call. */
static struct buf *answer_buf(struct mount_call *m)
{
    struct buf *b = arena_new_of(m->arena, struct buf);

    buf_init(b, RPC_RESPONSE_MAX);
    arena_defer(m->arena, release_buf, b);
    return b;
}

static void answer(struct mount_call *m, int code, const struct buf *b, str warning)
{
    struct http_header h[2] = { json_type, { STR("warning"), str_dup(m->arena, warning) } };
    str *piece = arena_array(m->arena, str, 1);

    *piece = buf_str(b);
    m->ops->answer(m, code, h, warning.n ? 2 : 1, piece, 1);
}

static void fail(struct mount_call *m, const struct status *st)
{
    struct buf *b = answer_buf(m);

    error_print(b, st);
    m->ops->failed(m, error_http(st), st);
    answer(m, error_http(st), b, STR_NONE);
}

static void refuse(struct mount_call *m, enum reason reason, const char *why)
{
    struct status st;

    status_init(&st, m->arena);
    (void)status_set(&st, reason, "%s", why);
    fail(m, &st);
}

static void done(struct rpc_call *c, const struct json *response, const struct status *failure)
{
    struct mount_call *m = c->user;
    struct buf *b;

    rpc_call_told(c, m);
    if (failure) {
        fail(m, failure);
        return;
    }
    b = answer_buf(m);
    message_print(b, c->endpoint->method->output, response);
    if (buf_overflown(b))
        refuse(m, REASON_TOO_LARGE, "the answer is too large");
    else
        answer(m, 200, b, c->ctx.warning);
}

/* Of a request whose body or query is none. */
static void tell_path(struct rpc_call *c, struct mount_call *m, const struct route *route)
{
    struct status st;

    status_init(&st, c->ctx.arena);
    if (route_request(c->ctx.arena, route, m->path, STR_NONE, STR_NONE, &c->request, &st) == 0)
        rpc_call_tell(c, m);
}

static void start(struct rpc *rpc, struct mount_call *m, const struct route *route)
{
    struct rpc_call *c = rpc_call_new(route->endpoint, m, m->deadline_ms);

    if (route_request(c->ctx.arena, route, m->path, m->query, m->body, &c->request, &c->st) < 0) {
        tell_path(c, m, route);
        fail(m, &c->st);
        rpc_call_drop(c);
        return;
    }
    c->request = json_dup(c->ctx.arena, c->request); /* parts of it are the mount's */
    rpc_call_tell(c, m);
    c->user = m; /* when the client goes, what it has begun is answered all the same */
    c->done = done;
    rpc_call_start(c, rpc->workers);
}

/* False: it is not of these. */
static bool serve_document(const struct rpc *rpc, struct mount_call *m)
{
    const struct {
        const char *path;
        str text;
    } documents[] = { { RPC_OPENAPI_PATH, rpc->api->openapi },
                      { RPC_OPENAPI3_PATH, rpc->api->openapi3 } };
    str *piece = arena_array(m->arena, str, 1);

    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        if (!str_is(m->path, documents[i].path) || !str_is(m->method, "GET"))
            continue;
        *piece = documents[i].text;
        m->ops->answer(m, 200, &json_type, 1, piece, 1);
        return true;
    }
    return false;
}

void rest_describe(void *arg, str method, str path, struct mount_deed *out)
{
    const struct rpc *rpc = arg;
    bool other_method;
    const struct route *route = route_find(rpc->routes, rpc->nroutes, method, path, &other_method);

    if (route)
        recorded_of_method(route->endpoint->method, out);
}

void rest_serve_mount(void *arg, struct mount_call *m)
{
    struct rpc *rpc = arg;
    const struct route *route;
    bool other_method;
    struct status st;

    status_init(&st, m->arena);
    route = route_find(rpc->routes, rpc->nroutes, m->method, m->path, &other_method);
    if (route && rpc_call_check(route->endpoint, &m->who, &st) < 0)
        fail(m, &st);
    else if (!route && identity_in_group(&m->who, "system:unauthenticated"))
        refuse(m, REASON_FORBIDDEN, "User \"system:anonymous\" may not ask for this path");
    else if (route && m->body_too_large)
        refuse(m, REASON_TOO_LARGE, "Request entity too large: limit is 3145728");
    else if (route)
        start(rpc, m, route);
    else if (!serve_document(rpc, m))
        refuse(m, other_method ? REASON_METHOD_NOT_ALLOWED : REASON_NOT_FOUND,
               other_method ? "Method Not Allowed" : "Not Found");
}
