/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_INSTALLATION_H
#define KINDS_INSTALLATION_H

/*
 * The id of this installation: one row, made at the first start, which a backup carries.  It tells
 * the objects that two installations make in a member apart (fleet/owner.h).  Every instance shows
 * it as the ConfigMap kube-public/kairship-installation; all its users can read that, and changes
 * are refused.
 */

#include "base/installation.h"
#include "rest/rest.h"

struct installation {
    char id[INSTALLATION_ID_SIZE];
    enum installation_origin origin;
};

/* As the store has it, else a new one, which defaults_make() puts into the store. */
int installation_open(struct store *s, struct rest *r, struct arena *a, struct installation *out,
                      struct status *st) __attribute__((warn_unused_result));

/* The default object. */
const struct json *installation_object(struct arena *a, const struct installation *i);

/* It is in the store. */
int installation_opened(struct store *s, struct status *st) __attribute__((warn_unused_result));

/* The next start makes a new one: this store is a copy of another one's, which goes on. */
int installation_renew(struct store *s, struct status *st) __attribute__((warn_unused_result));

#endif
