/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Signs of life, on the workload.kcp.dev Cluster: that the syncer is there
 * (status.lastSyncerHeartbeatTime), and whether it reaches its member (condition SyncerReady).  Who
 * reads them decides what follows from their absence.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "fleet/syncer_internal.h"

enum {
    AGAIN_MS = 1000, /* after one that failed */
    AWAY_MS = 5000,  /* while the member does not answer, if that is sooner than the next */
    ASK_MS = 5000,
};

struct beat {
    struct loop_timer timer; /* first */
    struct syncer *syncer;
    struct client_call call;
    struct arena *arena;
    bool reached;
    str why;
};

static int64_t pause_of(const struct beat *b)
{
    int64_t every = b->syncer->o.beat_ms;

    return b->reached || every < AWAY_MS ? every : AWAY_MS;
}

static void beat_next(struct beat *b, int64_t ms)
{
    arena_free(b->arena);
    b->arena = NULL;
    loop_timer_set(b->syncer->loop, &b->timer, ms);
}

static void ask(struct beat *b, struct client *c, struct client_request req,
                void (*done)(struct client_call *, const struct json *, const struct status *))
{
    req.timeout_ms = ASK_MS;
    b->call = (struct client_call){ .req = req, .arena = b->arena, .done = done, .user = b };
    client_call(c, &b->call);
}

static struct client_ref cluster_ref(const struct syncer *s)
{
    return (struct client_ref){ .instance = s->o.instance,
                                .group = STR("workload.kcp.dev"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters"),
                                .name = s->o.cluster };
}

static void on_written(struct client_call *call, const struct json *object,
                       const struct status *why)
{
    struct beat *b = call->user;

    (void)object;
    beat_next(b, why ? AGAIN_MS : pause_of(b));
}

static struct json condition(struct beat *b, const struct json *was)
{
    struct json_object o = json_object_new(b->arena);
    const char *status = b->reached ? "True" : "False";
    const struct json *since = json_get(was, STR("lastTransitionTime"));

    json_add(&o, STR("type"), json_of_str(STR("SyncerReady")));
    json_add(&o, STR("status"), json_of_str(str_of(status)));
    if (!b->reached)
        json_add(&o, STR("severity"), json_of_str(STR("Error")));
    json_add(&o, STR("lastTransitionTime"),
             since && str_is(json_get_str(was, "status"), status)
                 ? *since
                 : json_of_str(syncer_now(b->syncer, b->arena)));
    if (!b->reached) {
        json_add(&o, STR("reason"), json_of_str(STR("ClusterUnreachable")));
        json_add(&o, STR("message"), json_of_str(b->why));
    }
    return json_object_value(&o);
}

static const struct json *conditions(struct beat *b, const struct json *cluster)
{
    struct json_array all = json_array_new(b->arena);
    const struct json *was = NULL;

    json_for_each (c, json_path(cluster, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "SyncerReady"))
            was = c;
        else
            json_push(&all, *c);
    json_push(&all, condition(b, was));
    return json_array_done(&all);
}

static void on_cluster(struct client_call *call, const struct json *cluster,
                       const struct status *why)
{
    struct beat *b = call->user;
    struct client_ref ref = cluster_ref(b->syncer);
    struct client_query q = sync_source_query();
    struct json now = json_of_str(syncer_now(b->syncer, b->arena));

    if (why) {
        beat_next(b, status_is(why, REASON_NOT_FOUND) ? pause_of(b) : AGAIN_MS);
        return;
    }
    cluster = json_set(b->arena, cluster, "status.conditions", conditions(b, cluster));
    cluster =
        json_set(b->arena, cluster, "status.lastSyncerHeartbeatTime", json_box(b->arena, now));
    ref.subresource = STR("status");
    ask(b, b->syncer->o.source, client_request_update(b->arena, &ref, &q, cluster), on_written);
}

static void on_member(struct client_call *call, const struct json *version,
                      const struct status *why)
{
    struct beat *b = call->user;
    struct client_ref ref = cluster_ref(b->syncer);

    (void)version;
    b->reached = !why;
    b->why = why ? str_dup(b->arena, why->message) : STR_NONE;
    ask(b, b->syncer->o.source, client_request_get(b->arena, &ref), on_cluster);
}

static void on_time(struct loop_timer *t)
{
    struct beat *b = (struct beat *)(void *)t;
    struct client_request req = { .method = STR("GET"), .path = STR("/version") };

    b->arena = arena_new();
    ask(b, b->syncer->o.target, req, on_member);
}

struct beat *sync_beat_new(struct syncer *s)
{
    struct beat *b = mem_zalloc(sizeof(*b));

    b->syncer = s;
    b->timer.fn = on_time;
    loop_timer_set(s->loop, &b->timer, 0);
    return b;
}

void sync_beat_now(struct beat *b)
{
    if (b && b->timer.slot)
        loop_timer_set(b->syncer->loop, &b->timer, 0);
}

void sync_beat_free(struct beat *b)
{
    if (!b)
        return;
    loop_timer_cancel(b->syncer->loop, &b->timer);
    client_call_cancel(&b->call);
    arena_free(b->arena);
    free(b);
}
