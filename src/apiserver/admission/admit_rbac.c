/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prevents privilege escalation: a user who writes a role must hold its rights, or have the verb
 * escalate on it; a user who writes a binding must hold the rights of its role, or have the verb
 * bind on it.  The check is on the object that would be stored.  k8s:
 * registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

static struct access access_of(const struct admission *a, const char *verb)
{
    const struct rest_request *r = a->req;

    return (struct access){ .who = r->who,
                            .instance = &r->instance,
                            .verb = str_of(verb),
                            .is_resource = true,
                            .group = STR(RBAC_GROUP),
                            .resource = r->kind->plural,
                            .namespace_ = r->namespace_,
                            .name = r->name };
}

/* 1, 0, -1 or REST_WAIT. */
static int may(const struct admission *a, const struct access *x, struct status *st)
{
    str reason;

    return webhook_questions_access(a->server, a->req, x, STR("*"), &reason, st);
}

/* As Go prints a list of quoted strings: `["a" "b"]`. */
static str quoted_groups(struct arena *arena, const struct identity *who)
{
    str out = STR("[");

    for (size_t i = 0; i < who->ngroups; i++)
        out = str_printf(arena, "%.*s%s\"%.*s\"", STR_ARG(out), i ? " " : "",
                         STR_ARG(who->groups[i]));
    return str_printf(arena, "%.*s]", STR_ARG(out));
}

static int check_rules(const struct admission *a, const struct json *obj, const struct json *rules,
                       struct status *st)
{
    const struct rest_request *r = a->req;
    str excess, groups;

    if (rbac_excess(a->server->rbac, r->arena, r->who, &r->instance, r->namespace_, rules, &excess,
                    st) < 0)
        return -1;
    if (excess.n == 0)
        return 0;
    groups = quoted_groups(r->arena, r->who);
    return status_forbidden(st, STR(RBAC_GROUP), r->kind->plural,
                            json_get_str(obj, "metadata.name"),
                            "user \"%.*s\" (groups=%.*s) is attempting to grant RBAC permissions "
                            "not currently held:\n%.*s",
                            STR_ARG(r->who->user), STR_ARG(groups), STR_ARG(excess));
}

/* k8s: registry/rbac/helpers.go IsOnlyMutatingGCFields: the garbage collector needs no rights */
static bool only_for_the_collector(struct arena *arena, const struct json *obj,
                                   const struct json *old)
{
    static const char *const fields[] = { "metadata.ownerReferences", "metadata.finalizers",
                                          "metadata.managedFields", "metadata.resourceVersion",
                                          "metadata.generation" };

    if (!old)
        return false;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        obj = json_set(arena, obj, fields[i], NULL);
        old = json_set(arena, old, fields[i], NULL);
    }
    return json_equal(obj, old);
}

static bool is_exempt(const struct admission *a, const struct json *obj)
{
    return identity_in_group(a->req->who, "system:masters") ||
           only_for_the_collector(a->req->arena, obj, a->old);
}

static bool aggregates(const struct json *role)
{
    return json_len(json_path(role, "aggregationRule.clusterRoleSelectors")) > 0;
}

/* k8s: an aggregated role can become anything */
static int check_aggregation(const struct admission *a, const struct json *obj, struct status *st)
{
    static const char everything[] =
        "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]},"
        "{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}]";
    const struct rest_request *r = a->req;
    const struct json *rules;
    str excess;

    if (!aggregates(obj) && !aggregates(a->old))
        return 0;
    if (json_parse(r->arena, str_of(everything), NULL, &rules, st) < 0 ||
        rbac_excess(a->server->rbac, r->arena, r->who, &r->instance, r->namespace_, rules, &excess,
                    st) < 0)
        return -1;
    if (excess.n == 0)
        return 0;
    return status_forbidden(st, STR(RBAC_GROUP), r->kind->plural,
                            json_get_str(obj, "metadata.name"),
                            "must have cluster-admin privileges to use the aggregationRule");
}

static int validate_role(const struct admission *a, const struct json *obj, struct status *st)
{
    struct access escalate = access_of(a, "escalate");
    int rc = is_exempt(a, obj) ? 1 : may(a, &escalate, st);

    if (rc)
        return rc == 1 ? 0 : rc;
    if (check_rules(a, obj, json_get(obj, STR("rules")), st) < 0)
        return -1;
    return check_aggregation(a, obj, st);
}

static int validate_binding(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;
    bool cluster_role = str_is(json_get_str(obj, "roleRef.kind"), "ClusterRole");
    struct access bind = access_of(a, "bind");
    const struct json *rules;
    int rc;

    bind.resource = cluster_role ? STR("clusterroles") : STR("roles");
    bind.name = json_get_str(obj, "roleRef.name");
    rc = is_exempt(a, obj) ? 1 : may(a, &bind, st);
    if (rc)
        return rc == 1 ? 0 : rc;
    if (rbac_role_rules(a->server->rbac, r->arena, &r->instance,
                        cluster_role ? STR_NONE : r->namespace_, bind.name, &rules, st) < 0)
        return -1;
    return check_rules(a, obj, rules, st);
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    str plural = a->req->kind->plural;

    if (a->req->subresource.n)
        return 0;
    if (str_is(plural, "roles") || str_is(plural, "clusterroles"))
        return validate_role(a, obj, st);
    return validate_binding(a, obj, st);
}

const struct admission_plugin admit_rbac = { .name = "RBAC",
                                             .group = RBAC_GROUP,
                                             .resource = "*",
                                             .verbs = VERB_CREATE | VERB_UPDATE,
                                             .validate = validate };
