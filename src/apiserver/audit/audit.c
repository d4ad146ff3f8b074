/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/audit/audit_event.h"
#include "apiserver/audit/audit_log.h"
#include "apiserver/audit/audit_records.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"

#define DECISION "authorization.k8s.io/decision"
#define REASON   "authorization.k8s.io/reason"
#define INSTANCE "kairship.io/instance"
#define EVENT    "kairship.io/event"

struct audit {
    struct audit_policy *policy;
    struct audit_log *log;         /* or NULL */
    struct audit_webhook *webhook; /* or NULL */
    struct audit_records *records; /* or NULL */
    bool blocking, webhook_blocking;
    _Atomic uint64_t log_errors, webhook_errors, record_errors, rejected;
};

enum { TOO_MANY = 429 };

/* What is known of a call so far; in its arena. */
struct audit_call {
    struct audit_event event;
    struct identity user;   /* as authenticated */
    str name, instance_uid; /* of the record's event, empty: there is none; of its instance */
    const str *pieces;      /* of the answer, while it is given */
    size_t npieces;
    bool refused;
};

struct audit *audit_new(const struct audit_options *o, struct status *st)
{
    struct audit *a = mem_zalloc(sizeof(*a));
    str text = o->policy.n ? o->policy : str_of(audit_policy_default);

    a->blocking = o->blocking;
    a->webhook_blocking = o->webhook_blocking;
    a->policy = audit_policy_new(text, st);
    if (a->policy && o->log.path)
        a->log = audit_log_new(&o->log, st);
    if (a->policy && o->webhook.config && (a->log || !o->log.path))
        a->webhook = audit_webhook_new(&o->webhook, st);
    if (a->policy && (a->log || !o->log.path) && (a->webhook || !o->webhook.config))
        return a;
    audit_free(a);
    return NULL;
}

void audit_free(struct audit *a)
{
    size_t lost;

    if (!a)
        return;
    audit_close_records(a);
    lost = audit_webhook_free(a->webhook);
    if (lost)
        log_error("audit events were not sent", log_uint("events", lost));
    lost = audit_log_free(a->log);
    if (lost)
        log_error("audit events were lost", log_uint("events", lost));
    audit_policy_free(a->policy);
    free(a);
}

int audit_open_records(struct audit *a, struct rest *r, const struct kind *k, struct status *st)
{
    a->records = audit_records_new(r, k, st);
    return a->records ? 0 : -1;
}

void audit_close_records(struct audit *a)
{
    size_t lost = audit_records_free(a->records);

    a->records = NULL;
    if (lost)
        log_error("records of what people did were lost", log_uint("records", lost));
}

void audit_stats(const struct audit *a, struct metrics_audit *out)
{
    *out = (struct metrics_audit){ .log_errors = atomic_load(&a->log_errors),
                                   .webhook_errors = atomic_load(&a->webhook_errors),
                                   .record_errors = atomic_load(&a->record_errors),
                                   .has_webhook = a->webhook,
                                   .has_records = a->records,
                                   .rejected = atomic_load(&a->rejected) };
    if (a->webhook)
        out->webhook_errors += audit_webhook_given_up(a->webhook);
}

/* ---- events ---- */

/* What is mounted says itself what it does, as far as it is known yet. */
static const struct reqinfo *about(const struct call *c)
{
    return c->deed ? &c->deed->info : &c->info;
}

static void add_event(struct audit_event *e, const struct call *c)
{
    if (e->info->instance.n)
        audit_note(e, STR(INSTANCE), e->info->instance);
    if (c->audit->name.n)
        audit_note(e, STR(EVENT), c->audit->name);
}

/* What admission says, the oldest first: of several with one key the first counts. */
static void add_notes(struct audit_event *e, const struct rest_note *n)
{
    const struct rest_note *all[AUDIT_NOTES];
    size_t count = 0;

    for (; n && count < AUDIT_NOTES; n = n->next)
        all[count++] = n;
    while (count > 0) {
        count--;
        audit_note(e, all[count]->key, all[count]->value);
    }
}

/* k8s: apiserver/pkg/audit/request.go LogRequestObject */
static void add_object(struct audit_event *e, const struct call *c)
{
    const struct json *meta;

    e->sent = c->rest.sent;
    if (!e->sent || (!str_is(c->info.verb, "create") && !str_is(c->info.verb, "update")))
        return;
    meta = json_get(e->sent, STR("metadata"));
    e->name = json_str(json_get(meta, STR("name")));
    e->namespace_ = json_str(json_get(meta, STR("namespace")));
    e->uid = json_str(json_get(meta, STR("uid")));
    e->revision = json_str(json_get(meta, STR("resourceVersion")));
}

static void add_answer(struct call *c, struct audit_call *ac)
{
    scoped_buf b = { .max = AUDIT_EVENT_MAX };

    ac->event.answered = STR_NONE;
    if (ac->event.decision.level < AUDIT_REQUEST_RESPONSE)
        return;
    for (size_t i = 0; i < ac->npieces; i++)
        buf_str_append(&b, ac->pieces[i]);
    if (!buf_overflown(&b))
        ac->event.answered = str_dup(c->arena, buf_str(&b));
}

static void hand_over(struct audit *a, str line)
{
    struct bytes *b = bytes_new(line.n);

    memcpy(b->p, line.p, line.n);
    if (a->log && !audit_log_put(a->log, b))
        atomic_fetch_add_explicit(&a->log_errors, 1, memory_order_relaxed);
    if (a->webhook && !audit_webhook_put(a->webhook, b))
        atomic_fetch_add_explicit(&a->webhook_errors, 1, memory_order_relaxed);
    bytes_unref(b);
}

/* Of a back end that nothing may be lost of. */
static bool has_room(struct audit *a)
{
    return (!a->blocking || !a->log || audit_log_has_room(a->log)) &&
           (!a->blocking || !a->records || audit_records_have_room(a->records)) &&
           (!a->webhook_blocking || !a->webhook || audit_webhook_has_room(a->webhook));
}

/* ---- records ---- */

/* The name of the instance that the call is about. */
static str instance_of(const struct audit_event *e)
{
    if (e->info->instance.n)
        return e->info->instance;
    if (!str_is(e->info->group, "tenancy.kairship.io") || !str_is(e->info->resource, "instances"))
        return STR_NONE;
    return e->info->name.n ? e->info->name : e->name;
}

/* While it is there: before it is deleted, after it was created. */
static void find_instance(struct call *c)
{
    struct audit_call *ac = c->audit;
    struct instance found;
    struct status st;

    if (!ac->name.n || ac->instance_uid.n || !instance_of(&ac->event).n)
        return;
    status_init(&st, c->arena);
    if (instance_find(rest_instances(c->server->rest), c->arena, instance_of(&ac->event), &found,
                      &st) == 0)
        ac->instance_uid = found.uid;
}

/* Who logs in is known when it is over. */
static str person_of(const struct call *c)
{
    for (const struct rest_note *n = c->rest.notes; n; n = n->next)
        if (str_is(n->key, AUDIT_LOGIN))
            return n->value;
    return c->audit->user.user;
}

/* Anonymous requests are not recorded here, except logins. */
static bool by_somebody(const struct audit_call *ac)
{
    return !ac->refused && (!identity_in_group(&ac->user, "system:unauthenticated") ||
                            str_is(ac->name, AUDIT_LOGIN_EVENT));
}

static void record(struct call *c)
{
    struct audit *a = c->server->audit;
    struct audit_call *ac = c->audit;
    struct audit_record more;

    ac->name = audit_records_event(c, ac->user.user, ac->event.name);
    if (!a->records || !ac->name.n || !by_somebody(ac))
        return;
    if (ac->event.code == TOO_MANY && !c->outcome) /* what a mount has begun is recorded */
        return;
    find_instance(c);
    more =
        (struct audit_record){ ac->name, person_of(c), instance_of(&ac->event), ac->instance_uid };
    if (!audit_records_put(a->records, c->arena, &ac->event, &more))
        atomic_fetch_add_explicit(&a->record_errors, 1, memory_order_relaxed);
}

/* ---- events ---- */

static void emit(struct call *c, enum audit_stage stage, int code)
{
    struct audit_call *ac = c->audit;
    struct audit_event *e = &ac->event;
    scoped_buf line = { .max = AUDIT_EVENT_MAX };

    e->stage = stage;
    e->stage_us = stage == AUDIT_RECEIVED ? e->received_us : clock_wall_us(c->server->clock);
    e->code = code;
    if (c->impersonator.n)
        e->impersonated = &c->who;
    if (stage != AUDIT_RECEIVED)
        add_object(e, c);
    if (stage == AUDIT_COMPLETE)
        record(c);
    if (e->decision.level == AUDIT_NONE || e->decision.omitted & 1U << stage)
        return;
    if (stage != AUDIT_RECEIVED) {
        add_event(e, c);
        add_notes(e, c->rest.notes);
        add_answer(c, ac);
    }
    audit_event_print(c->arena, e, &line);
    metrics_audit_event(c->server->metrics);
    hand_over(c->server->audit, buf_str(&line));
}

/* ---- the chain ---- */

static void begin(struct call *c, struct audit_decision d, bool known)
{
    struct audit_call *ac = arena_new_of(c->arena, struct audit_call);
    struct audit_event *e = &ac->event;
    str agent = call_header(c, "user-agent");

    ac->user = c->who;
    ac->refused = !known;
    e->decision = d;
    e->id = c->audit_id;
    e->path = c->raw_path;
    e->query = c->query;
    e->info = about(c);
    e->user = known ? &ac->user : NULL;
    e->received_us = c->began_us;
    /* Headers may be gone when it is answered. */
    e->agent = agent.n > AUDIT_AGENT_MAX
                   ? str_printf(c->arena, "%.*s...TRUNCATED", AUDIT_AGENT_MAX, agent.p)
                   : str_dup(c->arena, agent);
    audit_sources(e, str_dup(c->arena, call_header(c, "x-forwarded-for")),
                  str_dup(c->arena, call_header(c, "x-real-ip")), str_dup(c->arena, c->remote));
    c->audit = ac;
    ac->name = audit_records_event(c, c->who.user, STR_NONE);
    find_instance(c);
}

static struct audit_decision decide(struct call *c, bool known)
{
    struct audit_decision d =
        audit_policy_decide(c->server->audit->policy, known ? &c->who : NULL, about(c));

    metrics_audit_level(c->server->metrics, d.level);
    return d;
}

bool audit_begin(struct call *c)
{
    struct audit *a = c->server->audit;
    struct audit_decision d;
    struct status *st;

    if (!a)
        return true;
    d = decide(c, true);
    if (d.level == AUDIT_NONE && !audit_records_event(c, c->who.user, STR_NONE).n)
        return true;
    if (has_room(a)) {
        begin(c, d, true);
        emit(c, AUDIT_RECEIVED, 0);
        return true;
    }
    atomic_fetch_add_explicit(&a->rejected, 1, memory_order_relaxed);
    st = call_status(c);
    st->retry_after_s = 1;
    (void)status_set(st, REASON_UNAVAILABLE, "the audit takes no more events at this moment");
    call_fail(c, st);
    return false;
}

/* k8s: endpoints/filters/authn_audit.go */
void audit_begin_refused(struct call *c)
{
    struct audit_decision d;
    bool bearer = call_header(c, "authorization").n > 0;

    if (!c->server->audit)
        return;
    d = decide(c, false);
    if (d.level == AUDIT_NONE)
        return;
    begin(c, d, false);
    c->audit->event.message = bearer && c->peer
                                  ? STR("Authentication failed, attempted: bearer, x509")
                              : bearer  ? STR("Authentication failed, attempted: bearer")
                              : c->peer ? STR("Authentication failed, attempted: x509")
                                        : STR("Authentication failed, no credentials provided");
}

void audit_told(struct call *c)
{
    find_instance(c);
}

void audit_decided(struct call *c, bool allowed, str reason)
{
    audit_note(&c->audit->event, STR(DECISION), allowed ? STR("allow") : STR("forbid"));
    audit_note(&c->audit->event, STR(REASON), reason);
}

void audit_failed(struct call *c, const struct status *why)
{
    c->audit->event.failure = why;
}

void audit_body(struct call *c, const str *pieces, size_t npieces)
{
    c->audit->pieces = pieces;
    c->audit->npieces = npieces;
}

void audit_answered(struct call *c, int code)
{
    emit(c, c->watching || c->audit->refused ? AUDIT_STARTED : AUDIT_COMPLETE, code);
    c->audit->npieces = 0;
}

void audit_ended(struct call *c)
{
    emit(c, AUDIT_COMPLETE, c->outcome ? c->outcome : c->code);
}
