/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_LIMITS_H
#define HTTP_LIMITS_H

/* What one client may cost.  HTTP_LIMITS_DEFAULT holds the shipped values. */

#include <stddef.h>
#include <stdint.h>

struct http_limits {
    size_t body;          /* bytes of a request body */
    size_t headers;       /* bytes of all headers of a request, names and values */
    unsigned connections; /* open at once, all loops together */
    unsigned streams;     /* HTTP/2 streams open at once on a connection */
    unsigned resets;      /* stream resets a connection may cause, either direction, per window */
    unsigned controls;    /* SETTINGS + PING + empty frames per window */
    int64_t window_ms;    /* for resets and controls */
    size_t continuation;  /* bytes of CONTINUATION frames of one header block */
    int64_t handshake_ms; /* TCP accept to end of TLS handshake */
    int64_t header_ms;    /* first byte of a request to end of its headers */
    int64_t body_ms;      /* headers to end of body */
    int64_t idle_ms;      /* keep-alive without a request */
    int64_t write_ms;     /* a client that takes nothing of what is ready for it */
    size_t stream_queue;  /* bytes waiting on one stream (watch) */
    size_t connection_queue; /* bytes waiting on one connection */
};

#define HTTP_LIMITS_DEFAULT                          \
    ((struct http_limits){ .body = 3 << 20,          \
                           .headers = 64 << 10,      \
                           .connections = 20000,     \
                           .streams = 250,           \
                           .resets = 200,            \
                           .controls = 1000,         \
                           .window_ms = 10000,       \
                           .continuation = 64 << 10, \
                           .handshake_ms = 10000,    \
                           .header_ms = 15000,       \
                           .body_ms = 60000,         \
                           .idle_ms = 180000,        \
                           .write_ms = 60000,        \
                           .stream_queue = 4 << 20,  \
                           .connection_queue = 16 << 20 })

#endif
