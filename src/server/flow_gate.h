/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_FLOW_GATE_H
#define SERVER_FLOW_GATE_H

/*
 * Seats for requests in flight: shared between instances first, then inside an instance between its
 * priority levels, then inside a level between flows.
 *
 * Instances: one may hold as many seats as are free, so that a single one has half of all, three
 * have a quarter each, and one that comes later finds some free, whatever the others do.
 *
 * Levels: each has a share of its own.  The lendable parts of all are one pool that any may take
 * from, up to its borrowing limit.
 *
 * Flows: where no seat is free a request waits in one of its level's queues.  A flow is dealt a few
 * of them by its hash (shuffle sharding) and takes the shortest; queues have turns.  How many wait,
 * and how many bytes they hold, is limited for an instance and for all.
 *
 * State is kept of instances that have requests here right now; an idle one costs nothing.  Any
 * thread.  It knows no clock: who waits too long is taken out (flow_gate_cancel).
 *
 * k8s: apiserver/pkg/util/flowcontrol/fairqueuing/queueset; a request is one seat wide here, and
 * what is lent moves at once instead of every ten seconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_gate;

/* What a level may do, in seats. */
struct flow_limits {
    unsigned nominal, lendable;
    unsigned max;                  /* with what it borrows */
    unsigned pool;                 /* lendable seats of all levels of the instance */
    uint32_t queues, hand, length; /* queues 0: nothing waits */
};

enum flow_state { FLOW_OUT, FLOW_RUNS, FLOW_WAITS };

struct flow_queue;

/* A request at the gate; its owner keeps it until it is out. */
struct flow_ticket {
    uint32_t instance;
    uint64_t level; /* whatever tells levels of an instance apart */
    uint64_t flow;  /* hash */
    size_t bytes;   /* that it holds while it waits */
    /*
     * It has waited and has a seat now: called on the thread of whoever left.  Not under a lock;
     * the ticket is its owner's alone again.
     */
    void (*granted)(struct flow_ticket *t);
    /* the gate's: */
    enum flow_state state;
    struct flow_queue *queue;
    struct flow_ticket *next, *prev;
};

struct flow_gate *flow_gate_new(unsigned seats);
void flow_gate_free(struct flow_gate *g); /* nobody is inside */

/* FLOW_RUNS, FLOW_WAITS (granted follows, unless it is cancelled), or FLOW_OUT: too many. */
enum flow_state flow_gate_enter(struct flow_gate *g, const struct flow_limits *limits,
                                struct flow_ticket *t);
/* One that runs is done; others may get its seat. */
void flow_gate_leave(struct flow_gate *g, struct flow_ticket *t);
/* True when it was waiting: it is out now, and granted is not called any more. */
bool flow_gate_cancel(struct flow_gate *g, struct flow_ticket *t);

struct flow_gate_stats {
    unsigned seats, running, waiting;
    size_t bytes; /* of those that wait */
};
void flow_gate_stats(struct flow_gate *g, struct flow_gate_stats *out);

/* ---- arithmetic ---- */

enum { FLOW_HAND_MAX = 15 };

/* Which `hand` of `deck` queues a hash stands for, each another; k8s: shufflesharding/dealer.go */
void flow_deal(uint64_t hash, uint32_t deck, uint32_t hand, uint32_t out[FLOW_HAND_MAX]);

/* Seats of a level: its part of all, rounded up; k8s: apf_controller.go */
unsigned flow_share(unsigned seats, uint64_t shares, uint64_t sum);

#endif
