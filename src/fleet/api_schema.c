/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/api_schema.h"

#include "base/banned.h"

enum { DESCRIBED_DEPTH = 3 };

#define PRESERVE "x-kubernetes-preserve-unknown-fields"

struct convert {
    struct arena *arena;
    const struct json *models;
    struct status *st;
    size_t nodes;
    unsigned depth;
    str stack[API_SCHEMA_DEPTH_MAX]; /* models that are being put in place */
    size_t nstack;
};

static int convert(struct convert *c, const struct json *node, struct json *out);

/* ---- types by name ---- */

/* Definitions whose JSON form is not what their model says; by the end of the name. */
static const struct known {
    const char *name, *schema;
} known[] = {
    { ".meta.v1.ObjectMeta", "{\"type\":\"object\",\"" PRESERVE "\":true}" },
    { ".meta.v1.Time", "{\"type\":\"string\",\"format\":\"date-time\"}" },
    { ".meta.v1.MicroTime", "{\"type\":\"string\",\"format\":\"date-time\"}" },
    { ".meta.v1.Duration", "{\"type\":\"string\"}" },
    { ".meta.v1.FieldsV1", "{\"type\":\"object\",\"" PRESERVE "\":true}" },
    { ".api.resource.Quantity", "{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":"
                                "\"integer\"},{\"type\":\"string\"}]}" },
    { ".util.intstr.IntOrString", "{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":"
                                  "\"integer\"},{\"type\":\"string\"}]}" },
    { ".pkg.runtime.RawExtension", "{\"type\":\"object\",\"" PRESERVE "\":true}" },
    { ".apiextensions.v1.JSON", "{\"" PRESERVE "\":true}" },
    { ".apiextensions.v1beta1.JSON", "{\"" PRESERVE "\":true}" },
};

/* Ports merge by number and protocol, which is rarely said. */
static const char *const ports[] = { ".core.v1.ContainerPort", ".core.v1.ServicePort" };

static const struct json *field(const struct json *v, const char *name)
{
    return json_get(v, str_of(name));
}

static const struct json *known_schema(struct convert *c, str name)
{
    const struct json *v = NULL;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (str_ends(name, str_of(known[i].name)) &&
            json_parse(c->arena, str_of(known[i].schema), NULL, &v, c->st) == 0)
            return v;
    return NULL;
}

static bool is_port(str name)
{
    for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
        if (str_ends(name, str_of(ports[i])))
            return true;
    return false;
}

/* ---- references ---- */

/* "#/components/schemas/x" and "#/definitions/x"; v3 wraps one that has siblings into allOf. */
static str reference(const struct json *node)
{
    const struct json *all = field(node, "allOf");
    str ref = json_str(field(node, "$ref"));

    if (!ref.n && json_len(all) == 1)
        ref = json_str(field(json_at(all, 0), "$ref"));
    for (size_t i = ref.n; i > 0; i--)
        if (ref.p[i - 1] == '/')
            return str_from(ref, i);
    return ref;
}

static int bad(struct convert *c, const char *what, str name)
{
    return status_set(c->st, REASON_INVALID, "%s: %.*s", what, STR_ARG(name));
}

static const struct json *default_protocol(struct convert *c, const struct json *schema)
{
    const struct json *tcp = json_box(c->arena, json_of_str(STR("TCP")));

    return json_path(schema, "properties.protocol")
               ? json_set(c->arena, schema, "properties.protocol.default", tcp)
               : schema;
}

static int convert_reference(struct convert *c, str name, struct json *out)
{
    const struct json *model = json_get(c->models, name), *v = known_schema(c, name);
    int rc;

    if (v) {
        *out = *v;
        return 0;
    }
    if (!model)
        return bad(c, "the document has no such model", name);
    for (size_t i = 0; i < c->nstack; i++)
        if (str_eq(c->stack[i], name))
            return bad(c, "the model is recursive", name);
    if (c->nstack == API_SCHEMA_DEPTH_MAX)
        return bad(c, "models are nested too deeply", name);
    c->stack[c->nstack++] = name;
    c->depth--; /* the reference is no level of its own */
    rc = convert(c, model, out);
    c->depth++;
    c->nstack--;
    if (rc == 0 && is_port(name))
        *out = *default_protocol(c, out);
    return rc;
}

/* ---- parts of a node ---- */

static void copy(struct json_object *o, const struct json *node, const char *const *names)
{
    for (; *names; names++) {
        const struct json *v = field(node, *names);

        if (v)
            json_put(o, str_of(*names), *v);
    }
}

/* Those of native types are often the zero of the type, which says nothing. */
static bool has_meaning(const struct json *v)
{
    return json_str(v).n || json_bool(v) || (json_is(v, JSON_INT) && v->i);
}

static void add_scalar(struct json_object *o, const struct json *node)
{
    static const char *const rules[] = { "type",      "format",    "enum",
                                         "minimum",   "maximum",   "exclusiveMinimum",
                                         "minLength", "maxLength", "exclusiveMaximum",
                                         "pattern",   "nullable",  NULL };
    const struct json *v = field(node, "default");

    copy(o, node, rules);
    if (v && has_meaning(v))
        json_put(o, STR("default"), *v);
}

static int add_properties(struct convert *c, struct json_object *o, const struct json *node)
{
    struct json_object all = json_object_new(c->arena);

    json_for_each_member (m, field(node, "properties")) {
        struct json v;

        if (convert(c, &m->value, &v) < 0)
            return -1;
        json_add(&all, m->name, v);
    }
    if (all.n)
        json_put(o, STR("properties"), json_object_value(&all));
    if (json_len(field(node, "required")))
        json_put(o, STR("required"), *field(node, "required"));
    return 0;
}

static int add_object(struct convert *c, struct json_object *o, const struct json *node)
{
    static const char *const rules[] = { "x-kubernetes-map-type",
                                         "x-kubernetes-validations",
                                         "minProperties",
                                         "maxProperties",
                                         PRESERVE,
                                         NULL };
    const struct json *more = field(node, "additionalProperties");
    struct json v;

    json_put(o, STR("type"), json_of_str(STR("object")));
    copy(o, node, rules);
    if (json_len(field(node, "properties")))
        return add_properties(c, o, node);
    if (json_is(more, JSON_OBJECT)) {
        if (convert(c, more, &v) < 0)
            return -1;
        json_put(o, STR("additionalProperties"), v);
    } else if (!json_is(more, JSON_BOOL) || more->b) {
        json_put(o, STR(PRESERVE), json_true);
    }
    return 0;
}

/* ---- lists ---- */

static bool contains(const struct json *list, str word)
{
    json_for_each (v, list)
        if (str_eq(json_str(v), word))
            return true;
    return false;
}

/* Keys are always there: required, or with a default. */
static struct json with_keys(struct convert *c, const struct json *items, const struct json *keys)
{
    struct json_array required = json_array_new(c->arena);
    const struct json *properties = field(items, "properties");

    json_for_each (name, field(items, "required"))
        if (!field(json_get(properties, json_str(name)), "default"))
            json_push(&required, *name);
    json_for_each (key, keys)
        if (!contains(field(items, "required"), json_str(key)) &&
            !field(json_get(properties, json_str(key)), "default"))
            json_push(&required, *key);
    return *json_set(c->arena, items, "required", required.n ? json_array_done(&required) : NULL);
}

static bool has_properties(const struct json *items, const struct json *keys)
{
    json_for_each (key, keys)
        if (!json_get(field(items, "properties"), json_str(key)))
            return false;
    return json_len(keys) > 0;
}

static str list_type(const struct json *node, const struct json *items)
{
    str type = json_str(field(node, "x-kubernetes-list-type"));
    str strategy = json_str(field(node, "x-kubernetes-patch-strategy"));
    bool objects = str_is(json_str(field(items, "type")), "object");

    if (type.n)
        return type;
    if (str_contains(strategy, STR("merge")))
        return objects ? STR("map") : STR("set");
    if (strategy.n)
        return STR("atomic");
    return field(node, "x-kubernetes-patch-merge-key") ? STR("map") : STR_NONE;
}

static const struct json *list_keys(struct convert *c, const struct json *node)
{
    const struct json *keys = field(node, "x-kubernetes-list-map-keys");
    const struct json *key = field(node, "x-kubernetes-patch-merge-key");
    struct json_array one = json_array_new(c->arena);

    if (json_len(keys) || !json_str(key).n)
        return keys;
    json_push(&one, *key);
    return json_array_done(&one);
}

static int add_array(struct convert *c, struct json_object *o, const struct json *node)
{
    static const char *const rules[] = { "minItems", "maxItems", "nullable", NULL };
    const struct json *keys = list_keys(c, node);
    struct json items;
    str type;

    if (!field(node, "items"))
        return bad(c, "an array without items", STR_NONE);
    if (convert(c, field(node, "items"), &items) < 0)
        return -1;
    type = list_type(node, &items);
    if (str_is(type, "map") && has_properties(&items, keys)) {
        items = with_keys(c, &items, keys);
        json_put(o, STR("x-kubernetes-list-map-keys"), *keys);
    } else if (str_is(type, "map")) {
        type = STR("atomic");
    }
    json_put(o, STR("type"), json_of_str(STR("array")));
    json_put(o, STR("items"), items);
    if (type.n)
        json_put(o, STR("x-kubernetes-list-type"), json_of_str(type));
    copy(o, node, rules);
    return 0;
}

/* ---- a node ---- */

static int add_node(struct convert *c, struct json_object *o, const struct json *node)
{
    str type = json_str(field(node, "type")), ref = reference(node);
    struct json v;

    if (ref.n) {
        if (convert_reference(c, ref, &v) < 0)
            return -1;
        json_for_each_member (m, &v)
            json_put(o, m->name, m->value);
        return 0;
    }
    if (str_is(json_str(field(node, "format")), "int-or-string")) {
        json_put(o, STR("x-kubernetes-int-or-string"), json_true);
        return 0;
    }
    if (str_is(type, "object") || field(node, "properties"))
        return add_object(c, o, node);
    if (str_is(type, "array"))
        return add_array(c, o, node);
    if (type.n)
        add_scalar(o, node);
    else
        json_put(o, STR(PRESERVE), json_true);
    return 0;
}

static int convert(struct convert *c, const struct json *node, struct json *out)
{
    struct json_object o = json_object_new(c->arena);
    str text = json_str(field(node, "description"));
    int rc;

    if (!json_is(node, JSON_OBJECT))
        return bad(c, "a schema is no object", STR_NONE);
    if (c->nodes++ >= API_SCHEMA_NODES_MAX || c->depth >= API_SCHEMA_DEPTH_MAX)
        return bad(c, "the schema is too large", STR_NONE);
    c->depth++;
    rc = add_node(c, &o, node);
    c->depth--;
    if (rc < 0)
        return -1;
    json_remove(&o, STR("description"));
    if (text.n && c->depth <= DESCRIBED_DEPTH)
        json_put(&o, STR("description"), json_of_str(text));
    *out = json_object_value(&o);
    return 0;
}

/* ---- a kind ---- */

static bool is_kind(const struct json *model, str group, str version, str kind)
{
    json_for_each (gvk, field(model, "x-kubernetes-group-version-kind"))
        if (str_eq(json_get_str(gvk, "group"), group) &&
            str_eq(json_get_str(gvk, "version"), version) &&
            str_eq(json_get_str(gvk, "kind"), kind))
            return true;
    return false;
}

int api_schema(struct arena *a, const struct json *document, str group, str version, str kind,
               const struct json **out, struct status *st)
{
    const struct json *v3 = json_path(document, "components.schemas");
    struct convert c = { .arena = a, .models = v3 ? v3 : field(document, "definitions"), .st = st };
    struct json v;

    json_for_each_member (m, c.models) {
        if (!is_kind(&m->value, group, version, kind))
            continue;
        c.stack[c.nstack++] = m->name;
        if (convert(&c, &m->value, &v) < 0)
            return status_wrap(st, "schema of %.*s", STR_ARG(kind));
        if (!str_is(json_get_str(&v, "type"), "object"))
            return bad(&c, "not a schema of objects", kind);
        /* Objects have the metadata of every object. */
        *out = json_box(a, v);
        if (json_path(*out, "properties.metadata")) {
            const struct json *object =
                json_set(a, &json_empty_object, "type", json_box(a, json_of_str(STR("object"))));

            *out = json_set(a, *out, "properties.metadata", object);
        }
        return 0;
    }
    return status_set(st, REASON_NOT_FOUND, "the OpenAPI document does not have %.*s",
                      STR_ARG(kind));
}

const struct json *api_schema_open(struct arena *a)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("type"), json_of_str(STR("object")));
    json_add(&o, STR(PRESERVE), json_true);
    return json_object_done(&o);
}
