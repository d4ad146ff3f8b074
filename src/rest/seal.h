/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_SEAL_H
#define REST_SEAL_H

/*
 * Objects whose bytes nobody reads who has the disk alone.  rest knows when a value is to be sealed
 * and opened, and beside what; how is for who gives a struct seal to rest_new
 * (server/encryption.h).
 *
 * Sealed is all but the header (meta/obj.h), since annotations repeat what an object says.  It
 * opens only beside that header and under its own key, so that a value that somebody has put
 * elsewhere does not open.  What is found by index rows, counted, or deleted with its instance is
 * so without being opened.  Template rows are the program's own and are never sealed.
 *
 * Any thread that is in an epoch.
 */

#include "meta/obj.h"
#include "rest/kind.h"
#include "store/store.h"

enum { SEAL_OVERHEAD_MAX = 256 }; /* what it adds at most */

struct seal {
    /* Writes at most plain.n + SEAL_OVERHEAD_MAX bytes and returns how many; 0: objects of this
     * resource are stored as they are. */
    size_t (*close)(struct seal *s, str group, str plural, str beside, str plain, char *out);
    /* Writes at most sealed.n bytes; INTERNAL, with the name of the key, when it is not there. */
    int (*open)(struct seal *s, str beside, str sealed, char *out, size_t *n, struct status *st);
    /* What close would make now is of the same key; an empty one: was not sealed. */
    bool (*is_current)(struct seal *s, str group, str plural, str sealed);
};

/* The value as it is stored: itself, or in the arena.  s may be NULL. */
str seal_value(struct seal *s, struct arena *a, const struct kind *k, const struct store_key *key,
               str value);

/* obj_view of a value that may be sealed; what is opened lives in the arena. */
int seal_view(struct seal *s, struct arena *a, const struct store_key *key, str value,
              struct obj *out, struct status *st) __attribute__((warn_unused_result));

/* Behind the header, if it is sealed. */
str seal_part(str value);
bool seal_is_current(struct seal *s, const struct kind *k, str part);

#endif
