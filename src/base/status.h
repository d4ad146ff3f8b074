/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

/*
 * The one error type.  It has the shape of Kubernetes' metav1.Status, so that any error, from any
 * depth, is a correct API answer without translation.
 *
 * A function that can fail takes `struct status *st` last and returns 0, or -1 with *st filled in.
 * On success *st is untouched, so calls chain.  Setters return -1, so failing takes one line:
 *
 *     return status_not_found(st, STR(""), STR("configmaps"), name);
 *
 * Strings live in the arena given to status_init() and are copied into it by the setters.
 */

#include <stdbool.h>

#include "base/str.h"

struct arena;

/* C name, reason on the wire, HTTP code, gRPC code: the only place where these meet. */
#define STATUS_REASONS(X)                                     \
    X(OK, "", 200, 0)                                         \
    X(BAD_REQUEST, "BadRequest", 400, 3)                      \
    X(UNAUTHORIZED, "Unauthorized", 401, 16)                  \
    X(FORBIDDEN, "Forbidden", 403, 7)                         \
    X(NOT_FOUND, "NotFound", 404, 5)                          \
    X(METHOD_NOT_ALLOWED, "MethodNotAllowed", 405, 12)        \
    X(NOT_ACCEPTABLE, "NotAcceptable", 406, 3)                \
    X(ALREADY_EXISTS, "AlreadyExists", 409, 6)                \
    X(CONFLICT, "Conflict", 409, 10)                          \
    X(GONE, "Gone", 410, 11)                                  \
    X(EXPIRED, "Expired", 410, 11)                            \
    X(TOO_LARGE, "RequestEntityTooLarge", 413, 8)             \
    X(UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", 415, 3) \
    X(INVALID, "Invalid", 422, 3)                             \
    X(TOO_MANY_REQUESTS, "TooManyRequests", 429, 8)           \
    X(UNKNOWN, "", 500, 2) /* k8s: a plain Go error */        \
    X(INTERNAL, "InternalError", 500, 13)                     \
    X(SERVER_TIMEOUT, "ServerTimeout", 500, 14)               \
    X(UNAVAILABLE, "ServiceUnavailable", 503, 14)             \
    X(TIMEOUT, "Timeout", 504, 4)

enum reason {
#define X(name, wire, http, grpc) REASON_##name,
    STATUS_REASONS(X)
#undef X
};

/*
 * Kinds of field errors (metav1.CauseType).  k8s: apimachinery/pkg/util/validation/field/errors.go
 * gives each the text that comes before the detail.
 */
#define STATUS_CAUSES(X)                                            \
    X(REQUIRED, "FieldValueRequired", "Required value")             \
    X(INVALID, "FieldValueInvalid", "Invalid value")                \
    X(NOT_SUPPORTED, "FieldValueNotSupported", "Unsupported value") \
    X(DUPLICATE, "FieldValueDuplicate", "Duplicate value")          \
    X(FORBIDDEN, "FieldValueForbidden", "Forbidden")                \
    X(NOT_FOUND, "FieldValueNotFound", "Not found")                 \
    X(TOO_LONG, "FieldValueTooLong", "Too long")                    \
    X(TOO_MANY, "FieldValueTooMany", "Too many")                    \
    X(TYPE_INVALID, "FieldValueTypeInvalid", "Invalid value")       \
    X(INTERNAL, "InternalError", "Internal error")                  \
    X(TOO_LARGE_VERSION, "ResourceVersionTooLarge", "")             \
    X(NAMESPACE_TERMINATING, "NamespaceTerminating", "")            \
    X(DISRUPTION_BUDGET, "DisruptionBudget", "")                    \
    X(UNEXPECTED_RESPONSE, "UnexpectedServerResponse", "")          \
    X(FIELD_MANAGER_CONFLICT, "FieldManagerConflict", "")           \
    X(OTHER, "", "")

enum cause_type {
#define X(name, wire, text) CAUSE_##name,
    STATUS_CAUSES(X)
#undef X
};

enum { STATUS_CAUSES_MAX = 256 }; /* more than anyone reads; bounds what a bad body can cost */

struct cause { /* metav1.StatusCause: one wrong field */
    struct cause *next;
    enum cause_type type;
    str field, message; /* message without the field: `Invalid value: "x": must …` */
};

struct status {
    enum reason reason;
    str message;           /* for people; no code reads it */
    str group, kind, name; /* metav1.StatusDetails; kind is the resource, or the Kind if INVALID */
    str uid;
    bool empty_details;                /* answer with "details":{} though nothing is in it */
    struct cause *causes, *last_cause; /* at most STATUS_CAUSES_MAX are kept */
    unsigned ncauses;
    struct cause *tolerated, *last_tolerated; /* faults that may stay: warnings; as many at most */
    unsigned ntolerated;
    unsigned retry_after_s;
    unsigned code;      /* of the answer, where somebody else has said it; 0: the reason's */
    str continue_token; /* metadata.continue of an expired list */
    struct arena *arena;
};

void status_init(struct status *st, struct arena *a);
void status_reset(struct status *st);                           /* back to OK, same arena */
void status_copy(struct status *to, const struct status *from); /* into to's arena */

int status_set(struct status *st, enum reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int status_errno(struct status *st, int err, const char *fmt, ...) /* INTERNAL, ": strerror" */
    __attribute__((format(printf, 3, 4)));

/* The wordings of Kubernetes (spec/apimachinery 4.1); `resource` is the plural. */
int status_not_found(struct status *st, str group, str resource, str name);
int status_already_exists(struct status *st, str group, str resource, str name);
int status_conflict(struct status *st, str group, str resource, str name, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
int status_forbidden(struct status *st, str group, str resource, str name, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
int status_expired(struct status *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Field errors accumulate; then one status_invalid() makes them a 422 naming the Kind, or returns 0
 * when there were none.  `value` of CAUSE_INVALID, _NOT_SUPPORTED and _DUPLICATE is printed as
 * JSON by the caller ("\"x\"", "3"); empty when the value is left out.
 *
 *     status_cause(st, CAUSE_INVALID, STR("spec.replicas"), STR("-1"), "must be >= 0");
 */
void status_cause(struct status *st, enum cause_type type, str field, str value, const char *fmt,
                  ...) __attribute__((format(printf, 5, 6)));
int status_invalid(struct status *st, str group, str kind, str name)
    __attribute__((warn_unused_result));
/* A fault that an object had before: it is not refused for it.  Whoever answers tells them. */
void status_tolerate(struct status *st, enum cause_type type, str field, str value, str detail);
str cause_text(struct arena *a, const struct cause *c); /* with its field */

/* Puts "context: " before the message. */
int status_wrap(struct status *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool status_is(const struct status *st, enum reason reason);
int status_http(const struct status *st);
int status_grpc(const struct status *st);
const char *status_reason(const struct status *st);
const char *cause_reason(enum cause_type type);

/* "configmaps" or "deployments.apps", as messages name a resource. */
str status_group_resource(struct arena *a, str group, str resource);

/* The reason whose wire name this is; false if there is none. */
bool status_parse_reason(str wire, enum reason *out);

#endif
