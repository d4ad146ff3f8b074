/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A recursive descent over the pattern; what is understood is written again in the few forms that
 * mean the same to both: every literal as itself or \x{…}, every group without a name or number.
 */

#include "object/meta/pattern_re2.h"

#include "base/banned.h"

#include "base/arena.h"
#include "object/meta/pattern_bits.h"

struct re2 {
    struct arena *arena;
    str t; /* the whole pattern */
    size_t i;
    struct buf *out;
    str *why;
    size_t atom; /* where in out that begins which a repeat is of */
    unsigned depth;
    bool lines;     /* the flag m, here */
    bool multiline; /* ^ may match in the middle */
    bool split;     /* an | outside of all groups */
    /* Outside of all groups: alternatives, those with ^ before and those with $ behind. */
    unsigned branches, carets, dollars;
    bool fresh; /* an alternative has just begun */
    struct bits_builder *bits;
    struct bits_set set;   /* of the class being read */
    struct bits_part part; /* what was read last */
};

/* k8s: as Go's regexp/syntax.Error says it. */
static bool fail(struct re2 *p, const char *what, size_t from, size_t to)
{
    str part = str_sub(p->t, from, to > from ? to - from : 0);

    *p->why = str_printf(p->arena, "error parsing regexp: %s: `%.*s`", what, STR_ARG(part));
    return false;
}

static bool more(const struct re2 *p)
{
    return p->i < p->t.n;
}

static char peek(const struct re2 *p, size_t ahead)
{
    return p->i + ahead < p->t.n ? p->t.p[p->i + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_digit(c) || is_letter(c) || c == '_';
}

static void put_rune(struct re2 *p, uint32_t r)
{
    if (r < 0x80 && is_word((char)r))
        buf_byte(p->out, (char)r);
    else
        buf_printf(p->out, "\\x{%x}", r);
}

/* The next character; the text is valid UTF-8. */
static uint32_t next_rune(struct re2 *p)
{
    unsigned char c = (unsigned char)p->t.p[p->i++];
    unsigned follow = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    uint32_t r = follow ? c & (0x3fu >> follow) : c;

    for (; follow && more(p); follow--)
        r = r << 6 | ((unsigned char)p->t.p[p->i++] & 0x3f);
    return r;
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Behind \x: two digits, or any number of them in braces. */
static bool hex_escape(struct re2 *p, size_t from, uint32_t *out)
{
    uint32_t r = 0;
    bool braces = peek(p, 0) == '{';
    unsigned n = 0;

    if (braces)
        p->i++;
    while (more(p) && (braces || n < 2) && hex_value(peek(p, 0)) >= 0 && r <= 0x10ffff) {
        r = r * 16 + (uint32_t)hex_value(peek(p, 0));
        p->i++;
        n++;
    }
    if (braces ? n == 0 || peek(p, 0) != '}' : n < 2)
        return fail(p, "invalid escape sequence", from, p->i + (more(p) ? 1 : 0));
    p->i += braces;
    if (r > 0x10ffff || (r >= 0xd800 && r < 0xe000))
        return fail(p, "invalid escape sequence", from, p->i);
    *out = r;
    return true;
}

/* An escape that stands for one character; p->i is behind the backslash, which is at `from`. */
static bool char_escape(struct re2 *p, size_t from, uint32_t *out)
{
    static const char names[] = "afnrtv";
    static const char values[] = { '\a', '\f', '\n', '\r', '\t', '\v' };
    char c = peek(p, 0);
    const char *known;

    if (!more(p))
        return fail(p, "trailing backslash at end of expression", 0, 0);
    if (c == 'x') {
        p->i++;
        return hex_escape(p, from, out);
    }
    if (c == '0' || (c >= '1' && c <= '7' && peek(p, 1) >= '0' && peek(p, 1) <= '7')) {
        uint32_t r = 0;

        for (unsigned n = 0; n < 3 && peek(p, 0) >= '0' && peek(p, 0) <= '7'; n++)
            r = r * 8 + (uint32_t)(p->t.p[p->i++] - '0');
        *out = r;
        return true;
    }
    known = strchr(names, c);
    if (c && known) {
        p->i++;
        *out = (uint32_t)values[known - names];
        return true;
    }
    if ((unsigned char)c < 0x80 && !is_digit(c) && !is_letter(c)) {
        p->i++;
        *out = (uint32_t)c;
        return true;
    }
    (void)next_rune(p);
    return fail(p, "invalid escape sequence", from, p->i);
}

static void put_perl_set(struct bits_set *out, char c)
{
    struct bits_set s = { 0 };
    bool negate = c == 'D' || c == 'S' || c == 'W';

    switch (c) {
    case 's':
    case 'S':
        bits_set_range(&s, '\t', '\n');
        bits_set_range(&s, '\f', '\r');
        bits_set_range(&s, ' ', ' ');
        break;
    case 'w':
    case 'W':
        bits_set_range(&s, 'a', 'z');
        bits_set_range(&s, 'A', 'Z');
        bits_set_range(&s, '_', '_');
        bits_set_range(&s, '0', '9');
        break;
    case 'd':
    case 'D':
        bits_set_range(&s, '0', '9');
        break;
    default:
        return;
    }
    for (size_t i = 0; i < 2; i++)
        out->half[i] |= negate ? ~s.half[i] : s.half[i];
}

/* \d \s \w and their opposites; PCRE2's \s has one more character than Go's. */
static bool perl_class(struct re2 *p, bool in_class)
{
    char c = peek(p, 1);

    put_perl_set(&p->set, c);
    if (c == 's')
        buf_printf(p->out, in_class ? "%s" : "[%s]", "\\t\\n\\f\\r\\x{20}");
    else if (c == 'S')
        buf_printf(p->out, in_class ? "%s" : "[%s]",
                   "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{d7ff}\\x{e000}-\\x{10ffff}");
    else if (c && strchr("dDwW", c))
        buf_printf(p->out, "\\%c", c);
    else
        return false;
    p->i += 2;
    return true;
}

/* \pN, \p{Greek}, \P{^Greek}: 1 done, 0 not one, -1 wrong.  Which names there are PCRE2 says. */
static int unicode_class(struct re2 *p)
{
    size_t from = p->i;
    bool negate = peek(p, 1) == 'P';
    str name;

    if (peek(p, 1) != 'p' && peek(p, 1) != 'P')
        return 0;
    p->bits->off = true;
    p->i += 2;
    if (peek(p, 0) == '{') {
        ptrdiff_t end = str_find(p->t, '}', p->i);

        if (end < 0)
            return fail(p, "invalid character class range", from, p->t.n) ? 1 : -1;
        name = str_sub(p->t, p->i + 1, (size_t)end - p->i - 1);
        p->i = (size_t)end + 1;
    } else {
        name = str_sub(p->t, p->i, 1);
        p->i += more(p);
    }
    if (name.n && name.p[0] == '^') {
        negate = !negate;
        name = str_from(name, 1);
    }
    for (size_t i = 0; i < name.n; i++)
        if (!is_word(name.p[i]))
            name.n = 0;
    if (name.n == 0)
        return fail(p, "invalid character class range", from, p->i) ? 1 : -1;
    buf_printf(p->out, "\\%c{%.*s}", negate ? 'P' : 'p', STR_ARG(name));
    return 1;
}

/* [:alpha:] and [:^alpha:] inside of a class: 1 done, 0 not one, -1 wrong. */
static int posix_class(struct re2 *p)
{
    static const char *const names[] = { "alnum", "alpha", "ascii", "blank", "cntrl",
                                         "digit", "graph", "lower", "print", "punct",
                                         "space", "upper", "word",  "xdigit" };
    size_t end = p->i + 2;
    str name;

    if (peek(p, 0) != '[' || peek(p, 1) != ':')
        return 0;
    p->bits->off = true;
    while (end + 1 < p->t.n && (p->t.p[end] != ':' || p->t.p[end + 1] != ']'))
        end++;
    if (end + 1 >= p->t.n)
        return 0;
    name = str_sub(p->t, p->i + 2, end - p->i - 2);
    if (name.n && name.p[0] == '^')
        name = str_from(name, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!str_is(name, names[i]))
            continue;
        buf_str_append(p->out, str_sub(p->t, p->i, end + 2 - p->i));
        p->i = end + 2;
        return 1;
    }
    (void)fail(p, "invalid character class range", p->i, end + 2);
    return -1;
}

static bool class_char(struct re2 *p, size_t open, uint32_t *out)
{
    size_t from = p->i;

    if (!more(p))
        return fail(p, "missing closing ]", open, p->t.n);
    if (peek(p, 0) != '\\') {
        *out = next_rune(p);
        return true;
    }
    p->i++;
    return char_escape(p, from, out);
}

/* x or x-y in a class. */
static bool class_range(struct re2 *p, size_t open)
{
    size_t from = p->i;
    uint32_t lo, hi;

    if (!class_char(p, open, &lo))
        return false;
    put_rune(p, lo);
    bits_set_range(&p->set, lo, lo);
    if (peek(p, 0) != '-' || p->i + 1 >= p->t.n || peek(p, 1) == ']')
        return true;
    p->i++;
    if (!class_char(p, open, &hi))
        return false;
    if (hi < lo)
        return fail(p, "invalid character class range", from, p->i);
    buf_byte(p->out, '-');
    put_rune(p, hi);
    bits_set_range(&p->set, lo, hi);
    return true;
}

static bool class_(struct re2 *p)
{
    size_t open = p->i++;
    bool first = true, negate = peek(p, 0) == '^';

    p->set = (struct bits_set){ 0 };
    buf_byte(p->out, '[');
    if (negate) {
        buf_byte(p->out, '^');
        p->i++;
    }
    for (; first || peek(p, 0) != ']'; first = false) {
        int done = 0;

        if (!more(p))
            return fail(p, "missing closing ]", open, p->t.n);
        done = posix_class(p);
        if (done == 0 && peek(p, 0) == '\\')
            done = perl_class(p, true) ? 1 : unicode_class(p);
        if (done < 0 || (done == 0 && !class_range(p, open)))
            return false;
    }
    p->i++;
    buf_byte(p->out, ']');
    for (size_t i = 0; negate && i < 2; i++)
        p->set.half[i] = ~p->set.half[i];
    p->part = bits_atom(p->bits, &p->set);
    return true;
}

/* A character that stands for itself. */
static void put_literal(struct re2 *p, uint32_t r)
{
    struct bits_set set = { 0 };

    bits_set_range(&set, r, r);
    p->part = bits_atom(p->bits, &set);
    put_rune(p, r);
}

static bool quoted(struct re2 *p)
{
    p->bits->off = true;
    p->i += 2;
    while (more(p)) {
        if (peek(p, 0) == '\\' && peek(p, 1) == 'E') {
            p->i += 2;
            return true;
        }
        p->atom = p->out->n;
        put_rune(p, next_rune(p));
    }
    return true;
}

static bool escape(struct re2 *p)
{
    size_t from = p->i;
    char c = peek(p, 1);
    int done;
    uint32_t r;

    if (c && strchr("AbBz", c)) {
        p->bits->off = true;
        buf_printf(p->out, "(?:\\%c)", c);
        p->i += 2;
        return true;
    }
    if (c == 'Q')
        return quoted(p);
    p->set = (struct bits_set){ 0 };
    done = perl_class(p, false) ? 1 : unicode_class(p);
    if (done) {
        p->part = bits_atom(p->bits, &p->set);
        return done > 0;
    }
    p->i++;
    if (!char_escape(p, from, &r))
        return false;
    put_literal(p, r);
    return true;
}

/* {2}, {2,}, {2,5} at p->i: where it ends, or 0; max is -1 without an upper bound. */
static size_t counted(const struct re2 *p, long *min, long *max)
{
    size_t i = p->i + 1;
    long n[2] = { 0, -1 };

    for (unsigned k = 0; k < 2; k++) {
        size_t from = i;

        for (; i < p->t.n && is_digit(p->t.p[i]); i++) {
            if (i == from)
                n[k] = 0;
            if (n[k] <= RE2_REPEAT_MAX)
                n[k] = n[k] * 10 + (p->t.p[i] - '0');
        }
        if (k == 0 && (i == from || i >= p->t.n))
            return 0;
        if (k == 0 && p->t.p[i] != ',') {
            n[1] = n[0];
            break;
        }
        i += k == 0;
    }
    if (i >= p->t.n || p->t.p[i] != '}')
        return 0;
    *min = n[0];
    *max = n[1];
    return i + 1;
}

static bool at_repeat(const struct re2 *p)
{
    long min, max;
    char c = peek(p, 0);

    return more(p) && (c == '*' || c == '+' || c == '?' || (c == '{' && counted(p, &min, &max)));
}

/*
 * PCRE2's DFA counts the rounds of x+ and [x]{2,} though only the first ones matter, so that its
 * states, and its time, grow with the text; x* and groups it does not count.  Whether a repeat is
 * lazy does not change whether there is a match.
 */
static void put_repeat(struct re2 *p, str how, long min, long max)
{
    bool open = str_is(how, "+") || (how.p[0] == '{' && max < 0);
    char again[64];
    size_t n = p->out->n - p->atom;

    if (!open || p->out->p[p->atom] == '(' || buf_overflown(p->out)) {
        buf_str_append(p->out, how);
        return;
    }
    if (how.p[0] == '{')
        buf_printf(p->out, "{%ld}", min);
    if (n <= sizeof(again)) {
        memcpy(again, p->out->p + p->atom, n);
        buf_append(p->out, again, n);
    } else {
        str copy = str_dup(p->arena, (str){ p->out->p + p->atom, n });

        buf_str_append(p->out, copy);
    }
    buf_byte(p->out, '*');
}

/* A repeat of what was written last, in which `*inside` is the product of counts. */
static bool repeat(struct re2 *p, unsigned *inside)
{
    size_t from = p->i, end = p->i + 1;
    long min = peek(p, 0) == '+', max = peek(p, 0) == '?' ? 1 : -1;

    if (peek(p, 0) == '{') {
        long most;

        end = counted(p, &min, &max);
        most = max < 0 ? min : max;
        if (most > RE2_REPEAT_MAX || (max >= 0 && min > max))
            return fail(p, "invalid repeat count", from, end);
        if (most > 1)
            *inside *= (unsigned)most;
        if (*inside > RE2_REPEAT_MAX)
            return fail(p, "invalid repeat count", from, end);
    }
    put_repeat(p, str_sub(p->t, from, end - from), min, max);
    p->part = bits_repeat(p->bits, p->part, min, max);
    p->i = end;
    if (peek(p, 0) == '?') { /* only pattern_find() cares */
        buf_byte(p->out, '?');
        p->i++;
    }
    if (at_repeat(p))
        return fail(p, "invalid nested repetition operator", from,
                    peek(p, 0) == '{' ? counted(p, &min, &max) : p->i + 1);
    return true;
}

/* The flags of (?i) and (?i: from p->i on, up to the character that ends them. */
static bool flags(struct re2 *p, size_t open, bool *group)
{
    bool off = false, any = false;

    for (; more(p); p->i++) {
        char c = peek(p, 0);

        if (c == ':' || c == ')') {
            if (off && !any)
                break;
            *group = c == ':';
            return true;
        }
        if (c == '-' && !off) {
            off = true;
            any = false;
            buf_byte(p->out, '-');
            continue;
        }
        if (!c || !strchr("imsU", c))
            break;
        any = true;
        if (c == 'm')
            p->lines = !off;
        p->multiline |= p->lines;
        if (c != 'U')
            buf_byte(p->out, c);
    }
    if (!more(p))
        return fail(p, "missing argument to repetition operator", open, p->t.n);
    (void)next_rune(p);
    return fail(p, "invalid or unsupported Perl syntax", open, p->i);
}

static bool named_group(struct re2 *p, size_t open)
{
    ptrdiff_t end = str_find(p->t, '>', p->i);
    size_t from = p->i + (peek(p, 0) == 'P' ? 2 : 1);

    if (end < 0)
        return fail(p, "invalid named capture", open, p->t.n);
    for (size_t i = from; i < (size_t)end; i++)
        if (!is_word(p->t.p[i]))
            return fail(p, "invalid named capture", open, (size_t)end + 1);
    if (from >= (size_t)end)
        return fail(p, "invalid named capture", open, (size_t)end + 1);
    p->i = (size_t)end + 1;
    buf_lit(p->out, "(?:");
    return true;
}

/* What follows "(": *group says whether a group was opened, or only flags were set. */
static bool open_group(struct re2 *p, size_t open, bool *group)
{
    *group = true;
    p->i++;
    if (peek(p, 0) != '?') {
        buf_lit(p->out, "(?:");
        return true;
    }
    p->i++;
    if (peek(p, 0) == '<' || (peek(p, 0) == 'P' && peek(p, 1) == '<'))
        return named_group(p, open);
    p->bits->off = p->bits->off || peek(p, 0) != ':';
    buf_lit(p->out, "(?");
    if (!flags(p, open, group))
        return false;
    buf_byte(p->out, *group ? ':' : ')');
    p->i++;
    return true;
}

static bool alternatives(struct re2 *p, unsigned *inside);

static bool group_(struct re2 *p, unsigned *inside, bool *atom)
{
    size_t open = p->i, from = p->out->n;
    bool lines = p->lines;

    if (!open_group(p, open, atom))
        return false;
    if (!*atom)
        return true;
    if (++p->depth > RE2_NESTING_MAX)
        return fail(p, "expression nests too deeply", 0, p->t.n);
    if (!alternatives(p, inside))
        return false;
    if (!more(p))
        return fail(p, "missing closing )", 0, p->t.n);
    p->depth--;
    p->i++;
    p->lines = lines;
    p->atom = from;
    buf_byte(p->out, ')');
    return true;
}

static void put_dot(struct re2 *p)
{
    struct bits_set all = { .half = { ~((uint64_t)1 << '\n'), UINT64_MAX } };

    p->part = bits_atom(p->bits, &all);
    buf_byte(p->out, '.');
    p->i++;
}

/* One thing that can be repeated; *atom false: only flags. */
static bool piece(struct re2 *p, unsigned *inside, bool *atom)
{
    *inside = 1;
    *atom = true;
    p->atom = p->out->n;
    switch (peek(p, 0)) {
    case '(':
        return group_(p, inside, atom);
    case '[':
        return class_(p);
    case '\\':
        return escape(p);
    case '.':
        put_dot(p);
        return true;
    case '^':
        p->bits->off = p->bits->off || p->depth > 0 || !p->fresh;
        p->carets++;
        p->part = bits_nothing(p->bits);
        buf_lit(p->out, "(?:^)");
        p->i++;
        p->bits->off = p->bits->off || at_repeat(p);
        return true;
    case '$':
        p->bits->off = p->bits->off || p->depth > 0 || (p->i + 1 < p->t.n && peek(p, 1) != '|');
        p->dollars++;
        p->part = bits_nothing(p->bits);
        buf_printf(p->out, "(?:%s)", p->lines ? "$" : "\\z");
        p->i++;
        return true;
    default:
        put_literal(p, next_rune(p));
        return true;
    }
}

/* Up to a ) or the end; *inside becomes the largest product of counts. */
static bool alternatives(struct re2 *p, unsigned *inside)
{
    bool atom = false; /* there is something to repeat */
    struct bits_part all = { 0 }, branch = bits_nothing(p->bits);
    unsigned from = p->bits->n;

    *inside = 1;
    while (more(p) && peek(p, 0) != ')') {
        unsigned here = 1;

        if (peek(p, 0) == '|') {
            buf_byte(p->out, '|');
            p->split |= p->depth == 0;
            p->branches += p->depth == 0;
            p->fresh = true;
            p->i++;
            atom = false;
            all = bits_or(all, branch);
            branch = bits_nothing(p->bits);
            continue;
        }
        if (at_repeat(p) && !atom)
            return fail(p, "missing argument to repetition operator", p->i, p->i + 1);
        if (!piece(p, &here, &atom))
            return false;
        p->fresh = false;
        if (at_repeat(p) && atom && !repeat(p, &here))
            return false;
        if (here > *inside)
            *inside = here;
        if (atom)
            branch = bits_then(p->bits, branch, p->part);
    }
    p->part = bits_or(all, branch);
    p->part.from = from;
    return true;
}

bool re2_translate(struct arena *a, str text, struct buf *out, struct re2_form *form, str *why)
{
    struct bits_builder bits = { 0 };
    struct re2 p = {
        .arena = a, .t = text, .out = out, .why = why, .bits = &bits, .branches = 1, .fresh = true
    };
    bool caret = text.n > 0 && text.p[0] == '^';
    unsigned inside;

    if (caret) {
        p.i = 1;
        caret = !at_repeat(&p);
        p.i = 0;
    }
    if (!alternatives(&p, &inside))
        return false;
    if (more(&p))
        return fail(&p, "unexpected )", 0, text.n);
    form->anchored = caret && !p.split && !p.multiline;
    bits.caret = p.carets == p.branches;
    bits.dollar = p.dollars == p.branches;
    bits.off = bits.off || (p.carets && !bits.caret) || (p.dollars && !bits.dollar);
    form->bits = bits_done(a, &bits, p.part);
    return true;
}
