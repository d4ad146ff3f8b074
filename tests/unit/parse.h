/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_PARSE_H
#define UNIT_PARSE_H

/* JSON that stands in a test; what is none fails the test and says where. */

#include "tap.h"
#include "json/json.h"

static inline const struct json *parse(struct arena *a, const char *text)
{
    const struct json *v = &json_null;
    struct status st;

    status_init(&st, a);
    if (!CHECK(json_parse(a, str_of(text), NULL, &v, &st) == 0))
        printf("# %s: %.*s\n", text, STR_ARG(st.message));
    return v;
}

/* With ' for ", so that it can be read in C. */
static inline const struct json *parse_quoted(struct arena *a, const char *text)
{
    char *z = str_z(a, str_of(text));

    for (char *p = z; *p; p++)
        if (*p == '\'')
            *p = '"';
    return parse(a, z);
}

#endif
