/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "mgmt/instance.h"
#include "object/meta/release.h"

/* Words of the spec that callers know as annotations. */
static const struct {
    const char *annotation, *path;
} annotations[] = {
    { "kairship.io/alias", "spec.alias" },
    { "kairship.io/description", "spec.description" },
};
enum { ANNOTATIONS = sizeof(annotations) / sizeof(*annotations) };

static struct json metadata_of(struct arena *a, const struct json *obj)
{
    struct json plain = mgmt_metadata(a, obj);
    struct json_object o = json_object_from(a, &plain);
    struct json_object notes = json_object_from(a, json_get(&plain, STR("annotations")));
    struct json_object labels = json_object_from(a, json_get(&plain, STR("labels")));
    enum release said = release_of_word(json_get_str(obj, "spec.release"));

    for (size_t i = 0; i < ANNOTATIONS; i++)
        mgmt_copy_str(&notes, annotations[i].annotation, json_get_str(obj, annotations[i].path));
    if (said != RELEASE_UNSAID)
        json_put(&labels, STR(RELEASE_LABEL),
                 json_of_str(said == RELEASE_ORPHAN ? STR("true") : STR("false")));
    json_put(&o, STR("annotations"), json_object_value(&notes));
    json_put(&o, STR("labels"), json_object_value(&labels));
    return json_object_value(&o);
}

static struct json status_of(struct arena *a, const struct json *status)
{
    struct json_object o = json_object_new(a);
    str state = json_get_str(status, "state");

    mgmt_copy(&o, "karmadaVersion", status, "karmadaVersion");
    mgmt_copy(&o, "kubernetesVersion", status, "kubernetesVersion");
    mgmt_copy(&o, "summary", status, "summary");
    if (state.n)
        json_add(&o, STR("state"),
                 json_of_str(str_concat(a, STR("INSTANCE_STATE_"), state, STR_NONE)));
    return json_object_value(&o);
}

struct json instance_shape(struct arena *a, const struct json *obj)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("metadata"), metadata_of(a, obj));
    json_add(&o, STR("spec"), json_empty_object);
    json_add(&o, STR("status"), status_of(a, json_path(obj, "status")));
    return json_object_value(&o);
}

static const struct json *without(struct arena *a, const struct json *map, const char *name)
{
    struct json_object o = json_object_from(a, map);

    json_remove(&o, str_of(name));
    return json_object_done(&o);
}

/*
 * The label says "false" of instances that nobody meant to destroy, so it takes Orphan away and is
 * never an order: what says Destroy keeps doing so.
 */
static const struct json *with_release(struct arena *a, const struct json *obj, bool orphan)
{
    struct json word = json_of_str(STR("Orphan"));

    if (orphan)
        return json_set(a, obj, "spec.release", &word);
    if (release_of_word(json_get_str(obj, "spec.release")) == RELEASE_DESTROY)
        return obj;
    return json_set(a, obj, "spec.release", NULL);
}

const struct json *instance_with(struct arena *a, const struct json *obj,
                                 const struct json *metadata)
{
    const struct json *notes = json_path(metadata, "annotations");
    const struct json *labels = json_path(metadata, "labels");
    const struct json *release = json_get(labels, STR(RELEASE_LABEL));

    for (size_t i = 0; notes && i < ANNOTATIONS; i++) {
        obj = json_set(a, obj, annotations[i].path,
                       json_get(notes, str_of(annotations[i].annotation)));
        notes = without(a, notes, annotations[i].annotation);
    }
    if (release) {
        obj = with_release(a, obj, str_is(json_str(release), "true"));
        labels = without(a, labels, RELEASE_LABEL);
    }
    if (notes)
        obj = json_set(a, obj, "metadata.annotations", notes);
    if (labels)
        obj = json_set(a, obj, "metadata.labels", labels);
    return obj;
}
