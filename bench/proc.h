/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_PROC_H
#define BENCH_PROC_H

/* What processes cost, from /proc: the server's, and our own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { BENCH_PIDS_MAX = 32 };

struct bench_pids {
    int pid[BENCH_PIDS_MAX];
    size_t n;
};

/* "12,34"; empty: none. */
int bench_pids_parse(const char *text, struct bench_pids *out, struct status *st)
    __attribute__((warn_unused_result));

/* All pids together; zero for those that are gone. */
struct bench_proc {
    double cpu_s;           /* user and system, all threads */
    uint64_t rss, rss_anon; /* VmRSS and RssAnon, bytes */
};
struct bench_proc bench_proc_read(const struct bench_pids *pids);

double bench_own_cpu_s(void);
int64_t bench_now_ns(void); /* monotonic */

#endif
