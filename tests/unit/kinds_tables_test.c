/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"
#include "unit/kinds_fixture.h"

#include "object/meta/schema_table.h"

/*
 * The tables against the facts of a real server: field numbers, properties, required fields, list
 * types, merge keys.
 */
#define FACTS "reference/kubernetes-1.35/"

struct compare {
    struct arena *arena;
    const struct json *facts;
    size_t types;
};

static void complain(const struct schema *t, str field, const char *what)
{
    printf("# %.*s %.*s: %s\n", STR_ARG(t->name), STR_ARG(field), what);
    tap_failed = 1;
}

/* ---- protobuf ---- */

static str proto_type(struct arena *a, const struct schema *s)
{
    static const char *const names[] = {
        [SCHEMA_STRING] = "string",     [SCHEMA_BYTES] = "bytes",
        [SCHEMA_BOOL] = "bool",         [SCHEMA_INT32] = "int32",
        [SCHEMA_INT64] = "int64",       [SCHEMA_DOUBLE] = "double",
        [SCHEMA_TIME] = "Time",         [SCHEMA_MICROTIME] = "MicroTime",
        [SCHEMA_QUANTITY] = "Quantity", [SCHEMA_INT_OR_STRING] = "IntOrString",
        [SCHEMA_LIST] = NULL,
    };
    str rest = s->name, part = STR_NONE;

    if (s->type == SCHEMA_MAP)
        return str_printf(a, "map<string, %.*s>", STR_ARG(proto_type(a, s->items)));
    if (s->type == SCHEMA_LIST)
        return s->wrapped ? STR("wrapped") : proto_type(a, s->items);
    if (s->type != SCHEMA_OBJECT && !s->either)
        return s->type == SCHEMA_ANY ? STR("any") : str_of(names[s->type]);
    while (str_split(&rest, '.', &part))
        ;
    return part;
}

/* The last part of a reference's type name; `map<string, .k8s.io.….Quantity>` likewise. */
static str short_type(struct arena *a, str type)
{
    str rest = type, part = STR_NONE;
    bool map = str_starts(type, STR("map<"));

    while (str_split(&rest, '.', &part))
        ;
    if (str_is(part, "RawExtension") || str_is(part, "FieldsV1") || str_is(part, "JSON"))
        return STR("any");
    if (str_is(part, "Verbs"))
        return STR("wrapped");
    if (str_is(part, map && !str_eq(part, type) ? "ExtraValue>" : "map<string, ExtraValue>"))
        return STR("map<string, wrapped>");
    if (!map || str_eq(part, type))
        return part;
    return str_printf(a, "map<string, %.*s", STR_ARG(part));
}

static bool embeds(const struct schema *t, int64_t number)
{
    for (size_t i = 0; i < t->nembeds; i++)
        if (t->embeds[i].proto == number)
            return true;
    return false;
}

/* `x-kubernetes-list-type` is xKubernetesListType there, and `$ref` is ref. */
static bool same_name(str json, str proto)
{
    size_t n = 0;

    for (size_t i = 0; i < json.n; i++) {
        if (json.p[i] == '-' || json.p[i] == '$')
            continue;
        if (n == proto.n || !str_eq_nocase(str_sub(json, i, 1), str_sub(proto, n++, 1)))
            return false;
    }
    return n == proto.n;
}

static void compare_field(struct compare *c, const struct schema *t, const struct json *fact)
{
    int64_t number = json_int(json_at(fact, 0), 0);
    str name = json_str(json_at(fact, 1)), type = json_str(json_at(fact, 2));
    const struct schema_field *f = NULL;

    for (size_t i = 0; i < t->nfields; i++)
        if (t->fields[i].proto == number)
            f = &t->fields[i];
    if (!f && embeds(t, number))
        return;
    if (!f) {
        complain(t, name, "no field has its number");
        return;
    }
    if (!same_name(f->name, name))
        complain(t, f->name, "the number is another field's");
    if (!str_eq(proto_type(c->arena, f->type), short_type(c->arena, type)))
        complain(t, f->name, "another protobuf type");
    if ((f->type->type == SCHEMA_LIST && !f->type->wrapped) !=
        str_is(json_str(json_at(fact, 3)), "repeated"))
        complain(t, f->name, "repeated or not");
}

/* io.k8s.a-b.C is k8s.io.a_b.C */
static str message_name(struct arena *a, str name)
{
    char *z = arena_printf(a, "k8s.io.%.*s", STR_ARG(str_from(name, 7)));

    for (char *p = z; *p; p++)
        if (*p == '-')
            *p = '_';
    return str_of(z);
}

/* What is never sent as protobuf has no numbers. */
static bool is_message(const struct schema *t)
{
    for (size_t i = 0; i < t->nfields; i++)
        if (t->fields[i].proto)
            return true;
    return t->nfields == 0 || t->nembeds > 0;
}

static void compare_proto(void *arg, const struct schema *t)
{
    struct compare *c = arg;
    const struct json *facts;
    size_t numbered = t->nembeds;

    if (!str_starts(t->name, STR("io.k8s.")) || !is_message(t))
        return;
    facts = json_get(c->facts, message_name(c->arena, t->name));
    if (!facts) {
        complain(t, STR(""), "no such message");
        return;
    }
    json_for_each (f, facts)
        compare_field(c, t, f);
    for (size_t i = 0; i < t->nfields; i++)
        numbered += t->fields[i].proto != 0;
    if (numbered != json_len(facts))
        complain(t, STR(""), "more numbers than there are");
    c->types++;
}

TEST(protobuf_numbers_are_right)
{
    scoped_arena a = arena_new();
    struct compare c = { .arena = a };

    fixture_kinds();
    c.facts = facts_read(a, FACTS "protobuf-fields.json");
    REQUIRE(c.facts);
    schema_set_each(kinds_catalog_root()->schemas, compare_proto, &c);
    CHECK(c.types > 40);
}

/* ---- OpenAPI ---- */

static bool has_string(const struct json *list, str s)
{
    json_for_each (v, list)
        if (str_eq(json_str(v), s))
            return true;
    return false;
}

static void compare_list(const struct schema *t, const struct schema_field *f,
                         const struct json *fact)
{
    static const char *const types[] = { "atomic", "set", "map" };
    str list = json_str(json_get(fact, STR("x-kubernetes-list-type")));
    const struct json *keys = json_get(fact, STR("x-kubernetes-list-map-keys"));
    str strategy = json_str(json_get(fact, STR("x-kubernetes-patch-strategy")));

    if (f->list_typed ? !str_is(list, types[f->list_type]) : list.n > 0)
        complain(t, f->name, "another list type");
    if (json_len(keys) != f->nlist_keys)
        complain(t, f->name, "other list keys");
    for (size_t i = 0; i < f->nlist_keys; i++)
        if (!has_string(keys, f->list_keys[i]))
            complain(t, f->name, "other list keys");
    if (f->patch_merge != str_starts(strategy, STR("merge")) ||
        f->retain_keys != str_ends(strategy, STR("retainKeys")) ||
        f->replaced != str_is(strategy, "replace"))
        complain(t, f->name, "another patch strategy");
    if (!str_eq(f->merge_key, json_str(json_get(fact, STR("x-kubernetes-patch-merge-key")))))
        complain(t, f->name, "another merge key");
}

/* The enum of a field, of the items of a list, or of the values of a map. */
static void compare_enum(const struct schema *t, const struct schema_field *f,
                         const struct json *fact)
{
    const struct json *values = json_get(fact, STR("enum"));

    if (!values)
        values = json_path(fact, "items.enum");
    if (!values)
        values = json_path(fact, "additionalProperties.enum");
    if (json_len(values) != f->nenums)
        complain(t, f->name, "other enum values");
    for (size_t i = 0; i < f->nenums; i++)
        if (!has_string(values, f->enums[i]))
            complain(t, f->name, "other enum values");
}

static void compare_openapi(void *arg, const struct schema *t)
{
    struct compare *c = arg;
    const struct json *fact = json_get(c->facts, t->name), *properties;

    if (!str_starts(t->name, STR("io.k8s.")))
        return;
    if (!fact) {
        complain(t, STR(""), "not in OpenAPI");
        return;
    }
    properties = json_get(fact, STR("properties"));
    if (t->map_atomic != str_is(json_str(json_get(fact, STR("x-kubernetes-map-type"))), "atomic"))
        complain(t, STR(""), "map type");
    json_for_each_member (m, properties)
        if (!schema_field(t, m->name))
            complain(t, m->name, "missing");
    for (size_t i = 0; i < t->nfields; i++) {
        const struct schema_field *f = &t->fields[i];
        const struct json *p = json_get(properties, f->name);

        if (!p) {
            complain(t, f->name, "not a property");
            continue;
        }
        if (f->required != has_string(json_get(fact, STR("required")), f->name))
            complain(t, f->name, "required or not");
        compare_list(t, f, p);
        compare_enum(t, f, p);
    }
    c->types++;
}

TEST(properties_are_those_of_openapi)
{
    scoped_arena a = arena_new();
    struct compare c = { .arena = a };

    fixture_kinds();
    c.facts = json_get(facts_read(a, FACTS "openapi-v2-definitions.json"), STR("definitions"));
    REQUIRE(c.facts);
    schema_set_each(kinds_catalog_root()->schemas, compare_openapi, &c);
    CHECK(c.types > 40);
}

/* ---- documentation ---- */

static void check_docs(void *arg, const struct schema *t)
{
    (void)arg;
    if (!t->doc.n)
        complain(t, STR(""), "no documentation");
    for (size_t i = 0; i < t->nfields; i++) {
        const struct schema_field *f = &t->fields[i];
        const struct schema *of = f->type->items ? f->type->items : f->type;

        if (!f->doc.n)
            complain(t, f->name, "no documentation");
        else if (str_eq(f->doc, of->doc)) /* kubectl explain shows both */
            complain(t, f->name, "says what its type says");
    }
}

TEST(everything_can_be_explained)
{
    fixture_kinds();
    schema_set_each(kinds_catalog_root()->schemas, check_docs, NULL);
}
