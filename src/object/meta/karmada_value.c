/* SPDX-License-Identifier: Apache-2.0 */

/* Values as Go prints them: members in the order of Karmada's types. */

#include <stdlib.h>

#include "base/banned.h"
#include "object/meta/karmada.h"

/* Others come last. */
static const char *const members[] = {
    "clusterAffinity",
    "clusterAffinities",
    "clusterTolerations",
    "spreadConstraints",
    "replicaScheduling",
    "workloadAffinity",
    "affinityName",
    "labelSelector",
    "fieldSelector",
    "matchLabels",
    "matchExpressions",
    "clusterNames",
    "exclude",
    "overflowAffinities",
    "spreadByField",
    "spreadByLabel",
    "maxGroups",
    "minGroups",
    "replicaSchedulingType",
    "replicaDivisionPreference",
    "weightPreference",
    "staticWeightList",
    "targetCluster",
    "weight",
    "dynamicWeight",
    "affinity",
    "antiAffinity",
    "dispatching",
    "dispatchingOnClusters",
    "plaintext",
    "imageOverrider",
    "commandOverrider",
    "argsOverrider",
    "labelsOverrider",
    "annotationsOverrider",
    "fieldOverrider",
    "fieldPath",
    "json",
    "yaml",
    "predicate",
    "component",
    "containerName",
    "path",
    "subPath",
    "key",
    "operator",
    "value",
    "values",
    "effect",
    "timeAdded",
    "tolerationSeconds",
    "grade",
    "ranges",
    "name",
    "min",
    "max",
};

static size_t rank(str name)
{
    size_t i = 0;

    while (i < sizeof(members) / sizeof(*members) && !str_is(name, members[i]))
        i++;
    return i;
}

static int by_rank(const void *a, const void *b)
{
    const struct json_member *x = a, *y = b;
    size_t i = rank(x->name), j = rank(y->name);

    if (i != j)
        return i < j ? -1 : 1;
    return str_cmp(x->name, y->name);
}

/* An operation's value is shown even where there is none; Go's type has no `omitempty`. */
static bool lacks_value(const struct json *v)
{
    bool has_path = json_get(v, STR("path")) || json_get(v, STR("subPath"));

    return has_path && json_get(v, STR("operator")) && !json_get(v, STR("value"));
}

static struct json arranged(struct arena *a, const struct json *v)
{
    if (json_is(v, JSON_ARRAY)) {
        struct json_array r = json_array_new(a);

        json_for_each (item, v)
            json_push(&r, arranged(a, item));
        return json_array_value(&r);
    }
    if (json_is(v, JSON_OBJECT)) {
        struct json_member *sorted = arena_array(a, struct json_member, v->n + 1);
        struct json_object o = json_object_new(a);

        for (size_t i = 0; i < v->n; i++)
            sorted[i] = v->members[i];
        qsort(sorted, v->n, sizeof(*sorted), by_rank);
        for (size_t i = 0; i < v->n; i++)
            json_add(&o, sorted[i].name, arranged(a, &sorted[i].value));
        if (lacks_value(v))
            json_add(&o, STR("value"), json_null);
        return json_object_value(&o);
    }
    return *v;
}

str karmada_value(struct arena *a, const struct json *v)
{
    struct json done = arranged(a, v);

    return json_text(a, &done);
}
