/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_DIAL_H
#define HTTP_DIAL_H

/*
 * A connection of a tool that may wait: by the first address of the name that answers.  Reads and
 * writes on it wait that long, too.  Servers use http/client.h.
 */

#include "base/arena.h"
#include "base/status.h"

/* A socket, or -1 with UNAVAILABLE. */
int dial(struct arena *a, str host, str port, int wait_s, struct status *st)
    __attribute__((warn_unused_result));

#endif
