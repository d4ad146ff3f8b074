/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STR_H
#define BASE_STR_H

/*
 * A string is a pointer and a length; it owns nothing and need not end in NUL.  Whoever made the
 * bytes says how long they live, usually an arena.  An empty string may have a NULL pointer.
 *
 * printf: "%.*s" with STR_ARG(s).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena;

typedef struct {
    const char *p;
    size_t n;
} str;

#define STR(literal) ((str){ "" literal, sizeof(literal) - 1 })
#define STR_INIT(literal)               \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    } /* in static tables */
#define STR_NONE   ((str){ NULL, 0 })
#define STR_ARG(s) ((int)(s).n), ((s).p ? (s).p : "")

static inline str str_of(const char *z) /* NULL gives the empty string */
{
    return (str){ z, z ? strlen(z) : 0 };
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(str a, const char *z)
{
    return str_eq(a, str_of(z));
}

static inline bool str_empty(str a)
{
    return a.n == 0;
}

static inline bool str_starts(str a, str prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(str a, str suffix)
{
    return a.n >= suffix.n &&
           (suffix.n == 0 || memcmp(a.p + a.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* a from byte `from`, at most n bytes; clipped to what there is. */
static inline str str_sub(str a, size_t from, size_t n)
{
    if (from > a.n)
        from = a.n;
    if (n > a.n - from)
        n = a.n - from;
    return (str){ from ? a.p + from : a.p, n };
}

static inline str str_from(str a, size_t from)
{
    return str_sub(a, from, SIZE_MAX);
}

/* Bytewise, shorter first: the order of keys everywhere.  Mostly the first bytes are enough. */
int str_cmp_all(str a, str b);
static inline int str_cmp(str a, str b)
{
    if (a.n && b.n && a.p[0] != b.p[0])
        return (unsigned char)a.p[0] - (unsigned char)b.p[0];
    return str_cmp_all(a, b);
}

bool str_eq_nocase(str a, str b);                 /* ASCII */
bool str_is_any(str a, const char *const *words); /* up to NULL */

/* Index of the first c at or after `from`, or -1. */
ptrdiff_t str_find(str a, char c, size_t from);
bool str_contains(str a, str part);

/* Without ASCII blanks at both ends. */
str str_trim(str a);

/* At most max bytes of it, without a character of UTF-8 that would be cut in two. */
str str_cut(str a, size_t max);

bool str_has_control(str a); /* ASCII control characters */

/*
 * Takes the part of *rest before the next c into *part and moves *rest behind it.  Without a c the
 * whole rest is the part.  False when *rest was already used up (its pointer is NULL then).
 *
 *     for (str rest = list, part; str_split(&rest, ',', &part);)
 */
bool str_split(str *rest, char c, str *part);

/* Decimal, no sign (u64) or an optional '-' (i64), the whole string; false on anything else. */
bool str_to_u64(str a, uint64_t *out);
bool str_to_i64(str a, int64_t *out);

/* Copies with a NUL behind, in the arena. */
str str_dup(struct arena *a, str s);
char *str_z(struct arena *a, str s);
str str_lower(struct arena *a, str s); /* ASCII */
str str_concat(struct arena *a, str x, str y, str z);
str str_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 64-bit hash (SipHash-1-3 with the given key: hash tables of outside names use a random one). */
uint64_t str_hash(str s, uint64_t k0, uint64_t k1);

/* True when the bytes are valid UTF-8 (no surrogates, no overlong forms). */
bool str_utf8_valid(str s);

#endif
