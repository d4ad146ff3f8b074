/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/tenancy.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "object/meta/condition.h"

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

static bool is_suspended(const struct json *instance)
{
    return json_bool(json_path(instance, "spec.suspended")) && !is_deleting(instance);
}

int instance_suspended(struct client *client, struct arena *a, str name, bool *out,
                       struct status *st)
{
    struct client_ref ref = instance_ref(name);
    const struct json *instance;

    *out = false;
    if (!name.n)
        return 0;
    if (client_get(client, a, &ref, &instance, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    *out = is_suspended(instance);
    return 0;
}

const struct json *cluster_suspended_set(struct arena *a, const struct json *conditions,
                                         bool suspended, int64_t now_s)
{
    struct condition c = { .type = CLUSTER_SUSPENDED,
                           .status = "True",
                           .reason = "InstanceSuspended",
                           .message = STR("the instance is suspended: nothing of it is written to "
                                          "the cluster") };

    return suspended ? condition_set(a, conditions, &c, now_s)
                     : condition_remove(a, conditions, CLUSTER_SUSPENDED);
}

bool suspensions_note(struct suspensions *s, str name, const struct json *instance)
{
    char *known = map_get(&s->names, name);

    if (!instance || !is_suspended(instance)) {
        if (known)
            (void)map_remove(&s->names, name);
        free(known);
        return known != NULL;
    }
    if (known)
        return false;
    known = mem_alloc(name.n);
    memcpy(known, name.p, name.n);
    (void)map_put(&s->names, (str){ known, name.n }, known);
    return true;
}

void suspensions_release(struct suspensions *s)
{
    size_t at = 0;
    void *known;
    str key;

    while (map_each(&s->names, &at, &key, &known))
        free(known);
    map_release(&s->names);
}
