/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

/*
 * A client of a Kubernetes API: how every part of this program that is not the server itself reads
 * and writes objects.  The transport decides whether the server is this process or another.
 *
 * Two forms.  With callbacks, on the client's loop: client_call(), client_watch().  And blocking,
 * from any other thread (a reconcile worker, a tool): client_get() and its like, which give the
 * request to the transport, wait, and parse the answer on the calling thread.
 *
 * Errors are what the server's Status said; UNAVAILABLE and TIMEOUT also come from below.  Nothing
 * is retried here: callers have queues with back-off.
 */

#include "client/kubeconfig.h"
#include "client/request.h"
#include "client/transport.h"

struct client;

/* Takes the transport. */
struct client *client_new(struct client_transport *t);

/*
 * Over HTTP.  With a loop of the caller's (on its thread, or before it runs), or with l == NULL on
 * a thread that the client starts and ends itself: for tools.
 */
struct client *client_open(struct loop *l, const struct kubeconfig *k, struct status *st);

/*
 * For a server that is not trusted: the time of a call that says nothing else, and the largest
 * answer that is taken; 0: as it is.  Before its first call.
 */
void client_limit(struct client *c, int64_t timeout_ms, size_t reply_max);

/* What the log calls the server; kept by the caller for as long as the client.  Before its first
 * call. */
void client_set_name(struct client *c, str name);

/*
 * Whether a failure of this server shall be logged now, and by which name (empty: it has none): a
 * server that is named is logged once a minute, however many lists and watches of it fail.  On the
 * loop.
 */
bool client_may_log(struct client *c, str *name);

/*
 * On the loop's thread, or when it runs no more; from the owner's thread if the client has its own.
 * Calls and watches in flight end with UNAVAILABLE.
 */
void client_free(struct client *c);

struct loop *client_loop(const struct client *c);
/* Borrowed; for requests that are not about objects. */
struct client_transport *client_transport(const struct client *c);

/* Certificates (PEM) by which its server is known; empty: those of the system.  Any thread. */
str client_ca(const struct client *c);

/* ---- with callbacks, on the loop ---- */

/* Filled by the caller and kept, with what it points to, until `done` (once) or cancel. */
struct client_call {
    struct client_request req;
    struct arena *arena; /* the answer lives here */
    /* Either the answer, or NULL and why not. */
    void (*done)(struct client_call *call, const struct json *object, const struct status *why);
    void *user;
    /* The answer is wanted as it came: `object` is NULL, and its text here.  Large ones are parsed
     * elsewhere, since that takes longer than a callback may. */
    bool unparsed;
    str text;
    void *impl; /* the client's */
};
void client_call(struct client *c, struct client_call *call);
void client_call_cancel(struct client_call *call); /* no callback comes after */

enum client_event { CLIENT_ADDED, CLIENT_MODIFIED, CLIENT_DELETED, CLIENT_BOOKMARK };

/*
 * A watch.  Each event's tree lives until the callback returns.  `done` is called once: why is
 * NULL when the server ended it in the regular way, EXPIRED or GONE when its revision is too old.
 */
struct client_watch {
    struct client_request req; /* client_request_watch() */
    void (*event)(struct client_watch *w, enum client_event type, const struct json *object);
    /*
     * If it is set, it gets objects as the text that arrived, unparsed, for a caller that passes
     * them on.  `event` gets bookmarks, and objects that are not written as Kubernetes writes them.
     */
    void (*text)(struct client_watch *w, enum client_event type, str object);
    void (*opened)(struct client_watch *w); /* the server has accepted it; may be NULL */
    void (*done)(struct client_watch *w, const struct status *why);
    void *user;
    void *impl; /* the client's */
};
void client_watch(struct client *c, struct client_watch *w);
void client_watch_cancel(struct client_watch *w); /* no callback comes after */

/* ---- blocking, from any thread but the loop's ---- */

int client_do(struct client *c, struct arena *a, const struct client_request *req,
              const struct json **out, struct status *st) __attribute__((warn_unused_result));

/*
 * Many at once: they are on their way together, so that the server can commit them together.  Each
 * has an end of its own; what they are about must not depend on each other.  Results live in a.
 */
struct client_item {
    struct client_request req;
    const struct json *object; /* the answer */
    struct status st;          /* or why not, when rc is -1 */
    int rc;
};
void client_do_all(struct client *c, struct arena *a, struct client_item *items, size_t n);

/* out may be NULL; q may be NULL. */
int client_get(struct client *c, struct arena *a, const struct client_ref *ref,
               const struct json **out, struct status *st) __attribute__((warn_unused_result));
int client_list(struct client *c, struct arena *a, const struct client_ref *ref,
                const struct client_query *q, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int client_create(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int client_update(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int client_patch(struct client *c, struct arena *a, const struct client_ref *ref,
                 enum client_patch_type type, const struct json *patch, const struct json **out,
                 struct status *st) __attribute__((warn_unused_result));
/* Server-side apply by that manager, taking over fields of others. */
int client_apply(struct client *c, struct arena *a, const struct client_ref *ref, str manager,
                 const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
/* options: a DeleteOptions object, or NULL. */
int client_delete(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *options, struct status *st)
    __attribute__((warn_unused_result));

#endif
