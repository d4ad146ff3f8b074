/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_FLOW_H
#define SERVER_FLOW_H

/*
 * API Priority and Fairness: which requests run now, which wait, which are sent away (429).
 *
 * The FlowSchemas and PriorityLevelConfigurations of an instance decide over its requests
 * (server/flow_set.h); seats are shared between instances first (server/flow_gate.h).  Compiled
 * sets are kept as roles are (server/rbac.h): with the revision they were read at, in a bounded
 * cache; instances that have no such rows of their own share one.  The schemas and levels `exempt`
 * and `catch-all` are always there and always what they are by default.
 *
 * What waits does so for a quarter of the time that the request has, at most 15 s.  Calls of parts
 * of our own program do not pass here.  k8s: apiserver/pkg/server/filters/priority-and-fairness.go
 */

#include "base/buf.h"
#include "server/call.h"
#include "store/store.h"

struct seal;

struct flow;

struct flow *flow_new(struct store *s, struct seal *seal, unsigned seats, struct status *st);
void flow_free(struct flow *f);

/* A step of the chain: false when the call was answered, or goes on by itself later. */
bool flow_admit(struct call *c);
/* It is answered, or runs on without a seat as a watch does.  Any call, any number of times. */
void flow_done(struct call *c);
/* Nobody waits for the answer any more: if it was waiting it is answered, and may be gone then. */
void flow_gone(struct call *c);

/* 429, worded as Kubernetes does. */
void flow_refuse(struct call *c);

/* apiserver_flowcontrol_*: of levels, never of instances. */
void flow_print(const struct flow *f, struct buf *out);

#endif
