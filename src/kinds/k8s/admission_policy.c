/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/conditions.h"
#include "kinds/k8s/admissionregistration.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* Validating admission policies and their bindings, as objects.
 * k8s: pkg/apis/admissionregistration/validation/validation.go */

static void check_names(struct status *st, const struct site *rule)
{
    struct site names = site_in(rule, "resourceNames");
    struct map seen = { 0 };

    site_each(name, &names)
    {
        (void)site_name(st, &name, NAME_PATH);
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
    }
    map_release(&seen);
}

static void check_resources(struct status *st, const struct site *m)
{
    static const char *const lists[] = { "resourceRules", "excludeResourceRules" };
    static const char *const matches[] = { "Equivalent", "Exact", NULL };
    struct site policy = site_in(m, "matchPolicy"), namespaces = site_in(m, "namespaceSelector");
    struct site objects = site_in(m, "objectSelector");

    site_enum(st, &policy, matches);
    site_selector(st, &namespaces);
    site_selector(st, &objects);
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        struct site rules = site_in(m, lists[i]);

        site_each(rule, &rules)
        {
            check_names(st, &rule);
            admission_check_rule(st, &rule);
        }
    }
}

static bool is_identifier(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

        if (!letter && c != '_' && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return s.n > 0;
}

/* NULL when a fault was added. */
static const struct cel_program *check_expression(struct status *st, const struct site *expression,
                                                  const struct cel_admission *scope,
                                                  enum cel_admission_result result)
{
    if (str_trim(json_str(expression->v)).n)
        return admission_check_expression(st, expression, scope, result);
    site_fault(st, expression, CAUSE_REQUIRED, "%s is not specified", expression->name);
    return NULL;
}

static void check_computed(struct status *st, const struct site *computed,
                           const struct cel_admission *scope)
{
    str text = json_str(computed->v);

    if (str_trim(text).n)
        (void)admission_check_expression(st, computed, scope, ADMISSION_STRING);
    else if (text.n)
        site_invalid(st, computed, "must be non-empty if specified");
}

static void check_validations(struct status *st, const struct site *list,
                              const struct cel_admission *scope)
{
    static const char *const reasons[] = { "Forbidden", "Invalid", "RequestEntityTooLarge", NULL };

    site_each(v, list)
    {
        struct site expression = site_in(&v, "expression"), reason = site_in(&v, "reason");
        struct site message = site_in(&v, "message"), computed = site_in(&v, "messageExpression");

        (void)check_expression(st, &expression, scope, ADMISSION_BOOL);
        check_computed(st, &computed, scope);
        if (json_str(message.v).n && str_trim(json_str(message.v)).n == 0)
            site_invalid(st, &message, "must be non-empty if specified");
        else if (str_find(str_trim(json_str(message.v)), '\n', 0) >= 0)
            site_invalid(st, &message, "must not contain line breaks");
        site_enum(st, &reason, reasons);
    }
}

/* Each may use those before it. */
static void check_variables(struct status *st, const struct site *list, struct cel_admission *scope)
{
    struct map seen = { 0 };

    scope->variables = arena_array(st->arena, struct cel_var, json_len(list->v) + 1);
    site_each(v, list)
    {
        struct site name = site_in(&v, "name"), value = site_in(&v, "expression");
        const struct cel_program *p;

        if (!json_str(name.v).n)
            site_missing(st, &name, "name is not specified");
        else if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        if (json_str(name.v).n && !is_identifier(json_str(name.v)))
            site_invalid(st, &name, "must be a valid CEL identifier");
        p = check_expression(st, &value, scope, ADMISSION_ANY);
        scope->variables[scope->nvariables++] =
            (struct cel_var){ json_str(name.v), p ? cel_result(p) : &cel_types[CEL_DYN] };
    }
    map_release(&seen);
}

/* A note of the audit has the policy's name in front. */
static void check_note_name(struct status *st, const struct site *key, str policy)
{
    struct site shown = *key;
    struct json text =
        json_of_str(str_printf(st->arena, "%.*s/%.*s", STR_ARG(policy), STR_ARG(json_str(key->v))));

    shown.v = &text;
    (void)site_qualified(st, &shown);
}

static void check_notes(struct status *st, const struct site *list, str policy,
                        const struct cel_admission *scope)
{
    struct map seen = { 0 };

    site_each(v, list)
    {
        struct site key = site_in(&v, "key"), value = site_in(&v, "valueExpression");

        check_note_name(st, &key, policy);
        if (json_str(key.v).n && site_seen(&seen, json_str(key.v)))
            site_duplicate(st, &key);
        (void)check_expression(st, &value, scope, ADMISSION_STRING_OR_NULL);
    }
    map_release(&seen);
}

/* All faults of a name in one. */
static str all_faults(struct arena *a, enum name_rule rule, str name)
{
    str faults[NAME_FAULTS], all = STR_NONE;
    size_t n = name_faults(rule, name, faults);

    for (size_t i = 0; i < n; i++)
        all = str_printf(a, "%.*s%s%.*s", STR_ARG(all), i ? "," : "", STR_ARG(faults[i]));
    return all;
}

static void check_part(struct status *st, const struct site *at, enum name_rule rule, str part)
{
    struct json text = json_of_str(part);
    struct site shown = *at;
    str why = all_faults(st->arena, rule, part);

    shown.v = &text;
    if (why.n)
        site_fault(st, &shown, CAUSE_INVALID, "%.*s", STR_ARG(why));
}

/* A group, which may be none, and a version. */
static void check_version(struct status *st, const struct site *at)
{
    str text = json_str(at->v), group = STR_NONE;
    ptrdiff_t slash = str_find(text, '/', 0);

    if (slash >= 0 && str_find(text, '/', (size_t)slash + 1) >= 0) {
        site_fault(st, at, CAUSE_INVALID, "unexpected GroupVersion string: %.*s", STR_ARG(text));
        return;
    }
    if (slash >= 0) {
        group = str_sub(text, 0, (size_t)slash);
        text = str_sub(text, (size_t)slash + 1, text.n);
    }
    if (group.n)
        check_part(st, at, NAME_SUBDOMAIN, group);
    if (text.n)
        check_part(st, at, NAME_LABEL_1035, text);
    else
        site_invalid(st, at, "version must be specified");
}

static void check_kind(struct status *st, const struct site *at)
{
    str why = all_faults(st->arena, NAME_LABEL_1035, str_lower(st->arena, json_str(at->v)));

    if (why.n)
        site_fault(st, at, CAUSE_INVALID, "may have mixed case, but should otherwise match: %.*s",
                   STR_ARG(why));
}

static void check_param_kind(struct status *st, const struct site *p)
{
    struct site version = site_in(p, "apiVersion"), kind = site_in(p, "kind");

    if (!p->v)
        return;
    if (!site_required(st, &version))
        check_version(st, &version);
    if (!site_required(st, &kind))
        check_kind(st, &kind);
}

#define NEITHER "validations or auditAnnotations must contain at least one item"

/* What type checking found, and conditions. */
static void check_policy_status(struct status *st, const struct site *root)
{
    struct site status = site_in(root, "status"), checking = site_in(&status, "typeChecking");
    struct site warnings = site_in(&checking, "expressionWarnings");
    struct site conditions = site_in(&status, "conditions");

    site_each(w, &warnings)
    {
        struct site warning = site_in(&w, "warning"), field = site_in(&w, "fieldRef");
        struct json trimmed = json_of_str(str_trim(json_str(field.v)));

        (void)site_required(st, &warning);
        field.v = &trimmed;
        (void)site_required(st, &field);
    }
    conditions_check(st, &conditions);
}

static void policy_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const failures[] = { "Fail", "Ignore", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site failure = site_in(&spec, "failurePolicy"), param = site_in(&spec, "paramKind");
    struct site match = site_in(&spec, "matchConstraints");
    struct site validations = site_in(&spec, "validations");
    struct site notes = site_in(&spec, "auditAnnotations");
    struct site conditions = site_in(&spec, "matchConditions");
    struct site variables = site_in(&spec, "variables");
    struct cel_admission scope = { .policy = true, .params = param.v };

    if (str_is(c->subresource, "status")) {
        check_policy_status(st, &root);
        return;
    }
    site_enum(st, &failure, failures);
    check_param_kind(st, &param);
    if (!match.v) {
        site_missing(st, &match, "");
    } else {
        struct site rules = site_in(&match, "resourceRules");

        check_resources(st, &match);
        if (json_len(rules.v) == 0)
            site_missing(st, &rules, "");
    }
    admission_check_conditions(st, &conditions, &scope);
    check_variables(st, &variables, &scope);
    check_validations(st, &validations, &scope);
    check_notes(st, &notes, json_get_str(obj, "metadata.name"), &scope);
    if (json_len(validations.v) == 0 && json_len(notes.v) == 0) {
        site_missing(st, &validations, NEITHER);
        site_missing(st, &notes, NEITHER);
    }
}

static void policy_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    const struct json *kind = json_path(obj, "spec.paramKind");

    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_int((int64_t)json_len(json_path(obj, "spec.validations"))));
    cell_text(cells, kind ? str_printf(a, "%.*s/%.*s", STR_ARG(json_get_str(kind, "apiVersion")),
                                       STR_ARG(json_get_str(kind, "kind")))
                          : STR("<unset>"));
    cell_age(cells, obj, now_s);
}

const struct kind_ops admission_policy_ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = policy_validate,
    .cells = policy_cells,
};

/* ---- bindings ---- */

static void check_param_ref(struct status *st, const struct site *p)
{
    static const char *const actions[] = { "Deny", "Allow", NULL };
    struct site name = site_in(p, "name"), selector = site_in(p, "selector");
    struct site action = site_in(p, "parameterNotFoundAction");

    if (!p->v)
        return;
    if (name.v && selector.v)
        site_forbidden(st, &name, "name and selector are mutually exclusive");
    else if (!name.v && !selector.v)
        site_missing(st, p, "one of name or selector must be specified");
    if (name.v)
        (void)site_name(st, &name, NAME_PATH);
    site_selector(st, &selector);
    if (name.v && selector.v)
        site_forbidden(st, &selector, "name and selector are mutually exclusive");
    if (!json_str(action.v).n)
        site_missing(st, &action, "");
    else
        site_enum(st, &action, actions);
}

static void check_actions(struct status *st, const struct site *list)
{
    static const char *const known[] = { "Audit", "Deny", "Warn", NULL };
    bool deny = false, warn = false;
    struct map seen = { 0 };

    if (json_len(list->v) == 0)
        site_missing(st, list, "at least one validation action is required");
    site_each(action, list)
    {
        site_enum(st, &action, known);
        if (site_seen(&seen, json_str(action.v)))
            site_duplicate(st, &action);
        deny = deny || str_is(json_str(action.v), "Deny");
        warn = warn || str_is(json_str(action.v), "Warn");
    }
    map_release(&seen);
    if (deny && warn)
        site_invalid(st, list,
                     "must not contain both Deny and Warn (repeating the same validation failure "
                     "information in the API response and headers serves no purpose)");
}

static void binding_validate(const struct kind_context *c, const struct json *obj,
                             struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site policy = site_in(&spec, "policyName"), param = site_in(&spec, "paramRef");
    struct site match = site_in(&spec, "matchResources");
    struct site actions = site_in(&spec, "validationActions");

    (void)c;
    if (!site_required(st, &policy))
        (void)site_name(st, &policy, NAME_SUBDOMAIN);
    check_param_ref(st, &param);
    if (match.v)
        check_resources(st, &match);
    check_actions(st, &actions);
}

static void binding_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    const struct json *p = json_path(obj, "spec.paramRef");
    str namespace_ = json_get_str(p, "namespace");

    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.policyName");
    cell_text(cells, !p             ? STR("<unset>")
                     : namespace_.n ? str_printf(a, "%.*s/%.*s", STR_ARG(namespace_),
                                                 STR_ARG(json_get_str(p, "name")))
                                    : json_get_str(p, "name"));
    cell_age(cells, obj, now_s);
}

const struct kind_ops admission_binding_ops = {
    .validate = binding_validate,
    .cells = binding_cells,
};
