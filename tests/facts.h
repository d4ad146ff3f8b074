/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FACTS_H
#define FACTS_H

/*
 * Reads what tests compare with: files of tests/recorded, tests/cases and tests/reference.  A file
 * that cannot be read fails the test.
 */

#include "tap.h"
#include "json/json.h"

#include <errno.h>

#ifndef TESTS_DIR
#error "meson defines TESTS_DIR"
#endif

/* The file's JSON, e.g. of "cases/karmada-cases.json"; NULL when the test has failed. */
static inline const struct json *facts_read(struct arena *a, const char *path)
{
    char full[512], part[65536];
    const struct json *v = NULL;
    struct status st;
    scoped_buf b;
    size_t n;
    FILE *in;

    (void)snprintf(full, sizeof(full), "%s/%s", TESTS_DIR, path);
    in = fopen(full, "rbe");
    if (!CHECK(in != NULL)) {
        printf("# %s: %s\n", full, strerror(errno));
        return NULL;
    }
    buf_init(&b, 64 << 20);
    while ((n = fread(part, 1, sizeof(part), in)) > 0)
        buf_append(&b, part, n);
    (void)fclose(in);
    status_init(&st, a);
    if (!CHECK(json_parse(a, str_dup(a, buf_str(&b)), NULL, &v, &st) == 0))
        printf("# %s: %.*s\n", path, STR_ARG(st.message));
    return v;
}

#endif
