/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHN_CERT_H
#define SERVER_AUTHN_CERT_H

/*
 * Which user a client certificate makes of its holder in an instance, or that it opens nothing
 * there.  Pure.
 *
 * A certificate is for one instance, named by its uid in the one URI that it may carry; so it dies
 * with the instance, also when another of the same name is made.  One without a URI is root's: the
 * admin's of a data folder has none.  Only the platform admin, who is in system:masters and comes
 * with a certificate of root, enters other instances.
 */

#include "base/identity.h"
#include "json/json.h"
#include "http/server.h"
#include "rest/instance.h"

#define AUTHN_CERT_URI "urn:kairship:instance:" /* and the uid */

/* What a certificate for that instance must say. */
str authn_cert_uri(struct arena *a, str instance_uid);

/*
 * True and who it is, or false: the certificate is refused (401).  `instance` is what the request
 * asks for: also all of them (STORE_ALL), or with id INSTANCE_TEMPLATE one that does not exist.
 * `*out` lives in the arena and points into the peer.
 */
bool authn_cert_map(struct arena *a, const struct http_peer *peer, const struct instance *instance,
                    str root_uid, int64_t now_s, struct identity *out);

#endif
