/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workload 11 of DESIGN 8: unary calls of the management API over TLS.  `grpc` reads an instance,
 * 200 bytes there, about 500 back; `rest` asks the same in JSON; `grpc-health` is the least that a
 * call can be.
 */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

enum { REQUEST = 200, PREFIX = 5, PAD_FIELD = 100 };

#define NAME    "bench-grpc"
#define SERVICE "/kairship.io.api.v1alpha1.Instance/GetInstance"
#define ROUTE   "/apis/kairship.io/v1alpha1/instances/" NAME

struct calls {
    struct bench *b;
    const char *method, *path;
    struct buf body; /* with gRPC's prefix */
};

/* Its labels and annotations make the answer as large as it is to be. */
static int make_instance(struct bench *b, struct status *st)
{
    static const char object[] =
        "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\",\"metadata\":{"
        "\"name\":\"" NAME "\",\"labels\":{\"suite\":\"bench\",\"tier\":\"gold\"},\"annotations\":"
        "{\"bench.kairship.io/about\":\"what a person may have written about an instance of his, "
        "so that others know what it is for, who looks after it, and whom to ask when it is in "
        "the way\"}}}";
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances") };
    const struct json *v;

    if (json_parse(b->arena, str_of(object), NULL, &v, st) < 0)
        return -1;
    if (client_create(b->client, b->arena, &ref, v, NULL, st) < 0 &&
        !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    bench_quiet(b);
    return 0;
}

static void clean(struct bench *b)
{
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances"),
                              .name = STR(NAME) };
    struct status st;

    status_init(&st, b->arena);
    if (!b->o.keep && client_delete(b->client, b->arena, &ref, NULL, &st) < 0)
        (void)fprintf(stderr, "kairship-bench: %.*s\n", STR_ARG(st.message));
}

static void bytes_field(struct buf *b, unsigned number, str value)
{
    unsigned tag = number << 3 | 2;

    for (; tag >= 128; tag >>= 7)
        buf_byte(b, (char)(tag | 128));
    buf_byte(b, (char)tag);
    for (tag = (unsigned)value.n; tag >= 128; tag >>= 7)
        buf_byte(b, (char)(tag | 128));
    buf_byte(b, (char)tag);
    buf_str_append(b, value);
}

static void frame(struct buf *b)
{
    size_t n = b->n - PREFIX;

    for (int i = 0; i < 4; i++)
        b->p[1 + i] = (char)(n >> (24 - 8 * i));
}

/* GetInstanceRequest { name = 1 }, and a field it does not know, to make up the size. */
static void request_get(struct buf *b)
{
    char pad[REQUEST];

    memset(pad, 'x', sizeof(pad));
    buf_append(b, "\0\0\0\0\0", PREFIX);
    bytes_field(b, 1, STR(NAME));
    bytes_field(b, PAD_FIELD, (str){ pad, REQUEST - b->n });
    frame(b);
}

static bool next(struct bench_load *l, struct bench_slot *s)
{
    struct calls *c = l->user;

    buf_str_append(&s->path, str_of(c->path));
    s->call.method = str_of(c->method);
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&c->body);
    return true;
}

static int run(struct calls *c, bool grpc, struct bench_result *r, struct status *st)
{
    struct bench *b = c->b;
    struct bench_load l = bench_load_of(b, 4, 16);
    struct bench_target t = b->target;
    int rc;

    if (grpc) {
        for (size_t i = 0; i < t.nheaders; i++)
            if (str_is(t.headers[i].name, "content-type"))
                t.headers[i].value = STR("application/grpc");
        bench_target_header(&t, STR("te"), STR("trailers"));
    }
    l.target = &t;
    l.grpc = grpc;
    l.next = next;
    l.user = c;
    (void)snprintf(r->setup, sizeof(r->setup), "%u connections x %u streams, %s", l.connections,
                   l.streams, c->path);
    rc = bench_load_run(&l, r, st);
    if (rc == 0 && r->ops)
        bench_figure(r, "bytes of an answer", (double)r->bytes / (double)r->ops, "");
    return rc;
}

static int instance_calls(struct calls *c, bool grpc, struct bench_result *r, struct status *st)
{
    int rc = make_instance(c->b, st);

    if (rc == 0)
        rc = run(c, grpc, r, st);
    buf_release(&c->body);
    clean(c->b);
    return rc;
}

int bench_grpc(struct bench *b, struct bench_result *r, struct status *st)
{
    struct calls c = { .b = b, .method = "POST", .path = SERVICE };

    buf_init(&c.body, 4096);
    request_get(&c.body);
    return instance_calls(&c, true, r, st);
}

int bench_rest(struct bench *b, struct bench_result *r, struct status *st)
{
    struct calls c = { .b = b, .method = "GET", .path = ROUTE };

    buf_init(&c.body, 4096);
    return instance_calls(&c, false, r, st);
}

int bench_grpc_health(struct bench *b, struct bench_result *r, struct status *st)
{
    struct calls c = { .b = b, .method = "POST", .path = "/grpc.health.v1.Health/Check" };
    int rc;

    buf_init(&c.body, 4096);
    buf_append(&c.body, "\0\0\0\0\0", PREFIX);
    rc = run(&c, true, r, st);
    buf_release(&c.body);
    return rc;
}
