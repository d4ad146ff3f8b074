/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

/* k8s: pkg/apis/rbac/validation/validation.go, pkg/apis/rbac/v1/defaults.go */

#define RBAC_GROUP "rbac.authorization.k8s.io"

/* ---- roles ---- */

static void require_items(struct status *st, str at, const struct json *rule, const char *member,
                          const char *fault)
{
    if (json_len(json_get(rule, str_of(member))) == 0)
        status_cause(st, CAUSE_REQUIRED, str_printf(st->arena, "%.*s.%s", STR_ARG(at), member),
                     STR_NONE, "%s", fault);
}

static void check_paths(struct status *st, str at, const struct json *rule, bool namespaced)
{
    str field = str_printf(st->arena, "%.*s.nonResourceURLs", STR_ARG(at));
    str value = json_text(st->arena, json_get(rule, STR("nonResourceURLs")));

    if (namespaced)
        status_cause(st, CAUSE_INVALID, field, value,
                     "namespaced rules cannot apply to non-resource URLs");
    if (json_len(json_get(rule, STR("apiGroups"))) || json_len(json_get(rule, STR("resources"))) ||
        json_len(json_get(rule, STR("resourceNames"))))
        status_cause(st, CAUSE_INVALID, field, value,
                     "rules cannot apply to both regular resources and non-resource URLs");
}

static void check_rules(struct status *st, const struct json *obj, bool namespaced)
{
    size_t i = 0;

    json_for_each (rule, json_get(obj, STR("rules"))) {
        str at = str_printf(st->arena, "rules[%zu]", i++);

        require_items(st, at, rule, "verbs", "verbs must contain at least one value");
        if (json_len(json_get(rule, STR("nonResourceURLs")))) {
            check_paths(st, at, rule, namespaced);
            continue;
        }
        require_items(st, at, rule, "apiGroups",
                      "resource rules must supply at least one api group");
        require_items(st, at, rule, "resources",
                      "resource rules must supply at least one resource");
    }
}

static void role_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    (void)c;
    check_rules(st, obj, true);
}

static void cluster_role_validate(const struct kind_context *c, const struct json *obj,
                                  struct status *st)
{
    const struct json *aggregation = json_get(obj, STR("aggregationRule"));
    const struct json *selectors = json_get(aggregation, STR("clusterRoleSelectors"));
    size_t i = 0;

    (void)c;
    check_rules(st, obj, false);
    if (!aggregation)
        return;
    if (json_len(selectors) == 0)
        status_cause(st, CAUSE_REQUIRED, STR("aggregationRule.clusterRoleSelectors"), STR_NONE,
                     "at least one clusterRoleSelector required if aggregationRule is non-nil");
    json_for_each (s, selectors) {
        str at = str_printf(st->arena, "aggregationRule.clusterRoleSelectors[%zu]", i++);
        size_t faults = st->ncauses;

        check_label_selector(st, at, s);
        if (st->ncauses > faults)
            status_cause(st, CAUSE_INVALID, at, STR("null"), "invalid label selector.");
    }
}

static void role_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *cells)
{
    (void)a;
    (void)now_s;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "metadata.creationTimestamp");
}

static const struct kind_ops role_ops = { .validate = role_validate, .cells = role_cells };
static const struct kind_ops cluster_role_ops = {
    .validate = cluster_role_validate,
    .cells = role_cells,
};

/* ---- bindings ---- */

static bool is_account(const struct json *subject)
{
    return str_is(json_get_str(subject, "kind"), "ServiceAccount");
}

static bool is_person(const struct json *subject)
{
    str kind = json_get_str(subject, "kind");

    return str_is(kind, "User") || str_is(kind, "Group");
}

static const struct json *binding_defaults(const struct kind_context *c, const struct json *obj)
{
    static const struct json group = { .type = JSON_STRING,
                                       .n = sizeof(RBAC_GROUP) - 1,
                                       .s = RBAC_GROUP };
    const struct json *subjects = json_get(obj, STR("subjects"));
    struct json_array out = json_array_new(c->arena);

    if (!json_get_str(obj, "roleRef.apiGroup").n)
        obj = json_set(c->arena, obj, "roleRef.apiGroup", &group);
    if (!subjects)
        return obj;
    json_for_each (s, subjects) {
        bool bare = is_person(s) && !json_get_str(s, "apiGroup").n;

        json_push(&out, bare ? *json_set(c->arena, s, "apiGroup", &group) : *s);
    }
    return json_set(c->arena, obj, "subjects", json_array_done(&out));
}

static void check_role_ref(struct status *st, const struct json *obj, const char *const *roles)
{
    static const char *const groups[] = { RBAC_GROUP, NULL };

    check_enum(st, "roleRef.apiGroup", obj, groups);
    check_enum(st, "roleRef.kind", obj, roles);
    check_required(st, "roleRef.name", obj);
    if (json_get_str(obj, "roleRef.name").n)
        (void)name_check(st, NAME_PATH, STR("roleRef.name"), json_get_str(obj, "roleRef.name"));
}

static void require(struct status *st, str at, const struct json *subject, const char *member)
{
    if (json_get_str(subject, member).n == 0)
        status_cause(st, CAUSE_REQUIRED, str_printf(st->arena, "%.*s.%s", STR_ARG(at), member),
                     STR_NONE, "%s", "");
}

static void not_supported(struct status *st, str at, const struct json *subject, const char *member,
                          const char *supported)
{
    status_cause(st, CAUSE_NOT_SUPPORTED, str_printf(st->arena, "%.*s.%s", STR_ARG(at), member),
                 check_quote(st->arena, json_get_str(subject, member)), "supported values: %s",
                 supported);
}

static void check_subject(struct status *st, str at, const struct json *s, bool namespaced)
{
    str name = json_get_str(s, "name");
    str group = json_get_str(s, "apiGroup");

    require(st, at, s, "name");
    if (is_account(s)) {
        if (name.n)
            (void)name_check(st, NAME_SUBDOMAIN, str_printf(st->arena, "%.*s.name", STR_ARG(at)),
                             name);
        if (group.n)
            not_supported(st, at, s, "apiGroup", "\"\"");
        if (!namespaced)
            require(st, at, s, "namespace");
    } else if (!is_person(s)) {
        not_supported(st, at, s, "kind", "\"ServiceAccount\", \"User\", \"Group\"");
    } else if (!str_is(group, RBAC_GROUP)) {
        not_supported(st, at, s, "apiGroup", "\"" RBAC_GROUP "\"");
    }
}

static void check_subjects(struct status *st, const struct json *obj, bool namespaced)
{
    size_t i = 0;

    json_for_each (s, json_get(obj, STR("subjects")))
        check_subject(st, str_printf(st->arena, "subjects[%zu]", i++), s, namespaced);
}

static void binding_validate(const struct kind_context *c, const struct json *obj,
                             struct status *st)
{
    static const char *const roles[] = { "Role", "ClusterRole", NULL };

    (void)c;
    check_role_ref(st, obj, roles);
    check_subjects(st, obj, true);
}

static void cluster_binding_validate(const struct kind_context *c, const struct json *obj,
                                     struct status *st)
{
    static const char *const roles[] = { "ClusterRole", NULL };

    (void)c;
    check_role_ref(st, obj, roles);
    check_subjects(st, obj, false);
}

/* Who may change the subjects only must not thereby hand out another role. */
static void binding_validate_update(const struct kind_context *c, const struct json *obj,
                                    const struct json *old, struct status *st)
{
    const struct json *ref = json_get(obj, STR("roleRef"));

    if (!check_same(ref, json_get(old, STR("roleRef"))))
        status_cause(st, CAUSE_INVALID, STR("roleRef"), json_text(c->arena, ref ? ref : &json_null),
                     "cannot change roleRef");
}

/* The subjects of one kind, as `a, b`. */
static void cell_subjects(struct arena *a, const struct json *obj, const char *kind,
                          struct json_array *cells)
{
    bool accounts = str_is(STR("ServiceAccount"), kind);
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (s, json_get(obj, STR("subjects"))) {
        str namespace_ = json_get_str(s, "namespace"), name = json_get_str(s, "name");

        if (!str_is(json_get_str(s, "kind"), kind))
            continue;
        buf_printf(&b, "%s%.*s%s%.*s", b.n ? ", " : "", STR_ARG(accounts ? namespace_ : STR_NONE),
                   accounts ? "/" : "", STR_ARG(name));
    }
    json_push(cells, json_of_str(str_dup(a, buf_str(&b))));
}

static void binding_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    json_push(cells,
              json_of_str(str_printf(a, "%.*s/%.*s", STR_ARG(json_get_str(obj, "roleRef.kind")),
                                     STR_ARG(json_get_str(obj, "roleRef.name")))));
    cell_age(cells, obj, now_s);
    cell_subjects(a, obj, "User", cells);
    cell_subjects(a, obj, "Group", cells);
    cell_subjects(a, obj, "ServiceAccount", cells);
}

static const struct kind_ops binding_ops = {
    .defaults = binding_defaults,
    .validate = binding_validate,
    .validate_update = binding_validate_update,
    .cells = binding_cells,
};
static const struct kind_ops cluster_binding_ops = {
    .defaults = binding_defaults,
    .validate = cluster_binding_validate,
    .validate_update = binding_validate_update,
    .cells = binding_cells,
};

/* ---- the kinds ---- */

static const struct column role_columns[] = {
    NAME_COLUMN,
    { STR_INIT("Created At"), STR_INIT("date"), STR_INIT(""), STR_INIT("When it was made."),
      .priority = 0 },
};

static const struct column binding_columns[] = {
    NAME_COLUMN,
    COLUMN("Role", "", 0, "The role whose rights it gives."),
    AGE_COLUMN,
    COLUMN("Users", "", 1, "Users that get them."),
    COLUMN("Groups", "", 1, "Groups that get them."),
    COLUMN("ServiceAccounts", "", 1, "Service accounts that get them."),
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("ClusterRoleBinding"),
        .plural = STR_INIT("clusterrolebindings"),
        .singular = STR_INIT("clusterrolebinding"),
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        LIST(columns, binding_columns),
        .ops = &cluster_binding_ops,
    },
    {
        .kind = STR_INIT("ClusterRole"),
        .plural = STR_INIT("clusterroles"),
        .singular = STR_INIT("clusterrole"),
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        LIST(columns, role_columns),
        .ops = &cluster_role_ops,
    },
    {
        .kind = STR_INIT("RoleBinding"),
        .plural = STR_INIT("rolebindings"),
        .singular = STR_INIT("rolebinding"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        LIST(columns, binding_columns),
        .ops = &binding_ops,
    },
    {
        .kind = STR_INIT("Role"),
        .plural = STR_INIT("roles"),
        .singular = STR_INIT("role"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        LIST(columns, role_columns),
        .ops = &role_ops,
    },
};

const struct group group_rbac = {
    .name = STR_INIT(RBAC_GROUP),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.rbac.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
