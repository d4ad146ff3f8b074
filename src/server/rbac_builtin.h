/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RBAC_BUILTIN_H
#define SERVER_RBAC_BUILTIN_H

/*
 * What the parts of our own program may do: a row each in rbac_builtin.c, no more than it needs.
 * These rights are no objects: nobody can give or take them, and they hold in every instance and
 * over all of them.  They belong to a caller inside the process, or for whom system:masters acts
 * (a controller-manager in a process of its own); whoever else comes under that name has none.
 */

#include "server/rbac_rule.h"

struct rbac_builtins;

struct rbac_builtins *rbac_builtins_new(void);
void rbac_builtins_free(struct rbac_builtins *b); /* after the last call of anyone who has them */

/* By names like "system:kairship:namespace-controller"; NULL: no such part, no rights. */
const struct rbac_role *rbac_builtins_find(const struct rbac_builtins *b, str user);

#endif
