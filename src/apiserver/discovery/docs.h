/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_DISCOVERY_DOCS_H
#define APISERVER_DISCOVERY_DOCS_H

/*
 * The documents about the API itself: `/`, /api, /apis, /openapi/…, /version.  They are made from
 * the catalog when asked for, and kept in a cache that equal instances share.
 *
 * Any thread.
 */

#include "base/bytes.h"
#include "rest/kind.h"

struct aggregated;
struct docs;

struct docs *docs_new(size_t max_bytes); /* how much is kept; the least used goes first */
void docs_free(struct docs *d);

struct docs_request {
    const struct catalog *catalog;
    str prefix, path; /* as reqinfo has them */
    str query, accept, if_none_match;
    int64_t now_s; /* wall clock, for Expires */
    str server;    /* "host:port" for clients on other machines; empty: not told */
    /* What other API servers serve for the instance (apiserver/discovery/discovery_merge.h); NULL:
     * nothing. */
    const struct aggregated *aggregated;
};

struct docs_answer {
    int code;                         /* 200, 301, 304, 404 */
    str content_type;                 /* empty: no body */
    str body;                         /* lives as long as the arena */
    str etag, cache_control, expires; /* headers to send; empty: not this one */
    str vary, location;
    bool json; /* the body is JSON and may be indented */
};

/* True when the path belongs to a document, served or not: what docs_serve answers. */
bool docs_has(str path);

/* For GET and HEAD.  NOT_ACCEPTABLE when the client takes no form that the document has. */
int docs_serve(struct docs *d, struct arena *a, const struct docs_request *r,
               struct docs_answer *out, struct status *st) __attribute__((warn_unused_result));

/*
 * ---- the cache ----
 *
 * By the catalog's etag and a name.  Get gives a reference of the caller's own, or NULL; put takes
 * one of its own.
 */
struct bytes *docs_get(struct docs *d, uint64_t etag, str name);
void docs_put(struct docs *d, uint64_t etag, str name, struct bytes *b);

#endif
