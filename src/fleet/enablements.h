/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_ENABLEMENTS_H
#define FLEET_ENABLEMENTS_H

/*
 * Which APIs a member serves, from its discovery documents, as a Cluster's status.apiEnablements:
 * groups with versions in order, each with its resources without subresources.  Pure; in the arena.
 */

#include "json/json.h"

enum {
    ENABLEMENTS_MAX = 2000,   /* groups with versions */
    ENABLEMENTS_NAMES = 5000, /* resources in all */
};

struct enablement {
    str group_version;
    struct {
        str name, kind;
    } * resources;
    size_t n, cap;
};

struct enablements {
    struct arena *arena;
    struct enablement *at;
    size_t n, cap, names;
    bool complete;    /* nothing was missing, stale or too much */
    const str *asked; /* paths of documents that must be read as well */
    size_t nasked;
};

void enablements_init(struct enablements *e, struct arena *a);

/* The answer of /api or /apis: aggregated discovery, or APIVersions and APIGroupList, which say
 * where to ask next. */
void enablements_add(struct enablements *e, const struct json *doc);
/* The answer of /apis/<group>/<version>: an APIResourceList. */
void enablements_add_list(struct enablements *e, const struct json *doc);

/* Sorted; shares nothing with the documents. */
const struct json *enablements_json(struct enablements *e, struct arena *a);

#endif
