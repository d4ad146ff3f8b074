/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/ranked.h"
#include "tap.h"

static const char *sorted(struct arena *a, const char *const *rows, const int64_t *ranks, size_t n)
{
    struct ranked r = { .arena = a };
    struct buf text;
    const char *out;

    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        size_t start = text.n + (i > 0);

        if (i)
            buf_byte(&text, ',');
        buf_str_append(&text, str_of(rows[i]));
        ranked_add(&r, ranks[i], start, text.n - start);
    }
    ranked_sort(&r, &text);
    CHECK(r.n == 0);
    out = str_z(a, buf_str(&text));
    buf_release(&text);
    return out;
}

TEST(rows_stand_in_the_order_of_their_ranks)
{
    static const char *const rows[] = { "[\"catch-all\"]", "{}", "[1,2]", "\"d\"", "\"e\"" };
    static const int64_t ranks[] = { 10000, 900, 1, 900, -5 };
    struct arena *a = arena_new();

    CHECK_STR(sorted(a, rows, ranks, 5), "\"e\",[1,2],{},\"d\",[\"catch-all\"]");
    CHECK_STR(sorted(a, rows, ranks, 1), "[\"catch-all\"]");
    CHECK_STR(sorted(a, rows, ranks, 0), "");
    arena_free(a);
}

TEST(as_many_as_there_are)
{
    struct arena *a = arena_new();
    const char *rows[100];
    int64_t ranks[100];
    str text;

    for (int i = 0; i < 100; i++) {
        rows[i] = arena_printf(a, "%d", i);
        ranks[i] = -i;
    }
    text = str_of(sorted(a, rows, ranks, 100));
    CHECK(str_starts(text, STR("99,98,97,")));
    CHECK(str_ends(text, STR(",2,1,0")));
    arena_free(a);
}
