/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_LOOKUP_H
#define REST_LOOKUP_H

/*
 * Objects for the server's own eyes: what authentication, authorization and admission have to look
 * at.  Reads of the store's head inside an epoch, template rows included; any thread; never blocks.
 */

#include "rest/rest.h"

/* 1 with the object as a tree in the arena (metadata whole), 0 when there is none, or -1. */
int lookup_get(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
               str namespace_, str name, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* The same without metadata.managedFields, which are larger than many an object. */
int lookup_plain(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                 str namespace_, str name, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * All objects of the kind in the namespace (empty: in all of them, or cluster-scoped), in order,
 * until fn says false.  The trees live in the arena.  -1 when the store cannot be read.
 */
typedef bool lookup_fn(void *arg, const struct json *obj);
int lookup_each(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                str namespace_, lookup_fn *fn, void *arg, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The same without reading objects that are known: of each row of the instance's own `known` is
 * told name and revision first, and 0 of what it has from a template; where it says true the object
 * is skipped.
 */
typedef bool lookup_known_fn(void *arg, str row, uint64_t rev);
int lookup_unknown(struct rest *r, struct arena *a, const struct instance *i, const struct kind *k,
                   lookup_known_fn *known, lookup_fn *fn, void *arg, struct status *st)
    __attribute__((warn_unused_result));

#endif
