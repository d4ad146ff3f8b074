/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/condition.h"

#include "base/banned.h"

const struct json *condition_find(const struct json *all, const char *type)
{
    json_for_each (c, all)
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

bool condition_holds(const struct json *all, const char *type)
{
    return str_is(json_get_str(condition_find(all, type), "status"), "True");
}

bool object_is_ready(const struct json *object)
{
    return condition_holds(json_path(object, "status.conditions"), "Ready");
}
