/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_EVENT_H
#define SERVER_AUDIT_EVENT_H

/* One line of the audit: an audit.k8s.io/v1 Event in JSON, its fields in Kubernetes' order. */

#include "http/server.h"
#include "server/audit_policy.h"

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
    const struct identity *user;         /* NULL: nobody */
    const struct identity *impersonated; /* or NULL */
    str sources[AUDIT_SOURCES];
    size_t nsources;
    str agent;
    str name, namespace_, uid, revision; /* of the object in the body, where the path has none */
    int code;                            /* 0: not answered yet */
    const struct status *failure;        /* what the answer says, or NULL */
    str message;                         /* in place of it */
    const struct json *sent;             /* or NULL */
    str answered;                        /* JSON, or empty */
    int64_t received_us, stage_us;
    struct audit_note notes[AUDIT_NOTES]; /* of several with one key the first counts */
    size_t nnotes;
};

void audit_note(struct audit_event *e, str key, str value);

/* Where a request came from: what proxies say, then the connection's own address. */
void audit_sources(struct audit_event *e, str forwarded, str real_ip, str remote);

/*
 * Into a new buffer, without a newline, which JSON has none of.  Secrets are hidden
 * (server/audit_redact.h); an event that would be longer than AUDIT_EVENT_MAX is written without
 * its bodies and says so.
 */
void audit_event_print(struct arena *a, const struct audit_event *e, struct buf *out);

#endif
