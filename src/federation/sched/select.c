/* SPDX-License-Identifier: Apache-2.0 */

/* Candidates by spread constraints.  Karmada: pkg/scheduler/core/spreadconstraint. */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"

enum {
    SCORE_UNIT = 1000,    /* of capacity in a group's score; the rest is the clusters' own */
    SEARCH_MAX = 1 << 17, /* sets of regions looked at: all of any 16, some of more */
};

static int better(const void *a, const void *b)
{
    const struct sched_candidate *x = a, *y = b;

    if (x->tier != y->tier)
        return x->tier < y->tier ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->available != y->available)
        return x->available > y->available ? -1 : 1;
    return str_cmp(x->name, y->name);
}

void sched_candidates_sort(struct sched_candidate *c, size_t n)
{
    if (n)
        qsort(c, n, sizeof(*c), better);
}

/* ---- by cluster ---- */

/* Of those not kept, the roomiest first; places break ties. */
struct spare {
    struct sched_candidate *all;
    size_t *heap; /* places in all */
    size_t n;
};

static bool roomier(const struct spare *s, size_t x, size_t y)
{
    int64_t a = s->all[x].available, b = s->all[y].available;

    return a != b ? a > b : x < y;
}

static void spare_sift(struct spare *s, size_t i)
{
    for (;;) {
        size_t best = i, left = 2 * i + 1, right = left + 1, moved = s->heap[i];

        if (left < s->n && roomier(s, s->heap[left], s->heap[best]))
            best = left;
        if (right < s->n && roomier(s, s->heap[right], s->heap[best]))
            best = right;
        if (best == i)
            return;
        s->heap[i] = s->heap[best];
        s->heap[best] = moved;
        i = best;
    }
}

/* From the last kept towards the first: each for the roomiest that is left, until all fits. */
static bool make_room(struct arena *a, struct sched_candidate *c, size_t n, size_t keep,
                      int64_t need)
{
    struct spare s = { c, arena_array(a, size_t, n), n - keep };
    int64_t sum = 0;

    for (size_t i = 0; i < keep; i++)
        sum += c[i].available;
    for (size_t i = 0; i < s.n; i++)
        s.heap[i] = keep + i;
    for (size_t i = s.n; i-- > 0;)
        spare_sift(&s, i);
    for (size_t i = keep; sum < need && i-- > 0 && s.n;) {
        struct sched_candidate out = c[i], in = c[s.heap[0]];

        if (in.available <= out.available)
            continue;
        c[i] = in;
        c[s.heap[0]] = out;
        sum += in.available - out.available;
        spare_sift(&s, 0);
    }
    return sum >= need;
}

static size_t least(size_t have, int64_t most)
{
    if (most <= 0)
        return 0;
    return (uint64_t)most < have ? (size_t)most : have;
}

int sched_select_clusters(struct arena *a, struct sched_candidate *c, size_t n,
                          const struct sched_spread *by, int64_t need, size_t *chosen,
                          struct status *st)
{
    size_t keep = least(n, by->max);

    if ((int64_t)n < by->min)
        return status_set(
            st, REASON_INVALID,
            "the number of feasible clusters is less than spreadConstraint.MinGroups");
    if (need >= 0 && !make_room(a, c, n, keep, need))
        return status_set(st, REASON_UNAVAILABLE, "no enough resource when selecting %zu clusters",
                          keep);
    *chosen = keep;
    return 0;
}

/* ---- by region ---- */

static int64_t duplicated_score(const struct sched_candidate *c, size_t n, int64_t replicas)
{
    int64_t fit = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        if (c[i].available >= replicas) {
            fit++;
            sum += c[i].score;
        }
    return fit ? fit * SCORE_UNIT + sum / fit : 0;
}

int64_t sched_group_score(const struct sched_candidate *c, size_t n, bool duplicated,
                          int64_t replicas, int64_t min_groups, int64_t min_clusters)
{
    int64_t target, room = 0, score = 0, walked = 0;

    if (duplicated)
        return duplicated_score(c, n, replicas);
    if (n == 0)
        return 0;
    if (min_groups < 1)
        min_groups = 1;
    if (min_clusters < min_groups)
        min_clusters = min_groups;
    target = replicas / min_groups + (replicas % min_groups > 0);
    do {
        room += c[walked].available;
        score += c[walked].score;
        walked++;
    } while (walked < (int64_t)n && (walked < min_clusters || room < target));
    if (room < target)
        return room * SCORE_UNIT + score / (int64_t)n;
    return target * SCORE_UNIT + score / walked;
}

static int small_groups_first(const void *a, const void *b)
{
    const struct sched_group *x = a, *y = b;

    if (x->nclusters != y->nclusters)
        return x->nclusters < y->nclusters ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static int high_groups_first(const void *a, const void *b)
{
    const struct sched_group *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return str_cmp(x->name, y->name);
}

struct search {
    const struct sched_group *g;
    size_t n;
    int64_t min, max, min_clusters;
    size_t *path, *best; /* places in g, ascending */
    size_t npath, nbest;
    int64_t score, clusters, best_score, best_clusters;
    unsigned looked;
};

static bool enough(const struct search *s)
{
    return s->clusters >= s->min_clusters && (int64_t)s->npath >= s->min &&
           (int64_t)s->npath <= s->max;
}

static void remember(struct search *s)
{
    if (s->nbest && (s->score < s->best_score ||
                     (s->score == s->best_score && s->clusters <= s->best_clusters)))
        return;
    memcpy(s->best, s->path, s->npath * sizeof(*s->path));
    s->nbest = s->npath;
    s->best_score = s->score;
    s->best_clusters = s->clusters;
}

static void step_in(struct search *s, size_t i)
{
    s->path[s->npath++] = i;
    s->score += s->g[i].score;
    s->clusters += (int64_t)s->g[i].nclusters;
}

static size_t step_out(struct search *s)
{
    size_t i = s->path[--s->npath];

    s->score -= s->g[i].score;
    s->clusters -= (int64_t)s->g[i].nclusters;
    return i;
}

/* Depth first over sets in ascending order; one that is enough is not extended. */
static void search_sets(struct search *s)
{
    size_t next = 0;

    for (;;) {
        bool deeper = (int64_t)s->npath < s->max && next < s->n;

        if (s->npath && deeper && enough(s))
            deeper = false;
        if (deeper && s->looked < SEARCH_MAX) {
            s->looked++;
            step_in(s, next);
            next = s->path[s->npath - 1] + 1;
            if (enough(s))
                remember(s);
            continue;
        }
        if (s->npath == 0)
            return;
        next = step_out(s) + 1;
    }
}

/* Too many to search: the largest are as likely to be enough as any. */
static void take_largest(struct search *s)
{
    for (size_t i = s->n; i-- > 0 && (int64_t)s->npath < s->max && !enough(s);)
        step_in(s, i);
    if (enough(s))
        remember(s);
}

/*
 * A set that is the beginning of the best one, in order of scores, is preferred when it was found,
 * too: fewer regions.  It was found when it is enough, and is not without the last that was added.
 */
static size_t shorten(const struct search *s, const struct sched_group *ranked, size_t n)
{
    const struct sched_group *last = ranked;
    int64_t clusters = 0;

    for (size_t size = 1; size < n; size++) {
        int64_t rest;

        clusters += (int64_t)ranked[size - 1].nclusters;
        if (small_groups_first(last, &ranked[size - 1]) < 0)
            last = &ranked[size - 1];
        rest = clusters - (int64_t)last->nclusters;
        if (clusters >= s->min_clusters && (int64_t)size >= s->min &&
            (rest < s->min_clusters || (int64_t)size - 1 < s->min || size == 1))
            return size;
    }
    return n;
}

size_t sched_select_groups(struct arena *a, struct sched_group *g, size_t n, int64_t min,
                           int64_t max, int64_t min_clusters)
{
    struct search s = { .g = g, .n = n, .min = min, .max = max, .min_clusters = min_clusters };
    struct sched_group *ranked;

    if (n == 0 || (int64_t)n < min)
        return 0;
    qsort(g, n, sizeof(*g), small_groups_first);
    s.path = arena_array(a, size_t, n);
    s.best = arena_array(a, size_t, n);
    if ((int64_t)n == min) {
        for (size_t i = 0; i < n; i++)
            step_in(&s, i);
        if (enough(&s))
            remember(&s);
    } else
        search_sets(&s);
    if (s.nbest == 0 && s.looked == SEARCH_MAX)
        take_largest(&s);
    ranked = arena_array(a, struct sched_group, s.nbest);
    for (size_t i = 0; i < s.nbest; i++)
        ranked[i] = g[s.best[i]];
    if (s.nbest == 0)
        return 0;
    qsort(ranked, s.nbest, sizeof(*ranked), high_groups_first);
    memcpy(g, ranked, s.nbest * sizeof(*g));
    return (int64_t)n == min ? s.nbest : shorten(&s, ranked, s.nbest);
}

int sched_select_by_region(struct arena *a, struct sched_group *g, size_t n,
                           const struct sched_spread *region, const struct sched_spread *cluster,
                           struct sched_candidate *out, size_t *chosen, struct status *st)
{
    size_t groups, all = 0, rest = 0, want;
    struct sched_candidate *others;

    if ((int64_t)n < region->min)
        return status_set(st, REASON_INVALID,
                          "the number of feasible region is less than spreadConstraint.MinGroups");
    groups = sched_select_groups(a, g, n, region->min, region->max, cluster->min);
    if (groups == 0)
        return status_set(
            st, REASON_INVALID,
            "the number of clusters is less than the cluster spreadConstraint.MinGroups");
    for (size_t i = 0; i < groups; i++)
        all += g[i].nclusters;
    others = arena_array(a, struct sched_candidate, all);
    for (size_t i = 0; i < groups; i++) {
        out[i] = g[i].clusters[0];
        for (size_t k = 1; k < g[i].nclusters; k++)
            others[rest++] = g[i].clusters[k];
    }
    sched_candidates_sort(others, rest);
    want = least(all, cluster->max);
    *chosen = groups;
    for (size_t i = 0; i < rest && *chosen < want; i++)
        out[(*chosen)++] = others[i];
    return 0;
}

static int by_region_then_better(const void *a, const void *b)
{
    const struct sched_candidate *x = a, *y = b;
    int order = str_cmp(x->region, y->region);

    return order ? order : better(a, b);
}

static int select_regions(struct arena *a, const struct sched_selection *s,
                          struct sched_candidate *c, size_t n, size_t *chosen, struct status *st)
{
    struct sched_candidate *sorted = arena_array(a, struct sched_candidate, n);
    struct sched_group *g = arena_array(a, struct sched_group, n);
    size_t ngroups = 0;

    memcpy(sorted, c, n * sizeof(*c));
    qsort(sorted, n, sizeof(*sorted), by_region_then_better);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && str_eq(sorted[to].region, sorted[from].region);)
            to++;
        g[ngroups++] = (struct sched_group){
            .name = sorted[from].region,
            .nclusters = to - from,
            .clusters = sorted + from,
            .score = sched_group_score(sorted + from, to - from, s->duplicated, s->replicas,
                                       s->region.min, s->cluster.min),
        };
    }
    return sched_select_by_region(a, g, ngroups, &s->region, &s->cluster, c, chosen, st);
}

int sched_select(struct arena *a, const struct sched_selection *s, struct sched_candidate *c,
                 size_t n, size_t *chosen, struct status *st)
{
    if (s->region.set && n)
        return select_regions(a, s, c, n, chosen, st);
    if (s->cluster.set)
        return sched_select_clusters(a, c, n, &s->cluster, s->duplicated ? -1 : s->replicas, chosen,
                                     st);
    return status_set(st, REASON_INVALID, "just support cluster and region spread constraint");
}
