/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/sched/sched.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

enum { CLUSTERS_MAX = 64 };

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct sched_cluster *const *)a)->name,
                   (*(const struct sched_cluster *const *)b)->name);
}

static size_t parse_clusters(struct arena *a, const struct json *list,
                             const struct sched_cluster **out)
{
    size_t n = 0, kept = 0;

    json_for_each (cluster, list)
        if (n < CLUSTERS_MAX)
            out[n++] = sched_cluster_parse(a, cluster);
    if (n)
        qsort(out, n, sizeof(*out), by_name);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(out[kept - 1]->name, out[i]->name))
            out[kept++] = out[i];
    return kept;
}

/*
 * {"binding", "clusters", "fresh"}: whatever it says, a decision comes out; what is divided adds up
 * to what was asked for, and who is chosen passed the filters.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    const struct sched_cluster *clusters[CLUSTERS_MAX];
    const struct json *in;
    struct sched_request r;
    struct sched_decision d;
    struct status st;
    int64_t sum = 0;
    size_t n, chosen = 0;

    status_init(&st, a);
    if (json_parse(a, (str){ (const char *)data, size }, NULL, &in, &st) < 0)
        return 0;
    n = parse_clusters(a, json_get(in, STR("clusters")), clusters);
    sched_request_of_binding(json_get(in, STR("binding")), &r);
    if (r.replicas > INT32_MAX)
        return 0; /* the kind's schema lets none in */
    r.fresh = json_bool(json_get(in, STR("fresh")));
    sched_decide(a, &r, clusters, n, &d);
    for (size_t i = 0; i < d.nrows; i++) {
        sum += d.rows[i].verdict == SCHED_CHOSEN ? d.rows[i].replicas : 0;
        chosen += d.rows[i].verdict == SCHED_CHOSEN;
        assert(d.rows[i].replicas >= 0);
    }
    assert((d.outcome == SCHED_DONE) == (d.message.n == 0));
    if (d.outcome == SCHED_DONE && d.way != SCHED_WHOLE && d.way != SCHED_DUPLICATED && chosen)
        assert(sum == r.replicas);
    assert(json_len(sched_targets(a, &d)) == (d.outcome == SCHED_DONE ? chosen : 0));
    (void)sched_explain(a, &r, &d);
    (void)sched_placement_changed(r.placement, json_path(in, "binding.applied"), r.affinity);
    return 0;
}
