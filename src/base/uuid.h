/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

/* UUIDs (RFC 4122) in their text form, lower case. */

#include "base/str.h"

enum { UUID_LEN = 36, UUID_SIZE = UUID_LEN + 1 };

/* A new one. */
void uuid_v4(char out[UUID_SIZE]);

/*
 * The one that belongs to a name within a namespace: equal inputs, equal uuid.  `space` is a uuid
 * in text form; false if it is none.
 */
bool uuid_v5(char out[UUID_SIZE], str space, str name);

#endif
