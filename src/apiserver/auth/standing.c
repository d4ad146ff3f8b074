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

bool standing_guarded(struct call *c)
{
    struct call_standing *s = &c->standing;
    bool masters = identity_in_group(&c->who, "system:masters") && !s->token && !s->external &&
                   !c->impersonator.n;

    s->keys = keys_generation(c->server->keys);
    s->ends_ms = INT64_MAX;
    if (s->token) /* by the clock of the loop, which costs nothing to ask */
        s->ends_ms = loop_now_ms(c->loop) +
                     (authn_token_expires_s(s->token) - clock_wall_s(c->server->clock)) * 1000;
    return !c->who.rights && !masters && !c->mount;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of a token that is not from this instance: whether something was touched at its home. */
static bool is_home_quiet(const struct call *c)
{
    const struct token_entry *e = c->standing.token;

    return !e || authn_token_home(e) == c->rest.instance.id ||
           authn_token_touched(c->server->tokens, authn_token_home(e)) <= c->standing.rev;
}

/*
 * Whether none of all these types was touched in the instance: one event goes to many, and the
 * answer is the same for all of them.
 */
static bool is_quiet(const struct call *c, uint64_t rev)
{
    static _Thread_local struct {
        const struct server *server;
        uint64_t rev, touched, keys;
        uint32_t instance;
    } last;
    const struct server *s = c->server;
    uint32_t instance = c->rest.instance.id;

    if (last.server != s || last.rev != rev || last.instance != instance) {
        last.server = s;
        last.rev = rev;
        last.instance = instance;
        last.keys = keys_generation(s->keys);
        last.touched = later(people_touched(s->people), rbac_touched(s->rbac, instance));
        last.touched = later(last.touched, authn_token_touched(s->tokens, instance));
    }
    return last.touched <= c->standing.rev && last.keys == c->standing.keys && is_home_quiet(c);
}

static bool is_untouched(const struct call *c, uint64_t since)
{
    const struct server *s = c->server;
    uint32_t instance = c->rest.instance.id;

    return (!c->standing.token || authn_token_untouched(s->tokens, c->standing.token, since)) &&
           (!c->standing.bootstrap || authn_bootstrap_untouched(s->tokens, instance, since)) &&
           later(people_touched(s->people), rbac_touched(s->rbac, instance)) <= since;
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

/* That of a login is the root instance, wherever it is used. */
static bool has_token(struct call *c, struct arena *a)
{
    const struct instance root = { .id = INSTANCE_ROOT, .uid = c->server->root_uid };
    bool here = authn_token_home(c->standing.token) == c->rest.instance.id;
    struct status st;

    status_init(&st, a);
    return authn_token_again(c->server->tokens, a, here ? &c->rest.instance : &root,
                             c->standing.token, &st) == 0;
}

static bool has_credential(struct call *c, struct arena *a)
{
    if (c->standing.token && !has_token(c, a))
        return false;
    return !c->standing.external || people_admits(c->server->people, c->info.instance, &c->who);
}

static bool has_right(struct call *c, struct arena *a)
{
    struct identity who = c->who;

    people_entitle(c->server->people, a, &c->rest.instance, &who);
    return access_again(c, a, &who);
}

static enum call_still find_out(struct call *c, uint64_t rev)
{
    scoped_arena a = NULL;

    if (is_untouched(c, c->standing.rev))
        return CALL_STILL;
    if (c->standing.bootstrap || c->standing.by_webhook || c->impersonator.n)
        return CALL_NO_MORE;
    a = arena_new();
    if (!has_credential(c, a))
        return CALL_NO_MORE;
    if (!is_known(c, a, rev))
        return CALL_LATER;
    return has_right(c, a) ? CALL_STILL : CALL_NO_MORE;
}

enum call_still standing_check(struct call *c, uint64_t rev)
{
    enum call_still found;
    uint64_t keys;

    if (loop_now_ms(c->loop) >= c->standing.ends_ms)
        return CALL_NO_MORE;
    if (is_quiet(c, rev))
        return CALL_STILL;
    keys = keys_generation(c->server->keys);
    found = find_out(c, rev);
    if (found == CALL_STILL) {
        c->standing.rev = later(rev, c->standing.rev);
        c->standing.keys = keys;
    }
    return found;
}
