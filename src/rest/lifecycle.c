/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/lifecycle.h"

#include "base/banned.h"

static bool is_instance(const struct kind *k)
{
    return str_is(k->group, "tenancy.kairship.io") && str_is(k->plural, "instances");
}

static enum instance_profile profile_of(const struct json *obj)
{
    return str_is(json_get_str(obj, "spec.profile"), "minimal") ? PROFILE_MINIMAL : PROFILE_KARMADA;
}

static int create(struct rest_op *op, struct store_op *ops, struct status *st)
{
    struct instance i = { .name = op->name,
                          .uid = json_get_str(op->obj, "metadata.uid"),
                          .created = json_get_str(op->obj, "metadata.creationTimestamp"),
                          .profile = profile_of(op->obj) };

    if (instance_new_id(op->req->rest->instances, &i.id, st) < 0)
        return -1;
    return (int)instance_create_ops(op->req->arena, &i, ops);
}

int lifecycle_ops(struct rest_op *op, struct store_op *ops, struct status *st)
{
    bool deleting = json_path(op->obj, "metadata.deletionTimestamp") != NULL;
    struct instance i;

    if (!is_instance(op->req->kind))
        return 0;
    if (!op->found)
        return create(op, ops, st);
    if (instance_find(op->req->rest->instances, op->req->arena, op->name, &i, st) < 0)
        return -1;
    if (op->what == WRITE_REMOVE)
        return (int)instance_delete_ops(op->req->arena, &i, ops);
    if (!deleting || i.terminating)
        return 0;
    i.terminating = true;
    return (int)instance_update_ops(op->req->arena, &i, ops);
}
