/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_FRAME_CONDITIONS_H
#define FEDERATION_CONTROLLERS_FRAME_CONDITIONS_H

/* Lists of conditions, as statuses have them.  Pure; a time changes only with the status. */

#include "object/meta/condition.h"

struct condition {
    const char *type, *status;
    const char *severity, *reason; /* NULL: none */
    str message;
};

/* The list with that one; all may be NULL.  The same list when nothing changes. */
const struct json *condition_set(struct arena *a, const struct json *all, const struct condition *c,
                                 int64_t now_s);

#endif
