/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUDIT_AUDIT_EVENT_H
#define APISERVER_AUDIT_AUDIT_EVENT_H

/* One line of the audit log: an audit.k8s.io/v1 Event in JSON, with its fields in Kubernetes'
 * order. */

#include "apiserver/audit/audit_policy.h"
#include "http/server.h"

enum {
    AUDIT_EVENT_MAX = 100 << 10, /* bytes; k8s: --audit-log-truncate-max-event-size */
    AUDIT_AGENT_MAX = 1024,      /* k8s: apiserver/pkg/audit/request.go */
    AUDIT_SOURCES = 8,
    AUDIT_NOTES = 32,
};

struct audit_note {
    str key, value;
};

struct audit_event {
    struct audit_decision decision;
    enum audit_stage stage;
    str id, path, query; /* path and query as sent */
    const struct reqinfo *info;
    const struct identity *user;         /* NULL: authentication failed */
    const struct identity *impersonated; /* or NULL */
    str sources[AUDIT_SOURCES];
    size_t nsources;
    str agent;
    str name, namespace_, uid, revision; /* of the body's object, if the path names none */
    int code;                            /* 0: not answered yet */
    const struct status *failure;        /* the answer's error, or NULL */
    str message;                         /* replaces the message of the failure */
    const struct json *sent;             /* body of the request, or NULL */
    str answered;                        /* body of the answer: JSON, or empty */
    int64_t received_us, stage_us;
    struct audit_note notes[AUDIT_NOTES]; /* annotations; the first one with a key counts */
    size_t nnotes;
};

void audit_note(struct audit_event *e, str key, str value);

/* Fills the source IPs: first the addresses that proxies report in headers, then the connection's
 * own. */
void audit_sources(struct audit_event *e, str forwarded, str real_ip, str remote);

/* "10.0.0.1" of "10.0.0.1:443", "::1" of "[::1]:443". */
str audit_address(str remote);

/*
 * Writes the event into a new buffer, as one line without its newline.  Secrets are redacted
 * (apiserver/audit/audit_redact.h).  An event that would be longer than AUDIT_EVENT_MAX is written
 * without its bodies, and an annotation says so.
 */
void audit_event_print(struct arena *a, const struct audit_event *e, struct buf *out);

#endif
