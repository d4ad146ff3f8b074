/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_GO_TYPE_H
#define JSON_GO_TYPE_H

/* What Go's %T says of a value that was read into an interface{}. */

#include "json/json.h"

static inline const char *json_go_type(const struct json *v)
{
    static const char *const types[] = {
        [JSON_NULL] = "<nil>",
        [JSON_STRING] = "string",
        [JSON_BOOL] = "bool",
        [JSON_INT] = "int64",
        [JSON_FLOAT] = "float64",
        [JSON_ARRAY] = "[]interface {}",
        [JSON_OBJECT] = "map[string]interface {}",
    };

    return types[v->type];
}

#endif
