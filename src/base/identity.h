/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

/* Who makes a request, as authentication found out (k8s: user.Info). */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* On a User or Group: certificates that are older than it count as theirs all the same. */
#define IDENTITY_OLDER_CERTIFICATES "kairship.io/older-certificates"
#define IDENTITY_ACCEPTED           "accepted"

struct identity_extra {
    str key; /* lower case */
    const str *values;
    size_t nvalues;
};

struct rbac_role;

struct identity {
    str user, uid;
    const str *groups;
    size_t ngroups;
    const struct identity_extra *extra;
    size_t nextra;
    /* Of a part of our own program, which no credential is: all it may do (apiserver/call/local.h).
     */
    const struct rbac_role *rights;
    /* When the credential was made, if it holds for a name and not for a uid: it is none of
     * somebody who has that name since later.  Seconds since 1970; 0: it is looked up on every
     * request. */
    int64_t since_s;
};

bool identity_in_group(const struct identity *who, const char *group);

#endif
