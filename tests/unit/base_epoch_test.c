/* SPDX-License-Identifier: Apache-2.0 */
#include "base/epoch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tap.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(what_nobody_can_see_goes_at_once)
{
    int freed = 0;

    epoch_retire(count, &freed);
    CHECK(freed == 0);
    CHECK(epoch_reclaim() == 0);
    CHECK(freed == 1);
}

TEST(a_section_holds_what_is_retired_during_it)
{
    int freed = 0;

    epoch_enter();
    epoch_enter();
    epoch_retire(count, &freed);
    CHECK(epoch_reclaim() == 1);
    epoch_exit();
    CHECK(epoch_reclaim() == 1);
    CHECK(freed == 0);
    epoch_exit();
    CHECK(epoch_reclaim() == 0);
    CHECK(freed == 1);
}

TEST(a_later_section_does_not_hold_it)
{
    int freed = 0;

    epoch_retire(count, &freed);
    (void)epoch_reclaim();
    epoch_enter();
    CHECK(freed == 1);
    epoch_retire(count, &freed);
    epoch_exit();
    epoch_enter(); /* open while reclaiming, but began later than another attempt */
    (void)epoch_reclaim();
    epoch_exit();
    epoch_drain();
    CHECK(freed == 2);
}

static void again(void *arg)
{
    epoch_retire(count, arg);
}

TEST(a_function_may_retire_more)
{
    int freed = 0;

    for (int i = 0; i < 1000; i++)
        epoch_retire(again, &freed);
    epoch_drain();
    CHECK(freed == 1000);
}

/* A cell that one thread replaces while others read it: a sanitizer sees a use after free. */
static _Atomic(int *) cell;
static atomic_bool stop;

static void *reader(void *arg)
{
    long sum = 0;

    do { /* at least once, even if the machine lets it begin after the writer has ended */
        epoch_enter();
        sum += *atomic_load_explicit(&cell, memory_order_acquire);
        epoch_exit();
    } while (!atomic_load(&stop));
    *(long *)arg = sum;
    return NULL;
}

TEST(readers_never_meet_freed_memory)
{
    pthread_t threads[3];
    long sums[3];
    int *last;

    atomic_store(&stop, false);
    last = mem_alloc(sizeof(*last));
    *last = 1;
    atomic_store(&cell, last);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, reader, &sums[i]) == 0);
    for (int i = 0; i < 20000; i++) {
        int *fresh = mem_alloc(sizeof(*fresh));

        *fresh = 1;
        epoch_retire(free, atomic_exchange(&cell, fresh));
        if (i % 16 == 0)
            (void)epoch_reclaim();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(sums[i] > 0);
    }
    free(atomic_load(&cell));
    epoch_drain();
}
