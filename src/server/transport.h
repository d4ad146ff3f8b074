/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_TRANSPORT_H
#define SERVER_TRANSPORT_H

#include "http/server.h"

/* The handler of the HTTP server; arg is the struct server. */
void transport_serve(struct http_request *req, void *arg);

#endif
