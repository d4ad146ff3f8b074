/* SPDX-License-Identifier: Apache-2.0 */

/* Acting for another. */

#include "base/banned.h"
#include "server/internal.h"

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
    if (!identity_in_group(&c->who, "system:masters"))
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
