/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/group.h"
#include "object/meta/pattern.h"

enum level { ROOT, ITEM, FIELD };

static void check_nested(struct status *st, const struct crd_at *at, const struct json *v,
                         bool skip_any);

static bool flag(const struct json *s, const char *name)
{
    return json_bool(crd_get(s, name));
}

/* `type: integer` and `type: string`, in this order and nothing else: what int-or-string means. */
static bool is_int_or_string(const struct json *any)
{
    static const char *const types[] = { "integer", "string" };

    if (json_len(any) != GROUP_LEN(types))
        return false;
    for (size_t i = 0; i < GROUP_LEN(types); i++)
        if (json_len(&any->items[i]) != 1 ||
            !str_is(json_get_str(&any->items[i], "type"), types[i]))
            return false;
    return true;
}

/* The parts that check values: they must not say what a value is. */
static void check_values(struct status *st, const struct crd_at *at, const struct json *s,
                         bool skip_any)
{
    static const char *const lists[] = { "anyOf", "allOf", "oneOf" };
    const struct json *pattern = crd_get(s, "pattern"), *not_ = crd_get(s, "not");
    str why = STR_NONE;

    for (size_t i = skip_any ? 1 : 0; i < GROUP_LEN(lists); i++) {
        size_t n = 0;

        json_for_each (v, crd_get(s, lists[i])) {
            check_nested(st, CRD_AT_ITEM(at, lists[i], n), v,
                         i == 1 && n == 0 && is_int_or_string(crd_get(v, "anyOf")));
            n++;
        }
    }
    if (not_)
        check_nested(st, CRD_AT(at, "not"), not_, false);
    if (pattern && !pattern_compile(st->arena, json_str(pattern), &why))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "pattern"), pattern,
                  "must be a valid regular expression, but isn't: %.*s", STR_ARG(why));
}

static void check_nested(struct status *st, const struct crd_at *at, const struct json *v,
                         bool skip_any)
{
    static const struct {
        const char *name, *must;
    } forbidden[] = {
        { "type", "empty" },
        { "additionalProperties", "undefined" },
        { "default", "undefined" },
        { "title", "empty" },
        { "description", "empty" },
        { "nullable", "false" },
        { "x-kubernetes-preserve-unknown-fields", "false" },
        { "x-kubernetes-embedded-resource", "false" },
        { "x-kubernetes-int-or-string", "false" },
        { "x-kubernetes-list-map-keys", "empty" },
        { "x-kubernetes-list-type", "undefined" },
        { "x-kubernetes-map-type", "undefined" },
        { "x-kubernetes-validations", "empty" },
    };
    const struct json *items = crd_get(v, "items"), *properties = crd_get(v, "properties");

    check_values(st, at, v, skip_any);
    if (json_is(items, JSON_OBJECT))
        check_nested(st, CRD_AT(at, "items"), items, false);
    json_for_each_member (m, properties)
        check_nested(st, CRD_AT_MEMBER(at, "properties", m->name), &m->value, false);
    for (size_t i = 0; i < GROUP_LEN(forbidden); i++)
        if (crd_get(v, forbidden[i].name))
            crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, forbidden[i].name), NULL,
                      "must be %s to be structural", forbidden[i].must);
    if (json_get(properties, STR("metadata")))
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT_MEMBER(at, "properties", STR("metadata")), NULL,
                  "must not be specified in a nested context");
}

static const struct json no_type = { .type = JSON_STRING, .s = "" };

static void check_type(struct status *st, const struct crd_at *at, const struct json *s,
                       enum level level)
{
    static const char *const where[] = {
        [ROOT] = "at the root",
        [ITEM] = "for specified array items",
        [FIELD] = "for specified object fields",
    };
    const struct json *type = crd_get(s, "type");
    bool object = str_is(json_str(type), "object");

    if (flag(s, "x-kubernetes-embedded-resource") && !object)
        crd_fault(st, type ? CAUSE_INVALID : CAUSE_REQUIRED, CRD_AT(at, "type"), type,
                  "must be object if x-kubernetes-embedded-resource is true");
    else if (!type && !flag(s, "x-kubernetes-int-or-string") &&
             !flag(s, "x-kubernetes-preserve-unknown-fields"))
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "type"), NULL, "must not be empty %s",
                  where[level]);
    if (level == ROOT && type && !object)
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "type"), type, "must be object at the root");
}

/* Only its name may be described at the root. */
static void check_metadata(struct status *st, const struct crd_at *at, const struct json *meta,
                           bool resource, enum level level)
{
    static const char *const allowed[] = { "type", "properties", "default", NULL };
    static const char *const names[] = { "name", "generateName", NULL };
    const struct json *type = crd_get(meta, "type");
    bool fine = true;

    if (resource && !str_is(json_str(type), "object"))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "type"), type ? type : &no_type, "must be object");
    if (level != ROOT)
        return;
    json_for_each_member (m, meta)
        fine = fine && str_is_any(m->name, allowed);
    json_for_each_member (m, crd_get(meta, "properties"))
        fine = fine && str_is_any(m->name, names);
    if (!fine)
        crd_fault(st, CAUSE_FORBIDDEN, at, NULL,
                  "must not specify anything other than name and generateName, but metadata is "
                  "implicitly specified");
}

static void check_resource(struct status *st, const struct crd_at *at, const struct json *s,
                           enum level level)
{
    static const char *const strings[] = { "kind", "apiVersion" };
    const struct json *properties = crd_get(s, "properties");
    const struct json *meta = json_get(properties, STR("metadata"));
    bool embedded = flag(s, "x-kubernetes-embedded-resource"), resource = embedded || level == ROOT;

    for (size_t i = 0; resource && i < GROUP_LEN(strings); i++) {
        const struct json *one = json_get(properties, str_of(strings[i]));
        const struct json *type = crd_get(one, "type");

        if (one && !str_is(json_str(type), "string"))
            crd_fault(st, CAUSE_INVALID,
                      CRD_AT(CRD_AT_MEMBER(at, "properties", str_of(strings[i])), "type"),
                      type ? type : &no_type, "must be string");
    }
    if (meta)
        check_metadata(st, CRD_AT_MEMBER(at, "properties", STR("metadata")), meta, resource, level);
    if (embedded && !flag(s, "x-kubernetes-preserve-unknown-fields") && json_len(properties) == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "properties"), NULL,
                  "must not be empty if x-kubernetes-embedded-resource is true without "
                  "x-kubernetes-preserve-unknown-fields");
}

static void check_extensions(struct status *st, const struct crd_at *at, const struct json *s)
{
    static const char *const others[] = { "x-kubernetes-preserve-unknown-fields",
                                          "x-kubernetes-embedded-resource" };

    for (size_t i = 0; flag(s, "x-kubernetes-int-or-string") && i < GROUP_LEN(others); i++)
        if (flag(s, others[i]))
            crd_fault(st, CAUSE_INVALID, CRD_AT(at, others[i]), &json_true,
                      "must be false if x-kubernetes-int-or-string is true");
}

static void check(struct status *st, const struct crd_at *at, const struct json *s,
                  enum level level)
{
    const struct json *items = crd_get(s, "items"), *more = crd_get(s, "additionalProperties");

    if (str_is(json_str(crd_get(s, "type")), "array") && !items)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "items"), NULL, "must be specified");
    if (json_is(items, JSON_OBJECT))
        check(st, CRD_AT(at, "items"), items, ITEM);
    json_for_each_member (m, crd_get(s, "properties"))
        check(st, CRD_AT_MEMBER(at, "properties", m->name), &m->value, FIELD);
    if (more && level == ROOT)
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, "additionalProperties"), NULL,
                  "must not be used at the root");
    if (json_is(more, JSON_OBJECT))
        check(st, CRD_AT(at, "additionalProperties"), more, FIELD);
    check_extensions(st, at, s);
    check_values(st, at, s, is_int_or_string(crd_get(s, "anyOf")));
    check_type(st, at, s, level);
    if (more && flag(s, "x-kubernetes-embedded-resource"))
        crd_fault(st, CAUSE_FORBIDDEN, CRD_AT(at, "additionalProperties"), NULL,
                  "must not be used if x-kubernetes-embedded-resource is set");
    check_resource(st, at, s, level);
}

static void complete_nested(struct status *st, const struct crd_at *at, const struct json *s,
                            const struct crd_at *v_at, const struct json *v);

static void missing(struct status *st, const struct crd_at *at, const struct crd_at *v_at)
{
    crd_fault(st, CAUSE_REQUIRED, at, NULL, "because it is defined in %.*s",
              STR_ARG(crd_path(st->arena, v_at)));
}

/* What is checked in alternatives at the root must be described outside of them, too. */
static void complete(struct status *st, const struct crd_at *at, const struct json *s,
                     const struct crd_at *v_at, const struct json *v)
{
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    const struct json *not_ = crd_get(v, "not");

    if (not_)
        complete_nested(st, at, s, CRD_AT(v_at, "not"), not_);
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        size_t n = 0;

        json_for_each (one, crd_get(v, lists[i])) {
            complete_nested(st, at, s, CRD_AT_ITEM(v_at, lists[i], n), one);
            n++;
        }
    }
}

static void complete_nested(struct status *st, const struct crd_at *at, const struct json *s,
                            const struct crd_at *v_at, const struct json *v)
{
    const struct json *v_items = crd_get(v, "items"), *items = crd_get(s, "items");

    complete(st, at, s, v_at, v);
    if (v_items && items)
        complete_nested(st, CRD_AT(at, "items"), items, CRD_AT(v_at, "items"), v_items);
    else if (v_items)
        missing(st, CRD_AT(at, "items"), CRD_AT(v_at, "items"));
    json_for_each_member (m, crd_get(v, "properties")) {
        const struct json *field = json_get(crd_get(s, "properties"), m->name);
        const struct crd_at *here = CRD_AT_MEMBER(at, "properties", m->name);
        const struct crd_at *there = CRD_AT_MEMBER(v_at, "properties", m->name);

        if (field)
            complete_nested(st, here, field, there, &m->value);
        else
            missing(st, here, there);
    }
}

bool crd_check_structural(struct status *st, const struct crd_at *at, const struct json *schema)
{
    unsigned before = st->ncauses;

    check(st, at, schema, ROOT);
    complete(st, at, schema, at, schema);
    return st->ncauses == before;
}
