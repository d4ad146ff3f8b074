/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_CONTENT_H
#define CRASH_CONTENT_H

/*
 * What the load writes.  Every write has a number, and everything that it puts into an object
 * follows from that number and the seed: so whoever sees an object knows which write it is the
 * result of, and whether it is the whole result.
 *
 *     data:   op     the write that made this version
 *             base   the last write of the whole object (create, update)
 *             fill   some bytes, mostly few
 *             patched  op once more, if it was a patch
 *     labels: color  red or blue
 *
 * All values are base64 as well, so that ConfigMaps and Secrets can have the same.
 */

#include "client/request.h"

enum { KINDS = 2 };

struct version { /* of an object, as somebody saw it */
    uint64_t rv, op, base;
    uint64_t uid; /* hashed */
    bool red, patched;
};

struct target { /* where a write goes */
    unsigned kind;
    str instance; /* "root" for the bare paths */
    str namespace, name;
};

const char *content_plural(unsigned kind);
struct client_ref content_ref(const struct target *t); /* without a name: all of them */

bool content_is_red(uint64_t seed, uint64_t op);

/* A whole object.  Without a name it has a generateName; rv 0: none. */
const struct json *content_object(struct arena *a, const struct target *t, uint64_t seed,
                                  uint64_t op, uint64_t rv);

/* A patch of an object that exists, of the kind that is asked for; rv 0: unconditional. */
const struct json *content_patch(struct arena *a, enum client_patch_type type, uint64_t seed,
                                 uint64_t op, uint64_t rv);

uint64_t content_rv(const struct json *object); /* metadata.resourceVersion; 0: none */

/*
 * Reads an object: 1, 0 when it is none of ours (no op in it), -1 and *wrong when it is not what
 * its op must have written.
 */
int content_read(const struct json *object, uint64_t seed, struct version *out, const char **wrong);

/* 64 bits of a seed and numbers, each way of putting them together another. */
uint64_t content_mix(uint64_t a, uint64_t b);

#endif
