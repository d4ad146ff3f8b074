/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_AWAY_H
#define BENCH_AWAY_H

/*
 * When the machine was away: a host that others share takes cores of a guest for milliseconds at a
 * time, and nobody in it can answer then.  A thread for each core, in a class of real time above
 * everything else, asks to be woken four times a millisecond: where it is late, the core was not
 * there.
 */

#include <stdint.h>

struct bench_away;

/* NULL where threads may not run before others: then nothing can be said. */
struct bench_away *bench_away_start(void);
void bench_away_stop(struct bench_away *w); /* what it saw can be asked for from here on */
void bench_away_free(struct bench_away *w);

/* How long a core was away between these two of bench_now_ns, the one that was it longest. */
int64_t bench_away_ns(const struct bench_away *w, int64_t from, int64_t to);
int64_t bench_away_longest_ns(const struct bench_away *w);

#endif
