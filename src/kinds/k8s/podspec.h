/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_PODSPEC_H
#define KINDS_K8S_PODSPEC_H

/*
 * What pods and everything that makes pods share: defaults and rules of a pod's spec.
 * k8s: pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go
 *
 * The schema table has the plain defaults; here is what depends on other fields.
 */

#include "kinds/frame/site.h"
#include "rest/kind.h"

/* Of spec.template of the object at this dotted path, or of the pod's own spec. */
const struct json *podspec_default_template(struct arena *a, const struct json *obj,
                                            const char *path);
const struct json *podspec_default_pod(struct arena *a, const struct json *pod);

/* A new pod whose selectors say what matchLabelKeys and mismatchLabelKeys mean for it. */
const struct json *podspec_apply_keys(struct arena *a, const struct json *pod);

/* All rules of a PodSpec; those for pods only come on top (`pod`). */
void podspec_check(struct status *st, const struct site *spec, bool pod);
/* A template's labels, annotations and spec. */
void podspec_check_template(struct status *st, const struct site *template);

/* BestEffort, Burstable or Guaranteed, by the resources asked for. */
str podspec_qos(const struct json *spec);

/* Names and images of the containers, comma-separated, as wide columns show them. */
void podspec_cells(struct json_array *cells, const struct json *spec);

/* ---- parts, each in its file; only podspec*.c and volume.c use them ---- */

/* The volumes; those that are all right are put into `names` with their trees. */
void podspec_check_volumes(struct status *st, const struct site *volumes, struct map *names);
/* A source common to pods and PersistentVolumes: exactly one of the members is given. */
void podspec_check_source(struct status *st, const struct site *volume, bool persistent);

/* Metadata of what is made from a template: labels and annotations.  k8s:
 * ValidateTemplateObjectMeta; also devices.c. */
void podspec_check_template_meta(struct status *st, const struct site *template);

/* The spec of a PersistentVolumeClaim, also of one to be made; volume.c. */
void volume_check_claim(struct status *st, const struct site *spec);
/* A volume's spec in a VolumeAttachment. */
void volume_check_inline(struct status *st, const struct site *spec);

struct podspec_context {
    const struct json *spec;
    struct map volumes; /* names of good volumes */
    struct map claims;  /* names of resource claims */
    bool pod;
};
void podspec_check_containers(struct status *st, const struct podspec_context *c,
                              const struct site *spec);

void podspec_check_placement(struct status *st, const struct site *spec);
void podspec_check_tolerations(struct status *st, const struct site *tolerations); /* pods too */
/* A NodeSelector, as PersistentVolumes have one too. */
void podspec_check_node_selector(struct status *st, const struct site *selector);
void podspec_check_effect(struct status *st, const struct site *effect);

/* resources.limits and .requests of a container or a whole pod. */
void podspec_check_resources(struct status *st, const struct site *resources,
                             const struct map *claims);

/* What a runtime needs itself, looked at as if it were limits; of RuntimeClasses too. */
void podspec_check_overhead(struct status *st, const struct site *at, const struct json *amounts);

#define PODSPEC_MIRROR "kubernetes.io/config.mirror"
enum { PODSPEC_PROFILE_MAX = 4095 }; /* bytes; k8s: PATH_MAX - 1 */
/* Annotations that mean something to a pod, also of one to be made; `notes` is where they are. */
void podspec_check_annotations(struct status *st, const struct site *notes,
                               const struct json *spec);
/* Whether profiles are the same in annotations and in fields. */
void podspec_check_profiles(struct status *st, const struct json *notes, const struct site *spec);
bool podspec_is_armor(str key);
/* A new pod whose profiles of AppArmor stand in annotations has them in fields, too. */
const struct json *podspec_apply_armor(struct arena *a, const struct json *pod);

/* A relative path without "..", or only without "..". */
void podspec_check_path(struct status *st, const struct site *path, bool relative);

#endif
