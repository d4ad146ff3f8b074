/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

/* What a workload measured, for people or for programs. */

#include <stdbool.h>

#include "bench/hist.h"
#include "bench/proc.h"

enum { BENCH_FIGURES_MAX = 24, BENCH_ERROR_MAX = 256 };

/* A number that only some workloads have; the unit is shown behind it. */
struct bench_figure {
    const char *name, *unit;
    double value;
};

struct bench_result {
    const char *workload;
    char setup[160]; /* "16 connections x 32 streams, 10000 objects" */
    double seconds;
    uint64_t ops, errors, bytes;
    char error[BENCH_ERROR_MAX]; /* the first */
    struct hist latency;         /* ns, of each operation; empty: not shown */
    bool have_cpu;
    double cpu_s, own_cpu_s;         /* of the server's processes, of this one */
    struct bench_proc before, after; /* memory */
    uint64_t rss_peak, anon_peak;
    struct bench_figure figures[BENCH_FIGURES_MAX];
    size_t nfigures;
    const char *skipped; /* why nothing was measured */
};

void bench_figure(struct bench_result *r, const char *name, double value, const char *unit);

void bench_report_text(const struct bench_result *r);
void bench_report_json(const struct bench_result *r); /* one line */

#endif
