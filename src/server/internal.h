/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_INTERNAL_H
#define SERVER_INTERNAL_H

/* What the files of server/ share and nobody else includes. */

#include <stdatomic.h>

#include "kinds/kinds.h"
#include "loop/workers.h"
#include "rest/rest.h"
#include "server/call.h"
#include "server/docs.h"
#include "server/health.h"
#include "server/metrics.h"

struct server {
    struct store *store;
    struct clock *clock;
    struct rest *rest;
    struct http_server *http;
    struct health *health;
    struct metrics *metrics;
    struct docs *docs;
    unsigned max_reads, max_writes;
    atomic_uint reads, writes; /* in flight */
    struct workers *workers;
    const char *dir; /* for a backup on its way out */
    atomic_bool backing_up;
};

/* What this instance serves. */
const struct catalog *server_catalog(const struct server *s, const struct instance *i);

#endif
