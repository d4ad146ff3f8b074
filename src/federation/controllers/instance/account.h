/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_INSTANCE_ACCOUNT_H
#define FEDERATION_CONTROLLERS_INSTANCE_ACCOUNT_H

/* What the controllers of service accounts and of their tokens share. */

#include "federation/controllers/frame/controller.h"

/* The instance as a client_ref says it. */
static inline str account_instance(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

/* An object of the core group. */
static inline struct client_ref account_ref(str instance, const char *resource, str namespace,
                                            str name)
{
    return (struct client_ref){ .instance = instance,
                                .version = STR("v1"),
                                .resource = str_of(resource),
                                .namespace = namespace,
                                .name = name };
}

/* The account "default" of the key's namespace, where that is to stay (serviceaccount.c). */
int account_ensure_default(struct client *client, struct arena *a, const struct informer_key *k,
                           struct status *st) __attribute__((warn_unused_result));

#endif
