/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/typed.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "object/meta/schema_rules.h"
#include "json/scan.h"

enum { FEW = 16, FEW_IDS = 32, ELEMENT_MAX = 4 << 20, FAULTS_MAX = 32 };

/* ---- places ---- */

/* Null fits every form. */
static bool fits(const struct json *v, enum json_type type)
{
    return !v || v->type == JSON_NULL || v->type == type;
}

static enum shape list_shape(struct typed_place p)
{
    enum schema_list_type type = SCHEMA_LIST_ATOMIC;

    if (p.field && p.field->list_typed)
        type = p.field->list_type;
    else if (p.schema->list_typed)
        type = p.schema->list_type;
    return type == SCHEMA_LIST_MAP ? SHAPE_KEYED : type == SCHEMA_LIST_SET ? SHAPE_SET : SHAPE_LEAF;
}

/* k8s: kube-openapi/pkg/schemaconv/openapi.go: what has no type may be anything */
static bool is_any(const struct schema *s)
{
    return s->type == SCHEMA_ANY || (s->type == SCHEMA_INT_OR_STRING && s->rules);
}

static enum json_type form_of(struct typed_place p, const struct json *a, const struct json *b)
{
    const struct json *v = a && a->type != JSON_NULL ? a : b;

    if (p.schema && !is_any(p.schema))
        return p.schema->type == SCHEMA_LIST                                     ? JSON_ARRAY
               : p.schema->type == SCHEMA_OBJECT || p.schema->type == SCHEMA_MAP ? JSON_OBJECT
                                                                                 : JSON_STRING;
    return v && v->type == JSON_OBJECT ? JSON_OBJECT : JSON_STRING;
}

enum shape place_shape(struct typed_place p, const struct json *a, const struct json *b)
{
    enum json_type form = form_of(p, a, b);

    if (form == JSON_STRING || !fits(a, form) || !fits(b, form))
        return SHAPE_LEAF;
    if (form == JSON_ARRAY)
        return list_shape(p);
    if (p.field && p.field->granular)
        return SHAPE_MAP;
    if ((p.schema && p.schema->map_atomic) || (p.field && p.field->map_atomic))
        return SHAPE_LEAF;
    return SHAPE_MAP;
}

struct typed_place place_member(struct typed_place p, str name)
{
    const struct schema *s = p.schema;
    const struct schema_field *f;

    if (!s || is_any(s))
        return (struct typed_place){ 0 };
    if (s->type == SCHEMA_MAP)
        return (struct typed_place){ .schema = s->items };
    f = schema_field(s, name);
    if (f)
        return (struct typed_place){ .schema = f->type, .field = f, .declared = true };
    if (s->rules && s->rules->additional)
        return (struct typed_place){ .schema = s->rules->additional };
    return (struct typed_place){ .unknown = !(s->rules && s->rules->undeclared) };
}

struct typed_place place_item(struct typed_place p)
{
    return (struct typed_place){ .schema = p.schema ? p.schema->items : NULL };
}

/* ---- elements ---- */

static const char *set_element(struct arena *a, const struct json *item, struct fieldset_node *out)
{
    if (item->type == JSON_OBJECT)
        return "associative list without keys has an element that's a map type";
    if (item->type == JSON_ARRAY)
        return "not supported: associative list with lists as elements";
    if (item->type == JSON_NULL)
        return "associative list without keys has an element that's an explicit null";
    *out = (struct fieldset_node){ .kind = PATH_VALUE, .text = json_text(a, item) };
    return NULL;
}

static const struct json *key_value(struct typed_place p, const struct json *item, str key)
{
    const struct json *v = json_get(item, key);
    const struct schema *s = p.schema->items;
    const struct schema_field *f = v || !s ? NULL : schema_field(s, key);
    static const struct json empty = { .type = JSON_STRING, .s = "" }, zero = { .type = JSON_INT };

    if (v || !f || f->default_value || s->rules)
        return v ? v : f ? f->default_value : NULL;
    if (f->presence != SCHEMA_ALWAYS && !f->shown)
        return NULL;
    /* k8s: what a built-in type always writes has the zero of its Go type as default in OpenAPI */
    return f->type->type == SCHEMA_STRING ? &empty : f->type->type == SCHEMA_INT32 ? &zero : NULL;
}

/* Keys are few: the least one that was not taken yet comes next. */
static str next_key(const str *keys, size_t n, str after)
{
    str best = STR_NONE;

    for (size_t i = 0; i < n; i++)
        if ((after.n == 0 || str_cmp(keys[i], after) > 0) &&
            (best.n == 0 || str_cmp(keys[i], best) < 0))
            best = keys[i];
    return best;
}

/* `{"name":"x"}`: one key with a plain string, as most are; else false. */
static bool simple_key(struct arena *a, str key, str value, str *out)
{
    size_t n = key.n + value.n + 7;
    char *p = arena_alloc_raw(a, n);

    p[0] = '{';
    p[key.n + 3] = ':';
    p[n - 1] = '}';
    p[1] = p[key.n + 2] = p[key.n + 4] = p[n - 2] = '"';
    *out = (str){ p, n };
    return scan_copy(p + 2, key) && scan_copy(p + 5 + key.n, value);
}

const str *place_keys(struct typed_place p, size_t *n)
{
    bool of_field = p.field && p.field->list_typed;

    *n = of_field ? p.field->nlist_keys : p.schema->nlist_keys;
    return of_field ? p.field->list_keys : p.schema->list_keys;
}

static const char *keyed_element(struct arena *a, struct typed_place p, const struct json *item,
                                 struct fieldset_node *out)
{
    size_t n;
    const str *keys = place_keys(p, &n);
    scoped_buf b = { .max = ELEMENT_MAX };
    str value;

    if (item->type == JSON_NULL)
        return "associative list with keys may not have a null element";
    if (item->type != JSON_OBJECT)
        return "associative list with keys may not have non-map elements";
    *out = (struct fieldset_node){ .kind = PATH_KEY };
    value = n == 1 ? json_str(place_key(item, keys[0])) : STR_NONE;
    if (value.n && simple_key(a, keys[0], value, &out->text))
        return NULL;
    for (str key = next_key(keys, n, STR_NONE); key.n; key = next_key(keys, n, key)) {
        const struct json *v = key_value(p, item, key);

        if (!v)
            continue;
        buf_byte(&b, b.n ? ',' : '{');
        json_print_string(&b, key);
        buf_byte(&b, ':');
        json_print_canonical(&b, v);
    }
    if (b.n == 0)
        return "associative list with keys has an element that omits all key fields (and doesn't "
               "have default values for any key fields)";
    buf_byte(&b, '}');
    if (buf_overflown(&b))
        return "a key is too long";
    out->text = str_dup(a, buf_str(&b));
    return NULL;
}

const char *place_element(struct arena *a, struct typed_place p, enum shape shape,
                          const struct json *item, struct fieldset_node *out)
{
    return shape == SHAPE_SET ? set_element(a, item, out) : keyed_element(a, p, item, out);
}

static int compare_members(const void *a, const void *b)
{
    return str_cmp((*(const struct json_member *const *)a)->name,
                   (*(const struct json_member *const *)b)->name);
}

const struct json_member **sorted_members(struct arena *a, const struct json *v)
{
    size_t n = json_is(v, JSON_OBJECT) ? v->n : 0;
    const struct json_member **out =
        arena_alloc_raw(a, (n + 1) * sizeof(const struct json_member *));
    bool sorted = true;

    for (size_t i = 0; i < n; i++) {
        out[i] = &v->members[i];
        sorted = sorted && (i == 0 || str_cmp(out[i - 1]->name, out[i]->name) < 0);
    }
    for (size_t i = 1; !sorted && n <= FEW && i < n; i++) {
        const struct json_member *m = out[i];
        size_t at = i;

        for (; at > 0 && str_cmp(out[at - 1]->name, m->name) > 0; at--)
            out[at] = out[at - 1];
        out[at] = m;
    }
    if (!sorted && n > FEW)
        qsort(out, n, sizeof(*out), compare_members);
    return out;
}

/* ---- the fields of an applied object ---- */

static struct fieldset fields_below(struct arena *a, struct typed_place p, enum shape shape,
                                    const struct json *v);

/* Keys of maps and items of lists are fields besides what is in them; declared ones are not. */
static void add_field(struct fieldset_builder *out, struct fieldset_node id, struct typed_place p,
                      const struct json *v)
{
    enum shape shape = place_shape(p, v, NULL);

    id.member = shape == SHAPE_LEAF || !p.declared || v->type == JSON_NULL ||
                (v->type == JSON_OBJECT && v->n == 0);
    if (shape != SHAPE_LEAF)
        id.below = fields_below(out->arena, p, shape, v);
    fieldset_push(out, &id);
}

static struct fieldset fields_below(struct arena *a, struct typed_place p, enum shape shape,
                                    const struct json *v)
{
    struct fieldset_builder out = { .arena = a };
    struct fieldset_node id;

    fieldset_reserve(&out, (uint32_t)json_len(v));
    json_for_each_member (m, v) {
        id = (struct fieldset_node){ .text = m->name, .kind = PATH_NAME, .member = true };
        if (place_may_cut(&m->value))
            add_field(&out, id, place_member(p, m->name), &m->value);
        else
            *fieldset_next(&out) = id;
    }
    json_for_each (item, v)
        if (!place_element(a, p, shape, item, &id))
            add_field(&out, id, place_item(p), item);
    return fieldset_done(&out);
}

static bool is_one_value(struct typed_place p)
{
    return p.schema &&
           (p.schema->type == SCHEMA_LIST || p.schema->type == SCHEMA_OBJECT ||
            p.schema->type == SCHEMA_MAP) &&
           place_shape(p, NULL, NULL) == SHAPE_LEAF;
}

static bool reconcile(struct arena *a, struct typed_place p, struct fieldset *set)
{
    struct fieldset_node *nodes = NULL;

    for (uint32_t i = 0; i < set->n; i++) {
        const struct fieldset_node *n = &set->nodes[i];
        struct typed_place q = n->kind == PATH_NAME ? place_member(p, n->text) : place_item(p);
        struct fieldset below = n->below;
        bool one = n->below.n && is_one_value(q);

        if (!one && !(below.n && reconcile(a, q, &below)))
            continue;
        if (!nodes) {
            nodes = arena_array(a, struct fieldset_node, set->n);
            memcpy(nodes, set->nodes, set->n * sizeof(*nodes));
        }
        nodes[i].member |= one;
        nodes[i].below = below;
        if (one)
            nodes[i].below = (struct fieldset){ 0 };
    }
    if (nodes)
        set->nodes = nodes;
    return nodes != NULL;
}

void typed_reconcile(struct arena *a, const struct schema *s, struct fieldset *set)
{
    (void)reconcile(a, place_root(s), set);
}

struct fieldset typed_fields(struct arena *a, const struct schema *s, const struct json *v)
{
    return fields_below(a, place_root(s), SHAPE_MAP, v);
}

/* ---- checking ---- */

struct checker {
    struct arena *arena;
    str text;
    unsigned n;
};

struct path { /* where the checker is; written out only when something is wrong */
    const struct path *above;
    enum path_kind kind;
    str text;
};

static str path_text(struct arena *a, const struct path *p)
{
    str above, here;

    if (!p)
        return STR_NONE;
    above = path_text(a, p->above);
    here = fieldset_element_text(a, p->kind, p->text);
    return str_printf(a, "%.*s%.*s", STR_ARG(above), STR_ARG(here));
}

static void fault(struct checker *c, const struct path *path, const char *what)
{
    str line = str_printf(c->arena, "%.*s: %s", STR_ARG(path_text(c->arena, path)), what);

    if (c->n == 1)
        c->text = str_printf(c->arena, "errors:\n  %.*s", STR_ARG(c->text));
    if (c->n < FAULTS_MAX)
        c->text =
            c->n ? str_printf(c->arena, "%.*s\n  %.*s", STR_ARG(c->text), STR_ARG(line)) : line;
    c->n++;
}

/* k8s: kube-openapi/pkg/schemaconv/smd.go, convertPrimitive: a format makes it any scalar */
static bool has_format(const struct schema *s)
{
    const struct schema_limits *l = s->rules ? s->rules->limits : NULL;

    return l && l->format_text.n && !str_is(l->format_text, "byte");
}

/* What the schema's type is called in messages, and whether the value is of it. */
static const char *wrong_scalar(const struct schema *s, const struct json *v)
{
    bool scalar = v->type != JSON_OBJECT && v->type != JSON_ARRAY;

    if (is_any(s))
        return NULL;
    switch (s->type) {
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
        if (has_format(s))
            return scalar ? NULL : "expected any scalar";
        return v->type == JSON_STRING ? NULL : "expected string";
    case SCHEMA_BOOL:
        return v->type == JSON_BOOL ? NULL : "expected boolean";
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return v->type == JSON_INT || v->type == JSON_FLOAT ? NULL
                                                            : "expected numeric (int or float)";
    case SCHEMA_LIST:
        return v->type == JSON_ARRAY ? NULL : "expected list";
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
        return v->type == JSON_OBJECT ? NULL : "expected map";
    case SCHEMA_ANY:
        return NULL;
    case SCHEMA_TIME:
    case SCHEMA_MICROTIME:
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
    default:
        return scalar ? NULL : "expected any scalar";
    }
}

/* False for most: a value of the right type, with nothing in it. */
static bool may_be_wrong(struct typed_place p, const struct json *v)
{
    if (p.unknown || v->type == JSON_NULL || !p.schema || is_any(p.schema))
        return p.unknown;
    return place_may_cut(v) || wrong_scalar(p.schema, v);
}

static void check_at(struct checker *c, struct typed_place p, const struct json *v,
                     const struct path *path);

/* Which items there were already: most lists are short. */
struct seen {
    uint32_t n;
    struct map many; /* from FEW_IDS on */
    str few[FEW_IDS];
};

static bool seen_before(struct seen *s, str id)
{
    if (s->n >= FEW_IDS) {
        for (uint32_t i = 0; s->n == FEW_IDS && i < FEW_IDS; i++)
            (void)map_put(&s->many, s->few[i], s);
        s->n = FEW_IDS + 1;
        return map_put(&s->many, id, s);
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (str_eq(s->few[i], id))
            return true;
    s->few[s->n++] = id;
    return false;
}

static void check_items(struct checker *c, struct typed_place p, const struct json *v,
                        const struct path *path)
{
    enum shape shape = place_shape(p, v, NULL);
    struct seen seen;
    size_t i = 0;

    seen.n = 0;
    seen.many = (struct map){ 0 };
    json_for_each (item, v) {
        struct fieldset_node id = { .kind = PATH_INDEX };
        const char *wrong =
            shape == SHAPE_LEAF ? NULL : place_element(c->arena, p, shape, item, &id);
        bool twice = !wrong && shape != SHAPE_LEAF && seen_before(&seen, id.text);

        if (c->n >= FAULTS_MAX)
            break;
        if (wrong) {
            fault(c, path, str_printf(c->arena, "element %zu: %s", i, wrong).p);
            break;
        }
        if (twice)
            fault(c, path,
                  str_printf(c->arena, "duplicate entries for key %.*s",
                             STR_ARG(fieldset_element_text(c->arena, id.kind, id.text)))
                      .p);
        if (shape == SHAPE_LEAF && may_be_wrong(place_item(p), item))
            id.text = str_printf(c->arena, "%zu", i);
        if (may_be_wrong(place_item(p), item))
            check_at(c, place_item(p), item, &(struct path){ path, id.kind, id.text });
        i++;
    }
    map_release(&seen.many);
}

static void check_at(struct checker *c, struct typed_place p, const struct json *v,
                     const struct path *path)
{
    const char *wrong = p.unknown ? "field not declared in schema" : wrong_scalar(p.schema, v);

    if (wrong) {
        fault(c, path,
              p.unknown ? wrong : arena_printf(c->arena, "%s, got %s", wrong, json_type_name(v)));
        return;
    }
    json_for_each_member (m, v) {
        struct typed_place below = place_member(p, m->name);

        if (c->n >= FAULTS_MAX)
            return;
        if (may_be_wrong(below, &m->value))
            check_at(c, below, &m->value, &(struct path){ path, PATH_NAME, m->name });
        if (below.unknown) /* k8s: nothing behind it is looked at */
            break;
    }
    if (v->type == JSON_ARRAY)
        check_items(c, p, v, path);
}

str typed_check(struct arena *a, const struct schema *s, const struct json *v)
{
    struct checker c = { .arena = a };

    check_at(&c, place_root(s), v, NULL);
    return c.text;
}
