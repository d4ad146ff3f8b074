/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_SCHEMA_TABLE_H
#define META_SCHEMA_TABLE_H

/*
 * Schemas from text: one compact, readable table per API group version, parsed once at start.
 * The format is described at the top of meta/schema_table.c and in src/kinds/tables/README.md.
 */

#include "meta/schema.h"

struct schema_set; /* all named types */

struct schema_set *schema_set_new(void);
void schema_set_free(struct schema_set *s);

/* Adds the types of one table; they may refer to types of tables added before or after. */
int schema_set_add(struct schema_set *s, str table, struct status *st)
    __attribute__((warn_unused_result));
/* Resolves all references; an unknown name is an error that says table, line and name. */
int schema_set_link(struct schema_set *s, struct status *st) __attribute__((warn_unused_result));

/* By OpenAPI name, "io.k8s.api.core.v1.ConfigMap"; NULL if there is none. */
const struct schema *schema_set_find(const struct schema_set *s, str name);
/* In order of names; for OpenAPI. */
void schema_set_each(const struct schema_set *s, void (*fn)(void *arg, const struct schema *t),
                     void *arg);

#endif
