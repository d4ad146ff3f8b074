/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

int bench_pids_parse(const char *text, struct bench_pids *out, struct status *st)
{
    *out = (struct bench_pids){ 0 };
    for (str rest = str_of(text), part; str_split(&rest, ',', &part);) {
        uint64_t pid;

        if (!part.n)
            continue;
        if (!str_to_u64(part, &pid) || pid == 0 || pid > INT32_MAX)
            return status_set(st, REASON_BAD_REQUEST, "--pids: \"%.*s\" is not a process id",
                              STR_ARG(part));
        if (kill((int)pid, 0) < 0 && access("/proc", X_OK) == 0)
            return status_set(st, REASON_BAD_REQUEST, "--pids: there is no process %.*s",
                              STR_ARG(part));
        if (out->n == BENCH_PIDS_MAX)
            return status_set(st, REASON_BAD_REQUEST, "--pids: more than %d", BENCH_PIDS_MAX);
        out->pid[out->n++] = (int)pid;
    }
    return 0;
}

static size_t slurp(int pid, const char *name, char *to, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    f = fopen(path, "re");
    if (f) {
        n = fread(to, 1, size - 1, f);
        (void)fclose(f);
    }
    to[n] = '\0';
    return n;
}

/* proc(5): utime and stime are fields 14 and 15; the second, the name, may hold blanks. */
static double cpu_of(int pid)
{
    char text[1024];
    unsigned long long user = 0, sys = 0;
    const char *p;

    if (!slurp(pid, "stat", text, sizeof(text)))
        return 0;
    p = strrchr(text, ')');
    if (!p ||
        sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &sys) != 2)
        return 0;
    return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t status_kb(const char *text, const char *name)
{
    const char *p = strstr(text, name);

    return p ? strtoull(p + strlen(name), NULL, 10) * 1024 : 0;
}

struct bench_proc bench_proc_read(const struct bench_pids *pids)
{
    struct bench_proc sum = { 0 };
    char text[4096];

    for (size_t i = 0; i < pids->n; i++) {
        sum.cpu_s += cpu_of(pids->pid[i]);
        (void)slurp(pids->pid[i], "status", text, sizeof(text));
        sum.rss += status_kb(text, "VmRSS:");
        sum.rss_anon += status_kb(text, "RssAnon:");
    }
    return sum;
}

double bench_own_cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int64_t bench_now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
