/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

/*
 * Counters and gauges without labels that any file can own:
 *
 *     METRIC(evictions, METRIC_COUNTER, "kairship_evictions_total", "Workloads evicted.")
 *     …
 *     metric_add(&evictions, 1);
 *
 * The API server prints them at /metrics; kairship controller-manager and kairship syncer have no
 * port, so theirs are not served.  There is one value for all instances: memory and the scrape stay
 * small however many there are.  What every request counts is in apiserver/call/metrics.h, which
 * keeps the cores apart.
 */

#include <stdatomic.h>
#include <stdint.h>

struct buf;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct metric {
    const char *name, *help;
    enum metric_type type;
    _Atomic int64_t value;
    struct metric *next;
};

/* Defines a metric of this file, which is registered before main() begins. */
#define METRIC(id, type, name, help)                             \
    static struct metric id = { name, help, type, 0, 0 };        \
    __attribute__((constructor)) static void register_##id(void) \
    {                                                            \
        metric_register(&id);                                    \
    }

void metric_register(struct metric *m); /* before there are threads; it stays for ever */

static inline void metric_add(struct metric *m, int64_t n) /* any thread */
{
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

/* Appends all of them in the text format of Prometheus, ordered by name.  Any thread. */
void metric_print(struct buf *out);

#endif
