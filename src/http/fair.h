/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_FAIR_H
#define HTTP_FAIR_H

/*
 * Turns on a loop.  What is to be done waits in the lane of whom it is for; lanes are taken from in
 * turn, each for about as long as the others (deficit round robin, by measured time), so that
 * one who has a thousand things to do delays another by one of them, not by a thousand.
 *
 * In a lane requests come before connections to read from: so a lane never holds more requests than
 * one read has brought.  A lane that is empty is gone.  One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_lane;

enum fair_kind { FAIR_REQUEST, FAIR_CONN, FAIR_KINDS };

/* Embedded in what waits; zeroed: it does not. */
struct fair_item {
    struct fair_item *next, *prev;
    struct fair_lane *lane;
    enum fair_kind kind;
};

struct fair {
    struct fair_lane *lanes; /* in a ring: whose turn it is */
    struct fair_lane *ran;   /* taken from last */
};

static inline bool fair_is_empty(const struct fair *f)
{
    return !f->lanes;
}

void fair_push(struct fair *f, uint64_t whose, struct fair_item *i);
void fair_remove(struct fair *f, struct fair_item *i); /* or does not wait */

/* Takes the next one off, NULL if there is none.  Say then how long it took. */
struct fair_item *fair_take(struct fair *f);
void fair_charge(struct fair *f, int64_t ns);

/* Nobody else waits, nor a request of the same: there is no reason to wait. */
bool fair_is_free(const struct fair *f, uint64_t whose);

#endif
