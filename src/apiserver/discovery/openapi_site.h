/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_SITE_H
#define APISERVER_DISCOVERY_OPENAPI_SITE_H

/*
 * What is served beside kinds: discovery itself, the version, who signs tokens.  In v2 these paths
 * are among the others; v3 has a document for each, named as the path ("apis/apps", "version").
 */

#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/openapi_paths.h"

/* Adds the path of that document; false when there is none. */
bool openapi_site_add(struct openapi_schemas *s, struct json_object *paths, str name);
/* The names of all of them; in the arena. */
size_t openapi_site_names(struct arena *a, const struct discovery_group *groups, size_t ngroups,
                          const str **out);
bool openapi_site_has(const struct catalog *c, str name);

#endif
