/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_FLOW_FLOW_H
#define APISERVER_FLOW_FLOW_H

/*
 * API Priority and Fairness: decides which requests run now, which wait, and which are refused
 * (429).
 *
 * Requests are classified by the FlowSchemas and PriorityLevelConfigurations of their instance
 * (apiserver/flow/flow_set.h); seats are shared between instances first
 * (apiserver/flow/flow_gate.h).  Compiled sets are cached as those of RBAC are
 * (apiserver/auth/rbac.h): with the revision at which they were read, in a bounded cache; instances
 * without such rows of their own share one.  The schemas and levels `exempt` and `catch-all` always
 * exist with their default content.
 *
 * A request waits for at most a quarter of its timeout, and at most 15 s.  Calls from inside the
 * process do not pass here.  k8s: apiserver/pkg/server/filters/priority-and-fairness.go
 */

#include "apiserver/call/call.h"
#include "base/buf.h"
#include "store/store.h"

struct seal;

struct flow;

struct flow *flow_new(struct store *s, struct seal *seal, unsigned seats, struct status *st);
void flow_free(struct flow *f);

/* A step of the chain.  Returns false when the call is answered, or will continue later. */
bool flow_admit(struct call *c);
/* Gives back the seat of a call that is answered, or continues without one as a watch does.  May be
 * called for any call, and repeatedly. */
void flow_done(struct call *c);
/* The client has gone: a call that was waiting is answered, and may be freed by that. */
void flow_gone(struct call *c);

/* Answers with 429, in Kubernetes' words. */
void flow_refuse(struct call *c);

/* Writes the metrics apiserver_flowcontrol_*, by priority level and never by instance. */
void flow_print(const struct flow *f, struct buf *out);

#endif
