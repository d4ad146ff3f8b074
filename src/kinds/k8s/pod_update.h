/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_POD_UPDATE_H
#define KINDS_K8S_POD_UPDATE_H

#include "rest/kind.h"

/* What a write to a pod itself changes and may not.  k8s: ValidatePodUpdate */
void pod_check_update(const struct kind_context *c, const struct json *obj, const struct json *old,
                      struct status *st);

/* Annotations of a pod that stay as they were; of writes to its status, too. */
void pod_check_annotations(struct status *st, const struct json *obj, const struct json *old);

#endif
