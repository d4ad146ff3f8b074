/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CHANGES_H
#define KINDS_CHANGES_H

/*
 * What differs between two objects, for the sentence that forbids it: `a.b: 1 -> 2, c: unset ->
 * "x"` in one line, of long values the beginning, of many changes the first.  Kubernetes shows Go's
 * cmp.Diff there, whose form is random by design.
 */

#include "json/json.h"

str changes_text(struct arena *a, const struct json *was, const struct json *now);

#endif
