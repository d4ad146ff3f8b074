/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

/*
 * A string that must not show: tokens, keys, passwords.  It is a type of its own, so that handing
 * it to a log line, a status, a JSON value or printf does not compile.  Whoever needs the bytes
 * says so with secret_reveal(), which is easy to find; tools/check-secrets looks that nothing else
 * carries them.  Like str it owns nothing.
 *
 * Those that stay are put into an arena by secret_dup or secret_room, or into a buffer that wipes
 * (base/buf.h): such memory is overwritten when it goes.
 */

#include "base/arena.h"
#include "base/str.h"

typedef struct {
    str secret_bytes; /* nobody else looks at it */
} secret;

#define SECRET_NONE ((secret){ { NULL, 0 } })

static inline secret secret_of(str s)
{
    return (secret){ s };
}

static inline str secret_reveal(secret s)
{
    return s.secret_bytes;
}

static inline bool secret_empty(secret s)
{
    return s.secret_bytes.n == 0;
}

/* Takes the same time whatever differs; the lengths may show. */
static inline bool secret_eq(secret a, secret b)
{
    unsigned char differ = 0;

    if (a.secret_bytes.n != b.secret_bytes.n)
        return false;
    for (size_t i = 0; i < a.secret_bytes.n; i++)
        differ |= (unsigned char)(a.secret_bytes.p[i] ^ b.secret_bytes.p[i]);
    return differ == 0;
}

static inline secret secret_trim(secret s)
{
    return (secret){ str_trim(s.secret_bytes) };
}

/* In the arena, all of which is wiped from then on when it goes. */
char *secret_room(struct arena *a, size_t n); /* zeroed */
secret secret_dup(struct arena *a, secret s);
secret secret_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
