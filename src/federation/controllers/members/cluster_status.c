/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a Cluster's status says: is the member ready, which version and APIs does it have, how much
 * room.  Members are looked at on the loop (fleet/probe.h), each for itself, so that one that hangs
 * holds up nobody; a reconcile only begins a look, or writes down what one has found.
 *
 * Ready changes only after the other state has lasted for a while; what is seen first counts at
 * once.  Members in pull mode are looked at by their agents: here it is only watched that they are
 * heard of, by their status or their Lease.
 *
 * karmada: pkg/controllers/status/cluster_status_controller.go, cluster_condition_cache.go;
 * pkg/controllers/cluster/cluster_controller.go monitorClusterHealth
 */

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metric.h"
#include "federation/controllers/members/clusters.h"

enum {
    STATUS_MS = 10000,
    UNUSABLE_MS = 1000, /* its Secret may be on the way */
    MONITOR_MS = 5000,  /* of members in pull mode */
};

enum ready_shown { SHOWN_TRUE, SHOWN_FALSE, SHOWN_UNKNOWN, SHOWN_NOT };
METRIC_BY(members, METRIC_GAUGE, "kairship_members",
          "Registered member clusters, by their condition Ready.", "ready", "True", "False",
          "Unknown")

/* What is known of a member between two looks. */
struct known_member {
    struct cluster_probes *all;
    str key; /* "instance//name" */
    struct informer_key name;
    struct probe *probe;   /* the loop's; NULL: none is under way */
    struct arena *arena;   /* of the look: */
    struct member_name at; /* … where */
    const struct json *models;

    /* guarded by all->mu: */
    bool looking, gone;
    struct probe_report report; /* of the last look; health is GONE and arena NULL: none waits */
    bool has_report;

    /* of the reconcile, which is never there twice for one key: */
    int64_t next_ms, generation;
    enum ready_shown shown; /* as it is counted */
    bool seen, was_ready;   /* what was observed last, */
    int64_t since_ms;       /* and since when */
};

struct cluster_probes {
    struct clusters *clusters;
    struct controller *controller;
    pthread_mutex_t mu;
    struct map entries; /* guarded by mu */
    bool stopped;       /* guarded by mu: no new looks, and nobody is told of old ones */
};

/* ---- entries ---- */

static void count_as(struct known_member *e, enum ready_shown shown)
{
    if (e->shown != SHOWN_NOT)
        metric_add_at(&members, e->shown, -1);
    e->shown = shown;
    if (shown != SHOWN_NOT)
        metric_add_at(&members, shown, 1);
}

static void entry_free(struct known_member *e)
{
    count_as(e, SHOWN_NOT);
    if (e->has_report)
        arena_free(e->report.arena);
    arena_free(e->arena);
    free(e);
}

static struct known_member *entry_new(struct cluster_probes *p, str key)
{
    struct known_member *e = mem_zalloc(sizeof(*e) + key.n);
    char *text = (char *)(e + 1);

    memcpy(text, key.p, key.n);
    e->all = p;
    e->shown = SHOWN_NOT;
    e->key = (str){ text, key.n };
    (void)informer_key_parse(e->key, &e->name);
    return e;
}

static struct known_member *entry_get(struct cluster_probes *p, str key)
{
    struct known_member *e;

    (void)pthread_mutex_lock(&p->mu);
    e = map_get(&p->entries, key);
    if (!e) {
        e = entry_new(p, key);
        (void)map_put(&p->entries, e->key, e);
    }
    if (e->gone) /* another of the same name: what is seen first counts at once */
        e->seen = false;
    e->gone = false;
    (void)pthread_mutex_unlock(&p->mu);
    return e;
}

/* The Cluster has gone; a look under way frees the entry when it is done. */
static void entry_drop(struct cluster_probes *p, str key)
{
    struct known_member *e;

    (void)pthread_mutex_lock(&p->mu);
    e = map_get(&p->entries, key);
    if (e && e->looking) {
        e->gone = true;
        e = NULL;
    }
    if (e)
        (void)map_remove(&p->entries, key);
    (void)pthread_mutex_unlock(&p->mu);
    if (e)
        entry_free(e);
}

static bool is_looking(struct known_member *e)
{
    bool looking;

    (void)pthread_mutex_lock(&e->all->mu);
    looking = e->looking;
    (void)pthread_mutex_unlock(&e->all->mu);
    return looking;
}

static bool take_report(struct known_member *e, struct arena *a, struct probe_report *out)
{
    bool has;

    (void)pthread_mutex_lock(&e->all->mu);
    has = e->has_report;
    if (has)
        *out = e->report;
    e->has_report = false;
    (void)pthread_mutex_unlock(&e->all->mu);
    if (has)
        arena_defer(a, (void (*)(void *))arena_free, out->arena);
    return has;
}

/* ---- looks ---- */

static void looked(void *arg, struct probe_report *r)
{
    struct known_member *e = arg;
    struct cluster_probes *p = e->all;
    scoped_arena a = arena_new();
    struct informer_key k; /* the entry may go as soon as it is not locked */
    bool gone, stopped;

    (void)informer_key_parse(str_dup(a, e->key), &k);
    (void)pthread_mutex_lock(&p->mu);
    e->probe = NULL;
    e->looking = false;
    gone = e->gone;
    stopped = p->stopped;
    e->report = *r;
    e->has_report = true;
    if (gone)
        (void)map_remove(&p->entries, e->key);
    (void)pthread_mutex_unlock(&p->mu);
    if (gone)
        entry_free(e);
    else if (!stopped)
        controller_wake(p->controller, &k);
}

static void look_on_loop(void *arg)
{
    struct known_member *e = arg;
    const struct clusters *c = e->all->clusters;
    struct probe_options o = { .models = e->models, .health_ms = c->health_ms };
    bool stopped;

    (void)pthread_mutex_lock(&e->all->mu);
    stopped = e->all->stopped;
    if (stopped)
        e->looking = false;
    (void)pthread_mutex_unlock(&e->all->mu);
    if (!stopped)
        e->probe = probe_start(c->fleet, &e->at, &o, looked, e);
}

static void look(struct known_member *e, const struct json *cluster)
{
    arena_free(e->arena);
    e->arena = arena_new();
    e->at =
        (struct member_name){ .instance = clusters_instance(&e->name), .cluster = e->name.name };
    e->models = json_path(cluster, "spec.resourceModels");
    if (e->models)
        e->models = json_dup(e->arena, e->models);
    (void)pthread_mutex_lock(&e->all->mu);
    e->looking = true;
    (void)pthread_mutex_unlock(&e->all->mu);
    loop_call(fleet_loop(e->all->clusters->fleet), look_on_loop, e);
}

/* ---- Ready ---- */

static const struct {
    const char *status, *reason;
} words[] = {
    [PROBE_READY] = { "True", "ClusterReady" },
    [PROBE_NOT_READY] = { "False", "ClusterNotReady" },
    [PROBE_NOT_REACHED] = { "False", "ClusterNotReachable" },
    [PROBE_UNUSABLE] = { "False", "StatusCollectionFailed" },
    [PROBE_GONE] = { "False", "StatusCollectionFailed" },
};

/* How long it must still last before Ready says so; <= 0: it has. */
static int64_t must_last(struct known_member *e, const struct json *cluster, bool ready,
                         const struct failover *f, int64_t now_ms)
{
    str shown = json_get_str(clusters_condition(cluster, STR("Ready")), "status");
    bool first = !e->seen;

    if (first || e->was_ready != ready)
        e->since_ms = now_ms;
    e->seen = true;
    e->was_ready = ready;
    if (first || !shown.n || str_is(shown, ready ? "True" : "False"))
        return 0;
    if (str_is(shown, "Unknown") && !ready)
        return 0;
    return e->since_ms + (ready ? f->success_ms : f->failure_ms) - now_ms;
}

/* ---- status ---- */

static const struct json *with_apis(struct arena *a, const struct json *status,
                                    const struct probe_report *r, str now)
{
    size_t n = json_len(r->enablements);
    const char *reason = !n ? "Empty" : r->complete ? "Complete" : "Partial";
    const char *is = n && r->complete ? "True" : "False";
    str message = STR("collected complete APIEnablements from the cluster");

    if (!n)
        message = STR("collected empty APIEnablements from the cluster");
    else if (!r->complete)
        message = str_printf(a, "might collect partial APIEnablements(%zu) from the cluster", n);
    if (n)
        status = json_set(a, status, "apiEnablements", r->enablements);
    return json_set(a, status, "conditions",
                    clusters_set_condition(a, json_get(status, STR("conditions")),
                                           "CompleteAPIEnablements", is, str_of(reason), message,
                                           now));
}

static const struct json *with_facts(struct arena *a, const struct json *status,
                                     const struct probe_report *r, str now)
{
    struct json version = json_of_str(r->version);

    if (r->version.n)
        status = json_set(a, status, "kubernetesVersion", json_box(a, version));
    if (r->nodes)
        status = json_set(a, status, "nodeSummary", r->nodes);
    if (r->resources)
        status = json_set(a, status, "resourceSummary", r->resources);
    return with_apis(a, status, r, now);
}

const struct json *clusters_found(struct arena *a, const struct json *status,
                                  const struct probe_report *r, str now)
{
    bool ready = r->health == PROBE_READY;
    str message = ready ? STR("cluster is healthy and ready to accept workloads") : r->why;

    if (!json_is(status, JSON_OBJECT))
        status = &json_empty_object;
    status = json_set(a, status, "conditions",
                      clusters_set_condition(a, json_get(status, STR("conditions")), "Ready",
                                             words[r->health].status,
                                             str_of(words[r->health].reason), message, now));
    return ready ? with_facts(a, status, r, now) : status;
}

static int write_status(struct client *client, struct arena *a, const struct informer_key *k,
                        const struct json *cluster, const struct json *status, struct status *st)
{
    struct client_ref ref = clusters_ref(k);
    const struct json *was = json_get(cluster, STR("status"));

    if (json_equal(was ? was : &json_empty_object, status))
        return 0;
    ref.subresource = STR("status");
    return client_update(client, a, &ref, json_set(a, cluster, "status", status), NULL, st);
}

/* Milliseconds until the next look, or -1. */
static int64_t tell(const struct clusters *c, struct client *client, struct arena *a,
                    const struct informer_key *k, struct known_member *e,
                    const struct json *cluster, const struct probe_report *r, struct status *st)
{
    int64_t period = c->status_ms ? c->status_ms : STATUS_MS, wait;
    const struct json *status;
    struct failover f;

    if (failover_read(c, client, a, clusters_instance(k), &f, st) < 0)
        return -1;
    wait = must_last(e, cluster, r->health == PROBE_READY, &f, clock_now_ms(clusters_clock(c)));
    if (r->health == PROBE_UNUSABLE && period > UNUSABLE_MS)
        period = UNUSABLE_MS;
    if (period > f.failure_ms) /* else it could not be noticed in that time */
        period = f.failure_ms;
    if (wait > 0)
        return wait < period ? wait : period;
    status = clusters_found(a, json_get(cluster, STR("status")), r, clusters_now(c, a));
    return write_status(client, a, k, cluster, status, st) < 0 ? -1 : period;
}

/* ---- members in pull mode ---- */

static int64_t silent_ms(const struct clusters *c, struct client *client, struct arena *a,
                         const struct informer_key *k, const struct json *cluster,
                         struct status *st)
{
    struct client_ref ref = { .instance = clusters_instance(k),
                              .group = STR("coordination.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("leases"),
                              .namespace = STR(CLUSTER_NAMESPACE),
                              .name = k->name };
    int64_t age = clusters_age_ms(c, json_get_str(cluster, "metadata.creationTimestamp"), 0), seen;
    const struct json *lease;

    if (client_get(client, a, &ref, &lease, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return age > 0 ? age : 0;
    }
    seen = clusters_age_ms(c, json_get_str(lease, "spec.renewTime"), age);
    return seen > 0 ? seen : 0;
}

static int monitor(const struct clusters *c, struct client *client, struct arena *a,
                   const struct informer_key *k, const struct json *cluster, struct status *st)
{
    const struct json *ready = clusters_condition(cluster, STR("Ready"));
    const struct json *status = json_get(cluster, STR("status"));
    int64_t silent = silent_ms(c, client, a, k, cluster, st);
    struct failover f;

    if (silent < 0 || failover_read(c, client, a, clusters_instance(k), &f, st) < 0)
        return -1;
    if (silent < (ready ? f.grace_ms : f.startup_ms) ||
        str_is(json_get_str(ready, "status"), "Unknown"))
        return MONITOR_MS;
    if (!json_is(status, JSON_OBJECT))
        status = &json_empty_object;
    status = json_set(a, status, "conditions",
                      clusters_set_condition(
                          a, json_get(status, STR("conditions")), "Ready", "Unknown",
                          ready ? STR("ClusterStatusUnknown") : STR("ClusterStatusNeverUpdated"),
                          ready ? STR("the cluster's agent stopped posting its status")
                                : STR("the cluster's agent never posted its status"),
                          clusters_now(c, a)));
    return write_status(client, a, k, cluster, status, st) < 0 ? -1 : MONITOR_MS;
}

/* ---- the controller ---- */

static enum ready_shown shown_in(const struct json *cluster)
{
    str is = json_get_str(clusters_condition(cluster, STR("Ready")), "status");

    return str_is(is, "True") ? SHOWN_TRUE : str_is(is, "False") ? SHOWN_FALSE : SHOWN_UNKNOWN;
}

/* Nobody will ask for the member again: so its connection goes. */
static void forget(const struct clusters *c, struct arena *a, const struct informer_key *k,
                   struct status *st)
{
    struct member_name name = { .instance = clusters_instance(k), .cluster = k->name };
    struct member *m;

    entry_drop(c->probes, informer_key_text(a, k));
    if (fleet_member(c->fleet, a, &name, &m, st) == 0)
        member_unref(m);
    status_reset(st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct clusters *c = arg;
    int64_t now = clock_now_ms(clusters_clock(c)), generation;
    struct client_ref ref = clusters_ref(k);
    const struct json *cluster;
    struct probe_report report;
    struct known_member *e;

    if (client_get(client, a, &ref, &cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        forget(c, a, k, st);
        return 0;
    }
    e = entry_get(c->probes, informer_key_text(a, k));
    count_as(e, shown_in(cluster));
    if (str_is(json_get_str(cluster, "spec.syncMode"), "Pull"))
        return monitor(c, client, a, k, cluster, st);
    if (take_report(e, a, &report)) {
        int64_t wait = tell(c, client, a, k, e, cluster, &report, st);

        if (report.trouble.n)
            log_info("fleet: a member did not say all", log_str("cluster", k->name),
                     log_str("instance", k->instance), log_str("why", report.trouble));
        e->next_ms = wait < 0 ? now : now + wait;
        return (int)wait;
    }
    if (is_looking(e))
        return 0;
    generation = json_int(json_path(cluster, "metadata.generation"), 0);
    if (now < e->next_ms && generation == e->generation)
        return (int)(e->next_ms - now);
    e->generation = generation;
    look(e, cluster);
    return 0;
}

static void started(void *arg, struct controller *ctl)
{
    struct clusters *c = arg;

    c->probes = mem_zalloc(sizeof(*c->probes));
    c->probes->clusters = c;
    c->probes->controller = ctl;
    (void)pthread_mutex_init(&c->probes->mu, NULL);
}

/* ---- the end ---- */

static void stop_on_loop(void *arg)
{
    struct cluster_probes *p = arg;
    size_t at = 0;
    void *v;
    str key;

    (void)pthread_mutex_lock(&p->mu);
    p->stopped = true;
    while (map_each(&p->entries, &at, &key, &v)) {
        struct known_member *e = v;

        probe_cancel(e->probe);
        e->probe = NULL;
    }
    (void)pthread_mutex_unlock(&p->mu);
}

void clusters_stop(struct clusters *c)
{
    if (c->probes)
        loop_call_wait(fleet_loop(c->fleet), stop_on_loop, c->probes);
}

void clusters_release(struct clusters *c)
{
    struct cluster_probes *p = c->probes;
    size_t at = 0;
    void *e;
    str key;

    if (!p)
        return;
    while (map_each(&p->entries, &at, &key, &e))
        entry_free(e);
    map_release(&p->entries);
    (void)pthread_mutex_destroy(&p->mu);
    free(p);
    c->probes = NULL;
}

const struct controller_spec cluster_status_controller = {
    .name = "cluster-status-controller",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("cluster.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .workers = 2,
    .reconcile = reconcile,
    .started = started,
};
