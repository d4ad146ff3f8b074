/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/arena.h"
#include "tap.h"

TEST(order_is_bytewise_and_shorter_first)
{
    CHECK(str_cmp(STR("a"), STR("b")) < 0);
    CHECK(str_cmp(STR("a"), STR("a-1")) < 0);
    CHECK(str_cmp(STR("a-1"), STR("a1")) < 0);
    CHECK(str_cmp(STR("\xff"), STR("a")) > 0);
    CHECK(str_cmp(STR_NONE, STR("")) == 0);
    CHECK(str_cmp(STR("x"), STR("x")) == 0);
}

/* The order, by the book. */
static int order(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;

    for (size_t i = 0; i < n; i++)
        if (a.p[i] != b.p[i])
            return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
    return a.n < b.n ? -1 : a.n > b.n;
}

static int sign(int c)
{
    return c < 0 ? -1 : c > 0;
}

TEST(order_is_that_of_the_first_byte_that_differs)
{
    char x[28], y[28];

    for (size_t n = 0; n <= sizeof(x); n++) {
        memset(x, 'm', sizeof(x));
        memset(y, 'm', sizeof(y));
        for (size_t i = 0; i < n; i++) {
            static const char other[] = { '\x01', 'l', 'n', '\x80', '\xff' };

            for (size_t k = 0; k < sizeof(other); k++) {
                str a = { x, n }, b = { y, n };

                y[i] = other[k];
                y[(i + 3) % sizeof(y)] ^= 1; /* does not count where it comes later */
                CHECK(sign(str_cmp(a, b)) == order(a, b));
                CHECK(sign(str_cmp(b, a)) == order(b, a));
                b.n = i + 1;
                CHECK(sign(str_cmp(a, b)) == order(a, b));
                memset(y, 'm', sizeof(y));
            }
        }
        for (size_t m = 0; m <= n; m++)
            CHECK(sign(str_cmp((str){ x, n }, (str){ y, m })) == (m < n));
    }
}

TEST(empty_strings_are_equal_whatever_their_pointer)
{
    CHECK(str_eq(STR_NONE, STR("")));
    CHECK(str_is(STR_NONE, ""));
    CHECK(str_starts(STR("x"), STR_NONE));
    CHECK(str_ends(STR("x"), STR_NONE));
    CHECK(str_eq(str_of(NULL), STR("")));
}

TEST(prefix_and_suffix)
{
    CHECK(str_starts(STR("/apis/apps"), STR("/apis/")));
    CHECK(!str_starts(STR("/api"), STR("/apis/")));
    CHECK(str_ends(STR("a.yaml"), STR(".yaml")));
    CHECK(!str_ends(STR("yaml"), STR(".yaml")));
}

TEST(case_is_ignored_in_ascii_only)
{
    CHECK(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    CHECK(!str_eq_nocase(STR("a"), STR("b")));
    CHECK(!str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")));
    CHECK(!str_eq_nocase(STR("["), STR("{")));
}

TEST(lower_case_is_of_ascii_and_a_copy)
{
    scoped_arena a = arena_new();
    str s = STR("FooBar-[\xc3\x84Z9"), low = str_lower(a, s);

    CHECK(str_is(low, "foobar-[\xc3\x84z9"));
    CHECK(low.p != s.p && low.p[low.n] == '\0');
    CHECK(str_lower(a, STR_NONE).n == 0);
}

TEST(one_of_a_list_of_words)
{
    static const char *const words[] = { "In", "NotIn", NULL };

    CHECK(str_is_any(STR("In"), words) && str_is_any(STR("NotIn"), words));
    CHECK(!str_is_any(STR("Not"), words) && !str_is_any(STR_NONE, words));
}

TEST(parts_are_clipped_to_what_there_is)
{
    CHECK(str_is(str_sub(STR("hello"), 1, 3), "ell"));
    CHECK(str_is(str_sub(STR("hello"), 3, 99), "lo"));
    CHECK(str_is(str_sub(STR("hello"), 9, 1), ""));
    CHECK(str_is(str_from(STR("hello"), 4), "o"));
    CHECK(str_is(str_from(STR_NONE, 4), ""));
}

TEST(find_and_contains)
{
    CHECK(str_find(STR("a/b/c"), '/', 0) == 1);
    CHECK(str_find(STR("a/b/c"), '/', 2) == 3);
    CHECK(str_find(STR("a/b/c"), '/', 4) == -1);
    CHECK(str_find(STR_NONE, '/', 0) == -1);
    CHECK(str_contains(STR("kube-apiserver"), STR("api")));
    CHECK(!str_contains(STR("api"), STR("kube-apiserver")));
    CHECK(str_contains(STR_NONE, STR_NONE));
}

TEST(trim_takes_blanks_off_both_ends)
{
    CHECK(str_is(str_trim(STR(" \t a b\r\n")), "a b"));
    CHECK(str_is(str_trim(STR("  ")), ""));
}

TEST(split_gives_every_part_also_empty_ones)
{
    static const char *const want[] = { "a", "", "b", "" };
    size_t n = 0;

    for (str rest = STR("a,,b,"), part; str_split(&rest, ',', &part); n++) {
        REQUIRE(n < 4);
        CHECK(str_is(part, want[n]));
    }
    CHECK(n == 4);
    n = 0;
    for (str rest = STR(""), part; str_split(&rest, ',', &part); n++)
        CHECK(part.n == 0);
    CHECK(n == 1);
}

TEST(numbers_are_read_whole_or_not_at_all)
{
    static const char *const bad[] = { "", "-", "+1", "1x", " 1", "0x1", "18446744073709551616" };
    uint64_t u = 7;
    int64_t i = 7;

    for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
        CHECK(!str_to_u64(str_of(bad[k]), &u));
        CHECK(!str_to_i64(str_of(bad[k]), &i));
    }
    CHECK(u == 7 && i == 7);
    CHECK(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(str_to_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(str_to_i64(STR("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(!str_to_i64(STR("9223372036854775808"), &i));
    CHECK(!str_to_i64(STR("-9223372036854775809"), &i));
}

TEST(copies_end_in_nul)
{
    scoped_arena a = arena_new();
    str s = str_dup(a, str_sub(STR("hello"), 0, 4));

    CHECK(s.n == 4);
    CHECK_STR(s.p, "hell");
    CHECK_STR(str_z(a, STR_NONE), "");
    CHECK(str_is(str_printf(a, "%d", 12), "12"));
}

/* No vectors are published for SipHash-1-3; these are properties a keyed hash must have. */
TEST(three_behind_one_another)
{
    scoped_arena a = arena_new();
    str s = str_concat(a, STR("ab"), STR("/"), STR("c"));

    CHECK(str_is(s, "ab/c") && s.p[s.n] == '\0');
    CHECK(str_is(str_concat(a, STR_NONE, STR("x"), STR_NONE), "x"));
    CHECK(str_concat(a, STR_NONE, STR_NONE, STR_NONE).n == 0);
}

TEST(the_hash_depends_on_key_length_and_every_byte)
{
    char text[64] = { 0 };
    uint64_t h = str_hash((str){ text, sizeof(text) }, 1, 2);

    CHECK(h == str_hash((str){ text, sizeof(text) }, 1, 2));
    CHECK(h != str_hash((str){ text, sizeof(text) }, 2, 2));
    CHECK(h != str_hash((str){ text, sizeof(text) }, 1, 3));
    CHECK(h != str_hash((str){ text, sizeof(text) - 1 }, 1, 2));
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = 1;
        CHECK(h != str_hash((str){ text, sizeof(text) }, 1, 2));
        text[i] = 0;
    }
}

TEST(utf8_is_checked_as_the_standard_says)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        { "", true },
        { "plain ascii, longer than eight bytes", true },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", true },
        { "12345678\xc3\xa4", true },
        { "\xed\x9f\xbf\xee\x80\x80", true },
        { "\xf4\x8f\xbf\xbf", true },
        { "\x80", false },             /* a follower alone */
        { "\xc0\xaf", false },         /* overlong */
        { "\xe0\x80\xaf", false },     /* overlong */
        { "\xf0\x80\x80\xaf", false }, /* overlong */
        { "\xed\xa0\x80", false },     /* a surrogate */
        { "\xf4\x90\x80\x80", false }, /* beyond U+10FFFF */
        { "\xf5\x80\x80\x80", false },
        { "\xe2\x82", false }, /* cut */
        { "1234567\xff", false },
        { "\xff", false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (!CHECK(str_utf8_valid(str_of(cases[i].text)) == cases[i].valid))
            printf("# case %zu\n", i);
}

TEST(what_is_cut_ends_with_a_character)
{
    str s = STR("a\xe2\x82\xac"
                "b");

    CHECK(str_is(str_cut(s, 9), "a\xe2\x82\xac"
                                "b"));
    CHECK(str_is(str_cut(s, 4), "a\xe2\x82\xac"));
    CHECK(str_is(str_cut(s, 3), "a"));
    CHECK(str_is(str_cut(s, 1), "a"));
    CHECK(str_cut(s, 0).n == 0 && str_cut(STR_NONE, 3).n == 0);
}

TEST(control_characters)
{
    CHECK(!str_has_control(STR("a b\xc3\xa4~")) && !str_has_control(STR_NONE));
    CHECK(str_has_control(STR("a\n")) && str_has_control(STR("\x7f")));
}
