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
    /* One of the path or of the query; the prefix has the messages around it: "timeout.". */
    void (*parameter)(struct openapi *o, const char *prefix, const struct json *field,
                      const char *in);

    struct map asked; /* ours: types that requests have, too; */
    bool begun;       /* the list of parameters has one */
};

void openapi_text(struct buf *b, const char *name, str text); /* "name":"text" */
void openapi_ref(struct openapi *o, const struct model_type *t);
/* The type of a field that is no message, without what makes it a list. */
void openapi_simple(struct openapi *o, const struct json *field, bool with_default);

void openapi_tags(struct openapi *o);
void openapi_paths(struct openapi *o);       /* ,"paths":{…} */
void openapi_definitions(struct openapi *o); /* ,"name":{…} for each */

/* For an operation: those of the path, and those of the query if it has no body. */
void openapi_parameters(struct openapi *o, const struct model_method *m,
                        const struct model_rule *r);
void openapi_next(struct openapi *o); /* a comma, if a parameter stands before */
void openapi_body(struct openapi *o, const struct model_method *m, const struct model_rule *r);

#endif
