/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_KINDS_H
#define KINDS_KINDS_H

/*
 * The built-in kinds.  What their objects look like is in tables/ (read at start), what is special
 * about them in one file a group: names, columns and selectors as tables, the rest as strategy
 * functions (rest/kind.h).
 *
 * kinds_init runs once, before any thread looks; after it everything here is frozen.
 */

#include "rest/kind.h"

struct rest;

/*
 * Reads the tables and completes the kinds.  type_id gives the number under which the store keeps
 * the objects of a resource; it is asked once for each.
 */
int kinds_init(uint32_t (*type_id)(void *arg, str group, str plural), void *arg, struct status *st)
    __attribute__((warn_unused_result));
void kinds_free(void);

/* What the root instance serves: all kinds.  What the others serve: all but the platform's own
 * (instances, registry of clusters, people, search).  Those of profile minimal: the few that a kcp
 * has, everything else comes by CRDs; of profile kubernetes: those of a plain cluster. */
const struct catalog *kinds_catalog_root(void);
const struct catalog *kinds_catalog_instance(void);
const struct catalog *kinds_catalog_minimal(void);
const struct catalog *kinds_catalog_kubernetes(void);

/* Changes what older programs have stored, each change once for each store (rest/upgrade.h). */
int kinds_upgrade(struct rest *r, struct status *st) __attribute__((warn_unused_result));

#endif
