/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_STANDING_H
#define APISERVER_AUTH_STANDING_H

/*
 * Whether the caller of a long answer still has the credential that they came with, and the right
 * to it (struct call_chain, apiserver/call/gate.h).
 *
 * As long as none of the types was touched on which that depends, since it was last known, the
 * answer is a few loads.  Then it is found out again as it was at first.  What cannot be found out
 * again is over (the operator's webhook allowed it, somebody impersonates, a bootstrap token): the
 * client asks anew and goes on where it was.
 */

#include "apiserver/call/call.h"

/* What certificates of system:masters and our own parts have cannot be withdrawn; a mount looks
 * after its own answers. */
bool standing_guarded(struct call *c);                        /* once, when the answer begins */
enum call_still standing_check(struct call *c, uint64_t rev); /* on the loop */

#endif
