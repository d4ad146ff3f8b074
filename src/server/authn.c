/* SPDX-License-Identifier: Apache-2.0 */

/* Who is calling: a client certificate gives user and groups. */

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
