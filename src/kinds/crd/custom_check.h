/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CRD_CUSTOM_CHECK_H
#define KINDS_CRD_CUSTOM_CHECK_H

/*
 * What is said of objects of CRDs beside their schema.
 *
 * k8s: apiextensions-apiserver/pkg/registry/customresource/validator.go
 */

#include "rest/kind.h"

/* What a Scale shows must be what a Scale can show; of an update of status spec is not looked at.
 */
void custom_check_scale(struct status *st, const struct kind *k, const struct json *obj,
                        bool status_only);

/* Warnings about names of finalizers that were not there before. */
void custom_warn(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings);

#endif
