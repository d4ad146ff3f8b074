/* SPDX-License-Identifier: Apache-2.0 */

/* May they?  k8s: apiserver/pkg/cel/library/authz.go */

#include "object/cel/cel_functions.h"

#include "base/banned.h"

struct decision {
    bool allowed;
    str reason;
};

struct cel_value cel_authorizer(struct arena *a, const struct cel_authorizer *of)
{
    struct cel_check *c = arena_new_of(a, struct cel_check);

    c->of = of;
    return cel_thing(CEL_AUTHORIZER, c);
}

struct cel_value cel_resource_check(const struct cel_check *c)
{
    return cel_thing(CEL_RESOURCE_CHECK, c);
}

/* A question like the one so far, to be made more precise. */
static struct cel_check *refine(struct cel_run *r, const struct cel_value *v)
{
    struct cel_check *c = arena_new_of(r->arena, struct cel_check);

    *c = *(const struct cel_check *)v->thing;
    return c;
}

CEL_FN(authorizer_path)
{
    struct cel_check *c = refine(r, v);

    if (!v[1].s.n)
        return cel_error(r, "path must not be empty");
    c->path = v[1].s;
    return cel_thing(CEL_PATH_CHECK, c);
}

CEL_FN(authorizer_group)
{
    struct cel_check *c = refine(r, v);

    c->is_resource = true;
    c->group = v[1].s;
    return cel_thing(CEL_GROUP_CHECK, c);
}

CEL_FN(authorizer_account)
{
    struct cel_check *c = refine(r, v);

    if (!v[1].s.n || !v[2].s.n)
        return cel_error(r, "Invalid service account name or namespace");
    c->account_namespace = v[1].s;
    c->account =
        str_printf(r->arena, "system:serviceaccount:%.*s:%.*s", STR_ARG(v[1].s), STR_ARG(v[2].s));
    return cel_thing(CEL_AUTHORIZER, c);
}

CEL_FN(check_resource)
{
    struct cel_check *c = refine(r, v);

    if (!v[1].s.n)
        return cel_error(r, "resource must not be empty");
    c->resource = v[1].s;
    return cel_thing(CEL_RESOURCE_CHECK, c);
}

#define REFINE(fn, field)                        \
    CEL_FN(fn)                                   \
    {                                            \
        struct cel_check *c = refine(r, v);      \
                                                 \
        c->field = v[1].s;                       \
        return cel_thing(CEL_RESOURCE_CHECK, c); \
    }

REFINE(check_subresource, subresource)
REFINE(check_namespace, namespace_)
REFINE(check_name, name)
REFINE(check_fields, field_selector)
REFINE(check_labels, label_selector)

CEL_FN(check_verb)
{
    struct cel_check *c = refine(r, v);
    struct decision *d = arena_new_of(r->arena, struct decision);

    c->verb = v[1].s;
    d->allowed = c->of->allowed(c->of, r->arena, c, &d->reason);
    return cel_thing(CEL_DECISION, d);
}

static const struct decision *decision_of(const struct cel_value *v)
{
    return v->thing;
}

CEL_FN(decision_allowed)
{
    (void)r;
    return cel_bool(decision_of(v)->allowed);
}

CEL_FN(decision_reason)
{
    (void)r;
    return cel_str(decision_of(v)->reason);
}

/* Rights that cannot be read deny; there is no third answer. */
CEL_FN(decision_errored)
{
    (void)r;
    (void)v;
    return cel_bool(false);
}

CEL_FN(decision_error)
{
    (void)r;
    (void)v;
    return cel_str(STR_NONE);
}
