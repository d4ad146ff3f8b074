/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_UPKEEP_INTERNAL_H
#define APISERVER_UPKEEP_UPKEEP_INTERNAL_H

/* What the files of upkeep share: the queue and its thread (upkeep.c), quotas (upkeep_quota.c), the
 * end of events (event_expiry.c) and of sessions (session_expiry.c). */

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

struct expiry_options {
    const char *group, *version, *resource; /* of what ends: events, or records */
    const char *marks;                      /* the row of the notes of time */
    int64_t ttl_s;                          /* 0: no age is too old */
    uint64_t max_bytes;                     /* 0: they may take any number; surplus.c */
    size_t person_at, person_size;          /* where their names say whose they are */
};
struct expiry *expiry_new(struct server *s, const struct expiry_options *o);
void expiry_free(struct expiry *x);

/* Does a portion of what there is to do; returns after how many milliseconds to come again.  Not on
 * a loop. */
int64_t expiry_run(struct expiry *x);

/* Rows on their way out. */
enum { DOOMED_MAX = 64 };
struct doomed {
    struct store_txn txns[DOOMED_MAX];
    struct store_op ops[DOOMED_MAX];
    size_t n;
};
void doomed_add(struct doomed *d, struct arena *a, const struct store_row *row);
void doomed_delete(struct doomed *d, struct store *s);

/* ---- surplus.c ---- */

/*
 * Rows of the root instance whose names are in order of time, the newest first, go when all of them
 * take too many bytes: the oldest of those persons who have more than a fair share.  So one who
 * makes many pushes out only his own.
 */
struct surplus;

struct surplus *surplus_new(struct server *s, const struct expiry_options *o);
void surplus_free(struct surplus *x);

/* As expiry_run. */
int64_t surplus_run(struct surplus *x, struct arena *a, uint32_t type);
/* ---- session_expiry.c ---- */

/* Deletes sessions that are over (apiserver/auth/session.h); returns after how many milliseconds to
 * come again.  Not on a loop. */
int64_t session_expiry_run(struct server *s);

#endif
