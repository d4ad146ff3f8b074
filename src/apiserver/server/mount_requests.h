/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_MOUNT_REQUESTS_H
#define APISERVER_SERVER_MOUNT_REQUESTS_H

/*
 * Requests that other layers answer (rpc/mount.h).  They pass the whole chain; in the place of
 * authorization stands only that the instance of their path is one, the rest is the mount's.
 */

#include "apiserver/call/call.h"
#include "rest/kind.h"
#include "rpc/mount.h"

/* Behind request info: if the path is a mount's, the call is no resource's any more. */
void mount_take(struct call *c);

/* Hands it over. */
void mount_serve(struct call *c);

/* More of the body has come; the client has gone. */
void mount_more(struct call *c);
void mount_gone(struct call *c);

/* What a step of the chain refuses, as the mount's clients expect it.  False: no mount says how. */
bool mount_refuse(struct call *c, const struct status *st);

/* No mount stands in front of a document or a kind of the catalog.  -1 says which does. */
int mounts_check(struct arena *a, const struct mount *mounts, size_t n, const struct catalog *c,
                 struct status *st) __attribute__((warn_unused_result));

#endif
