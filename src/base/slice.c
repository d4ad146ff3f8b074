/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"

enum { SHARE_NS = 200000, BACKGROUND_NICE = 5 };

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

void slice_background(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + BACKGROUND_NICE);
}

void slice_share(void)
{
    static _Thread_local int64_t since;

    if (clock_ns() - since < SHARE_NS)
        return;
    (void)sched_yield();
    since = clock_ns();
}
