/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "loop/fair.h"

enum {
    EVENTS_MAX = 128,
    TURN_NS = 150000, /* then sockets are looked at again: some twenty small requests */
};

struct loop {
    int epoll, wake;
    int64_t now_ms, skipped_ms;
    int64_t began_ns; /* the turn did */
    struct fair fair; /* what waits for a turn of its own */

    struct epoll_event events[EVENTS_MAX];
    int nevents, next_event; /* the batch being handled */

    struct loop_timer **heap; /* smallest at_ms first; 0-based */
    size_t ntimers, timers_cap;
    bool firing;

    struct loop_defer *defers, **defers_tail;

    bool reading; /* loop_set_reading */

    /* Shared with the threads that post. */
    _Atomic(struct loop_msg *) mailbox; /* newest first */
    atomic_bool asleep, stop, bound;
    atomic_uint posting; /* threads inside of loop_post() */
};

static _Thread_local struct loop *current;

static void assert_ours(const struct loop *l)
{
    /* Before loop_run and after it the loop is its owner's, who runs alone. */
    assert(current == l || !atomic_load_explicit(&l->bound, memory_order_relaxed));
}

static int64_t clock_ms(const struct loop *l)
{
    return l->skipped_ms + clock_ns() / 1000000;
}

struct loop *loop_new(void)
{
    struct loop *l = mem_zalloc(sizeof(*l));
    /* Edge-triggered and never read: each write is a new edge. */
    struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->epoll < 0 || l->wake < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &ev) < 0)
        mem_exhausted(); /* descriptors at start: nothing can go on */
    l->now_ms = clock_ms(l);
    l->defers_tail = &l->defers;
    return l;
}

static void wake(struct loop *l)
{
    uint64_t one = 1;

    while (write(l->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

/* ---- mailbox ---- */

void loop_post(struct loop *l, struct loop_msg *msg)
{
    struct loop_msg *head = atomic_load_explicit(&l->mailbox, memory_order_relaxed);

    (void)atomic_fetch_add_explicit(&l->posting, 1, memory_order_relaxed);
    do
        msg->next = head;
    while (!atomic_compare_exchange_weak(&l->mailbox, &head, msg));
    /*
     * Sequentially consistent on both sides: either we see asleep, or the loop, which looks at the
     * mailbox once more after setting it, sees the message.  So a busy loop costs no system call.
     */
    if (atomic_load(&l->asleep) && atomic_exchange(&l->asleep, false))
        wake(l);
    (void)atomic_fetch_sub_explicit(&l->posting, 1, memory_order_release);
}

static void drain_mailbox(struct loop *l)
{
    struct loop_msg *newest, *oldest = NULL, *next;

    if (!atomic_load_explicit(&l->mailbox, memory_order_relaxed))
        return;
    newest = atomic_exchange_explicit(&l->mailbox, NULL, memory_order_acquire);
    for (; newest; newest = next) {
        next = newest->next;
        newest->next = oldest;
        oldest = newest;
    }
    for (; oldest; oldest = next) {
        next = oldest->next;
        if (!oldest->whose || loop_has_turn(l, oldest->whose))
            oldest->fn(oldest);
        else
            fair_push(&l->fair, oldest);
    }
}

struct posted_call {
    struct loop_msg msg;
    void (*fn)(void *arg);
    void *arg;
};

static void run_call(struct loop_msg *msg)
{
    struct posted_call *c = (struct posted_call *)msg;
    void (*fn)(void *) = c->fn;
    void *arg = c->arg;

    free(c);
    fn(arg);
}

void loop_call(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct posted_call *c = mem_alloc(sizeof(*c));

    *c = (struct posted_call){ .msg.fn = run_call, .fn = fn, .arg = arg };
    loop_post(l, &c->msg);
}

struct awaited {
    struct loop_msg msg;
    void (*fn)(void *arg);
    void *arg;
    sem_t done;
};

static void run_awaited(struct loop_msg *msg)
{
    struct awaited *w = (struct awaited *)msg;

    w->fn(w->arg);
    (void)sem_post(&w->done);
}

void loop_call_wait(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct awaited w = { .msg.fn = run_awaited, .fn = fn, .arg = arg };

    assert(loop_current() != l);
    (void)sem_init(&w.done, 0, 0);
    loop_post(l, &w.msg);
    while (sem_wait(&w.done) < 0) /* a signal */
        ;
    (void)sem_destroy(&w.done);
}

/* ---- file descriptors ---- */

int loop_fd_add(struct loop *l, struct loop_fd *f)
{
    struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = f };

    assert_ours(l);
    return epoll_ctl(l->epoll, EPOLL_CTL_ADD, f->fd, &ev);
}

void loop_fd_remove(struct loop *l, struct loop_fd *f)
{
    assert_ours(l);
    (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, f->fd, NULL);
    for (int i = l->next_event; i < l->nevents; i++)
        if (l->events[i].data.ptr == f)
            l->events[i].data.ptr = NULL;
}

static void handle_events(struct loop *l)
{
    for (l->next_event = 0; l->next_event < l->nevents;) {
        struct epoll_event *ev = &l->events[l->next_event++];
        struct loop_fd *f = ev->data.ptr;

        if (f)
            f->fn(f, ev->events);
    }
    l->nevents = 0;
}

/* ---- timers: a heap with four children a node, shallower than a binary one ---- */

static void heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
    l->heap[i] = t;
    t->slot = (uint32_t)i + 1;
}

static void heap_up(struct loop *l, size_t i, struct loop_timer *t)
{
    while (i > 0 && l->heap[(i - 1) / 4]->at_ms > t->at_ms) {
        heap_put(l, i, l->heap[(i - 1) / 4]);
        i = (i - 1) / 4;
    }
    heap_put(l, i, t);
}

static void heap_down(struct loop *l, size_t i, struct loop_timer *t)
{
    for (;;) {
        size_t first = i * 4 + 1, best = first;

        if (first >= l->ntimers)
            break;
        for (size_t c = first + 1; c < first + 4 && c < l->ntimers; c++)
            if (l->heap[c]->at_ms < l->heap[best]->at_ms)
                best = c;
        if (l->heap[best]->at_ms >= t->at_ms)
            break;
        heap_put(l, i, l->heap[best]);
        i = best;
    }
    heap_put(l, i, t);
}

static void heap_fix(struct loop *l, size_t i, struct loop_timer *t)
{
    if (i > 0 && l->heap[(i - 1) / 4]->at_ms > t->at_ms)
        heap_up(l, i, t);
    else
        heap_down(l, i, t);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms)
{
    assert_ours(l);
    assert(delay_ms < INT64_MAX / 2);
    if (current != l) /* it does not run: its last turn may be long ago */
        l->now_ms = clock_ms(l);
    t->at_ms = l->now_ms + (delay_ms > 0 ? delay_ms : 0);
    /* A timer that sets itself again must not hold up the turn. */
    if (l->firing && delay_ms <= 0)
        t->at_ms = l->now_ms + 1;
    if (t->slot) {
        heap_fix(l, t->slot - 1, t);
        return;
    }
    if (l->ntimers == l->timers_cap) {
        l->timers_cap = l->timers_cap ? l->timers_cap * 2 : 64;
        l->heap = mem_realloc_n(l->heap, l->timers_cap, sizeof(struct loop_timer *));
    }
    heap_up(l, l->ntimers++, t);
}

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
    struct loop_timer *last;
    size_t i;

    assert_ours(l);
    if (!t->slot)
        return;
    i = t->slot - 1;
    assert(i < l->ntimers && l->heap[i] == t);
    t->slot = 0;
    last = l->heap[--l->ntimers];
    if (last != t)
        heap_fix(l, i, last);
}

static void run_timers(struct loop *l)
{
    l->firing = true;
    while (l->ntimers && l->heap[0]->at_ms <= l->now_ms) {
        struct loop_timer *t = l->heap[0];

        loop_timer_cancel(l, t);
        t->fn(t);
    }
    l->firing = false;
}

/* ---- the end of a turn ---- */

void loop_defer(struct loop *l, struct loop_defer *d)
{
    assert_ours(l);
    if (d->queued)
        return;
    d->queued = true;
    d->next = NULL;
    *l->defers_tail = d;
    l->defers_tail = &d->next;
}

void loop_defer_cancel(struct loop *l, struct loop_defer *d)
{
    struct loop_defer **p = &l->defers;

    assert_ours(l);
    if (!d->queued)
        return;
    while (*p != d)
        p = &(*p)->next;
    *p = d->next;
    if (!*p)
        l->defers_tail = p;
    d->queued = false;
}

/* Takes one after the other off the list, so that any may cancel any other meanwhile; what they
 * defer anew runs now too, and a defer that defers itself would never end. */
static void run_defers(struct loop *l)
{
    for (struct loop_defer *d; (d = l->defers);) {
        l->defers = d->next;
        if (!l->defers)
            l->defers_tail = &l->defers;
        d->queued = false;
        d->fn(d);
    }
}

/* ---- turns ---- */

bool loop_is_calm(const struct loop *l)
{
    return fair_is_empty(&l->fair) && clock_ns() - l->began_ns < TURN_NS;
}

bool loop_has_turn(const struct loop *l, uint64_t whose)
{
    return fair_is_free(&l->fair, whose) && clock_ns() - l->began_ns < TURN_NS;
}

void loop_wait(struct loop *l, struct loop_msg *msg)
{
    assert_ours(l);
    fair_push(&l->fair, msg);
}

void loop_wait_cancel(struct loop *l, struct loop_msg *msg)
{
    if (msg->lane) /* else the loop may be gone */
        fair_remove(&l->fair, msg);
}

bool loop_may_send(const struct loop *l)
{
    return clock_ns() - l->began_ns < (l->fair.ran ? 2 * TURN_NS : TURN_NS);
}

/* Each lane sends what it has done when its turn ends, as a part of it. */
static void take_turns(struct loop *l)
{
    struct loop_msg *m;
    int64_t before, now;
    bool more;

    run_defers(l); /* of others */
    now = clock_ns();
    do {
        m = fair_take(&l->fair);
        if (!m)
            break;
        m->fn(m);
        before = now;
        now = clock_ns();
        more = now - l->began_ns < TURN_NS;
        if (!fair_charge(&l->fair, now - before) || !more) {
            run_defers(l);
            before = now;
            now = clock_ns();
            (void)fair_charge(&l->fair, now - before);
        }
        fair_done(&l->fair);
    } while (more);
}

static int sleep_ms(const struct loop *l)
{
    int64_t ms;

    if (!fair_is_empty(&l->fair))
        return 0;
    if (!l->ntimers)
        return -1;
    /* The turn may have been long: now_ms is from its beginning. */
    ms = l->heap[0]->at_ms - clock_ms(l);
    if (ms <= 0)
        return 0;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void wait_for_events(struct loop *l)
{
    int timeout = sleep_ms(l);

    if (timeout != 0)
        atomic_store(&l->asleep, true);
    if (atomic_load(&l->mailbox) || atomic_load(&l->stop))
        timeout = 0;
    if (l->reading)
        epoch_exit();
    l->nevents = epoll_wait(l->epoll, l->events, EVENTS_MAX, timeout);
    if (l->nevents < 0)
        l->nevents = 0; /* EINTR */
    atomic_store_explicit(&l->asleep, false, memory_order_relaxed);
    if (l->reading)
        epoch_enter();
    l->began_ns = clock_ns();
    l->now_ms = l->skipped_ms + l->began_ns / 1000000;
}

void loop_run(struct loop *l)
{
    assert(!current && !atomic_load(&l->bound));
    current = l;
    atomic_store(&l->bound, true);
    l->now_ms = clock_ms(l);
    while (!atomic_load_explicit(&l->stop, memory_order_acquire)) {
        wait_for_events(l);
        handle_events(l);
        drain_mailbox(l);
        if (!fair_is_empty(&l->fair))
            take_turns(l);
        run_timers(l);
        run_defers(l);
    }
    atomic_store(&l->stop, false);
    atomic_store(&l->bound, false);
    current = NULL;
}

/* ---- threads that wait ---- */

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* The thread ends; who told it of the last thing may be about to wake it still. */
static void own_free(void *arg)
{
    struct loop *l = arg;

    while (atomic_load_explicit(&l->posting, memory_order_acquire))
        (void)usleep(10);
    loop_free(l);
}

static void own_init(void)
{
    if (pthread_key_create(&own_key, own_free) != 0)
        mem_exhausted();
}

struct loop *loop_own(void)
{
    struct loop *l;

    assert(!current);
    (void)pthread_once(&own_once, own_init);
    l = pthread_getspecific(own_key);
    if (l)
        return l;
    l = loop_new();
    loop_set_reading(l);
    if (pthread_setspecific(own_key, l) != 0)
        mem_exhausted();
    return l;
}

/* What is there already is done without asking the kernel. */
void loop_run_until(struct loop *l, const bool *done)
{
    assert(!current && !atomic_load(&l->bound));
    current = l;
    atomic_store(&l->bound, true);
    epoch_enter();
    for (;;) {
        l->began_ns = clock_ns();
        l->now_ms = l->skipped_ms + l->began_ns / 1000000;
        drain_mailbox(l);
        if (!fair_is_empty(&l->fair))
            take_turns(l);
        run_timers(l);
        run_defers(l);
        if (atomic_load(&l->mailbox) || !fair_is_empty(&l->fair))
            continue;
        if (*done)
            break;
        wait_for_events(l);
        handle_events(l);
    }
    epoch_exit();
    atomic_store(&l->bound, false);
    current = NULL;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stop, true);
    wake(l);
}

bool loop_is_current(const struct loop *l)
{
    return current == l;
}

struct loop *loop_current(void)
{
    return current;
}

int64_t loop_now_ms(const struct loop *l)
{
    return l->now_ms;
}

void loop_skip_ms(struct loop *l, int64_t ms)
{
    assert_ours(l);
    assert(ms >= 0);
    l->skipped_ms += ms;
    l->now_ms = clock_ms(l);
}

void loop_set_reading(struct loop *l)
{
    assert_ours(l);
    l->reading = true;
}

/* What goes on is as if it were in the mailbox; what begins or reads is its owner's, and stays. */
static bool run_waiting(struct loop *l)
{
    struct loop_msg *m;
    bool any = false;

    while ((m = fair_take(&l->fair))) {
        if (m->rank == LOOP_GOES_ON) {
            m->fn(m);
            any = true;
        }
        fair_done(&l->fair);
    }
    return any;
}

void loop_free(struct loop *l)
{
    struct loop *outer = current;

    if (!l)
        return;
    assert(!atomic_load(&l->bound));
    /* What the messages do must find the loop it belongs to; they may post and defer once more. */
    current = l;
    l->began_ns = clock_ns();
    while (atomic_load(&l->mailbox) || l->defers || run_waiting(l)) {
        drain_mailbox(l);
        run_defers(l);
    }
    current = outer;
    (void)close(l->wake);
    (void)close(l->epoll);
    free(l->heap);
    free(l);
}
