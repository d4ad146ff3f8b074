/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_MANAGING_H
#define CMD_MANAGING_H

/* The management API as a part of the server: its services, and where they are mounted. */

#include "rpc/service.h"

struct managing;

struct managing *managing_new(struct status *st);
/* Puts its mounts behind the n that are there, and gives the new n; there must be room. */
size_t managing_mounts(const struct managing *m, struct mount *mounts, size_t n, size_t max);
void managing_free(struct managing *m); /* when the server has stopped, before its loops go */

#endif
