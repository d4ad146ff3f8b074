/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is bound to a workspace is registered first, an instance by its GProductResource, a cluster
 * by its object in the fleet's registry, and bound to no other workspace.
 *
 * A caller can only hand on a right that they have.  To bind an instance or cluster to a workspace,
 * or to add members to the workspace, the caller must be its Admin; to change a group or a platform
 * role, an administrator of the platform.  The verb bind on the object allows both, as in RBAC.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/auth/people.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "rest/lookup.h"

#define GROUP "iam.kairship.io"

struct search {
    str type, resource, uid; /* uid empty: what had the name is gone */
    str workspace;           /* whose own does not count */
    str found;
};

static bool same(const struct json *r, const struct search *s)
{
    return str_eq(json_get_str(r, "resourceName"), s->resource) &&
           str_eq(json_get_str(r, "resourceType"), s->type);
}

static bool same_object(const struct json *r, const struct search *s)
{
    return same(r, s) && str_eq(json_get_str(r, "uid"), s->uid);
}

static bool is_bound_in(void *arg, const struct json *workspace)
{
    struct search *s = arg;
    str name = json_get_str(workspace, "metadata.name");

    if (str_eq(name, s->workspace))
        return true;
    json_for_each (r, json_path(workspace, "spec.resources"))
        if (same_object(r, s)) {
            s->found = name;
            return false;
        }
    return true;
}

static bool is_registered_by(void *arg, const struct json *registration)
{
    struct search *s = arg;
    const struct json *owners = json_path(registration, "metadata.ownerReferences");

    if (!same(json_get(registration, STR("spec")), s) ||
        (json_len(owners) && !str_eq(json_get_str(json_at(owners, 0), "uid"), s->uid)))
        return true;
    s->found = json_get_str(registration, "metadata.name");
    return false;
}

static const struct kind *kind_of(const char *plural)
{
    return catalog_find(kinds_catalog_root(), STR(GROUP), STR("v1alpha1"), str_of(plural));
}

/* The hidden cluster of an instance is had with the instance. */
static int find_cluster(struct rest_request *req, struct search *s, struct status *st)
{
    const struct kind *k = catalog_find(kinds_catalog_root(), STR("fleet.kairship.io"),
                                        STR("v1alpha1"), STR("clusters"));
    const struct json *cluster;
    int found =
        lookup_get(req->rest, req->arena, &req->instance, k, STR_NONE, s->resource, &cluster, st);

    if (found == 1 && !str_is(json_get_str(cluster, "spec.type"), "Virtual"))
        s->found = s->resource;
    return found < 0 ? -1 : 0;
}

static int find_registration(struct rest_request *req, struct search *s, struct status *st)
{
    if (str_is(s->type, "Cluster"))
        return find_cluster(req, s, st);
    return lookup_each(req->rest, req->arena, &req->instance, kind_of("gproductresources"),
                       STR_NONE, is_registered_by, s, st);
}

static int check(const struct admission *a, size_t i, struct search *s, struct status *st)
{
    struct rest_request *req = a->req;
    str field = str_printf(req->arena, "spec.resources[%zu].resourceName", i);
    str value = json_text(req->arena, json_box(req->arena, json_of_str(s->resource)));

    if (s->uid.n && find_registration(req, s, st) < 0)
        return -1;
    if (!s->found.n) {
        status_cause(st, CAUSE_NOT_FOUND, field, value, "it is not registered");
        return 0;
    }
    s->found = STR_NONE;
    if (lookup_each(req->rest, req->arena, &req->instance, kind_of("workspaces"), STR_NONE,
                    is_bound_in, s, st) < 0)
        return -1;
    if (s->found.n)
        status_cause(st, CAUSE_INVALID, field, value, "is bound to workspace %.*s",
                     STR_ARG(s->found));
    return 0;
}

static bool was_bound(const struct json *old, const struct search *s)
{
    json_for_each (r, json_path(old, "spec.resources"))
        if (same_object(r, s))
            return true;
    return false;
}

/* ---- who may ---- */

/* 1, 0, -1 or REST_WAIT. */
static int may_bind(const struct admission *a, struct status *st)
{
    const struct rest_request *r = a->req;
    struct access x = { .who = r->who,
                        .instance = &r->instance,
                        .verb = STR("bind"),
                        .is_resource = true,
                        .group = STR(GROUP),
                        .resource = r->kind->plural,
                        .name = r->name };
    str reason;

    return webhook_questions_access(a->server, a->req, &x, STR("v1alpha1"), &reason, st);
}

static bool changes(const struct admission *a, const struct json *obj, const char *path)
{
    const struct json *now = json_path(obj, path), *was = json_path(a->old, path);

    return json_len(now) && !(was && json_equal(now, was));
}

/* Something in it that they are not Admin of; NULL: there is nothing. */
static const struct json *beyond(const struct admission *a, const struct json *obj)
{
    bool members = changes(a, obj, "spec.members");

    json_for_each (r, json_path(obj, "spec.resources")) {
        struct search s = { .type = json_get_str(r, "resourceType"),
                            .resource = json_get_str(r, "resourceName") };

        if ((members || !was_bound(a->old, &s)) &&
            !people_may_hand_on(a->server->people, a->req->arena, a->req->who, s.type, s.resource))
            return r;
    }
    return NULL;
}

static int check_hand_on(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;
    const struct json *what = r->who->rights ? NULL : beyond(a, obj);
    int may = what ? may_bind(a, st) : 1;

    if (may)
        return may == 1 ? 0 : may;
    return status_forbidden(st, STR(GROUP), r->kind->plural, json_get_str(obj, "metadata.name"),
                            "User \"%.*s\" gives a role in %s \"%.*s\" without being Admin of it",
                            STR_ARG(r->who->user),
                            str_is(json_get_str(what, "resourceType"), "Cluster") ? "cluster"
                                                                                  : "instance",
                            STR_ARG(json_get_str(what, "resourceName")));
}

static int validate_members(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;
    int may = 1;

    if (!r->who->rights && changes(a, obj, "spec.members") &&
        !people_may_hand_on(a->server->people, r->arena, r->who, STR_NONE, STR_NONE))
        may = may_bind(a, st);
    if (may)
        return may == 1 ? 0 : may;
    return status_forbidden(st, STR(GROUP), r->kind->plural, json_get_str(obj, "metadata.name"),
                            "User \"%.*s\" names members without being an administrator of the "
                            "platform",
                            STR_ARG(r->who->user));
}

static int validate_workspace(const struct admission *a, const struct json *obj, struct status *st)
{
    size_t i = 0;
    int rc = check_hand_on(a, obj, st);

    if (rc)
        return rc;
    json_for_each (r, json_path(obj, "spec.resources")) {
        struct search s = { .type = json_get_str(r, "resourceType"),
                            .resource = json_get_str(r, "resourceName"),
                            .uid = json_get_str(r, "uid"),
                            .workspace = json_get_str(obj, "metadata.name") };

        if (!was_bound(a->old, &s) && check(a, i, &s, st) < 0)
            return -1;
        i++;
    }
    return status_invalid(st, STR(GROUP), STR("Workspace"), a->req->name);
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    str plural = a->req->kind->plural;

    if (str_is(plural, "workspaces"))
        return validate_workspace(a, obj, st);
    if (str_is(plural, "groups") || str_is(plural, "platformroles"))
        return validate_members(a, obj, st);
    return 0;
}

/* Two workspaces that bind the same at the same moment: one is told of the other. */
int workspace_claims(struct rest_request *req, const struct rest_change *change,
                     struct store_op *op, struct status *st)
{
    if (!str_is(req->kind->plural, "workspaces") || !str_is(req->kind->group, GROUP) ||
        change->removed || change->dry || req->subresource.n)
        return 0;
    json_for_each (r, json_path(change->obj, "spec.resources")) {
        struct search s = { .type = json_get_str(r, "resourceType"),
                            .resource = json_get_str(r, "resourceName"),
                            .uid = json_get_str(r, "uid") };

        if (!was_bound(change->old, &s))
            return admission_claim(req, STR("workspaces"), op, st) < 0 ? -1 : 1;
    }
    return 0;
}

const struct admission_plugin admit_workspace = {
    .name = "Workspace",
    .group = GROUP,
    .resource = "*",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
