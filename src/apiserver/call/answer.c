/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "apiserver/call/gate.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/negotiate.h"
#include "base/banned.h"
#include "base/log.h"
#include "http/gzip.h"

enum {
    GZIP_MIN = 128 << 10, /* k8s: smaller answers are not worth it */
    PRETTY_MAX = 1 << 20, /* larger ones are for programs, and take too long */
    YAML_MAX = 256 << 10, /* some milliseconds; a larger one stays JSON, which is YAML as well */
    PULL = 32 << 10,
    BODY_MAX = 1 << 30,
    WARNINGS_RUNES = 4096, /* of all */
    WARNING_SHORT = 256,   /* runes of one */
    WARNINGS = 512,        /* none is so short that there could be more */
};

static const str JSON = STR_INIT("application/json"), YAML = STR_INIT("application/yaml");

atomic_uint *call_counter(struct call *c)
{
    struct server *s = c->server;

    return c->mount ? &s->mounted : c->mutating ? &s->writes : &s->reads;
}

static void leave_flight(struct call *c)
{
    struct server *s = c->server;

    c->server->chain->left(c);
    if (!c->in_flight)
        return;
    c->in_flight = false;
    atomic_fetch_sub(call_counter(c), 1);
    metrics_inflight(s->metrics, c->mutating, -1);
}

/* What we do not serve is no trouble of ours, however often it is asked for. */
static bool is_trouble(int code)
{
    return code >= 500 && code != 501;
}

/* Once per call: it is no longer in flight, and is counted. */
static void done(struct call *c, int code)
{
    struct server *s = c->server;
    enum metrics_verb verb = metrics_verb_of(c->info.verb, c->info.is_resource);
    int64_t us = clock_wall_us(s->clock) - c->began_us;

    assert(!c->finished);
    c->finished = true;
    if (c->outcome)
        code = c->outcome; /* gRPC says it behind an answer that is 200 */
    c->code = code;
    timeout_unwatch(c);
    if (!c->timed_out) /* else the store still works on it, and what it holds must stay bounded */
        leave_flight(c);
    if (!c->watching)
        metrics_request(s->metrics, verb, code, us);
    c->server->chain->answered(c, code);
    if (is_trouble(code))
        log_warn("request failed", log_str("method", c->method), log_str("path", c->raw_path),
                 log_int("code", code), log_str("user", c->who.user), log_int("us", us),
                 log_str("audit_id", c->audit_id));
    else
        log_debug("request", log_str("method", c->method), log_str("path", c->raw_path),
                  log_int("code", code), log_str("user", c->who.user), log_int("us", us),
                  log_str("audit_id", c->audit_id));
}

/* The answer leaves, and with it the chain; the call may be gone after. */
static void leave(struct call *c, int code, const str *pieces, size_t npieces,
                  struct http_source *src)
{
    bool held = c->holders && !c->timed_out;

    done(c, code);
    if (src)
        c->ops->source(c, code, c->out, c->nout, src);
    else
        c->ops->answer(c, code, c->out, c->nout, pieces, npieces);
    if (held)
        call_release(c);
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
    leave(c, code, NULL, 0, http_gzip_source(c->arena, &p->source));
}

/* The pieces as one text of another form; as they are if they are too much or not JSON. */
static bool reprint(struct call *c, size_t max, void (*print)(struct buf *b, const struct json *v),
                    const str *pieces, size_t npieces, str *out)
{
    const struct json *v;
    struct status *st = call_status(c);
    scoped_buf all = { .max = max };
    scoped_buf text = { .max = 4 * max };

    for (size_t i = 0; i < npieces; i++)
        buf_str_append(&all, pieces[i]);
    if (buf_overflown(&all) || json_parse(c->arena, buf_str(&all), NULL, &v, st) < 0)
        return false;
    print(&text, v);
    if (buf_overflown(&text))
        return false;
    *out = str_dup(c->arena, buf_str(&text));
    return true;
}

static bool is_yaml(str content_type)
{
    return str_starts(content_type, YAML);
}

void call_answer(struct call *c, int code, str content_type, const str *pieces, size_t npieces)
{
    str *text = arena_array(c->arena, str, 1);

    add_common(c, content_type);
    c->server->chain->body(c, pieces, npieces);
    if ((is_yaml(content_type) && reprint(c, YAML_MAX, json_print_yaml, pieces, npieces, text)) ||
        (c->pretty && reprint(c, PRETTY_MAX, json_print_pretty, pieces, npieces, text))) {
        pieces = text;
        npieces = 1;
    }
    if (c->gzip && total(pieces, npieces) > GZIP_MIN) {
        gzip_pieces(c, code, pieces, npieces);
        return;
    }
    leave(c, code, pieces, npieces, NULL);
}

void call_answer_source(struct call *c, str content_type, struct http_source *src)
{
    add_common(c, content_type);
    if (c->gzip) {
        call_header_add(c, STR("content-encoding"), STR("gzip"));
        call_header_add(c, STR("vary"), STR("Accept-Encoding"));
        src = http_gzip_source(c->arena, src);
    }
    leave(c, 200, NULL, 0, src);
}

void call_answer_text(struct call *c, int code, str text)
{
    str *piece = arena_array(c->arena, str, 1);

    *piece = text;
    c->pretty = false;
    call_header_add(c, STR("x-content-type-options"), STR("nosniff"));
    call_answer(c, code, STR("text/plain; charset=utf-8"), piece, 1);
}

static size_t runes(str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

static str first_runes(str text, size_t n)
{
    size_t i = 0;

    for (; i < text.n; i++)
        if (((unsigned char)text.p[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return str_sub(text, 0, i);
}

/* k8s: a quoted string with backslashes, behind the code 299 and no agent. */
static str warning_header(struct arena *a, str text)
{
    scoped_buf b = { .max = 2 * text.n + sizeof("299 - \"\"") };

    buf_lit(&b, "299 - \"");
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            buf_byte(&b, '\\');
        buf_byte(&b, text.p[i]);
    }
    buf_byte(&b, '"');
    return str_dup(a, buf_str(&b));
}

/*
 * Those with control characters are left out; where all are too long each is cut short, and then
 * what is still too much is left out.  k8s: apiserver/pkg/endpoints/filters/warning.go
 */
static void add_warnings(struct call *c)
{
    size_t all = 0, sent = 0, n = 0;

    for (struct rest_warning *w = c->rest.warnings; w; w = w->next)
        all += str_has_control(w->text) ? 0 : runes(w->text);
    for (struct rest_warning *w = c->rest.warnings; w && sent < WARNINGS_RUNES; w = w->next) {
        str text = all > WARNINGS_RUNES ? first_runes(w->text, WARNING_SHORT) : w->text;

        if (str_has_control(w->text))
            continue;
        sent += runes(text);
        call_header_add(c, STR("warning"), warning_header(c->arena, text));
        if (++n == WARNINGS)
            break;
    }
    c->rest.warnings = NULL;
}

/* Of what is never anything but an object: failures, reviews. */
static str plain_type(struct call *c)
{
    str wanted = call_header(c, "accept");
    struct accept accept;

    if (!str_contains(wanted, STR("yaml")) ||
        accept_negotiate(wanted, ACCEPT_PLAIN, &accept, call_status(c)) < 0)
        return JSON;
    return accept.content_type;
}

void call_answer_json(struct call *c, int code, const struct json *v)
{
    str *piece = arena_array(c->arena, str, 1);

    *piece = json_text(c->arena, v);
    add_warnings(c);
    call_answer(c, code, plain_type(c), piece, 1);
}

void call_fail(struct call *c, const struct status *st)
{
    str *piece = arena_array(c->arena, str, 1);
    scoped_buf b = { .max = BODY_MAX };

    c->server->chain->failed(c, st);
    if (st->retry_after_s)
        call_header_add(c, STR("retry-after"), str_printf(c->arena, "%u", st->retry_after_s));
    if (c->server->chain->refuse(c, st))
        return;
    rest_status_print(&b, st);
    *piece = str_dup(c->arena, buf_str(&b));
    call_answer(c, status_http(st), plain_type(c), piece, 1);
}

void not_found_page(struct call *c)
{
    call_answer_text(c, 404, STR("404 page not found\n"));
}

/* ---- what rest gave ---- */

/*
 * A short list is an answer with a length; a long one leaves as the client takes it.  Which it is
 * shows by beginning it, over several turns of the loop where few of many rows match.
 */
struct list_answer {
    struct loop_msg msg; /* first: to go on in the next turn */
    struct http_source source;
    struct call *call;
    struct rest_list *list;
    struct buf begun;
    size_t at;   /* so much of it has left */
    size_t upto; /* longer than this is long */
};

static int pull_list(struct http_source *self, struct buf *out, size_t want)
{
    struct list_answer *l =
        (struct list_answer *)(void *)((char *)self - offsetof(struct list_answer, source));

    if (l->at < l->begun.n) {
        str part = str_sub(buf_str(&l->begun), l->at, want);

        buf_str_append(out, part);
        l->at += part.n;
        if (l->at == l->begun.n)
            buf_release(&l->begun);
        return 1;
    }
    return rest_list_pull(l->list, out, want);
}

static void release_list(void *arg)
{
    struct list_answer *l = arg;

    buf_release(&l->begun);
}

static void fail_list(struct call *c, enum reason reason, const char *why)
{
    struct status *st = call_status(c);

    (void)status_set(st, reason, "%s", why);
    call_fail(c, st);
}

static void begin_list(struct loop_msg *msg)
{
    struct list_answer *l = (struct list_answer *)(void *)msg;
    struct call *c = l->call;
    str *piece = arena_array(c->arena, str, 1);
    int more;

    do
        more = rest_list_pull(l->list, &l->begun, PULL);
    while (more > 0 && l->begun.n <= l->upto && loop_has_turn(c->loop, c->rest.whose));
    if (more < 0) {
        call_fail(c, rest_list_failure(l->list));
    } else if (more == 0) {
        *piece = buf_str(&l->begun);
        call_answer(c, 200, c->content_type, piece, 1);
    } else if (l->begun.n > l->upto) {
        call_answer_source(c, c->content_type, &l->source);
    } else if (c->gone) {
        fail_list(c, REASON_BAD_REQUEST, "the client is gone");
    } else if (loop_now_ms(c->loop) >= c->deadline_ms) {
        fail_list(c, REASON_TIMEOUT,
                  "Timeout: request did not complete within the allotted timeout");
    } else {
        loop_post(c->loop, &l->msg);
    }
}

static void answer_list(struct call *c, struct rest_list *list)
{
    struct list_answer *l = arena_new_of(c->arena, struct list_answer);

    *l = (struct list_answer){ .msg = { .fn = begin_list, .whose = c->rest.whose },
                               .source.pull = pull_list,
                               .call = c,
                               .list = list,
                               .upto = is_yaml(c->content_type) ? YAML_MAX
                                       : c->pretty              ? PRETTY_MAX
                                                                : GZIP_MIN };
    buf_init(&l->begun, BODY_MAX);
    arena_defer(c->arena, release_list, l);
    begin_list(&l->msg);
}

void call_watch_ended(struct call *c)
{
    enum metrics_verb verb = metrics_verb_of(c->info.verb, c->info.is_resource);

    if (c->watch_ended)
        return; /* told by both who were at it */
    c->watch_ended = true;
    c->server->chain->watch_ended(c);
    metrics_longrunning(c->server->metrics, verb, -1);
    metrics_request(c->server->metrics, verb, 200, 0);
}

static void watch_closed(struct call *c)
{
    rest_watch_stop(c->watch);
    call_watch_ended(c);
}

static bool is_guarded(struct call *c)
{
    const struct call_chain *chain = c->server->chain;

    return chain->guarded && chain->guarded(c);
}

struct rest_sink *call_open_as(struct call *c, int code, void (*closed)(struct call *c))
{
    c->watching = true;
    done(c, code);
    metrics_longrunning(c->server->metrics, metrics_verb_of(c->info.verb, c->info.is_resource), 1);
    if (is_guarded(c))
        return gate_stream(c, code, closed);
    return c->ops->stream(c, code, c->out, c->nout, closed);
}

bool call_can_upgrade(const struct call *c)
{
    return c->ops->upgrade && ((const struct http_request *)c->transport)->version == 1;
}

struct rest_sink *call_upgrade(struct call *c, void (*data)(struct call *c, str bytes),
                               void (*closed)(struct call *c))
{
    if (!call_can_upgrade(c))
        return NULL;
    c->watching = true;
    done(c, 101);
    metrics_longrunning(c->server->metrics, metrics_verb_of(c->info.verb, c->info.is_resource), 1);
    if (is_guarded(c))
        return gate_upgrade(c, data, closed);
    return c->ops->upgrade(c, c->out, c->nout, data, closed);
}

struct rest_sink *call_open(struct call *c, str content_type, void (*closed)(struct call *c))
{
    add_common(c, content_type);
    return call_open_as(c, 200, closed);
}

static void answer_watch(struct call *c, struct rest_watch *watch)
{
    struct rest_sink *sink;
    bool held = c->holders > 0;

    c->watch = watch;
    sink = call_open(c, c->content_type, watch_closed);
    rest_watch_start(watch, sink);
    if (held)
        call_release(c);
}

void call_answer_rest(struct call *c, const struct rest_reply *reply)
{
    if (c->timed_out) { /* answered long ago */
        leave_flight(c);
        call_release(c);
        return;
    }
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
