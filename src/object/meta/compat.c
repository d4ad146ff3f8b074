/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/compat.h"

#include <stdlib.h>

#include "base/banned.h"

enum { DEPTH_MAX = 256 };

#define PRESERVE      "x-kubernetes-preserve-unknown-fields"
#define INT_OR_STRING "x-kubernetes-int-or-string"

struct compat {
    struct arena *arena;
    struct compat_report *report;
    bool narrow;
    unsigned depth;
    bool gave_up;
};

/* A pair of nodes, and what becomes of the first. */
struct pair {
    struct compat *c;
    str at;
    const struct json *was, *other;
    struct json_object out; /* the first node, to be narrowed */
    bool changed;
};

static const struct json *compare(struct compat *c, str at, const struct json *was,
                                  const struct json *other);

static void find(struct compat *c, str at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void find(struct compat *c, str at, const char *fmt, ...)
{
    struct compat_report *r = c->report;
    va_list ap;

    if (r->n < COMPAT_FINDINGS_MAX) {
        va_start(ap, fmt);
        r->findings[r->n] = (struct compat_finding){ at, str_of(arena_vprintf(c->arena, fmt, ap)) };
        va_end(ap);
    }
    r->n++;
}

static const struct json *field(const struct json *v, const char *name)
{
    return json_get(v, str_of(name));
}

static bool flag(const struct json *v, const char *name)
{
    return json_bool(field(v, name));
}

static void put(struct pair *p, const char *name, const struct json *v)
{
    p->changed = true;
    if (v)
        json_put(&p->out, str_of(name), *v);
    else
        json_remove(&p->out, str_of(name));
}

static bool has_number(const struct json *v)
{
    return json_is(v, JSON_INT) || json_is(v, JSON_FLOAT);
}

static double number(const struct json *v)
{
    return json_is(v, JSON_INT) ? (double)v->i : v->f;
}

static bool contains(const struct json *list, const struct json *v)
{
    json_for_each (item, list)
        if (json_equal(item, v))
            return true;
    return false;
}

/* Nothing is asked of values here. */
static bool takes_anything(const struct json *v)
{
    return flag(v, PRESERVE) && !field(v, "type") && !json_len(field(v, "properties"));
}

/* ---- what all types have ---- */

static const struct json *int_or_string(struct arena *a)
{
    struct json_array all = json_array_new(a);
    struct json_object i = json_object_new(a), s = json_object_new(a);

    json_add(&i, STR("type"), json_of_str(STR("integer")));
    json_add(&s, STR("type"), json_of_str(STR("string")));
    json_push(&all, json_object_value(&i));
    json_push(&all, json_object_value(&s));
    return json_array_done(&all);
}

/* The form that every int-or-string may have says nothing more. */
static bool says_something(struct compat *c, const struct json *v, const char *name)
{
    const struct json *logic = field(v, name);

    if (!logic || (json_is(logic, JSON_ARRAY) && !logic->n))
        return false;
    return !(flag(v, INT_OR_STRING) && strcmp(name, "anyOf") == 0 &&
             json_equal(logic, int_or_string(c->arena)));
}

static void compare_logic(struct pair *p)
{
    static const char *const names[] = { "allOf", "anyOf", "oneOf", "not", NULL };

    for (const char *const *n = names; *n; n++)
        if (says_something(p->c, p->other, *n) &&
            !json_equal(field(p->was, *n), field(p->other, *n)))
            find(p->c, p->at, "%s differs, which cannot be compared", *n);
    json_for_each (rule, field(p->other, "x-kubernetes-validations"))
        if (!contains(field(p->was, "x-kubernetes-validations"), rule))
            find(p->c, p->at, "the rule \"%.*s\" was added", STR_ARG(json_get_str(rule, "rule")));
}

static void compare_enum(struct pair *p)
{
    const struct json *was = field(p->was, "enum"), *other = field(p->other, "enum");
    struct json_array both = json_array_new(p->c->arena);

    if (!json_is(other, JSON_ARRAY))
        return;
    json_for_each (v, json_is(was, JSON_ARRAY) ? was : other)
        if (contains(other, v))
            json_push(&both, *v);
    if (json_is(was, JSON_ARRAY) && both.n == was->n)
        return;
    if (!p->c->narrow || !both.n)
        find(p->c, p->at,
             both.n ? "values of the enum were taken away" : "the enums have no value in common");
    else
        put(p, "enum", json_array_done(&both));
}

static void compare_common(struct pair *p)
{
    if (flag(p->was, "nullable") && !flag(p->other, "nullable")) {
        if (p->c->narrow)
            put(p, "nullable", NULL);
        else
            find(p->c, p->at, "null is not allowed any more");
    }
    p->c->report->warning |= !json_equal(field(p->was, "default"), field(p->other, "default")) ||
                             flag(p->was, "x-kubernetes-embedded-resource") !=
                                 flag(p->other, "x-kubernetes-embedded-resource");
    compare_enum(p);
    compare_logic(p);
}

/* ---- bounds ---- */

struct bound {
    const char *name, *exclusive; /* the second: NULL for counts */
    bool upper;
};

/* What a bound allows is less than what the other one does. */
static bool is_tighter(const struct bound *b, const struct json *v, const struct json *than)
{
    double x, y;

    if (!has_number(field(than, b->name)))
        return true;
    x = number(field(v, b->name));
    y = number(field(than, b->name));
    if (x < y || x > y)
        return (x < y) == b->upper;
    return b->exclusive && flag(v, b->exclusive) && !flag(than, b->exclusive);
}

static void compare_bound(struct pair *p, const struct bound *b)
{
    if (!has_number(field(p->other, b->name)) || !is_tighter(b, p->other, p->was))
        return;
    if (!p->c->narrow) {
        find(p->c, p->at, "%s allows less", b->name);
        return;
    }
    put(p, b->name, field(p->other, b->name));
    if (b->exclusive)
        put(p, b->exclusive, field(p->other, b->exclusive));
}

static void compare_bounds(struct pair *p, const struct bound *all)
{
    for (; all->name; all++)
        compare_bound(p, all);
}

/* A word that restricts and has no order: the same, or one side has none. */
static void compare_word(struct pair *p, const char *name)
{
    const struct json *was = field(p->was, name), *other = field(p->other, name);

    if (!json_str(other).n || json_equal(was, other))
        return;
    if (p->c->narrow && !json_str(was).n)
        put(p, name, other);
    else
        find(p->c, p->at, "%s changed from \"%.*s\" to \"%.*s\"", name, STR_ARG(json_str(was)),
             STR_ARG(json_str(other)));
}

static void demand_same_word(struct pair *p, const char *name)
{
    str was = json_str(field(p->was, name)), other = json_str(field(p->other, name));

    if (!str_eq(was, other))
        find(p->c, p->at, "%s changed from \"%.*s\" to \"%.*s\"", name, STR_ARG(was),
             STR_ARG(other));
}

/* ---- scalars ---- */

static void compare_number(struct pair *p)
{
    static const struct bound bounds[] = { { "maximum", "exclusiveMaximum", true },
                                           { "minimum", "exclusiveMinimum", false },
                                           { NULL, NULL, false } };
    const struct json *was = field(p->was, "multipleOf"), *other = field(p->other, "multipleOf");
    bool wider = str_is(json_str(field(p->was, "format")), "int32") &&
                 str_is(json_str(field(p->other, "format")), "int64");
    bool shrunk = str_is(json_str(field(p->was, "format")), "int64") &&
                  str_is(json_str(field(p->other, "format")), "int32");

    compare_bounds(p, bounds);
    if (shrunk && p->c->narrow)
        put(p, "format", field(p->other, "format"));
    else if (!wider)
        compare_word(p, "format");
    if (!has_number(other) || json_equal(was, other))
        return;
    if (p->c->narrow && !was)
        put(p, "multipleOf", other);
    else
        find(p->c, p->at, "multipleOf changed");
}

static void compare_string(struct pair *p)
{
    static const struct bound bounds[] = { { "maxLength", NULL, true },
                                           { "minLength", NULL, false },
                                           { NULL, NULL, false } };

    compare_bounds(p, bounds);
    compare_word(p, "pattern");
    compare_word(p, "format");
}

/* ---- arrays ---- */

static bool same_set(const struct json *a, const struct json *b)
{
    json_for_each (v, a)
        if (!contains(b, v))
            return false;
    json_for_each (v, b)
        if (!contains(a, v))
            return false;
    return true;
}

static void compare_array(struct pair *p)
{
    static const struct bound bounds[] = { { "maxItems", NULL, true },
                                           { "minItems", NULL, false },
                                           { NULL, NULL, false } };
    const struct json *items = field(p->was, "items"), *below;

    compare_bounds(p, bounds);
    if (flag(p->other, "uniqueItems") && !flag(p->was, "uniqueItems")) {
        if (p->c->narrow)
            put(p, "uniqueItems", &json_true);
        else
            find(p->c, p->at, "items must be unique now");
    }
    demand_same_word(p, "x-kubernetes-list-type");
    if (!same_set(field(p->was, "x-kubernetes-list-map-keys"),
                  field(p->other, "x-kubernetes-list-map-keys")))
        find(p->c, p->at, "x-kubernetes-list-map-keys changed");
    if (!items)
        return;
    below =
        compare(p->c, str_printf(p->c->arena, "%.*s%sItems", STR_ARG(p->at), p->at.n ? "." : ""),
                items, field(p->other, "items"));
    if (below && below != items)
        put(p, "items", below);
}

/* ---- objects ---- */

enum rest_kind { REST_NONE, REST_NO, REST_ANY, REST_TYPED };

/* What becomes of fields that have no property. */
static enum rest_kind rest_of(const struct json *v)
{
    const struct json *more = field(v, "additionalProperties");

    if (flag(v, PRESERVE) || (json_is(more, JSON_BOOL) && more->b))
        return REST_ANY;
    if (json_is(more, JSON_OBJECT))
        return REST_TYPED;
    return more ? REST_NO : REST_NONE;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct json_member *const *)a)->name,
                   (*(const struct json_member *const *)b)->name);
}

/* The findings come in the order of names. */
static const struct json_member **sorted(struct arena *a, const struct json *v, size_t *n)
{
    const struct json_member **all = arena_array(a, const struct json_member *, json_len(v) + 1);

    *n = 0;
    json_for_each_member (m, v)
        all[(*n)++] = m;
    if (*n)
        qsort((void *)all, *n, sizeof(*all), by_name);
    return all;
}

static str below(const struct pair *p, str name)
{
    return str_printf(p->c->arena, "%.*s%sproperties[%.*s]", STR_ARG(p->at), p->at.n ? "." : "",
                      STR_ARG(name));
}

/* One property; false: it is not in what both have. */
static bool compare_property(struct pair *p, const struct json_member *m, struct json_object *into)
{
    const struct json *there = json_get(field(p->other, "properties"), m->name), *v;

    if (!there && rest_of(p->other) == REST_TYPED)
        there = field(p->other, "additionalProperties");
    if (!there && rest_of(p->other) == REST_ANY)
        return true;
    if (!there && !p->c->narrow)
        find(p->c, p->at, "the property %.*s was taken away", STR_ARG(m->name));
    if (!there) {
        json_remove(into, m->name);
        return false;
    }
    v = compare(p->c, below(p, m->name), &m->value, there);
    if (v && v != &m->value)
        json_put(into, m->name, *v);
    return !v || v == &m->value;
}

static void compare_properties(struct pair *p)
{
    const struct json *was = field(p->was, "properties");
    struct json_object out = json_object_from(p->c->arena, was);
    bool same = true;
    size_t n;
    const struct json_member **all = sorted(p->c->arena, was, &n);
    enum rest_kind rest = rest_of(p->other);

    if (!json_len(field(p->other, "properties")) && (rest == REST_NONE || rest == REST_NO)) {
        find(p->c, p->at, "all properties were taken away");
        return;
    }
    for (size_t i = 0; i < n; i++)
        same &= compare_property(p, all[i], &out);
    /* What was kept without a name may be kept by one. */
    if (flag(p->was, PRESERVE) && !flag(p->other, PRESERVE))
        json_for_each_member (m, field(p->other, "properties"))
            if (!json_get(was, m->name)) {
                json_add(&out, m->name, m->value);
                same = false;
            }
    if (!same)
        put(p, "properties", out.n ? json_object_done(&out) : NULL);
}

/* The fields of the other side, each as both have it. */
static void take_properties(struct pair *p, const struct json *value)
{
    struct json_object out = json_object_new(p->c->arena);
    size_t n;
    const struct json_member **all = sorted(p->c->arena, field(p->other, "properties"), &n);

    for (size_t i = 0; i < n; i++) {
        const struct json *v =
            value ? compare(p->c, below(p, all[i]->name), value, &all[i]->value) : &all[i]->value;

        if (v)
            json_add(&out, all[i]->name, *v);
    }
    put(p, "additionalProperties", NULL);
    put(p, "properties", json_object_done(&out));
}

static void compare_typed_map(struct pair *p)
{
    const struct json *value = field(p->was, "additionalProperties"), *v;

    switch (rest_of(p->other)) {
    case REST_ANY:
        return;
    case REST_TYPED:
        v = compare(p->c,
                    str_printf(p->c->arena, "%.*s%sadditionalProperties", STR_ARG(p->at),
                               p->at.n ? "." : ""),
                    value, field(p->other, "additionalProperties"));
        if (v && v != value)
            put(p, "additionalProperties", v);
        return;
    case REST_NONE:
    case REST_NO:
        break;
    }
    if (p->c->narrow && json_len(field(p->other, "properties")))
        take_properties(p, value);
    else
        find(p->c, p->at, "fields of any name are not kept any more");
}

static void compare_any_map(struct pair *p)
{
    enum rest_kind rest = rest_of(p->other);

    if (rest == REST_ANY)
        return;
    if (!p->c->narrow ||
        (rest == REST_NONE && !json_len(field(p->other, "properties")) && !flag(p->was, PRESERVE)))
        find(p->c, p->at, "fields of any name are not kept any more");
    else if (rest == REST_NONE)
        take_properties(p, NULL);
    else
        put(p, "additionalProperties", field(p->other, "additionalProperties"));
}

/* Whether objects by the narrowed schema always have it. */
static bool is_there(const struct pair *p, const struct json *name)
{
    const struct json *property = json_get(field(p->was, "properties"), json_str(name));

    return contains(field(p->was, "required"), name) || field(property, "default");
}

static void compare_required(struct pair *p)
{
    struct json_object out = p->out;
    const struct json *now = json_object_done(&out), *was = field(p->was, "required");
    const struct json *properties = field(now, "properties");
    struct json_array all = json_array_new(p->c->arena);

    json_for_each (name, was) {
        json_push(&all, *name);
        if (json_get(field(p->was, "properties"), json_str(name)) &&
            !json_get(properties, json_str(name)) && rest_of(now) == REST_NONE)
            find(p->c, p->at, "the property %.*s is required and was taken away",
                 STR_ARG(json_str(name)));
    }
    json_for_each (name, field(p->other, "required")) {
        if (is_there(p, name))
            continue;
        if (p->c->narrow && (json_get(properties, json_str(name)) || rest_of(now) != REST_NONE))
            json_push(&all, *name);
        else
            find(p->c, p->at, "the property %.*s is required now", STR_ARG(json_str(name)));
    }
    if (all.n != json_len(was))
        put(p, "required", json_array_done(&all));
}

static void compare_object(struct pair *p)
{
    static const struct bound bounds[] = { { "maxProperties", NULL, true },
                                           { "minProperties", NULL, false },
                                           { NULL, NULL, false } };
    enum rest_kind rest = rest_of(p->was);
    bool preserved = flag(p->was, PRESERVE), kept = rest_of(p->other) == REST_ANY;

    compare_bounds(p, bounds);
    demand_same_word(p, "x-kubernetes-map-type");
    if (preserved && !kept) {
        if (p->c->narrow)
            put(p, PRESERVE, NULL);
        else
            find(p->c, p->at, "unknown fields are not kept any more");
    }
    if (json_len(field(p->was, "properties")))
        compare_properties(p);
    else if (rest == REST_TYPED && !preserved)
        compare_typed_map(p);
    else if (rest == REST_ANY && (!preserved || p->c->narrow))
        compare_any_map(p);
    compare_required(p);
}

/* ---- one node ---- */

static const struct {
    const char *type;
    void (*compare)(struct pair *p);
} types[] = {
    { "object", compare_object },  { "array", compare_array },   { "string", compare_string },
    { "integer", compare_number }, { "number", compare_number }, { "boolean", NULL },
};

static void compare_int_or_string(struct pair *p, str other)
{
    if (flag(p->other, INT_OR_STRING)) {
        compare_string(p);
        compare_number(p);
    } else if (p->c->narrow && (str_is(other, "string") || str_is(other, "integer"))) {
        put(p, INT_OR_STRING, NULL);
        if (!says_something(p->c, p->was, "anyOf"))
            put(p, "anyOf", NULL);
        put(p, "type", field(p->other, "type"));
        compare_string(p);
        compare_number(p);
    } else {
        find(p->c, p->at, "it is not an integer or a string any more");
    }
}

/* False: they cannot meet, and that has been said. */
static bool compare_type(struct pair *p, str was, str other)
{
    if (str_eq(was, other) || (str_is(was, "integer") && str_is(other, "number")))
        return true;
    if (flag(p->other, INT_OR_STRING) && (str_is(was, "integer") || str_is(was, "string")))
        return true;
    if (p->c->narrow && str_is(was, "number") && str_is(other, "integer")) {
        put(p, "type", field(p->other, "type"));
        return true;
    }
    find(p->c, p->at, "the type changed from \"%.*s\" to \"%.*s\"", STR_ARG(was), STR_ARG(other));
    return false;
}

static void compare_typed(struct pair *p)
{
    str was = json_str(field(p->was, "type")), other = json_str(field(p->other, "type"));

    if (flag(p->was, INT_OR_STRING)) {
        compare_int_or_string(p, other);
        return;
    }
    if (!was.n && !flag(p->was, PRESERVE)) {
        find(p->c, p->at, "it has no type");
        return;
    }
    if (!compare_type(p, was, other))
        return;
    if (!was.n)
        compare_object(p);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (str_is(was, types[i].type) && types[i].compare)
            types[i].compare(p);
}

static bool may_go_on(struct compat *c, str at)
{
    if (c->gave_up)
        return false;
    if (c->depth < DEPTH_MAX && c->report->steps++ < COMPAT_STEPS_MAX)
        return true;
    c->gave_up = true;
    find(c, at, "the schemas are too large to be compared");
    return false;
}

/* What both have in common, `was` itself where nothing was narrowed; findings say when nothing. */
static const struct json *compare(struct compat *c, str at, const struct json *was,
                                  const struct json *other)
{
    struct pair p = { .c = c, .at = at, .was = was, .other = other };

    if (!may_go_on(c, at))
        return NULL;
    if (!json_is(was, JSON_OBJECT) || !json_is(other, JSON_OBJECT)) {
        find(c, at, "there is no schema");
        return NULL;
    }
    if (takes_anything(other))
        return was;
    if (takes_anything(was) && c->narrow)
        return other;
    p.out = json_object_from(c->arena, was);
    c->depth++;
    compare_common(&p);
    compare_typed(&p);
    c->depth--;
    return p.changed ? json_object_done(&p.out) : was;
}

const struct json *compat_schema(struct arena *a, const struct json *existing,
                                 const struct json *other, bool narrow, struct compat_report *r)
{
    struct compat c = { .arena = a, .report = r, .narrow = narrow };
    const struct json *out;

    *r = (struct compat_report){ 0 };
    out = compare(&c, STR(""), existing, other);
    return r->n ? NULL : out;
}

str compat_text(struct arena *a, const struct compat_report *r, size_t max)
{
    struct buf b;
    str out;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < r->n && i < COMPAT_FINDINGS_MAX && b.n < max; i++) {
        const struct compat_finding *f = &r->findings[i];

        buf_printf(&b, "%s%.*s%s%.*s", i ? "; " : "", STR_ARG(f->at), f->at.n ? ": " : "",
                   STR_ARG(f->message));
    }
    if (b.n > max) {
        b.n = max;
        buf_lit(&b, "…");
    }
    if (r->n > COMPAT_FINDINGS_MAX)
        buf_printf(&b, "; and %zu more", r->n - COMPAT_FINDINGS_MAX);
    out = str_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}
