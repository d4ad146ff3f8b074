/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

/* k8s: pkg/registry/coordination/lease, pkg/apis/coordination/validation */

/* The fields of coordinated leader election, which is off in Kubernetes too unless asked for. */
static const struct json *without_coordination(struct arena *a, const struct json *obj)
{
    return json_set(a, json_set(a, obj, "spec.strategy", NULL), "spec.preferredHolder", NULL);
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    return without_coordination(c->arena, obj);
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    (void)old;
    return without_coordination(c->arena, obj);
}

static const struct {
    const char *path;
    int64_t min;
    const char *fault;
} numbers[] = {
    { "spec.leaseDurationSeconds", 1, "must be greater than 0" },
    { "spec.leaseTransitions", 0, "must be greater than or equal to 0" },
};

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    for (size_t i = 0; i < GROUP_LEN(numbers); i++) {
        const struct json *v = json_path(obj, numbers[i].path);

        if (v && json_int(v, 0) < numbers[i].min)
            status_cause(st, CAUSE_INVALID, str_of(numbers[i].path), json_text(c->arena, v), "%s",
                         numbers[i].fault);
    }
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.holderIdentity");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops lease_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Holder", "", 0, "Who holds it."),
    AGE_COLUMN,
};

/* A holder that has not read the lease must not overwrite it: no unconditional update. */
static struct kind kinds[] = {
    {
        .kind = STR_INIT("Lease"),
        .plural = STR_INIT("leases"),
        .singular = STR_INIT("lease"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .bare_finalizers = true,
        LIST(columns, columns),
        .ops = &lease_ops,
    },
};

const struct group group_coordination = {
    .name = STR_INIT("coordination.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.coordination.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
