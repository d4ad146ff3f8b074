/* SPDX-License-Identifier: Apache-2.0 */
#include "client/informer.h"

#include <pthread.h>

#include "base/banned.h"
#include "client_fake.h"
#include "tap.h"

/* A script: what is asked must hold the text, and is answered so. */
struct step {
    const char *asked;
    int status;
    const char *body; /* of a watch: events, then it stays open if hold */
    bool hold;
};

struct bed {
    struct fake fake;
    struct loop *loop;
    struct client *client;
    struct informer *informer;
    const struct step *script;
    struct http_call *held;
    char log[2048];
    int stop_after; /* handler calls */
};

/* What it is, and a value; of objects that do not say what they are the value alone. */
static str shown(struct arena *a, const struct json *object)
{
    str version = json_get_str(object, "apiVersion"), kind = json_get_str(object, "kind");
    str value = json_get_str(object, "data.v");

    if (!kind.n)
        return value;
    return str_printf(a, "%.*s %.*s %.*s", STR_ARG(version), STR_ARG(kind), STR_ARG(value));
}

static void note(struct bed *b, const char *what, const struct informer_key *k, str more)
{
    size_t n = strlen(b->log);

    (void)snprintf(b->log + n, sizeof(b->log) - n, "%s %.*s/%.*s/%.*s%s%.*s;", what,
                   STR_ARG(k->instance), STR_ARG(k->namespace), STR_ARG(k->name), more.n ? " " : "",
                   STR_ARG(more));
    if (b->stop_after && --b->stop_after == 0)
        loop_stop(b->loop);
}

static void on_added(void *arg, const struct informer_key *k, const struct json *now)
{
    scoped_arena a = arena_new();

    note(arg, "add", k, shown(a, now));
}

static void on_updated(void *arg, const struct informer_key *k, const struct json *now)
{
    note(arg, "update", k, json_get_str(now, "data.v"));
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    note(arg, "delete", k, json_get_str(last, "data.v"));
}

static void on_synced(void *arg)
{
    static const struct informer_key none;

    note(arg, "synced", &none, STR_NONE);
}

static void serve(struct fake *f, struct http_call *call)
{
    struct bed *b = f->arg;
    const struct step *s = b->script++;
    int cancels = f->cancels;

    if (!CHECK(s->asked && str_contains(call->path, str_of(s->asked)))) {
        printf("# asked %.*s, expected %s\n", STR_ARG(call->path), s->asked ? s->asked : "nothing");
        b->held = call;
        loop_stop(b->loop);
        return;
    }
    if (!s->status) {
        scoped_arena a = arena_new();
        struct status st;

        status_init(&st, a);
        (void)status_set(&st, REASON_UNAVAILABLE, "%s", s->body);
        fake_end(call, &st);
        return;
    }
    fake_open(call, s->status);
    if (s->body)
        fake_send(call, s->body);
    if (s->hold)
        b->held = call;
    else if (f->cancels == cancels)
        fake_end(call, NULL);
}

static void bed_start(struct bed *b, const struct step *script, struct informer_options o)
{
    b->loop = loop_new();
    b->script = script;
    b->fake.serve = serve;
    b->fake.arg = b;
    fake_init(&b->fake, b->loop);
    b->client = client_new(&b->fake.base);
    o.client = b->client;
    o.ref.version = STR("v1");
    o.ref.resource = STR("configmaps");
    o.wait_ms = o.wait_ms ? o.wait_ms : 1;
    o.added = on_added;
    o.updated = on_updated;
    o.deleted = on_deleted;
    o.synced = on_synced;
    o.arg = b;
    b->informer = informer_new(&o);
    informer_start(b->informer);
}

static void bed_run(struct bed *b, int handlers)
{
    b->stop_after = handlers;
    loop_run(b->loop);
}

static void bed_end(struct bed *b)
{
    informer_free(b->informer);
    CHECK(b->fake.open == 0);
    client_free(b->client);
    loop_free(b->loop);
}

#define OBJ(name, rv, v)                                                                 \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\",\"resourceVersion\":\"" rv \
    "\"},\"data\":{\"v\":\"" v "\"}}"
#define EVENT(type, obj) "{\"type\":\"" type "\",\"object\":" obj "}\n"
#define LIST(rv, more, items) \
    "{\"metadata\":{\"resourceVersion\":\"" rv "\"" more "},\"items\":[" items "]}"
#define GONE \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}}\n"

TEST(pages_then_a_watch_that_goes_on_where_it_was)
{
    static const struct step script[] = {
        { "/api/v1/configmaps?limit=2", 200,
          LIST("10", ",\"continue\":\"tok\"", OBJ("a", "1", "1") "," OBJ("b", "2", "1")), false },
        { "limit=2&continue=tok", 200, LIST("10", "", OBJ("c", "3", "1")), false },
        { "watch=true&allowWatchBookmarks=true&resourceVersion=10&", 200,
          EVENT("MODIFIED", OBJ("a", "11", "2")) EVENT("DELETED", OBJ("b", "12", "1"))
              EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"20\"}}"),
          false },
        { "resourceVersion=20&", 200, EVENT("ADDED", OBJ("e", "21", "1")), true },
        { 0 },
    };
    scoped_arena a = arena_new();
    struct bed b = { 0 };
    size_t n;

    bed_start(&b, script, (struct informer_options){ .page = 2 });
    bed_run(&b, 7);
    CHECK_STR(b.log, "add /d/a 1;add /d/b 1;add /d/c 1;synced //;update /d/a 2;delete /d/b 1;"
                     "add /d/e 1;");
    CHECK(informer_has_synced(b.informer));
    CHECK(informer_keys(b.informer, a, &n) && n == 3);
    bed_end(&b);
}

TEST(expired_lists_anew_and_tells_the_differences)
{
    static const struct step script[] = {
        { "limit=500", 200,
          LIST("10", "", OBJ("a", "1", "1") "," OBJ("b", "2", "1") "," OBJ("c", "3", "1")), false },
        { "resourceVersion=10&", 200, GONE, false },
        { "limit=500", 200,
          LIST("30", "", OBJ("a", "1", "1") "," OBJ("b", "25", "2") "," OBJ("d", "26", "1")),
          false },
        { "resourceVersion=30&", 410, "{\"kind\":\"Status\",\"reason\":\"Gone\",\"code\":410}",
          false },
        { "limit=500", 200, LIST("40", "", OBJ("d", "26", "1")), false },
        { "resourceVersion=40&", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ 0 });
    bed_run(&b, 9);
    CHECK(strstr(b.log, "add /d/a 1;add /d/b 1;add /d/c 1;synced //;"
                        "update /d/b 2;add /d/d 1;delete /d/c;delete /d/"));
    CHECK(strstr(b.log, "delete /d/a;"));
    CHECK(strstr(b.log, "delete /d/b;"));
    bed_end(&b);
}

TEST(failures_are_tried_again)
{
    static const struct step script[] = {
        { "limit=500", 0, "no connection", false },
        { "limit=500", 503, "later", false },
        { "limit=500", 200, LIST("10", "", OBJ("a", "1", "1")), false },
        { "resourceVersion=10&", 0, "no connection", false },
        { "resourceVersion=10&", 500, "oh", false },
        { "resourceVersion=10&", 200, EVENT("ADDED", OBJ("b", "11", "1")), false },
        { "resourceVersion=11&", 200, EVENT("ADDED", OBJ("c", "12", "1")), true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ 0 });
    bed_run(&b, 4);
    CHECK_STR(b.log, "add /d/a 1;synced //;add /d/b 1;add /d/c 1;");
    bed_end(&b);
}

TEST(what_a_list_holds_says_what_it_is)
{
    static const struct step script[] = {
        { "limit=500", 200,
          "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
          "\"5\"}"
          ",\"items\":[" OBJ("a", "5", "1") ",{\"kind\":\"Other\",\"apiVersion\":\"x/v1\","
                                            "\"metadata\":{\"namespace\":\"d\",\"name\":\"b\"}}]}",
          false },
        { "watch=true", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ 0 });
    bed_run(&b, 3);
    CHECK_STR(b.log, "add /d/a v1 ConfigMap 1;add /d/b x/v1 Other ;synced //;");
    bed_end(&b);
}

/* Twenty events are calm; what comes then is coalesced. */
#define FIVE(n)                             \
    EVENT("MODIFIED", OBJ("a", n "1", "1")) \
    EVENT("MODIFIED", OBJ("a", n "2", "2")) \
    EVENT("MODIFIED", OBJ("a", n "3", "3")) \
    EVENT("MODIFIED", OBJ("a", n "4", "4")) EVENT("MODIFIED", OBJ("a", n "5", "5"))

TEST(where_much_happens_only_the_last_of_each_object_is_told)
{
    static const struct step script[] = {
        { "limit=500", 200, LIST("10", "", OBJ("a", "1", "0") "," OBJ("b", "2", "0")), false },
        { "resourceVersion=10&", 200,
          FIVE("2") FIVE("3") FIVE("4") FIVE("5") FIVE("6") EVENT("ADDED", OBJ("c", "70", "1"))
              EVENT("DELETED", OBJ("b", "71", "0")) EVENT("ADDED", OBJ("d", "72", "1"))
                  EVENT("DELETED", OBJ("d", "73", "1")) FIVE("8"),
          true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ .gather = true });
    bed_run(&b, 3 + 19 + 4);
    CHECK(strstr(b.log, "synced //;update /d/a 1;update /d/a 2;"));
    CHECK(strstr(b.log, "update /d/a 4;update /d/a 5;add /d/c 1;delete /d/b 0;"
                        "delete /d/d 1;"));
    CHECK(!strstr(b.log, "add /d/d"));
    bed_end(&b);
}

TEST(what_is_gathered_is_told_before_a_watch_goes_on)
{
    static const struct step script[] = {
        { "limit=500", 200, LIST("10", "", OBJ("a", "1", "0")), false },
        { "resourceVersion=10&", 200,
          FIVE("2") FIVE("3") FIVE("4") FIVE("5") EVENT("MODIFIED", OBJ("a", "60", "6")), false },
        { "resourceVersion=60&", 200, EVENT("DELETED", OBJ("a", "61", "6")) GONE, false },
        { "limit=500", 200, LIST("90", "", OBJ("z", "80", "1")), false },
        { "resourceVersion=90&", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ .gather = true });
    bed_run(&b, 2 + 19 + 1 + 2);
    CHECK(strstr(b.log, "update /d/a 4;update /d/a 6;delete /d/a 6;add /d/z 1;"));
    bed_end(&b);
}

TEST(what_was_gathered_and_cannot_be_read_is_listed_anew)
{
    static const struct step script[] = {
        { "limit=500", 200, LIST("10", "", OBJ("a", "1", "0")), false },
        { "resourceVersion=10&", 200,
          FIVE("2") FIVE("3") FIVE("4") FIVE("5")
              EVENT("MODIFIED",
                    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"x\",\"resourceVersion\":\"60\"},"
                    "\"data\":{bad}}") EVENT("ADDED", OBJ("y", "61", "1")),
          true },
        { "limit=500", 200, LIST("90", "", OBJ("z", "80", "1")), false },
        { "resourceVersion=90&", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ .gather = true });
    bed_run(&b, 2 + 20 + 2);
    CHECK(strstr(b.log, "update /d/a 5;add /d/z 1;delete /d/a"));
    CHECK(!strstr(b.log, "/d/y"));
    bed_end(&b);
}

struct nudger {
    struct loop_timer timer;
    struct bed *bed;
};

static void nudge(struct loop_timer *t)
{
    informer_nudge(((struct nudger *)(void *)t)->bed->informer);
}

TEST(a_nudge_ends_the_wait_after_a_failure)
{
    static const struct step script[] = {
        { "/configmaps?limit=", 404, "404 page not found\n", false },
        { "/configmaps?limit=", 200, LIST("5", "", OBJ("a", "5", "1")), false },
        { "watch=true", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };
    struct nudger early = { { .fn = nudge }, &b };

    bed_start(&b, script, (struct informer_options){ .wait_ms = 3600000 });
    loop_timer_set(b.loop, &early.timer, 10);
    bed_run(&b, 2);
    CHECK_STR(b.log, "add /d/a 1;synced //;");
    informer_nudge(b.informer); /* which waits for nothing now */
    bed_end(&b);
}

TEST(a_token_that_expired_starts_the_list_again)
{
    static const struct step script[] = {
        { "limit=1", 200, LIST("10", ",\"continue\":\"tok\"", OBJ("a", "1", "1")), false },
        { "continue=tok", 410, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}", false },
        { "limit=1", 200, LIST("20", "", OBJ("b", "2", "1")), false },
        { "resourceVersion=20&", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ .page = 1 });
    bed_run(&b, 4);
    CHECK_STR(b.log, "add /d/a 1;add /d/b 1;delete /d/a;synced //;");
    bed_end(&b);
}

TEST(repeats_and_strangers_are_not_told)
{
    static const struct step script[] = {
        { "limit=500", 200, LIST("10", "", OBJ("a", "1", "1")), false },
        { "resourceVersion=10&", 200,
          EVENT("ADDED", OBJ("a", "1", "1")) EVENT("DELETED", OBJ("x", "11", "1"))
              EVENT("MODIFIED", OBJ("y", "12", "1")) EVENT("ADDED", OBJ("y", "13", "2")),
          true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ 0 });
    bed_run(&b, 4);
    CHECK_STR(b.log, "add /d/a 1;synced //;add /d/y 1;update /d/y 2;");
    bed_end(&b);
}

TEST(a_wildcard_tells_the_instance)
{
    static const struct step script[] = {
        { "/clusters/*/api/v1/configmaps?", 200,
          LIST("10", "",
               "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\",\"annotations\":{"
               "\"kairship.io/instance\":\"t1\"}}},"
               "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\",\"annotations\":{"
               "\"kairship.io/instance\":\"t2\"}}}"),
          false },
        { "/clusters/*/api/v1/configmaps?watch=true", 200, NULL, true },
        { 0 },
    };
    struct bed b = { 0 };

    bed_start(&b, script, (struct informer_options){ .ref.instance = STR("*") });
    bed_run(&b, 3);
    CHECK_STR(b.log, "add t1//a;add t2//a;synced //;");
    bed_end(&b);
}

TEST(keys_as_text)
{
    scoped_arena a = arena_new();
    struct informer_key k = { STR("i"), STR(""), STR("n") }, back;

    CHECK_STR(informer_key_text(a, &k).p, "i//n");
    CHECK(informer_key_parse(STR("i/ns/n"), &back));
    CHECK(str_is(back.instance, "i") && str_is(back.namespace, "ns") && str_is(back.name, "n"));
    CHECK(!informer_key_parse(STR("n"), &back));
    CHECK(!informer_key_parse(STR("a/b/c/d"), &back));
}
