/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_GO_PRINT_H
#define JSON_GO_PRINT_H

/* A value as Go's json.MarshalIndent(v, "", " ") has it: a line for each member, one blank deeper
 * at each level; <, >, & and the line separators of Unicode are escaped. */

#include "json/json.h"

void json_go_print(struct buf *b, const struct json *v);

#endif
