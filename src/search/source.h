/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_SOURCE_H
#define SEARCH_SOURCE_H

/*
 * One cluster whose objects are collected: finds out which of the wanted types it serves, keeps a
 * collector (search/collector.h) for each, and looks now and then whether that has changed and
 * whether it still answers.  While it does not, its rows stay and the index says that they may be
 * old.
 *
 * On the client's loop.
 */

#include "search/collector.h"

struct source;

/* As in PediaCluster.spec.syncResources; versions and resources "*" or none: see below. */
struct source_want {
    str group;           /* "*": all */
    const str *versions; /* of custom types; none: the first three */
    size_t nversions;
    const str *resources; /* "*": all */
    size_t nresources;
    bool events; /* those about what is wanted here are shown with it */
};

struct source_options {
    struct client *client;
    struct search_index *search_index;
    str cluster;   /* empty: all instances of this process, hidden */
    bool wildcard; /* instances */
    bool apart;    /* an instance that is elsewhere: hidden */
    const struct source_want *wants;
    size_t nwants;
    bool all_custom;
    /* Told when it changes; version is what the cluster says it is. */
    void (*state)(void *arg, bool healthy, str reason, str version);
    /* Told when the types were looked at; then what is left of others is its business.  May be
     * NULL. */
    void (*looked)(void *arg);
    void *arg;
};

struct source *source_new(const struct source_options *o);
/* Its rows stay. */
void source_free(struct source *s);

/* As collector_flush, of all. */
void source_flush(struct source *s);

/* All collectors are up to date as far as their watches have told. */
bool source_is_live(const struct source *s);

bool source_has(const struct source *s, int64_t type);
bool source_has_resource(const struct source *s, str group, str resource);

#endif
