/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_SCHEMA_SET_H
#define OBJECT_META_SCHEMA_SET_H

/*
 * What schema_table.c and schema_link.c share, and nobody else.
 *
 * A type exists from its first mention on, so a reference is a pointer at once and linking only has
 * to see that every type was defined, to take embedded fields in, and to work out what absent
 * fields become.
 */

#include "base/map.h"
#include "object/meta/schema_table.h"

struct type {
    struct schema schema; /* first: references point here */
    bool defined;
    bool part;                        /* exists only to be embedded: nobody is told of it */
    enum { FRESH, BUSY, DONE } state; /* while linking */
    str table, said;                  /* where it was first mentioned, and how */
    unsigned line;
    struct schema_field *fields; /* those of schema, not yet frozen */
    const struct schema *list;   /* []T, made when first spoken of */
};

struct schema_set {
    struct arena *arena;
    struct map names;
    struct type **types;
    size_t n, cap;
    bool linked;
};

#endif
