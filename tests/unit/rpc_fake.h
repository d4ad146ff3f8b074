/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_RPC_FAKE_H
#define UNIT_RPC_FAKE_H

/*
 * A server's side of a mount without a server: calls whose bodies the test feeds and whose answers
 * it looks at, and an implementation of tests/proto/demo.proto behind it.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/encode.h"
#include "base/pbwire.h"
#include "rpc_demo.h"
#include "tap.h"

struct fake {
    struct mount_call m; /* first */
    struct loop *loop;
    struct buf in, out;
    struct http_header headers[8];
    size_t nheaders;
    bool in_ended, opened, ended, over, refuses; /* refuses: the client takes no more */
    int code;
    struct mount_deed deed; /* as it was told last */
    int failed;             /* with this code */
    enum reason why;
    str grpc_status, grpc_message, details, type, warning; /* of headers or trailers */
};

static inline struct fake *fake_of(struct mount_call *m)
{
    return (struct fake *)(void *)m;
}

static inline void fake_headers(struct mount_call *m, const struct http_header *h, size_t n)
{
    struct fake *f = fake_of(m);

    for (size_t i = 0; i < n; i++) {
        str v = str_dup(m->arena, h[i].value);

        if (str_is(h[i].name, "grpc-status"))
            f->grpc_status = v;
        else if (str_is(h[i].name, "grpc-message"))
            f->grpc_message = v;
        else if (str_is(h[i].name, "grpc-status-details-bin"))
            f->details = v;
        else if (str_is(h[i].name, "content-type"))
            f->type = v;
        else if (str_is(h[i].name, "warning"))
            f->warning = v;
    }
}

static inline void fake_answer(struct mount_call *m, int code, const struct http_header *h,
                               size_t nh, const str *pieces, size_t npieces)
{
    struct fake *f = fake_of(m);

    CHECK(!f->over && !f->opened); /* one answer each */
    f->over = true;
    f->code = code;
    fake_headers(m, h, nh);
    for (size_t i = 0; i < npieces; i++)
        buf_str_append(&f->out, pieces[i]);
    loop_stop(f->loop);
}

static inline void fake_fail(struct mount_call *m, const struct status *st)
{
    fake_answer(m, status_http(st), NULL, 0, NULL, 0);
}

static inline void fake_tell(struct mount_call *m, const struct mount_deed *d)
{
    struct fake *f = fake_of(m);

    f->deed = *d;
    f->deed.event = str_dup(m->arena, d->event);
    f->deed.instance = str_dup(m->arena, d->instance);
    f->deed.name = str_dup(m->arena, d->name);
}

static inline void fake_failed(struct mount_call *m, int code, const struct status *why)
{
    CHECK(!fake_of(m)->over);
    fake_of(m)->failed = code;
    fake_of(m)->why = why->reason;
}

static inline void fake_open(struct mount_call *m, const struct http_header *h, size_t nh)
{
    fake_of(m)->opened = true;
    fake_headers(m, h, nh);
}

static inline bool fake_push(struct mount_call *m, struct bytes *b)
{
    struct fake *f = fake_of(m);

    CHECK(f->opened && !f->over);
    if (f->refuses)
        return false;
    buf_str_append(&f->out, bytes_str(b));
    loop_stop(f->loop);
    return true;
}

static inline void fake_end(struct mount_call *m)
{
    struct fake *f = fake_of(m);

    CHECK(f->opened && !f->over);
    f->over = f->ended = true;
    loop_stop(f->loop);
}

static inline str fake_peek(struct mount_call *m, bool *end)
{
    *end = fake_of(m)->in_ended;
    return buf_str(&fake_of(m)->in);
}

static inline void fake_consume(struct mount_call *m, size_t n)
{
    buf_consume(&fake_of(m)->in, n);
}

static const struct mount_ops fake_ops = { .trailers = fake_headers,
                                           .answer = fake_answer,
                                           .fail = fake_fail,
                                           .tell = fake_tell,
                                           .failed = fake_failed,
                                           .open = fake_open,
                                           .push = fake_push,
                                           .end = fake_end,
                                           .peek = fake_peek,
                                           .consume = fake_consume };

static const str fake_groups[] = { STR_INIT("system:authenticated") };
static const str fake_nobody[] = { STR_INIT("system:unauthenticated") };

static inline struct fake *fake_new(struct loop *loop, const char *method, const char *path)
{
    struct arena *a = arena_new();
    struct fake *f = arena_new_of(a, struct fake);

    f->loop = loop;
    f->m = (struct mount_call){ .ops = &fake_ops,
                                .arena = a,
                                .loop = loop,
                                .method = str_of(method),
                                .path = str_of(path),
                                .headers = f->headers,
                                .who = { .user = STR("jane"), .groups = fake_groups, .ngroups = 1 },
                                .audit_id = STR("audit"),
                                .deadline_ms = loop_now_ms(loop) + 60000 };
    buf_init(&f->in, 16 << 20);
    buf_init(&f->out, 64 << 20);
    return f;
}

static inline void fake_header(struct fake *f, const char *name, const char *value)
{
    f->headers[f->nheaders++] = (struct http_header){ str_of(name), str_of(value) };
    f->m.nheaders = f->nheaders;
}

static inline void fake_free(struct fake *f)
{
    struct buf in = f->in, out = f->out;

    arena_free(f->m.arena);
    buf_release(&in);
    buf_release(&out);
}

/* One message of the body. */
static inline void fake_feed(struct fake *f, const char *flag, str message)
{
    unsigned char n[4] = { (unsigned char)(message.n >> 24), (unsigned char)(message.n >> 16),
                           (unsigned char)(message.n >> 8), (unsigned char)message.n };

    buf_append(&f->in, flag, 1);
    buf_append(&f->in, n, 4);
    buf_str_append(&f->in, message);
}

/* ---- the implementation ---- */

static struct demo {
    atomic_int calls;
    atomic_bool hold; /* GetConfig waits until this is taken back */
    pthread_mutex_t mu;
    pthread_cond_t cond;
} demo = { .mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static inline void demo_release(void)
{
    (void)pthread_mutex_lock(&demo.mu);
    demo.hold = false;
    (void)pthread_cond_broadcast(&demo.cond);
    (void)pthread_mutex_unlock(&demo.mu);
}

static int demo_get(void *arg, struct rpc_context *ctx, const struct json *request,
                    const struct json **response, struct status *st)
{
    struct json_object o = json_object_new(ctx->arena);
    str name = json_get_str(request, "name");

    (void)arg;
    demo.calls++;
    if (str_is(name, "none"))
        return status_not_found(st, STR("demo.io"), STR("things"), name);
    if (str_is(name, "bad")) {
        status_cause(st, CAUSE_REQUIRED, STR("name"), STR_NONE, "another");
        return status_invalid(st, STR("demo.io"), STR("Thing"), name);
    }
    if (str_is(name, "old"))
        ctx->warning = str_printf(ctx->arena, "299 - \"%s\"", "old");
    json_add(&o, STR("name"),
             json_of_str(str_printf(ctx->arena, "%.*s of %.*s by %.*s", STR_ARG(name),
                                    STR_ARG(ctx->who->user), STR_ARG(ctx->method))));
    json_add(&o, STR("i64"), json_of_int(json_int(json_path(request, "pageSize"), -1)));
    *response = json_object_done(&o);
    return 0;
}

static int demo_wait(void *arg, struct rpc_context *ctx, const struct json *request,
                     const struct json **response, struct status *st)
{
    (void)arg;
    (void)ctx;
    (void)request;
    (void)response;
    (void)st;
    demo.calls++;
    (void)pthread_mutex_lock(&demo.mu);
    while (demo.hold)
        (void)pthread_cond_wait(&demo.cond, &demo.mu);
    (void)pthread_mutex_unlock(&demo.mu);
    return 0;
}

static int demo_echo(void *arg, struct rpc_context *ctx, const struct json *request,
                     const struct json **response, struct status *st)
{
    (void)arg;
    (void)ctx;
    demo.calls++;
    if (str_is(json_str(json_at(json_path(request, "names"), 0)), "stop"))
        return status_set(st, REASON_CONFLICT, "stopped");
    *response = request;
    return 0;
}

static const struct rpc_handler demo_handlers[] = {
    { .method = "GetThing", .fn = demo_get },
    { .method = "GetConfig", .fn = demo_wait },
    { .method = "PutThing", .fn = demo_echo, .on_loop = true, .open = true },
    { .method = "Talk", .fn = demo_echo, .on_loop = true },
};

static const struct rpc_implementation demo_implementation = { .service = "demo.v1.Things",
                                                               .handlers = demo_handlers,
                                                               .nhandlers = 4 };

#endif
