/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_OPENID_H
#define APISERVER_AUTH_OPENID_H

/*
 * Serves what other parties need to verify the tokens of an instance:
 * /.well-known/openid-configuration and /openid/v1/jwks.
 */

#include "apiserver/call/call.h"

/* Returns false if the path is neither of them; else the call is answered. */
bool openid_serve(struct call *c);

#endif
