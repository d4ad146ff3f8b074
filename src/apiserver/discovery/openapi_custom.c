/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_custom.h"

#include "base/banned.h"
#include "object/crdschema/structural.h"

/* What version 2 is told; extensions go along. */
static const char *const v2_members[] = {
    "description",   "title",         "type",      "format",           "properties",
    "items",         "required",      "enum",      "pattern",          "additionalProperties",
    "maximum",       "minimum",       "maxLength", "exclusiveMaximum", "exclusiveMinimum",
    "maxItems",      "minItems",      "minLength", "multipleOf",       "uniqueItems",
    "maxProperties", "minProperties",
};
/* Of these it is not told where a value is not bound to one type or one set of members. */
static const char *const v2_shape[] = { "type", "properties", "items", "additionalProperties" };
/* What no document has. */
static const char *const hidden[] = { "example", "externalDocs", "id", "$schema", "definitions" };

static bool is_one_of(str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, list[i]))
            return true;
    return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof(*(list)))

static bool preserves(const struct json *node)
{
    return json_bool(json_get(node, STR("x-kubernetes-preserve-unknown-fields")));
}

static bool is_vague(const struct json *node)
{
    return json_bool(json_get(node, STR("nullable"))) || preserves(node) ||
           json_bool(json_get(node, STR("x-kubernetes-int-or-string")));
}

static bool has(const struct openapi_schemas *s, const struct json *node, str name)
{
    if (IS_ONE_OF(name, hidden))
        return false;
    if (s->form == OPENAPI_V3 || str_starts(name, STR("x-")))
        return true;
    return IS_ONE_OF(name, v2_members) && !(is_vague(node) && IS_ONE_OF(name, v2_shape));
}

static struct json converted(struct openapi_schemas *s, const struct json *node);

static struct json all_converted(struct openapi_schemas *s, const struct json *nodes)
{
    struct json_object o = json_object_new(s->arena);

    json_for_each_member (m, nodes)
        json_add(&o, m->name, converted(s, &m->value));
    return json_object_value(&o);
}

static struct json described(struct arena *a, str doc)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("description"), json_of_str(doc));
    json_add(&o, STR("type"), json_of_str(STR("string")));
    return json_object_value(&o);
}

static struct json metadata(struct openapi_schemas *s)
{
    struct json ref = openapi_schemas_named(s, STR(OPENAPI_META "ObjectMeta"));
    struct json_object o = json_object_new(s->arena);

    json_add(&o, STR("description"), json_of_str(STR("Standard object's metadata.")));
    openapi_schemas_refer(s, &o, ref);
    return json_object_value(&o);
}

/* Kubernetes' conformance tests look for the first words of these, and of creationTimestamp's. */
static void put_object_members(struct openapi_schemas *s, struct json_object *props)
{
    json_put(props, STR("apiVersion"),
             described(s->arena, STR("APIVersion defines the form that the object is in.")));
    json_put(props, STR("kind"), described(s->arena, STR("Kind of the object.")));
    json_put(props, STR("metadata"), metadata(s));
}

/* An object of some kind inside of another. */
static void put_embedded(struct openapi_schemas *s, struct json_object *o, const struct json *node)
{
    struct json_object props = json_object_new(s->arena);
    struct json_array required = json_array_new(s->arena);
    const struct json *had = json_get(node, STR("required"));

    if (!json_bool(json_get(node, STR("x-kubernetes-embedded-resource"))) ||
        (s->form == OPENAPI_V2 && is_vague(node)))
        return;
    json_for_each_member (m, json_get(node, STR("properties")))
        json_add(&props, m->name, converted(s, &m->value));
    put_object_members(s, &props);
    json_for_each (name, had)
        json_push(&required, *name);
    json_push(&required, json_of_str(STR("kind")));
    json_push(&required, json_of_str(STR("apiVersion")));
    json_put(o, STR("properties"), json_object_value(&props));
    json_put(o, STR("required"), json_array_value(&required));
}

/* Recursion ends with the schema's depth, which structural_compile limits. */
static struct json converted(struct openapi_schemas *s, const struct json *node)
{
    struct json_object o = json_object_new(s->arena);

    json_for_each_member (m, node) {
        bool is_node = str_is(m->name, "items") || str_is(m->name, "additionalProperties");

        if (!has(s, node, m->name))
            continue;
        if (is_node && m->value.type == JSON_OBJECT)
            json_add(&o, m->name, converted(s, &m->value));
        else if (str_is(m->name, "properties"))
            json_add(&o, m->name, all_converted(s, &m->value));
        else if (!is_node || s->form == OPENAPI_V3)
            json_add(&o, m->name, m->value);
    }
    put_embedded(s, &o, node);
    return json_object_value(&o);
}

void openapi_custom_fill(struct openapi_schemas *s, struct json_object *o, const struct schema *t)
{
    const struct json *given = t->rules->source ? t->rules->source : &json_empty_object;
    struct json root = converted(s, given);
    struct json_object props = json_object_from(s->arena, json_get(&root, STR("properties")));

    json_put(o, STR("type"), json_of_str(STR("object")));
    /* Such a one version 2 says nothing more of. */
    if (s->form == OPENAPI_V2 && preserves(given))
        return;
    put_object_members(s, &props);
    json_for_each_member (m, &root)
        if (!str_is(m->name, "properties") && !str_is(m->name, "type"))
            json_put(o, m->name, m->value);
    json_put(o, STR("properties"), json_object_value(&props));
}
