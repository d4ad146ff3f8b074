/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_API_VERSION_H
#define OBJECT_META_API_VERSION_H

/* Versions of an API by Kubernetes' priority. */

#include "base/str.h"

/*
 * v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > what is not of this form, of which the first by name is
 * the greatest.  k8s: apimachinery/pkg/version/helpers.go
 */
int api_version_cmp(str a, str b);

#endif
