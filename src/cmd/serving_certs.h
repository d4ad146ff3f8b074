/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SERVING_CERTS_H
#define CMD_SERVING_CERTS_H

/*
 * Keeps a running server's certificates good: one that somebody has put in the place of the old is
 * taken up within seconds, those of the data folder are renewed before they end, and when the
 * addresses of the machine change, so do the names in the certificate and what clients are told.
 * One thread, the one that waits for signals.
 */

#include <sys/stat.h>

#include "apiserver/server/server.h"
#include "cmd/credentials.h"
#include "cmd/reach.h"

struct serving_certs {
    const char *dir;
    const char *cert_file, *key_file; /* the user's own; NULL: the data folder's */
    struct reach_options options;
    struct reach reach;              /* how we are reached, as far as it was looked at */
    struct arena *seen;              /* where that lives */
    bool blind;                      /* the addresses of this machine cannot be read */
    unsigned port;                   /* of the listener, once it is known */
    struct stat cert_stat, key_stat; /* as they were when they were read */
    uint64_t served;                 /* a hash of the pair in use */
    uint64_t told;                   /* a hash of what clients were told */
    int64_t renew_at;                /* monotonic: when the dates are looked at again */
    int64_t move_at;                 /* monotonic: no sooner for addresses that come and go */
};

enum { SERVING_POLL_S = 5 };

/* All credentials, the serving certificate the user's if there is one; and how we are reached. */
int serving_certs_open(struct serving_certs *v, struct arena *a, int64_t now_s,
                       struct credentials *out, struct status *st)
    __attribute__((warn_unused_result));
void serving_certs_close(struct serving_certs *v); /* opened or not */

/* Every SERVING_POLL_S seconds, and at once when `forced`.  What fails is logged, and all stays. */
void serving_certs_refresh(struct serving_certs *v, struct server *s, bool forced);

#endif
