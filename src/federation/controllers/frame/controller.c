/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "client/finalizer.h"
#include "client/workqueue.h"

enum {
    LOG_AFTER = 3, /* failures of a key before they are worth a warning: conflicts are normal */
    MEMBERS_MAX = 64,
    WORKERS_MAX = 16,
    NAMES_MAX = 128, /* of controllers */
};

METRIC(reconciles, METRIC_COUNTER, "kairship_reconciles_total", "Reconciliations by controllers.")
METRIC(failures, METRIC_COUNTER, "kairship_reconcile_failures_total",
       "Reconciliations that failed and are tried again.")
METRIC_HISTOGRAM_OF(durations, "kairship_reconcile_duration_seconds",
                    "How long reconciliations take, with what they wait for.", 1000000, 1000, 5000,
                    25000, 100000, 500000, 2000000, 10000000, 60000000)

/* The queues of controllers, by name; a simulation has many of one name. */
static struct {
    pthread_mutex_t mu; /* of adding */
    _Atomic size_t n;
    struct queue_counts {
        const char *name;
        metric_slot waiting, failing;
    } rows[NAMES_MAX];
} queues = { .mu = PTHREAD_MUTEX_INITIALIZER };

static void read_queues(struct buf *out, const struct metric_spec *spec, size_t offset)
{
    metric_head(out, spec);
    for (size_t i = 0; i < atomic_load(&queues.n); i++) {
        const char *at = (const char *)&queues.rows[i] + offset;
        str name = str_of(queues.rows[i].name);

        metric_row(out, spec, &name, atomic_load((const metric_slot *)(const void *)at));
    }
}

static void read_waiting(struct buf *out, const struct metric_spec *spec)
{
    read_queues(out, spec, offsetof(struct queue_counts, waiting));
}
METRIC_READ(waiting, read_waiting, METRIC_GAUGE, "kairship_workqueue_depth",
            "Keys that wait for a worker of the controller.", "controller")

static void read_failing(struct buf *out, const struct metric_spec *spec)
{
    read_queues(out, spec, offsetof(struct queue_counts, failing));
}
METRIC_READ(failing, read_failing, METRIC_GAUGE, "kairship_workqueue_failing",
            "Keys whose last reconciliation failed.", "controller")

/* Who hears of an informer's changes.  Only the loop touches it. */
struct listener {
    struct listener *next; /* of the same source */
    struct listener *also; /* of the same controller */
    struct controller *controller;
    struct source *source;
    struct arena *arena; /* of what `what` points to; NULL: the spec's */
    struct controller_source what;
};

/* One informer and its listeners. */
struct source {
    struct source *next; /* guarded by the group's mu */
    struct client *client;
    struct informer *informer;
    struct listener
        *listeners; /* only its loop touches them; all have the same ref and selectors */
    bool told;      /* of an object; only its loop touches it */
};

struct controller {
    struct controller_group *group;
    struct controller_spec spec;
    struct client *client;
    struct workqueue *queue;
    struct listener *listeners; /* only its loop touches them */
    bool alone;                 /* the group is its own */
    /* guarded by the group's mu: */
    unsigned busy; /* so many workers are with it */
    bool deaf;     /* its informers tell it nothing more */
    bool leaving;
};

struct controller_group {
    pthread_t threads[WORKERS_MAX];
    unsigned nthreads;

    pthread_mutex_t mu;
    pthread_cond_t work;   /* there may be something to do */
    pthread_cond_t change; /* busy or deaf of a member */
    /* guarded by mu: */
    struct controller *members[MEMBERS_MAX];
    size_t n, next; /* who is asked first */
    uint64_t news;  /* grows whenever there may be something to do */
    bool stopping;
    struct source *sources;
};

/* ---- keys in ---- */

static void tell_workers(struct controller_group *g)
{
    (void)pthread_mutex_lock(&g->mu);
    g->news++;
    (void)pthread_mutex_unlock(&g->mu);
    (void)pthread_cond_signal(&g->work);
}

void controller_wake(struct controller *c, const struct informer_key *k)
{
    scoped_arena a = arena_new();
    struct informer_key instance = { .instance = k->instance };

    if (workqueue_add(c->queue, informer_key_text(a, c->spec.per_instance ? &instance : k)))
        tell_workers(c->group);
}

void controller_wake_after(struct controller *c, const struct informer_key *k, int64_t ms)
{
    scoped_arena a = arena_new();

    if (workqueue_add_after(c->queue, informer_key_text(a, k), ms))
        tell_workers(c->group);
}

/* Each finalizer that goes is a change, and of those with many each would look at each. */
static bool concerns(const struct controller_source *what, const struct json *object, bool deleted)
{
    if (!what->finalizer)
        return true;
    return !deleted && (!is_deleting(object) || finalizer_has(object, what->finalizer));
}

static void tell(struct source *s, const struct informer_key *k, const struct json *object,
                 bool deleted, bool status_only)
{
    s->told = true;
    for (struct listener *l = s->listeners; l; l = l->next)
        if ((status_only && l->what.spec_only) || !concerns(&l->what, object, deleted))
            continue;
        else if (l->what.map)
            l->what.map(l->controller->spec.arg, l->controller, k, object, deleted);
        else
            controller_wake(l->controller, k);
}

static void on_added(void *arg, const struct informer_key *k, const struct json *now)
{
    tell(arg, k, now, false, false);
}

static void on_updated(void *arg, const struct informer_key *k, const struct json *now)
{
    const struct source *s = arg;

    tell(arg, k, now, false, informer_status_only(s->informer));
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    tell(arg, k, last, true, false);
}

/* ---- informers, on the loop ---- */

static bool same_what(const struct controller_source *a, const struct controller_source *b)
{
    return str_eq(a->ref.instance, b->ref.instance) && str_eq(a->ref.group, b->ref.group) &&
           str_eq(a->ref.version, b->ref.version) && str_eq(a->ref.resource, b->ref.resource) &&
           str_eq(a->ref.namespace, b->ref.namespace) &&
           str_eq(a->label_selector, b->label_selector) &&
           str_eq(a->field_selector, b->field_selector);
}

/* Who maps wants to see the objects, and an informer that has told them does not have them. */
static bool fits(const struct source *s, const struct listener *l)
{
    return client_loop(s->client) == client_loop(l->controller->client) &&
           (!l->what.map || !s->told) && same_what(&s->listeners->what, &l->what);
}

static struct source *source_find(const struct listener *l)
{
    struct controller_group *g = l->controller->group;
    struct source *s;

    (void)pthread_mutex_lock(&g->mu);
    for (s = g->sources; s && !fits(s, l);)
        s = s->next;
    (void)pthread_mutex_unlock(&g->mu);
    return s;
}

static struct source *source_new(struct listener *l)
{
    struct controller_group *g = l->controller->group;
    struct source *s = mem_zalloc(sizeof(*s));
    struct informer_options o = { .client = l->controller->client,
                                  .ref = l->what.ref,
                                  .label_selector = l->what.label_selector,
                                  .field_selector = l->what.field_selector,
                                  .marks = true,
                                  .added = on_added,
                                  .updated = on_updated,
                                  .deleted = on_deleted,
                                  .arg = s };

    s->client = l->controller->client;
    s->informer = informer_new(&o);
    informer_start(s->informer);
    (void)pthread_mutex_lock(&g->mu);
    s->next = g->sources;
    g->sources = s;
    (void)pthread_mutex_unlock(&g->mu);
    return s;
}

static void source_free(struct controller_group *g, struct source *s)
{
    struct source **at = &g->sources;

    (void)pthread_mutex_lock(&g->mu);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    (void)pthread_mutex_unlock(&g->mu);
    informer_free(s->informer);
    free(s);
}

/* What the others have been told already. */
static void catch_up(struct controller *c, struct source *s)
{
    scoped_arena a = arena_new();
    struct informer_key *known;
    size_t n;

    known = informer_keys(s->informer, a, &n);
    for (size_t i = 0; i < n; i++)
        controller_wake(c, &known[i]);
}

static void listener_free(struct listener *l)
{
    if (l->arena)
        arena_free(l->arena); /* with the listener */
    else
        free(l);
}

static bool is_known(const struct listener *l)
{
    for (const struct listener *o = l->controller->listeners; o; o = o->also)
        if (o->what.map == l->what.map && same_what(&o->what, &l->what))
            return true;
    return false;
}

static void join(void *arg)
{
    struct listener *l = arg;
    struct controller *c = l->controller;

    if (is_known(l)) {
        listener_free(l);
        return;
    }
    l->source = source_find(l);
    if (l->source)
        catch_up(c, l->source);
    else
        l->source = source_new(l);
    l->next = l->source->listeners;
    l->source->listeners = l;
    l->also = c->listeners;
    c->listeners = l;
}

static void nothing(void *arg)
{
    (void)arg;
}

/*
 * Until its list has been read, in process: it was asked for before the second message.  Who reads
 * then, not by the loop, finds all that will not be told as a change.
 */
static void join_and_wait(struct loop *loop, struct listener *l)
{
    loop_call_wait(loop, join, l);
    loop_call_wait(loop, nothing, NULL);
}

static void leave_source(struct controller_group *g, struct listener *l)
{
    struct listener **at = &l->source->listeners;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    if (!l->source->listeners)
        source_free(g, l->source);
}

static void leave(void *arg)
{
    struct controller *c = arg;
    struct controller_group *g = c->group;

    while (c->listeners) {
        struct listener *l = c->listeners;

        c->listeners = l->also;
        leave_source(g, l);
        listener_free(l);
    }
    (void)pthread_mutex_lock(&g->mu);
    c->deaf = true;
    (void)pthread_cond_broadcast(&g->change);
    (void)pthread_mutex_unlock(&g->mu);
}

static void listen_to(struct controller *c, const struct controller_source *what)
{
    struct listener *l = mem_zalloc(sizeof(*l));

    l->controller = c;
    l->what = *what;
    loop_call(client_loop(c->client), join, l);
}

void controller_watch(struct controller *c, const struct controller_source *s)
{
    struct arena *a = arena_new();
    struct listener *l = arena_new_of(a, struct listener);
    struct loop *loop = client_loop(c->client);

    l->controller = c;
    l->arena = a;
    l->what = (struct controller_source){
        .ref = { .instance = str_dup(a, s->ref.instance),
                 .group = str_dup(a, s->ref.group),
                 .version = str_dup(a, s->ref.version),
                 .resource = str_dup(a, s->ref.resource),
                 .namespace = str_dup(a, s->ref.namespace) },
        .label_selector = str_dup(a, s->label_selector),
        .field_selector = str_dup(a, s->field_selector),
        .spec_only = s->spec_only,
        .finalizer = s->finalizer,
        .map = s->map,
    };
    if (loop_is_current(loop))
        loop_call(loop, join, l);
    else
        join_and_wait(loop, l);
}

/* ---- keys out ---- */

/* Its deletion is heard in no order with what was in it, and nothing is left to do there. */
static bool instance_is_gone(const struct informer_key *k, const struct status *st)
{
    return k->instance.n && status_is(st, REASON_NOT_FOUND) &&
           str_is(st->group, "tenancy.kairship.io") && str_eq(st->name, k->instance);
}

static void handle(struct controller *c, str text)
{
    scoped_arena a = arena_new();
    struct informer_key key;
    struct status st;
    int64_t began_ns;
    int rc;

    status_init(&st, a);
    if (!informer_key_parse(text, &key))
        return;
    began_ns = clock_ns();
    rc = c->spec.reconcile(c->spec.arg, c->client, a, &key, &st);
    metric_observe(&durations, (clock_ns() - began_ns) / 1000);
    metric_add(&reconciles, 1);
    if (rc < 0 && instance_is_gone(&key, &st))
        rc = 0;
    if (rc >= 0) {
        workqueue_forget(c->queue, text);
        if (rc > 0)
            (void)workqueue_add_after(c->queue, text, rc);
        return;
    }
    metric_add(&failures, 1);
    if (workqueue_failures(c->queue, text) >= LOG_AFTER)
        log_warn("reconcile failed", log_z("controller", c->spec.name), log_str("key", text),
                 log_str("why", st.message));
    workqueue_add_failed(c->queue, text);
}

/* One key if there is one, else *wait_ms until a delayed one, -1: none. */
static bool serve(struct controller *c, int64_t *wait_ms)
{
    str key;

    if (!workqueue_poll(c->queue, &key, wait_ms))
        return false;
    handle(c, key);
    workqueue_done(c->queue, key);
    return true;
}

/* One key of the first that has one; else *wait_ms until some has.  The lock is let go meanwhile.
 */
static bool serve_one_locked(struct controller_group *g, int64_t *wait_ms)
{
    size_t first = g->next;
    bool did = false;

    *wait_ms = -1;
    for (size_t i = 0; !did && i < g->n; i++) {
        struct controller *c = g->members[(first + i) % g->n];
        int64_t wait = -1;

        if (c->busy == c->spec.workers || c->leaving)
            continue; /* who is with it looks again after */
        c->busy++;
        g->next = first + i + 1;
        (void)pthread_mutex_unlock(&g->mu);
        did = serve(c, &wait);
        (void)pthread_mutex_lock(&g->mu);
        c->busy--;
        if (c->leaving)
            (void)pthread_cond_broadcast(&g->change);
        if (wait >= 0 && (*wait_ms < 0 || wait < *wait_ms))
            *wait_ms = wait;
    }
    return did;
}

static void sleep_locked(struct controller_group *g, int64_t wait_ms)
{
    struct timespec until;

    if (wait_ms < 0) {
        (void)pthread_cond_wait(&g->work, &g->mu);
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(&g->work, &g->mu, &until);
}

static void *work(void *arg)
{
    struct controller_group *g = arg;

    (void)pthread_mutex_lock(&g->mu);
    while (!g->stopping) {
        uint64_t news = g->news;
        int64_t wait_ms;

        if (serve_one_locked(g, &wait_ms)) {
            /* Its controller may have more, which another worker could not see meanwhile. */
            g->news++;
            (void)pthread_cond_signal(&g->work);
        } else if (news == g->news && !g->stopping) {
            sleep_locked(g, wait_ms);
        }
    }
    (void)pthread_mutex_unlock(&g->mu);
    return NULL;
}

/* ---- life ---- */

struct controller_group *controller_group_new(unsigned workers)
{
    struct controller_group *g = mem_zalloc(sizeof(*g));
    pthread_condattr_t attr;

    assert(workers > 0 && workers <= WORKERS_MAX);
    (void)pthread_mutex_init(&g->mu, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&g->work, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_cond_init(&g->change, NULL);
    for (; g->nthreads < workers; g->nthreads++)
        if (pthread_create(&g->threads[g->nthreads], NULL, work, g) != 0)
            abort(); /* no thread at the start is no machine to run on */
    return g;
}

static struct queue_counts *counts_of(const char *name)
{
    size_t i = 0;

    (void)pthread_mutex_lock(&queues.mu);
    while (i < queues.n && strcmp(queues.rows[i].name, name) != 0)
        i++;
    assert(i < NAMES_MAX); /* the names are ours */
    if (i == queues.n) {
        queues.rows[i].name = name;
        queues.n++; /* after the name, which a scrape reads */
    }
    (void)pthread_mutex_unlock(&queues.mu);
    return &queues.rows[i];
}

static struct controller *start(struct controller_group *g, const struct controller_spec *spec,
                                struct client *client, bool alone)
{
    struct controller *c = mem_zalloc(sizeof(*c));
    struct queue_counts *counts = counts_of(spec->name);
    const struct controller_source main = { .ref = spec->ref,
                                            .label_selector = spec->label_selector,
                                            .field_selector = spec->field_selector,
                                            .spec_only = spec->spec_only,
                                            .finalizer = spec->finalizer,
                                            .map = spec->map };

    c->group = g;
    c->spec = *spec;
    c->spec.workers = spec->workers ? spec->workers : 1;
    c->client = client;
    c->queue = workqueue_new(
        &(struct workqueue_options){ .waiting = &counts->waiting, .failing = &counts->failing });
    c->alone = alone;
    (void)pthread_mutex_lock(&g->mu);
    assert(g->n < MEMBERS_MAX);
    g->members[g->n++] = c;
    (void)pthread_mutex_unlock(&g->mu);
    if (spec->started)
        spec->started(spec->arg, c);
    listen_to(c, &main);
    for (size_t i = 0; i < spec->nalso; i++)
        listen_to(c, &spec->also[i]);
    return c;
}

struct controller *controller_group_start(struct controller_group *g,
                                          const struct controller_spec *spec, struct client *client)
{
    return start(g, spec, client, false);
}

struct controller *controller_start(const struct controller_spec *spec, struct client *client)
{
    return start(controller_group_new(1), spec, client, true);
}

static void forget_locked(struct controller_group *g, const struct controller *c)
{
    size_t at = 0;

    while (g->members[at] != c)
        at++;
    g->members[at] = g->members[--g->n];
}

static void stop_member(struct controller_group *g, struct controller *c)
{
    assert(!loop_current());
    (void)pthread_mutex_lock(&g->mu);
    c->leaving = true;
    while (c->busy)
        (void)pthread_cond_wait(&g->change, &g->mu);
    (void)pthread_mutex_unlock(&g->mu);
    loop_call(client_loop(c->client), leave, c); /* after what the last reconcile wanted to watch */
    (void)pthread_mutex_lock(&g->mu);
    while (!c->deaf)
        (void)pthread_cond_wait(&g->change, &g->mu);
    forget_locked(g, c);
    (void)pthread_mutex_unlock(&g->mu);
    workqueue_free(c->queue);
    free(c);
}

void controller_group_free(struct controller_group *g)
{
    if (!g)
        return;
    while (g->n) /* only we change it now */
        stop_member(g, g->members[0]);
    (void)pthread_mutex_lock(&g->mu);
    g->stopping = true;
    (void)pthread_cond_broadcast(&g->work);
    (void)pthread_mutex_unlock(&g->mu);
    for (unsigned i = 0; i < g->nthreads; i++)
        (void)pthread_join(g->threads[i], NULL);
    assert(!g->sources);
    (void)pthread_cond_destroy(&g->work);
    (void)pthread_cond_destroy(&g->change);
    (void)pthread_mutex_destroy(&g->mu);
    free(g);
}

void controller_stop(struct controller *c)
{
    struct controller_group *g = c ? c->group : NULL;

    if (!c)
        return;
    if (c->alone)
        controller_group_free(g);
    else
        stop_member(g, c);
}
