/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_CHANGES_H
#define KINDS_FRAME_CHANGES_H

/*
 * What differs between two objects, for the sentence that forbids it: the lines that do, of both
 * in Kubernetes' internal form (k8s: apimachinery/pkg/util/diff).  Of objects that are larger than
 * CHANGES_MAX there, nothing is said.
 */

#include "rest/kind.h"

enum { CHANGES_MAX = 4 << 20 };

/* `path` is what internal_form() takes; both values are of that place. */
str changes_text(const struct kind_context *c, const char *path, const struct json *was,
                 const struct json *now);

#endif
