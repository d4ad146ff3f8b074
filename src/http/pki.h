/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_PKI_H
#define HTTP_PKI_H

/* Keys and certificates (ECDSA P-256): our own CA and what it signs.  All as PEM in the arena. */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"

/*
 * First of all, if at all: OpenSSL without its configuration file and error texts, which together
 * cost half a megabyte and milliseconds.
 */
void pki_init(void);

struct pki_pair {
    str cert;
    secret key_pem;
};

int pki_make_ca(struct arena *a, str cn, int64_t now_s, int64_t days, struct pki_pair *out,
                struct status *st) __attribute__((warn_unused_result));

struct pki_request {
    str cn;
    const str *orgs;
    size_t norgs;
    const str *hosts; /* names and addresses (http/address.h) of a server; none for a client */
    size_t nhosts;
    int64_t now_s, days;
};

int pki_sign(struct arena *a, const struct pki_pair *ca, const struct pki_request *req,
             struct pki_pair *out, struct status *st) __attribute__((warn_unused_result));

/* Whether a certificate names these hosts, no others, and holds for some time yet. */
bool pki_cert_fits(str cert_pem, const str *hosts, size_t nhosts, int64_t now_s, int64_t spare_s);

/* Whether who calls this host takes the (first) certificate for its, wildcards included. */
bool pki_cert_covers(str cert_pem, str host);

enum { PKI_BACKDATE_S = 300 }; /* certificates hold from before they were made: clocks differ */

/* From when to when the (first) certificate holds, in seconds since 1970; false if it is none. */
bool pki_cert_times(str cert_pem, int64_t *not_before, int64_t *not_after);

/*
 * "sha256:" and the hex of the SHA-256 of the key in the (first) certificate, as its DER form
 * SubjectPublicKeyInfo: what kubeadm calls --discovery-token-ca-cert-hash.  It names an authority
 * in one line that people can pass on.  BAD_REQUEST: it is no certificate.
 */
#define PKI_KEY_HASH "sha256:"
int pki_public_key_hash(struct arena *a, str cert_pem, str *out, struct status *st)
    __attribute__((warn_unused_result));
/* Of the last certificate of a chain, which is the nearest to its authority. */
int pki_chain_key_hash(struct arena *a, str chain_pem, str *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
