/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_CONTEXT_H
#define RPC_CONTEXT_H

/*
 * One call of a handler, whichever way it came in: runs on a worker (or at once), and ends when the
 * handler does or when its time is over, whichever is first.  Touched on its loop's thread.
 */

#include "loop/workers.h"
#include "rpc/handler.h"

struct rpc_endpoint { /* one RPC and who answers it */
    const struct rpc_service *service;
    const struct rpc_method *method;
    const struct rpc_handler *handler; /* NULL: nobody */
    void *arg;
    str path;         /* "/kairship.io.api.v1alpha1.Instance/ListInstances" */
    const str *named; /* fields that all of its REST paths name: never empty, by gRPC neither */
    size_t nnamed;
};

struct rpc_call {
    struct worker_job job;   /* first */
    struct loop_timer timer; /* the end of its time */
    const struct rpc_endpoint *endpoint;
    struct rpc_context ctx;
    struct identity who;
    struct loop *loop;
    const struct json *request, *response;
    struct mount_deed deed; /* what the audit records of it */
    str inner_name;         /* found by the worker, in an object inside of a string */
    struct status st;
    int rc;
    bool ran;       /* the handler is done */
    bool abandoned; /* it was answered before the handler was done */
    /* Exactly once, never from within rpc_call_start unless the handler is on_loop or fails at
     * once: failure is NULL or says why.  The response lives until it returns. */
    void (*done)(struct rpc_call *c, const struct json *response, const struct status *failure);
    void *user;
};

/*
 * A new one in an arena of its own (ctx.arena), where the request is to be made; what it needs of
 * the mount's call is copied.
 */
struct rpc_call *rpc_call_new(const struct rpc_endpoint *e, const struct mount_call *m,
                              int64_t deadline_ms);
/* Not started, and not wanted any more. */
void rpc_call_drop(struct rpc_call *c);
/* Says what it does to the audit, when c->request is there. */
void rpc_call_tell(struct rpc_call *c, struct mount_call *m);
/* The same with what the worker has found; in `done`. */
void rpc_call_told(struct rpc_call *c, struct mount_call *m);
/* Takes it. */
void rpc_call_start(struct rpc_call *c, struct workers *w);
/* Nobody waits for it any more: done is not called. */
void rpc_call_abandon(struct rpc_call *c);

/* May this caller begin at all?  -1: FORBIDDEN. */
int rpc_call_check(const struct rpc_endpoint *e, const struct identity *who, struct status *st);

#endif
