/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_MOUNT_H
#define RPC_MOUNT_H

/*
 * A part of the one port that a layer above the API server answers: the management API, search,
 * login.  The server authenticates, limits and logs such a request like every other; whether the
 * caller may is for the part to say, since what is asked for is no object of the store.  It denies
 * what it does not know.
 *
 * Mounts are at the bare paths, so a caller is who they are in the root instance: below
 * /clusters/<instance> anybody who is an admin there may be called what they like.  A mount that
 * knows people of instances as such (`instances`) is there, too.
 */

#include "base/arena.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "base/status.h"
#include "http/server.h"
#include "json/json.h"

struct mount_call;

/* What a request does, for the audit; empty is what is not known, or not yet. */
struct mount_deed {
    str event;   /* "Create-Instance" (docs/security.md) */
    str verb;    /* as Kubernetes has it: "create", "get" */
    bool object; /* it is about one: */
    str group, version, resource, subresource;
    str instance, namespace_, name; /* which the client says: not checked */
};

/*
 * What the server does for it; exactly one answer for each call, on the call's loop.  Pieces and
 * headers live as long as the arena.
 */
struct mount_ops {
    /* What is to follow the body, before the answer or before its end. */
    void (*trailers)(struct mount_call *c, const struct http_header *h, size_t n);
    void (*answer)(struct mount_call *c, int code, const struct http_header *h, size_t nh,
                   const str *pieces, size_t npieces);
    /* As a Kubernetes Status. */
    void (*fail)(struct mount_call *c, const struct status *st);
    /* For the audit, before the answer.  What it does, when more is known of it than `describe`
     * said; and with what it fails, and by which HTTP code, whatever the code of the answer. */
    void (*tell)(struct mount_call *c, const struct mount_deed *d);
    void (*failed)(struct mount_call *c, int code, const struct status *why);
    /*
     * An answer without an end: 200 leaves at once, then what is pushed (see http_stream_push),
     * until `end`, or until c->gone is called.  With either the call is over, and gone.
     */
    void (*open)(struct mount_call *c, const struct http_header *h, size_t nh);
    bool (*push)(struct mount_call *c, struct bytes *b);
    void (*end)(struct mount_call *c);
    /* The body as far as it has come and was not consumed; valid until the next part. */
    str (*peek)(struct mount_call *c, bool *end);
    void (*consume)(struct mount_call *c, size_t n);
};

struct mount_call {
    const struct mount_ops *ops;
    struct arena *arena; /* lives until the answer has left */
    struct loop *loop;
    str method, path; /* the path decoded, without "/clusters/<instance>" */
    str query;        /* as sent; its escapes are whole */
    str instance;     /* of the path, which exists; empty: root */
    const struct http_header *headers;
    size_t nheaders;
    str body;
    bool body_too_large; /* then it is empty */
    bool body_follows;   /* it comes as it may: set `more` and peek (http/server.h) */
    struct identity who; /* system:anonymous without a credential */
    str audit_id;
    int64_t deadline_ms; /* by the loop's clock: answer until then */

    /* Set by the mount, if it wants to know: */
    void (*more)(struct mount_call *c); /* of the body, or its end; or it was too large */
    /* The client is gone.  A call that was not answered must be all the same. */
    void (*gone)(struct mount_call *c);
    void *user;
};

enum { MOUNT_REFUSAL = 4 }; /* headers */

/* On the loop's thread: answers now, or later after work elsewhere (loop/workers.h). */
typedef void mount_fn(void *arg, struct mount_call *c);

struct mount {
    /* "/apis/clusterpedia.io": this path, and those below it; empty: all, by its content type. */
    const char *prefix;
    const char *content_type; /* "application/grpc": requests that begin so; NULL: any */
    bool early;               /* by content type alone, before the body has come */
    bool instances;           /* below /clusters/<instance>, too: `who` is of that instance */
    mount_fn *serve;
    /* What a request to this path does, for the audit; NULL, or out untouched: what its method
     * says. */
    void (*describe)(void *arg, str method, str path, struct mount_deed *out);
    /* How clients hear of what the server itself refuses (401, 429): fills in at most MOUNT_REFUSAL
     * headers of an answer that is 200 and has no body, and says how many.  NULL: a Kubernetes
     * Status with its code. */
    size_t (*refusal)(struct arena *a, const struct status *st, struct http_header *h);
    void *arg;
};

#endif
