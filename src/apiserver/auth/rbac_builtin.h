/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_RBAC_BUILTIN_H
#define APISERVER_AUTH_RBAC_BUILTIN_H

/*
 * The rights of this program's own components: each has a row in rbac_builtin.c with no more rights
 * than it needs.  These rights are not objects, so no user can grant or revoke them; they hold in
 * every instance, and for requests over all instances.  A caller has them if it runs inside this
 * process, or if the platform admin impersonates the component (a controller-manager in a process
 * of its own); any other caller with the same user name has none of them.
 */

#include "apiserver/auth/rbac_rule.h"

struct rbac_builtins;

struct rbac_builtins *rbac_builtins_new(void);
void rbac_builtins_free(struct rbac_builtins *b); /* after the last call of every component */

/* Returns the rights of a component such as "system:kairship:namespace-controller"; NULL when no
 * component has this name. */
const struct rbac_role *rbac_builtins_find(const struct rbac_builtins *b, str user);

#endif
