/* SPDX-License-Identifier: Apache-2.0 */
#include "json/go_print.h"

#include "base/banned.h"

/* What is escaped here though JSON does not demand it: how many bytes, 0 for none. */
static size_t special(str s)
{
    if (s.p[0] == '<' || s.p[0] == '>' || s.p[0] == '&')
        return 1;
    return str_starts(s, STR("\u2028")) || str_starts(s, STR("\u2029")) ? 3 : 0;
}

/* As JSON has it, but for those: they are not part of any other escape. */
static void escape(struct buf *b, str quoted)
{
    while (quoted.n) {
        size_t plain = 0, n = 0;

        while (plain < quoted.n && (n = special(str_from(quoted, plain))) == 0)
            plain++;
        buf_append(b, quoted.p, plain);
        quoted = str_from(quoted, plain);
        if (n == 1)
            buf_printf(b, "\\u%04x", (unsigned)quoted.p[0]);
        else if (n == 3)
            buf_printf(b, "\\u202%c", quoted.p[2] == '\xa8' ? '8' : '9');
        quoted = str_from(quoted, n);
    }
}

static void put_string(struct buf *b, struct buf *scratch, str s)
{
    buf_clear(scratch);
    json_print_string(scratch, s);
    escape(b, buf_str(scratch));
}

static void new_line(struct buf *b, size_t depth)
{
    char *to = buf_reserve(b, 1 + depth);

    if (!to)
        return;
    to[0] = '\n';
    memset(to + 1, ' ', depth);
    b->n += 1 + depth;
}

static void print(struct buf *b, struct buf *scratch, const struct json *v, size_t depth)
{
    if (v->type == JSON_STRING) {
        put_string(b, scratch, json_str(v));
        return;
    }
    if (json_len(v) == 0) {
        json_print(b, v);
        return;
    }
    buf_byte(b, v->type == JSON_ARRAY ? '[' : '{');
    for (size_t i = 0; i < v->n && !buf_overflown(b); i++) {
        if (i)
            buf_byte(b, ',');
        new_line(b, depth + 1);
        if (v->type == JSON_ARRAY) {
            print(b, scratch, &v->items[i], depth + 1);
            continue;
        }
        put_string(b, scratch, v->members[i].name);
        buf_lit(b, ": ");
        print(b, scratch, &v->members[i].value, depth + 1);
    }
    new_line(b, depth);
    buf_byte(b, v->type == JSON_ARRAY ? ']' : '}');
}

void json_go_print(struct buf *b, const struct json *v)
{
    scoped_buf scratch;

    buf_init(&scratch, SIZE_MAX / 4);
    print(b, &scratch, v, 0);
}
