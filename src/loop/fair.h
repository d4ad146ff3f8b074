/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOOP_FAIR_H
#define LOOP_FAIR_H

/*
 * Turns on a loop.  What is to be done waits in the lane of whom it is for; lanes are taken from in
 * turn, each for about as long as the others (deficit round robin, by measured time), so that
 * one who has a thousand things to do delays another by one of them, not by a thousand.
 *
 * In a lane that goes first which ends something: see enum loop_rank.  A lane that is empty is
 * gone.  There are few lanes, whoever asks: some may share one.  One thread.
 */

#include "loop/loop.h"

enum { FAIR_LANES = 1024 };

struct fair {
    struct fair_lane *ring; /* whose turn it is, then the others */
    struct fair_lane *ran;  /* taken from, and not done */
    struct fair_lane *lanes[FAIR_LANES];
};

static inline bool fair_is_empty(const struct fair *f)
{
    return !f->ring;
}

/* Into the lane of m->whose. */
void fair_push(struct fair *f, struct loop_msg *m);
void fair_remove(struct fair *f, struct loop_msg *m); /* or does not wait */

/* Takes the next one off, NULL if there is none.  Charge then what it took, and say fair_done. */
struct loop_msg *fair_take(struct fair *f);
/* Any number of times; true while the lane has more to do and time left for it, or is alone. */
bool fair_charge(struct fair *f, int64_t ns);
void fair_done(struct fair *f);

/* Nobody else waits, and of the same only what is to be read: there is no reason to wait. */
bool fair_is_free(const struct fair *f, uint64_t whose);

#endif
