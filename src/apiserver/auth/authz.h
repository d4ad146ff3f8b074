/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHZ_H
#define APISERVER_AUTH_AUTHZ_H

/*
 * Authorization: decides whether a user may do something.  The chain, access reviews, impersonation
 * and the checks against privilege escalation all ask here.  Any thread that is inside an epoch;
 * never blocks, unless it says so.
 */

#include "base/arena.h"
#include "base/identity.h"
#include "base/listable.h"
#include "rest/instance.h"
#include "json/json.h"

struct call;
struct server;

/* What is to be authorized: a verb on a resource or path, a user and an instance. */
struct access {
    const struct identity *who;
    const struct instance *instance; /* id STORE_ALL: all instances, for the platform admin */
    str verb;
    bool is_resource; /* else `path` counts, not the resource */
    str group, resource, subresource, namespace_, name, path; /* empty namespace: cluster scope */
};

/*
 * Returns whether access is allowed.  *reason names the binding that allows it or the roles that
 * are bound but do not exist, or is empty; it lives in the arena.  With a NULL reason none is made.
 */
bool access_allowed(struct server *s, struct arena *a, const struct access *x, str *reason);

/*
 * What the identity may list in an instance by its RBAC, with the groups of their role there; a
 * member of system:masters everything.  RBAC of an attached instance is elsewhere: it gives nothing
 * here, and neither does an instance that is not there.  On a worker that is in no epoch.
 */
int access_listable(struct server *s, struct arena *a, const struct identity *who, str instance,
                    struct listable *out, struct status *st) __attribute__((warn_unused_result));

/* Whether this user may now do what the call has been allowed to do.  On its loop. */
bool access_again(struct call *c, struct arena *a, const struct identity *who);

/* Returns what follows "forbidden: " in Kubernetes' messages:
 * `User "u" cannot get resource "pods" in API group "" in the namespace "n"`. */
str access_denial(struct arena *a, const struct access *x);

#endif
