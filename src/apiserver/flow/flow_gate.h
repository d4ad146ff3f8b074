/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_FLOW_FLOW_GATE_H
#define APISERVER_FLOW_FLOW_GATE_H

/*
 * Seats for requests in flight.  They are shared between instances first, then inside an instance
 * between its priority levels, then inside a level between flows.
 *
 * Instances: an instance may hold as many seats as are free, so that a single busy instance gets
 * half of all seats, three get a quarter each, and a new one always finds free seats.
 *
 * Levels: each level has a share of its own.  The lendable seats of all levels form one pool, from
 * which any level may borrow up to its limit.
 *
 * Flows: when no seat is free, a request waits in one of its level's queues.  The hash of a flow
 * selects a few of the queues (shuffle sharding), and the request joins the shortest; the queues
 * take turns.  The number of waiting requests and their bytes are limited, for an instance and in
 * total.
 *
 * The gate keeps state only for instances that have requests here now; an idle one costs nothing.
 * Any thread.  The gate has no clock: its users remove requests that wait too long
 * (flow_gate_cancel()).
 *
 * k8s: apiserver/pkg/util/flowcontrol/fairqueuing/queueset.  Unlike there, every request takes one
 * seat, and borrowed seats move at once instead of every ten seconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_gate;

/* The limits of a level, in seats. */
struct flow_limits {
    unsigned nominal, lendable;
    unsigned max;                  /* including borrowed seats */
    unsigned pool;                 /* lendable seats of all levels of the instance */
    uint32_t queues, hand, length; /* queues 0: requests never wait */
};

enum flow_state { FLOW_OUT, FLOW_RUNS, FLOW_WAITS };

struct flow_queue;

/* A request at the gate; it must live until its state is FLOW_OUT. */
struct flow_ticket {
    uint32_t instance;
    uint64_t level; /* any id that is unique among the levels of the instance */
    uint64_t flow;  /* hash */
    size_t bytes;   /* of memory that it holds while it waits */
    /*
     * Called when a waiting request gets a seat, on the thread that freed the seat, without a
     * lock held.  The gate does not touch the ticket during the call.
     */
    void (*granted)(struct flow_ticket *t);
    /* private to the gate: */
    enum flow_state state;
    struct flow_queue *queue;
    struct flow_ticket *next, *prev;
};

struct flow_gate *flow_gate_new(unsigned seats);
void flow_gate_free(struct flow_gate *g); /* when no request is inside */

/* Returns FLOW_RUNS, FLOW_WAITS (granted() follows unless the request is cancelled), or FLOW_OUT
 * when too many wait. */
enum flow_state flow_gate_enter(struct flow_gate *g, const struct flow_limits *limits,
                                struct flow_ticket *t);
/* Ends a running request; waiting ones may get its seat. */
void flow_gate_leave(struct flow_gate *g, struct flow_ticket *t);
/* Removes a waiting request: granted() will not be called.  Returns false when it did not wait. */
bool flow_gate_cancel(struct flow_gate *g, struct flow_ticket *t);

struct flow_gate_stats {
    unsigned seats, running, waiting;
    size_t bytes; /* of waiting requests */
};
void flow_gate_stats(struct flow_gate *g, struct flow_gate_stats *out);

/* ---- arithmetic ---- */

enum { FLOW_HAND_MAX = 15 };

/* Deals `hand` different queues out of `deck` for a hash.  k8s: shufflesharding/dealer.go */
void flow_deal(uint64_t hash, uint32_t deck, uint32_t hand, uint32_t out[FLOW_HAND_MAX]);

/* Returns the seats of a level: its share of all, rounded up.  k8s: apf_controller.go */
unsigned flow_share(unsigned seats, uint64_t shares, uint64_t sum);

#endif
