/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_UPKEEP_INTERNAL_H
#define APISERVER_UPKEEP_UPKEEP_INTERNAL_H

/* What the files of upkeep share: the queue and its thread (upkeep.c), quotas (upkeep_quota.c), the
 * end of events (event_expiry.c). */

#include "apiserver/call/internal.h"
#include "apiserver/upkeep/upkeep.h"
#include "client/client.h"

/* ---- upkeep_quota.c ---- */

/* A namespace to be looked at. */
struct quota_look {
    struct server *server;
    struct client *client;
    struct arena *arena;
    struct instance instance;
    const struct catalog *catalog;
    str namespace_;
};

/* Counts all that its quotas limit, and writes its ledger. */
int upkeep_count(const struct quota_look *l, struct status *st) __attribute__((warn_unused_result));
/* Writes what the ledger says into the status of its quotas; counts first where it says nothing. */
int upkeep_show(const struct quota_look *l, struct status *st) __attribute__((warn_unused_result));

/* ---- event_expiry.c ---- */

/*
 * Events go when nothing was written to them for a while.  How old a revision is, is noted from
 * time to time and kept in the store; so no event has a timer, nothing of them is held in memory,
 * and a restart forgets nothing.
 */
struct expiry;

struct expiry *expiry_new(struct server *s, int64_t ttl_s);
void expiry_free(struct expiry *x);

/* Does a portion of what there is to do; returns after how many milliseconds to come again.  Not on
 * a loop. */
int64_t expiry_run(struct expiry *x);

#endif
