/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHZ_H
#define SERVER_AUTHZ_H

/*
 * May they?  The one question that the chain, access reviews, impersonation and the checks against
 * escalation all ask here, with the same words.  Any thread that is inside an epoch; never blocks.
 */

#include "base/arena.h"
#include "base/identity.h"
#include "json/json.h"
#include "rest/instance.h"

struct server;

/* What is to be done, by whom and where. */
struct access {
    const struct identity *who;
    const struct instance *instance; /* id STORE_ALL: in all of them, for the platform admin */
    str verb;
    bool is_resource;                                         /* else a path: */
    str group, resource, subresource, namespace_, name, path; /* empty namespace: cluster scope */
};

/*
 * True when allowed.  *reason says by which rule, or which roles were looked for in vain, or is
 * empty; it lives in the arena.  Not asked for (NULL) it costs nothing.
 */
bool access_allowed(struct server *s, struct arena *a, const struct access *x, str *reason);

/* `User "u" cannot get resource "pods" in API group "" in the namespace "n"`: what follows
 * "forbidden: " in Kubernetes' messages. */
str access_denial(struct arena *a, const struct access *x);

#endif
