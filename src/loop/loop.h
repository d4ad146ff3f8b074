/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

/*
 * An event loop: one thread, epoll, timers, a mailbox.
 *
 * Everything a loop owns (file handlers, timers) is touched on its thread only; functions bound to
 * the thread assert it.  Other threads talk to it by loop_post().  A callback runs at most about a
 * millisecond; what takes longer goes to the workers (loop/workers.h).
 */

#include <stdbool.h>
#include <stdint.h>

struct loop;

struct loop *loop_new(void);
void loop_free(struct loop *l); /* after loop_run returned; runs what is left in the mailbox */

void loop_run(struct loop *l);  /* until loop_stop; binds the loop to the calling thread */
void loop_stop(struct loop *l); /* any thread */

/*
 * The calling thread's own, on which it waits for answers: made at the first call, freed with the
 * thread.  It runs only inside of loop_run_until(), which ends when *done is set and nothing is
 * left in the mailbox.  Not on the thread of another loop.  Readers' sections (base/epoch.h) are
 * its own business.
 */
struct loop *loop_own(void);
void loop_run_until(struct loop *own, const bool *done);
bool loop_is_current(const struct loop *l);
struct loop *loop_current(void); /* the loop whose thread this is, or NULL */

/* Milliseconds of the monotonic clock, taken once a turn. */
int64_t loop_now_ms(const struct loop *l);

/* Lets the loop's clock jump ahead: how tests wait. */
void loop_skip_ms(struct loop *l, int64_t ms);

/*
 * Runs fn(msg) on the loop's thread, in the order of posting, never before loop_post returns.  Any
 * thread.  The message is intrusive, so that posting cannot fail and need not allocate: it belongs
 * to the loop until fn is called.
 *
 * Where one loop works for many, messages say whose they are; these have turns (loop/fair.h) when
 * there is more to do than a fraction of a millisecond, and keep their order among the same only.
 */
enum loop_rank {
    LOOP_GOES_ON, /* what was begun before */
    LOOP_BEGINS,
    LOOP_READS, /* brings more of it: only when of the others there is none */
    LOOP_RANKS
};

struct fair_lane;

struct loop_msg {
    struct loop_msg *next;
    void (*fn)(struct loop_msg *msg);
    uint64_t whose; /* 0: nobody's, which waits for no turn */
    enum loop_rank rank;
    struct loop_msg *prev; /* the loop's, as next */
    struct fair_lane *lane;
};
void loop_post(struct loop *l, struct loop_msg *msg);

/* ---- turns, on the loop's thread ---- */

/* Nobody waits for a turn, and this one of the loop is still short. */
bool loop_is_calm(const struct loop *l);
/* True: go on now.  Else there is somebody whose turn it is, or this one has lasted long enough. */
bool loop_has_turn(const struct loop *l, uint64_t whose);
/* Calls msg->fn when it has a turn: never before it returns.  It must not wait already. */
void loop_wait(struct loop *l, struct loop_msg *msg);
void loop_wait_cancel(struct loop *l, struct loop_msg *msg); /* or does not wait */
static inline bool loop_waits(const struct loop_msg *msg)
{
    return msg->lane;
}
/*
 * Is there time for more than the next few of the bytes that are to be sent?  What a turn has to
 * send goes out at its end, and is a part of it.
 */
bool loop_may_send(const struct loop *l);

/* The same with an allocation inside: for rare things. */
void loop_call(struct loop *l, void (*fn)(void *arg), void *arg);
/* And waits until it has run; not on the loop's thread, and the loop runs. */
void loop_call_wait(struct loop *l, void (*fn)(void *arg), void *arg);

/*
 * A file descriptor's handler; edge-triggered: read and write until EAGAIN.  Embedded in its owner,
 * who keeps it until loop_fd_remove.
 */
struct loop_fd {
    int fd;
    void (*fn)(struct loop_fd *self,
               uint32_t events); /* EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLERR */
};
int loop_fd_add(struct loop *l, struct loop_fd *f);     /* 0, or -1 with errno */
void loop_fd_remove(struct loop *l, struct loop_fd *f); /* does not close; no call comes after */

/* One-shot timers, embedded in their owner.  Setting an armed one moves it. */
struct loop_timer {
    int64_t at_ms;
    uint32_t slot; /* 1 + place in the heap, 0 when not armed */
    void (*fn)(struct loop_timer *self);
};
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);

/*
 * Called once at the end of every turn in which `loop_defer` was called for it, after all file
 * handlers and messages: where a connection flushes all its streams in one write.
 */
struct loop_defer {
    struct loop_defer *next;
    bool queued;
    void (*fn)(struct loop_defer *self);
};
void loop_defer(struct loop *l, struct loop_defer *d);
void loop_defer_cancel(struct loop *l, struct loop_defer *d);

/* Who runs the loop is in a readers' section (base/epoch.h), which is left while the loop sleeps.
 * Set once before loop_run. */
void loop_set_reading(struct loop *l);

#endif
