/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_SIGN_INTERNAL_H
#define HTTP_SIGN_INTERNAL_H

/* What http/sign.c and http/verify.c share and nobody else includes. */

#include "base/str.h"

enum { SIGN_DER_MAX = 144 };

/* The two numbers of an ECDSA signature, of the same length, as OpenSSL wants them; returns the
 * length, 0 when it cannot be. */
size_t sign_to_der(str raw, unsigned char out[SIGN_DER_MAX]);

#endif
