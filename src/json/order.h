/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_ORDER_H
#define JSON_ORDER_H

/* Members in the order in which Go writes those of a map. */

#include "json/json.h"

/* The object with its members by their names; what is no object as it is. */
struct json json_by_name(struct arena *a, const struct json *object);

#endif
