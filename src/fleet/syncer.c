/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/rand.h"
#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"

enum {
    IN_FLIGHT = 32,
    RETRY_MS = 250,
    IDLE_MS = 60000,
    RETRY_DOUBLINGS = 10,
    SILENCE_MS = 500,      /* until somebody who did not answer is asked again, doubled … */
    SILENCE_DOUBLINGS = 6, /* … up to half a minute */
    SUSPENDED_MS = 60000,  /* until what may not be written is looked at again */
    NEWS_MS = 5,           /* until what came meanwhile is looked at */
    CALL_MS = 15000, /* the answer to one request; a member that hangs holds its places so long */
};

/* ---- metrics: of all syncers of the process together ---- */

METRIC(objects, METRIC_GAUGE, "kairship_syncer_objects",
       "Works and labelled objects that syncers look after.")
METRIC(queued, METRIC_GAUGE, "kairship_syncer_queue_depth", "Objects that wait for their turn.")
METRIC(failing, METRIC_GAUGE, "kairship_syncer_failing",
       "Objects that could not be applied in their member, and are tried again.")
METRIC_BY(writes, METRIC_COUNTER, "kairship_syncer_writes_total", "Writes of syncers.", "to",
          "instance", "member")
METRIC(failures_total, METRIC_COUNTER, "kairship_syncer_failures_total",
       "Attempts of syncers that failed.")

void sync_wrote(struct syncer *s, bool to_member)
{
    metric_add_at(&writes, to_member, 1);
    if (to_member)
        s->stats.writes++;
    else
        s->stats.status_writes++;
}

static void set_failures(struct item *i, unsigned n)
{
    metric_add(&failing, (n > 0) - (i->failures > 0));
    i->failures = n;
}

static void count_queued(struct syncer *s, int n)
{
    s->nqueued += (size_t)n;
    metric_add(&queued, n);
}

/* ---- items ---- */

static void on_item_timer(struct loop_timer *t)
{
    sync_item_wake((struct item *)(void *)t, true);
}

struct item *sync_item_new(struct syncer *s, struct sync_feed *feed, str key)
{
    struct item *i = mem_zalloc(sizeof(*i) + key.n);

    i->timer.fn = on_item_timer;
    i->syncer = s;
    i->feed = feed;
    memcpy(i + 1, key.p, key.n);
    i->key = (str){ (const char *)(i + 1), key.n };
    (void)map_put(feed ? &feed->items : &s->items, i->key, i);
    s->nobjects++;
    metric_add(&objects, 1);
    return i;
}

static void item_free(struct item *i)
{
    loop_timer_cancel(i->syncer->loop, &i->timer);
    for (size_t n = 0; n < i->ntargets; n++)
        sync_target_free(i->targets[n]);
    free(i->targets);
    sync_news_release(i);
    set_failures(i, 0);
    i->syncer->nobjects--;
    metric_add(&objects, -1);
    free(i);
}

static void forget(struct item *i)
{
    assert(i->state == ITEM_IDLE);
    (void)map_remove(i->feed ? &i->feed->items : &i->syncer->items, i->key);
    item_free(i);
}

static void enqueue(struct item *i)
{
    struct syncer *s = i->syncer;

    i->state = ITEM_QUEUED;
    i->next = NULL;
    *s->last = i;
    s->last = &i->next;
    count_queued(s, 1);
}

void sync_item_wake(struct item *i, bool at_once)
{
    if (i->state == ITEM_RUNNING) {
        i->dirty = i->dirty || at_once;
        return;
    }
    if (i->state == ITEM_QUEUED || (i->state == ITEM_WAITING && !at_once && !i->calm))
        return;
    loop_timer_cancel(i->syncer->loop, &i->timer);
    enqueue(i);
    syncer_pump(i->syncer);
}

static void item_wait(struct item *i, int64_t ms, bool calm)
{
    i->state = ITEM_WAITING;
    i->calm = calm;
    loop_timer_set(i->syncer->loop, &i->timer, ms);
}

static bool is_drifted(const struct item *i)
{
    for (size_t n = 0; n < i->ntargets; n++)
        if (i->targets[n]->drifted)
            return true;
    return false;
}

void sync_item_wake_after(struct item *i, int64_t ms)
{
    if (ms == 0)
        sync_item_wake(i, false);
    else if (i->state == ITEM_IDLE || (i->state == ITEM_WAITING && i->calm &&
                                       loop_now_ms(i->syncer->loop) + ms < i->timer.at_ms))
        item_wait(i, ms, !is_drifted(i));
}

/* Half of it is chance, so that what failed together does not come again together. */
int64_t sync_growing(int64_t base, unsigned times, unsigned most)
{
    int64_t ms = base << (times < most ? times : most);

    return ms / 2 + rand_below((uint32_t)(ms / 2 + 1));
}

struct client_ref sync_source_ref(const struct syncer *s, const struct item *i)
{
    struct client_ref ref = { .instance = s->o.instance };

    if (i->feed) {
        ref.group = i->feed->type.group;
        ref.version = i->feed->type.version;
        ref.resource = i->feed->type.resource;
        sync_split_key(i->key, &ref.namespace, &ref.name);
        return ref;
    }
    ref.group = STR("work.karmada.io");
    ref.version = STR("v1alpha1");
    ref.resource = STR("works");
    ref.namespace = s->namespace;
    ref.name = i->key;
    return ref;
}

struct client_query sync_source_query(void)
{
    return (struct client_query){ .field_manager = STR("kairship") };
}

struct client_query sync_target_query(const struct syncer *s)
{
    return (struct client_query){ .field_manager = s->o.owner.name };
}

str syncer_now(const struct syncer *s, struct arena *a)
{
    char text[TIME_TEXT_SIZE] = "";

    return str_dup(a, (str){ text, time_format_seconds(text, clock_wall_s(s->o.clock)) });
}

/* ---- jobs ---- */

bool sync_status_silent(const struct status *why)
{
    static const enum reason reasons[] = { REASON_UNAVAILABLE, REASON_TIMEOUT,
                                           REASON_SERVER_TIMEOUT, REASON_TOO_MANY_REQUESTS,
                                           REASON_UNAUTHORIZED };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (status_is(why, reasons[i]))
            return true;
    return false;
}

static void job_free(struct job *j)
{
    client_call_cancel(&j->call);
    *j->back = j->next;
    if (j->next)
        j->next->back = j->back;
    j->syncer->nrunning--;
    arena_free(j->arena);
    free(j);
}

static void heard(struct syncer *s);

static void on_answer(struct client_call *call, const struct json *object, const struct status *why)
{
    struct job *j = call->user;

    if (j->at_target == j->syncer->silent_target && (!why || !sync_status_silent(why)))
        heard(j->syncer);
    j->then(j, object, why);
}

static void ask(struct job *j, struct client *c, struct client_request req, bool unread,
                job_fn *then)
{
    req.timeout_ms = CALL_MS;
    j->call = (struct client_call){ .req = req, .arena = j->arena, .done = on_answer, .user = j };
    j->call.unparsed = unread;
    j->then = then;
    client_call(c, &j->call);
}

void sync_job_source(struct job *j, struct client_request req, job_fn *then)
{
    j->at_target = false;
    ask(j, j->syncer->o.source, req, false, then);
}

void sync_job_tell(struct job *j, struct client_request req, job_fn *then)
{
    j->at_target = false;
    ask(j, j->syncer->o.source, req, true, then);
}

void sync_job_target(struct job *j, struct client_request req, job_fn *then)
{
    if (j->syncer->mode == SYNCER_SUSPENDED && !str_is(req.method, "GET")) {
        j->again_ms = SUSPENDED_MS;
        sync_job_done(j);
        return;
    }
    j->at_target = true;
    j->ends = j->target ? j->target->ends : 0;
    ask(j, j->syncer->o.target, req, false, then);
}

/* How long until what is new of its targets is looked at; < 0: nothing is. */
static int64_t news_in(struct item *i)
{
    int64_t ms = -1;

    for (size_t n = 0; n < i->ntargets; n++) {
        const struct target *t = i->targets[n];
        int64_t wait = t->drifted ? sync_target_patience(t) : t->status ? sync_news_wait(i) : -1;

        if (wait >= 0 && (ms < 0 || wait < ms))
            ms = wait;
    }
    return ms;
}

/* Also a member that says something else each time has only so much of our time. */
void sync_job_done(struct job *j)
{
    struct item *i = j->item;
    struct syncer *s = j->syncer;
    int64_t again_ms = j->again_ms > 0 ? j->again_ms : news_in(i);

    job_free(j);
    set_failures(i, 0);
    i->lost = false;
    i->state = ITEM_IDLE;
    if (i->dirty)
        enqueue(i);
    else if (again_ms >= 0)
        item_wait(i, again_ms > NEWS_MS ? again_ms : NEWS_MS, !is_drifted(i));
    syncer_pump(s);
}

void sync_job_gone(struct job *j)
{
    struct item *i = j->item;
    struct syncer *s = j->syncer;

    job_free(j);
    i->state = ITEM_IDLE;
    if (i->dirty)
        enqueue(i); /* there is another of this name, perhaps */
    else
        forget(i);
    syncer_pump(s);
}

static void on_silence_over(struct loop_timer *t)
{
    struct syncer *s =
        (struct syncer *)(void *)((char *)t - __builtin_offsetof(struct syncer, silence));

    syncer_pump(s);
}

void sync_job_failed(struct job *j, const struct status *why)
{
    struct item *i = j->item;
    struct syncer *s = j->syncer;
    bool silent = sync_status_silent(why);

    s->stats.failures++;
    metric_add(&failures_total, 1);
    i->settled = false;
    i->lost = silent;
    i->state = ITEM_IDLE;
    if (silent && !s->silent) {
        s->silent_target = j->at_target;
        sync_beat_now(s->beat);
    }
    if (silent && !s->silence.slot)
        loop_timer_set(s->loop, &s->silence,
                       sync_growing(SILENCE_MS, s->silent++, SILENCE_DOUBLINGS));
    if (i->dirty && !silent)
        enqueue(i);
    else {
        item_wait(i, sync_growing(s->o.retry_ms, i->failures, RETRY_DOUBLINGS), false);
        set_failures(i, i->failures + 1);
    }
    job_free(j);
    syncer_pump(s);
}

/* ---- the queue ---- */

static void start_job(struct item *i)
{
    struct syncer *s = i->syncer;
    struct job *j = mem_zalloc(sizeof(*j));

    j->syncer = s;
    j->item = i;
    j->arena = arena_new();
    j->next = s->jobs;
    j->back = &s->jobs;
    if (s->jobs)
        s->jobs->back = &j->next;
    s->jobs = j;
    s->nrunning++;
    i->state = ITEM_RUNNING;
    i->dirty = false;
    if (i->feed)
        sync_label_start(j);
    else
        sync_work_start(j);
}

/* While somebody does not answer one job at a time tries. */
static bool may_start(const struct syncer *s)
{
    size_t most = s->silent ? 1 : s->o.in_flight;

    return !s->ended && s->mode != SYNCER_PAUSED && !s->silence.slot && s->nrunning < most;
}

void syncer_pump(struct syncer *s)
{
    while (s->first && may_start(s)) {
        struct item *i = s->first;

        s->first = i->next;
        if (!s->first)
            s->last = &s->first;
        count_queued(s, -1);
        start_job(i);
    }
}

static void wake_all(struct map *items, bool lost_only)
{
    size_t at = 0;
    void *v;
    str key;

    while (map_each(items, &at, &key, &v)) {
        struct item *i = v;

        if (i->state != ITEM_WAITING || (lost_only && !i->lost))
            continue;
        loop_timer_cancel(i->syncer->loop, &i->timer);
        set_failures(i, 0);
        enqueue(i);
    }
}

static void wake_waiting(struct syncer *s, bool lost_only)
{
    wake_all(&s->items, lost_only);
    for (struct sync_feed *f = s->feeds; f; f = f->next)
        wake_all(&f->items, lost_only);
    syncer_pump(s);
}

/* Who did not answer does again. */
static void heard(struct syncer *s)
{
    if (!s->silent)
        return;
    s->silent = 0;
    loop_timer_cancel(s->loop, &s->silence);
    sync_beat_now(s->beat);
    if (s->silent_target)
        sync_watches_nudge(s);
    wake_waiting(s, true);
}

void syncer_set_mode(struct syncer *s, enum syncer_mode mode)
{
    bool back = s->mode != mode && mode != SYNCER_PAUSED;

    s->mode = mode;
    if (!back)
        return;
    s->silent = 0;
    loop_timer_cancel(s->loop, &s->silence);
    sync_watches_nudge(s);
    wake_waiting(s, false);
}

/* ---- works as they come ---- */

static uint64_t work_version(const struct syncer *s, const struct json *work)
{
    const struct json *meta = json_get(work, STR("metadata"));
    int64_t generation = json_int(json_get(meta, STR("generation")), 0);
    bool deleting = json_get(meta, STR("deletionTimestamp"));

    if (!generation)
        return 0; /* each change may be one that counts */
    return sync_text_hash(s, json_get_str(meta, "uid")) + (uint64_t)generation * 2 + deleting;
}

void syncer_work(struct syncer *s, str name, const struct json *work)
{
    struct item *i = map_get(&s->items, name);
    uint64_t version = work ? work_version(s, work) : 0;

    if (i && version && version == i->version)
        return; /* what we wrote ourselves, mostly */
    if (!i && !work)
        return;
    if (!i)
        i = sync_item_new(s, NULL, name);
    i->version = version;
    i->settled = false;
    sync_item_wake(i, true);
}

static void on_work(void *arg, const struct informer_key *k, const struct json *now)
{
    syncer_work(arg, k->name, now);
}

static void on_work_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    syncer_work(arg, k->name, NULL);
}

void sync_works_watch(struct syncer *s)
{
    struct informer_options o = {
        .client = s->o.source,
        .ref = { .instance = s->o.instance,
                 .group = STR("work.karmada.io"),
                 .version = STR("v1alpha1"),
                 .resource = STR("works"),
                 .namespace = s->namespace },
        .added = on_work,
        .updated = on_work,
        .deleted = on_work_deleted,
        .arg = s,
    };

    s->works = informer_new(&o);
    informer_start(s->works);
}

/* ---- life ---- */

struct syncer *syncer_new(const struct syncer_options *o)
{
    struct syncer *s = mem_zalloc(sizeof(*s));

    assert(client_loop(o->source) == client_loop(o->target));
    assert(o->owner.name.n > 0);
    s->o = *o;
    s->arena = arena_new();
    s->loop = client_loop(o->source);
    s->o.instance = str_dup(s->arena, o->instance);
    s->o.logical = str_dup(s->arena, o->logical.n ? o->logical : o->instance);
    s->o.cluster = str_dup(s->arena, o->cluster);
    s->o.owner.name = str_dup(s->arena, o->owner.name);
    s->o.owner.installation = str_dup(s->arena, o->owner.installation);
    s->o.clock = o->clock ? o->clock : clock_real();
    s->o.in_flight = o->in_flight ? o->in_flight : IN_FLIGHT;
    s->o.retry_ms = o->retry_ms ? o->retry_ms : RETRY_MS;
    s->o.idle_ms = o->idle_ms ? o->idle_ms : IDLE_MS;
    s->o.types = NULL;
    s->namespace = karmada_execution_namespace(s->arena, o->cluster);
    s->k0 = rand_u64();
    s->k1 = rand_u64();
    s->last = &s->first;
    s->silence.fn = on_silence_over;
    if (o->feeds & SYNCER_LABELS)
        syncer_set_types(s, o->types, o->ntypes);
    return s;
}

void syncer_start(struct syncer *s)
{
    if ((s->o.feeds & SYNCER_WORKS) && s->o.told)
        sync_works_list(s);
    else if (s->o.feeds & SYNCER_WORKS)
        s->await = sync_await_new(s);
    if (s->o.beat_ms)
        s->beat = sync_beat_new(s);
}

static void leave_queue(struct syncer *s, const struct map *items)
{
    struct item **p = &s->first;

    while (*p) {
        struct item *i = *p;

        if (map_get(items, i->key) != i) {
            p = &i->next;
            continue;
        }
        *p = i->next;
        count_queued(s, -1);
    }
    s->last = p;
}

void sync_items_free(struct syncer *s, struct map *items)
{
    size_t at = 0;
    void *v;
    str key;

    for (struct job *j = s->jobs, *next; j; j = next) {
        next = j->next;
        if (map_get(items, j->item->key) == j->item)
            job_free(j);
    }
    leave_queue(s, items);
    while (map_each(items, &at, &key, &v))
        item_free(v);
    map_release(items);
}

void syncer_free(struct syncer *s)
{
    if (!s)
        return;
    s->ended = true;
    sync_beat_free(s->beat);
    sync_lister_free(s->lister);
    sync_await_free(s->await);
    informer_free(s->works);
    loop_timer_cancel(s->loop, &s->silence);
    sync_items_free(s, &s->items);
    syncer_set_types(s, NULL, 0);
    for (struct watch *w = s->watches, *next; w; w = next) {
        next = w->next;
        sync_watch_free(w);
    }
    for (struct mapping *m = s->mappings, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    sync_places_free(s);
    arena_free(s->arena);
    free(s);
}

struct syncer_stats syncer_stats(const struct syncer *s)
{
    struct syncer_stats out = s->stats;

    out.objects = s->nobjects;
    out.waiting = s->nqueued;
    out.running = s->nrunning;
    for (const struct watch *w = s->watches; w; w = w->next)
        out.watches++;
    return out;
}
