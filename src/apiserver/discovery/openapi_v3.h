/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_V3_H
#define APISERVER_DISCOVERY_OPENAPI_V3_H

/*
 * /openapi/v3: a root document with one URL per group version, and behind each an OpenAPI 3.0
 * document of that group version.  Pure functions of the catalog; trees in the arena that share
 * strings with the catalog.
 */

#include "rest/kind.h"

/*
 * Changes whenever the document may change: with the catalog, and with the program.  It stands in
 * the URL, so that clients may keep a document for ever.
 */
enum { OPENAPI_HASH_LEN = 16 };
void openapi_v3_hash(char out[OPENAPI_HASH_LEN + 1], const struct catalog *c, str name);

/*
 * The root; names are "api/v1" and "apis/<group>/<version>".  URLs begin with the prefix
 * ("/clusters/<name>" or empty): client-go from 1.24 to 1.27 uses them as they are.
 */
const struct json *openapi_v3_root(struct arena *a, const struct catalog *c, str prefix);

/* The document of a group version, or NULL when it is not served. */
const struct json *openapi_v3(struct arena *a, const struct catalog *c, str group, str version);
/* One of those of openapi_site.h, or NULL. */
const struct json *openapi_v3_site(struct arena *a, const struct catalog *c, str name);

#endif
