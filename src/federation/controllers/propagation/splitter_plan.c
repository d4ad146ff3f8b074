/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/splitter.h"
#include "federation/sched/sched.h"
#include "object/meta/condition.h"

enum spread_how spread_how(str group, str kind)
{
    static const struct {
        const char *group, *kind;
        enum spread_how how;
    } rows[] = {
        { "apps", "Deployment", SPREAD_SPLIT }, { "apps", "StatefulSet", SPREAD_SPLIT },
        { "apps", "ReplicaSet", SPREAD_SPLIT }, { "apps", "DaemonSet", SPREAD_ALL },
        { "batch", "Job", SPREAD_ONE },         { "batch", "CronJob", SPREAD_ONE },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (str_is(group, rows[i].group) && str_is(kind, rows[i].kind))
            return rows[i].how;
    return SPREAD_LABEL;
}

/* ---- clusters ---- */

/* The point in time has come; else *soon_ms is at most until then. */
static bool has_come(int64_t at_s, int64_t now_s, int64_t *soon_ms)
{
    int64_t left_ms = (at_s - now_s) * 1000;

    if (left_ms <= 0)
        return true;
    if (left_ms < *soon_ms)
        *soon_ms = left_ms;
    return false;
}

struct split_place place_of(const struct json *cluster, int64_t now_s, int64_t grace_ms,
                            int64_t *soon_ms)
{
    const struct json *ready = condition_find(json_path(cluster, "status.conditions"), "Ready");
    struct split_place p = { .cluster = json_get_str(cluster, "metadata.name"),
                             .ready = str_is(json_get_str(ready, "status"), "True"),
                             .unschedulable = json_bool(json_path(cluster, "spec.unschedulable")),
                             .lost = is_deleting(cluster) };
    int64_t at_s;

    if (time_parse_seconds(json_get_str(cluster, "spec.evictAfter"), &at_s) &&
        has_come(at_s, now_s, soon_ms))
        p.lost = true;
    if (!p.ready) {
        str since = json_get_str(ready, "lastTransitionTime");

        if (!time_parse_seconds(since, &at_s))
            p.lost = true;
        else if (has_come(at_s + (grace_ms + 999) / 1000, now_s, soon_ms)) {
            p.lost = true;
            p.silent = since;
        }
    }
    return p;
}

/* ---- who gets it ---- */

/* It stays where it is, as long as that works. */
static bool may_keep(const struct split_place *p)
{
    return p->has && p->accepts && !p->lost;
}

static bool may_take(const struct split_place *p)
{
    return p->accepts && p->ready && !p->lost && !p->unschedulable;
}

static size_t choose_all(struct split_place *places, size_t n)
{
    size_t chosen = 0;

    for (size_t i = 0; i < n; i++) {
        places[i].wanted = may_keep(&places[i]) || may_take(&places[i]);
        chosen += places[i].wanted;
    }
    return chosen;
}

static size_t choose_one(struct split_place *places, size_t n, uint64_t seed)
{
    size_t can = 0, nth;

    for (size_t i = 0; i < n; i++)
        if (may_keep(&places[i])) {
            places[i].wanted = true;
            return 1;
        }
    for (size_t i = 0; i < n; i++)
        can += may_take(&places[i]);
    if (!can)
        return 0;
    nth = seed % can;
    for (size_t i = 0; i < n; i++)
        if (may_take(&places[i]) && nth-- == 0)
            places[i].wanted = true;
    return 1;
}

/* ---- how many ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * Evenly over those that may take more; one that is cordoned keeps what it has, but no more than
 * its share.
 */
static void divide(int64_t replicas, struct split_place *places, size_t n)
{
    int64_t shares[SPLITTER_CLUSTERS_MAX];
    size_t all = 0, open = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        all += places[i].wanted;
        open += places[i].wanted && !places[i].unschedulable;
    }
    if (!all)
        return;
    sched_split_evenly(replicas, shares, all);
    for (size_t i = 0; i < n; i++)
        if (places[i].wanted)
            places[i].replicas = shares[at++];
    if (!open || open == all)
        return;
    for (size_t i = 0; i < n; i++)
        if (places[i].wanted && places[i].unschedulable) {
            places[i].replicas = least(places[i].replicas, places[i].before);
            replicas -= places[i].replicas;
        }
    sched_split_evenly(replicas, shares, open);
    at = 0;
    for (size_t i = 0; i < n; i++)
        if (places[i].wanted && !places[i].unschedulable)
            places[i].replicas = shares[at++];
}

void plan_places(enum spread_how how, int64_t replicas, uint64_t seed, struct split_place *places,
                 size_t n)
{
    size_t chosen;

    if (n > SPLITTER_CLUSTERS_MAX)
        n = SPLITTER_CLUSTERS_MAX;
    if (how == SPREAD_SPLIT || how == SPREAD_ALL)
        chosen = choose_all(places, n);
    else
        chosen = choose_one(places, n, seed);
    if (!chosen) /* nowhere to go: it stays */
        for (size_t i = 0; i < n; i++)
            places[i].wanted = places[i].has;
    if (how == SPREAD_SPLIT)
        divide(replicas, places, n);
    else
        for (size_t i = 0; i < n; i++)
            places[i].replicas = -1;
}
