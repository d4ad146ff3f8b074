/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_PEDIA_SPEC_H
#define SEARCH_PEDIA_SPEC_H

/* What the spec of a PediaCluster says: where it is, and what is collected. */

#include "client/client.h"
#include "search/source.h"

/* At most `max` of spec.syncResources; they live where the list and the arena do. */
size_t pedia_wants(struct arena *a, const struct json *list, struct source_want *out, size_t max);

/* From inline data only: what an object says is not trusted. */
int pedia_kubeconfig(struct arena *a, const struct json *spec, struct kubeconfig *out,
                     struct status *st) __attribute__((warn_unused_result));

#endif
