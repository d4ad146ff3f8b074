/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/tenancy.h"

#include "base/banned.h"
#include "client/finalizer.h"

const struct json *instance_ending(struct client *client, struct arena *a, str name)
{
    struct client_ref ref = instance_ref(name);
    const struct json *instance;
    struct status st;

    status_init(&st, a);
    return name.n && client_get(client, a, &ref, &instance, &st) == 0 && is_deleting(instance)
               ? instance
               : NULL;
}
