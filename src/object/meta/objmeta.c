/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "object/meta/names.h"

enum {
    MANAGER_MAX = 128,
    SUBRESOURCE_MAX = 256,
};

#define FINALIZER_ORPHAN     "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

static str quoted(struct status *st, str s)
{
    struct json v = json_of_str(s);

    return json_text(st->arena, &v);
}

static void must_not_be_empty(struct status *st, const char *field, str value)
{
    if (value.n == 0)
        status_cause(st, CAUSE_INVALID, str_of(field), STR("\"\""), "must not be empty");
}

/* k8s: the index of the reference is not part of the field (1.35) */
static void check_owner(struct status *st, const struct json *ref)
{
    str version = json_get_str(ref, "apiVersion"), kind = json_get_str(ref, "kind");
    ptrdiff_t slash = str_find(version, '/', 0);
    bool no_version = version.n == 0 || str_ends(version, STR("/")) ||
                      (slash >= 0 && str_find(version, '/', (size_t)slash + 1) >= 0);

    if (no_version)
        status_cause(st, CAUSE_INVALID, STR("metadata.ownerReferences.apiVersion"),
                     quoted(st, version), "version must not be empty");
    must_not_be_empty(st, "metadata.ownerReferences.kind", kind);
    must_not_be_empty(st, "metadata.ownerReferences.name", json_get_str(ref, "name"));
    must_not_be_empty(st, "metadata.ownerReferences.uid", json_get_str(ref, "uid"));
    if (str_is(version, "v1") && str_is(kind, "Event"))
        status_cause(st, CAUSE_INVALID, STR("metadata.ownerReferences"), json_text(st->arena, ref),
                     "/v1, Kind=Event is disallowed from being an owner");
}

static void check_owners(struct status *st, const struct json *refs)
{
    str first = STR_NONE;

    json_for_each (ref, refs) {
        str name;

        if (st->ncauses >= STATUS_CAUSES_MAX)
            return;
        check_owner(st, ref);
        if (!json_bool(json_get(ref, STR("controller"))))
            continue;
        name = str_printf(st->arena, "%.*s/%.*s", STR_ARG(json_get_str(ref, "kind")),
                          STR_ARG(json_get_str(ref, "name")));
        if (first.n == 0)
            first = name;
        else
            status_cause(st, CAUSE_INVALID, STR("metadata.ownerReferences"),
                         json_text(st->arena, refs),
                         "Only one reference can have Controller set to true. Found \"true\" in "
                         "references for %.*s and %.*s",
                         STR_ARG(first), STR_ARG(name));
    }
}

/* k8s: core/validation, validateKubeFinalizerName: a bare name must be one of Kubernetes' own */
void objmeta_check_bare_finalizers(struct status *st, const struct json *meta)
{
    static const char *const standard[] = { "kubernetes", FINALIZER_ORPHAN, FINALIZER_FOREGROUND };
    size_t i = 0;

    json_for_each (item, json_get(meta, STR("finalizers"))) {
        str name = json_str(item), field;
        bool known = str_find(name, '/', 0) >= 0;

        for (size_t j = 0; j < sizeof(standard) / sizeof(*standard); j++)
            known |= str_is(name, standard[j]);
        i++;
        if (known || st->ncauses >= STATUS_CAUSES_MAX)
            continue;
        field = str_printf(st->arena, "metadata.finalizers[%zu]", i - 1);
        status_cause(st, CAUSE_INVALID, field, quoted(st, name),
                     "name is neither a standard finalizer name nor is it fully qualified");
    }
}

static bool holds(const struct json *list, str name)
{
    json_for_each (item, list) {
        if (str_eq(json_str(item), name))
            return true;
    }
    return false;
}

static void check_finalizers(struct status *st, const struct json *finalizers)
{
    json_for_each (item, finalizers) {
        (void)qualified_name_check(st, STR("metadata.finalizers"), json_str(item));
    }
    if (holds(finalizers, STR(FINALIZER_ORPHAN)) && holds(finalizers, STR(FINALIZER_FOREGROUND)))
        status_cause(st, CAUSE_INVALID, STR("metadata.finalizers"),
                     json_text(st->arena, finalizers), "finalizer %s and %s cannot be both set",
                     FINALIZER_ORPHAN, FINALIZER_FOREGROUND);
}

/* k8s: meta/v1/validation, ValidateFieldManager; printable is taken for "not a control". */
static void check_manager(struct status *st, str field, str manager)
{
    if (manager.n > MANAGER_MAX)
        status_cause(st, CAUSE_TOO_LONG, field, STR_NONE, "may not be more than %d bytes",
                     MANAGER_MAX);
    for (size_t i = 0; i < manager.n && i < MANAGER_MAX; i++) {
        unsigned char c = (unsigned char)manager.p[i];

        if (c < ' ' || c == 0x7f)
            status_cause(st, CAUSE_INVALID, field, quoted(st, manager),
                         "invalid character U+%04X (at position %zu)", c, i);
    }
}

static void check_managed_entry(struct status *st, const struct json *entry, size_t i)
{
    str operation = json_get_str(entry, "operation"), type = json_get_str(entry, "fieldsType");
    str at = str_printf(st->arena, "metadata.managedFields[%zu]", i);

    if (!str_is(operation, "Apply") && !str_is(operation, "Update"))
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.operation", STR_ARG(at)),
                     quoted(st, operation), "must be `Apply` or `Update`");
    if (type.n && !str_is(type, "FieldsV1"))
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.fieldsType", STR_ARG(at)),
                     quoted(st, type), "must be `FieldsV1`");
    check_manager(st, str_printf(st->arena, "%.*s.manager", STR_ARG(at)),
                  json_get_str(entry, "manager"));
    if (json_get_str(entry, "subresource").n > SUBRESOURCE_MAX)
        status_cause(st, CAUSE_TOO_LONG, str_printf(st->arena, "%.*s.subresource", STR_ARG(at)),
                     STR_NONE, "may not be more than %d bytes", SUBRESOURCE_MAX);
}

void objmeta_check_managed(struct status *st, const struct json *entries)
{
    for (size_t i = 0; i < json_len(entries) && st->ncauses < STATUS_CAUSES_MAX; i++)
        check_managed_entry(st, json_at(entries, i), i);
}

static void check_generation(struct status *st, const struct json *meta)
{
    int64_t generation = json_int(json_get(meta, STR("generation")), 0);

    if (generation < 0)
        status_cause(st, CAUSE_INVALID, STR("metadata.generation"),
                     str_printf(st->arena, "%lld", (long long)generation),
                     "must be greater than or equal to 0");
}

static void check_name(struct status *st, const struct json *meta, enum name_rule rule)
{
    str name = json_get_str(meta, "name"), prefix = json_get_str(meta, "generateName");

    if (prefix.n)
        (void)name_check_prefix(st, rule, STR("metadata.generateName"), prefix);
    if (name.n)
        (void)name_check(st, rule, STR("metadata.name"), name);
    else
        status_cause(st, CAUSE_REQUIRED, STR("metadata.name"), STR_NONE,
                     "name or generateName is required");
}

static void check_namespace(struct status *st, const struct json *meta, bool namespaced)
{
    str ns = json_get_str(meta, "namespace");

    if (namespaced && ns.n)
        (void)name_check(st, NAME_LABEL, STR("metadata.namespace"), ns);
    else if (namespaced)
        status_cause(st, CAUSE_REQUIRED, STR("metadata.namespace"), STR_NONE, "%s", "");
    else if (ns.n)
        status_cause(st, CAUSE_FORBIDDEN, STR("metadata.namespace"), STR_NONE,
                     "not allowed on this type");
}

void objmeta_validate(struct status *st, const struct json *meta, bool namespaced,
                      enum name_rule rule)
{
    check_name(st, meta, rule);
    check_namespace(st, meta, namespaced);
    check_generation(st, meta);
    (void)labels_check(st, STR("metadata.labels"), json_get(meta, STR("labels")));
    (void)annotations_check(st, STR("metadata.annotations"), json_get(meta, STR("annotations")));
    check_owners(st, json_get(meta, STR("ownerReferences")));
    check_finalizers(st, json_get(meta, STR("finalizers")));
    objmeta_check_managed(st, json_get(meta, STR("managedFields")));
}

static int cmp_str(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Strings of a list, sorted. */
static str *sorted(struct arena *a, const struct json *list)
{
    str *all = arena_array(a, str, json_len(list));

    for (size_t i = 0; i < json_len(list); i++)
        all[i] = json_str(json_at(list, i));
    if (json_len(list))
        qsort(all, json_len(list), sizeof(*all), cmp_str);
    return all;
}

static void check_no_new_finalizers(struct status *st, const struct json *now,
                                    const struct json *was)
{
    str *a = sorted(st->arena, now), *b = sorted(st->arena, was);
    size_t n = json_len(now), m = json_len(was);

    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < m && str_cmp(b[j], a[i]) < 0)
            j++;
        if (j < m && str_eq(b[j], a[i]))
            continue;
        status_cause(st, CAUSE_FORBIDDEN, STR("metadata.finalizers"), STR_NONE,
                     "no new finalizers can be added if the object is being deleted, found %.*s",
                     STR_ARG(quoted(st, a[i])));
        return;
    }
}

static void check_immutable(struct status *st, const struct json *meta, const struct json *old)
{
    static const char *const fields[] = {
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const struct json *now = json_get(meta, str_of(fields[i]));
        const struct json *was = json_get(old, str_of(fields[i]));

        if (now == was || (now && was && json_equal(now, was)))
            continue;
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "metadata.%s", fields[i]),
                     json_text(st->arena, now ? now : &json_null), "field is immutable");
    }
}

void objmeta_validate_update(struct status *st, const struct json *meta, const struct json *old)
{
    const struct json *finalizers = json_get(meta, STR("finalizers"));
    int64_t generation = json_int(json_get(meta, STR("generation")), 0);

    if (json_get(old, STR("deletionTimestamp")))
        check_no_new_finalizers(st, finalizers, json_get(old, STR("finalizers")));
    check_generation(st, meta);
    if (generation < json_int(json_get(old, STR("generation")), 0))
        status_cause(st, CAUSE_INVALID, STR("metadata.generation"),
                     str_printf(st->arena, "%lld", (long long)generation),
                     "must not be decremented");
    check_immutable(st, meta, old);
    (void)labels_check(st, STR("metadata.labels"), json_get(meta, STR("labels")));
    (void)annotations_check(st, STR("metadata.annotations"), json_get(meta, STR("annotations")));
    check_owners(st, json_get(meta, STR("ownerReferences")));
    objmeta_check_managed(st, json_get(meta, STR("managedFields")));
}
