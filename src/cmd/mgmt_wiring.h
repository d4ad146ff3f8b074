/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_MGMT_WIRING_H
#define CMD_MGMT_WIRING_H

/* The management API as a part of the server: its services, and where they are mounted. */

#include "apiserver/server/server.h"
#include "mgmt/mgmt.h"

struct mgmt_wiring;

struct mgmt_wiring *mgmt_wiring_new(struct status *st);
/* Puts its mounts behind the n that are there, and gives the new n; there must be room. */
size_t mgmt_wiring_mounts(const struct mgmt_wiring *m, struct mount *mounts, size_t n, size_t max);

struct mgmt_wiring_parts {
    struct server *server;
    struct loop *loop;
    struct search *search;
    str ca_pem; /* by which clients know us */
};

/* When the loops run. */
void mgmt_wiring_start(struct mgmt_wiring *m, const struct mgmt_wiring_parts *p);
/* When the loops have ended and before they go; before the server. */
void mgmt_wiring_free(struct mgmt_wiring *m);

#endif
