/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_LINE_DIFF_H
#define KINDS_FRAME_LINE_DIFF_H

/*
 * The lines that differ between two texts, with three around them, as `@@ -1,7 +1,7 @@` and so on:
 * byte for byte what Kubernetes prints (github.com/pmezard/go-difflib, a port of Python's), which
 * is not the shortest way but that of the longest common pieces.
 *
 * It takes LINE_DIFF_STEPS steps at most; what was not looked at by then counts as different.  More
 * than LINE_DIFF_MAX bytes are cut after a whole line, with "..." in their place.
 */

#include "base/arena.h"
#include "base/str.h"

enum { LINE_DIFF_STEPS = 1 << 20, LINE_DIFF_MAX = 256 << 10 };

str line_diff(struct arena *a, str was, str now);

#endif
