/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/config_document.h"

#include "base/banned.h"
#include "object/meta/schema_table.h"

int config_parse(struct arena *a, str text, const struct json **out, struct status *st)
{
    struct json_duplicates twice = { 0 };

    if (text.n > CONFIG_DOCUMENT_MAX)
        return status_set(st, REASON_BAD_REQUEST, "it is larger than %d bytes",
                          CONFIG_DOCUMENT_MAX);
    if (json_parse_yaml(a, text, &twice, out, st) < 0)
        return -1;
    if (twice.n)
        return status_set(st, REASON_BAD_REQUEST, "key \"%.*s\" already set",
                          STR_ARG(twice.all[0].path));
    return 0;
}

int config_decode(struct arena *a, const char *table, const char *type, const struct json *v,
                  const struct json **out, struct status *st)
{
    struct schema_set *set = schema_set_new();
    struct schema_faults faults = { 0 };
    int rc = -1;

    if (schema_set_add(set, str_of(table), st) == 0 && schema_set_link(set, st) == 0)
        rc = schema_decode(a, schema_set_find(set, str_of(type)), v, &faults, out, st);
    if (rc == 0 && faults.n)
        rc = status_set(st, REASON_BAD_REQUEST, "strict decoding error: %.*s",
                        STR_ARG(faults.texts[0]));
    if (rc == 0)
        *out = json_dup(a, *out); /* what it shares with the schema goes with the set */
    schema_set_free(set);
    return rc;
}
