/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_PODSPEC_INTERNAL_H
#define KINDS_K8S_PODSPEC_INTERNAL_H

/* What the files podspec*.c tell each other; podspec.h is for all others. */

#include "kinds/k8s/podspec.h"

/* lifecycle, livenessProbe, readinessProbe, startupProbe of a container. */
void podspec_check_probes(struct status *st, const struct site *container, const struct json *spec);

/* A field of the pod, one of `fields`, or one of its labels or annotations; a resource of one of
 * its containers, which a volume must name. */
void podspec_check_field_ref(struct status *st, const struct site *ref, const char *const *fields);
void podspec_check_resource_ref(struct status *st, const struct site *ref, bool volume);

static inline bool podspec_is_alnum(char c) /* of ASCII */
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Of a term of affinity or a constraint of spread: matchLabelKeys and mismatchLabelKeys. */
void podspec_check_keys(struct status *st, const struct site *term);

/* What does not go with the operating system that the pod names; windowsOptions. */
void podspec_check_os(struct status *st, const struct site *spec);
void podspec_check_windows(struct status *st, const struct site *options);

/* What runs as processes of the host, or with users of its own; variables that come from files. */
void podspec_check_host(struct status *st, const struct site *spec);

/* resources of the pod itself. */
void podspec_check_whole(struct status *st, const struct site *spec, const struct map *claims);

/* securityContext of a container, or of the pod itself. */
void podspec_check_security(struct status *st, const struct site *container,
                            const struct json *spec);
void podspec_check_pod_security(struct status *st, const struct site *spec);

/* Sources of volumes in storage systems; `_volume`: as a PersistentVolume has them. */
void podspec_check_disk(struct status *st, const struct site *source);
void podspec_check_azure(struct status *st, const struct site *source);
void podspec_check_azure_file(struct status *st, const struct site *source);
void podspec_check_monitors(struct status *st, const struct site *source);
void podspec_check_rbd(struct status *st, const struct site *source);
void podspec_check_cinder(struct status *st, const struct site *source);
void podspec_check_cinder_volume(struct status *st, const struct site *source);
void podspec_check_csi(struct status *st, const struct site *source);
void podspec_check_csi_volume(struct status *st, const struct site *source);
void podspec_check_fc(struct status *st, const struct site *source);
void podspec_check_flex(struct status *st, const struct site *source);
void podspec_check_flocker(struct status *st, const struct site *source);
void podspec_check_iscsi(struct status *st, const struct site *source);
void podspec_check_iscsi_volume(struct status *st, const struct site *source);
void podspec_check_quobyte(struct status *st, const struct site *source);
void podspec_check_storageos(struct status *st, const struct site *source);

#endif
