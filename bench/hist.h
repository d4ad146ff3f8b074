/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

/*
 * A histogram of durations with a relative error below 1 %: every power of two is cut into 128
 * equal parts.  Recording costs a few instructions, whatever the number of values.
 */

#include <stdint.h>

enum { HIST_SUB_BITS = 7, HIST_BUCKETS = (64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS };

struct hist {
    uint64_t n, max, sum;
    uint64_t counts[HIST_BUCKETS];
};

void hist_clear(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *h, const struct hist *from);

/* The value that this part (0 … 1) of all values does not exceed; 0 without values. */
uint64_t hist_quantile(const struct hist *h, double part);

#endif
