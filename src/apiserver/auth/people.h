/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_PEOPLE_H
#define APISERVER_AUTH_PEOPLE_H

/*
 * Users, and the roles that Global Management gives them.  A user who has a role in an instance is
 * put into a group for each request there; the default ClusterRoles of every instance are bound to
 * these groups (kinds/default_roles.txt):
 *
 *     kairship:viewers    read everything but Secrets
 *     kairship:editors    also write applications and their policies
 *     kairship:admins     do everything
 *
 * So a role that is granted or revoked takes effect with the next request; the RBAC of the instance
 * can only add rights.  There is no other way into these groups.
 */

#include "apiserver/call/call.h"

struct people;

struct people *people_new(struct server *s);
/* Call it from another thread, when the loop runs. */
void people_start(struct people *p, struct loop *l);
void people_stop(struct people *p);
void people_free(struct people *p);

const struct permissions *people_permissions(const struct people *p);

/* Adds the group of the user's role in the instance to who->groups, in the arena. */
void people_entitle(const struct people *p, struct arena *a, const struct instance *i,
                    struct identity *who);

/*
 * Returns whether a user of an external issuer may use the instance: the root instance (empty name)
 * unless their User object is disabled; another one, which need not exist, if they have a role
 * there.
 */
bool people_admits(const struct people *p, str instance, const struct identity *who);

bool entitle(struct call *c); /* a step of the chain */

#endif
