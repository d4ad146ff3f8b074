/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SIGNER_H
#define SERVER_SIGNER_H

/*
 * Signs what instances have approved: the well-known signers of Kubernetes, and one of our own for
 * the admins of an instance.  The authority (server_options.signer_*) is not the one that vouches
 * for this server: whoever may approve requests in an instance, for whatever names, can never
 * pretend to be the server.
 *
 * Any thread; takes a fraction of a millisecond.
 */

#include "json/json.h"

#define SIGNER_API_CLIENT     "kubernetes.io/kube-apiserver-client"
#define SIGNER_KUBELET_CLIENT "kubernetes.io/kube-apiserver-client-kubelet"
#define SIGNER_KUBELET_SERVER "kubernetes.io/kubelet-serving"
/* As the first, also for system:masters; only who is one of them may ask. */
#define SIGNER_ADMIN_CLIENT "kairship.io/admin-client"

/*
 * `server` is a struct server; the instance by its name, "root" for root; csr is a
 * CertificateSigningRequest that is approved.  1: *cert_pem.  0: not for us to sign.  -1: INVALID
 * and why when it does not fit the signer's rules, else try again.
 */
int signer_sign(void *server, struct arena *a, str instance, const struct json *csr, str *cert_pem,
                struct status *st) __attribute__((warn_unused_result));

#endif
