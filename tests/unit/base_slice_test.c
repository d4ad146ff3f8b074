/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

/* 0 where the kernel does not tell. */
static uint64_t slice_ns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = { 0 };

    return syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0 ? attr.runtime : 0;
}

static void *look(void *arg)
{
    *(uint64_t *)arg = slice_ns();
    return NULL;
}

TEST(a_thread_has_the_slice_of_who_starts_it)
{
    uint64_t usual = slice_ns(), theirs = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    pthread_t t;

    if (!usual || sched_getscheduler(0) != SCHED_OTHER)
        return; /* an old kernel, or one that was told more */
    slice_set(SLICE_SHORT_NS);
    REQUIRE(pthread_create(&t, NULL, look, &theirs) == 0);
    slice_set(0);
    (void)pthread_join(t, NULL);
    CHECK(theirs == SLICE_SHORT_NS);
    CHECK(slice_ns() == usual && usual > SLICE_SHORT_NS);
    CHECK(getpriority(PRIO_PROCESS, 0) == nice);
}

static void *work_behind(void *arg)
{
    slice_background();
    slice_share();
    *(int *)arg = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

TEST(who_works_in_the_background_has_less_of_a_core)
{
    int nice = getpriority(PRIO_PROCESS, 0), theirs = nice;
    pthread_t t;

    REQUIRE(pthread_create(&t, NULL, work_behind, &theirs) == 0);
    (void)pthread_join(t, NULL);
    CHECK(theirs == (nice + 5 > 19 ? 19 : nice + 5));
    CHECK(getpriority(PRIO_PROCESS, 0) == nice);
}
