/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_CUSTOMS_H
#define SEARCH_CUSTOMS_H

/*
 * The kinds that CRDs give to instances: each that any instance has is followed by one intake over
 * all of them, from when the first has it until the last has not.  What instances understand by the
 * same name may differ; it is shown as the CRD says that was told of last.
 *
 * On the client's loop.
 */

#include "search/intake.h"

struct customs;

struct customs_options {
    struct client *client; /* root's */
    struct depot *depot;
    /* True for what is followed anyway, because it is built in elsewhere. */
    bool (*known)(void *arg, str group, str resource);
    void (*synced)(void *arg); /* all that there were at the beginning are followed */
    void *arg;
};

struct customs *customs_new(const struct customs_options *o);
void customs_free(struct customs *c); /* its rows stay */

bool customs_has_synced(const struct customs *c);
bool customs_has(const struct customs *c, int64_t type);

void customs_flush(struct customs *c); /* as intake_flush, of all */
bool customs_is_live(const struct customs *c);

#endif
