/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_HEALTH_H
#define APISERVER_CALL_HEALTH_H

/*
 * /healthz, /livez and /readyz: is it well, must it be restarted, may it get requests.
 *
 * Checks are rows that the parts of the server register before it serves; after that the table does
 * not change and any thread may ask.  A check is quick and does not block.
 */

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

enum health_endpoint { HEALTH_HEALTHZ = 1 << 0, HEALTH_LIVEZ = 1 << 1, HEALTH_READYZ = 1 << 2 };

struct health_check {
    str name;           /* "ping", "store" */
    unsigned endpoints; /* enum health_endpoint */
    /* 0, or -1 with a reason, which is shown only where this check alone is asked for. */
    int (*fn)(void *arg, struct status *st);
    void *arg;
};

struct health;

struct health *health_new(void); /* knows "ping", which is always well */
void health_free(struct health *h);
void health_add(struct health *h, struct health_check check);

/* Makes readyz fail from now on, first step of a graceful stop; any thread. */
void health_drain(struct health *h);

struct health_answer {
    int code;         /* 200, 500; 404 for a check that does not exist */
    str content_type; /* text/plain */
    str body;
};

/*
 * `path` is one of the three, or a check below it (/readyz/ping), `query` may hold verbose and
 * exclude=NAME.  False when the path is none of these.  k8s: apiserver/pkg/server/healthz
 */
bool health_serve(const struct health *h, struct arena *a, str path, str query,
                  struct health_answer *out);

#endif
