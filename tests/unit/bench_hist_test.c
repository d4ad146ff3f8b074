/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hist.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "tap.h"

TEST(quantiles_are_right_within_one_percent)
{
    struct hist *h = mem_zalloc(sizeof(*h));
    static const double parts[] = { 0.5, 0.9, 0.99, 0.999, 1 };

    for (uint64_t v = 1; v <= 1000000; v++)
        hist_add(h, v * 1000);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        double got = (double)hist_quantile(h, parts[i]), want = parts[i] * 1e9;

        CHECK(got >= want * 0.999 && got <= want * 1.01);
    }
    CHECK(h->n == 1000000 && h->max == 1000000000);
    free(h);
}

TEST(small_and_huge_values)
{
    struct hist *h = mem_zalloc(sizeof(*h));

    CHECK(hist_quantile(h, 0.5) == 0);
    hist_add(h, 0);
    CHECK(hist_quantile(h, 1) == 0);
    hist_add(h, 127);
    hist_add(h, 128);
    CHECK(hist_quantile(h, 0.5) == 127);
    hist_add(h, UINT64_MAX);
    CHECK(hist_quantile(h, 1) == UINT64_MAX);
    hist_clear(h);
    CHECK(h->n == 0 && hist_quantile(h, 1) == 0);
    free(h);
}
