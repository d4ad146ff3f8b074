/* SPDX-License-Identifier: Apache-2.0 */

/* The chain that every request passes, in its order. */

#include "apiserver/audit/audit.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/rbac_builtin.h"
#include "apiserver/auth/standing.h"
#include "apiserver/call/instance_limits.h"
#include "apiserver/call/internal.h"
#include "apiserver/flow/flow.h"
#include "apiserver/server/dispatch_check.h"
#include "apiserver/server/http_entry.h"
#include "apiserver/server/mount_requests.h"
#include "base/banned.h"
#include "base/log.h"
#include "base/uuid.h"

enum { AUDIT_ID_MAX = 64, REQUEST_MS = 60000 };

/* At a port of one instance its paths are the bare ones, and there are no others. */
static bool take_port(struct call *c)
{
    if (c->info.prefix.n)
        return false;
    c->info.instance = c->port;
    return true;
}

static bool filter_request_info(struct call *c)
{
    struct status *st = call_status(c);

    c->pretty = false;
    if (reqinfo_parse(c->arena, c->method, c->raw_path, c->query, &c->info, st) < 0) {
        call_fail(c, st);
        return false;
    }
    if (c->port.n && !take_port(c)) {
        not_found_page(c);
        return false;
    }
    if (str_is(c->info.instance, "*"))
        c->rest.instance = (struct instance){ .id = STORE_ALL, .name = STR("*") };
    else if (instance_find(rest_instances(c->server->rest), c->arena, c->info.instance,
                           &c->rest.instance, st) < 0)
        c->no_instance = st;
    c->rest.whose = whose_of(c->rest.instance.id, str_is(c->info.group, "coordination.k8s.io"));
    mount_take(c);
    return true;
}

static bool id_is_clean(str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] > '~')
            return false;
    return id.n > 0 && id.n <= AUDIT_ID_MAX;
}

/* Every answer names the request by an id: the caller's, or a new one. */
static bool filter_audit_id(struct call *c)
{
    str given = call_header(c, "audit-id");

    if (id_is_clean(given)) {
        c->audit_id = str_dup(c->arena, given); /* the log may come when the headers are gone */
    } else {
        char *id = arena_alloc(c->arena, UUID_SIZE);

        uuid_v4(id);
        c->audit_id = (str){ id, UUID_LEN };
    }
    call_header_add(c, STR("audit-id"), c->audit_id);
    return true;
}

static bool is_mutating(str verb)
{
    return !(str_is(verb, "get") || str_is(verb, "list") || str_is(verb, "watch"));
}

/* What is mounted waits for others that pass here: it has a limit of its own, and no queue. */
static bool filter_flow(struct call *c)
{
    struct server *s = c->server;
    bool too_many;

    c->mutating = c->info.is_resource && is_mutating(c->info.verb);
    too_many = atomic_fetch_add(call_counter(c), 1) >= s->max_reads && c->mount;
    c->in_flight = true;
    metrics_inflight(s->metrics, c->mutating, 1);
    if (!c->mount)
        return flow_admit(c);
    if (too_many)
        flow_refuse(c);
    return !too_many;
}

/* The instance's own share of it. */
static bool filter_instance_limits(struct call *c)
{
    struct limits *l = c->server->limits;
    const struct instance *i = &c->rest.instance;
    struct status *st;

    if (i->id == INSTANCE_ROOT)
        return true;
    st = call_status(c);
    if (limits_enter(l, i, &c->who, LIMITS_IN_FLIGHT, &c->counted, st) &&
        (!str_is(c->info.verb, "watch") ||
         limits_enter(l, i, &c->who, LIMITS_WATCHES, &c->counted_watch, st)))
        return true;
    call_fail(c, st);
    return false;
}

/* k8s: everything but a watch is answered within a minute; ?timeout= makes it less. */
static bool filter_deadline(struct call *c)
{
    struct status *st = call_status(c);
    int64_t ms = 0;

    if (c->query.n && !c->mount && !str_is(c->info.verb, "watch") &&
        query_timeout(c->arena, c->query, &ms, st) < 0) {
        call_fail(c, st);
        return false;
    }
    if (ms <= 0 || ms > REQUEST_MS)
        ms = REQUEST_MS;
    c->deadline_ms = loop_now_ms(c->loop) + ms;
    c->rest.deadline_ms = c->deadline_ms;
    if (c->mutating && !c->home) /* who has a thread of its own may wait for the disk */
        timeout_watch(c);
    return true;
}

static bool filter_dispatch(struct call *c)
{
    dispatch(c);
    return false;
}

/* The order is the specification. */
static const struct call_step steps[] = {
    { "audit-id", filter_audit_id },         /* first: refused requests have an id, too */
    { "request-info", filter_request_info }, /* all later ones read it */
    { "catch-up", catch_up }, /* what is acknowledged counts for all steps that follow */
    { "authenticate", authenticate },
    { "entitle", entitle },         /* adds the group of the caller's role in this instance */
    { "audit", audit_begin },       /* records the real caller, and all refusals from here on */
    { "impersonate", impersonate }, /* before authorize, which checks the impersonated user */
    { "entitle", entitle },         /* for the impersonated user */
    { "flow", filter_flow },
    { "instance-limits", filter_instance_limits },
    { "authorize", authorize },
    { "suspension", suspension }, /* after authorize, too: to callers who could write here */
    { "fence", fence }, /* after authorize: it tells about leases, to callers who may write here */
    { "deadline", filter_deadline },
    { "dispatch", filter_dispatch },
};

enum { STEPS = sizeof(steps) / sizeof(*steps) };

static void body(struct call *c, const str *pieces, size_t npieces)
{
    if (c->audit)
        audit_body(c, pieces, npieces);
}

static void failed(struct call *c, const struct status *st)
{
    if (c->audit)
        audit_failed(c, st);
}

static void leave_watches(struct call *c)
{
    if (c->counted_watch)
        limits_leave(c->server->limits, c->rest.instance.id, LIMITS_WATCHES);
    c->counted_watch = false;
}

static void answered(struct call *c, int code)
{
    if (!c->watching)
        leave_watches(c);
    if (c->audit)
        audit_answered(c, code);
}

static void left(struct call *c)
{
    if (c->counted)
        limits_leave(c->server->limits, c->rest.instance.id, LIMITS_IN_FLIGHT);
    c->counted = false;
    flow_done(c);
}

static void watch_ended(struct call *c)
{
    leave_watches(c);
    if (c->audit)
        audit_ended(c);
}

static const struct rbac_role *rights(const struct server *s, str user)
{
    return rbac_builtins_find(s->builtins, user);
}

const struct call_chain server_chain = { .steps = steps,
                                         .nsteps = STEPS,
                                         .body = body,
                                         .failed = failed,
                                         .refuse = mount_refuse,
                                         .answered = answered,
                                         .left = left,
                                         .watch_ended = watch_ended,
                                         .guarded = standing_guarded,
                                         .still = standing_check,
                                         .rights = rights };

int chain_check(struct status *st)
{
    static const char *const order[] = { "authenticate", "impersonate", "authorize", "dispatch" };
    size_t at = 0;

    for (size_t i = 0; i < STEPS; i++)
        at += at < sizeof(order) / sizeof(*order) && strcmp(steps[i].name, order[at]) == 0;
    if (at < sizeof(order) / sizeof(*order) || steps[STEPS - 1].fn != filter_dispatch)
        return status_set(st, REASON_INTERNAL, "the chain does not authorize what it dispatches");
    return 0;
}
