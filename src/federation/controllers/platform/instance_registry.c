/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Registers each instance in Global Management, so that roles can be given for it: one
 * GProductResource each, which goes with its instance and names it as its owner: one that is left
 * of an instance that had the name before is none for this one.
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"

#define FINALIZER "kairship.io/registration"

#define REGISTRATION_REF                                                       \
    {                                                                          \
        .group = STR_INIT("iam.kairship.io"), .version = STR_INIT("v1alpha1"), \
        .resource = STR_INIT("gproductresources")                              \
    }

static str registration_name(struct arena *a, str instance)
{
    return str_printf(a, "kairship.%.*s", STR_ARG(instance));
}

static struct json owner(struct arena *a, const struct json *instance)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("tenancy.kairship.io/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("Instance")));
    json_add(&o, STR("name"), *json_path(instance, "metadata.name"));
    json_add(&o, STR("uid"), *json_path(instance, "metadata.uid"));
    return json_object_value(&o);
}

static bool is_of(const struct json *registration, const struct json *instance)
{
    const struct json *owners = json_path(registration, "metadata.ownerReferences");

    return !json_len(owners) ||
           str_eq(json_get_str(json_at(owners, 0), "uid"), json_get_str(instance, "metadata.uid"));
}

static const struct json *registration_of(struct arena *a, str name, const struct json *instance)
{
    static const char *const fields[][2] = {
        { "apiVersion", "iam.kairship.io/v1alpha1" },
        { "kind", "GProductResource" },
        { "spec.gproduct", "kairship" },
        { "spec.resourceType", "Kairship" },
    };
    const struct json *v = &json_empty_object;
    struct json_array owners = json_array_new(a);

    json_push(&owners, owner(a, instance));
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        v = json_set(a, v, fields[i][0], json_box(a, json_of_str(str_of(fields[i][1]))));
    v = json_set(a, v, "metadata.name", json_box(a, json_of_str(name)));
    v = json_set(a, v, "metadata.ownerReferences", json_array_done(&owners));
    return json_set(a, v, "spec.resourceName", json_path(instance, "metadata.name"));
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = instance_ref(k->name), registration = REGISTRATION_REF;
    const struct json *instance, *now;

    (void)arg;
    registration.name = registration_name(a, k->name);
    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(instance)) {
        if (!finalizer_has(instance, FINALIZER))
            return 0;
        if (client_delete(client, a, &registration, NULL, st) < 0 &&
            !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return finalizer_remove(client, a, &ref, FINALIZER, instance, st);
    }
    if (finalizer_add(client, a, &ref, FINALIZER, &instance, st) < 0)
        return -1;
    if (client_get(client, a, &registration, &now, st) == 0) /* we hear of its end */
        return is_of(now, instance) ? 0 : client_delete(client, a, &registration, NULL, st);
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return client_create(client, a, &registration, registration_of(a, registration.name, instance),
                         NULL, st);
}

/* One that was taken away comes back. */
static void wake_instance(void *arg, struct controller *c, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key key = { .name = str_from(k->name, sizeof("kairship.") - 1) };

    (void)arg;
    (void)object;
    if (deleted && str_starts(k->name, STR("kairship.")))
        controller_wake(c, &key);
}

static const struct controller_source also[] = {
    { .ref = REGISTRATION_REF, .map = wake_instance },
};

const struct controller_spec instance_registry_controller = {
    .name = "instance-registry",
    .ref = INSTANCE_REF,
    .spec_only = true,
    .finalizer = FINALIZER,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 8,
    .reconcile = reconcile,
};
