/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/fieldset.h"

#include <stdlib.h>

#include "base/banned.h"
#include "json/scan.h"

enum { ELEMENT_MAX = 4 << 20, FEW = 16 };

static const char *const prefixes[] = {
    [PATH_NAME] = "f:", [PATH_KEY] = "k:", [PATH_VALUE] = "v:", [PATH_INDEX] = "i:"
};

static int compare(enum path_kind kind, str text, const struct fieldset_node *n)
{
    if (kind != n->kind)
        return kind < n->kind ? -1 : 1;
    return str_cmp(text, n->text);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct fieldset_node *x = a;

    return compare(x->kind, x->text, b);
}

const struct fieldset_node *fieldset_find(const struct fieldset *s, enum path_kind kind, str text)
{
    uint32_t from = 0, to = s->n;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int c = compare(kind, text, &s->nodes[middle]);

        if (c == 0)
            return &s->nodes[middle];
        if (c < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

bool fieldset_equal(const struct fieldset *a, const struct fieldset *b)
{
    if (a->n != b->n)
        return false;
    if (a->nodes == b->nodes)
        return true;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct fieldset_node *x = &a->nodes[i], *y = &b->nodes[i];

        if (x->member != y->member || x->kind != y->kind || !scan_equal(x->text, y->text) ||
            !fieldset_equal(&x->below, &y->below))
            return false;
    }
    return true;
}

/* ---- making ---- */

void fieldset_reserve(struct fieldset_builder *b, uint32_t n)
{
    struct fieldset_node *grown;

    if (n <= b->cap)
        return;
    grown = arena_alloc_raw(b->arena, n * sizeof(*grown));
    if (b->n)
        memcpy(grown, b->nodes, b->n * sizeof(*grown));
    b->nodes = grown;
    b->cap = n;
}

void fieldset_push(struct fieldset_builder *b, const struct fieldset_node *node)
{
    if (node->member || node->below.n)
        *fieldset_next(b) = *node;
}

/* From the first on that is not in order. */
static void sort_few(struct fieldset_node *nodes, uint32_t n, uint32_t i)
{
    for (; i < n; i++) {
        struct fieldset_node node = nodes[i];
        uint32_t at = i;

        for (; at > 0 && compare_nodes(&nodes[at - 1], &node) > 0; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

struct fieldset fieldset_done(struct fieldset_builder *b)
{
    uint32_t i = 1;

    while (i < b->n && compare_nodes(&b->nodes[i - 1], &b->nodes[i]) < 0)
        i++;
    if (i < b->n && b->n <= FEW)
        sort_few(b->nodes, b->n, i);
    else if (i < b->n)
        qsort(b->nodes, b->n, sizeof(*b->nodes), compare_nodes);
    return (struct fieldset){ b->nodes, b->n };
}

/* ---- sets ---- */

enum operation { UNION, INTERSECTION, DIFFERENCE, WITHOUT };

static struct fieldset combine(struct arena *a, const struct fieldset *x, const struct fieldset *y,
                               enum operation op);

/* What becomes of an element that both have. */
static struct fieldset_node both(struct arena *a, const struct fieldset_node *x,
                                 const struct fieldset_node *y, enum operation op)
{
    struct fieldset_node n = { .text = x->text, .kind = x->kind };

    if (op == WITHOUT && y->member)
        return n;
    n.member = op == UNION          ? x->member || y->member
               : op == INTERSECTION ? x->member && y->member
                                    : x->member && !y->member;
    n.below = combine(a, &x->below, &y->below, op);
    return n;
}

static struct fieldset combine(struct arena *a, const struct fieldset *x, const struct fieldset *y,
                               enum operation op)
{
    struct fieldset_builder out = { .arena = a };
    uint32_t i = 0, j = 0;

    if (x->n == 0 || y->n == 0) {
        if (op == INTERSECTION)
            return (struct fieldset){ 0 };
        return op == UNION && x->n == 0 ? *y : *x;
    }
    while (i < x->n || j < y->n) {
        int c = i == x->n ? 1 : j == y->n ? -1 : compare_nodes(&x->nodes[i], &y->nodes[j]);

        if (c == 0) {
            struct fieldset_node n = both(a, &x->nodes[i++], &y->nodes[j++], op);

            fieldset_push(&out, &n);
        } else if (c < 0) {
            if (op != INTERSECTION)
                fieldset_push(&out, &x->nodes[i]);
            i++;
        } else {
            if (op == UNION)
                fieldset_push(&out, &y->nodes[j]);
            j++;
        }
    }
    return (struct fieldset){ out.nodes, out.n };
}

struct fieldset fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    return combine(a, x, y, UNION);
}

struct fieldset fieldset_intersection(struct arena *a, const struct fieldset *x,
                                      const struct fieldset *y)
{
    return combine(a, x, y, INTERSECTION);
}

struct fieldset fieldset_difference(struct arena *a, const struct fieldset *x,
                                    const struct fieldset *y)
{
    return combine(a, x, y, DIFFERENCE);
}

struct fieldset fieldset_without(struct arena *a, const struct fieldset *x,
                                 const struct fieldset *y)
{
    return combine(a, x, y, WITHOUT);
}

/* ---- on the wire ---- */

static int bad_element(struct status *st, str name)
{
    return status_set(st, REASON_INVALID, "not an element of a path: %.*s", STR_ARG(name));
}

/* The text of a key, value or index in the one form that compares. */
static int canonical(struct arena *a, enum path_kind kind, str text, str *out, struct status *st)
{
    const struct json *v;
    scoped_buf b = { .max = ELEMENT_MAX };

    if (json_parse(a, text, NULL, &v, st) < 0)
        return -1;
    if ((kind == PATH_KEY && v->type != JSON_OBJECT) || (kind == PATH_INDEX && v->type != JSON_INT))
        return bad_element(st, text);
    json_print_canonical(&b, v);
    if (buf_overflown(&b))
        return bad_element(st, text);
    *out = str_dup(a, buf_str(&b));
    return 0;
}

static int parse_element(struct arena *a, str name, struct fieldset_node *out, struct status *st)
{
    str text = str_from(name, 2);

    for (int k = PATH_NAME; k <= PATH_INDEX; k++) {
        if (!str_starts(name, str_of(prefixes[k])))
            continue;
        *out = (struct fieldset_node){ .kind = (enum path_kind)k, .text = text };
        return k == PATH_NAME ? 0 : canonical(a, out->kind, text, &out->text, st);
    }
    return bad_element(st, name);
}

/* Two spellings of one element are one. */
static struct fieldset merge_equal(struct arena *a, const struct fieldset *s)
{
    struct fieldset_builder b = { .arena = a };

    for (uint32_t i = 0; i < s->n; i++) {
        struct fieldset_node *last = b.n ? &b.nodes[b.n - 1] : NULL;

        if (last && compare_nodes(last, &s->nodes[i]) == 0)
            *last = both(a, last, &s->nodes[i], UNION);
        else
            fieldset_push(&b, &s->nodes[i]);
    }
    return (struct fieldset){ b.nodes, b.n };
}

static int parse(struct arena *a, const struct json *v, bool *member, struct fieldset *out,
                 struct status *st)
{
    struct fieldset_builder b = { .arena = a };
    struct fieldset all;

    *member = json_len(v) == 0;
    if (v->type != JSON_OBJECT && v->type != JSON_NULL)
        return status_set(st, REASON_INVALID, "a set of fields must be an object");
    json_for_each_member (m, v) {
        struct fieldset_node n;

        if (str_is(m->name, ".")) {
            *member = true;
            continue;
        }
        if (parse_element(a, m->name, &n, st) < 0 ||
            parse(a, &m->value, &n.member, &n.below, st) < 0)
            return -1;
        fieldset_push(&b, &n);
    }
    all = fieldset_done(&b);
    *out = merge_equal(a, &all);
    return 0;
}

int fieldset_parse(struct arena *a, const struct json *v, struct fieldset *out, struct status *st)
{
    bool member;

    return parse(a, v, &member, out, st);
}

void fieldset_print_key(struct buf *b, enum path_kind kind, str text)
{
    scoped_buf quoted = { .max = ELEMENT_MAX };

    buf_byte(b, '"');
    buf_append(b, prefixes[kind], 2);
    if (scan_plain(text) == text.n) { /* as most names */
        buf_str_append(b, text);
    } else {
        json_print_string(&quoted, text);
        if (quoted.n >= 2)
            buf_append(b, quoted.p + 1, quoted.n - 2);
    }
    buf_lit(b, "\":");
}

static void print_below(struct buf *b, const struct fieldset *s, bool member)
{
    buf_byte(b, '{');
    if (member && s->n)
        buf_lit(b, "\".\":{},");
    for (uint32_t i = 0; i < s->n; i++) {
        if (i)
            buf_byte(b, ',');
        fieldset_print_key(b, s->nodes[i].kind, s->nodes[i].text);
        print_below(b, &s->nodes[i].below, s->nodes[i].member);
    }
    buf_byte(b, '}');
}

void fieldset_print(struct buf *b, const struct fieldset *s)
{
    print_below(b, s, false);
}

/* ---- messages ---- */

static str key_text(struct arena *a, str text)
{
    const struct json *v = NULL;
    struct status st;
    str out = STR("[");
    const char *sep = "";

    status_init(&st, a);
    if (json_parse(a, text, NULL, &v, &st) < 0)
        return text;
    json_for_each_member (m, v) {
        out = str_printf(a, "%.*s%s%.*s=%.*s", STR_ARG(out), sep, STR_ARG(m->name),
                         STR_ARG(json_text(a, &m->value)));
        sep = ",";
    }
    return str_printf(a, "%.*s]", STR_ARG(out));
}

str fieldset_element_text(struct arena *a, enum path_kind kind, str text)
{
    if (kind == PATH_NAME)
        return str_printf(a, ".%.*s", STR_ARG(text));
    if (kind == PATH_KEY)
        return key_text(a, text);
    return str_printf(a, kind == PATH_VALUE ? "[=%.*s]" : "[%.*s]", STR_ARG(text));
}

/* k8s: the paths that end on a level come before all longer ones */
static void each(struct arena *a, const struct fieldset *s, str prefix,
                 void (*fn)(void *arg, str path), void *arg)
{
    for (int deeper = 0; deeper < 2; deeper++)
        for (uint32_t i = 0; i < s->n; i++) {
            const struct fieldset_node *n = &s->nodes[i];
            str path;

            if (deeper ? n->below.n == 0 : !n->member)
                continue;
            path = str_printf(a, "%.*s%.*s", STR_ARG(prefix),
                              STR_ARG(fieldset_element_text(a, n->kind, n->text)));
            if (deeper)
                each(a, &n->below, path, fn, arg);
            else
                fn(arg, path);
        }
}

void fieldset_each(struct arena *a, const struct fieldset *s, void (*fn)(void *arg, str path),
                   void *arg)
{
    each(a, s, STR_NONE, fn, arg);
}
