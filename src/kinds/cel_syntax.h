/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CEL_SYNTAX_H
#define KINDS_CEL_SYNTAX_H

/*
 * Whether a text is an expression of CEL, as far as grammar goes: names and types are not looked
 * at.  cel-spec: doc/langdef.md, Syntax
 */

#include "base/str.h"

enum { CEL_SYNTAX_MAX = 1 << 20, CEL_SYNTAX_DEPTH = 200 };

/* True, or false with the place where it goes wrong and what is wrong there (static). */
bool cel_syntax_check(str text, size_t *at, const char **why);

#endif
