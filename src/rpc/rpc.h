/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_RPC_H
#define RPC_RPC_H

/* What the files that serve share: the table of endpoints, and both ways to them. */

#include "base/map.h"
#include "rpc/context.h"
#include "rpc/route.h"

enum { RPC_RESPONSE_MAX = 64 << 20 };

struct rpc {
    struct arena *arena;
    const struct rpc_api *api;
    struct rpc_endpoint *endpoints;
    size_t nendpoints;
    struct map by_path; /* "/package.Service/Method" */
    struct route *routes;
    size_t nroutes;
    struct mount *mounts;
    size_t nmounts;
    struct workers *workers;
};

size_t grpc_refusal(struct arena *a, const struct status *st, struct http_header *h);
mount_fn grpc_serve, rest_serve_mount; /* arg is the struct rpc */
void grpc_describe(void *arg, str method, str path, struct mount_deed *out);
void rest_describe(void *arg, str method, str path, struct mount_deed *out);

/* Built in: grpc.health.v1, grpc.reflection.v1 and v1alpha; arg is the struct rpc. */
extern const struct rpc_implementation health_implementation;
extern const struct rpc_implementation reflection_implementations[2];

#endif
