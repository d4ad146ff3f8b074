/* SPDX-License-Identifier: Apache-2.0 */

/* How the checks ask the server. */

#include <string.h>

#include "base/banned.h"
#include "base/buf.h"
#include "client/http_transport.h"
#include "cmd/doctor.h"

enum { TEXT_MAX = 8 << 20 };

int doctor_request(struct doctor *d, struct client *c, const char *method, const char *path,
                   const char *body, const struct identity *as, const struct json **out)
{
    struct client_request r = { .method = str_of(method), .path = str_of(path), .as = as };
    const struct json *answer = NULL;
    struct status st;

    if (body) {
        r.body = str_of(body);
        r.content_type = STR("application/json");
    }
    status_init(&st, d->arena);
    if (client_do(c, d->arena, &r, &answer, &st) < 0)
        return status_http(&st);
    if (out)
        *out = answer;
    return 200;
}

/* ---- what is no object ---- */

struct page {
    struct http_call call; /* first: callbacks get this */
    struct loop *loop;
    int code;
    struct buf text;
};

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t nh)
{
    struct page *p = (struct page *)(void *)call;

    (void)h;
    (void)nh;
    p->code = status;
}

static void on_data(struct http_call *call, str bytes)
{
    struct page *p = (struct page *)(void *)call;

    buf_str_append(&p->text, bytes);
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct page *p = (struct page *)(void *)call;

    if (why)
        p->code = 0;
    loop_stop(p->loop);
}

static str get_text(struct doctor *d, const char *path)
{
    struct page p = { .loop = loop_new(), .text = { .max = TEXT_MAX } };
    struct client_transport *t;
    struct status st;
    str out = STR_NONE;

    status_init(&st, d->arena);
    t = http_transport_new(p.loop, &d->to, &st);
    if (t) {
        p.call = (struct http_call){ .method = STR("GET"),
                                     .path = str_of(path),
                                     .timeout_ms = DOCTOR_CALL_MS,
                                     .head = on_head,
                                     .data = on_data,
                                     .end = on_end };
        t->call(t, &p.call);
        loop_run(p.loop);
        t->free(t);
    }
    if (p.code == 200)
        out = str_dup(d->arena, buf_str(&p.text));
    buf_release(&p.text);
    loop_free(p.loop);
    return out;
}

bool doctor_metric(struct doctor *d, const char *name, int64_t *value)
{
    str text, line;

    if (!d->metrics.n)
        d->metrics = get_text(d, "/metrics");
    text = d->metrics;
    while (str_split(&text, '\n', &line))
        if (str_starts(line, str_of(name)) && line.n > strlen(name) && line.p[strlen(name)] == ' ')
            return str_to_i64(str_from(line, strlen(name) + 1), value);
    return false;
}
