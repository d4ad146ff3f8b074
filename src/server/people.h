/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PEOPLE_H
#define SERVER_PEOPLE_H

/*
 * People and what Global Management lets them do.  Who has a role in an instance is, while asking
 * there, in a group that the default roles of every instance know (kinds/policy.txt):
 *
 *     kairship:viewers    reads all but secrets
 *     kairship:editors    writes applications and their policies, too
 *     kairship:admins     everything
 *
 * So a role that is given or taken counts with the next request, whatever else is running; RBAC of
 * the instance can only add to it.  Nobody gets into these groups in another way.
 */

#include "server/call.h"

struct people;

struct people *people_new(struct server *s);
void people_start(struct people *p, struct loop *l); /* from another thread; once the loop runs */
void people_stop(struct people *p);
void people_free(struct people *p);

const struct permissions *people_permissions(const struct people *p);

/* Puts the groups of their role there into who->groups, in the arena. */
void people_entitle(const struct people *p, struct arena *a, const struct instance *i,
                    struct identity *who);

/*
 * Whether who came with a credential from elsewhere is let in: into root, unless their User object
 * is disabled; into another instance by a role there.  It need not exist.
 */
bool people_admits(const struct people *p, str instance, const struct identity *who);

bool entitle(struct call *c); /* a part of the chain */

#endif
