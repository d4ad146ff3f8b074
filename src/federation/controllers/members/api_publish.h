/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_API_PUBLISH_H
#define FEDERATION_CONTROLLERS_MEMBERS_API_PUBLISH_H

/*
 * From a NegotiatedAPIResource to a CRD and back.  A CRD is ours when a NegotiatedAPIResource owns
 * it; one of somebody else's is never touched.
 */

#include "federation/controllers/members/api_types.h"

bool api_publish_is_ours(const struct json *crd);
bool api_publish_is_served(const struct json *crd); /* NULL: no */

/* The common part of a spec from that version of a CRD; NULL: it does not have the version. */
const struct json *api_publish_spec(struct arena *a, const struct json *crd, str version);

/*
 * Creates the CRD, or brings that version of it up to date; *crd is what is there (NULL: nothing),
 * and becomes what there is then.  INVALID: the server does not take it.
 */
int api_publish(struct client *c, struct arena *a, str instance, const struct json *negotiated,
                const struct json **crd, struct status *st) __attribute__((warn_unused_result));

/* Takes the version out of the CRD, and with the last one the CRD away. */
int api_publish_withdraw(struct client *c, struct arena *a, str instance, const struct json *crd,
                         str version, struct status *st) __attribute__((warn_unused_result));

#endif
