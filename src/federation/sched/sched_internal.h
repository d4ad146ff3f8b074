/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_SCHED_SCHED_INTERNAL_H
#define FEDERATION_SCHED_SCHED_INTERNAL_H

/*
 * What sched_decide() is put together from, for the files of this folder and their tests.
 */

#include "federation/sched/sched.h"

/* ---- affinity.c: the placement, compiled ---- */

struct sched_names { /* sorted */
    const str *v;
    size_t n;
};

bool sched_names_have(const struct sched_names *names, str name);
struct sched_names sched_names_parse(struct arena *a, const struct json *list);

struct sched_affinity;

/* NULL for NULL.  One that makes no sense (admission lets none in) matches nothing. */
const struct sched_affinity *sched_affinity_parse(struct arena *a, const struct json *tree);
bool sched_affinity_matches(const struct sched_affinity *f, const struct sched_cluster *c);
/* The names, when nothing else is asked of a cluster; else NULL. */
const struct sched_names *sched_affinity_names(const struct sched_affinity *f);

/* The first taint that is not tolerated, or NULL. */
const struct sched_taint *sched_untolerated(const struct json *tolerations,
                                            const struct sched_cluster *c);

/* ---- estimate.c ---- */

enum { SCHED_REPLICAS_MAX = INT32_MAX };

struct sched_amounts sched_amounts_parse(struct arena *a, const struct json *list);
uint64_t sched_api_hash(str api_version, str kind);

/* How many more replicas have room; request: of one replica, NULL when nothing is required. */
int64_t sched_room(const struct sched_cluster *c, const struct sched_amounts *request);
/* What is left of that room when promises have been kept; promise: NULL for none. */
int64_t sched_room_left(const struct sched_cluster *c, const struct sched_amounts *request,
                        const struct sched_promise *promise, int64_t room);

/* ---- divide.c ---- */

struct sched_share {
    str name;
    int64_t weight;
    int64_t seats; /* in: those it has; out: with what was added */
};

/* Ties go to the later name when the template's uid says so. */
bool sched_ties_descend(str uid);

/* Webster (Sainte-Laguë): seats more, one by one to the largest weight / (2 * seats + 1). */
void sched_webster(struct arena *a, struct sched_share *s, size_t n, int64_t seats, bool descend);

struct sched_holder { /* a candidate, in order of selection */
    str name;
    int64_t room;      /* what fits beside what it has */
    int64_t available; /* room and what it has */
    int64_t before, after;
    int64_t weight; /* out: by which it was divided, -1: not */
    unsigned tier;
};

struct sched_division {
    int64_t replicas;
    bool aggregated, fresh, descend;
    /* out */
    bool scaled_up, scaled_down, kept;
    int64_t short_of; /* when it fails: the room that there is */
};

/* Tiers one after the other, each by the rules of dynamic weight; -1: not enough room. */
int sched_divide(struct arena *a, struct sched_division *d, struct sched_holder *h, size_t n);

/* ---- select.c ---- */

struct sched_candidate {
    size_t row;
    str name, region;
    int64_t score, available;
    unsigned tier;
};

void sched_candidates_sort(struct sched_candidate *c, size_t n);

struct sched_spread {
    int64_t min, max;
    bool set;
};

struct sched_group {
    str name;
    size_t nclusters;
    int64_t score;
    const struct sched_candidate *clusters; /* sorted */
};

/* Chosen groups to the front, in order, and how many; 0: none will do. */
size_t sched_select_groups(struct arena *a, struct sched_group *g, size_t n, int64_t min,
                           int64_t max, int64_t min_clusters);

int64_t sched_group_score(const struct sched_candidate *c, size_t n, bool duplicated,
                          int64_t replicas, int64_t min_groups, int64_t min_clusters);

/* Chosen candidates to the front, and how many; -1 and why not.  need < 0: room does not count. */
int sched_select_clusters(struct arena *a, struct sched_candidate *c, size_t n,
                          const struct sched_spread *by, int64_t need, size_t *chosen,
                          struct status *st);
int sched_select_by_region(struct arena *a, struct sched_group *g, size_t n,
                           const struct sched_spread *region, const struct sched_spread *cluster,
                           struct sched_candidate *out, size_t *chosen, struct status *st);

/* The whole of it: candidates sorted in, the chosen ones in front. */
struct sched_selection {
    bool duplicated;
    int64_t replicas;
    struct sched_spread region, cluster;
};
int sched_select(struct arena *a, const struct sched_selection *s, struct sched_candidate *c,
                 size_t n, size_t *chosen, struct status *st);

#endif
