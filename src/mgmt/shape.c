/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "mgmt/mgmt_internal.h"

void mgmt_copy(struct json_object *to, const char *name, const struct json *from, const char *path)
{
    const struct json *v = json_path(from, path);

    if (v && v->type != JSON_NULL)
        json_put(to, str_of(name), *v);
}

void mgmt_copy_str(struct json_object *to, const char *name, str value)
{
    if (value.n)
        json_put(to, str_of(name), json_of_str(value));
}

static void add_time(struct json_object *o, const char *name, const struct json *obj,
                     const char *path)
{
    str text = json_get_str(obj, path);
    int64_t s;

    if (text.n && time_parse_seconds(text, &s))
        json_add(o, str_of(name), json_of_int(s));
}

static struct json owners(struct arena *a, const struct json *list)
{
    struct json_array out = json_array_new(a);

    json_for_each (owner, list) {
        struct json_object o = json_object_new(a);

        mgmt_copy(&o, "uid", owner, "uid");
        mgmt_copy(&o, "controller", owner, "controller");
        json_push(&out, json_object_value(&o));
    }
    return json_array_value(&out);
}

/* The index notes on each object from which cluster it is. */
static void strip_note(struct arena *a, struct json_object *o, const struct json *annotations)
{
    static const str note = STR_INIT("shadow.clusterpedia.io/cluster-name");
    struct json_object rest;

    if (!json_get(annotations, note))
        return;
    rest = json_object_from(a, annotations);
    json_remove(&rest, note);
    json_put(o, STR("annotations"), json_object_value(&rest));
}

struct json mgmt_metadata(struct arena *a, const struct json *obj)
{
    static const char *const same[] = { "name",   "namespace",   "uid",       "resourceVersion",
                                        "labels", "annotations", "finalizers" };
    const struct json *metadata = json_path(obj, "metadata");
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        mgmt_copy(&o, same[i], metadata, same[i]);
    strip_note(a, &o, json_path(metadata, "annotations"));
    add_time(&o, "creationTimestamp", metadata, "creationTimestamp");
    add_time(&o, "deletionTimestamp", metadata, "deletionTimestamp");
    json_add(&o, STR("ownerReferences"), owners(a, json_path(metadata, "ownerReferences")));
    return json_object_value(&o);
}

int mgmt_data(struct arena *a, const struct json *request, const struct json **out,
              struct status *st)
{
    str text = json_get_str(request, "data");

    if (!text.n)
        return message_refuse(st, STR("data"), "must be an object as JSON");
    if (json_parse(a, text, NULL, out, st) < 0)
        return status_wrap(st, "data");
    if (!json_is(*out, JSON_OBJECT))
        return message_refuse(st, STR("data"), "must be an object as JSON");
    return 0;
}

const struct json *mgmt_data_answer(struct arena *a, const struct json *obj)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("data"), json_of_str(json_text(a, obj)));
    return json_object_done(&o);
}
