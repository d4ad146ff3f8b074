/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>

#include "tap.h"

TEST(memory_is_zeroed_and_aligned)
{
    scoped_arena a = arena_new();

    for (size_t size = 0; size < 70; size++) {
        unsigned char *p = arena_alloc(a, size);

        CHECK((uintptr_t)p % _Alignof(max_align_t) == 0);
        for (size_t i = 0; i < size; i++)
            REQUIRE(p[i] == 0);
        memset(p, 0xff, size);
    }
}

TEST(allocations_do_not_overlap)
{
    scoped_arena a = arena_new();
    unsigned char *p[500];

    for (size_t i = 0; i < 500; i++)
        memset(p[i] = arena_alloc(a, i + 1), (int)(i & 0xff), i + 1);
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k <= i; k++)
            REQUIRE(p[i][k] == (i & 0xff));
}

TEST(a_large_allocation_is_possible_at_any_time)
{
    scoped_arena a = arena_new();
    char *small = arena_alloc(a, 10), *large = arena_alloc(a, 5 << 20);

    large[(5 << 20) - 1] = 'x';
    small[9] = 'y';
    CHECK(arena_size(a) >= 5 << 20);
    CHECK(arena_size(a) < 6 << 20);
}

TEST(the_size_grows_with_use)
{
    scoped_arena a = arena_new();
    size_t was = arena_size(a);

    CHECK(was == 0);
    for (int i = 0; i < 1000; i++)
        (void)arena_alloc(a, 100);
    CHECK(arena_size(a) >= 100000);
}

TEST(text_is_formatted_into_the_arena)
{
    scoped_arena a = arena_new();

    CHECK_STR(arena_printf(a, "%s-%d", "x", 7), "x-7");
    CHECK_STR(arena_printf(a, "%s", ""), "");
}

static char order[8];

static void note(void *arg)
{
    (void)snprintf(order + strlen(order), sizeof(order) - strlen(order), "%s", (const char *)arg);
}

TEST(deferred_calls_run_last_first_when_the_arena_goes)
{
    static char one[] = "1", two[] = "2", three[] = "3";
    struct arena *a = arena_new();

    order[0] = '\0';
    arena_defer(a, note, one);
    arena_defer(a, note, two);
    arena_defer(a, note, three);
    CHECK_STR(order, "");
    arena_free(a);
    CHECK_STR(order, "321");
}

TEST(freeing_nothing_is_fine)
{
    arena_free(NULL);
}

TEST(what_lasts_begins_small_and_grows)
{
    scoped_arena a = arena_new_lasting();
    scoped_arena b = arena_new();
    char *first = arena_alloc(a, 10);

    (void)arena_alloc(b, 10);
    CHECK(arena_size(a) <= arena_size(b));
    CHECK(arena_size(a) <= 1024);
    for (int i = 0; i < 1000; i++)
        (void)arena_printf(a, "number %d", i);
    CHECK_STR(arena_printf(a, "%s", "end"), "end");
    CHECK(first[9] == '\0');
    CHECK(arena_size(a) >= 10000);
}
