/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_CUSTOM_TYPES_H
#define SEARCH_CUSTOM_TYPES_H

/*
 * The kinds that CRDs give to instances: each that any instance has is followed by one collector
 * over all of them, from when the first has it until the last has not.  What instances understand
 * by the same name may differ; it is shown as the CRD says that was told of last.
 *
 * On the client's loop.
 */

#include "search/collector.h"

struct custom_types;

struct custom_types_options {
    struct client *client; /* root's */
    struct search_index *search_index;
    /* True for what is followed anyway, because it is built in elsewhere. */
    bool (*known)(void *arg, str group, str resource);
    void (*synced)(void *arg); /* all that there were at the beginning are followed */
    void *arg;
};

struct custom_types *custom_types_new(const struct custom_types_options *o);
void custom_types_free(struct custom_types *c); /* its rows stay */

bool custom_types_has_synced(const struct custom_types *c);
bool custom_types_has(const struct custom_types *c, int64_t type);

void custom_types_flush(struct custom_types *c); /* as collector_flush, of all */
bool custom_types_is_live(const struct custom_types *c);

#endif
