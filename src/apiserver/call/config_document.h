/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_CONFIG_DOCUMENT_H
#define APISERVER_CALL_CONFIG_DOCUMENT_H

/*
 * A file of the operator's in YAML or JSON, of a kind whose fields a table of schemas
 * (object/meta/schema_table.h) tells.  Keys that stand there twice and fields that do not exist are
 * refused (BAD_REQUEST): in such a file they are mistakes.
 */

#include "json/json.h"

enum { CONFIG_DOCUMENT_MAX = 1 << 20 }; /* bytes */

int config_parse(struct arena *a, str text, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* By a type of the table, by its full name.  *out lives in the arena. */
int config_decode(struct arena *a, const char *table, const char *type, const struct json *v,
                  const struct json **out, struct status *st) __attribute__((warn_unused_result));

#endif
