/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric.h"

#include <string.h>

#include "base/banned.h"
#include "base/buf.h"

static struct metric *first; /* by name; frozen when main() begins */

void metric_register(struct metric *m)
{
    struct metric **at = &first;

    while (*at && strcmp((*at)->name, m->name) < 0)
        at = &(*at)->next;
    m->next = *at;
    *at = m;
}

void metric_print(struct buf *out)
{
    for (struct metric *m = first; m; m = m->next)
        buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %lld\n", m->name, m->help, m->name,
                   m->type == METRIC_COUNTER ? "counter" : "gauge", m->name,
                   (long long)atomic_load_explicit(&m->value, memory_order_relaxed));
}
