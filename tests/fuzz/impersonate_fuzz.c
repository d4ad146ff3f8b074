/* SPDX-License-Identifier: Apache-2.0 */

/* Headers, one a line, `name=value`: what they ask for is complete, and never more than was said.
 */

#include <assert.h>

#include "apiserver/auth/impersonate.h"

enum { HEADERS_MAX = 64 };

static bool is_named(const struct http_header *headers, size_t n, const char *header, str value)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(headers[i].name, header) && str_eq(headers[i].value, value))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_header headers[HEADERS_MAX];
    scoped_arena a = arena_new();
    struct identity who;
    struct status st;
    size_t n = 0, named = 0, values = 0;
    str line;

    for (str rest = { (const char *)data, size }; n < HEADERS_MAX && str_split(&rest, '\n', &line);
         n++) {
        (void)str_split(&line, '=', &headers[n].name);
        headers[n].value = line;
    }
    status_init(&st, a);
    if (impersonation_read(a, headers, n, &who, &named, &st) <= 0)
        return 0;
    assert(who.user.n && is_named(headers, n, "impersonate-user", who.user));
    assert(!who.uid.n || is_named(headers, n, "impersonate-uid", who.uid));
    assert(named <= who.ngroups && who.ngroups <= named + 3);
    for (size_t i = 0; i < named; i++)
        assert(is_named(headers, n, "impersonate-group", who.groups[i]));
    for (size_t i = named; i < who.ngroups; i++) /* what is added is harmless */
        assert(str_is(who.groups[i], "system:authenticated") ||
               str_is(who.groups[i], "system:unauthenticated") ||
               str_starts(who.groups[i], STR("system:serviceaccounts")));
    for (size_t i = 0; i < who.nextra; i++)
        values += who.extra[i].nvalues;
    assert(values <= n && !who.rights);
    return 0;
}
