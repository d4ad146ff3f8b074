/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"

#include <pthread.h>
#include <time.h>

#include "base/banned.h"
#include "client_fake.h"
#include "tap.h"

/* A server with as many objects of any type as the test says, and watches that stay open. */

enum { WATCHES_MAX = 8, LOG_MAX = 4096 };

struct bed {
    struct loop *loop;
    struct fake fake;
    struct client *client;
    pthread_t thread;
    int objects;
    bool owned; /* they are in the instance shop */
    int lists;  /* only the loop counts */
    struct http_call *watches[WATCHES_MAX];
    int nwatches;

    pthread_mutex_t mu;
    pthread_cond_t cond;
    /* guarded by mu: */
    char log[LOG_MAX];
    bool blocked; /* who reconciles for "slow" waits */
    int inside, inside_max;
};

/* What a controller of the test has as its arg. */
struct actor {
    struct bed *bed;
    char name;
    bool slow;
    int fails;    /* so many times, then no more */
    bool orphan;  /* the instance of its keys has gone */
    int again_ms; /* once */
    struct controller *self;
};

static void serve(struct fake *f, struct http_call *call)
{
    struct bed *b = f->arg;
    scoped_buf list;

    buf_init(&list, 1 << 20);
    if (str_contains(call->path, STR("watch=true"))) {
        fake_open(call, 200);
        b->watches[b->nwatches++] = call;
        return;
    }
    b->lists++;
    buf_lit(&list, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[");
    for (int i = 0; i < b->objects; i++)
        buf_printf(&list, "%s{\"metadata\":{\"name\":\"%d\",\"resourceVersion\":\"1\"%s}}",
                   i ? "," : "", i,
                   b->owned ? ",\"annotations\":{\"kairship.io/instance\":\"shop\"}" : "");
    buf_lit(&list, "]}");
    buf_byte(&list, 0);
    fake_reply(call, 200, list.p);
}

static void *run(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void bed_init(struct bed *b, int objects)
{
    *b = (struct bed){ .loop = loop_new(), .objects = objects };
    (void)pthread_mutex_init(&b->mu, NULL);
    (void)pthread_cond_init(&b->cond, NULL);
    b->fake.serve = serve;
    b->fake.arg = b;
    fake_init(&b->fake, b->loop);
    b->client = client_new(&b->fake.base);
    if (pthread_create(&b->thread, NULL, run, b->loop) != 0)
        abort();
}

static void bed_free(struct bed *b)
{
    loop_stop(b->loop);
    (void)pthread_join(b->thread, NULL);
    CHECK(b->fake.open == 0); /* no informer was forgotten */
    client_free(b->client);
    loop_free(b->loop);
    (void)pthread_cond_destroy(&b->cond);
    (void)pthread_mutex_destroy(&b->mu);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct actor *actor = arg;
    struct bed *b = actor->bed;
    size_t n;
    int rc = 0;

    (void)client;
    (void)a;
    (void)pthread_mutex_lock(&b->mu);
    b->inside += actor->slow;
    b->inside_max = b->inside > b->inside_max ? b->inside : b->inside_max;
    while (actor->slow && b->blocked)
        (void)pthread_cond_wait(&b->cond, &b->mu);
    b->inside -= actor->slow;
    n = strlen(b->log);
    (void)snprintf(b->log + n, sizeof(b->log) - n, "%c%.*s;", actor->name, STR_ARG(k->name));
    (void)pthread_cond_broadcast(&b->cond);
    if (actor->fails > 0) {
        actor->fails--;
        rc = actor->orphan
                 ? status_not_found(st, STR("tenancy.kairship.io"), STR("instances"), k->instance)
                 : status_set(st, REASON_CONFLICT, "not yet");
    } else if (actor->again_ms) {
        rc = actor->again_ms;
        actor->again_ms = 0;
    }
    (void)pthread_mutex_unlock(&b->mu);
    return rc;
}

static struct controller_spec spec_of(struct actor *actor, const char *resource)
{
    return (struct controller_spec){ .name = "test",
                                     .ref = { .version = STR("v1"), .resource = str_of(resource) },
                                     .reconcile = reconcile,
                                     .arg = actor };
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* Whether `what` comes to stand in the log so many times, within ten seconds. */
static bool comes(struct bed *b, const char *what, int times)
{
    struct timespec until;
    int got;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    (void)pthread_mutex_lock(&b->mu);
    while ((got = count(b->log, what)) < times)
        if (pthread_cond_timedwait(&b->cond, &b->mu, &until) != 0)
            break;
    (void)pthread_mutex_unlock(&b->mu);
    return got == times;
}

static void set_blocked(struct bed *b, bool blocked)
{
    (void)pthread_mutex_lock(&b->mu);
    b->blocked = blocked;
    (void)pthread_cond_broadcast(&b->cond);
    (void)pthread_mutex_unlock(&b->mu);
}

/* Once both watches are open. */
static void change_first(void *arg)
{
    struct bed *b = arg;

    if (b->nwatches < 2) {
        loop_call(b->loop, change_first, b);
        return;
    }
    for (int i = 0; i < b->nwatches; i++)
        fake_send(b->watches[i], "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"0\","
                                 "\"resourceVersion\":\"10\"}}}\n");
}

TEST(controllers_of_one_thing_share_its_informer)
{
    struct bed b;
    struct actor one = { .bed = &b, .name = 'a' }, two = { .bed = &b, .name = 'b' },
                 other = { .bed = &b, .name = 'c' };
    struct controller_spec s1 = spec_of(&one, "pods"), s2 = spec_of(&two, "pods"),
                           s3 = spec_of(&other, "pods");
    struct controller_group *g;
    struct controller *first;

    bed_init(&b, 3);
    g = controller_group_new(2);
    first = controller_group_start(g, &s1, b.client);
    CHECK(comes(&b, "a", 3));
    (void)controller_group_start(g, &s2, b.client); /* late: it hears of all the same */
    CHECK(comes(&b, "b", 3));
    s3.label_selector = STR("x=y"); /* another thing */
    (void)controller_group_start(g, &s3, b.client);
    CHECK(comes(&b, "c", 3));
    loop_call(b.loop, change_first, &b);
    CHECK(comes(&b, "a0;", 2) && comes(&b, "b0;", 2) && comes(&b, "c0;", 2));
    controller_stop(first); /* whose informer it was */
    (void)controller_group_start(g, &s1, b.client);
    CHECK(comes(&b, "a", 7));
    controller_group_free(g);
    bed_free(&b);
    CHECK(b.lists == 2);
}

TEST(a_slow_one_does_not_hold_up_the_others)
{
    struct bed b;
    struct actor slow = { .bed = &b, .name = 's', .slow = true },
                 quick = { .bed = &b, .name = 'q' };
    struct controller_spec s = spec_of(&slow, "pods"), q = spec_of(&quick, "nodes");
    struct controller_group *g;

    bed_init(&b, 5);
    b.blocked = true;
    g = controller_group_new(2);
    (void)controller_group_start(g, &s, b.client);
    (void)controller_group_start(g, &q, b.client);
    CHECK(comes(&b, "q", 5));
    CHECK(comes(&b, "s", 0));
    set_blocked(&b, false);
    CHECK(comes(&b, "s", 5));
    CHECK(b.inside_max == 1); /* one at a time, whatever the workers */
    controller_group_free(g);
    bed_free(&b);
}

/* With one worker: who has much to do gives way after each key. */
TEST(they_are_served_in_turn)
{
    struct bed b;
    struct actor much = { .bed = &b, .name = 'm', .slow = true },
                 little = { .bed = &b, .name = 'l' };
    struct controller_spec m = spec_of(&much, "pods"), l = spec_of(&little, "nodes");
    struct controller_group *g;
    const char *end;

    bed_init(&b, 100);
    b.blocked = true;
    g = controller_group_new(1);
    (void)controller_group_start(g, &m, b.client);
    (void)controller_group_start(g, &l, b.client);
    for (;;) { /* both queues are full when it goes on */
        bool begun;

        (void)pthread_mutex_lock(&b.mu);
        begun = b.inside > 0;
        (void)pthread_mutex_unlock(&b.mu);
        if (begun)
            break;
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    (void)nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    set_blocked(&b, false);
    CHECK(comes(&b, "m", 100) && comes(&b, "l", 100));
    end = strstr(b.log, "l9;"); /* its tenth */
    CHECK(end && end - b.log < 4 * 24);
    controller_group_free(g);
    bed_free(&b);
}

TEST(failures_and_wishes_come_again)
{
    struct bed b;
    struct actor failing = { .bed = &b, .name = 'f', .fails = 6 },
                 wishing = { .bed = &b, .name = 'w', .again_ms = 20 };
    struct controller_spec f = spec_of(&failing, "pods"), w = spec_of(&wishing, "nodes");
    struct controller *c, *d;

    bed_init(&b, 1);
    c = controller_start(&f, b.client);
    d = controller_start(&w, b.client);
    CHECK(comes(&b, "f0;", 7));
    CHECK(comes(&b, "w0;", 2));
    controller_stop(c);
    controller_stop(d);
    controller_stop(NULL);
    bed_free(&b);
}

TEST(what_was_in_an_instance_that_has_gone_is_let_go)
{
    struct bed b;
    struct actor orphan = { .bed = &b, .name = 'o', .fails = 100, .orphan = true },
                 failing = { .bed = &b, .name = 'f', .fails = 3 };
    struct controller_spec o = spec_of(&orphan, "pods"), f = spec_of(&failing, "nodes");
    struct controller *c, *d;

    bed_init(&b, 1);
    b.owned = true;
    c = controller_start(&o, b.client);
    CHECK(comes(&b, "o0;", 1));
    d = controller_start(&f, b.client);
    CHECK(comes(&b, "f0;", 4)); /* with pauses that grow: the other would have come, too */
    CHECK(count(b.log, "o0;") == 1);
    controller_stop(c);
    controller_stop(d);
    bed_free(&b);
}

/* A delay that a busy worker knows of is kept by the other. */
TEST(a_delay_is_kept_while_the_other_worker_is_busy)
{
    struct bed b;
    struct actor slow = { .bed = &b, .name = 's', .slow = true },
                 wishing = { .bed = &b, .name = 'w', .again_ms = 300 };
    struct controller_spec s = spec_of(&slow, "pods"), w = spec_of(&wishing, "nodes");
    struct controller_group *g;

    bed_init(&b, 1);
    b.blocked = true;
    g = controller_group_new(2);
    (void)controller_group_start(g, &w, b.client);
    CHECK(comes(&b, "w0;", 1));
    (void)controller_group_start(g, &s, b.client);
    CHECK(comes(&b, "w0;", 2));
    set_blocked(&b, false);
    CHECK(comes(&b, "s0;", 1));
    controller_group_free(g);
    bed_free(&b);
}

/* What waits is dropped, what runs is waited for. */
TEST(a_stop_waits_for_one_and_drops_the_rest)
{
    struct bed b;
    struct actor slow = { .bed = &b, .name = 's', .slow = true };
    struct controller_spec s = spec_of(&slow, "pods");
    struct controller *c;

    bed_init(&b, 50);
    c = controller_start(&s, b.client);
    CHECK(comes(&b, "s0;", 1));
    controller_stop(c);
    CHECK(b.inside == 0);
    bed_free(&b);
}

/* An object of another kind concerns a key that it names. */
static void twice_the_name(void *arg, struct controller *c, const struct informer_key *k,
                           const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key other = { .name = str_printf(a, "%.*sx", STR_ARG(k->name)) };

    (void)arg;
    if (object && !deleted)
        controller_wake(c, &other);
}

static void keep(void *arg, struct controller *c)
{
    struct actor *actor = arg;

    actor->self = c;
}

TEST(other_things_are_told_as_its_own_keys)
{
    struct bed b;
    struct actor one = { .bed = &b, .name = 'a' }, two = { .bed = &b, .name = 'b' };
    static const struct controller_source also[] = {
        { .ref = { .version = STR("v1"), .resource = STR_INIT("nodes") }, .map = twice_the_name },
    };
    struct controller_source late = { .ref = { .version = STR("v1"), .resource = STR("pods") },
                                      .label_selector = STR("a=b"),
                                      .map = twice_the_name };
    struct controller_spec s1 = spec_of(&one, "pods"), s2 = spec_of(&two, "nodes");
    struct controller_group *g;

    bed_init(&b, 3);
    s1.also = also;
    s1.nalso = 1;
    s1.started = keep;
    g = controller_group_new(2);
    (void)controller_group_start(g, &s2, b.client); /* it has nodes, but its objects are told */
    CHECK(comes(&b, "b", 3));
    (void)controller_group_start(g, &s1, b.client);
    CHECK(comes(&b, "a0;", 1) && comes(&b, "a1;", 1) && comes(&b, "a2;", 1));
    CHECK(comes(&b, "a0x;", 1) && comes(&b, "a2x;", 1));
    controller_watch(one.self, &late);
    CHECK(comes(&b, "a0x;", 2) && comes(&b, "a2x;", 2));
    controller_watch(one.self, &late); /* known: nothing is listed, and nobody woken */
    controller_watch(one.self, &also[0]);
    controller_wake(one.self, &(struct informer_key){ .name = STR("w") });
    controller_wake_after(one.self, &(struct informer_key){ .name = STR("later") }, 30);
    CHECK(comes(&b, "aw;", 1) && comes(&b, "alater;", 1) && comes(&b, "a0x;", 2));
    controller_group_free(g);
    bed_free(&b);
    CHECK(b.lists == 4);
}

struct change {
    struct bed *bed;
    const char *object;
};

/* Once the watch is open. */
static void change_object(void *arg)
{
    struct change *c = arg;
    scoped_arena a = arena_new();

    if (c->bed->nwatches < 1) {
        loop_call(c->bed->loop, change_object, c);
        return;
    }
    fake_send(c->bed->watches[0],
              arena_printf(a, "{\"type\":\"MODIFIED\",\"object\":%s}\n", c->object));
}

static void change(struct bed *b, const char *object)
{
    struct change c = { b, object };

    loop_call_wait(b->loop, change_object, &c);
}

TEST(who_wants_the_spec_only_hears_nothing_of_the_status)
{
    struct bed b;
    struct actor spec = { .bed = &b, .name = 'a' }, all = { .bed = &b, .name = 'b' };
    struct controller_spec s1 = spec_of(&spec, "pods"), s2 = spec_of(&all, "pods");
    struct controller_group *g;

    bed_init(&b, 1);
    s1.spec_only = true;
    s1.map = twice_the_name;
    g = controller_group_new(2);
    (void)controller_group_start(g, &s1, b.client);
    CHECK(comes(&b, "a0x;", 1));
    (void)controller_group_start(g, &s2, b.client);
    CHECK(comes(&b, "b0;", 1));
    change(&b, "{\"metadata\":{\"name\":\"0\",\"generation\":1,\"resourceVersion\":\"10\"}}");
    CHECK(comes(&b, "a0x;", 2) && comes(&b, "b0;", 2));
    change(&b, "{\"metadata\":{\"name\":\"0\",\"generation\":1,\"resourceVersion\":\"11\"},"
               "\"status\":{\"x\":1}}");
    CHECK(comes(&b, "b0;", 3));
    change(&b, "{\"metadata\":{\"name\":\"0\",\"generation\":1,\"resourceVersion\":\"12\","
               "\"labels\":{\"a\":\"b\"}}}");
    CHECK(comes(&b, "a0x;", 3) && comes(&b, "b0;", 4));
    change(&b, "{\"metadata\":{\"name\":\"0\",\"generation\":2,\"resourceVersion\":\"13\","
               "\"labels\":{\"a\":\"b\"}}}");
    CHECK(comes(&b, "a0x;", 4) && comes(&b, "b0;", 5));
    controller_group_free(g);
    bed_free(&b);
    CHECK(b.lists == 1);
}

TEST(one_that_wants_more_workers_has_them)
{
    struct bed b;
    struct actor slow = { .bed = &b, .name = 's', .slow = true };
    struct controller_spec s = spec_of(&slow, "pods");
    struct controller_group *g;

    bed_init(&b, 8);
    b.blocked = true;
    s.workers = 3;
    g = controller_group_new(4);
    (void)controller_group_start(g, &s, b.client);
    for (int inside = 0; inside < 3;) {
        (void)pthread_mutex_lock(&b.mu);
        inside = b.inside;
        (void)pthread_mutex_unlock(&b.mu);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    set_blocked(&b, false);
    CHECK(comes(&b, "s", 8));
    CHECK(b.inside_max == 3);
    controller_group_free(g);
    bed_free(&b);
}
