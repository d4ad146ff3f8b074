/* SPDX-License-Identifier: Apache-2.0 */
#include "client/leader.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"

/* k8s: client-go/tools/leaderelection: the defaults of all components, and their jitter of 1.2. */
enum { DURATION_MS = 15000, RENEW_MS = 10000, RETRY_MS = 2000, DURATION_MAX_S = 24 * 3600 };

enum step { STEP_GET, STEP_CREATE, STEP_UPDATE };

struct leader {
    struct leader_options o;
    struct arena *strings; /* of o */

    struct client_call call;
    struct arena *arena; /* of the call in flight */
    enum step step;
    int64_t sent_ms;

    struct arena *known;      /* of lease */
    const struct json *lease; /* as it was seen last, or NULL */
    bool fresh;               /* by a GET of this attempt */
    struct buf seen;          /* its spec as text */
    int64_t seen_ms;          /* when that changed last */

    struct loop_timer retry, deadline;
    bool leading, stopping;
    atomic_llong until_ms; /* leads until then; 0: does not lead */
    void (*done)(void *arg);
    void *done_arg;
};

static int64_t now_ms(const struct leader *l)
{
    return clock_now_ms(l->o.clock);
}

static struct loop *loop_of(const struct leader *l)
{
    return client_loop(l->o.client);
}

static str holder(const struct leader *l)
{
    return json_get_str(l->lease, "spec.holderIdentity");
}

static bool is_mine(const struct leader *l)
{
    return l->lease && str_eq(holder(l), l->o.identity);
}

/* ---- leading ---- */

static void lose(struct leader *l)
{
    if (!l->leading)
        return;
    l->leading = false;
    atomic_store(&l->until_ms, 0);
    loop_timer_cancel(loop_of(l), &l->deadline);
    l->o.stopped(l->o.arg);
}

/* The Lease says it is ours, by a request that began at sent_ms. */
static void renewed(struct leader *l)
{
    int64_t until = l->sent_ms + l->o.renew_ms, now = now_ms(l);

    if (until <= now)
        return; /* the answer took so long that others may be at it soon */
    atomic_store(&l->until_ms, until);
    loop_timer_set(loop_of(l), &l->deadline, until - now);
    if (l->leading)
        return;
    l->leading = true;
    l->o.started(l->o.arg);
}

static void on_deadline(struct loop_timer *t)
{
    struct leader *l = (struct leader *)((char *)t - __builtin_offsetof(struct leader, deadline));
    int64_t left = atomic_load(&l->until_ms) - now_ms(l);

    if (left > 0) {
        loop_timer_set(loop_of(l), &l->deadline, left);
        return;
    }
    log_warn("the lease could not be renewed in time", log_str("lease", l->o.name));
    lose(l);
}

bool leader_leads(struct leader *l)
{
    return atomic_load(&l->until_ms) > now_ms(l);
}

/* ---- the Lease ---- */

/* What an answer showed; the arena becomes ours. */
static void see(struct leader *l, struct arena *a, const struct json *lease)
{
    str spec = json_text(a, json_get(lease, STR("spec")));
    scoped_arena before = l->known;
    str was = holder(l);

    l->known = a;
    l->lease = lease;
    if (before && str_eq(spec, buf_str(&l->seen)))
        return;
    buf_clear(&l->seen);
    buf_str_append(&l->seen, spec);
    l->seen_ms = now_ms(l);
    if (l->o.changed && !is_mine(l) && (!before || !str_eq(was, holder(l))))
        l->o.changed(l->o.arg, holder(l));
}

static void forget(struct leader *l)
{
    arena_free(l->known);
    l->known = NULL;
    l->lease = NULL;
}

/* Whether another holds it, as far as we can know. */
static bool is_taken(const struct leader *l)
{
    int64_t s = json_int(json_path(l->lease, "spec.leaseDurationSeconds"), 0);

    if (s < 0 || s > DURATION_MAX_S)
        s = DURATION_MAX_S;
    return holder(l).n && !is_mine(l) && now_ms(l) < l->seen_ms + s * 1000;
}

static struct client_ref ref_of(const struct leader *l)
{
    return (struct client_ref){ .instance = l->o.instance,
                                .group = STR("coordination.k8s.io"),
                                .version = STR("v1"),
                                .resource = STR("leases"),
                                .namespace = l->o.namespace,
                                .name = l->o.name };
}

static const struct json *text_of(struct arena *a, str s)
{
    return json_box(a, json_of_str(s));
}

static const struct json *number_of(struct arena *a, int64_t i)
{
    return json_box(a, json_of_int(i));
}

static const struct json *wall_time(const struct leader *l, struct arena *a)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);

    return text_of(a, (str){ text, time_format_micro(text, clock_wall_us(l->o.clock)) });
}

/* k8s: leaderelection.go, tryAcquireOrRenew and release */
static const struct json *lease_as_wished(const struct leader *l, struct arena *a)
{
    const struct json *v = l->lease ? l->lease : &json_empty_object, *now = wall_time(l, a);
    int64_t changes = json_int(json_path(v, "spec.leaseTransitions"), 0);
    bool keep = is_mine(l) && !l->stopping;

    if (!l->lease) {
        v = json_set(a, v, "apiVersion", text_of(a, STR("coordination.k8s.io/v1")));
        v = json_set(a, v, "kind", text_of(a, STR("Lease")));
        v = json_set(a, v, "metadata.name", text_of(a, l->o.name));
        v = json_set(a, v, "metadata.namespace", text_of(a, l->o.namespace));
    } else if (!is_mine(l) && changes < INT32_MAX) {
        changes++;
    }
    v = json_set(a, v, "spec.holderIdentity",
                 text_of(a, l->stopping ? STR("") : str_dup(a, l->o.identity)));
    v = json_set(a, v, "spec.leaseDurationSeconds",
                 number_of(a, l->stopping ? 1 : l->o.duration_ms / 1000));
    if (!keep || !json_path(v, "spec.acquireTime"))
        v = json_set(a, v, "spec.acquireTime", now);
    v = json_set(a, v, "spec.renewTime", now);
    return json_set(a, v, "spec.leaseTransitions", number_of(a, changes));
}

/* ---- requests ---- */

static void on_answer(struct client_call *call, const struct json *object,
                      const struct status *why);

static void ask(struct leader *l, enum step step)
{
    struct client_ref ref = ref_of(l);
    struct arena *a = arena_new();

    l->arena = a;
    l->step = step;
    l->sent_ms = now_ms(l);
    l->call = (struct client_call){ .arena = a, .done = on_answer, .user = l };
    if (step == STEP_GET)
        l->call.req = client_request_get(a, &ref);
    else if (step == STEP_CREATE)
        l->call.req = client_request_create(a, &ref, NULL, lease_as_wished(l, a));
    else
        l->call.req = client_request_update(a, &ref, NULL, lease_as_wished(l, a));
    /* k8s: resourcelock.NewFromKubeconfig: so that one lost answer leaves time for another try */
    l->call.req.timeout_ms = l->o.renew_ms / 2;
    client_call(l->o.client, &l->call);
}

static void finish(struct leader *l)
{
    void (*done)(void *) = l->done;

    l->done = NULL;
    if (done)
        done(l->done_arg);
}

/* The attempt is over; the next comes later. */
static void rest(struct leader *l)
{
    int64_t ms = l->o.retry_ms;

    l->fresh = false;
    if (l->stopping) {
        finish(l);
        return;
    }
    if (!l->leading) /* so that candidates do not all come at once */
        ms += rand_below((uint32_t)(ms + ms / 5));
    loop_timer_set(loop_of(l), &l->retry, ms);
}

static void decide(struct leader *l)
{
    l->fresh = true;
    if (!is_mine(l) && holder(l).n)
        lose(l);
    if (l->stopping ? !is_mine(l) : is_taken(l))
        rest(l);
    else
        ask(l, STEP_UPDATE);
}

static void refused(struct leader *l, const struct status *why)
{
    if (l->step == STEP_GET && status_is(why, REASON_NOT_FOUND)) {
        if (!l->stopping && !(l->lease && is_taken(l))) {
            forget(l);
            ask(l, STEP_CREATE);
            return;
        } /* else its holder, who is not to blame that it was deleted, has time to notice */
    } else if (l->step == STEP_UPDATE && !l->fresh &&
               (status_is(why, REASON_CONFLICT) || status_is(why, REASON_NOT_FOUND))) {
        ask(l, STEP_GET); /* what we knew was old */
        return;
    } else if (!status_is(why, REASON_CONFLICT) && !status_is(why, REASON_ALREADY_EXISTS)) {
        log_warn("lease", log_str("lease", l->o.name), log_status(why));
    }
    rest(l);
}

static void on_answer(struct client_call *call, const struct json *object, const struct status *why)
{
    struct leader *l = call->user;
    struct arena *a = l->arena;

    l->arena = NULL;
    if (why) {
        refused(l, why);
        arena_free(a);
        return;
    }
    see(l, a, object);
    if (l->step == STEP_GET) {
        decide(l);
    } else if (l->stopping && is_mine(l)) {
        l->fresh = true; /* it was on its way when we were told to stop */
        ask(l, STEP_UPDATE);
    } else {
        if (is_mine(l))
            renewed(l);
        rest(l);
    }
}

/* k8s: the holder updates what it knows without asking first. */
static void attempt(struct leader *l)
{
    ask(l, l->leading && l->lease ? STEP_UPDATE : STEP_GET);
}

static void on_retry(struct loop_timer *t)
{
    struct leader *l = (struct leader *)((char *)t - __builtin_offsetof(struct leader, retry));

    if (l->stopping)
        finish(l);
    else
        attempt(l);
}

/* ---- life ---- */

static int64_t or_default(int64_t ms, int64_t otherwise)
{
    return ms ? ms : otherwise;
}

struct leader *leader_new(const struct leader_options *o)
{
    struct leader *l = mem_zalloc(sizeof(*l));
    struct arena *a = arena_new();

    l->strings = a;
    l->o = *o;
    l->o.clock = o->clock ? o->clock : clock_real();
    l->o.instance = str_dup(a, o->instance);
    l->o.namespace = str_dup(a, o->namespace);
    l->o.name = str_dup(a, o->name);
    l->o.identity = str_dup(a, o->identity);
    l->o.duration_ms = or_default(o->duration_ms, DURATION_MS);
    l->o.renew_ms = or_default(o->renew_ms, RENEW_MS);
    l->o.retry_ms = or_default(o->retry_ms, RETRY_MS);
    assert(l->o.identity.n && l->o.duration_ms >= 1000);
    assert(l->o.retry_ms < l->o.renew_ms && l->o.renew_ms < l->o.duration_ms);
    l->retry.fn = on_retry;
    l->deadline.fn = on_deadline;
    buf_init(&l->seen, 1 << 20);
    return l;
}

void leader_start(struct leader *l)
{
    attempt(l);
}

void leader_stop(struct leader *l, void (*done)(void *arg), void *arg)
{
    l->done = done;
    l->done_arg = arg;
    lose(l);
    loop_timer_cancel(loop_of(l), &l->retry);
    l->stopping = true;
    if (l->arena)
        return; /* its answer goes on from there */
    if (is_mine(l))
        ask(l, STEP_UPDATE);
    else
        loop_timer_set(loop_of(l), &l->retry, 0);
}

void leader_free(struct leader *l)
{
    if (!l)
        return;
    loop_timer_cancel(loop_of(l), &l->retry);
    loop_timer_cancel(loop_of(l), &l->deadline);
    client_call_cancel(&l->call);
    arena_free(l->arena);
    arena_free(l->known);
    buf_release(&l->seen);
    arena_free(l->strings);
    free(l);
}
