/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hist.h"

#include <string.h>

#include "base/banned.h"

enum { SUB = 1 << HIST_SUB_BITS };

void hist_clear(struct hist *h)
{
    memset(h, 0, sizeof(*h));
}

/* Values below SUB have a bucket each; above, the leading bits are the power and the part. */
static unsigned bucket_of(uint64_t value)
{
    unsigned power;

    if (value < SUB)
        return (unsigned)value;
    power = 63 - (unsigned)__builtin_clzll(value) - HIST_SUB_BITS;
    return ((power + 1) << HIST_SUB_BITS) + (unsigned)((value >> power) - SUB);
}

/* The largest value of a bucket. */
static uint64_t bucket_top(unsigned i)
{
    unsigned power;

    if (i < SUB)
        return i;
    power = (i >> HIST_SUB_BITS) - 1;
    return ((uint64_t)(SUB + (i & (SUB - 1)) + 1) << power) - 1;
}

void hist_add(struct hist *h, uint64_t value)
{
    h->counts[bucket_of(value)]++;
    h->n++;
    h->sum += value;
    if (value > h->max)
        h->max = value;
}

void hist_merge(struct hist *h, const struct hist *from)
{
    h->n += from->n;
    h->sum += from->sum;
    h->max = from->max > h->max ? from->max : h->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        h->counts[i] += from->counts[i];
}

uint64_t hist_quantile(const struct hist *h, double part)
{
    uint64_t want = (uint64_t)(part * (double)h->n + 0.5), seen = 0;

    if (want < 1)
        want = 1;
    for (unsigned i = 0; i < HIST_BUCKETS && h->n; i++) {
        seen += h->counts[i];
        if (seen >= want)
            return bucket_top(i) < h->max ? bucket_top(i) : h->max;
    }
    return h->max;
}
