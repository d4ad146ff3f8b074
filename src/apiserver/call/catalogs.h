/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_CATALOGS_H
#define APISERVER_CALL_CATALOGS_H

/*
 * What each instance serves: the built-in kinds of its profile, and those of its CRDs.
 *
 * An instance without CRDs has the catalog of its profile, and costs nothing here.  For others a
 * catalog is made when it is first asked for after a change, on a worker; equal instances share it,
 * and equal CRDs their compiled schemas.  Found again without a lock, by instance and the revision
 * up to which its CRDs are known.  What nobody uses goes when there is too much of it.
 */

#include "apiserver/call/call.h"

struct catalogs;

struct catalogs *catalogs_new(struct server *s);
void catalogs_free(struct catalogs *cs); /* after the workers have ended */

/*
 * Sets c->rest.catalog, which lives as long as the call's arena, and goes on: at once, or later in
 * the call's loop.
 */
void catalogs_get(struct catalogs *cs, struct call *c, void (*then)(struct call *c));

/* The same at once, made on the calling thread if need be: not on a loop. */
const struct catalog *catalogs_make(struct catalogs *cs, struct arena *a, const struct instance *i);

#endif
