/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

/*
 * A string that must not show: tokens, keys, passwords.  It is a type of its own, so that handing
 * it to a log line, a status or printf does not compile.  Whoever needs the bytes says so with
 * secret_reveal(), which is easy to find.  Like str it owns nothing.
 */

#include "base/str.h"

typedef struct {
    str hidden;
} secret;

static inline secret secret_of(str s)
{
    return (secret){ s };
}

static inline str secret_reveal(secret s)
{
    return s.hidden;
}

/* Takes the same time whatever differs; the lengths may show. */
static inline bool secret_eq(secret a, secret b)
{
    unsigned char differ = 0;

    if (a.hidden.n != b.hidden.n)
        return false;
    for (size_t i = 0; i < a.hidden.n; i++)
        differ |= (unsigned char)(a.hidden.p[i] ^ b.hidden.p[i]);
    return differ == 0;
}

#endif
