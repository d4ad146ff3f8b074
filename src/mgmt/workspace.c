/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Service Workspace: which workspace an instance is bound to.  Workspaces are objects of root; who
 * has no role over the platform sees those of the instances that they have a role in.
 */

#include "base/banned.h"
#include "base/epoch.h"
#include "base/map.h"
#include "mgmt/mgmt_internal.h"

enum { TRIES = 5 };

static const struct client_ref workspaces = { .group = STR_INIT("iam.kairship.io"),
                                              .version = STR_INIT("v1alpha1"),
                                              .resource = STR_INIT("workspaces") };

/* ---- reading ---- */

struct seen { /* by the caller */
    bool all;
    const struct iam_grant *grants;
    size_t n;
};

static struct seen seen_by(const struct mgmt_parts *p, struct rpc_context *ctx)
{
    struct seen s = { .all = mgmt_role(p, ctx, STR_NONE) == IAM_PLATFORM };

    if (s.all)
        return s;
    epoch_enter();
    (void)permissions_grants(p->permissions, ctx->arena, ctx->who, &s.grants, &s.n);
    epoch_exit();
    return s;
}

static bool sees(const struct seen *s, str instance, str uid)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->grants[i].instance, instance) && str_eq(s->grants[i].uid, uid))
            return true;
    return s->all;
}

static bool is_instance(const struct json *resource)
{
    return str_is(json_get_str(resource, "resourceType"), "Kairship");
}

static int list_of(const struct mgmt_parts *p, struct rpc_context *ctx,
                   const struct client_ref *ref, const struct json **items, struct status *st)
{
    struct client_request req = client_request_list(ctx->arena, ref, NULL);
    const struct json *list;

    if (mgmt_do_own(p, ctx, &req, &list, st) < 0)
        return -1;
    *items = json_path(list, "items");
    return 0;
}

static struct json info(struct arena *a, str workspace)
{
    struct json_object o = json_object_new(a);

    mgmt_copy_str(&o, "workspace", workspace);
    return json_object_value(&o);
}

/* What lists are sorted and cut by; `note` is what the item says beside its name. */
static const struct json *entry(struct arena *a, str name, str note)
{
    struct json_object o = json_object_new(a), metadata = json_object_new(a);

    json_add(&metadata, STR("name"), json_of_str(name));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    mgmt_copy_str(&o, "note", note);
    return json_object_done(&o);
}

static struct json shape_workspace(struct arena *a, const struct json *e)
{
    return info(a, json_get_str(e, "metadata.name"));
}

static struct json shape_instance(struct arena *a, const struct json *e)
{
    str workspace = json_get_str(e, "note");
    struct json_object o = json_object_new(a);

    json_add(&o, STR("instance"), json_of_str(json_get_str(e, "metadata.name")));
    if (workspace.n)
        json_add(&o, STR("workspace"), info(a, workspace));
    return json_object_value(&o);
}

static bool sees_workspace(const struct seen *s, const struct json *workspace)
{
    json_for_each (r, json_path(workspace, "spec.resources"))
        if (is_instance(r) && sees(s, json_get_str(r, "resourceName"), json_get_str(r, "uid")))
            return true;
    return s->all;
}

static int list_workspaces(void *arg, struct rpc_context *ctx, const struct json *request,
                           const struct json **response, struct status *st)
{
    const struct json *items, **entries;
    struct mgmt_page page;
    struct mgmt_parts *p;
    struct seen s;
    size_t n = 0;

    if (mgmt_parts_of(arg, &p, st) < 0 || mgmt_page_read(request, &page, st) < 0 ||
        list_of(p, ctx, &workspaces, &items, st) < 0)
        return -1;
    page.name = json_get_str(request, "workspace");
    s = seen_by(p, ctx);
    entries = arena_array(ctx->arena, const struct json *, json_len(items));
    json_for_each (w, items)
        if (sees_workspace(&s, w))
            entries[n++] = entry(ctx->arena, json_get_str(w, "metadata.name"), STR_NONE);
    *response = mgmt_page_answer(ctx->arena, &page, entries, n, shape_workspace);
    return 0;
}

/* By uid: what had the name before may still be in a list. */
static void note_bound(struct map *bound, const struct json *all)
{
    json_for_each (w, all)
        json_for_each (r, json_path(w, "spec.resources"))
            if (is_instance(r))
                (void)map_put(bound, json_get_str(r, "uid"), (void *)(uintptr_t)w);
}

static int list_instances(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct json **response, struct status *st)
{
    const struct json *all, *items, **entries;
    struct map bound = { 0 };
    struct mgmt_page page;
    struct mgmt_parts *p;
    struct seen s;
    size_t n = 0;

    if (mgmt_parts_of(arg, &p, st) < 0 || mgmt_page_read(request, &page, st) < 0 ||
        list_of(p, ctx, &workspaces, &all, st) < 0 ||
        list_of(p, ctx, &mgmt_instances, &items, st) < 0)
        return -1;
    page.name = json_get_str(request, "instance");
    s = seen_by(p, ctx);
    note_bound(&bound, all);
    entries = arena_array(ctx->arena, const struct json *, json_len(items));
    json_for_each (i, items) {
        str name = json_get_str(i, "metadata.name"), uid = json_get_str(i, "metadata.uid");

        if (sees(&s, name, uid))
            entries[n++] =
                entry(ctx->arena, name, json_get_str(map_get(&bound, uid), "metadata.name"));
    }
    map_release(&bound);
    *response = mgmt_page_answer(ctx->arena, &page, entries, n, shape_instance);
    return 0;
}

/* ---- binding ---- */

/* uid empty: of any that had the name. */
static bool has(const struct json *workspace, str instance, str uid)
{
    json_for_each (r, json_path(workspace, "spec.resources"))
        if (is_instance(r) && str_eq(json_get_str(r, "resourceName"), instance) &&
            (!uid.n || str_eq(json_get_str(r, "uid"), uid)))
            return true;
    return false;
}

/* Of the instance that has the name now; empty: there is none. */
static int uid_of(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str *uid,
                  struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_instances, instance);
    const struct json *obj;
    int found = p->look(p->look_arg, ctx->arena, &ref, &obj, st);

    *uid = found > 0 ? json_get_str(obj, "metadata.uid") : STR_NONE;
    return found < 0 ? -1 : 0;
}

/* The one named; to unbind, else the one that has it. */
static int find(const struct mgmt_parts *p, struct rpc_context *ctx, str name, str instance,
                str uid, const struct json **out, struct status *st)
{
    struct client_ref ref = mgmt_named(workspaces, name);
    const struct json *all;

    if (name.n)
        return mgmt_look(p, ctx, &ref, out, st);
    if (list_of(p, ctx, &workspaces, &all, st) < 0)
        return -1;
    json_for_each (w, all)
        if (has(w, instance, uid)) {
            *out = w;
            return 0;
        }
    return status_set(st, REASON_NOT_FOUND, "instance \"%.*s\" is bound to no workspace",
                      STR_ARG(instance));
}

static const struct json *with_binding(struct arena *a, const struct json *workspace, str instance,
                                       bool bind)
{
    struct json_array list = json_array_new(a);
    struct json_object o = json_object_new(a);

    json_for_each (r, json_path(workspace, "spec.resources"))
        if (!is_instance(r) || !str_eq(json_get_str(r, "resourceName"), instance))
            json_push(&list, *r);
    json_add(&o, STR("resourceType"), json_of_str(STR("Kairship")));
    json_add(&o, STR("resourceName"), json_of_str(instance));
    if (bind)
        json_push(&list, json_object_value(&o));
    return json_set(a, workspace, "spec.resources", json_array_done(&list));
}

static int bind_once(const struct mgmt_parts *p, struct rpc_context *ctx, str name, str instance,
                     bool bind, struct status *st)
{
    const struct json *workspace;
    struct client_request req;
    struct client_ref ref;
    str uid;

    if (uid_of(p, ctx, instance, &uid, st) < 0 ||
        find(p, ctx, name, instance, uid, &workspace, st) < 0)
        return -1;
    if (has(workspace, instance, uid) == bind)
        return 0;
    ref = mgmt_named(workspaces, json_get_str(workspace, "metadata.name"));
    req = client_request_update(ctx->arena, &ref, NULL,
                                with_binding(ctx->arena, workspace, instance, bind));
    return mgmt_do(p, ctx, &req, NULL, st);
}

static int check_action(const struct json *request, bool bind, struct status *st)
{
    if (!json_get_str(request, "instance").n)
        return message_refuse(st, STR("instance"), "must not be empty");
    if (!bind && !str_is(json_get_str(request, "action"), "UNBIND"))
        return message_refuse(st, STR("action"), "must be BIND or UNBIND");
    if (bind && !json_get_str(request, "workspace.workspace").n)
        return message_refuse(st, STR("workspace.workspace"), "must not be empty");
    return 0;
}

/* An instance is in one workspace at most: of another one it has to be unbound first. */
static int bind_instances(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct json **response, struct status *st)
{
    bool bind = str_is(json_get_str(request, "action"), "BIND");
    str instance = json_get_str(request, "instance");
    struct mgmt_parts *p;
    int rc = -1;

    if (mgmt_parts_of(arg, &p, st) < 0 || mgmt_require(p, ctx, instance, IAM_PLATFORM, st) < 0 ||
        check_action(request, bind, st) < 0)
        return -1;
    for (int i = 0; rc < 0 && i < TRIES; i++) {
        status_reset(st);
        rc = bind_once(p, ctx, json_get_str(request, "workspace.workspace"), instance, bind, st);
        if (rc < 0 && !status_is(st, REASON_CONFLICT))
            return -1;
    }
    *response = request;
    return rc;
}

static const struct rpc_handler handlers[] = {
    { .method = "ListWorkspaces", .fn = list_workspaces },
    { .method = "ListInstances", .fn = list_instances },
    { .method = "BindInstances", .fn = bind_instances },
    { .method = "ListNamespaceInstances", .fn = mgmt_not_served, .on_loop = true },
    { .method = "BindNamespaceInstances", .fn = mgmt_not_served, .on_loop = true },
};

const struct mgmt_service workspace_service = { "Workspace", handlers,
                                                sizeof(handlers) / sizeof(*handlers) };
