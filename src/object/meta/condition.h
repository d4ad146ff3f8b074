/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_CONDITION_H
#define OBJECT_META_CONDITION_H

/* Conditions, as the statuses of objects have them.  Pure. */

#include "json/json.h"

const struct json *condition_find(const struct json *all, const char *type); /* or NULL */
bool condition_holds(const struct json *all, const char *type);              /* it is True */

/* Of a whole object: its condition Ready is True. */
bool object_is_ready(const struct json *object);

#endif
