/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The types of an OpenAPI v3 document, as our server and others publish it.
 *
 * k8s: apiserver/pkg/cel/common/schemas.go SchemaDeclType, openapi/resolver/refs.go
 */

#include "object/cel/cel_internal.h"

#include "base/banned.h"

enum {
    DEPTH_MAX = 64,
    NODES_MAX = 20000, /* a Deployment has about 1,300 */
};

#define PREFIX "#/components/schemas/"

struct schema_reader {
    struct arena *arena;
    const struct json *schemas;
    str within[DEPTH_MAX]; /* the references that we are in */
    size_t depth, nodes;
};

static const struct cel_type *read_node(struct schema_reader *r, const struct json *node,
                                        bool whole, str name);

/* A reference may stand in an allOf, to have a description beside it. */
static str ref_of(const struct json *node)
{
    str ref = json_get_str(node, "$ref");

    json_for_each (part, json_get(node, STR("allOf")))
        if (!ref.n)
            ref = json_get_str(part, "$ref");
    return str_starts(ref, STR(PREFIX)) ? str_from(ref, strlen(PREFIX)) : STR_NONE;
}

static bool is_within(const struct schema_reader *r, str ref)
{
    for (size_t i = 0; i < r->depth; i++)
        if (str_eq(r->within[i], ref))
            return true;
    return false;
}

/* ---- objects ---- */

struct object_fields {
    struct cel_var *all; /* as many as there are properties, and three */
    size_t n;
};

static const struct cel_type *object_of(struct schema_reader *r, const struct object_fields *f,
                                        str name)
{
    struct cel_type *t = arena_new_of(r->arena, struct cel_type);

    *t = (struct cel_type){ .kind = CEL_OBJECT, .name = name, .fields = f->all, .nfields = f->n };
    return t;
}

static void put(struct object_fields *f, str name, const struct cel_type *type)
{
    size_t i = 0;

    while (i < f->n && !str_eq(f->all[i].name, name))
        i++;
    f->all[i] = (struct cel_var){ name, type };
    f->n += i == f->n;
}

static const struct cel_type *find(const struct cel_var *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(all[i].name, name))
            return all[i].type;
    return &cel_types[CEL_DYN];
}

/* A whole object has a kind and metadata, said or not. */
static void complete(struct schema_reader *r, struct object_fields *f, str name)
{
    const struct cel_type *meta = find(f->all, f->n, "metadata");
    struct object_fields names = { .all = arena_array(r->arena, struct cel_var, 2) };

    if (find(f->all, f->n, "kind")->kind == CEL_STRING &&
        find(f->all, f->n, "apiVersion")->kind == CEL_STRING &&
        find(meta->fields, meta->nfields, "name")->kind == CEL_STRING &&
        find(meta->fields, meta->nfields, "generateName")->kind == CEL_STRING)
        return;
    put(&names, STR("name"), &cel_types[CEL_STRING]);
    put(&names, STR("generateName"), &cel_types[CEL_STRING]);
    put(f, STR("kind"), &cel_types[CEL_STRING]);
    put(f, STR("apiVersion"), &cel_types[CEL_STRING]);
    put(f, STR("metadata"), object_of(r, &names, cel_type_below(r->arena, name, STR("metadata"))));
}

static const struct cel_type *read_object(struct schema_reader *r, const struct json *node,
                                          bool whole, str name)
{
    const struct json *values = json_get(node, STR("additionalProperties"));
    const struct json *properties = json_get(node, STR("properties"));
    struct object_fields f = { 0 };

    if (json_is(values, JSON_OBJECT)) {
        const struct cel_type *item =
            read_node(r, values, false, cel_type_below(r->arena, name, STR("@elem")));

        return item ? cel_map_of(r->arena, &cel_types[CEL_STRING], item) : NULL;
    }
    f.all = arena_array(r->arena, struct cel_var, json_len(properties) + 3);
    json_for_each_member (m, properties) {
        const struct cel_type *field;
        str escaped;

        if (!cel_escape(r->arena, m->name, &escaped))
            continue;
        field = read_node(r, &m->value, false, cel_type_below(r->arena, name, escaped));
        if (field)
            put(&f, m->name, field);
    }
    if (whole)
        complete(r, &f, name);
    return object_of(r, &f, name);
}

/* ---- all ---- */

static const struct cel_type *read_string(const struct json *node)
{
    static const struct {
        const char *format;
        enum cel_kind kind;
    } formats[] = {
        { "byte", CEL_BYTES },
        { "duration", CEL_DURATION },
        { "date", CEL_TIMESTAMP },
        { "date-time", CEL_TIMESTAMP },
    };
    str format = json_get_str(node, "format");

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (str_is(format, formats[i].format))
            return &cel_types[formats[i].kind];
    return &cel_types[CEL_STRING];
}

static const struct cel_type *read_typed(struct schema_reader *r, const struct json *node,
                                         bool whole, str name)
{
    str type = json_get_str(node, "type");

    if (str_is(json_get_str(node, "format"), "int-or-string") ||
        json_bool(json_get(node, STR("x-kubernetes-int-or-string"))))
        return &cel_types[CEL_DYN];
    if (str_is(type, "object"))
        return read_object(r, node, whole, name);
    if (str_is(type, "array")) {
        const struct json *items = json_get(node, STR("items"));
        const struct cel_type *item =
            items ? read_node(r, items, false, cel_type_below(r->arena, name, STR("@idx"))) : NULL;

        return item ? cel_list_of(r->arena, item) : NULL;
    }
    if (str_is(type, "string"))
        return read_string(node);
    if (str_is(type, "boolean"))
        return &cel_types[CEL_BOOL];
    if (str_is(type, "number"))
        return &cel_types[CEL_DOUBLE];
    return str_is(type, "integer") ? &cel_types[CEL_INT] : NULL;
}

/* What is inside of itself is an object without fields there. */
static const struct cel_type *read_node(struct schema_reader *r, const struct json *node,
                                        bool whole, str name)
{
    static const struct object_fields none;
    str ref = ref_of(node);
    const struct cel_type *t;

    if (r->depth == DEPTH_MAX || r->nodes++ > NODES_MAX)
        return NULL;
    whole = whole || json_bool(json_get(node, STR("x-kubernetes-embedded-resource")));
    if (ref.n && is_within(r, ref))
        return object_of(r, &none, name);
    if (ref.n)
        node = json_get(r->schemas, ref);
    r->within[r->depth++] = ref;
    t = read_typed(r, node, whole, name);
    r->depth--;
    return t;
}

static bool is_of(const struct json *schema, str group, str version, str kind)
{
    json_for_each (gvk, json_get(schema, STR("x-kubernetes-group-version-kind")))
        if (str_eq(json_get_str(gvk, "group"), group) &&
            str_eq(json_get_str(gvk, "version"), version) &&
            str_eq(json_get_str(gvk, "kind"), kind))
            return true;
    return false;
}

const struct cel_type *cel_type_of_openapi(struct arena *a, const struct json *document, str group,
                                           str version, str kind)
{
    struct schema_reader r = { .arena = a, .schemas = json_path(document, "components.schemas") };
    const struct cel_type *t;

    json_for_each_member (m, r.schemas) {
        if (!is_of(&m->value, group, version, kind))
            continue;
        r.within[r.depth++] = m->name;
        /* Kubernetes has the nanoseconds of its clock behind it. */
        t = read_typed(&r, &m->value, true, str_printf(a, "%.*s0", STR_ARG(kind)));
        return r.nodes > NODES_MAX ? NULL : t;
    }
    return NULL;
}
