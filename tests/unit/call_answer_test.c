/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "server_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void make_many(struct host *h, int n, int bytes)
{
    char *value = arena_alloc(h->arena, (size_t)bytes + 1);

    memset(value, 'v', (size_t)bytes);
    for (int i = 0; i < n; i++) {
        struct ask *a = ask_body(ask(h, "POST", CONFIGMAPS),
                                 arena_printf(h->arena,
                                              "{\"metadata\":{\"name\":\"c%05d\",\"labels\":{\"l\":"
                                              "\"%d\"}},\"data\":{\"k\":\"%s\"}}",
                                              i, i % 1000, value));

        CHECK_STR(code_of(a), "201");
    }
}

static size_t items(struct ask *a)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a->host->arena);
    CHECK(json_parse(a->host->arena, buf_str(&a->text), NULL, &v, &st) == 0);
    return json_len(json_get(v, STR("items")));
}

TEST(people_get_indented_text)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask_header(ask(h, "GET", CONFIGMAPS), "user-agent", "curl/8.0");

    CHECK_STR(answer(a), "200");
    CHECK(strncmp(str_z(h->arena, buf_str(&a->text)), "{\n  \"", 5) == 0);
    ask_free(a);
    a = ask(h, "GET", CONFIGMAPS "?pretty=true");
    CHECK_STR(answer(a), "200");
    CHECK(strncmp(str_z(h->arena, buf_str(&a->text)), "{\n  \"", 5) == 0);
    ask_free(a);
    a = ask_header(ask(h, "GET", CONFIGMAPS), "user-agent", "kubectl/v1.35");
    CHECK_STR(answer(a), "200");
    CHECK(strncmp(str_z(h->arena, buf_str(&a->text)), "{\"kind\"", 7) == 0);
    ask_free(a);
    host_free(h);
}

TEST(what_is_too_long_is_not_indented)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    make_many(h, 12, 100000);
    a = ask(h, "GET", CONFIGMAPS "?pretty=true");
    CHECK_STR(answer(a), "200");
    CHECK(items(a) == 12 && a->text.p[1] == '"');
    ask_free(a);
    host_free(h);
}

TEST(long_lists_come_whole_in_pieces)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    make_many(h, 400, 1000);
    a = ask(h, "GET", CONFIGMAPS);
    CHECK_STR(answer(a), "200");
    CHECK(a->text.n > 400000 && items(a) == 400 && !a->broken);
    CHECK_STR(answer_header(a, "content-type"), "application/json");
    ask_free(a);
    host_free(h);
}

static str inflated(struct ask *a)
{
    z_stream z = { 0 };
    size_t max = 4 << 20;
    char *out = arena_alloc(a->host->arena, max);

    CHECK(inflateInit2(&z, 31) == Z_OK);
    z.next_in = (Bytef *)a->text.p;
    z.avail_in = (uInt)a->text.n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)max;
    CHECK(inflate(&z, Z_FINISH) == Z_STREAM_END);
    (void)inflateEnd(&z);
    return (str){ out, z.total_out };
}

TEST(large_answers_are_gzipped_for_who_can_read_it)
{
    struct host *h = host_new(0, 0);
    struct ask *a;
    str text;

    make_many(h, 200, 1000);
    a = ask_header(ask(h, "GET", CONFIGMAPS), "accept-encoding", "gzip");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "content-encoding"), "gzip");
    CHECK_STR(answer_header(a, "vary"), "Accept-Encoding");
    text = inflated(a);
    CHECK(text.n > 200000 && str_starts(text, STR("{\"kind\":\"ConfigMapList\"")));
    ask_free(a);
    a = ask_header(ask(h, "GET", CONFIGMAPS "?limit=2"), "accept-encoding", "gzip");
    CHECK_STR(answer(a), "200");
    CHECK_STR(answer_header(a, "content-encoding"), ""); /* not worth it */
    ask_free(a);
    a = ask_header(ask(h, "GET", CONFIGMAPS "?watch=1"), "accept-encoding", "gzip");
    ask_send(a);
    CHECK(host_until(h, ask_done, a));
    host_turn(h);
    CHECK_STR(answer_header(a, "content-encoding"), "");
    ask_free(a);
    host_free(h);
}

/* ---- few of many ---- */

struct turns {
    struct loop_msg msg;
    struct ask *ask;
    int n;
};

static void count_turn(struct loop_msg *msg)
{
    struct turns *t = (struct turns *)(void *)msg;

    t->n++;
    if (!t->ask->done)
        loop_post(t->ask->host->loop, msg);
}

TEST(a_long_search_lets_others_have_their_turn)
{
    struct host *h = host_new(0, 0);
    struct turns t = { .msg.fn = count_turn };

    make_many(h, 6000, 10);
    t.ask = ask(h, "GET", CONFIGMAPS "?labelSelector=l+in+(7,x)");
    ask_send(t.ask);
    loop_post(h->loop, &t.msg);
    CHECK(host_until(h, ask_done, t.ask));
    CHECK(items(t.ask) == 6);
    CHECK(t.n > 3);
    ask_free(t.ask);
    host_turn(h);
    host_free(h);
}

TEST(nobody_waits_so_nobody_searches)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    make_many(h, 6000, 10);
    a = ask(h, "GET", CONFIGMAPS "?labelSelector=l+in+(7,x)");
    a->call->gone = true;
    CHECK_STR(code_of(a), "400 BadRequest");
    host_free(h);
}

TEST(a_search_has_its_deadline)
{
    struct host *h = host_new(0, 0);

    make_many(h, 6000, 10);
    CHECK_STR(code_of(ask(h, "GET", CONFIGMAPS "?labelSelector=l+in+(7,x)&timeout=1ms")),
              "504 Timeout");
    host_free(h);
}

/* ---- warnings ---- */

TEST(warnings_are_headers)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask_body(ask(h, "POST", CONFIGMAPS),
                             "{\"metadata\":{\"name\":\"a\"},\"b\\\\\\\"c\":1,\"d\":2}");
    int n = 0;

    CHECK_STR(answer(a), "201");
    for (size_t i = 0; i < a->ngot; i++)
        n += str_is(a->got[i].name, "warning");
    CHECK(n == 2);
    CHECK_STR(answer_header(a, "warning"), "299 - \"unknown field \\\"b\\\\\\\\\\\\\\\"c\\\"\"");
    ask_free(a);
    a = ask_body(ask(h, "POST", CONFIGMAPS "?fieldValidation=Ignore"),
                 "{\"metadata\":{\"name\":\"b\"},\"d\":2}");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_header(a, "warning"), "");
    ask_free(a);
    host_free(h);
}

/* Of `n` unknown fields with names of so many characters: how many warnings came, and how long. */
static void ask_fields(struct host *h, const char *name, int n, size_t length, size_t *count,
                       size_t *last)
{
    scoped_buf b = { .max = 1 << 20 };
    struct ask *a;

    buf_printf(&b, "{\"metadata\":{\"name\":\"%s\"}", name);
    for (int i = 0; i < n; i++)
        buf_printf(&b, ",\"%02d%0*d\":1", i, (int)length - 2, 0);
    buf_byte(&b, '}');
    buf_byte(&b, '\0');
    a = ask_body(ask(h, "POST", CONFIGMAPS), b.p);
    CHECK_STR(answer(a), "201");
    *count = *last = 0;
    for (size_t i = 0; i < a->ngot; i++) {
        if (!str_is(a->got[i].name, "warning"))
            continue;
        *last = a->got[i].value.n;
        ++*count;
    }
    ask_free(a);
}

/* k8s: apiserver/pkg/endpoints/filters/warning.go: 4096 in all, else 256 each and again 4096 */
TEST(warnings_have_an_end)
{
    struct host *h = host_new(0, 0);
    size_t n, last;

    ask_fields(h, "many", 60, 40, &n, &last);
    CHECK(n == 60 && last == sizeof("299 - \"unknown field \\\"\\\"\"") - 1 + 40);
    ask_fields(h, "long", 5, 1000, &n, &last);
    CHECK(n == 5 && last == sizeof("299 - \"\"") - 1 + 256 + 1);
    ask_fields(h, "both", 40, 1000, &n, &last);
    CHECK(n == 16 && last == sizeof("299 - \"\"") - 1 + 256 + 1);
    host_free(h);
}

TEST(more_warnings_than_there_is_room_for)
{
    struct host *h = host_new(0, 0);
    scoped_buf b = { .max = 1 << 16 };
    struct ask *a;

    buf_lit(&b, "{\"metadata\":{\"name\":\"a\"}");
    for (int i = 0; i < 60; i++)
        buf_printf(&b, ",\"f%d\":1", i);
    buf_byte(&b, '}');
    a = ask_body(ask(h, "POST", CONFIGMAPS), str_z(h->arena, buf_str(&b)));
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_header(a, "content-type"), "application/json"); /* is not pushed out */
    ask_free(a);
    host_free(h);
}

/* ---- watches ---- */

TEST(a_watch_is_an_open_answer)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "GET", CONFIGMAPS "?watch=1");

    CHECK_STR(answer(a), "200");
    CHECK(a->streaming && a->frames == 0);
    CHECK_STR(answer_header(a, "content-type"), "application/json");
    CHECK_STR(make_configmap(h, "", "a"), "201");
    host_turn(h);
    CHECK(a->frames == 1);
    CHECK(strncmp(a->text.p, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\"", 44) == 0);
    CHECK(a->text.p[a->text.n - 1] == '\n');
    ask_free(a);
    host_free(h);
}

static bool is_over(void *arg)
{
    return !((struct ask *)arg)->streaming;
}

TEST(a_watch_ends_in_its_time)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "GET", CONFIGMAPS "?watch=1&timeoutSeconds=1");

    CHECK_STR(answer(a), "200");
    CHECK(a->streaming);
    CHECK(host_until(h, is_over, a));
    ask_free(a);
    host_free(h);
}
