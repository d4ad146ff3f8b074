/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_PLUGIN_OPENAPI_H
#define RPC_PLUGIN_OPENAPI_H

/*
 * What both OpenAPI documents are written with: names and schemas as protoc-gen-openapiv2 writes
 * them, and the paths in the order of the services.  Functions append JSON to o->b.
 */

#include "base/buf.h"
#include "rpc/plugin/model.h"

struct openapi {
    struct buf *b;
    const struct model *m;
    const char *refs; /* where schemas are: "#/definitions/" */
    bool nullable;    /* null is a type, and what answers always have is required */
    /* What follows the path, from the verb on: `get":{…}`. */
    void (*operation)(struct openapi *o, const struct model_service *s,
                      const struct model_method *m, const struct model_rule *r);
    struct map asked; /* types that requests have, too; filled in by openapi_definitions */
};

void openapi_text(struct buf *b, const char *name, str text); /* "name":"text" */
void openapi_ref(struct openapi *o, const struct model_type *t);
void openapi_scalar(struct openapi *o, const struct json *field);
void openapi_enum(struct openapi *o, const struct model_type *t, bool with_default);
/* All fields but those that the path names. */
void openapi_properties(struct openapi *o, const struct model_type *t, str path);
bool openapi_in_path(str path, str name);

void openapi_tags(struct openapi *o);
void openapi_paths(struct openapi *o);       /* ,"paths":{…} */
void openapi_definitions(struct openapi *o); /* ,"name":{…} for each */

#endif
