/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_CREDENTIALS_H
#define CMD_CREDENTIALS_H

/*
 * The keys and certificates of a data folder: a CA, a serving certificate, the platform admin's
 * client certificate and kubeconfig, a second CA for the certificates of instances, and a third for
 * the front proxy.  Made on first start; a serving certificate that no longer fits (other names,
 * soon expired) is made anew, and so is an admin certificate that expires.
 */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"

struct credentials {
    /* Of the server, PEM.  Behind its certificate stands that of the CA, so that clients who know
     * the CA by the hash of its key alone can find it (http/presented.h). */
    str ca, cert;
    secret key_pem;
    str admin_cert;
    secret admin_key_pem;
    str signer_cert; /* what instances sign with (apiserver/auth/signer.h) */
    secret signer_key_pem;
    str front_cert; /* by which aggregated servers know us (apiserver/outbound/front_proxy.h) */
    secret front_key_pem;
    str client_ca; /* the first two authorities: whose certificates clients may show */
};

/*
 * The serving certificate has these names (cmd/reach.h) and no others; without any there is none,
 * since the server has somebody else's.
 */
int credentials_open(struct arena *a, str dir, const str *names, size_t nnames, int64_t now_s,
                     struct credentials *out, struct status *st)
    __attribute__((warn_unused_result));

/* A certificate and its key from files of somebody else's. */
int credentials_read_pair(struct arena *a, const char *cert_file, const char *key_file, str *cert,
                          secret *key_pem, struct status *st) __attribute__((warn_unused_result));

/*
 * DIR/admin.kubeconfig, mode 0600, current context is the root instance.  One whose context `root`
 * leads there stays as its user has made it; else it is replaced atomically, and keeps its
 * namespace.
 */
int credentials_write_kubeconfig(struct arena *a, str dir, const struct credentials *c, str address,
                                 struct status *st) __attribute__((warn_unused_result));

#endif
