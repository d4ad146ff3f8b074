/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAP_H
#define TAP_H

/*
 * The whole unit-test harness: include it, write TESTs, link with what is tested.
 *
 *     TEST(an_arena_is_zeroed) { REQUIRE(p); CHECK(p[0] == 0); CHECK_STR(s, "x"); }
 *
 * Tests register themselves and run in order; the output is TAP.  A failed CHECK marks the test and
 * goes on, a failed REQUIRE also leaves it.  An argument runs only the tests whose name holds it.
 */

#include <stdio.h>
#include <string.h>

struct tap_test {
    struct tap_test *next;
    const char *name;
    void (*fn)(void);
};

static struct tap_test *tap_tests, **tap_tail = &tap_tests;
static int tap_failed;

#define TEST(id)                                                \
    static void test_##id(void);                                \
    __attribute__((constructor)) static void tap_add_##id(void) \
    {                                                           \
        static struct tap_test t = { NULL, #id, test_##id };    \
        *tap_tail = &t;                                         \
        tap_tail = &t.next;                                     \
    }                                                           \
    static void test_##id(void)

#define CHECK(cond) \
    ((cond) ? 1 : (tap_failed = 1, printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond), 0))

#define REQUIRE(cond)     \
    do {                  \
        if (!CHECK(cond)) \
            return;       \
    } while (0)

#define CHECK_STR(got, want)                                            \
    do {                                                                \
        const char *g_ = (got), *w_ = (want);                           \
        if (!CHECK(g_ && strcmp(g_, w_) == 0))                          \
            printf("#  got: %s\n# want: %s\n", g_ ? g_ : "(null)", w_); \
    } while (0)

int main(int argc, char **argv)
{
    int n = 0, bad = 0;

    for (struct tap_test *t = tap_tests; t; t = t->next) {
        if (argc > 1 && !strstr(t->name, argv[1]))
            continue;
        tap_failed = 0;
        t->fn();
        printf("%sok %d - %s\n", tap_failed ? "not " : "", ++n, t->name);
        (void)fflush(stdout);
        bad += tap_failed;
    }
    printf("1..%d\n", n);
    return bad != 0;
}

#endif
