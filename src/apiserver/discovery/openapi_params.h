/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_OPENAPI_PARAMS_H
#define APISERVER_DISCOVERY_OPENAPI_PARAMS_H

/*
 * The parameters of the operations of one OpenAPI document, made once each.  A set of them is a
 * mask; what all operations of a path have stands with the path.  In version 2 most are said once,
 * at the top, and referred to: openapi_params_shared() is the last call.
 */

#include "apiserver/discovery/openapi_schemas.h"

/* Who has them. */
enum {
    PARAM_LIST = 1 << 0,
    PARAM_WRITE = 1 << 1, /* create, update */
    PARAM_PATCH = 1 << 2,
    PARAM_DELETE = 1 << 3,
    PARAM_DELETE_COLLECTION = 1 << 4,
    PARAM_READ = 1 << 5, /* of custom resources */
    PARAM_PRETTY = 1 << 6,
    PARAM_NAME = 1 << 7, /* of the path, as the next two */
    PARAM_NAMESPACE = 1 << 8,
    PARAM_PATH = 1 << 9,
    PARAM_ATTACH = 1 << 10,
    PARAM_EXEC = 1 << 11,
    PARAM_LOG = 1 << 12,
    PARAM_PORTS = 1 << 13,
    PARAM_PROXY = 1 << 14,
};

enum { OPENAPI_PARAMS_MAX = 64, OPENAPI_BODIES_MAX = 4 };

struct openapi_params {
    struct openapi_schemas *s;
    struct json made[OPENAPI_PARAMS_MAX]; /* as they stand in a list; NULL: not yet */
    struct json_member shared[OPENAPI_PARAMS_MAX + OPENAPI_BODIES_MAX];
    size_t nshared;
};

/* The mask of all that `sets` have. */
uint64_t openapi_params_of(unsigned sets);
/* The list of a mask; body (v2) may be NULL. */
struct json openapi_params_list(struct openapi_params *p, uint64_t mask, const struct json *body);
/* The body of a v2 operation, which is a parameter. */
struct json openapi_params_body(struct openapi_params *p, struct json ref, bool required);
/* v2: what lists have referred to. */
struct json openapi_params_shared(const struct openapi_params *p);

#endif
