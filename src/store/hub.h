/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_HUB_H
#define STORE_HUB_H

/*
 * The watch hub of one loop: takes the store's history once and hands each event to those watches
 * of this loop that it concerns.
 *
 * A watch begins after any readable revision: it is first fed from history, in portions between
 * which the loop turns, then joins the live ones.  No event is skipped or repeated.  A watch costs
 * nothing while nothing happens.
 *
 * Everything runs on the loop's thread.  A callback may stop its own watch or any other.
 */

#include "store/store.h"

struct hub;

struct hub *hub_new(struct store *s, struct loop *l);
void hub_free(struct hub *h); /* on the loop; all watches must be stopped */

struct hub_group;

struct hub_watch {
    /* set by the owner before hub_watch_start: */
    uint32_t type, instance; /* instance may be STORE_ALL */
    str prefix;              /* of names; must stay valid */
    /* The history it needs is gone (EXPIRED), or its instance is (GONE); it is stopped already. */
    void (*closed)(struct hub_watch *w, const struct status *why);
    /* May be NULL.  True: it has enough for now, so that history waits a little.  What is new does
     * not wait. */
    bool (*full)(struct hub_watch *w);
    /*
     * ev is valid during the call.  For a dropped instance a watch of that instance is closed with
     * GONE; a watch of STORE_ALL gets a STORE_EVENT_DELETE for each row that vanished, in portions:
     * all but the last carry the revision before the drop, so that who resumes in between misses
     * none.
     */
    void (*event)(struct hub_watch *w, const struct store_event *ev);

    /* the hub's: */
    struct hub_watch *next;
    uint64_t at; /* everything up to here was delivered or does not concern it */
    struct hub_watch **prev;
    struct hub_group *group;
    int state;
};

/* May call back at once, and may close at once. */
void hub_watch_start(struct hub *h, struct hub_watch *w, uint64_t after);
void hub_watch_stop(struct hub *h, struct hub_watch *w); /* no call comes after */

/* The revision up to which this watch, or every watch of the loop, has been served: what a bookmark
 * may say. */
uint64_t hub_watch_revision(const struct hub *h, const struct hub_watch *w);
uint64_t hub_revision(const struct hub *h);

#endif
