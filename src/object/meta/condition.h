/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_CONDITION_H
#define OBJECT_META_CONDITION_H

/* Conditions, as the statuses of objects have them.  Pure; a time changes only with the status. */

#include "json/json.h"

struct condition {
    const char *type, *status;
    const char *severity, *reason; /* NULL: none */
    str message;
    bool updates; /* it has a lastUpdateTime, too, which also changes with the reason */
};

/* The list with that one; all may be NULL.  The same list when nothing changes. */
const struct json *condition_set(struct arena *a, const struct json *all, const struct condition *c,
                                 int64_t now_s);
/* The list without it; the same list when it is not there. */
const struct json *condition_remove(struct arena *a, const struct json *all, const char *type);

const struct json *condition_find(const struct json *all, const char *type); /* or NULL */
bool condition_holds(const struct json *all, const char *type);              /* it is True */

/* Of a whole object: its condition Ready is True. */
bool object_is_ready(const struct json *object);

#endif
