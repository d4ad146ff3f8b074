/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CRDSCHEMA_STRUCTURAL_INTERNAL_H
#define OBJECT_CRDSCHEMA_STRUCTURAL_INTERNAL_H

/* What the files of object/crdschema/structural.h share. */

#include "object/crdschema/structural.h"

/* Where a value stands, from the inside out; made into text only when something is wrong. */
struct spot {
    const struct spot *up;
    enum { SPOT_FIELD, SPOT_KEY, SPOT_INDEX } kind;
    str name; /* of the outermost: a whole path */
    size_t index;
};

/* `spec.list[0].key`; with `keys`, `spec.map[key]` for members that are no fields. */
str spot_path(struct arena *a, const struct spot *at, bool keys);

/* structural_decode.c: schema_rules.decode, of a request's body. */
int structural_read(struct arena *a, const struct schema *s, const struct json *in,
                    struct schema_faults *faults, const struct json **out, struct status *st);

/* structural_lists.c: doubles in sets and map lists; `count` instead of causes when st is NULL. */
size_t structural_check_lists(struct arena *a, const struct schema *s, const struct json *obj,
                              struct status *st);
/* structural_embedded.c: apiVersion, kind and metadata of embedded resources. */
void structural_check_embedded(const struct schema *s, const struct json *obj,
                               const struct spot *at, struct status *st);

#endif
