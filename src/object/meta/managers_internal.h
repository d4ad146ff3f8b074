/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_MANAGERS_INTERNAL_H
#define OBJECT_META_MANAGERS_INTERNAL_H

/* Of managers.c and managers_prune.c: objects in the versions of who owns fields of them. */

#include "object/meta/managers.h"

extern const struct fieldset managers_system; /* what is the server's own */

struct shown { /* an object in a version of its kind */
    str version;
    const struct json *obj;
    const struct schema *schema;
};

/* Through the write's version, as Kubernetes does: 0, or what w->convert says; out may be from. */
int managers_show(const struct managers_write *w, str version, const struct shown *from,
                  struct shown *out, struct status *st) __attribute__((warn_unused_result));

/* Of each manager the first that is of its version. */
const size_t *managers_firsts(struct arena *a, const struct managers *m);

/*
 * The merged object without what this manager had applied (`last`, of that version) and nobody owns
 * now; `mine` is what it applies.  0, -1, or MANAGERS_WAIT.
 */
int managers_prune(const struct managers_write *w, const struct json **merged, str version,
                   const struct fieldset *last, const struct fieldset *mine, struct managers *m,
                   struct status *st) __attribute__((warn_unused_result));

#endif
