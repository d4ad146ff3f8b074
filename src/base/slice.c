/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

void slice_set(uint64_t ns)
{
    struct { /* struct sched_attr, which the C library does not have */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = { .size = sizeof(attr),
               .policy = SCHED_OTHER,
               .nice = getpriority(PRIO_PROCESS, 0),
               .runtime = ns };

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
