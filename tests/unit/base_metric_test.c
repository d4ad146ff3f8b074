/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric.h"

#include "base/banned.h"
#include "base/buf.h"
#include "tap.h"

METRIC(open_doors, METRIC_GAUGE, "test_doors_open", "Doors that are open.")
METRIC(knocks, METRIC_COUNTER, "test_a_knocks_total", "Knocks.")

TEST(metrics_are_printed_by_name)
{
    scoped_buf b = { .max = 4096 };

    metric_add(&knocks, 2);
    metric_add(&knocks, 1);
    metric_add(&open_doors, 1);
    metric_add(&open_doors, -2);
    metric_print(&b);
    buf_byte(&b, 0);
    CHECK_STR(buf_str(&b).p, "# HELP test_a_knocks_total Knocks.\n"
                             "# TYPE test_a_knocks_total counter\n"
                             "test_a_knocks_total 3\n"
                             "# HELP test_doors_open Doors that are open.\n"
                             "# TYPE test_doors_open gauge\n"
                             "test_doors_open -1\n");
}
