/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

char *secret_room(struct arena *a, size_t n)
{
    arena_wipe(a);
    return arena_alloc(a, n);
}

secret secret_dup(struct arena *a, secret s)
{
    arena_wipe(a);
    return secret_of(str_dup(a, s.secret_bytes));
}

secret secret_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *z;

    arena_wipe(a);
    va_start(ap, fmt);
    z = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return secret_of(str_of(z));
}
