/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tells in the status of a ValidatingAdmissionPolicy what is wrong with its expressions for the
 * types that it names.  Types are asked for as any client would: by discovery and OpenAPI of the
 * policy's instance.  A policy is looked at when its spec changes, not when types do.
 *
 * k8s: pkg/controller/validatingadmissionpolicystatus, apiserver/pkg/admission/plugin/policy/
 * validating/typechecking.go
 */

#include "base/banned.h"
#include "federation/controllers/frame/controller.h"
#include "object/cel/cel_admission.h"
#include "object/meta/names.h"

enum {
    TYPES_MAX = 10,      /* that one rule may bring */
    DOCUMENTS_MAX = 400, /* that are asked for at one policy */
};

#define MANAGER "validatingadmissionpolicy-status"

struct object_type {
    str group, version, kind;
    const struct cel_type *type;
    struct cel_var *variables; /* of the policy, with their types here */
    size_t nvariables;
};

struct look {
    struct client *client;
    struct arena *arena;
    str instance;
    struct status *st;
    const struct json *policy;
    struct document {
        str path;
        const struct json *value; /* NULL: there is none */
    } documents[DOCUMENTS_MAX];
    size_t ndocuments;
    struct object_type *types; /* by group, version and kind */
    size_t ntypes;
    const struct cel_type *params;
};

/* ---- what an instance serves ---- */

/* 0, and *out may be NULL. */
static int ask(struct look *l, str path, const struct json **out)
{
    struct client_request req = { .method = STR("GET") };
    struct document *d = l->documents;

    for (; d < l->documents + l->ndocuments; d++) {
        if (!str_eq(d->path, path))
            continue;
        *out = d->value;
        return 0;
    }
    *out = NULL;
    if (l->ndocuments == DOCUMENTS_MAX)
        return 0;
    req.path = l->instance.n
                   ? str_printf(l->arena, "/clusters/%.*s%.*s", STR_ARG(l->instance), STR_ARG(path))
                   : path;
    if (client_do(l->client, l->arena, &req, out, l->st) < 0) {
        if (!status_is(l->st, REASON_NOT_FOUND))
            return -1;
        status_reset(l->st);
        *out = NULL;
    }
    l->documents[l->ndocuments++] = (struct document){ path, *out };
    return 0;
}

static str version_path(struct look *l, const char *before, str group, str version)
{
    return group.n
               ? str_printf(l->arena, "%s/apis/%.*s/%.*s", before, STR_ARG(group), STR_ARG(version))
               : str_printf(l->arena, "%s/api/%.*s", before, STR_ARG(version));
}

/* Names come from a policy: what is none is not asked for.  The core group has no name. */
static bool may_be_served(str group, str version)
{
    return (!group.n || name_is_valid(NAME_SUBDOMAIN, group)) &&
           name_is_valid(NAME_SUBDOMAIN, version);
}

static int find_schema(struct look *l, str group, str version, str kind,
                       const struct cel_type **out)
{
    const struct json *doc;

    *out = NULL;
    if (!may_be_served(group, version))
        return 0;
    if (ask(l, version_path(l, "/openapi/v3", group, version), &doc) < 0)
        return -1;
    *out = cel_type_of_openapi(l->arena, doc, group, version, kind);
    return 0;
}

/* ---- the types that a policy is about ---- */

static int compare(const struct object_type *a, const struct object_type *b)
{
    int c = str_cmp(a->group, b->group);

    if (!c)
        c = str_cmp(a->version, b->version);
    return c ? c : str_cmp(a->kind, b->kind);
}

static void add_type(struct look *l, str group, str version, str kind)
{
    struct object_type t = { .group = group, .version = version, .kind = kind };
    size_t at = 0;

    while (at < l->ntypes && compare(&l->types[at], &t) < 0)
        at++;
    if (at < l->ntypes && compare(&l->types[at], &t) == 0)
        return;
    memmove(&l->types[at + 1], &l->types[at], (l->ntypes - at) * sizeof(t));
    l->types[at] = t;
    l->ntypes++;
}

/* Resources are known by their plural and singular names, in any case. */
static int find_kind(struct look *l, str group, str version, str resource, size_t *count)
{
    const struct json *doc;

    if (ask(l, version_path(l, "", group, version), &doc) < 0)
        return -1;
    json_for_each (r, json_get(doc, STR("resources"))) {
        if (*count == TYPES_MAX)
            return 0;
        if (!str_eq_nocase(json_get_str(r, "name"), resource) &&
            !str_eq_nocase(json_get_str(r, "singularName"), resource))
            continue;
        add_type(l, group, version, json_get_str(r, "kind"));
        ++*count;
        return 0;
    }
    return 0;
}

/* The group "" is any that has the version. */
static int find_kinds(struct look *l, str group, str version, str resource, size_t *count)
{
    const struct json *groups;

    if (!may_be_served(group, version))
        return 0;
    if (find_kind(l, group, version, resource, count) < 0)
        return -1;
    if (group.n)
        return 0;
    if (ask(l, STR("/apis"), &groups) < 0)
        return -1;
    json_for_each (g, json_get(groups, STR("groups")))
        json_for_each (v, json_get(g, STR("versions")))
            if (str_eq(json_get_str(v, "version"), version) &&
                find_kind(l, json_get_str(g, "name"), version, resource, count) < 0)
                return -1;
    return 0;
}

static bool has_star(const struct json *names)
{
    json_for_each (n, names)
        if (str_find(json_str(n), '*', 0) >= 0)
            return true;
    return false;
}

static const struct json *sorted(struct look *l, const struct json *names)
{
    struct json *all = arena_array(l->arena, struct json, json_len(names) + 1);
    size_t n = 0;

    json_for_each (name, names) {
        size_t at = n++;

        for (; at > 0 && str_cmp(json_str(&all[at - 1]), json_str(name)) > 0; at--)
            all[at] = all[at - 1];
        all[at] = *name;
    }
    return json_box(l->arena, (struct json){ .type = JSON_ARRAY, .n = (uint32_t)n, .items = all });
}

static int find_of_rule(struct look *l, const struct json *rule)
{
    const struct json *groups = json_get(rule, STR("apiGroups"));
    const struct json *versions = json_get(rule, STR("apiVersions"));
    const struct json *resources = sorted(l, json_get(rule, STR("resources")));
    size_t count = 0;

    if (has_star(groups) || has_star(versions))
        return 0;
    json_for_each (g, sorted(l, groups))
        json_for_each (v, sorted(l, versions))
            json_for_each (r, resources) {
                if (str_find(json_str(r), '*', 0) >= 0 || str_find(json_str(r), '/', 0) >= 0)
                    continue;
                if (find_kinds(l, json_str(g), json_str(v), json_str(r), &count) < 0)
                    return -1;
                if (count == TYPES_MAX)
                    return 1;
            }
    return 0;
}

static void set_variables(struct look *l, struct object_type *t)
{
    const struct json *list = json_path(l->policy, "spec.variables");
    struct cel_admission scope = {
        .policy = true, .params = l->params != NULL, .object = t->type, .params_type = l->params
    };

    t->variables = scope.variables = arena_array(l->arena, struct cel_var, json_len(list) + 1);
    json_for_each (v, list) {
        str why;
        const struct cel_program *p =
            cel_admission_check(l->arena, json_get_str(v, "expression"), &scope, &why);

        scope.variables[scope.nvariables++] =
            (struct cel_var){ json_get_str(v, "name"), p ? cel_result(p) : &cel_types[CEL_DYN] };
    }
    t->nvariables = scope.nvariables;
}

static int find_types(struct look *l)
{
    const struct json *rules = json_path(l->policy, "spec.matchConstraints.resourceRules");
    const struct json *param = json_path(l->policy, "spec.paramKind");
    str version = json_get_str(param, "apiVersion");
    ptrdiff_t slash = str_find(version, '/', 0);
    int rc = 0;

    l->types = arena_array(l->arena, struct object_type, json_len(rules) * TYPES_MAX + 1);
    json_for_each (rule, rules) {
        rc = find_of_rule(l, rule);
        if (rc)
            break;
    }
    if (rc < 0 || find_schema(l, slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash),
                              str_from(version, (size_t)(slash + 1)), json_get_str(param, "kind"),
                              &l->params) < 0)
        return -1;
    for (size_t i = 0; i < l->ntypes; i++) {
        struct object_type *t = &l->types[i];

        if (find_schema(l, t->group, t->version, t->kind, &t->type) < 0)
            return -1;
        if (t->type)
            set_variables(l, t);
    }
    return 0;
}

/* ---- the expressions ---- */

static void check(struct look *l, struct json_array *out, str text, size_t i, const char *field)
{
    struct json_object o = json_object_new(l->arena);
    str all = STR_NONE;

    for (size_t k = 0; k < l->ntypes; k++) {
        const struct object_type *t = &l->types[k];
        struct cel_admission scope = { .policy = true,
                                       .params = l->params != NULL,
                                       .object = t->type,
                                       .params_type = l->params,
                                       .variables = t->variables,
                                       .nvariables = t->nvariables };
        str why;

        if (!t->type || cel_admission_check(l->arena, text, &scope, &why))
            continue;
        all = str_printf(l->arena, "%.*s%s%.*s/%.*s, Kind=%.*s: %.*s\n", STR_ARG(all),
                         all.n ? "\n" : "", STR_ARG(t->group), STR_ARG(t->version),
                         STR_ARG(t->kind), STR_ARG(why));
    }
    if (!all.n)
        return;
    json_add(&o, STR("fieldRef"),
             json_of_str(str_printf(l->arena, "spec.validations[%zu].%s", i, field)));
    json_add(&o, STR("warning"), json_of_str(all));
    json_push(out, json_object_value(&o));
}

static const struct json *status_of(struct look *l)
{
    struct json_array warnings = json_array_new(l->arena);
    const struct json *o = &json_empty_object;
    size_t i = 0;

    json_for_each (v, json_path(l->policy, "spec.validations")) {
        str message = json_get_str(v, "messageExpression");

        check(l, &warnings, json_get_str(v, "expression"), i, "expression");
        if (message.n)
            check(l, &warnings, message, i, "messageExpression");
        i++;
    }
    o = json_set(l->arena, o, "observedGeneration", json_path(l->policy, "metadata.generation"));
    o = json_set(l->arena, o, "typeChecking", &json_empty_object);
    return warnings.n ? json_set(l->arena, o, "typeChecking.expressionWarnings",
                                 json_array_done(&warnings))
                      : o;
}

static const struct json *applied(struct look *l, str name)
{
    const struct json *o = &json_empty_object;

    o = json_set(l->arena, o, "apiVersion",
                 json_box(l->arena, json_of_str(STR("admissionregistration.k8s.io/v1"))));
    o = json_set(l->arena, o, "kind",
                 json_box(l->arena, json_of_str(STR("ValidatingAdmissionPolicy"))));
    o = json_set(l->arena, o, "metadata.name", json_box(l->arena, json_of_str(name)));
    return json_set(l->arena, o, "status", status_of(l));
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = { .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                              .group = STR("admissionregistration.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("validatingadmissionpolicies"),
                              .name = k->name };
    struct look *l = arena_new_of(a, struct look);

    (void)arg;
    *l = (struct look){ .client = client, .arena = a, .instance = ref.instance, .st = st };
    if (client_get(client, a, &ref, &l->policy, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (json_int(json_path(l->policy, "metadata.generation"), 0) <=
        json_int(json_path(l->policy, "status.observedGeneration"), 0))
        return 0;
    if (find_types(l) < 0)
        return -1;
    ref.subresource = STR("status");
    if (client_apply(client, a, &ref, STR(MANAGER), applied(l, k->name), NULL, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return 0;
}

const struct controller_spec admission_policy_controller = {
    .name = "admission-policy",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("admissionregistration.k8s.io"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("validatingadmissionpolicies") },
    .spec_only = true,
    .finalizer = "",
    .reconcile = reconcile,
};
