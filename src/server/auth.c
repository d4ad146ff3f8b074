/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is calling, and may they.  A client certificate gives user and groups; system:masters may do
 * everything, everyone may see health and version, and nobody else anything.
 */

#include "base/banned.h"
#include "server/internal.h"

static const str unauthenticated[] = { STR_INIT("system:unauthenticated") };

static bool refuse(struct call *c)
{
    struct status *st = call_status(c);

    (void)status_set(st, REASON_UNAUTHORIZED, "Unauthorized");
    call_fail(c, st);
    return false;
}

static void from_certificate(struct call *c)
{
    const struct http_peer *p = c->peer;
    str *groups = arena_array(c->arena, str, p->norgs + 1);

    for (size_t i = 0; i < p->norgs; i++)
        groups[i] = p->orgs[i];
    groups[p->norgs] = STR("system:authenticated");
    c->who = (struct identity){ .user = p->cn, .groups = groups, .ngroups = p->norgs + 1 };
}

bool authenticate(struct call *c)
{
    if (c->who.user.n) /* a part of our own program, named by itself */
        return true;
    if (c->peer && c->peer->cn.n && c->peer->not_after > clock_wall_s(c->server->clock)) {
        from_certificate(c);
        return true;
    }
    /* A credential that is no good is refused even where none is needed. */
    if (c->peer || c->peer_rejected || call_header(c, "authorization").n)
        return refuse(c);
    c->who = (struct identity){ .user = STR("system:anonymous"),
                                .groups = unauthenticated,
                                .ngroups = 1 };
    return true;
}

static bool in_group(const struct call *c, const char *group)
{
    for (size_t i = 0; i < c->who.ngroups; i++)
        if (str_is(c->who.groups[i], group))
            return true;
    return false;
}

static bool refuse_impersonation(struct call *c, str user)
{
    struct status *st = call_status(c);

    (void)status_forbidden(st, STR_NONE, STR("users"), user,
                           "User \"%.*s\" cannot impersonate resource \"users\" in API group "
                           "\"\" at the cluster scope",
                           STR_ARG(c->who.user));
    call_fail(c, st);
    return false;
}

/* k8s: who names no groups has those that the name itself gives */
static size_t implied_groups(struct call *c, str user, str *groups)
{
    str prefix = STR("system:serviceaccount:");
    str account = str_from(user, prefix.n);
    ptrdiff_t colon = str_starts(user, prefix) ? str_find(account, ':', 0) : -1;

    if (colon <= 0)
        return 0;
    groups[0] = STR("system:serviceaccounts");
    groups[1] = str_printf(c->arena, "system:serviceaccounts:%.*s",
                           STR_ARG(str_sub(account, 0, (size_t)colon)));
    return 2;
}

/*
 * k8s: apiserver/pkg/endpoints/filters/impersonation.go.  Only system:masters may: they can do
 * everything anyway.
 */
bool impersonate(struct call *c)
{
    str user = call_header(c, "impersonate-user");
    str *groups;
    size_t n = 0;

    if (user.n == 0)
        return true;
    if (!in_group(c, "system:masters"))
        return refuse_impersonation(c, user);
    groups = arena_array(c->arena, str, c->nheaders + 3);
    for (size_t i = 0; i < c->nheaders; i++)
        if (str_is(c->headers[i].name, "impersonate-group"))
            groups[n++] = c->headers[i].value;
    if (n == 0)
        n = implied_groups(c, user, groups);
    groups[n++] = str_is(user, "system:anonymous") ? STR("system:unauthenticated")
                                                   : STR("system:authenticated");
    c->who = (struct identity){
        .user = user, .uid = call_header(c, "impersonate-uid"), .groups = groups, .ngroups = n
    };
    return true;
}

/* k8s: ClusterRole system:public-info-viewer */
static bool is_public(const struct call *c)
{
    static const char *const paths[] = { "/healthz", "/livez", "/readyz", "/version" };

    if (c->info.is_resource || c->info.instance.n || !str_is(c->info.verb, "get"))
        return false;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (str_is(c->info.path, paths[i]))
            return true;
    return false;
}

static int forbidden(const struct call *c, struct status *st)
{
    const struct reqinfo *i = &c->info;
    str sub = i->subresource.n ? str_printf(st->arena, "/%.*s", STR_ARG(i->subresource)) : STR_NONE;
    str scope = i->namespace_.n
                    ? str_printf(st->arena, "in the namespace \"%.*s\"", STR_ARG(i->namespace_))
                    : STR("at the cluster scope");

    if (!i->is_resource)
        return status_forbidden(st, STR_NONE, STR_NONE, STR_NONE,
                                "User \"%.*s\" cannot %.*s path \"%.*s\"", STR_ARG(c->who.user),
                                STR_ARG(i->verb), STR_ARG(i->path));
    return status_forbidden(st, i->group, i->resource, i->name,
                            "User \"%.*s\" cannot %.*s resource \"%.*s%.*s\" in API group \"%.*s\" "
                            "%.*s",
                            STR_ARG(c->who.user), STR_ARG(i->verb), STR_ARG(i->resource),
                            STR_ARG(sub), STR_ARG(i->group), STR_ARG(scope));
}

bool authorize(struct call *c)
{
    struct status *st;

    if (in_group(c, "system:masters") || is_public(c))
        return true;
    st = call_status(c);
    st->empty_details = true; /* of a path, which has none */
    (void)forbidden(c, st);
    call_fail(c, st);
    return false;
}
