/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LISTABLE_H
#define BASE_LISTABLE_H

/*
 * What a person may list in an instance, and so in the clusters that have joined it: for parts that
 * answer from a copy of their objects.  Rules only add up; without one there is nothing to see.
 * Pure.
 */

#include <stdbool.h>

#include "base/str.h"

struct listable_rule {
    str namespace_;      /* empty: in all, and what is in no namespace */
    str group, resource; /* "*": any */
    bool but_secrets;    /* of what group and resource name, all but Secrets */
};

struct listable {
    const struct listable_rule *rules;
    size_t n;
};

extern const struct listable listable_everything, listable_but_secrets;

/* In the places that its namespace names the rule shows objects of this type. */
bool listable_shows(const struct listable_rule *r, str group, str resource);

#endif
