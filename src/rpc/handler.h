/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_HANDLER_H
#define RPC_HANDLER_H

/*
 * Services of the files in api/: one C function for each RPC, served as gRPC and as REST.
 *
 *     static int list_instances(void *arg, struct rpc_context *ctx, const struct json *request,
 *                               const struct json **response, struct status *st);
 *
 *     static const struct rpc_handler handlers[] = { { "ListInstances", list_instances } };
 *     static const struct rpc_implementation instance = {
 *         .service = "kairship.io.api.v1alpha1.Instance",
 *         .handlers = handlers, .nhandlers = 1, .arg = self,
 *     };
 *
 * Request and response are trees as rpc/message.h describes them: what is absent has its default,
 * members have their JSON names ("pageSize"), 64-bit numbers are integers, enums are names.  The
 * response may have the members in any order, and lives in ctx->arena or longer.
 *
 * The function runs on a worker and may block, until ctx->deadline_ms; what it gives back later is
 * dropped, the caller has heard DEADLINE_EXCEEDED.  It says itself whether the caller may
 * (FORBIDDEN).  A failure is any status: its reason becomes the code, its causes the details.  An
 * RPC of the .proto that nobody implements answers UNIMPLEMENTED.
 */

#include "base/identity.h"
#include "rpc/message.h"
#include "rpc/mount.h"
#include "json/json.h"

struct rpc_context {
    struct arena *arena;        /* of this call */
    const struct identity *who; /* never system:anonymous, unless the handler is open */
    int64_t deadline_ms;        /* by the monotonic clock, as loop_now_ms gives it */
    str audit_id;
    str method; /* "kairship.io.api.v1alpha1.Instance/ListInstances" */
    /* Set by the handler: a header of that name, `299 - "…"`, beside a good answer. */
    str warning;
};

/* How long is left of it; never negative. */
int64_t rpc_time_left_ms(const struct rpc_context *ctx);

typedef int rpc_fn(void *arg, struct rpc_context *ctx, const struct json *request,
                   const struct json **response, struct status *st);

struct rpc_handler {
    const char *method;
    rpc_fn *fn;
    bool open;    /* for everyone, also without a credential */
    bool on_loop; /* never blocks, takes microseconds: no worker is needed */
};

struct rpc_implementation {
    const char *service;
    const struct rpc_handler *handlers;
    size_t nhandlers;
    void *arg;
};

/* ---- what the .proto says (generated) ---- */

struct rpc_rule { /* google.api.http */
    const char *verb, *path;
    const char *body; /* "": none, "*": all, else a field */
};

struct rpc_recorded { /* kairship.io.api.Recorded (api/recorded.proto) */
    const char *event, *object, *verb, *name, *when;
};

struct rpc_method {
    str name;
    const struct rpc_message *input, *output;
    bool client_streaming, server_streaming;
    const struct rpc_rule *rules;
    size_t nrules;
    const struct rpc_recorded *recorded; /* the first that fits the request counts */
    size_t nrecorded;
};

struct rpc_service {
    str name; /* "kairship.io.api.v1alpha1.Instance" */
    const struct rpc_method *methods;
    size_t nmethods;
};

struct rpc_file {
    str name;       /* "instance.proto" */
    str descriptor; /* google.protobuf.FileDescriptorProto, for reflection */
    const struct rpc_service *services;
    size_t nservices;
};

struct rpc_api {
    const struct rpc_file *files; /* what a file imports stands before it */
    size_t nfiles;
    str openapi, openapi3; /* the document, as version 2 and 3.1 */
};

/* ---- serving ---- */

#define RPC_OPENAPI_PATH  "/apis/kairship.io/openapi.json"  /* the document, of version 2, */
#define RPC_OPENAPI3_PATH "/apis/kairship.io/openapi3.json" /* and 3.1 */

struct rpc;

struct rpc_options {
    const struct rpc_api *api;
    const struct rpc_implementation *implementations;
    size_t nimplementations;
    bool builtins;    /* health and reflection, which are in the API, too */
    unsigned workers; /* 0: 4 */
};

/* Fails when an implementation names what the API does not have. */
struct rpc *rpc_new(const struct rpc_options *o, struct status *st);
void rpc_free(struct rpc *r); /* when no call can come any more; waits for the workers */

/* For server_options; they live as long as r. */
const struct mount *rpc_mounts(const struct rpc *r, size_t *n);

#endif
