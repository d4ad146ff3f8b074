/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_JSON_HELP_H
#define UNIT_JSON_HELP_H

/* For the tests of json/: texts in, texts out.  Everything lives in one arena per test. */

#include "tap.h"
#include "json/json.h"

/* The value, or NULL. */
static inline const struct json *parse(struct arena *a, str text)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    return json_parse(a, text, NULL, &v, &st) < 0 ? NULL : v;
}

static inline const struct json *parse_z(struct arena *a, const char *z)
{
    return parse(a, str_of(z));
}

/* The text, or "(null)". */
static inline const char *show(struct arena *a, const struct json *v)
{
    return v ? json_text(a, v).p : "(null)";
}

/* All paths, with blanks between. */
static inline const char *show_dups(struct arena *a, const struct json_duplicates *d)
{
    const char *z = "";

    for (size_t i = 0; i < d->n; i++)
        z = arena_printf(a, "%s%s%.*s", z, i ? " " : "", STR_ARG(d->all[i].path));
    return z;
}

static inline const char *repeat(struct arena *a, const char *part, size_t times)
{
    size_t n = strlen(part);
    char *z = arena_alloc(a, n * times + 1);

    for (size_t i = 0; i < times; i++)
        memcpy(z + i * n, part, n);
    return z;
}

#endif
