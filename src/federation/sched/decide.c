/* SPDX-License-Identifier: Apache-2.0 */

/* The decision: filter, score, select, divide; and groups of affinities one after the other. */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"

enum { SCORE_LOCAL = 100 }; /* of a cluster that has it already */

enum division { DIVIDE_NOT, DIVIDE_STATIC, DIVIDE_DYNAMIC, DIVIDE_AGGREGATED };

/* One attempt: with one group of affinities, or with the only affinity there is. */
struct attempt {
    struct arena *arena;
    const struct sched_request *r;
    const struct sched_affinity *affinity;
    const struct sched_affinity **overflow;
    size_t noverflow;
    struct sched_candidate *candidates;
    size_t ncandidates, nchosen;
    struct sched_decision *d;
};

/* ---- the request ---- */

void sched_request_of_binding(const struct json *binding, struct sched_request *out)
{
    const struct json *spec = json_get(binding, STR("spec"));

    *out = (struct sched_request){
        .placement = json_get(spec, STR("placement")),
        .api_version = json_get_str(spec, "resource.apiVersion"),
        .kind = json_get_str(spec, "resource.kind"),
        .uid = json_get_str(spec, "resource.uid"),
        .replicas = json_int(json_get(spec, STR("replicas")), 0),
        .requirements = json_get(spec, STR("replicaRequirements")),
        .components = json_len(json_get(spec, STR("components"))),
        .previous = json_get(spec, STR("clusters")),
        .evictions = json_get(spec, STR("gracefulEvictionTasks")),
        .affinity = json_get_str(binding, "status.schedulerObservingAffinityName"),
    };
    if (out->replicas < 0)
        out->replicas = 0;
    if (!json_is(out->requirements, JSON_OBJECT))
        out->requirements = NULL;
}

bool sched_is_workload(const struct sched_request *r)
{
    return r->replicas > 0 || r->requirements || r->components > 0;
}

static enum division division_of(const struct sched_request *r)
{
    const struct json *how = json_get(r->placement, STR("replicaScheduling"));
    const struct json *weights = json_get(how, STR("weightPreference"));

    if (!json_is(how, JSON_OBJECT) ||
        str_is(json_get_str(how, "replicaSchedulingType"), "Duplicated"))
        return DIVIDE_NOT;
    if (str_is(json_get_str(how, "replicaDivisionPreference"), "Aggregated"))
        return DIVIDE_AGGREGATED;
    return json_get_str(weights, "dynamicWeight").n ? DIVIDE_DYNAMIC : DIVIDE_STATIC;
}

/* ---- filter ---- */

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct sched_amount *)a)->name, ((const struct sched_amount *)b)->name);
}

static void add_previous(struct attempt *t)
{
    struct sched_amount *v = arena_array(t->arena, struct sched_amount, json_len(t->r->previous));
    size_t n = 0, k = 0;

    json_for_each (target, t->r->previous) {
        int64_t replicas = json_int(json_get(target, STR("replicas")), 0);

        if (replicas < 0 || replicas > SCHED_REPLICAS_MAX)
            replicas = 0;
        v[n++] = (struct sched_amount){ json_get_str(target, "name"), replicas };
    }
    if (n)
        qsort(v, n, sizeof(*v), by_name);
    for (size_t i = 0; i < t->d->nrows; i++) {
        struct sched_row *row = &t->d->rows[i];

        while (k < n && str_cmp(v[k].name, row->cluster->name) < 0)
            k++;
        if (k < n && str_eq(v[k].name, row->cluster->name)) {
            row->had = true;
            row->before = v[k].n;
        }
    }
}

static bool has_api(const struct sched_cluster *c, uint64_t hash)
{
    size_t low = 0, high = c->napis;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->apis[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->napis && c->apis[low] == hash;
}

static bool is_affine(const struct attempt *t, struct sched_row *row)
{
    if (sched_affinity_matches(t->affinity, row->cluster))
        return true;
    for (size_t i = 0; i < t->noverflow; i++)
        if (sched_affinity_matches(t->overflow[i], row->cluster)) {
            row->tier = (unsigned)i + 1;
            return true;
        }
    return false;
}

static str missing_property(const struct sched_request *r, const struct sched_cluster *c)
{
    json_for_each (constraint, json_get(r->placement, STR("spreadConstraints"))) {
        str field = json_get_str(constraint, "spreadByField");

        if ((str_is(field, "provider") && c->provider.n == 0) ||
            (str_is(field, "region") && c->region.n == 0) ||
            (str_is(field, "zone") && c->nzones == 0))
            return field;
    }
    return STR_NONE;
}

/* What a cluster has already it may keep in spite of its APIs and taints, but for eviction. */
static enum sched_verdict filter(const struct attempt *t, struct sched_row *row, uint64_t api,
                                 const struct sched_names *evicting)
{
    const struct sched_cluster *c = row->cluster;

    if (!row->had && !has_api(c, api))
        return SCHED_NO_API;
    row->taint = sched_untolerated(json_get(t->r->placement, STR("clusterTolerations")), c);
    if (!row->had && row->taint)
        return SCHED_TAINTED;
    if (!is_affine(t, row))
        return SCHED_NOT_AFFINE;
    row->property = missing_property(t->r, c);
    if (row->property.n)
        return SCHED_NO_PROPERTY;
    if (sched_names_have(evicting, c->name))
        return SCHED_EVICTING;
    return SCHED_UNDECIDED;
}

static struct sched_names evicting_names(struct arena *a, const struct json *tasks)
{
    struct json_array names = json_array_new(a);

    json_for_each (task, tasks)
        json_push(&names, json_of_str(json_get_str(task, "fromCluster")));
    return sched_names_parse(a, json_array_done(&names));
}

static void filter_all(struct attempt *t)
{
    struct sched_names evicting = evicting_names(t->arena, t->r->evictions);
    uint64_t api = sched_api_hash(t->r->api_version, t->r->kind);

    for (size_t i = 0; i < t->d->nrows; i++) {
        struct sched_row *row = &t->d->rows[i];

        row->verdict = filter(t, row, api, &evicting);
        t->ncandidates += row->verdict == SCHED_UNDECIDED;
    }
}

static str refusal(struct arena *a, const struct sched_row *row)
{
    switch (row->verdict) {
    case SCHED_NO_API:
        return STR("cluster(s) did not have the API resource");
    case SCHED_TAINTED:
        return str_printf(a, "cluster(s) had untolerated taint {%.*s%s%.*s:%.*s}",
                          STR_ARG(row->taint->key), row->taint->value.n ? "=" : "",
                          STR_ARG(row->taint->value), STR_ARG(row->taint->effect));
    case SCHED_NO_PROPERTY:
        return str_printf(a, "cluster(s) did not have %.*s property", STR_ARG(row->property));
    case SCHED_EVICTING:
        return STR("cluster(s) is in the process of eviction");
    case SCHED_NOT_AFFINE:
    case SCHED_NOT_SELECTED:
    case SCHED_NO_SHARE:
    case SCHED_UNDECIDED:
    case SCHED_CHOSEN:
        break;
    }
    return STR("cluster(s) did not match the placement cluster affinity constraint");
}

static int by_str(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* "0/4 clusters are available: 1 cluster(s) …, 3 cluster(s) …." */
static void say_no_fit(struct attempt *t)
{
    size_t n = t->d->nrows, nlines = 0;
    str *reasons = arena_array(t->arena, str, n), *lines = arena_array(t->arena, str, n), text;

    t->d->outcome = SCHED_NO_FIT;
    t->d->message = STR("0/0 clusters are available: no cluster exists.");
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        reasons[i] = refusal(t->arena, &t->d->rows[i]);
    qsort(reasons, n, sizeof(*reasons), by_str);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && str_eq(reasons[to], reasons[from]);)
            to++;
        lines[nlines++] = str_printf(t->arena, "%zu %.*s", to - from, STR_ARG(reasons[from]));
    }
    qsort(lines, nlines, sizeof(*lines), by_str);
    text = str_printf(t->arena, "0/%zu clusters are available: %.*s", n, STR_ARG(lines[0]));
    for (size_t i = 1; i < nlines; i++)
        text = str_printf(t->arena, "%.*s, %.*s", STR_ARG(text), STR_ARG(lines[i]));
    t->d->message = str_printf(t->arena, "%.*s.", STR_ARG(text));
}

/* ---- score and select ---- */

struct sched_amounts sched_request_amounts(struct arena *a, const struct sched_request *r)
{
    return sched_amounts_parse(a, json_get(r->requirements, STR("resourceRequest")));
}

static int by_cluster(const void *name, const void *promise)
{
    return str_cmp(*(const str *)name, ((const struct sched_promise *)promise)->cluster);
}

static const struct sched_promise *promise_of(const struct sched_request *r, str cluster)
{
    return r->npromised
               ? bsearch(&cluster, r->promised, r->npromised, sizeof(*r->promised), by_cluster)
               : NULL;
}

static void estimate(struct attempt *t)
{
    struct sched_amounts parsed = sched_request_amounts(t->arena, t->r);
    const struct sched_amounts *request = t->r->requirements ? &parsed : NULL;
    bool ask = t->r->replicas > 0;
    size_t n = 0;

    t->candidates = arena_array(t->arena, struct sched_candidate, t->ncandidates);
    for (size_t i = 0; i < t->d->nrows; i++) {
        struct sched_row *row = &t->d->rows[i];
        int64_t room = SCHED_REPLICAS_MAX;

        if (row->verdict != SCHED_UNDECIDED)
            continue;
        if (ask)
            row->room = room =
                sched_room_left(row->cluster, request, promise_of(t->r, row->cluster->name),
                                sched_room(row->cluster, request));
        row->score = row->had ? SCORE_LOCAL : 0;
        t->candidates[n++] = (struct sched_candidate){ .row = i,
                                                       .name = row->cluster->name,
                                                       .region = row->cluster->region,
                                                       .score = row->score,
                                                       .available = room + row->before,
                                                       .tier = row->tier };
    }
    sched_candidates_sort(t->candidates, n);
}

static int64_t bounded(const struct json *v, int64_t otherwise)
{
    int64_t n = json_int(v, otherwise);

    return n < 0 ? 0 : n > SCHED_REPLICAS_MAX ? SCHED_REPLICAS_MAX : n;
}

static int select_candidates(struct attempt *t, enum division how, struct status *st)
{
    const struct json *list = json_get(t->r->placement, STR("spreadConstraints"));
    struct sched_selection s = { .duplicated = how == DIVIDE_NOT, .replicas = t->r->replicas };

    t->nchosen = t->ncandidates;
    if (json_len(list) == 0 || how == DIVIDE_STATIC)
        return 0;
    json_for_each (constraint, list) {
        str field = json_get_str(constraint, "spreadByField");
        struct sched_spread by = { bounded(json_get(constraint, STR("minGroups")), 0),
                                   bounded(json_get(constraint, STR("maxGroups")), 0), true };

        if (str_is(field, "region"))
            s.region = by;
        if (str_is(field, "cluster"))
            s.cluster = by;
    }
    if (sched_select(t->arena, &s, t->candidates, t->ncandidates, &t->nchosen, st) < 0)
        return status_wrap(st, "failed to select clusters");
    return 0;
}

/*
 * karmada: pkg/scheduler/core/common.go, AssignReplicas.  Constraints may leave no cluster, a
 * maxGroups of 0 for one: that is no decision to run nowhere.
 */
static int check_chosen(const struct attempt *t, struct status *st)
{
    if (t->nchosen)
        return 0;
    return status_set(st, REASON_INVALID,
                      "failed to assign replicas: no clusters available to schedule");
}

/* ---- divide ---- */

static void give(struct attempt *t, size_t i, int64_t replicas, bool whole)
{
    struct sched_row *row = &t->d->rows[t->candidates[i].row];

    row->replicas = replicas;
    row->verdict = replicas > 0 || whole ? SCHED_CHOSEN : SCHED_NO_SHARE;
}

struct weights {
    struct sched_amount *names; /* of rules that only name clusters: sorted, the heaviest first */
    size_t nnames;
    const struct sched_affinity **others;
    int64_t *weights; /* of the others */
    size_t nothers;
};

static int by_name_then_weight(const void *a, const void *b)
{
    const struct sched_amount *x = a, *y = b;
    int order = str_cmp(x->name, y->name);

    return order ? order : x->n > y->n ? -1 : x->n < y->n;
}

static void parse_weights(struct arena *a, const struct json *list, struct weights *w)
{
    size_t names = 0;

    json_for_each (rule, list)
        names += json_len(json_path(rule, "targetCluster.clusterNames"));
    *w = (struct weights){ .names = arena_array(a, struct sched_amount, names) };
    w->others = arena_array(a, const struct sched_affinity *, json_len(list));
    w->weights = arena_array(a, int64_t, json_len(list));
    json_for_each (rule, list) {
        const struct sched_affinity *f =
            sched_affinity_parse(a, json_get(rule, STR("targetCluster")));
        const struct sched_names *only = sched_affinity_names(f);
        int64_t weight = json_int(json_get(rule, STR("weight")), 0);

        for (size_t i = 0; only && i < only->n; i++)
            w->names[w->nnames++] = (struct sched_amount){ only->v[i], weight };
        if (!only) {
            w->others[w->nothers] = f;
            w->weights[w->nothers++] = weight;
        }
    }
    if (w->nnames)
        qsort(w->names, w->nnames, sizeof(*w->names), by_name_then_weight);
}

static int64_t weight_of(const struct weights *w, const struct sched_cluster *c)
{
    size_t low = 0, high = w->nnames;
    int64_t weight = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (str_cmp(w->names[middle].name, c->name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < w->nnames && str_eq(w->names[low].name, c->name))
        weight = w->names[low].n;
    for (size_t i = 0; i < w->nothers; i++)
        if (w->weights[i] > weight && sched_affinity_matches(w->others[i], c))
            weight = w->weights[i];
    return weight > 0 ? weight : 0;
}

static void weigh(struct attempt *t, size_t i, int64_t weight)
{
    t->d->rows[t->candidates[i].row].weight = weight;
    if (weight > 0 && __builtin_add_overflow(t->d->weights, weight, &t->d->weights))
        t->d->weights = INT64_MAX;
}

static void divide_static(struct attempt *t)
{
    const struct json *list =
        json_path(t->r->placement, "replicaScheduling.weightPreference.staticWeightList");
    struct sched_share *s = arena_array(t->arena, struct sched_share, t->nchosen);
    struct weights w;
    bool any = false;

    t->d->way = SCHED_STATIC_WEIGHT;
    parse_weights(t->arena, list, &w);
    for (size_t i = 0; i < t->nchosen; i++) {
        const struct sched_cluster *c = t->d->rows[t->candidates[i].row].cluster;

        s[i] = (struct sched_share){ c->name, weight_of(&w, c), 0 };
        any |= s[i].weight > 0;
    }
    for (size_t i = 0; !any && i < t->nchosen; i++)
        s[i].weight = 1;
    sched_webster(t->arena, s, t->nchosen, t->r->replicas, sched_ties_descend(t->r->uid));
    for (size_t i = 0; i < t->nchosen; i++) {
        weigh(t, i, s[i].weight);
        give(t, i, s[i].seats, false);
    }
}

static int divide_dynamic(struct attempt *t, enum division how, struct status *st)
{
    struct sched_division v = { .replicas = t->r->replicas,
                                .aggregated = how == DIVIDE_AGGREGATED,
                                .fresh = t->r->fresh,
                                .descend = sched_ties_descend(t->r->uid) };
    struct sched_holder *h = arena_array(t->arena, struct sched_holder, t->nchosen);

    t->d->way = v.aggregated ? SCHED_AGGREGATED : SCHED_DYNAMIC_WEIGHT;
    for (size_t i = 1; i < t->nchosen; i++)
        if (t->candidates[i].tier < t->candidates[i - 1].tier) {
            sched_candidates_sort(t->candidates, t->nchosen);
            break;
        }
    for (size_t i = 0; i < t->nchosen; i++) {
        const struct sched_candidate *c = &t->candidates[i];
        const struct sched_row *row = &t->d->rows[c->row];

        h[i] = (struct sched_holder){ .name = c->name,
                                      .room = row->room < 0 ? SCHED_REPLICAS_MAX : row->room,
                                      .available = c->available,
                                      .before = row->before,
                                      .tier = c->tier };
    }
    if (sched_divide(t->arena, &v, h, t->nchosen) < 0)
        return status_set(st, REASON_UNAVAILABLE,
                          "failed to assign replicas: failed to %s: Clusters available replicas "
                          "%lld are not enough to schedule.",
                          v.fresh ? "do fresh scale" : "scale up", (long long)v.short_of);
    t->d->scaled_up = v.scaled_up;
    t->d->scaled_down = v.scaled_down;
    t->d->kept = v.kept;
    for (size_t i = 0; i < t->nchosen; i++) {
        weigh(t, i, h[i].weight);
        give(t, i, h[i].after, false);
    }
    return 0;
}

static int divide(struct attempt *t, enum division how, struct status *st)
{
    bool whole = !sched_is_workload(t->r) || t->r->components > 1;

    if (!whole && how == DIVIDE_STATIC) {
        divide_static(t);
        return 0;
    }
    if (!whole && how != DIVIDE_NOT)
        return divide_dynamic(t, how, st);
    t->d->way = whole ? SCHED_WHOLE : SCHED_DUPLICATED;
    for (size_t i = 0; i < t->nchosen; i++)
        give(t, i, whole ? 0 : t->r->replicas, whole);
    return 0;
}

/* ---- attempts ---- */

static void fail(struct attempt *t, enum sched_outcome outcome, const struct status *st)
{
    t->d->outcome = outcome;
    t->d->message = str_dup(t->arena, st->message);
}

static void attempt(struct attempt *t, const struct sched_cluster *const *clusters, size_t n)
{
    enum division how = division_of(t->r);
    struct status st;

    status_init(&st, t->arena);
    t->d->rows = arena_array(t->arena, struct sched_row, n);
    for (size_t i = 0; i < n; i++)
        if (!clusters[i]->deleting)
            t->d->rows[t->d->nrows++] =
                (struct sched_row){ .cluster = clusters[i], .room = -1, .weight = -1 };
    add_previous(t);
    filter_all(t);
    if (t->ncandidates == 0) {
        say_no_fit(t);
        return;
    }
    estimate(t);
    if (select_candidates(t, how, &st) < 0 || check_chosen(t, &st) < 0) {
        fail(t, SCHED_ERROR, &st);
        return;
    }
    if (divide(t, how, &st) < 0) {
        fail(t, SCHED_UNSCHEDULABLE, &st);
        return;
    }
    for (size_t i = 0; i < t->d->nrows; i++)
        if (t->d->rows[i].verdict == SCHED_UNDECIDED)
            t->d->rows[i].verdict = SCHED_NOT_SELECTED;
}

static void use_group(struct attempt *t, const struct json *group)
{
    const struct json *overflow = json_get(group, STR("overflowAffinities"));

    t->affinity = sched_affinity_parse(t->arena, group);
    t->d->affinity = json_get_str(group, "affinityName");
    if (!sched_is_workload(t->r))
        return;
    t->overflow = arena_array(t->arena, const struct sched_affinity *, json_len(overflow));
    json_for_each (more, overflow)
        if (json_is(more, JSON_OBJECT))
            t->overflow[t->noverflow++] = sched_affinity_parse(t->arena, more);
}

static size_t first_group(const struct sched_request *r, const struct json *groups)
{
    for (size_t i = 0; !r->fresh && r->affinity.n && i < json_len(groups); i++)
        if (str_eq(json_get_str(json_at(groups, i), "affinityName"), r->affinity))
            return i;
    return 0;
}

void sched_decide(struct arena *a, const struct sched_request *r,
                  const struct sched_cluster *const *clusters, size_t n, struct sched_decision *out)
{
    const struct json *groups = json_get(r->placement, STR("clusterAffinities"));
    size_t first = first_group(r, groups);

    if (json_len(groups) == 0) {
        struct attempt t = { .arena = a, .r = r, .d = out };

        *out = (struct sched_decision){ 0 };
        t.affinity = sched_affinity_parse(a, json_get(r->placement, STR("clusterAffinity")));
        attempt(&t, clusters, n);
        return;
    }
    for (size_t i = first; i < json_len(groups); i++) {
        struct sched_decision d = { .tried = i - first };
        struct attempt t = { .arena = a, .r = r, .d = &d };

        use_group(&t, json_at(groups, i));
        attempt(&t, clusters, n);
        if (i == first || d.outcome == SCHED_DONE)
            *out = d;
        if (d.outcome == SCHED_DONE)
            return;
    }
}

const struct json *sched_targets(struct arena *a, const struct sched_decision *d)
{
    struct json_array list = json_array_new(a);

    for (size_t i = 0; i < d->nrows && d->outcome == SCHED_DONE; i++) {
        struct json_object o = json_object_new(a);

        if (d->rows[i].verdict != SCHED_CHOSEN)
            continue;
        json_add(&o, STR("name"), json_of_str(d->rows[i].cluster->name));
        if (d->rows[i].replicas > 0)
            json_add(&o, STR("replicas"), json_of_int(d->rows[i].replicas));
        json_push(&list, json_object_value(&o));
    }
    return json_array_done(&list);
}

/* ---- placements ---- */

static bool same(const struct json *a, const struct json *b, const char *member)
{
    const struct json *x = json_get(a, str_of(member)), *y = json_get(b, str_of(member));

    return x && y ? json_equal(x, y) : x == y;
}

static const struct json *group_of(const struct json *placement, str name)
{
    json_for_each (group, json_get(placement, STR("clusterAffinities")))
        if (str_eq(json_get_str(group, "affinityName"), name))
            return group;
    return NULL;
}

bool sched_placement_changed(const struct json *placement, const struct json *applied, str affinity)
{
    static const char *const parts[] = { "clusterAffinity", "clusterTolerations",
                                         "spreadConstraints", "replicaScheduling" };
    const struct json *now, *then;

    if (!placement)
        placement = &json_empty_object;
    if (!applied)
        return true;
    if (json_equal(placement, applied))
        return false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!same(placement, applied, parts[i]))
            return true;
    if (same(placement, applied, "clusterAffinities"))
        return false;
    now = affinity.n ? group_of(placement, affinity) : NULL;
    then = affinity.n ? group_of(applied, affinity) : NULL;
    return !now || !then || !json_equal(now, then);
}
