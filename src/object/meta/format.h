/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_FORMAT_H
#define OBJECT_META_FORMAT_H

/*
 * The `format`s of strings that Kubernetes checks in custom resources, each as kube-openapi's
 * strfmt understands it (which is not always what its name promises).
 */

#include "base/str.h"

/* NULL for a format that is not checked: unknown ones, and "password".  Dashes in the name do not
 * count: date-time and datetime are one. */
typedef bool format_check(str s);
format_check *format_find(str name);

#endif
