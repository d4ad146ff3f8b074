/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_SCHEMAS_H
#define REST_SCHEMAS_H

/*
 * What objects of CRDs are, for those who see them without the CRD: a request over all instances
 * meets objects of one resource that are of other kinds and versions in each.  A row for each
 * schema that ever wrote one, found by the type and the number that the object carries.
 */

#include "rest/kind.h"
#include "store/store.h"

struct schema_record {
    str type_prefix; /* `{"kind":"Widget","apiVersion":"g/v1",` */
    bool namespaced;
};

/* Before the first object is written by the schema; waits for the disk when it is new. */
int schema_record_put(struct store *s, const struct kind *k, struct status *st)
    __attribute__((warn_unused_result));

/* 1, 0 when it is not known, or -1.  With schema 0: any of the type. */
int schema_record_get(struct store *s, struct arena *a, uint32_t type, uint32_t schema,
                      struct schema_record *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The kind of all objects of a resource, whatever CRD they are of: only for lists and watches over
 * all instances.  1, or 0 when nobody ever had such a resource.
 */
int schema_any_kind(struct store *s, struct arena *a, str group, str version, str plural,
                    const struct kind **out, struct status *st) __attribute__((warn_unused_result));

#endif
