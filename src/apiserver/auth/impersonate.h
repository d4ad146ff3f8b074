/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_IMPERSONATE_H
#define APISERVER_AUTH_IMPERSONATE_H

/*
 * The headers by which a request impersonates a user: Impersonate-User, -Group, -Uid, -Extra-<key>.
 * Reading them is pure; impersonate.c checks whether the caller may impersonate.
 */

#include "base/identity.h"
#include "http/server.h"
#include "json/json.h"

/*
 * Returns 1 and the requested identity, 0 when there are no such headers, or -1 (BAD_REQUEST)
 * when there are such headers but no user.  The groups that follow from the user are included:
 * system:authenticated or system:unauthenticated, and the groups of a service account when the
 * headers name no group.  *named is the number of groups that headers named; they come first.
 */
int impersonation_read(struct arena *a, const struct http_header *headers, size_t n,
                       struct identity *out, size_t *named, struct status *st)
    __attribute__((warn_unused_result));

/* Splits "system:serviceaccount:NAMESPACE:NAME"; returns false for any other user. */
bool impersonation_account(str user, str *namespace_, str *name);

#endif
