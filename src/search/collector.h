/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_COLLECTOR_H
#define SEARCH_COLLECTOR_H

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
#include "search/search_index.h"

struct collector;

struct collector_options {
    struct client *client;
    struct search_index *search_index;
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

struct collector *
collector_new(const struct collector_options *o); /* copies what it needs, and starts */
void collector_free(struct collector *f);

int64_t collector_type(const struct collector *f);
bool collector_is_of(const struct collector *f, str group, str resource);
/* Hands to the index what watches have told in this turn of the loop. */
void collector_flush(struct collector *f);

bool collector_is_live(const struct collector *f);
bool collector_was_seen(struct collector *f,
                        bool now); /* a mark of its owner's: what it was, then set */

#endif
