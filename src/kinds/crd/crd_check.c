/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/group.h"
#include "object/meta/format.h"
#include "object/meta/names.h"

#define APPROVED "api-approved.kubernetes.io"

/* Served by the management API; a custom resource there would never be seen. */
static const char *const reserved[] = { "kairship.io", "clusterpedia.io", "ghippo.io", "kpanda.io",
                                        NULL };

/* kcp: CRDs of the core group are called <plural>.core and have no group. */
static bool is_core(const struct json *obj)
{
    return json_get_str(obj, "spec.group").n == 0 &&
           str_ends(json_get_str(obj, "metadata.name"), STR(".core"));
}

static void check_name(struct status *st, const struct json *obj)
{
    str name = json_get_str(obj, "metadata.name"), plural = json_get_str(obj, "spec.names.plural");
    str group = is_core(obj) ? STR("core") : json_get_str(obj, "spec.group");
    str want = str_printf(st->arena, "%.*s.%.*s", STR_ARG(plural), STR_ARG(group));

    if (!str_eq(name, want))
        status_cause(st, CAUSE_INVALID, STR("metadata.name"), check_quote(st->arena, name),
                     "must be spec.names.plural+\".\"+spec.group");
}

/* Kubernetes' own old groups have no domain; their types come from members as CRDs. */
static const char *const without_domain[] = { "apps", "autoscaling", "batch", "policy", NULL };

static void check_group(struct status *st, const struct json *obj)
{
    const struct json *group = json_path(obj, "spec.group");
    str text = json_str(group), faults[NAME_FAULTS], why = STR_NONE;
    const struct crd_at *at = CRD_AT(NULL, "spec.group");
    size_t n = name_faults(NAME_SUBDOMAIN, text, faults);

    if (is_core(obj))
        return;
    if (text.n == 0) {
        crd_fault(st, CAUSE_REQUIRED, at, NULL, "%s", "");
        return;
    }
    for (size_t i = 0; i < n; i++)
        why = str_printf(st->arena, "%.*s%s%.*s", STR_ARG(why), i ? "," : "", STR_ARG(faults[i]));
    if (n)
        crd_fault(st, CAUSE_INVALID, at, group, "%.*s", STR_ARG(why));
    else if (str_find(text, '.', 0) < 0 && !str_is_any(text, without_domain))
        crd_fault(st, CAUSE_INVALID, at, group, "should be a domain with at least one dot");
    else if (str_is_any(text, reserved))
        crd_fault(st, CAUSE_INVALID, at, group,
                  "is reserved for the management API of this server");
}

static void check_word(struct status *st, const struct crd_at *at, const struct json *v,
                       const char *const *words)
{
    if (json_str(v).n == 0)
        crd_fault(st, CAUSE_REQUIRED, at, NULL, "%s", "");
    else if (!str_is_any(json_str(v), words))
        crd_unsupported(st, at, v, words);
}

static bool is_printable(str s, size_t *at)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
            *at = i;
            return false;
        }
    }
    return true;
}

static void check_deprecation(struct status *st, const struct crd_at *at, const struct json *v)
{
    const struct json *text = crd_get(v, "deprecationWarning");
    const struct crd_at *here = CRD_AT(at, "deprecationWarning");
    size_t bad = 0;

    if (!text)
        return;
    if (!json_bool(crd_get(v, "deprecated"))) {
        crd_fault(st, CAUSE_INVALID, here, text, "can only be set for deprecated versions");
        return;
    }
    if (text->n > 256)
        crd_fault(st, CAUSE_INVALID, here, text, "must be <= 256 characters long");
    if (text->n == 0)
        crd_fault(st, CAUSE_INVALID, here, text, "must not be an empty string");
    if (!is_printable(json_str(text), &bad))
        crd_fault(st, CAUSE_INVALID, here, text,
                  "must only contain printable UTF-8 characters; non-printable character found at "
                  "index %zu",
                  bad);
}

/*
 * k8s: what is the same in all versions is one thing of the CRD in its internal form, and is named
 * and checked as that.
 */
enum part { SCHEMA, SUBRESOURCES, COLUMNS, SELECTABLE, PARTS };

static const char *const parts[PARTS] = { "schema", "subresources", "additionalPrinterColumns",
                                          "selectableFields" };

/* An empty list says nothing. */
static const struct json *said(const struct json *version, const char *part)
{
    const struct json *v = crd_get(version, part);

    return json_is(v, JSON_ARRAY) && json_len(v) == 0 ? NULL : v;
}

static unsigned common_parts(const struct json *versions)
{
    unsigned common = 0;

    for (size_t p = 0; p < PARTS; p++) {
        const struct json *first = said(json_at(versions, 0), parts[p]);
        bool same = true;

        json_for_each (v, versions) {
            const struct json *here = said(v, parts[p]);

            same = same && (first && here ? json_equal(first, here) : first == here);
        }
        common |= same ? 1u << p : 0;
    }
    return common;
}

static void check_parts(struct status *st, const struct crd_at *at, const struct json *v,
                        const struct schema *object_meta, unsigned which, const char *schema_name)
{
    const struct json *schema = crd_get(crd_get(v, "schema"), "openAPIV3Schema");
    const struct json *sub = crd_get(v, "subresources"), *fields = crd_get(v, "selectableFields");
    static const struct json empty_text = { .type = JSON_STRING, .s = "" };
    bool whole = str_is(str_of(schema_name), "validation");

    if (schema && (which & 1u << SCHEMA))
        crd_check_schema(st, CRD_AT(CRD_AT(at, schema_name), "openAPIV3Schema"), schema,
                         crd_get(sub, "status"), object_meta);
    if (which & 1u << SUBRESOURCES)
        crd_check_subresources(st, at, sub);
    if (which & 1u << COLUMNS)
        crd_check_columns(st, at, crd_get(v, "additionalPrinterColumns"));
    if (!(which & 1u << SELECTABLE) || json_len(fields) == 0)
        return;
    /* k8s: fields that are the CRD's are looked for in a schema that is, too, and a version's in
     * its own */
    if (!schema || !(which & 1u << SCHEMA))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "selectableFields"), &empty_text, "%s",
                  whole ? "may only be set when validations.schema is included"
                        : "may only be set when `version.schema.openAPIV3Schema` is not included");
    else
        crd_check_selectable(st, at, fields, schema);
}

static void check_version(struct status *st, const struct crd_at *at, const struct json *v,
                          const struct schema *object_meta, unsigned common)
{
    crd_check_label(st, CRD_AT(at, "name"), json_str(crd_get(v, "name")), "");
    check_deprecation(st, at, v);
    if (!crd_get(crd_get(v, "schema"), "openAPIV3Schema"))
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(CRD_AT(at, "schema"), "openAPIV3Schema"), NULL, "%s",
                  "");
    check_parts(st, at, v, object_meta, ~common, "schema");
}

enum { VERSIONS_MAX = 100 }; /* more than anyone has; names are compared pairwise */

static void check_versions(struct status *st, const struct json *versions,
                           const struct schema *object_meta)
{
    const struct crd_at *at = CRD_AT(NULL, "spec.versions");
    size_t storage = 0, n = json_len(versions);
    unsigned common = n <= VERSIONS_MAX ? common_parts(versions) : 0;
    str first = json_get_str(json_at(versions, 0), "name");
    bool unique = true;

    if (n > VERSIONS_MAX) {
        crd_fault(st, CAUSE_TOO_MANY, at, NULL, "must have at most %d items", VERSIONS_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct json *v = &versions->items[i];

        storage += json_bool(crd_get(v, "storage"));
        for (size_t k = 0; k < i; k++)
            unique = unique &&
                     !str_eq(json_get_str(v, "name"), json_get_str(&versions->items[k], "name"));
        check_version(st, CRD_AT_ITEM(NULL, "spec.versions", i), v, object_meta, common);
    }
    if (!unique)
        crd_fault(st, CAUSE_INVALID, at, NULL, "must contain unique version names");
    if (storage != 1)
        crd_fault(st, CAUSE_INVALID, at, NULL,
                  "must have exactly one version marked as storage version");
    /* k8s: the internal form has the first one's name in a field of its own, too */
    if (first.n)
        crd_check_label(st, CRD_AT(NULL, "spec.version"), first, "");
}

static void check_common(struct status *st, const struct json *versions,
                         const struct schema *object_meta)
{
    if (json_len(versions) && json_len(versions) <= VERSIONS_MAX)
        check_parts(st, CRD_AT(NULL, "spec"), json_at(versions, 0), object_meta,
                    common_parts(versions), "validation");
}

static void check_required_names(struct status *st, const struct json *obj)
{
    static const char *const names[] = { "spec.names.plural", "spec.names.singular",
                                         "spec.names.kind", "spec.names.listKind" };

    for (size_t i = 0; i < GROUP_LEN(names); i++)
        check_required(st, names[i], obj);
}

static bool has_version(const struct json *versions, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(json_get_str(&versions->items[i], "name"), name))
            return true;
    return false;
}

/* k8s: a name is looked for once, whatever stands there twice */
static void check_storage(struct status *st, const struct json *stored, const struct json *versions)
{
    for (size_t i = 0; i < json_len(versions); i++) {
        const struct json *v = &versions->items[i];
        str name = json_get_str(v, "name");
        bool there = false;

        json_for_each (s, stored)
            there = there || str_eq(json_str(s), name);
        if (json_bool(crd_get(v, "storage")) && (!there || has_version(versions, i, name)))
            crd_fault(st, CAUSE_INVALID, CRD_AT(NULL, "status.storedVersions"), stored,
                      "must have the storage version %.*s", STR_ARG(name));
    }
}

static void check_stored(struct status *st, const struct json *obj)
{
    const struct json *stored = json_path(obj, "status.storedVersions");
    const struct json *versions = json_path(obj, "spec.versions");
    size_t n = json_len(stored);

    if (n == 0)
        crd_fault(st, CAUSE_INVALID, CRD_AT(NULL, "status.storedVersions"),
                  stored ? stored : &json_null, "must have at least one stored version");
    else if (json_len(versions) <= VERSIONS_MAX)
        check_storage(st, stored, versions);
    for (size_t i = 0; i < n; i++) {
        const struct json *name = &stored->items[i];

        if (!has_version(versions, json_len(versions), json_str(name)))
            crd_fault(st, CAUSE_INVALID, CRD_AT_ITEM(NULL, "status.storedVersions", i), name,
                      "missing from spec.versions; %.*s was previously a storage version, and must "
                      "remain in spec.versions until a storage migration ensures no data remains "
                      "persisted in %.*s and removes %.*s from status.storedVersions",
                      STR_ARG(json_str(name)), STR_ARG(json_str(name)), STR_ARG(json_str(name)));
    }
}

enum approval { NOT_NEEDED, MISSING, BYPASSED, APPROVED_BY_URL, WRONG };

static enum approval approval_of(const struct json *obj)
{
    str group = json_get_str(obj, "spec.group");
    const struct json *annotations = json_path(obj, "metadata.annotations");
    str text = json_str(json_get(annotations, STR(APPROVED)));
    bool guarded = str_is(group, "k8s.io") || str_ends(group, STR(".k8s.io")) ||
                   str_is(group, "kubernetes.io") || str_ends(group, STR(".kubernetes.io"));

    if (!guarded)
        return NOT_NEEDED;
    if (text.n == 0)
        return MISSING;
    if (str_starts(text, STR("unapproved")))
        return BYPASSED;
    return str_contains(text, STR("://")) && format_find(STR("uri"))(text) ? APPROVED_BY_URL
                                                                           : WRONG;
}

/* k8s: apiextensions-apiserver/pkg/apihelpers/helpers.go */
static void check_approval(struct status *st, const struct json *obj, const struct json *old)
{
    static const char see[] = "see https://github.com/kubernetes/enhancements/pull/1111";
    const struct crd_at *at = CRD_AT_MEMBER(NULL, "metadata.annotations", STR(APPROVED));
    enum approval is = approval_of(obj);

    if (old && approval_of(old) == is)
        return;
    if (is == MISSING)
        crd_fault(st, CAUSE_REQUIRED, at, NULL,
                  "protected groups must have approval annotation \"" APPROVED "\", %s", see);
    if (is == WRONG)
        crd_fault(st, CAUSE_INVALID, at,
                  json_get(json_path(obj, "metadata.annotations"), STR(APPROVED)),
                  "protected groups must have approval annotation \"" APPROVED
                  "\" with either a URL or a reason starting with \"unapproved\", %s",
                  see);
}

void crd_validate(struct status *st, const struct json *obj, const struct schema *object_meta,
                  bool create)
{
    static const char *const scopes[] = { "Cluster", "Namespaced", NULL };

    if (create)
        check_name(st, obj);
    check_group(st, obj);
    check_word(st, CRD_AT(NULL, "spec.scope"), json_path(obj, "spec.scope"), scopes);
    check_versions(st, json_path(obj, "spec.versions"), object_meta);
    check_required_names(st, obj);
    crd_check_names(st, CRD_AT(NULL, "spec.names"), json_path(obj, "spec.names"));
    check_common(st, json_path(obj, "spec.versions"), object_meta);
    crd_check_conversion(st, CRD_AT(NULL, "spec.conversion"), json_path(obj, "spec.conversion"));
    crd_validate_status(st, obj);
    check_stored(st, obj);
    if (create)
        check_approval(st, obj, NULL);
    if (json_bool(json_path(obj, "spec.preserveUnknownFields")))
        crd_fault(st, CAUSE_INVALID, CRD_AT(NULL, "spec.preserveUnknownFields"), &json_true,
                  "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                  "spec.versions[*].schema instead");
}

static bool is_established(const struct json *obj)
{
    json_for_each (c, json_path(obj, "status.conditions")) {
        if (str_is(json_get_str(c, "type"), "Established"))
            return str_is(json_get_str(c, "status"), "True");
    }
    return false;
}

void crd_validate_update(struct status *st, const struct json *obj, const struct json *old)
{
    if (is_established(old)) {
        check_immutable(st, "spec.scope", obj, old);
        check_immutable(st, "spec.names.kind", obj, old);
    }
    check_immutable(st, "spec.group", obj, old);
    check_immutable(st, "spec.names.plural", obj, old);
    check_approval(st, obj, old);
}

void crd_validate_status(struct status *st, const struct json *obj)
{
    crd_check_names(st, CRD_AT(NULL, "status.acceptedNames"),
                    json_path(obj, "status.acceptedNames"));
}
