/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"

/* k8s: pkg/apis/core/validation ValidateResourceQuota and what it calls.  The object only; what is
 * in use is counted by a controller. */

enum { USAGE_MAX = 4 << 20 }; /* of a cell: as much as a body can hold */

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    return json_set(c->arena, obj, "status", &json_empty_object);
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    return check_keep(c->arena, obj, old, str_is(c->subresource, "status") ? "spec" : "status");
}

static void check_list(struct status *st, const char *path, const struct json *obj)
{
    json_for_each_member (m, json_path(obj, path)) {
        str field = str_printf(st->arena, "%s[%.*s]", path, STR_ARG(m->name));

        resource_check_name(st, RESOURCE_QUOTA, field, m->name);
        resource_check_value(st, field, m->name, json_str(&m->value));
    }
}

/*
 * A scope must be able to limit every resource; the fault is at `field` and shows `value`, which
 * may be large: it is said once, not for each resource.
 */
static void check_scope(struct status *st, unsigned scope, const struct json *spec, str field,
                        const struct json *value)
{
    bool fits = true;

    json_for_each_member (m, json_get(spec, STR("hard")))
        fits = fits && resource_in_scope(scope, m->name);
    if (!fits)
        status_cause(st, CAUSE_INVALID, field, json_text(st->arena, value),
                     "unsupported scope applied to resource");
}

static void check_conflicts(struct status *st, unsigned seen, str field, const struct json *value)
{
    static const char *const pairs[][2] = { { "BestEffort", "NotBestEffort" },
                                            { "Terminating", "NotTerminating" } };

    for (size_t i = 0; i < GROUP_LEN(pairs); i++)
        if (seen & resource_scope(str_of(pairs[i][0])) &&
            seen & resource_scope(str_of(pairs[i][1])))
            status_cause(st, CAUSE_INVALID, field, json_text(st->arena, value ? value : &json_null),
                         "conflicting scopes");
}

static void check_scopes(struct status *st, const struct json *spec)
{
    const struct json *scopes = json_get(spec, STR("scopes"));
    str field = STR("spec.scopes");
    bool unknown = false;
    unsigned seen = 0;

    json_for_each (s, scopes) {
        unsigned scope = resource_scope(json_str(s));

        if (!scope && !unknown)
            status_cause(st, CAUSE_INVALID, field, json_text(st->arena, scopes),
                         "unsupported scope");
        if (scope & ~seen)
            check_scope(st, scope, spec, field, scopes);
        seen |= scope;
        unknown = unknown || !scope;
    }
    check_conflicts(st, seen, field, scopes);
}

#define EXPRESSIONS "spec.scopeSelector.matchExpressions"

static void check_operator(struct status *st, const struct json *e)
{
    static const struct {
        const char *name;
        bool values;
    } operators[] = {
        { "In", true }, { "NotIn", true }, { "Exists", false }, { "DoesNotExist", false }
    };
    str op = json_get_str(e, "operator");
    const struct json *values = json_get(e, STR("values"));
    size_t i = 0;

    while (i < GROUP_LEN(operators) && !str_is(op, operators[i].name))
        i++;
    if (i == GROUP_LEN(operators))
        status_cause(st, CAUSE_INVALID, STR(EXPRESSIONS ".operator"), check_quote(st->arena, op),
                     "not a valid selector operator");
    else if (operators[i].values && json_len(values) == 0)
        status_cause(st, CAUSE_REQUIRED, STR(EXPRESSIONS ".values"), STR_NONE,
                     "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                     "selector");
    else if (!operators[i].values && json_len(values) > 0)
        status_cause(st, CAUSE_INVALID, STR(EXPRESSIONS ".values"), json_text(st->arena, values),
                     "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                     "selector");
}

/* `shown` is NULL where its scope was looked at before. */
static void check_expression(struct status *st, const struct json *e, const struct json *spec,
                             const struct json *shown)
{
    str scope = json_get_str(e, "scopeName"), op = json_get_str(e, "operator");

    if (!resource_scope(scope))
        status_cause(st, CAUSE_INVALID, STR(EXPRESSIONS ".scopeName"),
                     check_quote(st->arena, scope), "unsupported scope");
    if (shown)
        check_scope(st, resource_scope(scope), spec, STR(EXPRESSIONS), shown);
    if (resource_scope(scope) && !str_is(scope, "PriorityClass") &&
        !str_is(scope, "VolumeAttributesClass") && !str_is(op, "Exists"))
        status_cause(st, CAUSE_INVALID, STR(EXPRESSIONS ".operator"), check_quote(st->arena, op),
                     "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                     "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                     "ResourceQuotaScopeNotBestEffort or "
                     "ResourceQuotaScopeCrossNamespacePodAffinity");
    check_operator(st, e);
}

static void check_selector(const struct json *spec, struct status *st)
{
    const struct json *selector = json_get(spec, STR("scopeSelector"));
    unsigned seen = 0;

    json_for_each (e, json_get(selector, STR("matchExpressions"))) {
        unsigned scope = resource_scope(json_get_str(e, "scopeName"));

        check_expression(st, e, spec, scope & ~seen ? selector : NULL);
        seen |= scope;
    }
    check_conflicts(st, seen, STR(EXPRESSIONS), json_get(spec, STR("scopes")));
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    const struct json *spec = json_get(obj, STR("spec"));

    if (!str_is(c->subresource, "status")) {
        check_list(st, "spec.hard", obj);
        check_scopes(st, spec);
        check_selector(spec, st);
    }
    check_list(st, "status.hard", obj);
    check_list(st, "status.used", obj);
}

static bool has_scopes(const struct json *obj, const struct json *of)
{
    json_for_each (s, json_path(of, "spec.scopes")) {
        bool found = false;

        json_for_each (t, json_path(obj, "spec.scopes"))
            found = found || json_equal(s, t);
        if (!found)
            return false;
    }
    return true;
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    const struct json *scopes = json_path(obj, "spec.scopes");

    (void)c;
    if (!has_scopes(obj, old) || !has_scopes(old, obj))
        status_cause(st, CAUSE_INVALID, STR("spec.scopes"),
                     json_text(st->arena, scopes ? scopes : &json_null), "field is immutable");
}

/* `pods: 1/10, …`; limits have a column of their own. */
static str usage(struct arena *a, const struct json *obj, bool limits)
{
    struct map used = check_index(json_path(obj, "status.used"));
    scoped_buf b;
    str out;

    buf_init(&b, USAGE_MAX);
    json_for_each_member (m, json_path(obj, "status.hard")) {
        const struct json *v = map_get(&used, m->name);

        if (str_starts(m->name, STR("limits.")) != limits)
            continue;
        buf_printf(&b, "%s%.*s: %.*s/%.*s", b.n ? ", " : "", STR_ARG(m->name),
                   STR_ARG(v ? json_str(v) : STR("0")), STR_ARG(json_str(&m->value)));
    }
    out = str_dup(a, buf_str(&b));
    map_release(&used);
    return out;
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_str(usage(a, obj, false)));
    json_push(cells, json_of_str(usage(a, obj, true)));
    cell_age(cells, obj, now_s);
}

const struct kind_ops resourcequota_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_quota,
    .cells = cells,
};
