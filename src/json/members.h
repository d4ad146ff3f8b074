/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_MEMBERS_H
#define JSON_MEMBERS_H

/*
 * Order and uniqueness of the members of one object, for the files of this folder.
 *
 * Few members are compared pairwise, many are sorted, so that no object, however large or
 * ill-meant, costs more than n log n.
 */

#include "json/json.h"

enum { MEMBERS_FEW = 16 };

bool members_ascending(const struct json_member *m, size_t n); /* by name, without duplicates */

/*
 * Pointers to m's members sorted bytewise by name, equal ones in their order: in `few` if they fit,
 * else on the heap.  Give the result to members_sorted_free().
 */
const struct json_member **members_sorted(const struct json_member *m, size_t n,
                                          const struct json_member *few[MEMBERS_FEW]);
void members_sorted_free(const struct json_member **sorted, const struct json_member **few);

/* The member of that name among sorted ones, or NULL. */
const struct json_member *members_search(const struct json_member *const *sorted, size_t n,
                                         str name);

/* Leaves of members with the same name the last, and says how many are left; calls dup for each of
 * the names that stood twice. */
size_t members_unique(struct json_member *m, size_t n, void (*dup)(void *arg, str name), void *arg);

#endif
