/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/structural.h"

#include "base/banned.h"

#include "object/crdschema/cel_rules.h"
#include "object/crdschema/structural_internal.h"
#include "object/meta/format.h"

struct compiler {
    bool undeclared; /* an unknown field is preserved above */
    struct arena *arena;
    const struct schema *object_meta;
    struct status *st;
    size_t nodes;
    unsigned depth;
};

static const struct schema plain_string = { .type = SCHEMA_STRING };

static int compile(struct compiler *c, const struct json *node, bool root,
                   const struct schema **out);

static bool flag(const struct json *node, const char *name)
{
    return json_bool(json_get(node, str_of(name)));
}

/* NULL where it is absent or null. */
static inline const struct json *get(const struct json *node, const char *name)
{
    const struct json *v = json_get(node, str_of(name));

    return json_is(v, JSON_NULL) ? NULL : v;
}

static const struct {
    const char *name;
    unsigned bit;
    enum schema_type type;
} types[] = {
    { "object", RULE_OBJECT, SCHEMA_OBJECT }, { "array", RULE_ARRAY, SCHEMA_LIST },
    { "string", RULE_STRING, SCHEMA_STRING }, { "integer", RULE_INTEGER, SCHEMA_INT64 },
    { "number", RULE_NUMBER, SCHEMA_DOUBLE }, { "boolean", RULE_BOOLEAN, SCHEMA_BOOL },
};

static void compile_type(const struct json *node, struct schema *s, struct schema_rules *r)
{
    str name = json_str(get(node, "type"));

    s->type = SCHEMA_ANY;
    r->int_or_string = flag(node, "x-kubernetes-int-or-string");
    if (r->int_or_string) {
        s->type = SCHEMA_INT_OR_STRING;
        r->types = RULE_INTEGER | RULE_STRING;
        return;
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (!str_is(name, types[i].name))
            continue;
        s->type = types[i].type;
        r->types = types[i].bit;
    }
}

static const double *number(struct compiler *c, const struct json *node, const char *name)
{
    const struct json *v = get(node, name);
    double *d;

    if (!json_is(v, JSON_INT) && !json_is(v, JSON_FLOAT))
        return NULL;
    d = arena_new_of(c->arena, double);
    *d = v->type == JSON_INT ? (double)v->i : v->f;
    return d;
}

static int compile_limits(struct compiler *c, const struct json *node, struct schema_rules *r)
{
    static const char *const words[] = {
        "minimum",  "maximum",  "multipleOf", "uniqueItems", "minLength",     "maxLength",
        "minItems", "maxItems", "pattern",    "format",      "minProperties", "maxProperties"
    };
    struct schema_limits *l;
    str why = STR_NONE;
    size_t i = 0;

    while (i < sizeof(words) / sizeof(*words) && !get(node, words[i]))
        i++;
    if (i == sizeof(words) / sizeof(*words))
        return 0;
    l = arena_new_of(c->arena, struct schema_limits);
    l->minimum = number(c, node, "minimum");
    l->maximum = number(c, node, "maximum");
    l->multiple_of = number(c, node, "multipleOf");
    l->exclusive_minimum = flag(node, "exclusiveMinimum");
    l->exclusive_maximum = flag(node, "exclusiveMaximum");
    l->unique_items = flag(node, "uniqueItems");
    l->min_length = json_int(get(node, "minLength"), -1);
    l->max_length = json_int(get(node, "maxLength"), -1);
    l->min_items = json_int(get(node, "minItems"), -1);
    l->max_items = json_int(get(node, "maxItems"), -1);
    l->min_properties = json_int(get(node, "minProperties"), -1);
    l->max_properties = json_int(get(node, "maxProperties"), -1);
    l->format_text = json_str(get(node, "format"));
    if (r->types == 0 || r->types == RULE_STRING)
        l->format = format_find(l->format_text);
    l->pattern_text = json_str(get(node, "pattern"));
    if (l->pattern_text.n) {
        l->pattern = pattern_compile(c->arena, l->pattern_text, &why);
        if (!l->pattern)
            return status_set(c->st, REASON_INVALID, "%.*s", STR_ARG(why));
    }
    r->limits = l;
    return 0;
}

static int compile_nodes(struct compiler *c, const struct json *list,
                         const struct schema *const **out, size_t *n)
{
    const struct schema **all;
    size_t i = 0;

    if (json_len(list) == 0)
        return 0;
    all = arena_array(c->arena, const struct schema *, list->n);
    json_for_each (node, list) {
        if (compile(c, node, false, &all[i++]) < 0)
            return -1;
    }
    *out = all;
    *n = i;
    return 0;
}

static int compile_logic(struct compiler *c, const struct json *node, struct schema_rules *r)
{
    const struct json *all = get(node, "allOf"), *any = get(node, "anyOf");
    const struct json *one = get(node, "oneOf"), *not_ = get(node, "not");
    struct schema_logic *l;

    if (!all && !any && !one && !not_)
        return 0;
    l = arena_new_of(c->arena, struct schema_logic);
    if (compile_nodes(c, all, &l->all_of, &l->nall_of) < 0 ||
        compile_nodes(c, any, &l->any_of, &l->nany_of) < 0 ||
        compile_nodes(c, one, &l->one_of, &l->none_of) < 0)
        return -1;
    if (not_ && compile(c, not_, false, &l->not_) < 0)
        return -1;
    r->logic = l;
    return 0;
}

static void strings(struct compiler *c, const struct json *list, const str **out, size_t *n)
{
    str *all = arena_array(c->arena, str, json_len(list));
    size_t i = 0;

    json_for_each (v, list)
        all[i++] = json_str(v);
    *out = all;
    *n = i;
}

static void compile_list(struct compiler *c, const struct json *node, struct schema *s)
{
    str type = json_str(get(node, "x-kubernetes-list-type"));

    s->list_typed = type.n > 0;
    s->list_type = str_is(type, "set")   ? SCHEMA_LIST_SET
                   : str_is(type, "map") ? SCHEMA_LIST_MAP
                                         : SCHEMA_LIST_ATOMIC;
    strings(c, get(node, "x-kubernetes-list-map-keys"), &s->list_keys, &s->nlist_keys);
}

static void below(struct schema_rules *r, const struct schema *child)
{
    if (!child || !child->rules)
        return;
    r->below_lists |= child->rules->below_lists;
    r->below_embedded |= child->rules->below_embedded;
    r->below_cel |= child->rules->below_cel;
}

/* A field of the object, as native fields are. */
static struct schema_field field_of(str name, const struct schema *type)
{
    struct schema_field f = {
        .name = name,
        .type = type,
        .map_atomic = type->map_atomic,
        .list_type = type->list_type,
        .list_typed = type->list_typed,
        .list_keys = type->list_keys,
        .nlist_keys = type->nlist_keys,
        .doc = type->doc,
    };

    if (type->rules)
        f.default_value = f.absent = type->rules->default_value;
    /* Where strategic merge is for CRDs at all, lists merge by what they say of themselves. */
    f.patch_merge = type->list_type != SCHEMA_LIST_ATOMIC;
    if (type->nlist_keys)
        f.merge_key = type->list_keys[0];
    return f;
}

static int cmp_fields(const void *a, const void *b)
{
    return str_cmp(((const struct schema_field *)a)->name, ((const struct schema_field *)b)->name);
}

/* What the root and embedded resources have whatever was declared. */
static void add_type_meta(struct compiler *c, struct schema_rules *r, struct schema_field *fields,
                          size_t *n)
{
    static const str names[] = { STR_INIT("apiVersion"), STR_INIT("kind"), STR_INIT("metadata") };

    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        bool meta = k == 2;
        size_t i = 0;

        while (i < *n && !str_eq(fields[i].name, names[k]))
            i++;
        if (i == *n)
            fields[(*n)++] = field_of(names[k], meta ? c->object_meta : &plain_string);
        else if (meta) {
            r->metadata = fields[i].type;
            fields[i] = field_of(names[k], c->object_meta);
        }
    }
}

static void mark_required(struct schema_field *fields, size_t n, const struct schema_rules *r)
{
    for (size_t k = 0; k < r->nrequired; k++) {
        struct schema_field key = { .name = r->required[k] };
        struct schema_field *f = n ? bsearch(&key, fields, n, sizeof(*fields), cmp_fields) : NULL;

        if (f)
            f->required = true;
    }
}

static void index_fills(struct compiler *c, struct schema *s, struct schema_field *fields, size_t n)
{
    const struct schema_field **fills;

    for (size_t i = 0; i < n; i++)
        if (fields[i].absent)
            fields[i].fill = (unsigned)++s->nfills;
    fills = arena_array(c->arena, const struct schema_field *, s->nfills);
    for (size_t i = 0; i < n; i++)
        if (fields[i].fill)
            fills[fields[i].fill - 1] = &fields[i];
    s->fills = fills;
}

static int compile_fields(struct compiler *c, const struct json *node, struct schema *s,
                          struct schema_rules *r)
{
    const struct json *properties = get(node, "properties");
    struct schema_field *fields;
    size_t n = 0;

    if (!properties && !r->root && !r->embedded)
        return 0;
    if (!properties)
        properties = &json_empty_object;
    fields = arena_array(c->arena, struct schema_field, json_len(properties) + 3);
    json_for_each_member (m, properties) {
        const struct schema *type;

        if (compile(c, &m->value, false, &type) < 0)
            return -1;
        below(r, type);
        fields[n++] = field_of(m->name, type);
    }
    if (r->root || r->embedded)
        add_type_meta(c, r, fields, &n);
    if (n)
        qsort(fields, n, sizeof(*fields), cmp_fields);
    mark_required(fields, n, r);
    index_fills(c, s, fields, n);
    s->fields = fields;
    s->nfields = n;
    schema_index(c->arena, s);
    if (s->type == SCHEMA_ANY)
        s->type = SCHEMA_OBJECT;
    return 0;
}

static int compile_below(struct compiler *c, const struct json *node, struct schema *s,
                         struct schema_rules *r)
{
    const struct json *additional = get(node, "additionalProperties"), *items = get(node, "items");

    if (compile_fields(c, node, s, r) < 0)
        return -1;
    if (json_is(additional, JSON_OBJECT) && compile(c, additional, false, &r->additional) < 0)
        return -1;
    if (json_is(items, JSON_OBJECT) && compile(c, items, false, &r->items) < 0)
        return -1;
    if (json_bool(additional))
        r->additional = &schema_nothing;
    below(r, r->additional);
    below(r, r->items);
    if (r->additional && s->nfields == 0 && (s->type == SCHEMA_OBJECT || s->type == SCHEMA_ANY))
        s->type = SCHEMA_MAP;
    if (r->items && s->type == SCHEMA_ANY)
        s->type = SCHEMA_LIST;
    if (s->type == SCHEMA_MAP)
        s->items = r->additional;
    if (s->type == SCHEMA_LIST)
        s->items = r->items ? r->items : &schema_nothing;
    return 0;
}

static void compile_default(struct compiler *c, const struct json *node, const struct schema *s,
                            struct schema_rules *r)
{
    const struct json *v = get(node, "default");

    if (!v)
        return;
    r->default_value = structural_fill(c->arena, s, v);
}

static int compile_node(struct compiler *c, const struct json *node, bool root,
                        const struct schema **out)
{
    struct schema *s = arena_new_of(c->arena, struct schema);
    struct schema_rules *r = arena_new_of(c->arena, struct schema_rules);

    s->rules = r;
    s->doc = json_str(get(node, "description"));
    s->map_atomic = str_is(json_str(get(node, "x-kubernetes-map-type")), "atomic");
    r->source = node;
    r->root = root;
    r->decode = structural_read;
    r->nullable = flag(node, "nullable");
    r->preserve_unknown = flag(node, "x-kubernetes-preserve-unknown-fields");
    r->embedded = flag(node, "x-kubernetes-embedded-resource");
    compile_type(node, s, r);
    compile_list(c, node, s);
    strings(c, get(node, "required"), &r->required, &r->nrequired);
    if (json_len(get(node, "enum")))
        r->enums = get(node, "enum");
    if (compile_limits(c, node, r) < 0 || compile_logic(c, node, r) < 0 ||
        compile_below(c, node, s, r) < 0)
        return -1;
    if (!r->limits && !r->logic && !r->enums)
        r->fine = r->types & ~(unsigned)(RULE_OBJECT | RULE_ARRAY);
    r->undeclared = c->undeclared || s->nfields == 0;
    r->below_lists |= s->list_type != SCHEMA_LIST_ATOMIC;
    r->below_embedded |= r->embedded;
    compile_default(c, node, s, r);
    r->cel = cel_rules_compile(c->arena, s, get(node, "x-kubernetes-validations"));
    r->below_cel |= r->cel != NULL;
    *out = s;
    return 0;
}

static int compile(struct compiler *c, const struct json *node, bool root,
                   const struct schema **out)
{
    bool undeclared = c->undeclared;
    int rc;

    if (++c->nodes > STRUCTURAL_NODES_MAX || c->depth == STRUCTURAL_DEPTH_MAX)
        return status_set(c->st, REASON_INVALID, "the schema is too large or too deep");
    c->depth++;
    c->undeclared = undeclared || flag(node, "x-kubernetes-preserve-unknown-fields");
    rc = compile_node(c, node, root, out);
    c->undeclared = undeclared;
    c->depth--;
    return rc;
}

int structural_compile(struct arena *a, const struct schema *object_meta,
                       const struct json *openapi, bool preserve_unknown, const struct schema **out,
                       struct status *st)
{
    struct compiler c = { .arena = a, .object_meta = object_meta, .st = st };
    const struct json *node = json_is(openapi, JSON_OBJECT) ? openapi : &json_empty_object;

    if (preserve_unknown)
        node = json_set(a, node, "x-kubernetes-preserve-unknown-fields", &json_true);
    return compile(&c, node, true, out);
}
