/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store_model.h"
#include "tap.h"

/* A watch that writes down what it is told: "+a@3 " put, "-a@4 " delete, "!Gone" closed. */
struct seen {
    struct hub_watch watch;
    struct buf text;
    struct hub *hub;
    int stop_after; /* events; 0: never */
    struct seen *stop_other;
};

static void seen_event(struct hub_watch *w, const struct store_event *ev)
{
    struct seen *s = (struct seen *)w;

    buf_printf(&s->text, "%c%.*s@%llu ", ev->kind == STORE_EVENT_PUT ? '+' : '-',
               STR_ARG(ev->key.name), (unsigned long long)ev->rev);
    if (s->stop_other) {
        hub_watch_stop(s->hub, &s->stop_other->watch);
        s->stop_other = NULL;
    }
    if (s->stop_after && --s->stop_after == 0)
        hub_watch_stop(s->hub, w);
}

static void seen_closed(struct hub_watch *w, const struct status *why)
{
    buf_printf(&((struct seen *)w)->text, "!%s", status_reason(why));
}

static void seen_init(struct seen *s, uint32_t type, uint32_t instance, str prefix)
{
    *s = (struct seen){ .watch = { .type = type, .instance = instance, .prefix = prefix } };
    s->watch.event = seen_event;
    s->watch.closed = seen_closed;
    buf_init(&s->text, 1 << 20);
}

static const char *seen_text(struct seen *s)
{
    buf_byte(&s->text, '\0');
    s->text.n--;
    return s->text.p;
}

/* The loop is run until nothing is left to do: a message behind all others stops it. */
struct fixture {
    struct store *store;
    struct loop *loop;
    struct hub *hub;
};

static void fixture_init(struct fixture *f)
{
    f->store = model_open();
    f->loop = loop_new();
    f->hub = hub_new(f->store, f->loop);
}

static void fixture_release(struct fixture *f)
{
    hub_free(f->hub);
    loop_free(f->loop);
    store_close(f->store);
}

struct turns {
    struct loop *loop;
    int left;
};

static void turn(void *arg)
{
    struct turns *t = arg;

    if (t->left-- > 0)
        loop_call(t->loop, turn, t);
    else
        loop_stop(t->loop);
}

static void settle(struct fixture *f)
{
    struct turns t = { f->loop, 40 };

    loop_call(f->loop, turn, &t);
    loop_run(f->loop);
}

static void put(struct fixture *f, uint32_t type, uint32_t instance, const char *name)
{
    struct store_op op = { .kind = STORE_PUT,
                           .key = { type, instance, str_of(name) },
                           .expect = STORE_ANY,
                           .value = STR("v") };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    CHECK(store_commit_wait(f->store, &txn) == 0);
}

static void delete (struct fixture *f, uint32_t type, uint32_t instance, const char *name)
{
    struct store_op op = { .kind = STORE_DELETE,
                           .key = { type, instance, str_of(name) },
                           .expect = STORE_ANY };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    CHECK(store_commit_wait(f->store, &txn) == 0);
}

static void drop(struct fixture *f, uint32_t instance)
{
    struct store_op op = { .kind = STORE_DROP, .key = { .instance = instance } };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    CHECK(store_commit_wait(f->store, &txn) == 0);
}

TEST(a_watch_is_told_what_concerns_it)
{
    struct fixture f;
    struct seen mine, other, all;

    fixture_init(&f);
    seen_init(&mine, 1, 1, STR("a/"));
    seen_init(&other, 2, 1, STR_NONE);
    seen_init(&all, 1, STORE_ALL, STR_NONE);
    hub_watch_start(f.hub, &mine.watch, 0);
    hub_watch_start(f.hub, &other.watch, 0);
    hub_watch_start(f.hub, &all.watch, 0);
    put(&f, 1, 1, "a/x");
    put(&f, 1, 1, "b/x");
    put(&f, 1, 2, "a/x");
    put(&f, 2, 1, "a/x");
    delete (&f, 1, 1, "a/x");
    settle(&f);
    CHECK_STR(seen_text(&mine), "+a/x@1 -a/x@5 ");
    CHECK_STR(seen_text(&other), "+a/x@4 ");
    CHECK_STR(seen_text(&all), "+a/x@1 +b/x@2 +a/x@3 -a/x@5 ");
    CHECK(hub_revision(f.hub) == 5);
    hub_watch_stop(f.hub, &mine.watch);
    put(&f, 1, 1, "a/y");
    settle(&f);
    CHECK_STR(seen_text(&mine), "+a/x@1 -a/x@5 ");
    hub_watch_stop(f.hub, &other.watch);
    hub_watch_stop(f.hub, &all.watch);
    buf_release(&mine.text);
    buf_release(&other.text);
    buf_release(&all.text);
    fixture_release(&f);
}

/* Prefixes of every sort, in groups of their own and together, some of which go and come. */
TEST(watches_of_many_prefixes_are_told_what_concerns_them)
{
    static const char *const prefixes[] = { "",    "a",   "a/",    "a/x",  "a/xy", "b/",
                                            "b/x", "b/z", "c",     "c/d/", "/",    "aa/",
                                            "aa",  "ab/", "ab/x/", "z",    "zz/",  "zz/z" };
    static const char *const names[] = {
        "a/x", "a/xy", "b/z", "c", "c/d/e", "aa/x", "ab/x/y", "zz"
    };
    enum { P = sizeof(prefixes) / sizeof(prefixes[0]), N = sizeof(names) / sizeof(names[0]) };
    struct fixture f;
    struct seen w[P * 3];
    unsigned want[P * 3] = { 0 };

    fixture_init(&f);
    for (unsigned i = 0; i < P * 3; i++) {
        seen_init(&w[i], 1, i % 3 == 2 ? STORE_ALL : 1, str_of(prefixes[i / 3]));
        hub_watch_start(f.hub, &w[i].watch, 0);
    }
    for (unsigned round = 0; round < 6; round++) {
        unsigned off = round % 3 * P, instance = 1 + round % 2;

        for (unsigned i = off; round > 2 && i < off + P; i++)
            hub_watch_stop(f.hub, &w[i].watch);
        for (unsigned k = 0; k < N; k++)
            put(&f, 1, instance, names[k]);
        settle(&f);
        for (unsigned i = 0; i < P * 3; i++)
            for (unsigned k = 0; k < N; k++)
                want[i] += (w[i].watch.instance == STORE_ALL || instance == 1) &&
                           !(round > 2 && i >= off && i < off + P) &&
                           str_starts(str_of(names[k]), w[i].watch.prefix);
        for (unsigned i = off; round > 2 && i < off + P; i++)
            hub_watch_start(f.hub, &w[i].watch, store_head(f.store));
    }
    for (unsigned i = 0; i < P * 3; i++) {
        unsigned got = 0;

        for (size_t k = 0; k < w[i].text.n; k++)
            got += w[i].text.p[k] == '@';
        if (got != want[i])
            printf("# %s: %u for %u\n", prefixes[i / 3], got, want[i]);
        CHECK(got == want[i]);
        hub_watch_stop(f.hub, &w[i].watch);
        buf_release(&w[i].text);
    }
    fixture_release(&f);
}

TEST(a_watch_from_the_past_catches_up_without_gap_or_repeat)
{
    struct fixture f;
    struct seen s;
    struct buf want;

    fixture_init(&f);
    seen_init(&s, 1, 1, STR_NONE);
    buf_init(&want, 1 << 20);
    for (int i = 1; i <= 1500; i++)
        put(&f, 1, 1, "a");
    settle(&f);
    hub_watch_start(f.hub, &s.watch, 100);
    CHECK(hub_revision(f.hub) <= 100);
    CHECK(hub_watch_revision(f.hub, &s.watch) == 100);
    put(&f, 1, 1, "a"); /* while it is catching up */
    settle(&f);
    put(&f, 1, 1, "a"); /* live */
    settle(&f);
    for (int i = 101; i <= 1502; i++)
        buf_printf(&want, "+a@%d ", i);
    buf_byte(&want, '\0');
    CHECK_STR(seen_text(&s), want.p);
    CHECK(hub_watch_revision(f.hub, &s.watch) == 1502);
    hub_watch_stop(f.hub, &s.watch);
    buf_release(&want);
    buf_release(&s.text);
    fixture_release(&f);
}

static bool takes_ten(struct hub_watch *w)
{
    struct seen *s = (struct seen *)w;

    return s->text.n >= 10 * sizeof("+a@100");
}

TEST(history_waits_for_a_watch_that_is_full)
{
    struct fixture f;
    struct seen slow, other;
    size_t taken = 0;
    int rounds = 0;

    fixture_init(&f);
    seen_init(&slow, 1, STORE_ALL, STR_NONE);
    seen_init(&other, 1, 1, STR_NONE);
    slow.watch.full = takes_ten;
    for (int i = 1; i <= 400; i++)
        put(&f, 1, i <= 200 ? 1 : 2, "a");
    drop(&f, 2);
    settle(&f);
    hub_watch_start(f.hub, &slow.watch, 99);
    hub_watch_start(f.hub, &other.watch, 190);
    for (; hub_watch_revision(f.hub, &slow.watch) < 401 && rounds < 1000; rounds++) {
        settle(&f);
        CHECK(slow.text.n <= 11 * sizeof("+a@100"));
        taken += slow.text.n;
        buf_clear(&slow.text);
        loop_skip_ms(f.loop, 10);
    }
    settle(&f);
    taken += slow.text.n;
    CHECK(taken == 302 * (sizeof("+a@100")) && rounds > 25);
    CHECK(hub_watch_revision(f.hub, &other.watch) == 401);
    CHECK(other.text.n == 10 * sizeof("+a@100"));
    hub_watch_stop(f.hub, &slow.watch);
    hub_watch_stop(f.hub, &other.watch);
    buf_release(&slow.text);
    buf_release(&other.text);
    fixture_release(&f);
}

TEST(a_watch_whose_history_is_gone_is_closed)
{
    struct fixture f;
    struct seen s;

    fixture_init(&f);
    seen_init(&s, 1, 1, STR_NONE);
    for (int i = 0; i < 10; i++)
        put(&f, 1, 1, "a");
    store_compact(f.store, 5);
    settle(&f);
    hub_watch_start(f.hub, &s.watch, 4);
    settle(&f);
    CHECK_STR(seen_text(&s), "!Expired");
    buf_release(&s.text);
    fixture_release(&f);
}

TEST(callbacks_may_stop_watches)
{
    struct fixture f;
    struct seen s[4];

    fixture_init(&f);
    for (int i = 0; i < 4; i++) {
        seen_init(&s[i], 1, 1, STR_NONE);
        s[i].hub = f.hub;
        hub_watch_start(f.hub, &s[i].watch, 0);
    }
    /* They are told in the order 3, 2, 1, 0. */
    s[3].stop_other = &s[2];
    s[1].stop_after = 1;
    put(&f, 1, 1, "a");
    put(&f, 1, 1, "b");
    settle(&f);
    CHECK_STR(seen_text(&s[3]), "+a@1 +b@2 ");
    CHECK_STR(seen_text(&s[2]), "");
    CHECK_STR(seen_text(&s[1]), "+a@1 ");
    CHECK_STR(seen_text(&s[0]), "+a@1 +b@2 ");
    hub_watch_stop(f.hub, &s[3].watch);
    hub_watch_stop(f.hub, &s[0].watch);
    for (int i = 0; i < 4; i++)
        buf_release(&s[i].text);
    fixture_release(&f);
}

TEST(a_dropped_instance_ends_its_watches_and_tells_the_wildcard_ones)
{
    struct fixture f;
    struct seen own, all, late, prefixed;

    fixture_init(&f);
    put(&f, 1, 7, "a/x");
    put(&f, 1, 7, "a/y");
    put(&f, 1, 8, "a/x");
    put(&f, 2, 7, "a/z");
    settle(&f);
    seen_init(&own, 1, 7, STR_NONE);
    seen_init(&all, 1, STORE_ALL, STR_NONE);
    seen_init(&late, 1, STORE_ALL, STR_NONE);
    seen_init(&prefixed, 2, STORE_ALL, STR("b/"));
    hub_watch_start(f.hub, &own.watch, 4);
    hub_watch_start(f.hub, &all.watch, 4);
    hub_watch_start(f.hub, &prefixed.watch, 4);
    drop(&f, 7);
    put(&f, 1, 8, "a/y");
    settle(&f);
    CHECK_STR(seen_text(&own), "!Gone");
    /* Only the last says the drop's own revision, so that nothing is missed by who resumes. */
    CHECK_STR(seen_text(&all), "-a/x@4 -a/y@5 +a/y@6 ");
    CHECK_STR(seen_text(&prefixed), "");
    hub_watch_start(f.hub, &late.watch, 2);
    settle(&f);
    CHECK_STR(seen_text(&late), "+a/x@3 -a/x@4 -a/y@5 +a/y@6 ");
    hub_watch_stop(f.hub, &all.watch);
    hub_watch_stop(f.hub, &late.watch);
    hub_watch_stop(f.hub, &prefixed.watch);
    buf_release(&own.text);
    buf_release(&all.text);
    buf_release(&late.text);
    buf_release(&prefixed.text);
    fixture_release(&f);
}

TEST(a_large_drop_is_told_in_portions_and_can_be_left)
{
    struct fixture f;
    struct seen all, quits;
    struct buf want;

    fixture_init(&f);
    buf_init(&want, 1 << 20);
    for (int i = 0; i < 700; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%03d", i);
        put(&f, 1, 7, name);
        buf_printf(&want, "-%s@%d ", name, i < 699 ? 700 : 701);
    }
    settle(&f);
    seen_init(&all, 1, STORE_ALL, STR_NONE);
    seen_init(&quits, 1, STORE_ALL, STR_NONE);
    quits.hub = f.hub;
    quits.stop_after = 300;
    hub_watch_start(f.hub, &all.watch, 700);
    hub_watch_start(f.hub, &quits.watch, 700);
    drop(&f, 7);
    settle(&f);
    buf_byte(&want, '\0');
    CHECK_STR(seen_text(&all), want.p);
    CHECK(quits.stop_after == 0);
    CHECK(hub_revision(f.hub) == 701);
    hub_watch_stop(f.hub, &all.watch);
    buf_release(&all.text);
    buf_release(&quits.text);
    buf_release(&want);
    fixture_release(&f);
}

TEST(the_last_row_of_a_drop_gives_way_to_an_event_of_the_same_revision)
{
    struct fixture f;
    struct seen all;
    struct store_op ops[] = {
        { .kind = STORE_PUT, .key = { 1, 8, STR("b") }, .expect = STORE_ANY, .value = STR("v") },
        { .kind = STORE_DROP, .key = { .instance = 7 } },
    };
    struct store_txn txn = { .ops = ops, .nops = 2 };

    fixture_init(&f);
    put(&f, 1, 7, "a");
    settle(&f);
    seen_init(&all, 1, STORE_ALL, STR_NONE);
    hub_watch_start(f.hub, &all.watch, 1);
    CHECK(store_commit_wait(f.store, &txn) == 0);
    settle(&f);
    CHECK_STR(seen_text(&all), "-a@1 +b@2 ");
    hub_watch_stop(f.hub, &all.watch);
    buf_release(&all.text);
    fixture_release(&f);
}

/* ---- time ---- */

enum { SLOW = 20, SLOW_EVENTS = 20 };

static struct slow {
    struct hub_watch watch[SLOW];
    struct loop *loop;
    int told, turns;
} slow;

static void slow_event(struct hub_watch *w, const struct store_event *ev)
{
    struct timespec from, now;

    (void)w;
    (void)ev;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    do
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 50000);
    if (++slow.told == SLOW * SLOW_EVENTS)
        loop_stop(slow.loop);
}

static void slow_turn(void *arg)
{
    slow.turns++;
    if (slow.told < SLOW * SLOW_EVENTS)
        loop_call(slow.loop, slow_turn, arg);
}

/* Told while they are live, or from the past: somebody else's messages come between. */
static void tell_slow(bool past)
{
    struct fixture f;

    fixture_init(&f);
    slow = (struct slow){ .loop = f.loop };
    for (int i = 0; i < SLOW_EVENTS && past; i++)
        put(&f, 1, 1, "a");
    for (int i = 0; i < SLOW; i++) {
        slow.watch[i] = (struct hub_watch){ .type = 1, .instance = 1, .event = slow_event };
        slow.watch[i].closed = seen_closed;
        hub_watch_start(f.hub, &slow.watch[i], 0);
    }
    if (!past)
        settle(&f);
    for (int i = 0; i < SLOW_EVENTS && !past; i++)
        put(&f, 1, 1, "a");
    loop_call(f.loop, slow_turn, NULL);
    loop_run(f.loop);
    CHECK(slow.told == SLOW * SLOW_EVENTS && slow.turns >= SLOW / 2);
    for (int i = 0; i < SLOW; i++)
        hub_watch_stop(f.hub, &slow.watch[i]);
    fixture_release(&f);
}

TEST(many_watches_leave_the_loop_to_others)
{
    tell_slow(false);
    tell_slow(true);
}
