/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_JSONPATH_H
#define OBJECT_META_JSONPATH_H

/*
 * JSONPath as CRDs use it in printer columns, scale and selectable fields:
 *
 *     .spec.replicas   .spec['a.b']   .list[0]  [-1]  [*]  [1:3]
 * .conditions[?(@.type=="Ready")].status
 *
 * Braces around the whole are allowed.  Filters compare a path below @ with a string, number or
 * boolean by == != < <= > >=, or ask whether it is there.
 */

#include "json/json.h"

enum { JSONPATH_MAX = 4096, JSONPATH_STEPS_MAX = 64 };

struct jsonpath;

/* BAD_REQUEST with a message that says where it breaks off.  Lives in the arena, as does `text`. */
int jsonpath_parse(struct arena *a, str text, const struct jsonpath **out, struct status *st)
    __attribute__((warn_unused_result));

/* The first match in document order, or NULL. */
const struct json *jsonpath_first(const struct jsonpath *p, const struct json *v);

/*
 * Only names, as in `.spec.replicas`: those can be written to.  The dotted form for json_path() and
 * json_set(), or the empty string where the path is more than that.
 */
str jsonpath_dotted(const struct jsonpath *p);

#endif
