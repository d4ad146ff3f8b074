/* SPDX-License-Identifier: Apache-2.0 */
#include "server/openapi_custom.h"

#include "base/banned.h"
#include "meta/structural.h"

/* What version 2 is told; extensions go along. */
static const char *const v2_members[] = { "description", "type",
                                          "format",      "properties",
                                          "items",       "required",
                                          "enum",        "additionalProperties" };

/* Where these hold, version 2 cannot describe what is inside. */
static bool is_vague(const struct json *node)
{
    return json_bool(json_get(node, STR("nullable"))) ||
           json_bool(json_get(node, STR("x-kubernetes-preserve-unknown-fields"))) ||
           json_bool(json_get(node, STR("x-kubernetes-int-or-string")));
}

static bool v2_has(const struct json *node, str name)
{
    if (str_starts(name, STR("x-")))
        return !str_is(name, "x-kubernetes-validations");
    if (is_vague(node))
        return str_is(name, "description");
    for (size_t i = 0; i < sizeof(v2_members) / sizeof(*v2_members); i++)
        if (str_is(name, v2_members[i]))
            return true;
    return false;
}

static const struct json *to_v2(struct arena *a, const struct json *node);

static struct json all_to_v2(struct arena *a, const struct json *nodes)
{
    struct json_object o = json_object_new(a);

    json_for_each_member (m, nodes)
        json_add(&o, m->name, *to_v2(a, &m->value));
    return json_object_value(&o);
}

/* Recursion ends with the schema's depth, which structural_compile limits. */
static const struct json *to_v2(struct arena *a, const struct json *node)
{
    struct json_object o = json_object_new(a);

    json_for_each_member (m, node) {
        bool is_node = str_is(m->name, "items") || str_is(m->name, "additionalProperties");

        if (!v2_has(node, m->name) || (is_node && m->value.type != JSON_OBJECT))
            continue;
        if (is_node)
            json_add(&o, m->name, *to_v2(a, &m->value));
        else if (str_is(m->name, "properties"))
            json_add(&o, m->name, all_to_v2(a, &m->value));
        else
            json_add(&o, m->name, m->value);
    }
    return json_object_done(&o);
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
    struct json_array all = json_array_new(s->arena);

    json_add(&o, STR("description"), json_of_str(STR("What every object has.")));
    json_push(&all, ref);
    if (s->form == OPENAPI_V2)
        json_add(&o, STR("$ref"), ref.members[0].value);
    else
        json_add(&o, STR("allOf"), json_array_value(&all));
    return json_object_value(&o);
}

void openapi_custom_fill(struct openapi_schemas *s, struct json_object *o, const struct schema *t)
{
    const struct json *given = t->rules->source ? t->rules->source : &json_empty_object;
    const struct json *root = s->form == OPENAPI_V2 ? to_v2(s->arena, given) : given;
    struct json_object props = json_object_from(s->arena, json_get(root, STR("properties")));

    json_put(&props, STR("apiVersion"), described(s->arena, STR("Group and version.")));
    json_put(&props, STR("kind"), described(s->arena, STR("Kind of the object.")));
    json_put(&props, STR("metadata"), metadata(s));
    json_for_each_member (m, root)
        if (!str_is(m->name, "properties") && !str_is(m->name, "type"))
            json_put(o, m->name, m->value);
    json_put(o, STR("type"), json_of_str(STR("object")));
    json_put(o, STR("properties"), json_object_value(&props));
}
