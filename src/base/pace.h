/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

/*
 * How much comes in a second, and how long to gather it: who hears little answers soon, who hears
 * much answers once for many.  Times are the caller's, in milliseconds; one thread at a time.
 */

#include <stdint.h>

struct pace {
    int64_t second;
    uint32_t now, before; /* in this second, and in the one before */
};

static inline void pace_turn(struct pace *p, int64_t now_ms)
{
    int64_t second = now_ms / 1000;

    if (second == p->second)
        return;
    p->before = second == p->second + 1 ? p->now : 0;
    p->now = 0;
    p->second = second;
}

static inline void pace_count(struct pace *p, int64_t now_ms)
{
    pace_turn(p, now_ms);
    p->now++;
}

/* So many milliseconds for each that came in a second; not less than least, not more than most. */
static inline int64_t pace_gather_ms(struct pace *p, int64_t now_ms, int64_t each, int64_t least,
                                     int64_t most)
{
    int64_t ms;

    pace_turn(p, now_ms);
    ms = each * (p->now > p->before ? p->now : p->before);
    return ms < least ? least : ms > most ? most : ms;
}

#endif
