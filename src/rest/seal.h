/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_SEAL_H
#define REST_SEAL_H

/*
 * Encryption at rest: the bytes of a sealed object cannot be read from the disk alone.  rest
 * decides when a value is sealed and opened, and which associated data it is bound to; the
 * implementation is supplied to rest_new() (apiserver/server/encryption.h).
 *
 * All of a value but its header (object/meta/obj.h) is sealed, annotations included, because they
 * repeat the content of an object.  A value opens only with that header and under its own store
 * key, so that one that was copied elsewhere does not open.  Objects are found by index rows,
 * counted, and deleted with their instance without being opened.  Template rows belong to the
 * program and are never sealed.
 *
 * Any thread that is inside an epoch.
 */

#include "object/meta/obj.h"
#include "rest/kind.h"
#include "store/store.h"

enum { SEAL_OVERHEAD_MAX = 256 }; /* bytes that sealing adds at most */

struct seal {
    /* Writes at most plain.n + SEAL_OVERHEAD_MAX bytes and returns how many; 0: objects of this
     * resource are stored as they are. */
    size_t (*close)(struct seal *s, str group, str plural, str beside, str plain, char *out);
    /* Writes at most sealed.n bytes; INTERNAL, with the name of the encryption key, when the
     * server does not have that key. */
    int (*open)(struct seal *s, str beside, str sealed, char *out, size_t *n, struct status *st);
    /* Returns whether close would use the same encryption key now; an empty `sealed` stands for a
     * value that is not sealed. */
    bool (*is_current)(struct seal *s, str group, str plural, str sealed);
};

/* Returns the value to store: `value` itself, or a sealed copy in the arena.  s may be NULL. */
str seal_value(struct seal *s, struct arena *a, const struct kind *k, const struct store_key *key,
               str value);

/* Does obj_view() of a value that may be sealed; an opened one lives in the arena. */
int seal_view(struct seal *s, struct arena *a, const struct store_key *key, str value,
              struct obj *out, struct status *st) __attribute__((warn_unused_result));

/* Returns the sealed part of a value, behind its header; empty when it is not sealed. */
str seal_part(str value);
bool seal_is_current(struct seal *s, const struct kind *k, str part);

#endif
