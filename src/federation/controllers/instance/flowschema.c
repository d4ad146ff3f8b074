/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keeps the condition Dangling of FlowSchemas: whether the level they name is there.
 *
 * k8s: apiserver/pkg/util/flowcontrol/apf_controller.go syncFlowSchemaStatus.  A level may concern
 * any schema of its instance, so the key is the instance.  Default schemas that an instance has not
 * touched say by default that their level is there; that a default level was deleted is not heard
 * of, but seen with the next change of one of these objects.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "federation/controllers/frame/controller.h"
#include "object/meta/condition.h"

#define FLOW(plural)                                                                  \
    {                                                                                 \
        .instance = STR_INIT("*"), .group = STR_INIT("flowcontrol.apiserver.k8s.io"), \
        .version = STR_INIT("v1"), .resource = STR_INIT(plural)                       \
    }

static bool has(const struct json *levels, str name)
{
    json_for_each (l, levels)
        if (str_eq(json_get_str(l, "metadata.name"), name))
            return true;
    return false;
}

#define MANAGER "api-priority-and-fairness-config-consumer-v1"

static const struct json *conditions_of(struct arena *a, const struct json *schema, bool found)
{
    str level = json_get_str(schema, "spec.priorityLevelConfiguration.name");
    struct condition dangling = {
        .type = "Dangling",
        .status = found ? "False" : "True",
        .reason = found ? "Found" : "NotFound",
        .message =
            str_printf(a,
                       "This FlowSchema references the PriorityLevelConfiguration object "
                       "named \"%.*s\" %s",
                       STR_ARG(level), found ? "and it exists" : "but there is no such object"),
    };

    return condition_set(a, json_path(schema, "status.conditions"), &dangling,
                         clock_wall_s(clock_real()));
}

/* k8s: it is applied, and owned by who reads the schemas. */
static const struct json *applied(struct arena *a, str name, const struct json *conditions)
{
    const struct json *o = &json_empty_object;
    struct json_array own = json_array_new(a);

    json_for_each (c, conditions)
        if (str_is(json_get_str(c, "type"), "Dangling"))
            json_push(&own, *c);
    o = json_set(a, o, "apiVersion",
                 json_box(a, json_of_str(STR("flowcontrol.apiserver.k8s.io/v1"))));
    o = json_set(a, o, "kind", json_box(a, json_of_str(STR("FlowSchema"))));
    o = json_set(a, o, "metadata.name", json_box(a, json_of_str(name)));
    return json_set(a, o, "status.conditions", json_array_done(&own));
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = FLOW("prioritylevelconfigurations");
    const struct json *levels, *schemas;

    (void)arg;
    ref.instance = str_is(k->instance, "root") ? STR_NONE : k->instance;
    if (client_list(client, a, &ref, NULL, &levels, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    ref.resource = STR("flowschemas");
    if (client_list(client, a, &ref, NULL, &schemas, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    ref.subresource = STR("status");
    json_for_each (schema, json_get(schemas, STR("items"))) {
        bool found = has(json_get(levels, STR("items")),
                         json_get_str(schema, "spec.priorityLevelConfiguration.name"));
        const struct json *now = conditions_of(a, schema, found);

        if (now == json_path(schema, "status.conditions"))
            continue;
        ref.name = json_get_str(schema, "metadata.name");
        if (client_apply(client, a, &ref, STR(MANAGER), applied(a, ref.name, now), NULL, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    }
    return 0;
}

static const struct controller_source levels_too[] = {
    { .ref = FLOW("prioritylevelconfigurations"), .spec_only = true },
};

const struct controller_spec flowschema_controller = {
    .name = "flowschema",
    .ref = FLOW("flowschemas"),
    .spec_only = true,
    .per_instance = true,
    .also = levels_too,
    .nalso = 1,
    .reconcile = reconcile,
};
