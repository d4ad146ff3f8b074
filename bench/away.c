/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/away.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/banned.h"
#include "base/mem.h"
#include "bench/proc.h"

enum {
    WAKE_NS = 250000,
    LATE_NS = 250000, /* a core that is there is given up within microseconds */
    GAPS_MAX = 1 << 16,
    ABOVE = 2, /* the load's own threads are at 1 */
};

struct gap {
    int64_t from, to;
};

struct core {
    struct bench_away *all;
    pthread_t thread;
    int number;
    size_t n;
    struct gap gaps[GAPS_MAX];
};

struct bench_away {
    atomic_bool stop;
    size_t n;
    struct core *cores[];
};

static void *watch(void *arg)
{
    struct core *c = arg;
    int64_t due = bench_now_ns() + WAKE_NS;

    while (!atomic_load(&c->all->stop)) {
        struct timespec at = { due / 1000000000, due % 1000000000 };
        int64_t now;

        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        now = bench_now_ns();
        if (now - due > LATE_NS && c->n < GAPS_MAX)
            c->gaps[c->n++] = (struct gap){ due, now };
        due = now + WAKE_NS;
    }
    return NULL;
}

static bool start_core(struct core *c)
{
    pthread_attr_t attr;
    cpu_set_t set;
    bool ok;

    CPU_ZERO(&set);
    CPU_SET((size_t)c->number, &set);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    (void)pthread_attr_setschedparam(&attr, &(struct sched_param){ .sched_priority = ABOVE });
    (void)pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
    ok = pthread_create(&c->thread, &attr, watch, c) == 0;
    (void)pthread_attr_destroy(&attr);
    return ok;
}

struct bench_away *bench_away_start(void)
{
    struct bench_away *w = mem_zalloc(sizeof(*w) + CPU_SETSIZE * sizeof(struct core *));
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        CPU_ZERO(&set);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        struct core *c;

        if (!CPU_ISSET((size_t)i, &set))
            continue;
        c = mem_zalloc(sizeof(*c));
        c->all = w;
        c->number = i;
        if (!start_core(c)) {
            free(c);
            bench_away_stop(w);
            bench_away_free(w);
            return NULL;
        }
        w->cores[w->n++] = c;
    }
    return w;
}

void bench_away_stop(struct bench_away *w)
{
    if (!w || atomic_exchange(&w->stop, true))
        return;
    for (size_t i = 0; i < w->n; i++)
        (void)pthread_join(w->cores[i]->thread, NULL);
}

void bench_away_free(struct bench_away *w)
{
    for (size_t i = 0; w && i < w->n; i++)
        free(w->cores[i]);
    free(w);
}

int64_t bench_away_ns(const struct bench_away *w, int64_t from, int64_t to)
{
    int64_t longest = 0;

    for (size_t i = 0; w && i < w->n; i++) {
        const struct core *c = w->cores[i];
        int64_t sum = 0;

        for (size_t k = 0; k < c->n; k++) {
            int64_t a = c->gaps[k].from > from ? c->gaps[k].from : from;
            int64_t b = c->gaps[k].to < to ? c->gaps[k].to : to;

            sum += b > a ? b - a : 0;
        }
        longest = sum > longest ? sum : longest;
    }
    return longest;
}

int64_t bench_away_longest_ns(const struct bench_away *w)
{
    int64_t longest = 0;

    for (size_t i = 0; w && i < w->n; i++)
        for (size_t k = 0; k < w->cores[i]->n; k++) {
            const struct gap *g = &w->cores[i]->gaps[k];

            longest = g->to - g->from > longest ? g->to - g->from : longest;
        }
    return longest;
}
