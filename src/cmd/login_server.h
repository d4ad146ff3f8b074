/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_LOGIN_SERVER_H
#define CMD_LOGIN_SERVER_H

/*
 * The server that a person logs in to: where it is, whether it is the one that they mean, and
 * whether it is a Kairship at all.  Before a password is asked for; each failure says what to do.
 */

#include "client/client.h"

struct login_server {
    const char *url; /* NULL: that of the current context of the kubeconfig */
    const char *ca_file, *ca_hash, *kubeconfig;
};

/* *out: address, CA and the prefix of the URL; no credential. */
int login_server_find(struct arena *a, const struct login_server *s, struct kubeconfig *out,
                      struct status *st) __attribute__((warn_unused_result));

#endif
