/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OPENID_H
#define SERVER_OPENID_H

/*
 * What others need to verify the tokens of an instance: /.well-known/openid-configuration and
 * /openid/v1/jwks.
 */

#include "server/call.h"

/* False if the path is neither. */
bool openid_serve(struct call *c);

#endif
