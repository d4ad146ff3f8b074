/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_REGISTRY_H
#define SEARCH_REGISTRY_H

/*
 * Which clusters are collected, as root says it: a source (search/source.h) for each PediaCluster
 * and each member in the fleet's registry, one for all instances together, one for each that is
 * attached (a virtual cluster with credentials), and a hidden cluster in the index for each
 * instance.  What is no more named leaves the index; the virtual cluster of an instance that ends
 * is kept by a finalizer until it has.
 *
 * Everything on the loop of root's client.
 */

#include "fleet/member.h"
#include "search/source.h"

struct registry;

struct registry_options {
    struct client *root;
    struct search_index *search_index;
    struct clock *clock;
    const struct egress *egress; /* where connections may go; kept; NULL: egress_default */
    bool instances;
};

struct registry *registry_new(const struct registry_options *o);
void registry_free(struct registry *r);

/* The collectors of instances follow their watches. */
bool registry_instances_live(const struct registry *r);
void registry_instances_flush(struct registry *r); /* as collector_flush */

#endif
