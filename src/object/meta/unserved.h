/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_UNSERVED_H
#define OBJECT_META_UNSERVED_H

/*
 * What is accepted and not acted on: kinds, fields and RPCs of the APIs that we serve whose work is
 * not built.  An object that asks for one is stored, since it may come from a backup or go to
 * another control plane, and whoever writes it is told, by each row that means it:
 *
 *  - a write is answered with a Warning (rest/prepare.c), and one by an RPC, too (mgmt/access.c);
 *  - the object gets an Event, and the condition Served=False if its kind has conditions
 *    (federation/controllers/instance/unserved_kinds.c);
 *  - an RPC that could do nothing at all is UNIMPLEMENTED, with the sentence (mgmt/unserved.c).
 *
 * docs/not-served.md is printed from this table (`kairship not-served`).
 */

#include "json/json.h"

#define UNSERVED_REASON "NotServed"

struct unserved {
    const char *group, *kind; /* group "rpc": a service of the management API */
    /* NULL: all of the kind.  "a.b[].c": a field, [] for each item.  Of a service: the RPC. */
    const char *path;
    const char *unless; /* the value, as JSON, with which the field asks for nothing; NULL: none */
    const char *why;    /* what does not happen: the end of the sentence */
    bool conditions;    /* of a kind: its status has conditions */
};

extern const struct unserved unserved_rows[];
extern const size_t unserved_count;

/*
 * Calls fn with each row that means this object, in the order of the table, and its sentence,
 * without a stop at the end.
 */
typedef void unserved_fn(void *arg, const struct unserved *row, str sentence);
void unserved_each(struct arena *a, str group, str kind, const struct json *object, unserved_fn *fn,
                   void *arg);

str unserved_sentence(struct arena *a, const struct unserved *row);

/* All sentences of an object, parted by "; "; empty: it asks for nothing that is not served. */
str unserved_text(struct arena *a, const struct json *object);

/* The row of "SERVICE/METHOD", or NULL. */
const struct unserved *unserved_rpc(str service, str method);

#endif
