/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_OUTLINE_H
#define OBJECT_META_OUTLINE_H

/*
 * The outline of an object: the names in it, the types of its values, and what tells items of lists
 * apart.  That is all that typed_check and typed_fields look at, and typed_compare of an object
 * that is new.  What programs write has few outlines, so that the fields of those that come again
 * are kept, packed, and need not be found each time.
 *
 * Only objects of CRDs have one, of a few kilobytes at most, and none with owners, whose keys never
 * come again.
 */

#include "object/meta/fieldset.h"
#include "object/meta/schema.h"

enum outline_use {
    OUTLINE_APPLIED, /* typed_fields of what has passed typed_check */
    OUTLINE_NEW,     /* what typed_compare finds in an object that is new */
};

struct outline { /* zeroed: none */
    str text;
    uint64_t hash;
    str fields; /* packed (object/meta/managers.h); empty: not known */
};

/*
 * `serial` tells the schema from all others that ever were in this process; with 0 there is no
 * outline.  `ignored` is taken away from the fields, and may be NULL.
 */
struct outline outline_of(struct arena *a, const struct schema *s, uint64_t serial,
                          enum outline_use use, const struct fieldset *ignored,
                          const struct json *v);

/* For the next one: after they were not known. */
void outline_keep(const struct outline *o, str packed);

#endif
