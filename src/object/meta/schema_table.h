/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_SCHEMA_TABLE_H
#define OBJECT_META_SCHEMA_TABLE_H

/*
 * Schemas from text: one compact, readable table per API group version, parsed once at start.
 * The format is described at the top of object/meta/schema_table.c and in
 * src/kinds/tables/README.md.
 */

#include "object/meta/schema.h"

struct schema_set; /* all named types */

struct schema_set *schema_set_new(void);
void schema_set_free(struct schema_set *s);

/*
 * Adds the types of one table; they may refer to types of tables added before or after.  The text
 * is not copied: it must live as long as the set.  INTERNAL with table, line and word on a mistake.
 */
int schema_set_add(struct schema_set *s, str table, struct status *st)
    __attribute__((warn_unused_result));
/* Once, after all tables: resolves references; an unknown name is an error that says table, line
 * and name.  Only then the set may be read, by any thread. */
int schema_set_link(struct schema_set *s, struct status *st) __attribute__((warn_unused_result));

/* By OpenAPI name, "io.k8s.api.core.v1.ConfigMap"; NULL if there is none. */
const struct schema *schema_set_find(const struct schema_set *s, str name);
/* The objects, in order of names; for OpenAPI. */
void schema_set_each(const struct schema_set *s, void (*fn)(void *arg, const struct schema *t),
                     void *arg);

#endif
