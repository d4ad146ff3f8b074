/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/group.h"
#include "object/crdschema/structural.h"

/* How the place of a schema bears on what it may say. */
struct rules {
    struct status *st;
    bool inside_meta;        /* of apiVersion, kind or metadata */
    const char *no_defaults; /* why none may be here, or NULL */
    struct map64 *faulty;    /* gets the nodes that have faults, or nodes in them */
};

static void check_node(const struct rules *r, const struct crd_at *at, const struct json *s,
                       bool root);

static const char *const types[] = { "array",  "boolean", "integer", "number",
                                     "object", "string",  NULL };

/* Members that Kubernetes knows and does not take. */
static const struct {
    const char *name, *why;
} refused[] = {
    { "id", "id is not supported" },
    { "additionalItems", "additionalItems is not supported" },
    { "patternProperties", "patternProperties is not supported" },
    { "definitions", "definitions is not supported" },
    { "dependencies", "dependencies is not supported" },
    { "$ref", "$ref is not supported" },
};

static void check_standard(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    const struct json *type = crd_get(s, "type"), *items = crd_get(s, "items");

    if (type && !str_is_any(json_str(type), types))
        crd_unsupported(r->st, CRD_AT(at, "type"), type, types);
    if (crd_get(s, "default") && r->no_defaults)
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, "default"), NULL, "must not be set %s",
                  r->no_defaults);
    for (size_t i = 0; i < GROUP_LEN(refused); i++)
        if (crd_get(s, refused[i].name))
            crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, refused[i].name), NULL, "%s",
                      refused[i].why);
    if (str_is(json_str(type), "null"))
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, "type"), NULL,
                  "type cannot be set to null, use nullable as an alternative");
    if (json_is(items, JSON_ARRAY) && items->n)
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, "items"), NULL,
                  "items must be a schema object and not an array");
    if (r->inside_meta && json_bool(crd_get(s, "x-kubernetes-embedded-resource")))
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, "x-kubernetes-embedded-resource"), NULL,
                  "must not be used inside of resource meta");
    if (json_bool(crd_get(s, "uniqueItems")))
        crd_fault(
            r->st, CAUSE_FORBIDDEN, CRD_AT(at, "uniqueItems"), NULL,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
}

static void check_additional(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    const struct json *more = crd_get(s, "additionalProperties");
    struct rules sub = *r;

    if (!more)
        return;
    if (json_len(crd_get(s, "properties")) && !json_bool(more))
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(at, "additionalProperties"), NULL,
                  "additionalProperties and properties are mutual exclusive");
    if (r->inside_meta)
        sub.no_defaults = "inside additionalProperties applying to object metadata";
    if (json_is(more, JSON_OBJECT))
        check_node(&sub, CRD_AT(at, "additionalProperties"), more, false);
}

static void check_properties(const struct rules *r, const struct crd_at *at, const struct json *s,
                             bool root)
{
    static const char *const meta[] = { "metadata", "kind", "apiVersion", NULL };
    static const char *const why[] = { "in top-level metadata", "in top-level kind",
                                       "in top-level apiVersion" };
    bool resource = root || json_bool(crd_get(s, "x-kubernetes-embedded-resource"));

    json_for_each_member (m, crd_get(s, "properties")) {
        struct rules sub = *r;

        for (size_t i = 0; resource && meta[i]; i++) {
            if (!str_is(m->name, meta[i]))
                continue;
            sub.inside_meta = true;
            if (root)
                sub.no_defaults = why[i];
        }
        check_node(&sub, CRD_AT_MEMBER(at, "properties", m->name), &m->value, false);
    }
}

static void check_below(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    static const char *const lists[] = { "allOf", "oneOf", "anyOf", "items" };
    const struct json *not_ = crd_get(s, "not"), *items = crd_get(s, "items");

    if (not_)
        check_node(r, CRD_AT(at, "not"), not_, false);
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        size_t n = 0;

        json_for_each (one, crd_get(s, lists[i])) {
            check_node(r, CRD_AT_ITEM(at, lists[i], n), one, false);
            n++;
        }
    }
    json_for_each_member (m, crd_get(s, "definitions"))
        check_node(r, CRD_AT_MEMBER(at, "definitions", m->name), &m->value, false);
    if (json_is(items, JSON_OBJECT))
        check_node(r, CRD_AT(at, "items"), items, false);
}

static void check_must_be(const struct rules *r, const struct crd_at *at, const struct json *s,
                          const char *type, const char *what)
{
    const struct json *is = crd_get(s, "type");

    if (str_is(json_str(is), type))
        return;
    crd_fault(r->st, is ? CAUSE_INVALID : CAUSE_REQUIRED, CRD_AT(at, "type"), is,
              "must be %s if %s is specified", type, what);
}

/* Items of a set are compared as a whole. */
static void check_set(const struct rules *r, const struct crd_at *at, const struct json *items)
{
    static const char why[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const struct json *list = crd_get(items, "x-kubernetes-list-type");
    const struct json *map = crd_get(items, "x-kubernetes-map-type");
    str type = json_str(crd_get(items, "type"));

    if (str_is(type, "array") && list && !str_is(json_str(list), "atomic"))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(CRD_AT(at, "items"), "x-kubernetes-list-type"), list,
                  "%s", why);
    if (str_is(type, "object") && !str_is(json_str(map), "atomic"))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(CRD_AT(at, "items"), "x-kubernetes-map-type"),
                  map ? map : &json_null, "%s", why);
}

static bool has_str(const struct json *list, str s)
{
    json_for_each (v, list) {
        if (str_eq(json_str(v), s))
            return true;
    }
    return false;
}

static void check_key(const struct rules *r, const struct crd_at *at, const struct json *keys,
                      size_t i, const struct json *items)
{
    const struct crd_at *in = CRD_AT(at, "items"), *here = CRD_AT(at, "x-kubernetes-list-map-keys");
    str key = json_str(&keys->items[i]);
    const struct json *s = json_get(crd_get(items, "properties"), key);
    const struct crd_at *place = CRD_AT_MEMBER(in, "properties", key);
    str type = json_str(crd_get(s, "type"));

    for (size_t k = 0; k < i; k++)
        if (str_eq(json_str(&keys->items[k]), key))
            crd_fault(r->st, CAUSE_INVALID, here, keys, "must not contain duplicate entries");
    if (!s) {
        crd_fault(r->st, CAUSE_INVALID, here, keys, "entries must all be names of item properties");
        return;
    }
    if (str_is(type, "array") || str_is(type, "object"))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(place, "type"), crd_get(items, "type"),
                  "must be a scalar type if parent array's x-kubernetes-list-type is map");
    if (!has_str(crd_get(items, "required"), key) && !crd_get(s, "default"))
        crd_fault(
            r->st, CAUSE_REQUIRED, CRD_AT(place, "default"), NULL,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property");
    if (json_bool(crd_get(s, "nullable")))
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(place, "nullable"), NULL,
                  "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
}

static void check_map_list(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    const struct json *keys = crd_get(s, "x-kubernetes-list-map-keys");
    const struct json *items = crd_get(s, "items"), *type = crd_get(items, "type");

    if (json_len(keys) == 0)
        crd_fault(r->st, CAUSE_REQUIRED, CRD_AT(at, "x-kubernetes-list-map-keys"), NULL,
                  "must not be empty if x-kubernetes-list-type is map");
    if (!items)
        crd_fault(r->st, CAUSE_REQUIRED, CRD_AT(at, "items"), NULL,
                  "must have a schema if x-kubernetes-list-type is map");
    if (json_is(items, JSON_ARRAY))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "items"), items,
                  "must only have a single schema if x-kubernetes-list-type is map");
    if (!json_is(items, JSON_OBJECT))
        return;
    if (!str_is(json_str(type), "object")) {
        static const struct json none = { .type = JSON_STRING, .s = "" };

        crd_fault(r->st, CAUSE_INVALID, CRD_AT(CRD_AT(at, "items"), "type"), type ? type : &none,
                  "must be object if parent array's x-kubernetes-list-type is map");
        return;
    }
    for (size_t i = 0; i < json_len(keys); i++)
        check_key(r, at, keys, i, items);
}

static void check_list_type(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    static const char *const kinds[] = { "atomic", "set", "map", NULL };
    const struct json *type = crd_get(s, "x-kubernetes-list-type"), *items = crd_get(s, "items");
    bool map = str_is(json_str(type), "map"), set = str_is(json_str(type), "set");

    if (json_len(crd_get(s, "x-kubernetes-list-map-keys")) && !map)
        crd_fault(r->st, type ? CAUSE_INVALID : CAUSE_REQUIRED,
                  CRD_AT(at, "x-kubernetes-list-type"), type,
                  "must be map if x-kubernetes-list-map-keys is non-empty");
    if (!type)
        return;
    check_must_be(r, at, s, "array", "x-kubernetes-list-type");
    if (!str_is_any(json_str(type), kinds))
        crd_unsupported(r->st, CRD_AT(at, "x-kubernetes-list-type"), type, kinds);
    if (set && json_is(items, JSON_OBJECT) && str_is(json_str(crd_get(s, "type")), "array"))
        check_set(r, at, items);
    if (map)
        check_map_list(r, at, s);
    if ((map || set) && json_bool(crd_get(items, "nullable")))
        crd_fault(r->st, CAUSE_FORBIDDEN, CRD_AT(CRD_AT(at, "items"), "nullable"), NULL,
                  "cannot be nullable when x-kubernetes-list-type is %.*s",
                  STR_ARG(json_str(type)));
}

static void check_map_type(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    static const char *const kinds[] = { "atomic", "granular", NULL };
    const struct json *type = crd_get(s, "x-kubernetes-map-type");

    if (!type)
        return;
    check_must_be(r, at, s, "object", "x-kubernetes-map-type");
    if (!str_is_any(json_str(type), kinds))
        crd_unsupported(r->st, CRD_AT(at, "x-kubernetes-map-type"), type, kinds);
}

static bool has_lines(str s)
{
    return str_find(s, '\n', 0) >= 0 || str_find(s, '\r', 0) >= 0;
}

/* The form of rules in CEL; what they say is looked at in crd_cel.c. */
static void check_rule(const struct rules *r, const struct crd_at *at, const struct json *rule)
{
    static const char *const reasons[] = { "FieldValueDuplicate", "FieldValueForbidden",
                                           "FieldValueInvalid", "FieldValueRequired", NULL };
    const struct json *message = crd_get(rule, "message"), *path = crd_get(rule, "fieldPath");
    const struct json *expression = crd_get(rule, "messageExpression");
    const struct json *reason = crd_get(rule, "reason");
    str text = str_trim(json_str(crd_get(rule, "rule"))), said = str_trim(json_str(message));

    if (text.n == 0)
        crd_fault(r->st, CAUSE_REQUIRED, CRD_AT(at, "rule"), NULL, "rule is not specified");
    else if (message && said.n == 0)
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "message"), message,
                  "must be non-empty if specified");
    else if (has_lines(said))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "message"), message,
                  "must not contain line breaks");
    else if (has_lines(text) && said.n == 0)
        crd_fault(r->st, CAUSE_REQUIRED, CRD_AT(at, "message"), NULL,
                  "message must be specified if rule contains line breaks");
    if (expression && str_trim(json_str(expression)).n == 0)
        crd_fault(r->st, CAUSE_REQUIRED, CRD_AT(at, "messageExpression"), NULL,
                  "messageExpression must be non-empty if specified");
    if (reason && !str_is_any(json_str(reason), reasons))
        crd_unsupported(r->st, CRD_AT(at, "reason"), reason, reasons);
    if (path && str_trim(json_str(path)).n == 0)
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "fieldPath"), path,
                  "must be non-empty if specified");
    if (has_lines(json_str(path)))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "fieldPath"), path,
                  "must not contain line breaks");
}

/* k8s: pkg/apiserver/schema/convert.go: what a structural schema cannot be made of */
struct foreign {
    bool any;
    bool schema; /* "$schema", which nobody else complains about */
};

static void find_refused(void *arg, const struct json *s)
{
    const struct json *preserve = crd_get(s, "x-kubernetes-preserve-unknown-fields");
    struct foreign *f = arg;

    for (size_t i = 0; i < GROUP_LEN(refused); i++)
        f->any |= crd_get(s, refused[i].name) != NULL;
    f->schema |= json_get_str(s, "$schema").n > 0;
    f->any |=
        f->schema || json_is(crd_get(s, "items"), JSON_ARRAY) || (preserve && !json_bool(preserve));
}

/* k8s: of what no structural schema can be made every path is taken */
static void check_rules(const struct rules *r, const struct crd_at *at, const struct json *s)
{
    struct foreign foreign = { 0 };
    bool looked = false;
    size_t n = 0;

    json_for_each (rule, crd_get(s, "x-kubernetes-validations")) {
        const struct crd_at *here = CRD_AT_ITEM(at, "x-kubernetes-validations", n);
        const struct json *path = crd_get(rule, "fieldPath");
        str why = STR_NONE;

        n++;
        check_rule(r, here, rule);
        if (json_str(path).n == 0)
            continue;
        if (!looked)
            crd_each_schema(s, find_refused, &foreign);
        looked = true;
        if (!foreign.any && !crd_follow(r->st->arena, s, json_str(path), true, &why))
            crd_fault(r->st, CAUSE_INVALID, CRD_AT(here, "fieldPath"), path,
                      "must be a valid path");
    }
}

static void check_node(const struct rules *r, const struct crd_at *at, const struct json *s,
                       bool root)
{
    static char there;
    const struct json *preserve = crd_get(s, "x-kubernetes-preserve-unknown-fields");
    unsigned before = r->st->ncauses;

    check_standard(r, at, s);
    check_additional(r, at, s);
    check_properties(r, at, s, root);
    check_below(r, at, s);
    if (preserve && !json_bool(preserve))
        crd_fault(r->st, CAUSE_INVALID, CRD_AT(at, "x-kubernetes-preserve-unknown-fields"),
                  preserve, "must be true or undefined");
    check_map_type(r, at, s);
    check_list_type(r, at, s);
    check_rules(r, at, s);
    if (r->st->ncauses != before || before == STATUS_CAUSES_MAX)
        map64_put(r->faulty, (uintptr_t)s, &there);
}

/* With a status subresource the root may describe nothing that would check status, too. */
static void check_root(struct status *st, const struct crd_at *at, const struct json *s)
{
    static const char *const allowed[] = {
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "exclusiveMinimum",
        "minItems",
        "required",
        "uniqueItems",
        "multipleOf",
        "items",
        "properties",
        "example",
        "externalDocs",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
        NULL,
    };
    const struct json *type = crd_get(s, "type");

    if (type && !str_is(json_str(type), "object"))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "type"), type,
                  "only \"object\" is allowed as the type at the root of the schema if the status "
                  "subresource is enabled");
    json_for_each_member (m, s) {
        if (str_is_any(m->name, allowed))
            continue;
        crd_fault(
            st, CAUSE_INVALID, at, NULL,
            "only [Description Type Format Title Maximum ExclusiveMaximum Minimum "
            "ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems "
            "MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
            "XValidations] fields are allowed at the root of the schema if the status "
            "subresource is enabled");
        return;
    }
}

/* k8s: pkg/apiserver/schema/defaulting/validation.go: as it stands, without the defaults in it. */
static void check_defaults(struct status *st, const struct crd_at *at, const struct schema *s)
{
    const struct schema_rules *r = s->rules;
    const struct json *v = r ? crd_get(r->source, "default") : NULL, *pruned;
    struct schema_faults unknown = { 0 };
    struct status ignored;

    if (!r)
        return;
    if (v) {
        status_init(&ignored, st->arena);
        if (structural_decode(st->arena, s, v, STRUCTURAL_STORED, &unknown, &pruned, &ignored) ==
                0 &&
            unknown.n)
            crd_fault(st, CAUSE_INVALID, CRD_AT(at, "default"), v, "must not have unknown fields");
        structural_validate_at(s, crd_path(st->arena, CRD_AT(at, "default")), v, st);
    }
    if (r->items)
        check_defaults(st, CRD_AT(at, "items"), r->items);
    for (size_t i = 0; i < s->nfields; i++)
        check_defaults(st, CRD_AT_MEMBER(at, "properties", s->fields[i].name), s->fields[i].type);
}

/* Compiled, when it is structural and its defaults are fine; else NULL. */
static const struct schema *check_structure(struct status *st, const struct crd_at *at,
                                            const struct json *schema,
                                            const struct schema *object_meta)
{
    const struct schema *compiled = NULL;
    struct status own;
    unsigned before = st->ncauses;

    if (!crd_check_structural(st, at, schema))
        return NULL;
    status_init(&own, st->arena);
    if (structural_compile(st->arena, object_meta, schema, false, &compiled, &own) < 0)
        crd_fault(st, CAUSE_INVALID, at, NULL, "%.*s", STR_ARG(own.message));
    else
        check_defaults(st, at, compiled);
    return st->ncauses == before ? compiled : NULL;
}

void crd_check_schema(struct status *st, const struct crd_at *at, const struct json *schema,
                      bool status_enabled, const struct schema *object_meta)
{
    struct map64 faulty = { 0 };
    struct rules r = { .st = st, .faulty = &faulty };
    const struct schema *compiled = NULL;
    struct foreign foreign = { 0 };
    unsigned begin = st->ncauses;

    if (status_enabled)
        check_root(st, at, schema);
    if (json_bool(crd_get(schema, "nullable")))
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, "nullable"), NULL,
                  "nullable cannot be true at the root");
    crd_each_schema(schema, find_refused, &foreign);
    if (!foreign.any)
        compiled = check_structure(st, at, schema, object_meta);
    check_node(&r, at, schema, true);
    if (compiled)
        crd_check_rules(st, at, compiled, &faulty);
    map64_release(&faulty);
    if (foreign.schema && st->ncauses == begin)
        crd_fault(st, CAUSE_INVALID, at, &(struct json){ .type = JSON_STRING, .s = "" },
                  "OpenAPIV3Schema 'schema' is not supported");
}

/* Most schemas are of one value: they hold neither objects nor lists. */
static bool is_leaf(const struct json *schema)
{
    json_for_each_member (m, schema)
        if (m->value.type == JSON_OBJECT || m->value.type == JSON_ARRAY)
            return false;
    return true;
}

void crd_each_schema(const struct json *schema, void (*fn)(void *arg, const struct json *s),
                     void *arg)
{
    static const char *const one[] = { "not", "items", "additionalProperties", "additionalItems" };
    static const char *const lists[] = { "allOf", "anyOf", "oneOf", "items" };
    static const char *const maps[] = { "properties", "patternProperties", "definitions",
                                        "dependencies" };

    if (!json_is(schema, JSON_OBJECT))
        return;
    fn(arg, schema);
    if (is_leaf(schema))
        return;
    for (size_t i = 0; i < GROUP_LEN(one); i++)
        crd_each_schema(crd_get(schema, one[i]), fn, arg);
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        json_for_each (s, crd_get(schema, lists[i]))
            crd_each_schema(s, fn, arg);
    }
    for (size_t i = 0; i < GROUP_LEN(maps); i++) {
        json_for_each_member (m, crd_get(schema, maps[i]))
            crd_each_schema(&m->value, fn, arg);
    }
}
