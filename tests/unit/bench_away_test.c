/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/away.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/banned.h"
#include "bench/proc.h"
#include "tap.h"

enum { MS = 1000000 };

struct hog {
    int64_t from, to;
};

/* Has a core for itself, above those who watch it. */
static void *hog(void *arg)
{
    struct hog *h = arg;

    h->from = bench_now_ns();
    do
        h->to = bench_now_ns();
    while (h->to - h->from < 20 * MS);
    return NULL;
}

static void pause_ms(int ms)
{
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, (long)ms * MS }, NULL);
}

TEST(a_core_that_is_taken_is_noticed)
{
    struct bench_away *w = bench_away_start();
    struct hog h = { 0, 0 };
    pthread_attr_t attr;
    pthread_t t;

    if (!w)
        return; /* no class of real time here */
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    (void)pthread_attr_setschedparam(&attr, &(struct sched_param){ .sched_priority = 3 });
    pause_ms(20);
    REQUIRE(pthread_create(&t, &attr, hog, &h) == 0);
    (void)pthread_join(t, NULL);
    (void)pthread_attr_destroy(&attr);
    pause_ms(20);
    bench_away_stop(w);
    CHECK(bench_away_ns(w, h.from + 5 * MS, h.from + 6 * MS) == MS);
    CHECK(bench_away_ns(w, h.from, h.to) >= 19 * MS);
    CHECK(bench_away_longest_ns(w) >= 19 * MS);
    CHECK(bench_away_ns(w, h.from - 1000 * (int64_t)MS, h.from - 900 * (int64_t)MS) == 0);
    bench_away_free(w);
}

TEST(nothing_is_said_where_nobody_watches)
{
    CHECK(bench_away_ns(NULL, 0, INT64_MAX) == 0);
    CHECK(bench_away_longest_ns(NULL) == 0);
    bench_away_stop(NULL);
    bench_away_free(NULL);
}
