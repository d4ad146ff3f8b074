/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <pthread.h>

#include "base/banned.h"
#include "client_fake.h"
#include "tap.h"

static const struct client_ref configmap = {
    .version = STR_INIT("v1"),
    .resource = STR_INIT("configmaps"),
    .namespace = STR_INIT("d"),
    .name = STR_INIT("x"),
};

/* ---- calls ---- */

struct got {
    struct loop *loop;
    char text[256];
    enum reason reason;
    int done;
};

static void on_done(struct client_call *call, const struct json *object, const struct status *why)
{
    struct got *g = call->user;

    g->done++;
    if (why)
        g->reason = why->reason;
    if (object)
        (void)snprintf(g->text, sizeof(g->text), "%.*s", STR_ARG(json_text(call->arena, object)));
    loop_stop(g->loop);
}

/* Says what it was asked. */
static void serve_echo(struct fake *f, struct http_call *call)
{
    char out[512];
    str type = STR_NONE;

    (void)f;
    for (size_t i = 0; i < call->nheaders; i++)
        if (str_is(call->headers[i].name, "content-type"))
            type = call->headers[i].value;
    (void)snprintf(out, sizeof(out), "{\"asked\":\"%.*s %.*s %.*s %zu\"}", STR_ARG(call->method),
                   STR_ARG(call->path), STR_ARG(type), call->body.n);
    fake_reply(call, 200, out);
}

static void serve_conflict(struct fake *f, struct http_call *call)
{
    (void)f;
    fake_reply(
        call, 409,
        "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"changed\",\"code\":409}");
}

static void serve_nothing(struct fake *f, struct http_call *call)
{
    (void)f;
    (void)call;
}

TEST(a_call_and_its_answer)
{
    scoped_arena a = arena_new();
    struct loop *l = loop_new();
    struct fake f = { .serve = serve_echo };
    struct got g = { .loop = l };
    struct client_call call = { .arena = a, .done = on_done, .user = &g };
    struct client *c;

    fake_init(&f, l);
    c = client_new(&f.base);
    call.req = client_request_update(a, &configmap, NULL, &json_empty_object);
    client_call(c, &call);
    CHECK(!g.done);
    loop_run(l);
    CHECK(g.done == 1 && g.reason == REASON_OK);
    CHECK_STR(g.text, "{\"asked\":\"PUT /api/v1/namespaces/d/configmaps/x application/json 2\"}");
    f.serve = serve_conflict;
    client_call(c, &call);
    loop_run(l);
    CHECK(g.done == 2 && g.reason == REASON_CONFLICT);
    client_free(c);
    loop_free(l);
}

TEST(a_cancelled_call)
{
    scoped_arena a = arena_new();
    struct loop *l = loop_new();
    struct fake f = { .serve = serve_nothing };
    struct got g = { .loop = l };
    struct client_call call = { .arena = a, .done = on_done, .user = &g };
    struct client *c;

    fake_init(&f, l);
    c = client_new(&f.base);
    call.req = client_request_get(a, &configmap);
    client_call(c, &call);
    client_call_cancel(&call);
    client_call_cancel(&call); /* again is fine */
    CHECK(f.cancels == 1 && f.open == 0 && !g.done);
    client_free(c);
    loop_free(l);
}

/* ---- blocking ---- */

static void *run(void *l)
{
    loop_run(l);
    return NULL;
}

TEST(the_blocking_form)
{
    scoped_arena a = arena_new();
    struct loop *l = loop_new();
    struct fake f = { .serve = serve_echo };
    const struct json *v = NULL;
    struct client *c;
    struct status st;
    pthread_t t;

    status_init(&st, a);
    fake_init(&f, l);
    c = client_new(&f.base);
    REQUIRE(pthread_create(&t, NULL, run, l) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(client_get(c, a, &configmap, &v, &st) == 0);
    CHECK(str_is(json_get_str(v, "asked"), "GET /api/v1/namespaces/d/configmaps/x  0"));
    CHECK(client_apply(c, a, &configmap, STR("me"), &json_empty_object, &v, &st) == 0);
    CHECK(str_is(json_get_str(v, "asked"),
                 "PATCH /api/v1/namespaces/d/configmaps/x?fieldManager=me&force=true "
                 "application/apply-patch+yaml 2"));
    CHECK(client_delete(c, a, &configmap, NULL, &st) == 0);
    f.serve = serve_conflict;
    CHECK(client_create(c, a, &configmap, &json_empty_object, NULL, &st) < 0);
    CHECK(st.reason == REASON_CONFLICT);
    CHECK(str_is(st.message, "changed"));
    loop_stop(l);
    (void)pthread_join(t, NULL);
    client_free(c);
    loop_free(l);
}

TEST(over_http_with_a_thread_of_its_own)
{
    scoped_arena a = arena_new();
    struct kubeconfig k = { .host = STR("127.0.0.1"), .port = STR("1") };
    struct client *c;
    struct status st;

    status_init(&st, a);
    c = client_open(NULL, &k, &st);
    REQUIRE(c);
    CHECK(client_get(c, a, &configmap, NULL, &st) < 0);
    CHECK(st.reason == REASON_UNAVAILABLE);
    CHECK(str_contains(st.message, STR("127.0.0.1:1")));
    client_free(c);
}

/* ---- watches ---- */

struct seen {
    struct client_watch watch;
    struct loop *loop;
    char text[512];
    enum reason reason;
    int done, opened, stop_at;
    bool as_text;
};

static void on_event(struct client_watch *w, enum client_event type, const struct json *object)
{
    struct seen *s = w->user;
    size_t n = strlen(s->text);

    (void)snprintf(s->text + n, sizeof(s->text) - n, "%d%.*s ", (int)type,
                   STR_ARG(json_get_str(object, "metadata.name")));
    if (s->stop_at && --s->stop_at == 0) {
        client_watch_cancel(w);
        loop_stop(s->loop);
    }
}

static void on_text(struct client_watch *w, enum client_event type, str object)
{
    struct seen *s = w->user;
    size_t n = strlen(s->text);

    (void)snprintf(s->text + n, sizeof(s->text) - n, "%d%.*s ", (int)type, STR_ARG(object));
}

static void on_opened(struct client_watch *w)
{
    struct seen *s = w->user;

    s->opened++;
}

static void on_watch_done(struct client_watch *w, const struct status *why)
{
    struct seen *s = w->user;

    s->done++;
    s->reason = why ? why->reason : REASON_OK;
    loop_stop(s->loop);
}

#define EVENT(type, name) \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\"}}}\n"

static void serve_watch(struct fake *f, struct http_call *call)
{
    const char *text = f->arg;

    fake_open(call, 200);
    for (; *text && f->open; text++) /* byte by byte */
        call->data(call, (str){ text, 1 });
    if (f->open)
        fake_end(call, NULL);
}

/* In pieces of so many bytes as the text begins with. */
static void serve_pieces(struct fake *f, struct http_call *call)
{
    const char *text = f->arg;
    size_t each = (unsigned char)*text++;
    str rest = str_of(text);

    fake_open(call, 200);
    while (rest.n && f->open) {
        size_t n = rest.n < each ? rest.n : each;

        call->data(call, str_sub(rest, 0, n));
        rest = str_from(rest, n);
    }
    if (f->open)
        fake_end(call, NULL);
}

static void serve_gone(struct fake *f, struct http_call *call)
{
    (void)f;
    fake_reply(call, 410, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
}

static void watch(struct seen *s, void (*serve)(struct fake *, struct http_call *), char *text)
{
    scoped_arena a = arena_new();
    struct loop *l = loop_new();
    struct fake f = { .serve = serve, .arg = text };
    struct client *c;

    s->loop = l;
    fake_init(&f, l);
    c = client_new(&f.base);
    s->watch = (struct client_watch){ .req = client_request_watch(a, &configmap, NULL),
                                      .event = on_event,
                                      .text = s->as_text ? on_text : NULL,
                                      .opened = on_opened,
                                      .done = on_watch_done,
                                      .user = s };
    client_watch(c, &s->watch);
    loop_run(l);
    CHECK(f.open == 0);
    client_free(c);
    loop_free(l);
}

TEST(events_of_a_watch)
{
    static char text[] =
        EVENT("ADDED", "a") EVENT("MODIFIED", "b") EVENT("DELETED", "c") EVENT("BOOKMARK", "");
    struct seen s = { 0 };

    watch(&s, serve_watch, text);
    CHECK_STR(s.text, "0a 1b 2c 3 ");
    CHECK(s.opened == 1 && s.done == 1 && s.reason == REASON_OK);
}

TEST(events_in_pieces_of_any_size)
{
    char text[] = "." EVENT("ADDED", "a}}\\n") "\r\n" EVENT("MODIFIED", "b") /* and on lines */
        "{\"type\":\"ADDED\",\n\"object\":{\"metadata\":{\"name\":\"c\"}}\n}" EVENT("DELETED", "d");

    for (size_t each = 1; each < 200; each++) {
        struct seen s = { 0 };

        text[0] = (char)each;
        watch(&s, serve_pieces, text);
        CHECK_STR(s.text, "0a}}\n 1b 0c 2d ");
        CHECK(s.done == 1 && s.reason == REASON_OK);
    }
}

TEST(what_is_passed_on_is_not_parsed)
{
    static char text[] = EVENT("ADDED", "a") EVENT(
        "BOOKMARK", "b") "{\"type\":\"DELETED\",\"object\":{\"a\":tru}}\n"
                         "{\"object\":{\"metadata\":{\"name\":\"c\"}},\"type\":\"MODIFIED\"}\n"
                         "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":"
                         "\"Expired\",\"code\":410}}\n";
    struct seen s = { .as_text = true };

    watch(&s, serve_watch, text);
    CHECK_STR(s.text, "0{\"metadata\":{\"name\":\"a\"}} 3b 2{\"a\":tru} 1c ");
    CHECK(s.done == 1 && s.reason == REASON_EXPIRED);
}

TEST(a_watch_that_ends_with_an_error)
{
    static char gone[] =
        EVENT("ADDED", "a") "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                            "\"reason\":\"Expired\",\"code\":410}}\n" EVENT("ADDED", "b");
    static char odd[] = EVENT("NEW", "a");
    static char rubbish[] = "{\"type\":}\n";
    struct seen s[4] = { 0 };

    watch(&s[0], serve_watch, gone);
    CHECK_STR(s[0].text, "0a ");
    CHECK(s[0].done == 1 && s[0].reason == REASON_EXPIRED);
    watch(&s[1], serve_watch, odd);
    CHECK(s[1].done == 1 && s[1].reason == REASON_INTERNAL);
    watch(&s[2], serve_watch, rubbish);
    CHECK(s[2].done == 1 && s[2].reason == REASON_BAD_REQUEST);
    watch(&s[3], serve_gone, NULL);
    CHECK(s[3].done == 1 && s[3].reason == REASON_EXPIRED && s[3].opened == 0);
}

TEST(a_watch_cancelled_by_its_own_event)
{
    static char text[] = EVENT("ADDED", "a") EVENT("ADDED", "b") EVENT("ADDED", "c");
    struct seen s = { .stop_at = 2 };

    watch(&s, serve_watch, text);
    CHECK_STR(s.text, "0a 0b ");
    CHECK(s.done == 0);
}
