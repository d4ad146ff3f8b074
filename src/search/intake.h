/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_INTAKE_H
#define SEARCH_INTAKE_H

/*
 * Keeps the index equal to one type of one cluster: list, then watch, for ever.
 *
 * Nothing of the objects is held here.  It goes on where the index says it has come to, over
 * restarts too; only when the server has forgotten that revision is everything listed anew, and
 * what is no more there leaves the index.  A page is asked for when the writer has taken the one
 * before, and a watch pauses while too much waits, so memory is bounded.
 *
 * With ref.instance "*" it is of all instances: their objects are of the clusters "k-…".
 * On the client's loop.
 */

#include "client/client.h"
#include "search/depot.h"

struct intake;

struct intake_options {
    struct client *client;
    struct depot *depot;
    int64_t type;
    struct entry_kind kind;
    struct client_ref ref;
    str cluster; /* empty: by instance */
    /* The first list is in, or the watch goes on; may be NULL. */
    void (*live)(void *arg);
    void (*changed)(void *arg); /* a watch has told something; may be NULL */
    /* It failed, and tries again by itself; may be NULL. */
    void (*failed)(void *arg, const struct status *why);
    void *arg;
};

struct intake *intake_new(const struct intake_options *o); /* copies what it needs, and starts */
void intake_free(struct intake *f);

int64_t intake_type(const struct intake *f);
bool intake_is_of(const struct intake *f, str group, str resource);
/* Hands to the index what watches have told in this turn of the loop. */
void intake_flush(struct intake *f);

bool intake_is_live(const struct intake *f);
bool intake_was_seen(struct intake *f, bool now); /* a mark of its owner's: what it was, then set */

#endif
