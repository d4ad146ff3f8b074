/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/pattern.h"

#include "base/arena.h"
#include "tap.h"

static enum pattern_result match(const char *pattern, const char *text)
{
    scoped_arena a = arena_new();
    str why = STR_NONE;
    const struct pattern *p = pattern_compile(a, str_of(pattern), &why);

    if (!p) {
        printf("# %s: %.*s\n", pattern, STR_ARG(why));
        return PATTERN_TOO_COMPLEX;
    }
    return pattern_match(p, str_of(text));
}

TEST(matches_as_go_does)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } rows[] = {
        { "^[a-z]+$", "abc", true },
        { "^[a-z]+$", "abc\n", false }, /* $ is the very end */
        { "^[a-z]+$", "aBc", false },
        { "b", "abc", true }, /* anywhere */
        { "^b", "abc", false },
        { "^b*", "abc", true }, /* none is enough */
        { "b*$", "abc", true },
        { "b*", "ac", true },
        { "a|^b", "ca", true },
        { "(?m)^b$", "a\nb\nc", true },
        { "(?m:^b)$", "a\nb\nc", false },
        { "^$|^a+$", "", true },
        { "^$|^a+$", "aa", true },
        { "^$|^a+$", "ab", false },
        { "^a|b$", "cb", true },
        { "^a|b$", "ca", false },
        { "\\|^a", "|a", false },
        { "(^a|b)$", "cb", true },
        { "x(a|^b)", "xb", false },
        { "^a$b", "ab", false },
        { "^(a|b){2,3}$", "aba", true },
        { "^(a|b){2,3}$", "abab", false },
        { "^(ab?){0,2}c{0}d$", "abad", true },
        { "^(ab?){0,2}c{0}d$", "abaad", false },
        { "a{3,}b", "xaaaab", true },
        { "a{3,}b", "xaab", false },
        { "^[0-9]{1,5}(h|m|s|ms)$", "100ms", true },
        { "c$", "abc", true },
        { "^(?:ab{2,}c+?)+$", "abbcabbbcc", true },
        { "^(?:ab{2,}c+?)+$", "abc", false },
        { "^[ab]{2,}$", "a", false },
        { "^\\Qxy\\E+$", "xyyy", true },
        { "", "", true },
        { "^$", "", true },
        { "^$", "x", false },
        { "^(a|b)*$", "abab", true },
        { "^(a|b)*?$", "abc", false },
        { "^a{2,3}$", "aaa", true },
        { "^a{2,3}$", "aaaa", false },
        { "^a{2,}$", "aaaaa", true },
        { "^a{$", "a{", true },
        { "^a{,2}$", "a{,2}", true },
        { "^a.c$",
          "a\xc3\xa9"
          "c",
          true },
        { "^a.c$", "a\nc", false },
        { "(?s)^a.c$", "a\nc", true },
        { "(?i)^ABC$", "aBc", true },
        { "^(?i:A)b$", "ab", true },
        { "^(?i:A)b$", "aB", false },
        { "^(?P<x>a)(?<y>b)$", "ab", true },
        { "^\\d\\w\\s$", "1_ ", true },
        { "^\\s$", "\v", false }, /* not a blank to Go */
        { "^\\S$", "\v", true },
        { "^[\\S]$", " ", false },
        { "^\\v$", "\v", true },
        { "^\\v$", "\f", false },
        { "^[^\\d]$", "x", true },
        { "^[]a-]+$", "]-a", true },
        { "^[[:alpha:]_]+$", "ab_", true },
        { "^\\x41\\x{42}\\103$", "ABC", true },
        { "^\\Qa.b\\E$", "a.b", true },
        { "^\\Qa.b\\E$", "axb", false },
        { "^\\p{Greek}\\pL$", "\xce\xb1x", true },
        { "^\\P{Greek}$", "\xce\xb1", false },
        { "^a\\.b\\/c$", "a.b/c", true },
        { "\\bfoo\\b", "a foo b", true },
        { "^*a", "a", true },
        { "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a.b-c.d", true },
        { "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a..b", false },
        { "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-"
          "9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
          "1.5Gi", true },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!CHECK(match(rows[i].pattern, rows[i].text) ==
                   (rows[i].match ? PATTERN_YES : PATTERN_NO)))
            printf("# %s on %s\n", rows[i].pattern, rows[i].text);
}

/* Which of the last characters were an a tells more sets of states apart than a table has rows. */
TEST(patterns_with_very_many_sets_of_states_match_as_others)
{
    char text[16];

    for (unsigned bits = 0; bits < 1u << (sizeof(text) - 1); bits += 7) {
        for (size_t i = 0; i < sizeof(text) - 1; i++)
            text[i] = bits >> i & 1 ? 'a' : 'b';
        text[sizeof(text) - 1] = '\0';
        CHECK(match("a[ab]{8}$", text) == (text[6] == 'a' ? PATTERN_YES : PATTERN_NO));
        CHECK(match("^[ab]*a[ab]{4}$", text) == (text[10] == 'a' ? PATTERN_YES : PATTERN_NO));
        CHECK(match("a[ab]{3}b", text) == match("(?-i:a[ab]{3}b)", text));
    }
    CHECK(match("a[ab]{8}$", "abbbbbbbb\xc3\xa9") == PATTERN_NO);
    CHECK(match("a[ab]{8}", "\xc3\xa9 abbbbbbbb") == PATTERN_YES);
}

TEST(what_go_refuses_is_refused_in_its_words)
{
    static const struct {
        const char *pattern, *why;
    } rows[] = {
        { "(", "missing closing ): `(`" },
        { "a)", "unexpected ): `a)`" },
        { "[a", "missing closing ]: `[a`" },
        { "*a", "missing argument to repetition operator: `*`" },
        { "a|*", "missing argument to repetition operator: `*`" },
        { "a**", "invalid nested repetition operator: `**`" },
        { "a*+", "invalid nested repetition operator: `*+`" },
        { "a{2}{3}", "invalid nested repetition operator: `{2}{3}`" },
        { "a{1001}", "invalid repeat count: `{1001}`" },
        { "a{3,2}", "invalid repeat count: `{3,2}`" },
        { "((a{100}){100})", "invalid repeat count: `{100}`" },
        { "(?=a)", "invalid or unsupported Perl syntax: `(?=`" },
        { "(?!a)", "invalid or unsupported Perl syntax: `(?!`" },
        { "(?<=a)b", "invalid named capture: `(?<=a)b`" },
        { "(?>a)", "invalid or unsupported Perl syntax: `(?>`" },
        { "(a)\\1", "invalid escape sequence: `\\1`" },
        { "\\Z", "invalid escape sequence: `\\Z`" },
        { "\\C", "invalid escape sequence: `\\C`" },
        { "a\\", "trailing backslash at end of expression: ``" },
        { "[b-a]", "invalid character class range: `b-a`" },
        { "[[:foo:]]", "invalid character class range: `[:foo:]`" },
        { "[a-\\d]", "invalid escape sequence: `\\d`" },
        { "\\p{Nope}", "invalid character class range: `\\p{Nope}`" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        str why = STR_NONE;

        CHECK(!pattern_compile(a, str_of(rows[i].pattern), &why));
        CHECK_STR(str_z(a, why), str_z(a, str_printf(a, "error parsing regexp: %s", rows[i].why)));
    }
}

/* Patterns that take exponential or quadratic time by backtracking or by starting anew. */
TEST(time_is_linear)
{
    static const char *const patterns[] = { "^(a+)+$",         "^(a|aa)+$", "(.*)*b",
                                            "a*a*a*b",         "(a*)*c",    "^([a-z]+-?)+$",
                                            "^([a-z]{2,}-?)+$" };
    size_t n = 20000;
    scoped_arena a = arena_new();
    char *text = arena_alloc(a, n + 1);
    str why;

    memset(text, 'a', n);
    text[n - 1] = '!';
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        const struct pattern *p = pattern_compile(a, str_of(patterns[i]), &why);

        REQUIRE(p);
        CHECK(pattern_match(p, (str){ text, n }) == PATTERN_NO);
    }
}

TEST(work_is_bounded)
{
    scoped_arena a = arena_new();
    str why;
    const struct pattern *p =
        pattern_compile(a, STR("(a?){300}(a?){300}(a?){300}(b|[a-z]{1,900}){1}x"), &why);
    size_t n = 1 << 20;
    char *text = arena_alloc(a, n + 1);

    REQUIRE(p);
    memset(text, 'a', n);
    CHECK(pattern_match(p, (str){ text, n }) == PATTERN_TOO_COMPLEX);
    CHECK(pattern_match(p, STR("aaax")) == PATTERN_YES);
}
