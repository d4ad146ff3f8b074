/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_MANAGING_H
#define CMD_MANAGING_H

/* The management API as a part of the server: its services, and where they are mounted. */

#include "apiserver/server/server.h"
#include "mgmt/mgmt.h"

struct managing;

struct managing *managing_new(struct status *st);
/* Puts its mounts behind the n that are there, and gives the new n; there must be room. */
size_t managing_mounts(const struct managing *m, struct mount *mounts, size_t n, size_t max);

struct managing_parts {
    struct server *server;
    struct loop *loop;
    struct search *search;
    str address, ca_pem; /* how clients reach us */
    bool loopback;       /* members may be on this machine */
};

/* When the loops run. */
void managing_start(struct managing *m, const struct managing_parts *p);
/* When the loops have ended and before they go; before the server. */
void managing_free(struct managing *m);

#endif
