/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_ROUTE_H
#define RPC_ROUTE_H

/*
 * Paths of REST calls: templates as google.api.http writes them, of literal segments and {fields},
 * with a :verb at the end.
 */

#include "rpc/handler.h"

enum { ROUTE_SEGMENTS = 24 };

struct rpc_endpoint;

struct route {
    str method;                   /* "GET" */
    str segments[ROUTE_SEGMENTS]; /* a literal, or the name of a field */
    uint32_t fields;              /* bit i: segment i is a field */
    size_t nsegments;
    str verb; /* without the colon */
    const struct rpc_rule *rule;
    const struct rpc_endpoint *endpoint;
};

/* INTERNAL when the template makes no sense, or names a field that is none. */
int route_parse(struct arena *a, const struct rpc_rule *rule, const struct rpc_endpoint *e,
                struct route *out, struct status *st) __attribute__((warn_unused_result));

/* So that what is said literally comes before what may be anything. */
void routes_sort(struct route *routes, size_t n);

/* The first that fits; NULL: none, and *other_method says whether with another method one would. */
const struct route *route_find(const struct route *routes, size_t n, str method, str path,
                               bool *other_method);

/*
 * The request of a call: body, then query, then path, each over what was before.  BAD_REQUEST says
 * which field is wrong.
 */
int route_request(struct arena *a, const struct route *r, str path, str query, str body,
                  const struct json **out, struct status *st) __attribute__((warn_unused_result));

#endif
