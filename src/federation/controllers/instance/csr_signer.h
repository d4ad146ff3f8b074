/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_INSTANCE_CSR_SIGNER_H
#define FEDERATION_CONTROLLERS_INSTANCE_CSR_SIGNER_H

/*
 * Gives approved CertificateSigningRequests of all instances their certificate, and takes away old
 * ones.  The key is not here: who holds it signs.
 */

#include "base/clock.h"
#include "federation/controllers/frame/controller.h"

/*
 * 1: *cert_pem is the certificate.  0: another signs these.  -1: INVALID when the request will
 * never do (it is marked as failed), else it is tried again.
 */
typedef int csr_signer_fn(void *arg, struct arena *a, str instance, const struct json *csr,
                          str *cert_pem, struct status *st);

/* The arg of csr_signer_controller: a copy of that spec points to one. */
struct csr_signer {
    csr_signer_fn *sign;
    void *arg;
    struct clock *clock;
};

#endif
