/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_YAML_TEXT_H
#define JSON_YAML_TEXT_H

/*
 * YAML whose scalars stay the text that they are, with the line of each: for files whose reader
 * knows the types (`off` stays a word where YAML 1.1 has a boolean, and 0640 four digits).
 *
 * It is a plain part of YAML: one document of mappings, lists and scalars.  Anchors, aliases, tags,
 * merges and keys that are no scalars are refused, and so is a key that stands twice.
 */

#include "base/arena.h"
#include "base/status.h"

enum yaml_text_type { YAML_TEXT_NOTHING, YAML_TEXT_SCALAR, YAML_TEXT_LIST, YAML_TEXT_MAPPING };

enum { YAML_TEXT_DEPTH_MAX = 16, YAML_TEXT_BYTES_MAX = 64 << 10 };

struct yaml_text {
    enum yaml_text_type type;             /* NOTHING: a value that was left out */
    size_t line;                          /* from 1; of the key, where there is one */
    str name;                             /* of a member of a mapping; ends in NUL */
    str text;                             /* of a scalar; ends in NUL */
    const struct yaml_text *items, *next; /* of a list or mapping; its neighbour there */
};

/*
 * The whole document, NOTHING when there is none; in the arena.  BAD_REQUEST with a message that
 * begins with "line N: ".
 */
int yaml_text_parse(struct arena *a, str text, const struct yaml_text **out, struct status *st)
    __attribute__((warn_unused_result));

#define yaml_text_each(item, parent) \
    for (const struct yaml_text *item = (parent)->items; item; item = item->next)

#endif
