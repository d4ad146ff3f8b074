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

/*
 * Entries of Workspaces, Groups and PlatformRoles give rights to names, on names.  They hold for
 * the object that had the name when they were written, whose uid they have.
 */
enum named_what { NAMED_INSTANCE, NAMED_CLUSTER, NAMED_USER, NAMED_GROUP };
struct named_entry {
    enum named_what what;
    str name, uid; /* uid empty: it has none */
    str field;     /* of the uid: "spec.members[0].uid" */
};

/* 1 with the uid of the object that has the name now, 0 when there is none, or -1.  The virtual
 * cluster of an instance is none of its own.  In an epoch. */
int kinds_named_uid(struct rest *r, struct arena *a, enum named_what what, str name, str *uid,
                    struct status *st) __attribute__((warn_unused_result));

/* The object with the uid that fn gives each of its entries, none if it is empty; *obj itself when
 * all have it already.  fn returns 0, or -1 to end. */
typedef int named_fn(void *arg, const struct named_entry *e, str *uid, struct status *st);
int kinds_named_each(struct arena *a, const struct json **obj, named_fn *fn, void *arg,
                     struct status *st) __attribute__((warn_unused_result));

/* Changes what older programs have stored, each change once for each store (rest/upgrade.h). */
int kinds_upgrade(struct rest *r, struct status *st) __attribute__((warn_unused_result));

#endif
