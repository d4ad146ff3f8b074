/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/own/groups.h"

/*
 * Global Management: users, groups, workspaces, roles, and what they can be bound to.  Served in
 * the root instance only.  Whether a resource of a workspace is registered, and in no other
 * workspace, is admission's to say (apiserver/admission/admit_iam.c).
 */

enum { MEMBERS_MAX = 1000, RESOURCES_MAX = 1000, TEXT_MAX = 256 };

static const char *const member_kinds[] = { "User", "Group", NULL };
static const char *const workspace_roles[] = { "Admin", "Editor", "Viewer", NULL };
static const char *const platform_roles[] = { "Admin", NULL };
static const char *const resource_types[] = { "Kairship", "Cluster", NULL };

static void check_size(struct status *st, const struct site *list, size_t max)
{
    if (json_len(list->v) > max)
        site_fault(st, list, CAUSE_TOO_MANY, "must have at most %zu items", max);
}

static void check_text(struct status *st, const struct site *text)
{
    if (json_str(text->v).n > TEXT_MAX)
        site_fault(st, text, CAUSE_TOO_LONG, "may not be more than %d bytes", TEXT_MAX);
}

/* Members of anything; roles may be NULL: then they have none of their own. */
static void check_members(struct status *st, const struct site *list, const char *const *roles)
{
    check_size(st, list, MEMBERS_MAX);
    site_each(m, list)
    {
        struct site kind = site_in(&m, "kind"), name = site_in(&m, "name");
        struct site role = site_in(&m, "role");

        site_enum(st, &kind, member_kinds);
        if (!site_required(st, &name))
            check_text(st, &name);
        if (roles && !site_required(st, &role))
            site_enum(st, &role, roles);
    }
}

/* A name of our own parts or of the system is nobody's. */
static void check_user_name(struct status *st, str name)
{
    if (str_starts(name, STR("system:")))
        status_cause(st, CAUSE_INVALID, STR("metadata.name"), check_quote(st->arena, name),
                     "must not start with \"system:\"");
}

static void validate_user(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site display = site_in(&spec, "displayName"), email = site_in(&spec, "email");

    if (c->create)
        check_user_name(st, c->name);
    check_text(st, &display);
    check_text(st, &email);
}

/* Logins are told apart by the count (apiserver/auth/session.h), so only we count. */
static const struct json *set_times_disabled(const struct kind_context *c, const struct json *obj,
                                             int64_t times)
{
    struct json value = json_of_int(times);

    if (times == json_int(json_path(obj, "spec.timesDisabled"), 0))
        return obj;
    return json_set(c->arena, obj, "spec.timesDisabled", times ? &value : NULL);
}

static const struct json *create_user(const struct kind_context *c, const struct json *obj)
{
    return set_times_disabled(c, obj, 0);
}

static const struct json *update_user(const struct kind_context *c, const struct json *obj,
                                      const struct json *old)
{
    bool was = json_bool(json_path(old, "spec.disabled")),
         is = json_bool(json_path(obj, "spec.disabled"));

    return set_times_disabled(c, obj,
                              json_int(json_path(old, "spec.timesDisabled"), 0) + (is && !was));
}

static void validate_group(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site members = site_in(&spec, "members");

    if (c->create)
        check_user_name(st, c->name);
    check_size(st, &members, MEMBERS_MAX);
    site_each(m, &members)(void) site_name(st, &m, NAME_SUBDOMAIN);
}

static void validate_workspace(const struct kind_context *c, const struct json *obj,
                               struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site resources = site_in(&spec, "resources"), members = site_in(&spec, "members");

    (void)c;
    check_size(st, &resources, RESOURCES_MAX);
    site_each(r, &resources)
    {
        struct site type = site_in(&r, "resourceType"), name = site_in(&r, "resourceName");

        site_enum(st, &type, resource_types);
        if (!site_required(st, &name))
            (void)site_name(st, &name, NAME_LABEL);
    }
    check_members(st, &members, workspace_roles);
}

static void validate_platform_role(const struct kind_context *c, const struct json *obj,
                                   struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site role = site_in(&spec, "role"), members = site_in(&spec, "members");

    (void)c;
    site_enum(st, &role, platform_roles);
    check_members(st, &members, NULL);
}

static void validate_resource(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    static const char *const fields[] = { "gproduct", "resourceType", "resourceName" };
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    (void)c;
    for (size_t i = 0; i < GROUP_LEN(fields); i++) {
        struct site field = site_in(&spec, fields[i]);

        if (!site_required(st, &field))
            check_text(st, &field);
    }
}

static void validate_spec_stays(const struct kind_context *c, const struct json *obj,
                                const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec", obj, old);
}

/* Only the server knows that somebody has logged in, and how. */
static int review_session(const struct kind_context *c, const struct json *obj,
                          const struct json *old, struct status *st)
{
    (void)obj;
    if (old || c->who->rights)
        return 0;
    return status_forbidden(st, c->kind->group, c->kind->plural, c->name,
                            "a session begins with a login");
}

/* ---- what kubectl shows ---- */

static str joined(struct arena *a, const struct json *list, const char *member)
{
    str out = STR_NONE;

    json_for_each (v, list)
        out = str_printf(a, "%.*s%s%.*s", STR_ARG(out), out.n ? "," : "",
                         STR_ARG(member ? json_get_str(v, member) : json_str(v)));
    return out;
}

static void user_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.displayName");
    json_push(cells,
              json_of_str(json_bool(json_path(obj, "spec.disabled")) ? STR("true") : STR("false")));
    cell_age(cells, obj, now_s);
}

static void group_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_str(joined(a, json_path(obj, "spec.members"), NULL)));
    cell_age(cells, obj, now_s);
}

static void workspace_cells(struct arena *a, const struct json *obj, int64_t now_s,
                            struct json_array *cells)
{
    str members = STR_NONE;

    json_for_each (m, json_path(obj, "spec.members"))
        members = str_printf(a, "%.*s%s%.*s=%.*s", STR_ARG(members), members.n ? "," : "",
                             STR_ARG(json_get_str(m, "name")), STR_ARG(json_get_str(m, "role")));
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_str(joined(a, json_path(obj, "spec.resources"), "resourceName")));
    json_push(cells, json_of_str(members));
    cell_age(cells, obj, now_s);
}

static void platform_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.role");
    json_push(cells, json_of_str(joined(a, json_path(obj, "spec.members"), "name")));
    cell_age(cells, obj, now_s);
}

static void resource_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.gproduct");
    cell_str(cells, obj, "spec.resourceType");
    cell_str(cells, obj, "spec.resourceName");
    cell_age(cells, obj, now_s);
}

static void session_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.user.name");
    cell_str(cells, obj, "spec.expires");
    cell_str(cells, obj, "spec.remote");
    cell_str(cells, obj, "spec.userAgent");
    cell_age(cells, obj, now_s);
}

static const struct column user_columns[] = {
    NAME_COLUMN,
    COLUMN("Display Name", "", 0, "Display name of the user."),
    COLUMN("Disabled", "", 0, "Whether the user is disabled."),
    AGE_COLUMN,
};
static const struct column group_columns[] = {
    NAME_COLUMN,
    COLUMN("Members", "", 0, "Users in the group."),
    AGE_COLUMN,
};
static const struct column workspace_columns[] = {
    NAME_COLUMN,
    COLUMN("Resources", "", 0, "Instances and clusters in the workspace."),
    COLUMN("Members", "", 0, "Users and groups with their roles."),
    AGE_COLUMN,
};
static const struct column platform_columns[] = {
    NAME_COLUMN,
    COLUMN("Role", "", 0, "The role."),
    COLUMN("Members", "", 0, "Users and groups that have the role."),
    AGE_COLUMN,
};
static const struct column resource_columns[] = {
    NAME_COLUMN,
    COLUMN("Product", "", 0, "Name of the product."),
    COLUMN("Type", "", 0, "Type of the resource."),
    COLUMN("Resource", "", 0, "Name of the resource."),
    AGE_COLUMN,
};
static const struct column session_columns[] = {
    NAME_COLUMN,
    COLUMN("User", "", 0, "User who logged in."),
    COLUMN("Expires", "", 0, "Time at which the token expires."),
    COLUMN("Remote", "", 0, "Address from which the user logged in."),
    COLUMN("Program", "", 1, "Program that was used."),
    AGE_COLUMN,
};

static const struct field_label session_labels[] = {
    { .label = STR_INIT("spec.user.name"), .path = "spec.user.name", .indexed = true },
};

static const struct kind_ops user_ops = { .prepare_create = create_user,
                                          .prepare_update = update_user,
                                          .validate = validate_user,
                                          .cells = user_cells };
static const struct kind_ops group_ops = { .validate = validate_group, .cells = group_cells };
static const struct kind_ops workspace_ops = { .validate = validate_workspace,
                                               .cells = workspace_cells };
static const struct kind_ops platform_ops = { .validate = validate_platform_role,
                                              .cells = platform_cells };
static const struct kind_ops resource_ops = { .validate = validate_resource,
                                              .validate_update = validate_spec_stays,
                                              .cells = resource_cells };

static const struct kind_ops session_ops = { .validate_update = validate_spec_stays,
                                             .review = review_session,
                                             .cells = session_cells };

static const struct kind_ops login_ops;

static const str categories[] = { STR_INIT("kairship") };

#define IAM_KIND(one, many, lower, ops_, columns_)                                    \
    {                                                                                 \
        KIND_NAMES(one, many, lower), LIST(categories, categories),                   \
            .verbs = VERBS_ALL, .name_rule = NAME_SUBDOMAIN, .generation = true,      \
            .unconditional_update = true, .json_only = true, LIST(columns, columns_), \
            .ops = &(ops_),                                                           \
    }

static struct kind kinds[] = {
    IAM_KIND("GProductResource", "gproductresources", "gproductresource", resource_ops,
             resource_columns),
    IAM_KIND("Group", "groups", "group", group_ops, group_columns),
    {
        KIND_NAMES("Login", "logins", "login"),
        .verbs = VERB_CREATE,
        .transient = true,
        .json_only = true,
        .ops = &login_ops,
    },
    IAM_KIND("PlatformRole", "platformroles", "platformrole", platform_ops, platform_columns),
    {
        KIND_NAMES("Session", "sessions", "session"),
        .verbs = VERBS_ALL & ~VERB_CREATE,
        .no_dependents = true,
        .unconditional_update = true,
        .json_only = true,
        .kind_selectors = true,
        LIST(columns, session_columns),
        LIST(field_labels, session_labels),
        .ops = &session_ops,
    },
    IAM_KIND("User", "users", "user", user_ops, user_columns),
    IAM_KIND("Workspace", "workspaces", "workspace", workspace_ops, workspace_columns),
};

const struct group group_iam = {
    .name = STR_INIT("iam.kairship.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.kairship.iam.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
