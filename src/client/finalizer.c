/* SPDX-License-Identifier: Apache-2.0 */
#include "client/finalizer.h"

#include "base/banned.h"

static const struct json *list_of(const struct json *object)
{
    return json_path(object, "metadata.finalizers");
}

bool finalizer_has(const struct json *object, const char *finalizer)
{
    json_for_each (f, list_of(object))
        if (str_is(json_str(f), finalizer))
            return true;
    return false;
}

bool is_deleting(const struct json *object)
{
    return json_get_str(object, "metadata.deletionTimestamp").n > 0;
}

/* This list and nothing else, if the object is still the same. */
static const struct json *patch_of(struct arena *a, const struct json *object,
                                   struct json_array *list)
{
    struct json_object meta = json_object_new(a), patch = json_object_new(a);

    json_add(&meta, STR("finalizers"), json_array_value(list));
    json_add(&meta, STR("resourceVersion"),
             json_of_str(json_get_str(object, "metadata.resourceVersion")));
    json_add(&patch, STR("metadata"), json_object_value(&meta));
    return json_object_done(&patch);
}

static struct json_array list_with(struct arena *a, const struct json *object,
                                   const char *finalizer)
{
    struct json_array list = json_array_new(a);

    json_for_each (f, list_of(object))
        json_push(&list, *f);
    json_push(&list, json_of_str(str_of(finalizer)));
    return list;
}

const struct json *finalizer_with(struct arena *a, const struct json *object, const char *finalizer)
{
    struct json_array list;

    if (finalizer_has(object, finalizer))
        return object;
    list = list_with(a, object, finalizer);
    return json_set(a, object, "metadata.finalizers", json_array_done(&list));
}

const struct json *finalizer_patch(struct arena *a, const struct json *object,
                                   const char *finalizer)
{
    struct json_array list = list_with(a, object, finalizer);

    return patch_of(a, object, &list);
}

int finalizer_add(struct client *c, struct arena *a, const struct client_ref *ref,
                  const char *finalizer, const struct json **object, struct status *st)
{
    if (finalizer_has(*object, finalizer))
        return 0;
    return client_patch(c, a, ref, CLIENT_PATCH_MERGE, finalizer_patch(a, *object, finalizer),
                        object, st);
}

int finalizer_remove(struct client *c, struct arena *a, const struct client_ref *ref,
                     const char *finalizer, const struct json *object, struct status *st)
{
    struct json_array list = json_array_new(a);

    if (!finalizer_has(object, finalizer))
        return 0;
    json_for_each (f, list_of(object))
        if (!str_is(json_str(f), finalizer))
            json_push(&list, *f);
    if (client_patch(c, a, ref, CLIENT_PATCH_MERGE, patch_of(a, object, &list), NULL, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return 0;
}
