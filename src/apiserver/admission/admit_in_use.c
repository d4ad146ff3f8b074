/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finalizers that keep volumes, claims and classes while they are used.  Whoever takes them off is
 * a kube-controller-manager, which most instances do not have: off unless it is asked for.
 *
 * k8s: plugin/pkg/admission/storage/storageobjectinuseprotection
 */

#include "apiserver/admission/admission.h"
#include "base/banned.h"

static const struct {
    const char *group, *resource, *finalizer;
} rows[] = {
    { "", "persistentvolumeclaims", "kubernetes.io/pvc-protection" },
    { "", "persistentvolumes", "kubernetes.io/pv-protection" },
    { "storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection" },
};

static const char *finalizer_of(const struct kind *k)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (str_is(k->group, rows[i].group) && str_is(k->plural, rows[i].resource))
            return rows[i].finalizer;
    return NULL;
}

static int mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    const char *wanted = finalizer_of(a->req->kind);
    struct json_array out = json_array_new(arena);

    (void)st;
    if (!wanted || a->req->subresource.n)
        return 0;
    json_for_each (f, json_path(*obj, "metadata.finalizers")) {
        if (str_is(json_str(f), wanted))
            return 0;
        json_push(&out, *f);
    }
    json_push(&out, json_of_str(str_of(wanted)));
    *obj = json_set(arena, *obj, "metadata.finalizers", json_array_done(&out));
    return 0;
}

const struct admission_plugin admit_in_use = {
    .name = "StorageObjectInUseProtection",
    .optional = true,
    .asked = true,
    .group = "*",
    .resource = "*",
    .verbs = VERB_CREATE,
    .mutate = mutate,
};
