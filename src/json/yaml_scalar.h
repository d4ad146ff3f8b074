/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_YAML_SCALAR_H
#define JSON_YAML_SCALAR_H

/* For the files of this folder. */

#include "json/json.h"

/* What a plain scalar is by its looks.  Its text lives in the arena and ends in NUL. */
struct json yaml_guess(struct arena *a, str text);

#endif
