/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_FIT_H
#define SIM_FIT_H

/* Whether a pod may and can run on a node.  Pure. */

#include "json/json.h"

struct fit_amount {
    int64_t cpu_m, memory, pods;
};

/* k8s: what its containers need together, or an init container alone if that is more; one pod. */
struct fit_amount fit_requests(const struct json *pod);
struct fit_amount fit_allocatable(const struct json *node);

/* In the order in which they are asked; what a node that is left out lacks first. */
enum fit_result {
    FIT_OK,
    FIT_NOT_READY,
    FIT_UNSCHEDULABLE,
    FIT_TAINTED,
    FIT_SELECTOR,
    FIT_PODS,
    FIT_CPU,
    FIT_MEMORY,
    FIT_RESULTS
};

/* By what both say: taints, selectors, affinity to nodes. */
enum fit_result fit_allows(struct arena *a, const struct json *node, const struct json *pod);

/* By room.  used is what runs there already. */
enum fit_result fit_room(const struct fit_amount *all, const struct fit_amount *used,
                         const struct fit_amount *wanted);

/* How full a node would be, in parts of a million of each resource: the least is taken. */
int64_t fit_load(const struct fit_amount *all, const struct fit_amount *used,
                 const struct fit_amount *wanted);

/* "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable." */
str fit_explain(struct arena *a, const size_t count[FIT_RESULTS], size_t nodes);

#endif
