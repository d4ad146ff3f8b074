/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_ELSEWHERE_H
#define APISERVER_AUTH_AUTHN_ELSEWHERE_H

/*
 * A credential opens one instance.  Clients lose the path of their server's URL, and people mix up
 * two.  A request to the wrong address is refused with the right one, but only if the credential
 * is valid there: the answer reveals the name of an instance.
 */

#include "apiserver/call/call.h"
#include "base/secret.h"

/* Fills *st with the 401 of a refused credential; token: what came as a bearer token, or empty. */
void authn_elsewhere(struct call *c, secret token, struct status *st);

#endif
