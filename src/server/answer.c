/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "base/log.h"
#include "http/gzip.h"
#include "server/internal.h"

enum {
    GZIP_MIN = 128 << 10,  /* k8s: smaller answers are not worth it */
    PRETTY_MAX = 16 << 20, /* larger ones are for programs */
    PULL = 64 << 10,
    BODY_MAX = 1 << 30,
};

static const str JSON = STR_INIT("application/json");

struct status *call_status(struct call *c)
{
    struct status *st = arena_new_of(c->arena, struct status);

    status_init(st, c->arena);
    return st;
}

str call_header(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->nheaders; i++)
        if (str_is(c->headers[i].name, name))
            return c->headers[i].value;
    return STR_NONE;
}

void call_header_add(struct call *c, str name, str value)
{
    if (c->nout < CALL_HEADERS)
        c->out[c->nout++] = (struct http_header){ name, value };
}

/* Once per call: it is no longer in flight, and is counted. */
static void done(struct call *c, int code)
{
    struct server *s = c->server;
    enum metrics_verb verb = metrics_verb_of(c->info.verb, c->info.is_resource);
    int64_t us = clock_wall_us(s->clock) - c->began_us;

    assert(!c->finished);
    c->finished = true;
    c->code = code;
    if (c->in_flight) {
        atomic_fetch_sub(c->mutating ? &s->writes : &s->reads, 1);
        metrics_inflight(s->metrics, c->mutating, -1);
    }
    if (!c->watching)
        metrics_request(s->metrics, verb, code, us);
    if (code >= 500)
        log_warn("request failed", log_str("method", c->method), log_str("path", c->raw_path),
                 log_int("code", code), log_str("user", c->who.user), log_int("us", us),
                 log_str("audit_id", c->audit_id));
    else
        log_debug("request", log_str("method", c->method), log_str("path", c->raw_path),
                  log_int("code", code), log_str("user", c->who.user), log_int("us", us),
                  log_str("audit_id", c->audit_id));
}

static bool has_header(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->nout; i++)
        if (str_is(c->out[i].name, name))
            return true;
    return false;
}

static void add_common(struct call *c, str content_type)
{
    if (!has_header(c, "cache-control"))
        call_header_add(c, STR("cache-control"), STR("no-cache, private"));
    if (content_type.n)
        call_header_add(c, STR("content-type"), content_type);
}

static size_t total(const str *pieces, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += pieces[i].n;
    return sum;
}

/* Bytes in hand as a source, for the compressor. */
struct pieces_source {
    struct http_source source;
    const str *pieces;
    size_t n;
};

static int pull_pieces(struct http_source *self, struct buf *out, size_t want)
{
    struct pieces_source *p = (struct pieces_source *)(void *)self;

    (void)want;
    if (p->n) {
        buf_str_append(out, *p->pieces++);
        p->n--;
    }
    return p->n > 0;
}

static void gzip_pieces(struct call *c, int code, const str *pieces, size_t npieces)
{
    struct pieces_source *p = arena_new_of(c->arena, struct pieces_source);

    *p = (struct pieces_source){ .source.pull = pull_pieces, .pieces = pieces, .n = npieces };
    call_header_add(c, STR("content-encoding"), STR("gzip"));
    call_header_add(c, STR("vary"), STR("Accept-Encoding"));
    done(c, code);
    c->ops->source(c, code, c->out, c->nout, http_gzip_source(c->arena, &p->source));
}

/* The pieces as one indented text; as they are if they are too much or not JSON. */
static size_t indent(struct call *c, const str *pieces, size_t npieces, str *out)
{
    const struct json *v;
    struct status *st = call_status(c);
    scoped_buf all = { .max = PRETTY_MAX };
    scoped_buf pretty = { .max = 4 * PRETTY_MAX };

    for (size_t i = 0; i < npieces; i++)
        buf_str_append(&all, pieces[i]);
    if (buf_overflown(&all) || json_parse(c->arena, buf_str(&all), NULL, &v, st) < 0)
        return 0;
    json_print_pretty(&pretty, v);
    if (buf_overflown(&pretty))
        return 0;
    *out = str_dup(c->arena, buf_str(&pretty));
    return 1;
}

void call_answer(struct call *c, int code, str content_type, const str *pieces, size_t npieces)
{
    str *text = arena_array(c->arena, str, 1);

    add_common(c, content_type);
    if (c->pretty && indent(c, pieces, npieces, text)) {
        pieces = text;
        npieces = 1;
    }
    if (c->gzip && total(pieces, npieces) > GZIP_MIN) {
        gzip_pieces(c, code, pieces, npieces);
        return;
    }
    done(c, code);
    c->ops->answer(c, code, c->out, c->nout, pieces, npieces);
}

void call_answer_source(struct call *c, str content_type, struct http_source *src)
{
    add_common(c, content_type);
    if (c->gzip) {
        call_header_add(c, STR("content-encoding"), STR("gzip"));
        call_header_add(c, STR("vary"), STR("Accept-Encoding"));
        src = http_gzip_source(c->arena, src);
    }
    done(c, 200);
    c->ops->source(c, 200, c->out, c->nout, src);
}

void call_answer_text(struct call *c, int code, str text)
{
    str *piece = arena_array(c->arena, str, 1);

    *piece = text;
    c->pretty = false;
    call_header_add(c, STR("x-content-type-options"), STR("nosniff"));
    call_answer(c, code, STR("text/plain; charset=utf-8"), piece, 1);
}

void call_answer_json(struct call *c, int code, const struct json *v)
{
    str *piece = arena_array(c->arena, str, 1);

    *piece = json_text(c->arena, v);
    call_answer(c, code, JSON, piece, 1);
}

void call_fail(struct call *c, const struct status *st)
{
    str *piece = arena_array(c->arena, str, 1);
    scoped_buf b = { .max = BODY_MAX };

    rest_status_print(&b, st);
    *piece = str_dup(c->arena, buf_str(&b));
    if (st->retry_after_s)
        call_header_add(c, STR("retry-after"), str_printf(c->arena, "%u", st->retry_after_s));
    call_answer(c, status_http(st), JSON, piece, 1);
}

void not_found_page(struct call *c)
{
    call_answer_text(c, 404, STR("404 page not found\n"));
}

/* ---- what rest gave ---- */

/* k8s: a quoted string with backslashes, behind the code 299 and no agent */
static void add_warnings(struct call *c)
{
    for (struct rest_warning *w = c->rest.warnings; w; w = w->next) {
        scoped_buf b = { .max = 4096 };

        buf_lit(&b, "299 - \"");
        for (size_t i = 0; i < w->text.n; i++) {
            if (w->text.p[i] == '"' || w->text.p[i] == '\\')
                buf_byte(&b, '\\');
            buf_byte(&b, w->text.p[i]);
        }
        buf_byte(&b, '"');
        if (!buf_overflown(&b))
            call_header_add(c, STR("warning"), str_dup(c->arena, buf_str(&b)));
    }
}

struct list_source {
    struct http_source source;
    struct rest_list *list;
    str first; /* what was pulled before it was known to be long */
};

static int pull_list(struct http_source *self, struct buf *out, size_t want)
{
    struct list_source *l = (struct list_source *)(void *)self;

    if (l->first.n) {
        buf_str_append(out, l->first);
        l->first = STR_NONE;
        return 1;
    }
    return rest_list_pull(l->list, out, want);
}

/* A short list is an answer with a length; a long one leaves as the client takes it. */
static void answer_list(struct call *c, struct rest_list *list)
{
    struct list_source *src = arena_new_of(c->arena, struct list_source);
    str *piece = arena_array(c->arena, str, 1);
    size_t upto = c->pretty ? PRETTY_MAX : GZIP_MIN;
    struct status *st;
    scoped_buf b = { .max = BODY_MAX };
    int more = 1;

    while (more > 0 && b.n <= upto)
        more = rest_list_pull(list, &b, PULL);
    if (more < 0) {
        st = call_status(c);
        (void)status_expired(st, "The resourceVersion for the provided list is too old.");
        call_fail(c, st);
        return;
    }
    *piece = str_dup(c->arena, buf_str(&b));
    if (!more) {
        call_answer(c, 200, c->content_type, piece, 1);
        return;
    }
    *src = (struct list_source){ .source.pull = pull_list, .list = list, .first = *piece };
    call_answer_source(c, c->content_type, &src->source);
}

void call_watch_ended(struct call *c)
{
    enum metrics_verb verb = metrics_verb_of(c->info.verb, c->info.is_resource);

    metrics_longrunning(c->server->metrics, verb, -1);
    metrics_request(c->server->metrics, verb, 200, 0);
}

static void watch_closed(struct call *c)
{
    rest_watch_stop(c->watch);
    call_watch_ended(c);
}

static void answer_watch(struct call *c, struct rest_watch *watch)
{
    struct rest_sink *sink;

    c->watch = watch;
    c->watching = true;
    add_common(c, c->content_type);
    done(c, 200);
    metrics_longrunning(c->server->metrics, metrics_verb_of(c->info.verb, true), 1);
    sink = c->ops->stream(c, 200, c->out, c->nout, watch_closed);
    rest_watch_start(watch, sink);
}

void call_answer_rest(struct call *c, const struct rest_reply *reply)
{
    add_warnings(c);
    if (reply->failure)
        call_fail(c, reply->failure);
    else if (reply->list)
        answer_list(c, reply->list);
    else if (reply->watch)
        answer_watch(c, reply->watch);
    else
        call_answer(c, reply->code, c->content_type, reply->pieces, reply->npieces);
}
