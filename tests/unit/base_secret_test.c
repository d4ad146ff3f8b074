/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "memory_scan.h"
#include "tap.h"

enum { N = 40 };

/* Random, so that nothing but copies of it is found. */
static void make(char *plain, char *disguised)
{
    if (!CHECK(getentropy(plain, N) == 0)) /* not by a FILE, whose buffer would be a copy */
        abort();
    scan_disguise(disguised, plain, N);
}

static void dirty_arena(const char *plain, bool wiped)
{
    struct arena *a = arena_new();
    char *p;

    for (int i = 0; i < 3; i++) {
        secret s = secret_of((str){ plain, N });

        if (wiped) {
            s = secret_dup(a, s);
            CHECK(secret_eq(s, secret_of((str){ plain, N })));
            s = secret_printf(a, "x%.*s", STR_ARG(secret_reveal(s)));
            p = secret_room(a, 5000);
        } else {
            s = secret_of(str_dup(a, secret_reveal(s)));
            p = arena_alloc(a, 5000);
        }
        memcpy(p + 1000, plain, N);
    }
    arena_free(a);
}

TEST(what_an_arena_held_is_overwritten_when_it_holds_secrets)
{
    char plain[N], disguised[N];

    make(plain, disguised);
    dirty_arena(plain, true);
    mem_wipe(plain, N);
    CHECK(scan_memory(disguised, N) == 0);
}

TEST(and_stays_when_it_does_not)
{
    char plain[N], disguised[N];

    make(plain, disguised);
    dirty_arena(plain, false);
    mem_wipe(plain, N);
    CHECK(scan_memory(disguised, N) > 0);
}

static void dirty_buffer(const char *plain, bool wiped)
{
    struct buf b = { .max = 1 << 20, .wipe = wiped };

    /* Not at its beginning, where the heap writes what it needs to know of a freed block. */
    for (int i = 0; i < 10; i++)
        buf_lit(&b, "something else ");
    buf_append(&b, plain, N);
    for (int i = 0; i < 2000; i++) /* it moves often */
        buf_lit(&b, "something else ");
    CHECK(memcmp(b.p + 150, plain, N) == 0 && b.n == N + 2010 * 15);
    buf_release(&b);
    CHECK(b.wipe == wiped);
}

TEST(a_buffer_leaves_nothing_behind_when_it_grows_and_when_it_goes)
{
    char plain[N], disguised[N];

    make(plain, disguised);
    dirty_buffer(plain, true);
    mem_wipe(plain, N);
    CHECK(scan_memory(disguised, N) == 0);
}

TEST(one_that_does_not_wipe_does)
{
    char plain[N], disguised[N];

    make(plain, disguised);
    dirty_buffer(plain, false);
    mem_wipe(plain, N);
    CHECK(scan_memory(disguised, N) > 0);
}

TEST(secrets_are_compared_whole)
{
    CHECK(secret_eq(SECRET_NONE, secret_of(STR(""))) && secret_empty(SECRET_NONE));
    CHECK(secret_eq(secret_of(STR("abc")), secret_of(STR("abc"))));
    CHECK(!secret_eq(secret_of(STR("abc")), secret_of(STR("abd"))));
    CHECK(!secret_eq(secret_of(STR("abc")), secret_of(STR("abcd"))));
    CHECK(secret_eq(secret_trim(secret_of(STR(" abc\n"))), secret_of(STR("abc"))));
}
