/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SPECIAL_H
#define SERVER_SPECIAL_H

/*
 * Resources that are not objects in the store: reviews that are answered and forgotten, tokens,
 * bindings, evictions.  A row of the table in server/special.c says who serves it.  They are in the
 * catalog like all others, so discovery, authorization and options are those of every resource.
 */

#include "server/call.h"

/*
 * The call is routed: rest has instance, catalog, kind, name, verb, options and body.  Reads the
 * body by rest_read_body, answers by call_answer_json or call_fail, now or later.
 */
typedef void special_fn(struct call *c);

/* The rows, by the files that serve them. */
special_fn token_request, token_review;
special_fn instance_proxy; /* the whole API of an instance that is attached */
special_fn cluster_proxy;  /* gets the call as it came: neither options nor body are read */
special_fn login;
special_fn pod_binding, pod_evict, pod_needs_kubelet;
special_fn subject_access_review, local_subject_access_review, self_subject_access_review,
    self_subject_rules_review, self_subject_review;

/* NULL: an ordinary resource. */
special_fn *special_find(const struct kind *k, str subresource, enum verb verb);

/* Asks the instance's policies and webhooks, where they have a say, and then who serves it. */
void special_serve(struct call *c);

/* 0: the body is now what they made of it; -1; or REST_WAIT: special_serve comes again. */
int special_admit(struct call *c, struct status *st) __attribute__((warn_unused_result));

#endif
