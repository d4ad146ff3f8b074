/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_INSTANCE_KUBECONFIG_H
#define CMD_INSTANCE_KUBECONFIG_H

/*
 * A kubeconfig that opens one instance only, for one user, for some time: what is handed out for an
 * instance is made here.  All by the API, as anybody could do it: the key is made here and stays
 * here, the certificate is what the instance signs.
 */

#include "client/client.h"
#include "http/csr.h"

struct instance_kubeconfig {
    struct arena *arena;
    struct client *client; /* of who may create and approve certificates there */
    str instance;          /* "root" is the root instance */
    str server;            /* the URL in the file; empty: the server of the client's kubeconfig */
    int64_t ttl_s;
    struct csr_subject who;
    struct client_ref ref; /* filled in: the CertificateSigningRequest */
};

/* admin: the kubeconfig that the client was opened with.  *out lives in the arena. */
int instance_kubeconfig_issue(struct instance_kubeconfig *o, const struct kubeconfig *admin,
                              struct kubeconfig *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
