/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_CERT_H
#define APISERVER_AUTH_AUTHN_CERT_H

/*
 * Maps a client certificate to a user of an instance, or refuses it there.  Pure.
 *
 * A certificate is valid in one instance, whose uid is in the only URI that the certificate may
 * carry; so it ends with the instance, even if another one of the same name is created.  A
 * certificate without a URI belongs to the root instance, as the admin certificate of a data folder
 * does.  Only the platform admin, who is in system:masters and presents a certificate of the root
 * instance, may enter other instances.
 */

#include "base/identity.h"
#include "http/server.h"
#include "rest/instance.h"
#include "json/json.h"

#define AUTHN_CERT_URI "urn:kairship:instance:" /* followed by the uid, and "?=" with the name */

/* Returns the URI of a new certificate for the instance.  Only the uid counts; the name is there to
 * tell people which instance theirs opens. */
str authn_cert_uri(struct arena *a, const struct instance *i);

/* Whether it is one of root's own, which opens all instances if it is of system:masters. */
bool authn_cert_is_of_root(const struct http_peer *peer, str root_uid);

/* Returns the name of the instance that the certificate was made for, or empty. */
str authn_cert_instance(const struct http_peer *peer);

/*
 * Returns true and the user in *out, or false when the certificate is refused (401).  `instance` is
 * the one that the request names; its id is STORE_ALL for a request over all instances, and
 * INSTANCE_TEMPLATE for an instance that does not exist.  *out lives in the arena and points into
 * the peer.
 */
bool authn_cert_map(struct arena *a, const struct http_peer *peer, const struct instance *instance,
                    str root_uid, int64_t now_s, struct identity *out);

#endif
