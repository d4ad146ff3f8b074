/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_RECORDER_H
#define CLIENT_RECORDER_H

/*
 * Tells people what happened to an object: v1 Events, as `kubectl describe` shows them.
 *
 * Telling costs the caller next to nothing and never waits: events go out one after the other on
 * the client's loop, and are dropped where that is not fast enough.  As in client-go
 *
 *  - what is told again (same object, type, reason and message) is counted in its first Event;
 *  - ten different messages of one reason within ten minutes are followed by one combined Event;
 *  - an object has 25 events, then one more every five minutes: others are dropped;
 *  - a server that is away is asked again for two minutes; one that refuses is not asked again.
 *
 * Memory is bounded: objects, events of an object, events that wait, lengths of text.
 */

#include "base/clock.h"
#include "client/client.h"

struct recorder;

struct recorder_options {
    struct client *client;
    struct clock *clock;  /* NULL: the real one */
    str component, host;  /* who tells; host may be empty */
    uint32_t waiting_max; /* events on their way; 0: 1000 */
    uint32_t burst;       /* events of one object; 0: 25 */
    int64_t refill_ms;    /* until it may have one more; 0: five minutes */
    int64_t retry_ms;     /* until a server that is away is asked again; 0: 10 s */
};

/* What an event is about. */
struct recorder_object {
    str instance; /* as in struct client_ref */
    str api_version, kind, namespace, name, uid, resource_version;
    str field_path; /* "spec.containers{web}"; may be empty */
};

/* Slices of the tree. */
struct recorder_object recorder_object_of(str instance, const struct json *object);

enum recorder_type { RECORDER_NORMAL, RECORDER_WARNING };

struct recorder *recorder_new(const struct recorder_options *o); /* copies what it needs */
void recorder_free(struct recorder *r); /* on the loop, or when it runs no more; drops what waits */

/* Any thread.  reason: a word for programs, "FailedCreate"; the message is for people. */
void recorder_tell(struct recorder *r, const struct recorder_object *on, enum recorder_type type,
                   const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

uint64_t recorder_dropped(struct recorder *r); /* any thread */

#endif
