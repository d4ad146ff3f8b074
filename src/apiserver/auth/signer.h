/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_SIGNER_H
#define APISERVER_AUTH_SIGNER_H

/*
 * Signs the CertificateSigningRequests that are approved in instances: for the well-known signers
 * of Kubernetes, and for a signer of our own for the admins of an instance.  Its CA
 * (server_options.signer_*) is not the CA of this server's own certificate, so that a user who may
 * approve requests in an instance can never impersonate the server.
 *
 * Any thread; takes a fraction of a millisecond.
 */

#include "json/json.h"

#define SIGNER_API_CLIENT     "kubernetes.io/kube-apiserver-client"
#define SIGNER_KUBELET_CLIENT "kubernetes.io/kube-apiserver-client-kubelet"
#define SIGNER_KUBELET_SERVER "kubernetes.io/kubelet-serving"
/* As the first, and allows the group system:masters; only its members may make such a request. */
#define SIGNER_ADMIN_CLIENT "kairship.io/admin-client"

/*
 * Returns 1 and *cert_pem, 0 when the signer is not ours, or -1: INVALID when the request breaks
 * the rules of its signer; after any other error, try again.  `server` is a struct server;
 * `instance` is a name, "root" for the root instance; csr is an approved CertificateSigningRequest.
 */
int signer_sign(void *server, struct arena *a, str instance, const struct json *csr, str *cert_pem,
                struct status *st) __attribute__((warn_unused_result));

#endif
