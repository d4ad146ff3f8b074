/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Baselines that are no Kubernetes: a put into etcd over its gRPC API, and a GET of a file from any
 * HTTP/2 server.  They show what the machine gives to a server that does much less.
 */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

enum { CA_MAX = 1 << 20, FILE_NUMBERS = 10000 };

static int read_ca(struct bench *b, str *out, struct status *st)
{
    char *text;
    size_t n;
    FILE *f;

    if (!b->o.ca)
        return 0;
    f = fopen(b->o.ca, "re");
    if (!f)
        return status_set(st, REASON_BAD_REQUEST, "--ca: cannot open %s", b->o.ca);
    text = arena_alloc(b->arena, CA_MAX);
    n = fread(text, 1, CA_MAX, f);
    (void)fclose(f);
    *out = (str){ text, n };
    return 0;
}

/* http[s]://host:port/path; what stands behind the host becomes the prefix. */
static int target_of_url(struct bench *b, struct bench_target *t, struct status *st)
{
    str url = str_of(b->o.url), rest, host;
    ptrdiff_t slash, colon;

    *t = (struct bench_target){ .http.tls = str_starts(url, STR("https://")),
                                .http.insecure = b->o.insecure };
    if (!t->http.tls && !str_starts(url, STR("http://")))
        return status_set(st, REASON_BAD_REQUEST, "--url: http://HOST:PORT/PATH is needed");
    rest = str_from(url, t->http.tls ? 8 : 7);
    slash = str_find(rest, '/', 0);
    host = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
    t->prefix = slash < 0 ? STR("/") : str_from(rest, (size_t)slash);
    colon = str_find(host, ':', 0);
    if (colon < 0)
        return status_set(st, REASON_BAD_REQUEST, "--url: the port is missing");
    t->http.host = str_sub(host, 0, (size_t)colon);
    t->http.port = str_from(host, (size_t)colon + 1);
    bench_target_header(t, STR("user-agent"), STR("kairship-bench"));
    return read_ca(b, &t->http.ca_pem, st);
}

static void setup_text(struct bench_result *r, const struct bench_load *l, const char *what)
{
    (void)snprintf(r->setup, sizeof(r->setup), "%u connections x %u in flight, %s", l->connections,
                   l->streams, what);
}

/* ---- etcd ---- */

struct put {
    struct bench *b;
    struct buf value;
};

static void varint(struct buf *b, size_t n)
{
    for (; n >= 128; n >>= 7)
        buf_byte(b, (char)(n | 128));
    buf_byte(b, (char)n);
}

/* gRPC: a byte for compression, four for the length; etcdserverpb.PutRequest: key = 1, value = 2 */
static bool next_put(struct bench_load *l, struct bench_slot *s)
{
    struct put *p = l->user;
    char key[32];
    size_t n = (size_t)snprintf(key, sizeof(key), "/bench/%016llx", (unsigned long long)l->started),
           length;

    buf_append(&s->body, "\0\0\0\0\0", 5);
    buf_byte(&s->body, 0x0a);
    varint(&s->body, n);
    buf_append(&s->body, key, n);
    buf_byte(&s->body, 0x12);
    varint(&s->body, p->value.n);
    buf_str_append(&s->body, buf_str(&p->value));
    length = s->body.n - 5;
    for (int i = 0; i < 4; i++)
        s->body.p[1 + i] = (char)(length >> (24 - 8 * i));
    s->call.method = STR("POST");
    s->call.path = STR("/etcdserverpb.KV/Put");
    s->call.body = buf_str(&s->body);
    return true;
}

int bench_etcd_put(struct bench *b, struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(b, 4, 16);
    struct put p = { .b = b };
    struct bench_target t;
    int rc;

    if (!b->o.url)
        b->o.url = "http://127.0.0.1:2379";
    if (target_of_url(b, &t, st) < 0)
        return -1;
    t.http.h2_prior = !t.http.tls;
    bench_target_header(&t, STR("content-type"), STR("application/grpc"));
    bench_target_header(&t, STR("te"), STR("trailers"));
    buf_init(&p.value, 1 << 20);
    bench_object_body(b, &p.value, STR("\"generateName\":\"c-\""), 0, STR("0"));
    l.target = &t;
    l.next = next_put;
    l.grpc = true;
    l.user = &p;
    setup_text(r, &l, "the bytes of the same object");
    rc = bench_load_run(&l, r, st);
    buf_release(&p.value);
    return rc;
}

/* ---- files ---- */

static bool next_file(struct bench_load *l, struct bench_slot *s)
{
    struct bench *b = l->user;
    str path = l->target->prefix;
    ptrdiff_t brace = str_find(path, '{', 0);

    if (brace >= 0 && str_starts(str_from(path, (size_t)brace), STR("{n}"))) {
        buf_str_append(&s->path, str_sub(path, 0, (size_t)brace));
        buf_printf(&s->path, "%06u", bench_pick(b, bench_or(b->o.objects, FILE_NUMBERS)));
        buf_str_append(&s->path, str_from(path, (size_t)brace + 3));
    } else {
        buf_str_append(&s->path, path);
    }
    s->call.method = STR("GET");
    s->call.path = buf_str(&s->path);
    return true;
}

int bench_http_get(struct bench *b, struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(b, 16, 32);
    struct bench_target t;

    if (!b->o.url)
        return status_set(st, REASON_BAD_REQUEST,
                          "http-get needs --url; {n} in it is replaced by "
                          "a number below --objects, six digits");
    if (target_of_url(b, &t, st) < 0)
        return -1;
    l.target = &t;
    l.next = next_file;
    l.user = b;
    setup_text(r, &l, b->o.url);
    return bench_load_run(&l, r, st);
}
