/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_IMPERSONATE_H
#define SERVER_IMPERSONATE_H

/*
 * The headers by which a request asks to be made for another: Impersonate-User, -Group, -Uid,
 * -Extra-<key>.  Reading them is pure; who may is asked in impersonate.c.
 */

#include "base/identity.h"
#include "json/json.h"
#include "http/server.h"

/*
 * 1 with the identity that is asked for, 0 when none is, -1 (BAD_REQUEST) when there are such
 * headers but no user.  Groups that follow from the user are included: those of a service account
 * when none are named, system:authenticated or system:unauthenticated.  *named says how many
 * groups, the first ones, were named by headers.
 */
int impersonation_read(struct arena *a, const struct http_header *headers, size_t n,
                       struct identity *out, size_t *named, struct status *st)
    __attribute__((warn_unused_result));

/* "system:serviceaccount:ns:name" in parts; false: another user. */
bool impersonation_account(str user, str *namespace_, str *name);

#endif
