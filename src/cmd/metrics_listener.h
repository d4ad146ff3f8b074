/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_METRICS_LISTENER_H
#define CMD_METRICS_LISTENER_H

/*
 * The port of processes that serve no API (controller-manager, syncer): /metrics for Prometheus,
 * /healthz, /livez and /readyz for probes, and nothing else.
 *
 * Plain HTTP/1.1, without TLS and authentication, as Kubernetes' probes and most scrapes are: what
 * it tells holds no secrets and no names of people, instances or objects.  It is bound to loopback
 * unless a flag says that others may read it.  The socket is opened before the sandbox is entered,
 * which then allows no port at all.
 *
 * Requests are answered on the loop of the process: one that hangs does not answer its probes.
 */

#include "apiserver/call/health.h"
#include "cmd/options.h"
#include "http/server.h"

struct metrics_listener {
    const char *listen; /* the flag; NULL: the default */
    bool plain;         /* the flag: also where others can read it */
    int socket;         /* 0: none */
    struct health *health;
    struct http_server *server;
};

/* The rows of its flags; `address` is a literal, which is shown in the help. */
#define OPTIONS_METRICS(m, address)                                                               \
    OPTIONS_GROUP("Metrics"),                                                                     \
        { "--metrics-listen", OPTION_STRING, &(m)->listen, "HOST:PORT",                           \
          "Serve /metrics, /healthz, /livez and /readyz at this address; none: nowhere. Without " \
          "this option: at " address " if it is free." },                                         \
    {                                                                                             \
        "--metrics-plain-http", OPTION_FLAG, &(m)->plain, NULL,                                   \
            "Allow a --metrics-listen that other machines reach. It has no TLS and no "           \
            "authentication."                                                                     \
    }

/*
 * Opens the socket, while the process still may.  That the default is taken is logged, and nothing
 * is served; any other failure is returned.
 */
int metrics_listener_open(struct metrics_listener *m, const char *address, struct status *st)
    __attribute__((warn_unused_result));
/* Serves from now on: `check` is asked for /readyz. */
int metrics_listener_start(struct metrics_listener *m, struct loop *l, struct health_check check,
                           struct status *st) __attribute__((warn_unused_result));
/* When its loop is gone, or was never there. */
void metrics_listener_release(struct metrics_listener *m);

#endif
