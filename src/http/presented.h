/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_PRESENTED_H
#define HTTP_PRESENTED_H

/*
 * The certificates that a server presents, and what is to be thought of them: a TLS handshake with
 * nothing behind it.  So a tool can tell a person in one sentence what is wrong before a secret is
 * sent, and take the authority whose hash the person knows out of what was presented.  This does
 * not replace the verification of the connection that is used afterwards.
 *
 * Blocks; for tools, which ignore SIGPIPE.
 */

#include "base/arena.h"
#include "base/status.h"

enum presented_verdict {
    PRESENTED_GOOD,
    PRESENTED_OTHER_KEY, /* the key that is known by its hash is not there */
    PRESENTED_UNKNOWN,   /* whoever signed it is not known here */
    PRESENTED_OTHER_NAME,
    PRESENTED_EXPIRED,
    PRESENTED_EARLY, /* it is not valid yet, or this clock is behind */
    PRESENTED_BAD,
};

struct presented_order {
    str host, port;
    str server_name; /* empty: host */
    str ca_pem;      /* empty: the system's */
    str key_hash;    /* of the one authority to be trusted (pki_public_key_hash()), or empty */
};

struct presented {
    enum presented_verdict verdict;
    str why;       /* OpenSSL's words */
    str authority; /* PEM: with key_hash the certificate of that key, or empty */
    str top_hash;  /* of the key of the last certificate that was presented */
    str names;     /* that the server's certificate is for: "a, b" */
    int64_t not_before, not_after;
};

/* UNAVAILABLE: it cannot be reached, or speaks no TLS. */
int presented_look(struct arena *a, const struct presented_order *o, struct presented *out,
                   struct status *st) __attribute__((warn_unused_result));

#endif
