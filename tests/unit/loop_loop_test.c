/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "loop/loop.h"
#include "tap.h"

static struct loop *loop;

/* ---- mailbox ---- */

enum { POSTERS = 4, POSTS = 5000 };

struct note {
    struct loop_msg msg;
    int poster, n;
};

static int next_of[POSTERS], out_of_order, notes_seen;

static void on_note(struct loop_msg *msg)
{
    struct note *m = (struct note *)msg;

    out_of_order += next_of[m->poster]++ != m->n;
    free(m);
    if (++notes_seen == POSTERS * POSTS)
        loop_stop(loop);
}

static void *post_many(void *arg)
{
    int poster = (int)(intptr_t)arg;

    for (int i = 0; i < POSTS; i++) {
        struct note *m = malloc(sizeof(*m));

        if (!m)
            abort();
        *m = (struct note){ .msg.fn = on_note, .poster = poster, .n = i };
        loop_post(loop, &m->msg);
        if (i % 512 == 0)
            (void)usleep(200); /* lets the loop fall asleep now and then */
    }
    return NULL;
}

TEST(messages_of_many_threads_arrive_all_and_in_order)
{
    pthread_t t[POSTERS];

    loop = loop_new();
    for (intptr_t i = 0; i < POSTERS; i++)
        REQUIRE(pthread_create(&t[i], NULL, post_many, (void *)i) == 0);
    loop_run(loop);
    for (int i = 0; i < POSTERS; i++)
        (void)pthread_join(t[i], NULL);
    CHECK(notes_seen == POSTERS * POSTS);
    CHECK(out_of_order == 0);
    loop_free(loop);
}

static int calls;

static void count_call(void *arg)
{
    CHECK(loop_current() == arg);
    CHECK(loop_is_current(arg));
    calls++;
}

TEST(what_is_left_in_the_mailbox_runs_when_the_loop_is_freed)
{
    struct loop *l = loop_new();

    CHECK(!loop_is_current(l));
    calls = 0;
    loop_stop(l); /* before it runs: it returns at once */
    loop_run(l);
    loop_call(l, count_call, l);
    loop_call(l, count_call, l);
    CHECK(calls == 0);
    loop_free(l);
    CHECK(calls == 2);
    CHECK(!loop_current());
}

static struct loop_msg again;
static bool posting;

static void on_again(struct loop_msg *msg)
{
    CHECK(!posting);
    if (++calls == 3) {
        loop_stop(loop);
        return;
    }
    posting = true;
    loop_post(loop, msg);
    posting = false;
}

TEST(a_message_may_be_posted_again_from_its_own_call)
{
    loop = loop_new();
    calls = 0;
    again.fn = on_again;
    loop_post(loop, &again);
    loop_run(loop);
    CHECK(calls == 3);
    loop_free(loop);
}

/* ---- timers ---- */

enum { TIMERS = 200 };

static struct loop_timer timers[TIMERS];
static int fired, late_ms, early;
static int64_t last_at;

static void on_timer(struct loop_timer *t)
{
    int64_t late = loop_now_ms(loop) - t->at_ms;

    CHECK(t->slot == 0);
    CHECK(t->at_ms >= last_at);
    last_at = t->at_ms;
    early += late < 0;
    if (late > late_ms)
        late_ms = (int)late;
    fired++;
}

static void on_last(struct loop_timer *t)
{
    (void)t;
    loop_stop(loop);
}

TEST(timers_fire_in_order_never_early_and_only_when_armed)
{
    struct loop_timer last = { .fn = on_last }, moved = { .fn = on_timer };
    int want = 0;

    loop = loop_new();
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = (struct loop_timer){ .fn = on_timer };
        loop_timer_set(loop, &timers[i], (i * 7919) % 60);
    }
    loop_timer_set(loop, &last, 70);
    loop_timer_set(loop, &moved, 5);
    loop_timer_set(loop, &moved, 100000);
    for (int i = 0; i < TIMERS; i++)
        if (i % 3 == 0)
            loop_timer_cancel(loop, &timers[i]);
        else
            want++;
    loop_timer_cancel(loop, &timers[0]);
    loop_run(loop);
    CHECK(fired == want);
    CHECK(early == 0);
    CHECK(moved.slot != 0);
    loop_timer_cancel(loop, &moved);
    CHECK(moved.slot == 0);
    loop_free(loop);
}

TEST(a_clock_that_skips_lets_timers_fire)
{
    struct loop_timer last = { .fn = on_last };
    int64_t before;

    loop = loop_new();
    before = loop_now_ms(loop);
    loop_timer_set(loop, &last, 3600 * 1000);
    loop_skip_ms(loop, 3600 * 1000);
    loop_run(loop);
    CHECK(last.slot == 0 && loop_now_ms(loop) >= before + 3600 * 1000);
    loop_free(loop);
}

TEST(a_timer_of_a_loop_that_has_rested_counts_from_now)
{
    struct loop_timer last = { .fn = on_last };
    struct timespec nap = { 0, 30000000 };
    int64_t before;

    loop = loop_new();
    (void)nanosleep(&nap, NULL);
    loop_timer_set(loop, &last, 20);
    before = clock_now_ms(clock_real());
    loop_run(loop);
    CHECK(clock_now_ms(clock_real()) - before >= 18);
    loop_free(loop);
}

static int self_set;

static void on_self(struct loop_timer *t)
{
    if (++self_set == 5)
        loop_stop(loop);
    else
        loop_timer_set(loop, t, 0);
}

TEST(a_timer_may_set_itself_again)
{
    struct loop_timer t = { .fn = on_self };

    loop = loop_new();
    loop_timer_set(loop, &t, 0);
    loop_run(loop);
    CHECK(self_set == 5);
    loop_free(loop);
}

/* ---- files and defers ---- */

struct pair {
    struct loop_fd f;
    struct loop_defer d;
    struct pair *other;
    int events, flushes;
};

static int flush_order[4], nflushed;

static void on_flush(struct loop_defer *d)
{
    struct pair *p = (struct pair *)((char *)d - offsetof(struct pair, d));

    p->flushes++;
    if (nflushed < 4)
        flush_order[nflushed++] = p->events;
}

/* Whichever of two ready descriptors comes first takes the other away. */
static void on_ready(struct loop_fd *f, uint32_t events)
{
    struct pair *p = (struct pair *)f;

    if (!(events & EPOLLIN))
        return;
    p->events++;
    loop_fd_remove(loop, &p->other->f);
    loop_defer(loop, &p->d);
    loop_defer(loop, &p->d);
    loop_defer(loop, &p->other->d);
    loop_defer_cancel(loop, &p->other->d);
    loop_stop(loop);
}

TEST(no_call_comes_after_a_descriptor_was_removed)
{
    struct pair a = { .f.fn = on_ready, .d.fn = on_flush }, b = a;
    int fds[2][2];

    a.other = &b;
    b.other = &a;
    loop = loop_new();
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[0]) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[1]) == 0);
    a.f.fd = fds[0][0];
    b.f.fd = fds[1][0];
    REQUIRE(loop_fd_add(loop, &a.f) == 0 && loop_fd_add(loop, &b.f) == 0);
    REQUIRE(write(fds[0][1], "x", 1) == 1 && write(fds[1][1], "x", 1) == 1);
    loop_run(loop);
    CHECK(a.events + b.events == 1);
    CHECK(a.flushes + b.flushes == 1);
    CHECK(nflushed == 1 && flush_order[0] == 1);
    loop_free(loop);
    for (int i = 0; i < 4; i++)
        (void)close(fds[i / 2][i % 2]);
}

/* ---- turns ---- */

enum { LOUD = 1, QUIET = 2, LOUDS = 200 };

static int louds, louds_before, looked_at;
static struct loop_defer sends;
static int sent_before;

static void spin(int64_t ns)
{
    struct timespec from, now;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    do
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

static void on_loud(struct loop_msg *msg)
{
    (void)msg;
    spin(50000);
    if (++louds == LOUDS)
        loop_stop(loop);
}

static void on_send(struct loop_defer *d)
{
    (void)d;
    sent_before = louds;
}

static void on_quiet(struct loop_msg *msg)
{
    (void)msg;
    louds_before = louds;
    loop_defer(loop, &sends);
}

static void on_look(struct loop_msg *msg)
{
    (void)msg;
    looked_at = louds;
}

static void *post_late(void *arg)
{
    (void)usleep(2000);
    loop_post(loop, arg);
    return NULL;
}

TEST(one_with_many_messages_leaves_turns_to_others)
{
    static struct loop_msg loud[LOUDS];
    struct loop_msg quiet = { .fn = on_quiet, .whose = QUIET }, nobody = { .fn = on_look };
    pthread_t t;

    loop = loop_new();
    sends.fn = on_send;
    louds = looked_at = 0;
    for (int i = 0; i < LOUDS; i++) {
        loud[i] = (struct loop_msg){ .fn = on_loud, .whose = LOUD };
        loop_post(loop, &loud[i]);
    }
    loop_post(loop, &quiet);
    REQUIRE(pthread_create(&t, NULL, post_late, &nobody) == 0);
    loop_run(loop);
    (void)pthread_join(t, NULL);
    CHECK(louds_before < 20 && sent_before < 20); /* what it did is sent with it */
    CHECK(looked_at > 0 && looked_at < LOUDS);    /* the mailbox is looked at meanwhile */
    loop_free(loop);
}

TEST(what_has_begun_is_ended_when_the_loop_goes)
{
    struct loop_msg goes_on[20], reads = { .fn = on_look, .whose = LOUD, .rank = LOOP_READS };
    struct loop_msg stops = { .fn = on_quiet };

    loop = loop_new();
    louds = looked_at = -1000;
    for (int i = 0; i < 20; i++) {
        goes_on[i] = (struct loop_msg){ .fn = on_loud, .whose = LOUD };
        loop_post(loop, &goes_on[i]);
    }
    loop_post(loop, &stops);
    loop_wait(loop, &reads);
    loop_free(loop);
    CHECK(louds == -980 && looked_at == -1000 && !loop_waits(&reads));
    loop_wait_cancel(loop, &reads); /* which the owner may do all the same */
}

/* ---- a loop that reads ---- */

static void note_freed(void *arg)
{
    *(bool *)arg = true;
}

static void *free_it(void *arg)
{
    epoch_retire(note_freed, arg);
    epoch_drain();
    loop_stop(loop);
    return NULL;
}

/* What another thread frees meanwhile waits for no timer. */
TEST(a_loop_that_reads_holds_nothing_while_it_sleeps)
{
    static struct loop_timer late = { .fn = on_last };
    bool freed = false;
    pthread_t other;

    loop = loop_new();
    loop_set_reading(loop);
    loop_timer_set(loop, &late, 60000);
    epoch_enter();
    REQUIRE(pthread_create(&other, NULL, free_it, &freed) == 0);
    loop_run(loop);
    CHECK(freed);
    epoch_exit();
    (void)pthread_join(other, NULL);
    loop_timer_cancel(loop, &late);
    loop_free(loop);
}

/* ---- a thread that waits ---- */

struct call_back {
    struct loop_msg msg; /* first */
    struct loop *own;
    bool done;
    int left; /* comes so often again before */
};

static void on_call_back(struct loop_msg *msg)
{
    struct call_back *c = (struct call_back *)msg;

    CHECK(loop_is_current(c->own));
    if (c->left-- > 0)
        loop_post(c->own, msg);
    else
        c->done = true;
}

static void *call_back_later(void *arg)
{
    struct call_back *c = arg;

    (void)usleep(5000);
    loop_post(c->own, &c->msg);
    return NULL;
}

TEST(a_thread_that_waits_runs_its_own_loop)
{
    struct call_back here = { .msg.fn = on_call_back, .own = loop_own(), .left = 2 };
    struct call_back later = here, behind = here;
    pthread_t thread;

    CHECK(loop_own() == here.own);
    loop_post(here.own, &here.msg);
    loop_run_until(here.own, &here.done);
    CHECK(here.done && !loop_current());
    REQUIRE(pthread_create(&thread, NULL, call_back_later, &later) == 0);
    loop_run_until(later.own, &later.done);
    CHECK(later.done);
    (void)pthread_join(thread, NULL);
    behind.msg.whose = 7;             /* also what has turns */
    loop_post(here.own, &behind.msg); /* what came, too, is not left behind */
    loop_run_until(here.own, &here.done);
    CHECK(behind.done);
}

static void *wait_once(void *arg)
{
    struct call_back *c = arg;

    c->own = loop_own();
    loop_post(c->own, &c->msg);
    loop_run_until(c->own, &c->done);
    return NULL;
}

TEST(which_goes_with_the_thread)
{
    struct call_back c = { .msg.fn = on_call_back };
    pthread_t thread;

    REQUIRE(pthread_create(&thread, NULL, wait_once, &c) == 0);
    (void)pthread_join(thread, NULL);
    CHECK(c.done && c.own != loop_own());
}
