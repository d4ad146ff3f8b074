/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "base/map.h"
#include "kinds/frame/group.h"
#include "object/meta/names.h"

str crd_path(struct arena *a, const struct crd_at *at)
{
    str up;

    if (!at)
        return STR_NONE;
    up = crd_path(a, at->up);
    up = str_printf(a, "%.*s%s%s", STR_ARG(up), up.n ? "." : "", at->word);
    if (at->form == CRD_AT_KEY)
        return str_printf(a, "%.*s[%.*s]", STR_ARG(up), STR_ARG(at->key));
    return at->form == CRD_AT_INDEX ? str_printf(a, "%.*s[%zu]", STR_ARG(up), at->index) : up;
}

void crd_fault(struct status *st, enum cause_type type, const struct crd_at *at,
               const struct json *value, const char *fmt, ...)
{
    scoped_buf shown;
    const char *text;
    va_list ap;

    if (st->ncauses == STATUS_CAUSES_MAX)
        return;
    va_start(ap, fmt);
    text = arena_vprintf(st->arena, fmt, ap);
    va_end(ap);
    buf_init(&shown, SIZE_MAX / 4);
    if (value)
        json_print_sorted(&shown, value);
    status_cause(st, type, crd_path(st->arena, at), str_dup(st->arena, buf_str(&shown)), "%s",
                 text);
}

void crd_unsupported(struct status *st, const struct crd_at *at, const struct json *value,
                     const char *const *words)
{
    str list = STR_NONE;

    for (; *words; words++)
        list = str_printf(st->arena, "%.*s%s\"%s\"", STR_ARG(list), list.n ? ", " : "", *words);
    crd_fault(st, CAUSE_NOT_SUPPORTED, at, value, "supported values: %.*s", STR_ARG(list));
}

/* Kubernetes' sentences, joined as it joins them. */
static bool label_faults(struct arena *a, str s, str *out)
{
    str faults[NAME_FAULTS];
    size_t n = name_faults(NAME_LABEL_1035, s, faults);

    *out = STR_NONE;
    for (size_t i = 0; i < n; i++)
        *out = str_printf(a, "%.*s%s%.*s", STR_ARG(*out), i ? "," : "", STR_ARG(faults[i]));
    return n > 0;
}

void crd_check_label(struct status *st, const struct crd_at *at, str s, const char *lead)
{
    struct json v = json_of_str(s);
    str why;

    if (label_faults(st->arena, *lead ? str_lower(st->arena, s) : s, &why))
        crd_fault(st, CAUSE_INVALID, at, &v, "%s%.*s", lead, STR_ARG(why));
}

void crd_check_names(struct status *st, const struct crd_at *at, const struct json *names)
{
    static const struct {
        const char *name, *lead;
    } one[] = {
        { "plural", "" },
        { "singular", "" },
        { "kind", "may have mixed case, but should otherwise match: " },
        { "listKind", "may have mixed case, but should otherwise match: " },
    };
    static const char *const lists[] = { "shortNames", "categories" };
    const struct json *list_kind = crd_get(names, "listKind");
    str kind = json_str(crd_get(names, "kind"));

    for (size_t i = 0; i < GROUP_LEN(one); i++) {
        str s = json_str(crd_get(names, one[i].name));

        if (s.n)
            crd_check_label(st, CRD_AT(at, one[i].name), s, one[i].lead);
    }
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        size_t n = 0;

        json_for_each (s, crd_get(names, lists[i])) {
            crd_check_label(st, CRD_AT_ITEM(at, lists[i], n), json_str(s), "");
            n++;
        }
    }
    if (kind.n && str_eq(kind, json_str(list_kind)))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "listKind"), list_kind,
                  "kind and listKind may not be the same");
}

/* Whether it begins with a dot; the rest is taken as it is. */
static bool check_json_path(struct status *st, const struct crd_at *at, const struct json *path)
{
    if (str_starts(json_str(path), STR(".")))
        return true;
    crd_fault(st, CAUSE_INVALID, at, path, "must be a simple json path starting with .");
    return false;
}

static void check_column(struct status *st, const struct crd_at *at, const struct json *column)
{
    static const char *const types[] = { "boolean", "date", "integer", "number", "string", NULL };
    static const char *const formats[] = { "byte",  "date",  "date-time", "double", "float",
                                           "int32", "int64", "password",  NULL };
    const struct json *type = crd_get(column, "type"), *format = crd_get(column, "format");
    const struct json *path = crd_get(column, "jsonPath");

    if (json_str(crd_get(column, "name")).n == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "name"), NULL, "%s", "");
    if (!str_is_any(json_str(type), types))
        crd_fault(st, json_str(type).n ? CAUSE_INVALID : CAUSE_REQUIRED, CRD_AT(at, "type"),
                  json_str(type).n ? type : NULL,
                  "must be one of boolean,date,integer,number,string");
    if (json_str(format).n && !str_is_any(json_str(format), formats))
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "format"), format,
                  "must be one of byte,date,date-time,double,float,int32,int64,password");
    if (json_str(path).n == 0)
        crd_fault(st, CAUSE_REQUIRED, CRD_AT(at, "JSONPath"), NULL, "%s", "");
    else
        (void)check_json_path(st, CRD_AT(at, "JSONPath"), path);
}

void crd_check_columns(struct status *st, const struct crd_at *at, const struct json *columns)
{
    size_t n = 0;

    json_for_each (c, columns) {
        check_column(st, CRD_AT_ITEM(at, "additionalPrinterColumns", n), c);
        n++;
    }
}

static void check_scale_path(struct status *st, const struct crd_at *at, const struct json *scale,
                             const char *name, bool spec, bool status)
{
    const struct json *path = crd_get(scale, name);
    bool fine = (spec && str_starts(json_str(path), STR(".spec."))) ||
                (status && str_starts(json_str(path), STR(".status.")));

    if (!check_json_path(st, CRD_AT(at, name), path) || fine)
        return;
    crd_fault(st, CAUSE_INVALID, CRD_AT(at, name), path, "should be a json path under %s",
              spec && status ? "either .spec or .status"
              : spec         ? ".spec"
                             : ".status");
}

void crd_check_subresources(struct status *st, const struct crd_at *at, const struct json *sub)
{
    static const struct {
        const char *name;
        bool spec, status, required;
    } paths[] = {
        { "specReplicasPath", true, false, true },
        { "statusReplicasPath", false, true, true },
        { "labelSelectorPath", true, true, false },
    };
    const struct json *scale = crd_get(sub, "scale");
    const struct crd_at *here = CRD_AT(CRD_AT(at, "subresources"), "scale");

    for (size_t i = 0; scale && i < GROUP_LEN(paths); i++) {
        if (json_str(crd_get(scale, paths[i].name)).n)
            check_scale_path(st, here, scale, paths[i].name, paths[i].spec, paths[i].status);
        else if (paths[i].required)
            crd_fault(st, CAUSE_REQUIRED, CRD_AT(here, paths[i].name), NULL, "%s", "");
    }
}

/* The next of the parts that a path is made of: one of `.[]`, a quoted name, or what stands between
 * them. */
static str next_part(str *path)
{
    bool quoted = str_starts(*path, STR("'"));
    size_t n = quoted ? 1 : 0;
    str part;

    if (quoted)
        while (n < path->n && (path->p[n] != '\'' || path->p[n - 1] == '\\'))
            n++;
    else
        while (n < path->n && str_find(STR(".[]"), path->p[n], 0) < 0)
            n++;
    part = str_sub(*path, 0, quoted && n < path->n ? n + 1 : n ? n : 1);
    *path = str_from(*path, part.n);
    return part;
}

/* The name in 'it\'s'. */
static bool unquote(struct arena *a, str s, str *out)
{
    static const char from[] = "abfnrtv'\\\"", to[] = "\a\b\f\n\r\t\v'\\\"";
    char *name = arena_alloc(a, s.n + 1);
    size_t n = 0;

    if (s.n < 2 || s.p[0] != '\'' || s.p[s.n - 1] != '\'')
        return false;
    for (size_t i = 1; i + 1 < s.n; i++) {
        ptrdiff_t hit = -1;

        if (s.p[i] == '\\') {
            hit = ++i + 1 < s.n ? str_find(str_of(from), s.p[i], 0) : -1;
            if (hit < 0)
                return false;
        }
        name[n++] = hit < 0 ? s.p[i] : to[hit];
    }
    *out = (str){ name, n };
    return true;
}

/* The name of a step, in brackets or behind a dot; false and a reason when there is none. */
static bool next_name(struct arena *a, str *path, bool brackets, str *name, str *why)
{
    str part = next_part(path);

    if (str_is(part, "[") && !brackets) {
        *why = STR("array notation is not allowed");
        return false;
    }
    if (!str_is(part, ".") && !str_is(part, "[")) {
        *why = str_printf(a, "expected [ or . but got: %.*s", STR_ARG(part));
        return false;
    }
    if (path->n == 0) {
        *why = STR("unexpected end of JSON path");
        return false;
    }
    *name = next_part(path);
    if (str_is(part, "["))
        return unquote(a, *name, name) && path->n && str_is(next_part(path), "]");
    return true;
}

/* k8s: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath */
const struct json *crd_follow(struct arena *a, const struct json *schema, str path, bool brackets,
                              str *why)
{
    while (path.n) {
        const struct json *more = crd_get(schema, "additionalProperties");
        const struct json *named = crd_get(schema, "properties");
        str name = STR_NONE;

        if (!next_name(a, &path, brackets, &name, why))
            return NULL;
        schema = named ? json_get(named, name) : json_is(more, JSON_OBJECT) ? more : NULL;
        if (!schema) {
            *why = STR("does not refer to a valid field");
            return NULL;
        }
    }
    return schema;
}

/* False when the path leads nowhere. */
static bool check_selectable(struct status *st, const struct crd_at *at, const struct json *path,
                             const struct json *schema)
{
    static const char *const types[] = { "string", "boolean", "integer", NULL };
    str text = json_str(path), rest = str_from(text, 1), why = STR_NONE;
    const struct json *found;

    if (text.n == 0) {
        crd_fault(st, CAUSE_REQUIRED, at, NULL, "%s", "");
        return false;
    }
    found = crd_follow(st->arena, schema, text, false, &why);
    if (!found) {
        crd_fault(st, CAUSE_INVALID, at, path, "is an invalid path: %.*s", STR_ARG(why));
        return false;
    }
    if (str_is(next_part(&rest), "metadata"))
        crd_fault(st, CAUSE_INVALID, at, path, "must not point to fields in metadata");
    if (!str_is_any(json_str(crd_get(found, "type")), types))
        crd_fault(
            st, CAUSE_INVALID, at, path,
            "must point to a field of type string, boolean or integer. Enum string fields and "
            "strings with formats are allowed.");
    return true;
}

enum { SELECTABLE_MAX = 8 };

void crd_check_selectable(struct status *st, const struct crd_at *at, const struct json *fields,
                          const struct json *schema)
{
    static char there;
    struct map seen = { 0 };

    for (size_t i = 0; i < json_len(fields); i++) {
        const struct json *path = crd_get(&fields->items[i], "jsonPath");
        const struct crd_at *here = CRD_AT(CRD_AT_ITEM(at, "selectableFields", i), "jsonPath");

        if (check_selectable(st, here, path, schema) && map_put(&seen, json_str(path), &there))
            crd_fault(st, CAUSE_DUPLICATE, here, path, "%s", "");
    }
    if (map_size(&seen) > SELECTABLE_MAX)
        status_cause(st, CAUSE_TOO_MANY, crd_path(st->arena, CRD_AT(at, "selectableFields")),
                     str_printf(st->arena, "%zu", map_size(&seen)), "must have at most %d items",
                     SELECTABLE_MAX);
    map_release(&seen);
}
