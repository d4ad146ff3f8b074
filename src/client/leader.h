/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_LEADER_H
#define CLIENT_LEADER_H

/*
 * One of many: candidates agree by a coordination.k8s.io/v1 Lease which of them works.
 *
 * As client-go does it, so that both can be candidates for one Lease.  The holder renews; who sees
 * the Lease unchanged for its whole duration takes it.  Clocks of other machines do not count: only
 * changes that were observed, timed by our own monotonic clock.  The holder counts from before it
 * asked, and gives up after renew_ms, which is shorter than the duration: `stopped` is called
 * before anyone else can begin, and what it works on has the difference to come to an end.
 *
 * On the client's loop, except where said.  Callbacks run there, too: they must not block, and must
 * not free the leader.
 */

#include "base/clock.h"
#include "client/client.h"

struct leader;

struct leader_options {
    struct client *client;
    struct clock *clock; /* NULL: the real one */
    str instance, namespace, name;
    str identity; /* of this candidate; no other may have it: host and something random */

    /* client-go's defaults if 0; retry < renew < duration. */
    int64_t duration_ms; /* 15 s; whole seconds */
    int64_t renew_ms;    /* 10 s */
    int64_t retry_ms;    /* 2 s */

    void (*started)(void *arg);
    void (*stopped)(void *arg);
    void (*changed)(void *arg, str holder); /* another holds it, or none (empty); may be NULL */
    void *arg;
};

struct leader *leader_new(const struct leader_options *o); /* copies what it needs */
void leader_start(struct leader *l);

/*
 * Gives the Lease back, so that the next need not wait; then `done` is called, once, after this has
 * returned, also when the server does not answer.  Calls `stopped` first if it leads: as the next
 * may begin at once, end the work before.
 */
void leader_stop(struct leader *l, void (*done)(void *arg), void *arg);

/* At once: no callback comes after, and a Lease that is held runs out by itself. */
void leader_free(struct leader *l);

/* Any thread: whether it leads at this moment, even if the loop is late to notice the end. */
bool leader_leads(struct leader *l);

#endif
