/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/buf.h"
#include "tap.h"

METRIC(open_doors, METRIC_GAUGE, "test_doors_open", "Doors that are open.")
METRIC(knocks, METRIC_COUNTER, "test_a_knocks_total", "Knocks.")
METRIC_BY(rings, METRIC_COUNTER, "test_b_rings_total", "Rings.", "bell", "front", "back")
METRIC_HISTOGRAM_OF(waits, "test_c_wait_seconds", "Waits.", 1000, 50, 2000)

static void read_guests(struct buf *out, const struct metric_spec *s)
{
    const str odd = STR("a\"b\\c\n");

    metric_head(out, s);
    metric_row(out, s, &odd, 7);
    metric_row(out, s, &odd, METRIC_NONE);
}
METRIC_READ(guests, read_guests, METRIC_GAUGE, "test_d_guests", "Guests.", "table")

TEST(metrics_are_printed_by_name_and_then_the_process)
{
    static const char want[] = "# HELP test_a_knocks_total Knocks.\n"
                               "# TYPE test_a_knocks_total counter\n"
                               "test_a_knocks_total 3\n"
                               "# HELP test_b_rings_total Rings.\n"
                               "# TYPE test_b_rings_total counter\n"
                               "test_b_rings_total{bell=\"front\"} 0\n"
                               "test_b_rings_total{bell=\"back\"} 4\n"
                               "# HELP test_c_wait_seconds Waits.\n"
                               "# TYPE test_c_wait_seconds histogram\n"
                               "test_c_wait_seconds_bucket{le=\"0.05\"} 2\n"
                               "test_c_wait_seconds_bucket{le=\"2\"} 3\n"
                               "test_c_wait_seconds_bucket{le=\"+Inf\"} 4\n"
                               "test_c_wait_seconds_sum 9.101\n"
                               "test_c_wait_seconds_count 4\n"
                               "# HELP test_d_guests Guests.\n"
                               "# TYPE test_d_guests gauge\n"
                               "test_d_guests{table=\"a\\\"b\\\\c\\n\"} 7\n"
                               "# HELP test_doors_open Doors that are open.\n"
                               "# TYPE test_doors_open gauge\n"
                               "test_doors_open -1\n"
                               "# HELP process_cpu_seconds_total ";
    scoped_buf b = { .max = 1 << 16 };

    metric_add(&knocks, 2);
    metric_add(&knocks, 1);
    metric_add_at(&rings, 1, 4);
    metric_observe(&waits, 50);
    metric_observe(&waits, 51);
    metric_observe(&waits, 9000);
    metric_observe(&waits, -3); /* a clock that jumped */
    metric_add(&open_doors, 1);
    metric_add(&open_doors, -2);
    metric_print(&b);
    buf_byte(&b, 0);
    REQUIRE(b.n > sizeof(want));
    b.p[sizeof(want) - 1] = 0;
    CHECK_STR(b.p, want);
}

/* What Prometheus' own libraries tell of a process, and no value that is made up. */
TEST(a_process_tells_of_itself)
{
    static const char *const names[] = { "process_cpu_seconds_total", "process_open_fds",
                                         "process_resident_memory_bytes",
                                         "process_start_time_seconds",
                                         "process_virtual_memory_bytes" };
    scoped_buf b = { .max = 1 << 16 };

    metric_print(&b);
    buf_byte(&b, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        scoped_buf line = { .max = 256 };
        const char *at;

        buf_printf(&line, "\n%s ", names[i]);
        buf_byte(&line, 0);
        at = strstr(b.p, line.p);
        REQUIRE(at);
        CHECK(strtod(at + line.n - 1, NULL) > 0);
    }
}

static int64_t open_files(void)
{
    scoped_buf b = { .max = 1 << 16 };
    static const char name[] = "\nprocess_open_fds ";

    metric_print(&b);
    buf_byte(&b, 0);
    return strtoll(strstr(b.p, name) + sizeof(name) - 1, NULL, 10);
}

TEST(an_open_file_is_counted)
{
    int64_t before = open_files(), after;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    REQUIRE(fd >= 0);
    after = open_files();
    (void)close(fd);
    CHECK(after == before + 1 && open_files() == before);
}

/* ---- sets ---- */

static const char *const colours[] = { "red", "green" };
static const char *const sizes[] = { "s", "m", "l" };
static const int64_t bounds[] = { 10, 20 };
enum { CARS, SPEEDS, DRIVERS };
static const struct metric_spec specs[] = {
    [CARS] = { "cars_total", "Cars.", METRIC_COUNTER,
               .labels = { { "colour", colours, 2 }, { "size", sizes, 3 } }, .sparse = true },
    [SPEEDS] = { "speed", "Speeds.", METRIC_HISTOGRAM, .labels = { { "colour", colours, 2 } },
                 .bounds = bounds, .nbounds = 2 },
    [DRIVERS] = METRIC_PLAIN(METRIC_GAUGE, "drivers", "Drivers."),
};

TEST(a_set_has_a_row_for_each_pair_of_words)
{
    struct metric_set *s = metric_set_new(specs, 3), *other = metric_set_new(specs, 3);
    scoped_buf b = { .max = 4096 };

    metric_set_add(s, CARS, 1 * 3 + 2, 5);
    metric_set_observe(s, SPEEDS, 1, 11);
    metric_set_add(s, DRIVERS, 0, -2);
    metric_set_add(other, DRIVERS, 0, 100);
    metric_set_print(s, &b);
    buf_byte(&b, 0);
    CHECK_STR(b.p, "# HELP cars_total Cars.\n"
                   "# TYPE cars_total counter\n"
                   "cars_total{colour=\"green\",size=\"l\"} 5\n"
                   "# HELP speed Speeds.\n"
                   "# TYPE speed histogram\n"
                   "speed_bucket{colour=\"red\",le=\"10\"} 0\n"
                   "speed_bucket{colour=\"red\",le=\"20\"} 0\n"
                   "speed_bucket{colour=\"red\",le=\"+Inf\"} 0\n"
                   "speed_sum{colour=\"red\"} 0\n"
                   "speed_count{colour=\"red\"} 0\n"
                   "speed_bucket{colour=\"green\",le=\"10\"} 0\n"
                   "speed_bucket{colour=\"green\",le=\"20\"} 1\n"
                   "speed_bucket{colour=\"green\",le=\"+Inf\"} 1\n"
                   "speed_sum{colour=\"green\"} 11\n"
                   "speed_count{colour=\"green\"} 1\n"
                   "# HELP drivers Drivers.\n"
                   "# TYPE drivers gauge\n"
                   "drivers -2\n");
    metric_set_free(s);
    metric_set_free(other);
}

enum { THREADS = 20, ROUNDS = 1000 };

static void *drive(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        metric_set_add(arg, DRIVERS, 0, i % 2 ? 3 : -1);
    return NULL;
}

TEST(threads_that_share_a_shard_lose_nothing)
{
    struct metric_set *s = metric_set_new(specs, 3);
    scoped_buf b = { .max = 4096 };
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, drive, s) == 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    metric_set_print(s, &b);
    buf_byte(&b, 0);
    CHECK(strstr(b.p, "\ndrivers 20000\n"));
    metric_set_free(s);
}
