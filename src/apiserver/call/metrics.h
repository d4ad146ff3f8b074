/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_METRICS_H
#define APISERVER_CALL_METRICS_H

/*
 * Counters for Prometheus.  The set of series is fixed: labels come from the tables here, never
 * from an instance, a resource or a user, so memory and the scrape stay small however much is
 * served.
 *
 * Counting takes no lock: each thread adds to a shard with relaxed atomics; a scrape sums up.
 */

#include "base/arena.h"
#include "base/str.h"
#include "http/server.h"
#include "store/store.h"

/* The words of apiserver_request_total. */
#define METRICS_VERBS(X)                                        \
    X(GET, "GET", "get")                                        \
    X(LIST, "LIST", "list")                                     \
    X(WATCH, "WATCH", "watch")                                  \
    X(POST, "POST", "create")                                   \
    X(PUT, "PUT", "update")                                     \
    X(PATCH, "PATCH", "patch")                                  \
    X(APPLY, "APPLY", "apply")                                  \
    X(DELETE, "DELETE", "delete")                               \
    X(DELETECOLLECTION, "DELETECOLLECTION", "deletecollection") \
    X(OTHER, "OTHER", "")

enum metrics_verb {
#define X(name, label, verb) METRICS_##name,
    METRICS_VERBS(X)
#undef X
        METRICS_NVERBS
};
/* Of reqinfo's verb; OTHER for anything else (not a resource). */
enum metrics_verb metrics_verb_of(str verb, bool is_resource);

struct metrics;

struct metrics *metrics_new(int64_t started_s); /* wall clock, for process_start_time_seconds */
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

/* Of the audit: what the policy says of a request (a number below METRICS_AUDIT_LEVELS), and an
 * event. */
enum { METRICS_AUDIT_LEVELS = 4 };
void metrics_audit_level(struct metrics *m, unsigned level);
void metrics_audit_event(struct metrics *m);

/* When a certificate of our own ends, in seconds since 1970; 0: there is none. */
struct metrics_ends {
    int64_t serving, ca, signer;
};

/* What the audit counts itself. */
struct metrics_audit {
    const char *levels[METRICS_AUDIT_LEVELS]; /* their names */
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
    struct metrics_ends ends;
    int64_t now_s; /* wall clock */
    str more;      /* series in their printed form */
};

/* The text of /metrics, with METRICS_CONTENT_TYPE. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
str metrics_print(const struct metrics *m, struct arena *a, const struct metrics_input *in);

#endif
