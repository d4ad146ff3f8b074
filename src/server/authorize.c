/* SPDX-License-Identifier: Apache-2.0 */

/* May they: system:masters may do everything, everyone may see health and version. */

#include "base/banned.h"
#include "server/authz.h"
#include "server/internal.h"

/* k8s: ClusterRole system:public-info-viewer */
static bool is_public(const struct access *x)
{
    static const char *const paths[] = { "/healthz", "/livez", "/readyz", "/version" };

    if (x->is_resource || x->instance->id != INSTANCE_ROOT || !str_is(x->verb, "get"))
        return false;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (str_is(x->path, paths[i]))
            return true;
    return false;
}

bool access_allowed(struct server *s, struct arena *a, const struct access *x, str *reason)
{
    (void)s;
    (void)a;
    *reason = STR_NONE;
    return identity_in_group(x->who, "system:masters") || is_public(x);
}

str access_denial(struct arena *a, const struct access *x)
{
    str sub = x->subresource.n ? str_printf(a, "/%.*s", STR_ARG(x->subresource)) : STR_NONE;
    str scope = x->namespace_.n ? str_printf(a, "in the namespace \"%.*s\"", STR_ARG(x->namespace_))
                                : STR("at the cluster scope");

    if (!x->is_resource)
        return str_printf(a, "User \"%.*s\" cannot %.*s path \"%.*s\"", STR_ARG(x->who->user),
                          STR_ARG(x->verb), STR_ARG(x->path));
    return str_printf(a,
                      "User \"%.*s\" cannot %.*s resource \"%.*s%.*s\" in API group \"%.*s\" %.*s",
                      STR_ARG(x->who->user), STR_ARG(x->verb), STR_ARG(x->resource), STR_ARG(sub),
                      STR_ARG(x->group), STR_ARG(scope));
}

bool authorize(struct call *c)
{
    const struct reqinfo *i = &c->info;
    struct access x = {
        .who = &c->who,
        .instance = &c->rest.instance,
        .verb = i->verb,
        .is_resource = i->is_resource,
        .group = i->group,
        .resource = i->resource,
        .subresource = i->subresource,
        .namespace_ = i->namespace_,
        .name = i->name,
        .path = i->path,
    };
    struct status *st;
    str reason, denial;

    if (access_allowed(c->server, c->arena, &x, &reason))
        return true;
    st = call_status(c);
    st->empty_details = true; /* of a path, which has none */
    denial = access_denial(c->arena, &x);
    if (i->is_resource)
        (void)status_forbidden(st, i->group, i->resource, i->name, "%.*s", STR_ARG(denial));
    else
        (void)status_forbidden(st, STR_NONE, STR_NONE, STR_NONE, "%.*s", STR_ARG(denial));
    call_fail(c, st);
    return false;
}
