/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/lifecycle.h"

#include "base/banned.h"

static bool is_instance(const struct kind *k)
{
    return str_is(k->group, "tenancy.kairship.io") && str_is(k->plural, "instances");
}

static enum instance_profile profile_of(const struct json *obj)
{
    str profile = json_get_str(obj, "spec.profile");

    if (str_is(profile, "minimal"))
        return PROFILE_MINIMAL;
    return str_is(profile, "kubernetes") ? PROFILE_KUBERNETES : PROFILE_KARMADA;
}

static uint64_t limit_of(const struct json *obj, const char *path)
{
    const struct json *v = json_path(obj, path);

    if (!v)
        return 0;
    return json_int(v, 0) > 0 ? (uint64_t)json_int(v, 0) : INSTANCE_UNLIMITED;
}

static struct instance_limits limits_of(const struct json *obj)
{
    return (struct instance_limits){ .objects = limit_of(obj, "spec.limits.maxObjects"),
                                     .bytes = limit_of(obj, "spec.limits.maxBytes"),
                                     .in_flight = limit_of(obj, "spec.limits.maxInFlight"),
                                     .watches = limit_of(obj, "spec.limits.maxWatches") };
}

static bool same_limits(const struct instance_limits *a, const struct instance_limits *b)
{
    return a->objects == b->objects && a->bytes == b->bytes && a->in_flight == b->in_flight &&
           a->watches == b->watches;
}

/* What is read of one would be read of the other, by whoever may. */
static int check_twin(struct rest_op *op, struct status *st)
{
    struct arena *a = op->req->arena;
    str twin = instance_twin(a, op->name);
    struct instance other;
    struct status none;

    status_init(&none, a);
    if (!twin.n)
        return 0;
    if (instance_find(op->req->rest->instances, a, twin, &other, &none) < 0) {
        if (status_is(&none, REASON_NOT_FOUND))
            return 0;
        status_copy(st, &none);
        return -1;
    }
    status_cause(st, CAUSE_INVALID, STR("metadata.name"),
                 str_printf(a, "\"%.*s\"", STR_ARG(op->name)),
                 "the instance \"%.*s\" has the same virtual cluster", STR_ARG(twin));
    return status_invalid(st, op->req->kind->group, op->req->kind->kind, op->name);
}

static int create(struct rest_op *op, struct store_op *ops, struct status *st)
{
    struct instance i = { .name = op->name,
                          .uid = json_get_str(op->obj, "metadata.uid"),
                          .created = json_get_str(op->obj, "metadata.creationTimestamp"),
                          .profile = profile_of(op->obj),
                          .attached = json_path(op->obj, "spec.attach") != NULL,
                          .suspended = json_bool(json_path(op->obj, "spec.suspended")),
                          .limits = limits_of(op->obj) };

    if (check_twin(op, st) < 0 || instance_new_id(op->req->rest->instances, &i.id, st) < 0)
        return -1;
    return (int)instance_create_ops(op->req->arena, &i, ops);
}

int lifecycle_ops(struct rest_op *op, struct store_op *ops, struct status *st)
{
    bool deleting = json_path(op->obj, "metadata.deletionTimestamp") != NULL;
    bool suspended = json_bool(json_path(op->obj, "spec.suspended"));
    struct instance_limits limits;
    struct instance i;

    if (!is_instance(op->req->kind))
        return 0;
    if (!op->found)
        return create(op, ops, st);
    if (instance_find(op->req->rest->instances, op->req->arena, op->name, &i, st) < 0)
        return -1;
    if (op->what == WRITE_REMOVE)
        return (int)instance_delete_ops(op->req->arena, &i, ops);
    limits = limits_of(op->obj);
    if ((!deleting || i.terminating) && suspended == i.suspended && same_limits(&limits, &i.limits))
        return 0;
    i.terminating = i.terminating || deleting;
    i.suspended = suspended;
    i.limits = limits;
    return (int)instance_update_ops(op->req->arena, &i, ops);
}
