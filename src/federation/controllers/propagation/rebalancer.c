/* SPDX-License-Identifier: Apache-2.0 */

/*
 * WorkloadRebalancer (apps.karmada.io): asks the scheduler to divide the named workloads anew.
 *
 * Each workload's binding is given the rebalancer's own time as its wish, once; what was asked, and
 * whether there was a binding, is in status.  Karmada: pkg/controllers/workloadrebalancer.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "federation/controllers/frame/controller.h"
#include "object/meta/karmada.h"

#define NOT_FOUND_REASON "ReferencedBindingNotFound"

struct look {
    struct client *client;
    struct arena *arena;
    struct client_ref ref; /* of the rebalancer */
    const struct json *rebalancer;
    struct clock *clock;
};

/* ---- the bindings ---- */

static struct client_ref binding_ref(const struct look *l, const struct json *workload)
{
    str namespace = json_get_str(workload, "namespace");

    return (struct client_ref){
        .instance = l->ref.instance,
        .group = STR("work.karmada.io"),
        .version = STR("v1alpha2"),
        .resource = namespace.n ? STR("resourcebindings") : STR("clusterresourcebindings"),
        .namespace = namespace,
        .name = karmada_binding_name(l->arena, json_get_str(workload, "name"),
                                     json_get_str(workload, "kind")),
    };
}

/* A wish that is as new, or newer, stays. */
static int trigger(const struct look *l, const struct json *workload, bool *found,
                   struct status *st)
{
    const struct json *wish = json_path(l->rebalancer, "metadata.creationTimestamp"), *binding;
    const struct json *patch =
        json_set(l->arena, &json_empty_object, "spec.rescheduleTriggeredAt", wish);
    struct client_ref ref = binding_ref(l, workload);
    int64_t wished, have;

    *found = false;
    if (client_get(l->client, l->arena, &ref, &binding, st) == 0) {
        *found = true;
        if (time_parse_seconds(json_get_str(binding, "spec.rescheduleTriggeredAt"), &have) &&
            time_parse_seconds(json_str(wish), &wished) && have >= wished)
            return 0;
        if (client_patch(l->client, l->arena, &ref, CLIENT_PATCH_MERGE, patch, NULL, st) == 0)
            return 0;
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    *found = false;
    status_reset(st);
    return 0;
}

/* ---- what was observed ---- */

/* Sorted by "apiVersion kind namespace name". */
struct observed {
    str key;
    const struct json *row;
};

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct observed *)a)->key, ((const struct observed *)b)->key);
}

static str key_of(struct arena *a, const struct json *w)
{
    return str_printf(a, "%.*s %.*s %.*s %.*s", STR_ARG(json_get_str(w, "apiVersion")),
                      STR_ARG(json_get_str(w, "kind")), STR_ARG(json_get_str(w, "namespace")),
                      STR_ARG(json_get_str(w, "name")));
}

static const struct json *earlier_row(const struct look *l, str key)
{
    json_for_each (row, json_path(l->rebalancer, "status.observedWorkloads"))
        if (str_eq(key_of(l->arena, json_get(row, STR("workload"))), key))
            return row;
    return NULL;
}

static const struct json *new_row(const struct look *l, const struct json *workload, bool found)
{
    struct json_object o = json_object_new(l->arena);

    json_add(&o, STR("workload"), *workload);
    json_add(&o, STR("result"), json_of_str(found ? STR("Successful") : STR("Failed")));
    if (!found)
        json_add(&o, STR("reason"), json_of_str(STR(NOT_FOUND_REASON)));
    return json_object_done(&o);
}

/* Workloads that were asked for once are not asked for again, and what succeeded stays on record.
 */
static int observe(const struct look *l, const struct json **out, struct status *st)
{
    const struct json *workloads = json_path(l->rebalancer, "spec.workloads");
    const struct json *earlier = json_path(l->rebalancer, "status.observedWorkloads");
    struct observed *all =
        arena_array(l->arena, struct observed, json_len(workloads) + json_len(earlier));
    struct json_array rows = json_array_new(l->arena);
    size_t n = 0;

    json_for_each (workload, workloads) {
        struct observed *o = &all[n++];
        bool found;

        *o = (struct observed){ .key = key_of(l->arena, workload) };
        o->row = earlier_row(l, o->key);
        if (o->row && json_get_str(o->row, "result").n)
            continue;
        if (trigger(l, workload, &found, st) < 0)
            return -1;
        o->row = new_row(l, workload, found);
    }
    json_for_each (row, earlier)
        if (str_is(json_get_str(row, "result"), "Successful"))
            all[n++] = (struct observed){ .key = key_of(l->arena, json_get(row, STR("workload"))),
                                          .row = row };
    if (n)
        qsort(all, n, sizeof(*all), by_key);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(all[i].key, all[i - 1].key))
            json_push(&rows, *all[i].row);
    *out = json_array_done(&rows);
    return 0;
}

/* ---- status and the end ---- */

/* *finished: the time at which all was asked. */
static int write_status(struct look *l, const struct json *rows, int64_t *finished,
                        struct status *st)
{
    const struct json *generation = json_path(l->rebalancer, "metadata.generation");
    const struct json *seen = json_path(l->rebalancer, "status.observedGeneration"), *patch;
    struct client_ref ref = l->ref;
    char now[TIME_TEXT_SIZE];

    if (json_int(seen, -1) == json_int(generation, 0) &&
        time_parse_seconds(json_get_str(l->rebalancer, "status.finishTime"), finished))
        return 0;
    *finished = clock_wall_s(l->clock);
    (void)time_format_seconds(now, *finished);
    patch = json_set(l->arena, &json_empty_object, "status.observedWorkloads", rows);
    patch = json_set(l->arena, patch, "status.observedGeneration", generation);
    patch = json_set(l->arena, patch, "status.finishTime",
                     json_box(l->arena, json_of_str(str_dup(l->arena, str_of(now)))));
    patch = json_set(l->arena, patch, "metadata.resourceVersion",
                     json_path(l->rebalancer, "metadata.resourceVersion"));
    ref.subresource = STR("status");
    return client_patch(l->client, l->arena, &ref, CLIENT_PATCH_MERGE, patch, NULL, st);
}

static int end_in_time(struct look *l, int64_t finished, struct status *st)
{
    const struct json *ttl = json_path(l->rebalancer, "spec.ttlSecondsAfterFinished");
    int64_t left;

    if (!json_is(ttl, JSON_INT))
        return 0;
    left = finished + (ttl->i > 0 ? ttl->i : 0) - clock_wall_s(l->clock);
    if (left > 0)
        return left < 3600 ? (int)left * 1000 : 3600 * 1000;
    if (client_delete(l->client, l->arena, &l->ref, NULL, st) < 0 &&
        !status_is(st, REASON_NOT_FOUND))
        return -1;
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct look l = { .client = client, .arena = a, .clock = arg ? arg : clock_real() };
    const struct json *rows;
    int64_t finished;

    l.ref = (struct client_ref){ .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                                 .group = STR("apps.karmada.io"),
                                 .version = STR("v1alpha1"),
                                 .resource = STR("workloadrebalancers"),
                                 .name = k->name };
    if (client_get(client, a, &l.ref, &l.rebalancer, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (json_get_str(l.rebalancer, "metadata.deletionTimestamp").n)
        return 0;
    if (observe(&l, &rows, st) < 0 || write_status(&l, rows, &finished, st) < 0)
        return -1;
    return end_in_time(&l, finished, st);
}

const struct controller_spec rebalancer_controller = {
    .name = "rebalancer",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apps.karmada.io"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("workloadrebalancers") },
    .reconcile = reconcile,
};
