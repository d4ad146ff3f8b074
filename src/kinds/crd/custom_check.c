/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/crd/custom_check.h"

#include <stdlib.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/group.h"
#include "object/meta/names.h"

/* ---- scale ---- */

/* The value at a path; NULL when there is none, or it is not of the type: then *wrong says so. */
static const struct json *nested(struct arena *a, const struct json *obj, str path,
                                 enum json_type type, const char *wanted, const char **wrong)
{
    const struct json *v = obj;
    str name;

    *wrong = NULL;
    for (str rest = path; v && str_split(&rest, '.', &name);) {
        if (v->type != JSON_OBJECT && v->type != JSON_NULL)
            *wrong = "it is in what is no object";
        v = json_get(v, name);
    }
    if (v && v->type != type)
        *wrong = arena_printf(a, "must be %s, not %s", wanted, json_type_name(v));
    return *wrong ? NULL : v;
}

static void check_replicas(struct status *st, const struct json *obj, str path)
{
    const char *wrong;
    const struct json *v = nested(st->arena, obj, path, JSON_INT, "an integer", &wrong);
    int64_t n = json_int(v, 0);

    if (!wrong && n < 0)
        wrong = "should be a non-negative integer";
    if (!wrong && n > INT32_MAX)
        wrong = "should be less than or equal to 2147483647";
    if (wrong)
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, ".%.*s", STR_ARG(path)),
                     str_printf(st->arena, "%lld", (long long)n), "%s", wrong);
}

void custom_check_scale(struct status *st, const struct kind *k, const struct json *obj,
                        bool status_only)
{
    const struct subresource *sub = kind_subresource(k, STR("scale"));
    const char *wrong;

    if (!sub)
        return;
    if (!status_only)
        check_replicas(st, obj, sub->scale->replicas);
    check_replicas(st, obj, sub->scale->status_replicas);
    if (sub->scale->selector.n == 0)
        return;
    (void)nested(st->arena, obj, sub->scale->selector, JSON_STRING, "a string", &wrong);
    if (wrong)
        status_cause(st, CAUSE_INVALID,
                     str_printf(st->arena, ".%.*s", STR_ARG(sub->scale->selector)), STR("\"\""),
                     "%s", wrong);
}

/* ---- finalizers ---- */

static void warn_finalizer(struct arena *a, str name, struct schema_faults *warnings)
{
    static const char *const standard[] = { "orphan", "foregroundDeletion", "kubernetes", NULL };
    str faults[NAME_FAULTS], shown = check_quote(a, name);
    size_t n = qualified_name_faults(name, faults);

    for (size_t i = 0; i < n; i++)
        schema_fault(a, warnings, "metadata.finalizers: %.*s: %.*s", STR_ARG(shown),
                     STR_ARG(faults[i]));
    if (str_find(name, '/', 0) < 0 && !str_is_any(name, standard))
        schema_fault(a, warnings,
                     "metadata.finalizers: %.*s: prefer a domain-qualified finalizer name%s to "
                     "avoid accidental conflicts with other finalizer writers",
                     STR_ARG(shown), str_find(name, '.', 0) < 0 ? "" : " including a path (/)");
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Sorted, since a client may send very many. */
static str *sorted(struct arena *a, const struct json *list)
{
    str *all = arena_array(a, str, json_len(list) + 1);
    size_t n = 0;

    json_for_each (v, list)
        all[n++] = json_str(v);
    qsort(all, n, sizeof(*all), by_name);
    return all;
}

void custom_warn(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings)
{
    const struct json *now = json_path(obj, "metadata.finalizers");
    const struct json *before = json_path(old, "metadata.finalizers");
    size_t n = json_len(now), nbefore = json_len(before);
    const str *names, *known;

    if (n == 0)
        return;
    names = sorted(c->arena, now);
    known = sorted(c->arena, before);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || !str_eq(names[i], names[i - 1])) &&
            !bsearch(&names[i], known, nbefore, sizeof(*known), by_name))
            warn_finalizer(c->arena, names[i], warnings);
}
