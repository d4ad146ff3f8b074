/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_METRICS_H
#define APISERVER_CALL_METRICS_H

/*
 * What an API server counts for each request, and what is read of its parts at a scrape: a set of
 * base/metric.h.  The series are fixed: their labels come from the tables here, never from an
 * instance, a resource or a user.
 */

#include "base/buf.h"
#include "base/str.h"
#include "http/server.h"
#include "store/store.h"

/* The words of apiserver_request_total.  The last has no duration. */
#define METRICS_VERBS(X)                                        \
    X(GET, "GET", "get")                                        \
    X(LIST, "LIST", "list")                                     \
    X(POST, "POST", "create")                                   \
    X(PUT, "PUT", "update")                                     \
    X(PATCH, "PATCH", "patch")                                  \
    X(APPLY, "APPLY", "apply")                                  \
    X(DELETE, "DELETE", "delete")                               \
    X(DELETECOLLECTION, "DELETECOLLECTION", "deletecollection") \
    X(OTHER, "OTHER", "")                                       \
    X(WATCH, "WATCH", "watch")

enum metrics_verb {
#define X(name, label, verb) METRICS_##name,
    METRICS_VERBS(X)
#undef X
        METRICS_NVERBS
};
/* Of reqinfo's verb; OTHER for anything else (not a resource). */
enum metrics_verb metrics_verb_of(str verb, bool is_resource);

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* A request was answered.  Watches count when they end, without a duration. */
void metrics_request(struct metrics *m, enum metrics_verb verb, int code, int64_t duration_us);
/* +1 when a watch or proxy begins, -1 when it ends. */
void metrics_longrunning(struct metrics *m, enum metrics_verb verb, int delta);
/* Requests being worked on; mutating or not. */
void metrics_inflight(struct metrics *m, bool mutating, int delta);
void metrics_watch_events(struct metrics *m, uint64_t events, uint64_t bytes);
/* Requests refused before they were looked at: 429. */
void metrics_rejected(struct metrics *m, bool mutating);
/* A request came with a client certificate that is good for so long yet. */
void metrics_client_certificate(struct metrics *m, int64_t left_s);

/* Of the audit: what the policy says of a request (the place in this list), and an event. */
#define METRICS_AUDIT_LEVELS(X) X("None") X("Metadata") X("Request") X("RequestResponse")
void metrics_audit_level(struct metrics *m, unsigned level);
void metrics_audit_event(struct metrics *m);

/* When a certificate of our own ends, in seconds since 1970; 0: there is none. */
struct metrics_ends {
    int64_t serving, ca, signer;
};

/* What the audit counts itself. */
struct metrics_audit {
    uint64_t record_errors;
    bool has_records;
    uint64_t log_errors, webhook_errors; /* events that were lost */
    bool has_webhook;
    uint64_t rejected; /* requests */
};

/* What others count, taken at the time of the scrape; NULL where there is none. */
struct metrics_input {
    const struct store_stats *store;
    const struct http_stats *http;
    const struct metrics_audit *audit;
    uint64_t instances;
    const char *dir; /* the data folder */
    struct metrics_ends ends;
    int64_t now_s; /* wall clock */
};

/* Appends all of them to the text of /metrics. */
void metrics_print(const struct metrics *m, struct buf *out, const struct metrics_input *in);

#endif
