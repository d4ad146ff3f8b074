/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

/*
 * Requests of the Kubernetes API as values: which object, which verb, which options become method,
 * path, content type and body.  Pure; everything lives in the arena.
 */

#include "base/identity.h"
#include "json/json.h"

/* One object, or with an empty name all of them. */
struct client_ref {
    str instance; /* empty: the one the client is for; "*": all; else a name */
    str group, version, resource;
    str namespace; /* empty: cluster-scoped, or all namespaces */
    str name, subresource;
};

/* What stands behind the '?'; only what is set. */
struct client_query {
    str label_selector, field_selector;
    str resource_version, resource_version_match;
    str continue_token;
    uint32_t limit;
    str field_manager;
    bool force, dry_run;
    str field_validation; /* Strict, Warn, Ignore */
    /* of a watch */
    bool watch, bookmarks, initial_events;
    uint32_t timeout_s;
};

struct client_request {
    str method, path; /* escaped, with query */
    str content_type; /* empty without a body */
    str body;
    int64_t timeout_ms; /* 0: the client's; < 0: none */
    /* For whom it is made (impersonation): user, uid and groups; NULL: for the client itself. */
    const struct identity *as;
    str audit_id; /* of the request that it is a part of; empty: one of its own */
};

enum client_patch_type {
    CLIENT_PATCH_JSON,
    CLIENT_PATCH_MERGE,
    CLIENT_PATCH_STRATEGIC,
    CLIENT_PATCH_APPLY,
};

/* q may be NULL. */
str client_path(struct arena *a, const struct client_ref *ref, const struct client_query *q);

struct client_request client_request_get(struct arena *a, const struct client_ref *ref);
struct client_request client_request_list(struct arena *a, const struct client_ref *ref,
                                          const struct client_query *q);
struct client_request client_request_watch(struct arena *a, const struct client_ref *ref,
                                           const struct client_query *q);
struct client_request client_request_create(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q, const struct json *obj);
struct client_request client_request_update(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q, const struct json *obj);
struct client_request client_request_patch(struct arena *a, const struct client_ref *ref,
                                           const struct client_query *q,
                                           enum client_patch_type type, const struct json *patch);
/* options: a DeleteOptions object, or NULL.  Without a name the whole collection. */
struct client_request client_request_delete(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q,
                                            const struct json *options);

#endif
