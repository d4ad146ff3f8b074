/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/*
 * Functions that have no place here: unbounded copies, hidden state, errors that cannot be told
 * from values.  The headers that declare them come first, so that a later one may include them
 * again; with clang glibc's fortified forms are macros, which cannot be poisoned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets atoi atol

#endif
