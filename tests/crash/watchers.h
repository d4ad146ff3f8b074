/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_WATCHERS_H
#define CRASH_WATCHERS_H

/*
 * Watches that go on over restarts, each from the last revision it has heard of.  Two of them tell
 * the ledger's story, the others must tell the same.  Now and then one is cut off in the middle,
 * without a crash; one sleeps for many cycles and hears them all at once.
 */

#include "crash/world.h"

struct watchers;

struct watchers *watchers_new(struct world *w, uint64_t rv); /* all begin after rv */
void watchers_free(struct watchers *ws);

void watchers_start(struct watchers *ws); /* (again); the sleeper when it is time */
void watchers_stop(struct watchers *ws);

/* Each awake one has to hear of this write before it has caught up. */
void watchers_expect(struct watchers *ws, uint64_t op);
bool watchers_caught_up(const struct watchers *ws);
void watchers_show(const struct watchers *ws); /* who has not */

/* Those whose history is gone, which must be long ago, begin again.  When nothing is written. */
void watchers_relist(struct watchers *ws);

/* Given to ledger_verify; then compares. */
ledger_story_fn watchers_story;
void watchers_verify(struct watchers *ws);

#endif
