/* SPDX-License-Identifier: Apache-2.0 */

/*
 * YAML out, as sigs.k8s.io/yaml writes it: block style, keys sorted, long lines folded at
 * blanks; text that would be read as something else in double quotes, text of several lines as it
 * is.
 */

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/banned.h"
#include "base/mem.h"
#include "json/yaml_scalar.h"

struct out {
    yaml_emitter_t emitter;
    struct buf *buf;
    struct arena *arena;
};

static int write_bytes(void *arg, unsigned char *bytes, size_t n)
{
    struct out *o = arg;

    buf_append(o->buf, bytes, n);
    return 1;
}

/* The values are ours and the memory is there: libyaml has no other reason to refuse. */
static void emit(struct out *o, yaml_event_t *ev, int made)
{
    if (!made || !yaml_emitter_emit(&o->emitter, ev))
        mem_exhausted();
}

static void emit_text(struct out *o, str text, yaml_scalar_style_t style)
{
    yaml_event_t ev;
    yaml_char_t none[] = "";
    int made = yaml_scalar_event_initialize(&ev, NULL, NULL,
                                            text.n ? (yaml_char_t *)str_z(o->arena, text) : none,
                                            (int)text.n, 1, 1, style);

    emit(o, &ev, made);
}

static size_t digits(str s, size_t from)
{
    size_t n = 0;

    while (from + n < s.n && s.p[from + n] >= '0' && s.p[from + n] <= '9')
        n++;
    return n;
}

/* k8s: goyaml.v2/resolve.go parseTimestamp.  Of four digits and two dashes, which is enough: what
 * only looks like a date would be quoted without need. */
static bool is_dated(str s)
{
    size_t at = 5, month, day;

    if (digits(s, 0) != 4 || s.n < 8 || s.p[4] != '-')
        return false;
    month = digits(s, at);
    at += month + 1;
    if (month < 1 || month > 2 || at >= s.n || s.p[at - 1] != '-')
        return false;
    day = digits(s, at);
    at += day;
    return day >= 1 && day <= 2 && (at == s.n || strchr("Tt ", s.p[at]));
}

/* k8s: goyaml.v2/encode.go base60float: [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? */
static bool is_sexagesimal(str s)
{
    size_t at = s.p[0] == '-' || s.p[0] == '+', parts = 0;

    if (digits(s, at) == 0)
        return false;
    while (at < s.n && (digits(s, at) || s.p[at] == '_'))
        at++;
    for (; at < s.n && s.p[at] == ':'; parts++) {
        size_t n = digits(s, at + 1);

        if (n == 0 || n > 2 || (n == 2 && s.p[at + 1] > '5'))
            return false;
        at += n + 1;
    }
    if (at < s.n && s.p[at] == '.')
        at++;
    while (at < s.n && (digits(s, at) || s.p[at] == '_'))
        at++;
    return parts && at == s.n;
}

/* k8s: goyaml.v2/encode.go stringv */
static yaml_scalar_style_t style_of(struct out *o, str text)
{
    if (text.n && memchr(text.p, '\n', text.n))
        return YAML_LITERAL_SCALAR_STYLE;
    if (text.n == 0 || str_is(text, "<<"))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    /* Of words that mean something none begins otherwise. */
    if (strchr("+-.0123456789~fFnNoOtTyY", text.p[0]) &&
        (yaml_guess(o->arena, (str){ str_z(o->arena, text), text.n }).type != JSON_STRING ||
         is_dated(text) || is_sexagesimal(text)))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE; /* libyaml quotes what cannot stand plain */
}

/* ---- order ---- */

static bool is_letter(unsigned char c) /* beyond ASCII nearly all are */
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* The number that stands at i of s, and where it ends. */
static uint64_t number_at(str s, size_t i, uint64_t lead, size_t *end)
{
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        lead = lead * 10 + (uint64_t)(s.p[i] - '0');
    *end = i;
    return lead;
}

/* k8s: goyaml.v2/sorter.go: numbers in names count as such, and letters come last */
static int compare_names(str a, str b)
{
    size_t i = 0, j, end_a, end_b;
    uint64_t lead = 0, x, y;

    while (i < a.n && i < b.n && a.p[i] == b.p[i])
        i++;
    if (i == a.n || i == b.n)
        return a.n < b.n ? -1 : a.n > b.n;
    if (is_letter((unsigned char)a.p[i]) || is_letter((unsigned char)b.p[i])) {
        if (is_letter((unsigned char)a.p[i]) != is_letter((unsigned char)b.p[i]))
            return is_letter((unsigned char)a.p[i]) ? 1 : -1;
        return (unsigned char)a.p[i] - (unsigned char)b.p[i];
    }
    if (a.p[i] == '0' || b.p[i] == '0')
        for (j = i; j > 0 && a.p[j - 1] >= '0' && a.p[j - 1] <= '9' && !lead; j--)
            lead = a.p[j - 1] != '0';
    x = number_at(a, i, lead, &end_a);
    y = number_at(b, i, lead, &end_b);
    if (x != y)
        return x < y ? -1 : 1;
    if (end_a != end_b)
        return end_a < end_b ? -1 : 1;
    return (unsigned char)a.p[i] - (unsigned char)b.p[i];
}

static int by_name(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;

    return compare_names((*x)->name, (*y)->name);
}

/* ---- values ---- */

static void value(struct out *o, const struct json *v);

static void mapping(struct out *o, const struct json *v)
{
    const struct json_member **sorted = arena_array(o->arena, const struct json_member *, v->n + 1);
    yaml_event_t ev;
    int made = yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE);

    emit(o, &ev, made);
    for (uint32_t i = 0; i < v->n; i++)
        sorted[i] = &v->members[i];
    qsort(sorted, v->n, sizeof(*sorted), by_name);
    for (uint32_t i = 0; i < v->n; i++) {
        emit_text(o, sorted[i]->name, style_of(o, sorted[i]->name));
        value(o, &sorted[i]->value);
    }
    made = yaml_mapping_end_event_initialize(&ev);
    emit(o, &ev, made);
}

static void sequence(struct out *o, const struct json *v)
{
    yaml_event_t ev;
    int made = yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE);

    emit(o, &ev, made);
    json_for_each (item, v)
        value(o, item);
    made = yaml_sequence_end_event_initialize(&ev);
    emit(o, &ev, made);
}

static void value(struct out *o, const struct json *v)
{
    switch (v->type) {
    case JSON_OBJECT:
        mapping(o, v);
        return;
    case JSON_ARRAY:
        sequence(o, v);
        return;
    case JSON_STRING:
        emit_text(o, json_str(v), style_of(o, json_str(v)));
        return;
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_INT:
    case JSON_FLOAT:
        emit_text(o, json_text(o->arena, v), YAML_PLAIN_SCALAR_STYLE);
        return;
    }
}

void json_print_yaml(struct buf *b, const struct json *v)
{
    scoped_arena a = arena_new();
    struct out o = { .buf = b, .arena = a };
    yaml_event_t ev;
    int made;

    if (!yaml_emitter_initialize(&o.emitter))
        mem_exhausted();
    yaml_emitter_set_output(&o.emitter, write_bytes, &o);
    yaml_emitter_set_unicode(&o.emitter, 1);
    made = yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING);
    emit(&o, &ev, made);
    made = yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1);
    emit(&o, &ev, made);
    value(&o, v);
    made = yaml_document_end_event_initialize(&ev, 1);
    emit(&o, &ev, made);
    made = yaml_stream_end_event_initialize(&ev);
    emit(&o, &ev, made);
    yaml_emitter_delete(&o.emitter);
}
