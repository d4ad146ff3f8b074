/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric_process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/metric.h"

#define FILES "/proc/self/fd"

static int64_t started_s; /* wall clock */

__attribute__((constructor)) static void note_start(void)
{
    started_s = (int64_t)time(NULL);
}

/* Resident and virtual bytes; left out where /proc does not tell. */
static void read_memory(int64_t *resident, int64_t *virtual_)
{
    long long size, pages;
    FILE *f = fopen("/proc/self/statm", "re");

    *resident = *virtual_ = METRIC_NONE;
    if (f && fscanf(f, "%lld %lld", &size, &pages) == 2) {
        *virtual_ = (int64_t)size * sysconf(_SC_PAGESIZE);
        *resident = (int64_t)pages * sysconf(_SC_PAGESIZE);
    }
    if (f)
        (void)fclose(f);
}

/* From Linux 6.2 on the folder's size is their number; counting many would take milliseconds. */
static int64_t count_files(void)
{
    struct stat sb;
    int64_t n = 0;
    DIR *d;

    if (stat(FILES, &sb) == 0 && sb.st_size > 0)
        return (int64_t)sb.st_size;
    d = opendir(FILES);
    if (!d)
        return METRIC_NONE;
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n - 1; /* without d's own */
}

static int64_t cpu_us(void)
{
    struct rusage ru = { 0 };

    (void)getrusage(RUSAGE_SELF, &ru);
    return (int64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 + ru.ru_utime.tv_usec +
           ru.ru_stime.tv_usec;
}

void metric_process_print(struct buf *out)
{
    static const struct metric_spec specs[] = {
        { "process_cpu_seconds_total", "User and system CPU time.", METRIC_COUNTER,
          .per = 1000000 },
        METRIC_PLAIN(METRIC_GAUGE, "process_open_fds", "Open files and sockets."),
        METRIC_PLAIN(METRIC_GAUGE, "process_resident_memory_bytes", "Resident memory."),
        METRIC_PLAIN(METRIC_GAUGE, "process_start_time_seconds", "Start, in seconds since 1970."),
        METRIC_PLAIN(METRIC_GAUGE, "process_virtual_memory_bytes", "Virtual memory."),
    };
    int64_t resident, virtual_;

    read_memory(&resident, &virtual_);

    const int64_t values[] = { cpu_us(), count_files(), resident, started_s, virtual_ };

    metric_each(out, specs, sizeof(specs) / sizeof(*specs), values);
}
