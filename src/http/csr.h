/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CSR_H
#define HTTP_CSR_H

/*
 * Requests for certificates (PKCS#10): made, read and answered.  All as PEM, all in the arena; the
 * key of a request never leaves who made it, that of the CA never leaves who signs.
 */

#include "http/pki.h"

enum { CSR_MAX = 64 << 10 }; /* bytes of PEM that are looked at */

/* A new key and a request signed with it. */
struct csr_subject {
    str cn;
    const str *orgs;
    size_t norgs;
};
int csr_make(struct arena *a, const struct csr_subject *who, str *pem, secret *key_pem,
             struct status *st) __attribute__((warn_unused_result));

/* What a request says, once its own signature has been found good. */
struct csr {
    str cn;
    const str *orgs;
    size_t norgs;
    size_t ndns, nips, nemails, nuris; /* names that it wants besides */
};

/* BAD_REQUEST, with a message in the words of Go where it has one. */
int csr_read(struct arena *a, str pem, struct csr *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The certificate for a request: its subject and key, its DNS names, addresses and e-mail
 * addresses; of its URIs none, but the one of the order.
 */
struct csr_order {
    str pem;
    const str *usages; /* Kubernetes' words: "client auth", "digital signature" */
    size_t nusages;
    str uri;
    int64_t not_before, not_after; /* the CA's own end comes first if it is nearer */
};
int csr_sign(struct arena *a, const struct pki_pair *ca, const struct csr_order *o, str *cert_pem,
             struct status *st) __attribute__((warn_unused_result));

/* Why the text is not one or more PEM certificates and nothing else; 0 if it is. */
int csr_check_issued(struct arena *a, str pem, struct status *st)
    __attribute__((warn_unused_result));

#endif
