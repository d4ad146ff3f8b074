/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Classes that are the default of their instance: a claim that names none gets the storage class
 * that is, and there is one such priority class at most.
 * k8s: plugin/pkg/admission/storage/storageclass/setdefault, plugin/pkg/admission/priority
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"
#include "rest/lookup.h"

/* ---- storage ---- */

static bool is_default_storage(const struct json *class)
{
    static const char *const marks[] = { "storageclass.kubernetes.io/is-default-class",
                                         "storageclass.beta.kubernetes.io/is-default-class" };
    const struct json *notes = json_path(class, "metadata.annotations");

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (str_is(json_str(json_get(notes, str_of(marks[i]))), "true"))
            return true;
    return false;
}

/* Of several the newest, and of those the first by name; they come in the order of names. */
static bool pick_storage(void *arg, const struct json *class)
{
    const struct json **best = arg;

    if (is_default_storage(class) &&
        (!*best || str_cmp(json_get_str(class, "metadata.creationTimestamp"),
                           json_get_str(*best, "metadata.creationTimestamp")) > 0))
        *best = class;
    return true;
}

static bool names_class(const struct json *claim)
{
    const struct json *notes = json_path(claim, "metadata.annotations");

    return json_get(notes, STR("volume.beta.kubernetes.io/storage-class")) ||
           json_is(json_path(claim, "spec.storageClassName"), JSON_STRING);
}

static int give_storage(const struct admission *a, const struct json **obj, struct status *st)
{
    const struct rest_request *r = a->req;
    const struct kind *k =
        catalog_find(r->catalog, STR("storage.k8s.io"), STR("v1"), STR("storageclasses"));
    const struct json *best = NULL;

    if (!k || r->subresource.n || names_class(*obj))
        return 0;
    if (lookup_each(r->rest, r->arena, &r->instance, k, STR_NONE, pick_storage, &best, st) < 0)
        return -1;
    if (best)
        *obj = json_set(r->arena, *obj, "spec.storageClassName", json_path(best, "metadata.name"));
    return 0;
}

const struct admission_plugin admit_storage_class = {
    .name = "DefaultStorageClass",
    .group = "",
    .resource = "persistentvolumeclaims",
    .verbs = VERB_CREATE,
    .mutate = give_storage,
};

/* ---- priority ---- */

static bool is_global(const struct json *class)
{
    return json_bool(json_get(class, STR("globalDefault")));
}

static bool pick_global(void *arg, const struct json *class)
{
    const struct json **out = arg;

    if (is_global(class))
        *out = class;
    return !*out;
}

static int check_priority(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;
    str name = json_get_str(obj, "metadata.name"), had;
    const struct json *other = NULL;

    if (!is_global(obj))
        return 0;
    if (lookup_each(r->rest, r->arena, &r->instance, r->kind, STR_NONE, pick_global, &other, st) <
        0)
        return -1;
    had = json_get_str(other, "metadata.name");
    if (!other || str_eq(had, name))
        return 0;
    return status_forbidden(st, r->kind->group, r->kind->plural, name,
                            "PriorityClass %.*s is already marked as default. Only one default "
                            "can exist",
                            STR_ARG(had));
}

const struct admission_plugin admit_priority_class = {
    .name = "Priority",
    .group = "scheduling.k8s.io",
    .resource = "priorityclasses",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = check_priority,
};
