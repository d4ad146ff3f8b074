/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/podspec.h"
#include "kinds/k8s/workload.h"

/* The groups scheduling.k8s.io and node.k8s.io.  k8s: pkg/apis/scheduling, pkg/apis/node */

enum { PRIORITY_MAX = 1000000000 };

/* ---- priorities ---- */

/* The two that every cluster has; only they may begin with system-. */
static const struct {
    const char *name;
    int64_t value;
} system_classes[] = {
    { "system-node-critical", 2000001000 },
    { "system-cluster-critical", 2000000000 },
};

static bool is_system(str name, int64_t value)
{
    for (size_t i = 0; i < GROUP_LEN(system_classes); i++)
        if (str_is(name, system_classes[i].name))
            return value == system_classes[i].value;
    return false;
}

static void priority_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    static const char *const policies[] = { "PreemptLowerPriority", "Never", NULL };
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site name = site_in(&meta, "name"), value = site_in(&root, "value");
    struct site policy = site_in(&root, "preemptionPolicy");
    int64_t n = json_int(value.v, 0);

    if (!c->create) /* neither can change */
        return;
    if (str_starts(json_str(name.v), STR("system-"))) {
        if (!is_system(json_str(name.v), n))
            site_forbidden(st, &name,
                           "priority class names with 'system-' prefix are reserved for system "
                           "use only");
    } else if (n > PRIORITY_MAX) {
        site_fault(st, &value, CAUSE_FORBIDDEN,
                   "maximum allowed value of a user defined priority is %d", PRIORITY_MAX);
    }
    if (!policy.v || !site_required(st, &policy))
        site_enum(st, &policy, policies);
}

static void priority_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    if (!check_same(json_get(obj, STR("value")), json_get(old, STR("value"))))
        status_cause(st, CAUSE_FORBIDDEN, STR("value"), STR_NONE,
                     "may not be changed in an update.");
    check_immutable(st, "preemptionPolicy", obj, old);
}

static void priority_cells(struct arena *a, const struct json *obj, int64_t now_s,
                           struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_int(cells, obj, "value");
    json_push(cells, json_of_bool(json_bool(json_get(obj, STR("globalDefault")))));
    cell_age(cells, obj, now_s);
    cell_str(cells, obj, "preemptionPolicy");
}

static const struct kind_ops priority_ops = {
    .validate = priority_validate,
    .validate_update = priority_update,
    .cells = priority_cells,
};

static const struct column priority_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Value", "The priority."),
    COLUMN_OF("boolean", "Global-Default", "", 0, "Pods that name no class are of this one."),
    AGE_COLUMN,
    COLUMN("PreemptionPolicy", "", 0, "Whether others must make room."),
};
static const str priority_short[] = { STR_INIT("pc") };

static struct kind scheduling_kinds[] = {
    {
        KIND_NAMES("PriorityClass", "priorityclasses", "priorityclass"),
        LIST(short_names, priority_short),
        .verbs = VERBS_ALL,
        .generation = true,
        .generation_stays = true,
        .unconditional_update = true,
        LIST(columns, priority_columns),
        .ops = &priority_ops,
    },
};

const struct group group_scheduling = {
    .name = STR_INIT("scheduling.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.scheduling.v1",
    .kinds = scheduling_kinds,
    .n = GROUP_LEN(scheduling_kinds),
};

/* ---- runtimes ---- */

static void check_unique(struct status *st, const struct site *scheduling)
{
    struct site list = site_in(scheduling, "tolerations");
    struct map seen = { 0 };

    site_each(t, &list)
    {
        str key = str_printf(st->arena, "%.*s\n%.*s\n%.*s\n%.*s", STR_ARG(site_str(&t, "key")),
                             STR_ARG(site_str(&t, "operator")), STR_ARG(site_str(&t, "value")),
                             STR_ARG(site_str(&t, "effect")));

        if (site_seen(&seen, key))
            site_duplicate(st, &t);
    }
    map_release(&seen);
}

static void runtime_validate(const struct kind_context *c, const struct json *obj,
                             struct status *st)
{
    struct site root = site_root(obj), handler = site_in(&root, "handler");
    struct site overhead = site_in(&root, "overhead"), scheduling = site_in(&root, "scheduling");

    (void)c;
    (void)site_name(st, &handler, NAME_LABEL);
    podspec_check_overhead(st, &overhead, json_get(overhead.v, STR("podFixed")));
    if (!scheduling.v)
        return;
    podspec_check_placement(st, &scheduling);
    check_unique(st, &scheduling);
}

static void runtime_update(const struct kind_context *c, const struct json *obj,
                           const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "handler", obj, old);
}

static void runtime_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "handler");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops runtime_ops = {
    .validate = runtime_validate,
    .validate_update = runtime_update,
    .warn = warn_runtimeclass,
    .cells = runtime_cells,
};

static const struct column runtime_columns[] = {
    NAME_COLUMN,
    COLUMN("Handler", "", 0, "What nodes call it."),
    AGE_COLUMN,
};

static struct kind node_kinds[] = {
    {
        KIND_NAMES("RuntimeClass", "runtimeclasses", "runtimeclass"),
        .verbs = VERBS_ALL,
        .update_creates = true,
        .bare_finalizers = true,
        LIST(columns, runtime_columns),
        .ops = &runtime_ops,
    },
};

const struct group group_node = {
    .name = STR_INIT("node.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.node.v1",
    .kinds = node_kinds,
    .n = GROUP_LEN(node_kinds),
};
