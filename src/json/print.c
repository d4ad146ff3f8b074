/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <assert.h>

#include "base/banned.h"
#include "json/members.h"
#include "json/number.h"
#include "json/scan.h"

/* buf_reserve without the call where there is room. */
static inline char *room(struct buf *b, size_t n)
{
    return b->cap - b->n >= n && !b->overflown && b->p ? b->p + b->n : buf_reserve(b, n);
}

static inline void put(struct buf *b, char c)
{
    char *to = room(b, 1);

    if (to) {
        *to = c;
        b->n++;
    }
}

static void put_escape(struct buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char names[128] = { ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                     ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't' };
    char two[] = { '\\', names[c] };
    char six[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

    if (names[c])
        buf_append(b, two, sizeof(two));
    else
        buf_append(b, six, sizeof(six));
}

static void string_escaped(struct buf *b, str s)
{
    put(b, '"');
    while (s.n) {
        size_t n = scan_plain(s);

        buf_append(b, s.p, n);
        s = str_from(s, n);
        if (s.n) {
            put_escape(b, (unsigned char)s.p[0]);
            s = str_from(s, 1);
        }
    }
    put(b, '"');
}

/* A string with its quotes, where there is room; NULL when something in it is to be escaped. */
static inline char *quoted(char *to, str s)
{
    if (__builtin_expect(!scan_copy(to + 1, s), 0))
        return NULL;
    *to = '"';
    to[s.n + 1] = '"';
    return to + s.n + 2;
}

static void string(struct buf *b, str s)
{
    char *to = room(b, s.n + 2);

    if (!to)
        return;
    if (quoted(to, s))
        b->n += s.n + 2;
    else
        string_escaped(b, s);
}

/* As buf_i64, in place where there is room for any. */
static void integer(struct buf *b, int64_t i)
{
    uint64_t v = (uint64_t)i;
    size_t n = 1;

    if (i < 0 || b->cap - b->n < NUMBER_TEXT_MAX || b->overflown) {
        buf_i64(b, i);
        return;
    }
    for (uint64_t x = v; x >= 10; x /= 10)
        n++;
    b->n += n;
    for (char *to = b->p + b->n; n > 0; n--, v /= 10)
        *--to = (char)('0' + v % 10);
}

static void scalar(struct buf *b, const struct json *v)
{
    char text[NUMBER_TEXT_MAX];

    switch (v->type) {
    case JSON_NULL:
        buf_lit(b, "null");
        break;
    case JSON_BOOL:
        buf_str_append(b, v->b ? STR("true") : STR("false"));
        break;
    case JSON_INT:
        integer(b, v->i);
        break;
    case JSON_FLOAT:
        buf_append(b, text, number_print(text, v->f));
        break;
    case JSON_STRING:
        string(b, json_str(v));
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        assert(!"a scalar");
        break;
    }
}

static void print(struct buf *b, const struct json *v, bool sorted);

/* `before` is the brace or the comma. */
static void print_member_slowly(struct buf *b, char before, const struct json_member *m,
                                bool sorted)
{
    put(b, before);
    string(b, m->name);
    put(b, ':');
    print(b, &m->value, sorted);
}

/* Most have nothing to escape, and most values are strings: then there is one look for room. */
static inline void print_member(struct buf *b, char before, const struct json_member *m,
                                bool sorted)
{
    bool text = m->value.type == JSON_STRING;
    size_t most = m->name.n + (text ? m->value.n : 0) + sizeof(",\"\":\"\"") - 1;
    char *to = b->cap - b->n >= most && !b->overflown ? b->p + b->n : NULL;

    if (to) {
        *to = before;
        to = quoted(to + 1, m->name);
    }
    if (to) {
        *to++ = ':';
        to = text ? quoted(to, json_str(&m->value)) : to;
    }
    if (__builtin_expect(!to, 0)) {
        print_member_slowly(b, before, m, sorted);
        return;
    }
    b->n = (size_t)(to - b->p);
    if (!text)
        print(b, &m->value, sorted);
}

static void print_sorted(struct buf *b, const struct json *v)
{
    const struct json_member *few[MEMBERS_FEW];
    const struct json_member **m = members_sorted(v->members, v->n, few);

    for (size_t i = 0; i < v->n; i++)
        print_member(b, i ? ',' : '{', m[i], true);
    members_sorted_free(m, few);
}

static void print_object(struct buf *b, const struct json *v, bool sorted)
{
    if (v->n == 0)
        put(b, '{');
    else if (sorted && !members_ascending(v->members, v->n))
        print_sorted(b, v);
    else
        for (size_t i = 0; i < v->n; i++)
            print_member(b, i ? ',' : '{', &v->members[i], sorted);
    put(b, '}');
}

static void print(struct buf *b, const struct json *v, bool sorted)
{
    if (v->type == JSON_OBJECT) {
        print_object(b, v, sorted);
        return;
    }
    if (v->type != JSON_ARRAY) {
        scalar(b, v);
        return;
    }
    put(b, '[');
    for (size_t i = 0; i < v->n; i++) {
        if (i)
            put(b, ',');
        print(b, &v->items[i], sorted);
    }
    put(b, ']');
}

void json_print(struct buf *b, const struct json *v)
{
    print(b, v, false);
}

static const str root_first[] = { STR_INIT("kind"), STR_INIT("apiVersion"), STR_INIT("metadata") };

enum { NROOT_FIRST = sizeof(root_first) / sizeof(root_first[0]) };

static bool is_root_first(str name)
{
    for (size_t i = 0; i < NROOT_FIRST; i++)
        if (str_eq(name, root_first[i]))
            return true;
    return false;
}

void json_print_sorted(struct buf *b, const struct json *v)
{
    print(b, v, true);
}

void json_print_canonical(struct buf *b, const struct json *v)
{
    const struct json_member *few[MEMBERS_FEW];
    const struct json_member **m;
    char before = '{';

    if (v->type != JSON_OBJECT || v->n == 0) {
        print(b, v, true);
        return;
    }
    m = members_sorted(v->members, v->n, few);
    for (size_t i = 0; i < NROOT_FIRST; i++) {
        const struct json_member *first = members_search(m, v->n, root_first[i]);

        if (!first)
            continue;
        print_member(b, before, first, true);
        before = ',';
    }
    for (size_t i = 0; i < v->n; i++) {
        if (is_root_first(m[i]->name))
            continue;
        print_member(b, before, m[i], true);
        before = ',';
    }
    put(b, '}');
    members_sorted_free(m, few);
}

static void new_line(struct buf *b, size_t depth)
{
    char *to = buf_reserve(b, 1 + 2 * depth);

    if (!to)
        return;
    to[0] = '\n';
    memset(to + 1, ' ', 2 * depth);
    b->n += 1 + 2 * depth;
}

static void pretty(struct buf *b, const struct json *v, size_t depth)
{
    if (json_len(v) == 0) {
        print(b, v, false);
        return;
    }
    put(b, v->type == JSON_ARRAY ? '[' : '{');
    for (size_t i = 0; i < v->n; i++) {
        if (i)
            put(b, ',');
        new_line(b, depth + 1);
        if (v->type == JSON_ARRAY) {
            pretty(b, &v->items[i], depth + 1);
        } else {
            string(b, v->members[i].name);
            buf_lit(b, ": ");
            pretty(b, &v->members[i].value, depth + 1);
        }
    }
    new_line(b, depth);
    put(b, v->type == JSON_ARRAY ? ']' : '}');
}

void json_print_pretty(struct buf *b, const struct json *v)
{
    pretty(b, v, 0);
}

void json_print_string(struct buf *b, str s)
{
    string(b, s);
}

str json_text(struct arena *a, const struct json *v)
{
    scoped_buf b;

    buf_init(&b, SIZE_MAX / 4);
    json_print(&b, v);
    return str_dup(a, buf_str(&b));
}
