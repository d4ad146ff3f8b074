/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_PEOPLE_H
#define APISERVER_AUTH_PEOPLE_H

/*
 * Users, and the roles that Global Management gives them.  A user who has a role in an instance is
 * put into a group for each request there; the default ClusterRoles of every instance are bound to
 * these groups (kinds/default_roles.txt):
 *
 *     kairship:viewers    read everything but Secrets
 *     kairship:editors    also write applications and policies, and read and write Secrets
 *     kairship:admins     do everything
 *
 * The RBAC of the instance can only add rights.  There is no other way into these groups, and who
 * comes without a credential is in none of them.
 *
 * A role that is granted or withdrawn takes effect with the next request.  The permission cache
 * (iam/permissions.h) carries the revision at which it was read, and the store says whether users,
 * groups, workspaces or roles have changed since (store_touched()).  A request that finds it older
 * waits until a worker has read what changed; many wait for one reading.  Who cannot be told within
 * a second is refused (503), never served by what was.  The revisions are those of the store, so
 * two servers on one store need nothing more than that it tells both what was touched.
 */

#include "apiserver/call/call.h"

struct people;

/* When the rest of the server's kinds is open; reads, and waits for the disk. */
struct people *people_new(struct server *s, struct status *st);
void people_free(struct people *p); /* after the workers */

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

/*
 * Returns whether they may bring something under the power of others: Admin of it, an instance
 * (type "Kairship") or a registered cluster ("Cluster"), or of the platform; name empty: only of
 * the platform.  In an epoch.
 */
bool people_may_hand_on(const struct people *p, struct arena *a, const struct identity *who,
                        str type, str name);

/* Whether the cache knows all up to this revision, and when what it is made of was touched last
 * (store_touched()).  A few loads; in an epoch. */
bool people_reached(struct people *p, uint64_t rev);
uint64_t people_touched(struct people *p);
void people_read(struct people *p); /* on a loop: soon it knows all up to now */

/* Steps of the chain. */
bool catch_up(struct call *c); /* waits for the cache, if need be; then c->stale says whether */
bool entitle(struct call *c);

#endif
