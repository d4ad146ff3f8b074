/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/standing.h"

#include <stdlib.h>

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/authz.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/mem.h"

struct preparation {
    struct worker_job job; /* first */
    struct rbac *rbac;
    uint32_t instance;
};

bool standing_guarded(const struct call *c)
{
    bool masters = identity_in_group(&c->who, "system:masters") && !c->standing.token &&
                   !c->standing.external && !c->impersonator.n;

    return !c->who.rights && !masters && !c->mount;
}

static bool untouched(const struct call *c, uint64_t since)
{
    const struct server *s = c->server;

    return (!c->standing.token || authn_token_untouched(s->tokens, c->standing.token, since)) &&
           (!c->standing.bootstrap ||
            authn_bootstrap_untouched(s->tokens, c->rest.instance.id, since)) &&
           people_untouched(s->people, since) &&
           rbac_untouched(s->rbac, c->rest.instance.id, since);
}

/* ---- finding out ---- */

static void prepare(struct worker_job *job)
{
    struct preparation *p = (struct preparation *)(void *)job;

    rbac_prepare(p->rbac, p->instance);
}

static void prepared(struct worker_job *job)
{
    free(job);
}

/* Once, however often it is asked for. */
static void prepare_rules(struct call *c)
{
    struct preparation *p = mem_zalloc(sizeof(*p));

    *p = (struct preparation){ .job = { .run = prepare, .done = prepared },
                               .rbac = c->server->rbac,
                               .instance = c->rest.instance.id };
    if (!workers_submit(c->server->workers, &p->job))
        free(p);
}

/* Asked for the next piece as well it would be a moving target: what is known of this one counts.
 */
static bool is_known(struct call *c, struct arena *a, uint64_t rev)
{
    bool reached = people_reached(c->server->people, rev);
    bool ready = rbac_is_ready(c->server->rbac, a, c->rest.instance.id);

    if (!reached)
        people_read(c->server->people);
    if (!ready && !c->standing.asked)
        prepare_rules(c);
    c->standing.asked = !ready;
    return reached && ready;
}

static bool has_credential(struct call *c, struct arena *a)
{
    struct status st;

    status_init(&st, a);
    if (c->standing.token &&
        authn_token_again(c->server->tokens, a, &c->rest.instance, c->standing.token, &st) < 0)
        return false;
    return !c->standing.external || people_admits(c->server->people, c->info.instance, &c->who);
}

static bool has_right(struct call *c, struct arena *a)
{
    struct identity who = c->who;

    people_entitle(c->server->people, a, &c->rest.instance, &who);
    return access_again(c, a, &who);
}

enum call_still standing_check(struct call *c, uint64_t rev)
{
    scoped_arena a = NULL;

    if (untouched(c, c->standing.rev))
        return CALL_STILL;
    if (c->standing.bootstrap || c->standing.by_webhook || c->impersonator.n)
        return CALL_NO_MORE;
    a = arena_new();
    if (!has_credential(c, a))
        return CALL_NO_MORE;
    if (!is_known(c, a, rev))
        return CALL_LATER;
    if (!has_right(c, a))
        return CALL_NO_MORE;
    c->standing.rev = rev;
    return CALL_STILL;
}
