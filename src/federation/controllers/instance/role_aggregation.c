/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keeps the rules of aggregated ClusterRoles: those of all that they select.
 *
 * k8s: pkg/controller/clusterroleaggregation.  A change to any ClusterRole may concern any
 * aggregated one of its instance, so the key is the instance: however many roles change at once,
 * they are looked at once.  Default roles that an instance has not touched are not heard of, but
 * they are in its list: when one of them must have other rules than by default, writing them makes
 * it the instance's own.
 */

#include "base/banned.h"
#include "federation/controllers/frame/controller.h"
#include "object/meta/roles.h"

static bool same_rules(const struct json *a, const struct json *b)
{
    if (json_len(a) == 0 || json_len(b) == 0)
        return json_len(a) == json_len(b);
    return json_equal(a, b);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = { .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                              .group = STR("rbac.authorization.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("clusterroles") };
    const struct json *list, *roles;

    (void)arg;
    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    roles = json_get(list, STR("items"));
    json_for_each (role, roles) {
        const struct json *rules = roles_aggregate(a, role, roles);

        if (!rules || same_rules(rules, json_get(role, STR("rules"))))
            continue;
        ref.name = json_get_str(role, "metadata.name");
        if (client_update(client, a, &ref, json_set(a, role, "rules", rules), NULL, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    }
    return 0;
}

const struct controller_spec role_aggregation_controller = {
    .name = "role-aggregation",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("rbac.authorization.k8s.io"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("clusterroles") },
    .per_instance = true,
    .reconcile = reconcile,
};
