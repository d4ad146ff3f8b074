/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/line_diff.h"

#include "base/buf.h"
#include "tap.h"

/* What github.com/pmezard/go-difflib prints, with three lines around. */
static const struct {
    const char *was, *now, *diff;
} rows[] = {
    { "a", "a", "" },
    { "", "", "" },
    { "", "a", "@@ -1 +1 @@\n-\n+a\n" },
    { "a\nb\nc", "a\nc", "@@ -1,3 +1,2 @@\n a\n-b\n c\n" },
    { "a\nc", "a\nb\nc", "@@ -1,2 +1,3 @@\n a\n+b\n c\n" },
    { "1\n2\n3\n4\n5", "1\n2\n3\n4\nx", "@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+x\n" },
    /* Six lines between two changes keep them together, seven do not. */
    { "a\n1\n2\n3\n4\n5\n6\nb", "x\n1\n2\n3\n4\n5\n6\ny",
      "@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+y\n" },
    { "a\n1\n2\n3\n4\n5\n6\n7\nb", "x\n1\n2\n3\n4\n5\n6\n7\ny",
      "@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+y\n" },
    /* The longest common piece counts, not the least number of changes. */
    { "a\nb", "a\nc\na\nb", "@@ -1,2 +1,4 @@\n+a\n+c\n a\n b\n" },
    { "q\na\nb\nx\nc\nd", "a\nb\ny\nc\nd\nf", "@@ -1,6 +1,6 @@\n-q\n a\n b\n-x\n+y\n c\n d\n+f\n" },
};

TEST(lines_that_differ)
{
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(str_z(a, line_diff(a, str_of(rows[i].was), str_of(rows[i].now))), rows[i].diff);
}

/* n lines, `same` and numbers in turns. */
static str lines(struct arena *a, size_t n, const char *same, size_t from)
{
    scoped_buf b;

    buf_init(&b, 64 << 20);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_byte(&b, '\n');
        if (i % 2)
            buf_u64(&b, from + i);
        else
            buf_str_append(&b, str_of(same));
    }
    return str_dup(a, buf_str(&b));
}

/* From 200 lines on, those that are more than one in a hundred find nothing by themselves. */
TEST(lines_that_are_everywhere)
{
    scoped_arena a = arena_new();

    CHECK_STR(str_z(a, line_diff(a, lines(a, 4, "=", 0), lines(a, 4, "=", 9))),
              "@@ -1,4 +1,4 @@\n =\n-1\n+10\n =\n-3\n+12\n");
    CHECK(str_starts(line_diff(a, lines(a, 200, "=", 0), lines(a, 200, "=", 1000)),
                     STR("@@ -1,200 +1,200 @@\n =\n-1\n-=\n-3\n")));
}

static size_t number(str *text)
{
    size_t n = 0;

    for (; text->n && text->p[0] >= '0' && text->p[0] <= '9'; *text = str_from(*text, 1))
        n = 10 * n + (size_t)(text->p[0] - '0');
    return n;
}

static void copy_line(struct buf *out, str line)
{
    buf_str_append(out, line);
    buf_byte(out, '\n');
}

/* The text that the diff makes of `was`. */
static str applied(struct arena *a, str was, str diff)
{
    scoped_buf out;
    size_t at = 1;
    str line, old;

    buf_init(&out, 1 << 20);
    while (str_split(&diff, '\n', &line) && line.n) {
        if (str_starts(line, STR("@@ -"))) {
            str head = str_from(line, 4);
            size_t from = number(&head);

            from += str_starts(head, STR(",0 "));
            for (; at < from && str_split(&was, '\n', &old); at++)
                copy_line(&out, old);
            continue;
        }
        if (line.p[0] != '+' && str_split(&was, '\n', &old)) {
            CHECK(str_eq(old, str_from(line, 1)));
            at++;
        }
        if (line.p[0] != '-')
            copy_line(&out, str_from(line, 1));
    }
    while (str_split(&was, '\n', &old))
        copy_line(&out, old);
    return str_dup(a, buf_str(&out));
}

static str any_text(struct arena *a, uint32_t *seed, size_t most)
{
    scoped_buf b;

    buf_init(&b, 1 << 20);
    *seed = *seed * 1664525 + 1013904223;
    for (size_t n = 1 + (*seed >> 16) % most; n > 0; n--) {
        *seed = *seed * 1664525 + 1013904223;
        buf_printf(&b, "%c%s", 'a' + (int)(*seed >> 24) % 26, n > 1 ? "\n" : "");
    }
    return str_dup(a, buf_str(&b));
}

TEST(a_diff_leads_from_one_to_the_other)
{
    uint32_t seed = 7;

    for (size_t i = 0; i < 500; i++) {
        scoped_arena a = arena_new();
        str was = any_text(a, &seed, i + 1), now = any_text(a, &seed, i + 1);

        CHECK_STR(str_z(a, applied(a, was, line_diff(a, was, now))),
                  str_z(a, str_concat(a, now, STR("\n"), STR_NONE)));
    }
}

/* Nothing ends the search early: every other line is the same, each in its place. */
TEST(a_diff_has_limits)
{
    scoped_arena a = arena_new();
    scoped_buf was, now;
    str diff;

    buf_init(&was, 1 << 20);
    buf_init(&now, 1 << 20);
    for (size_t i = 0; i < 40000; i++) {
        buf_printf(&was, "%zu\n", i);
        buf_printf(&now, "%s%zu\n", i % 2 ? "x" : "", i);
    }
    diff = line_diff(a, buf_str(&was), buf_str(&now));
    CHECK(str_starts(diff, STR("@@ -1,")));
    CHECK(diff.n > LINE_DIFF_MAX - 100 && diff.n <= LINE_DIFF_MAX + 4);
    CHECK(str_ends(diff, STR("\n...\n")));
}
