/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_GARBAGE_H
#define APISERVER_UPKEEP_GARBAGE_H

/*
 * Garbage collection: what belongs to an object goes with it.
 *
 * One thread for all instances.  It is told of writes by admission_committed, finds dependents by
 * the owner index of the store, and acts through the API as system:kairship:garbage-collector; it
 * keeps no graph, so an object costs nothing here.  What a kill has left undone is found by the
 * same index at the next start.  k8s: pkg/controller/garbagecollector
 */

#include "rest/rest.h"

struct garbage;
struct server;

struct garbage *garbage_new(struct server *s);
void garbage_free(struct garbage *g); /* after garbage_stop */

/* While the loops run; not on one of them. */
void garbage_start(struct garbage *g, struct loop *l);
void garbage_stop(struct garbage *g);

/* An object was written or, if removed, is gone.  On the request's loop; cheap. */
void garbage_note(struct garbage *g, const struct rest_request *req, const struct json *obj,
                  bool removed);

#endif
