/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_SERVER_HTTP_ENTRY_H
#define APISERVER_SERVER_HTTP_ENTRY_H

#include "http/server.h"

/* The handler of the HTTP server; arg is the struct server. */
void http_entry_serve(struct http_request *req, void *arg);

/* Whose turn it is on the loop: an instance's, by the path. */
uint64_t http_entry_whose(const struct http_request *req, void *arg);

/*
 * Who has turns on a loop (loop/loop.h): instances; the leases of each, and health, which wait for
 * nothing else that is asked.
 */
enum { WHOSE_HEALTH = 1, WHOSE_FIRST };
static inline uint64_t whose_of(uint32_t instance, bool lease)
{
    return WHOSE_FIRST + (uint64_t)instance * 2 + lease;
}

/* Who takes bodies as they come (struct mount's early). */
bool http_entry_early(const struct http_request *req, void *arg);

struct server;

/* A request to a port of that instance alone; the name outlives the request. */
void http_entry_serve_instance(struct http_request *req, struct server *s, str instance);

#endif
