/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/scheduler_misfit.h"

#include "base/banned.h"

/* How many run in the cluster of a target, at most all of them; < 0: it is not known. */
static int64_t running(const struct json *binding, const struct json *target)
{
    int64_t all = json_int(json_get(target, STR("replicas")), 0), n;

    json_for_each (s, json_path(binding, "status.aggregatedStatus")) {
        if (!str_eq(json_get_str(s, "clusterName"), json_get_str(target, "name")))
            continue;
        if (!json_is(json_get(s, STR("status")), JSON_OBJECT))
            return -1;
        n = json_int(json_path(s, "status.readyReplicas"), 0);
        return n < 0 ? 0 : n < all ? n : all;
    }
    return -1;
}

static bool is_complete(const struct json *binding, const struct json *target)
{
    return running(binding, target) == json_int(json_get(target, STR("replicas")), 0);
}

bool scheduler_misfit_possible(const struct json *binding)
{
    if (!str_is(json_get_str(binding, "spec.resource.kind"), "Deployment") ||
        !str_is(json_get_str(binding, "spec.resource.apiVersion"), "apps/v1"))
        return false;
    json_for_each (t, json_path(binding, "spec.clusters"))
        if (!is_complete(binding, t))
            return true;
    return false;
}

static bool is_full(const struct sched_decision *d, str cluster)
{
    for (size_t i = 0; i < d->nrows; i++)
        if (str_eq(d->rows[i].cluster->name, cluster))
            return d->rows[i].cluster->ready && d->rows[i].cluster->waiting > 0 &&
                   d->rows[i].room == 0;
    return false;
}

const struct json *scheduler_misfit_previous(struct arena *a, const struct json *binding,
                                             const struct sched_decision *d)
{
    struct json_array list = json_array_new(a);
    bool any = false;

    if (d->outcome != SCHED_DONE || (d->way != SCHED_DYNAMIC_WEIGHT && d->way != SCHED_AGGREGATED))
        return NULL;
    json_for_each (t, json_path(binding, "spec.clusters")) {
        int64_t n = running(binding, t);
        bool fits = n < 0 || is_complete(binding, t) || !is_full(d, json_get_str(t, "name"));

        any |= !fits;
        if (fits)
            json_push(&list, *t);
        else if (n > 0)
            json_push(&list, *json_set(a, t, "replicas", json_box(a, json_of_int(n))));
    }
    return any ? json_array_done(&list) : NULL;
}
