/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_SCHEMAS_H
#define APISERVER_DISCOVERY_OPENAPI_SCHEMAS_H

/*
 * The named schemas of an OpenAPI document: everything that was referred to, and what that refers
 * to, once each.  A reference can only be made here, and making it takes the schema in, so a
 * document has no dangling ones.
 */

#include "base/map.h"
#include "rest/kind.h"

enum openapi_form { OPENAPI_V2, OPENAPI_V3 };

struct openapi_def;

struct openapi_schemas {
    struct arena *arena;
    const struct catalog *catalog;
    enum openapi_form form;
    bool custom;              /* a document of custom resources only */
    struct openapi_def *defs; /* found so far */
    size_t n, cap;
    struct map seen; /* their names */
};

void openapi_schemas_init(struct openapi_schemas *s, struct arena *a, const struct catalog *c,
                          enum openapi_form form);
void openapi_schemas_release(struct openapi_schemas *s);

/* {"$ref": …} to the kind, to the list of it, or to a type of the catalog by its OpenAPI name. */
struct json openapi_schemas_kind(struct openapi_schemas *s, const struct kind *k);
struct json openapi_schemas_list(struct openapi_schemas *s, const struct kind *k);
struct json openapi_schemas_named(struct openapi_schemas *s, str name);
/* To what a subresource speaks and no kind of the catalog is. */
struct json openapi_schemas_sub(struct openapi_schemas *s, str name, const struct subresource *sub);
/* {"$ref": …} beside other members, as the document's version has it: in v3 within allOf. */
void openapi_schemas_refer(struct openapi_schemas *s, struct json_object *o, struct json ref);

/* {"group","kind","version"} */
struct json openapi_gvk(struct arena *a, str group, str version, str kind);

/* The object of all of them, by name: `definitions`, `components.schemas`.  The last call. */
struct json openapi_schemas_done(struct openapi_schemas *s);

#define OPENAPI_META "io.k8s.apimachinery.pkg.apis.meta.v1."

#endif
