/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEMO_H
#define BASE_MEMO_H

/*
 * What bytes were made of other bytes, so that it need not be done again: for work that depends on
 * nothing but its key, and whose keys come back often.
 *
 * It holds as much as it has slots, each for one pair of MEMO_PAIR_MAX bytes at most: 4 MiB, and
 * nothing before it is used.  A key is kept when it comes a second time without another one of its
 * slot between; what stood there goes.  Any thread; readers take no lock.  A zeroed one is empty.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { MEMO_SLOTS = 512, MEMO_PAIR_MAX = 8 << 10 };

struct memo_pair;

struct memo {
    struct memo_slot {
        _Atomic(struct memo_pair *) pair;
        atomic_uint_fast64_t wanted; /* the hash of the last key that was not found */
    } slots[MEMO_SLOTS];
};

/* Of the key, for the calls below.  Whoever finds keys of one hash makes others work again, no
 * more: the keys themselves are compared. */
uint64_t memo_hash(str key);

/* The value is there as long as the caller's section (base/epoch.h), in which it must be. */
bool memo_find(struct memo *m, str key, uint64_t hash, str *value);

/* After a key was not found. */
void memo_keep(struct memo *m, str key, uint64_t hash, str value);

#endif
