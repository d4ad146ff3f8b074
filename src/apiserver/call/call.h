/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_CALL_H
#define APISERVER_CALL_CALL_H

/*
 * One request on its way through the chain, wherever it came from: the network or a part of our own
 * program.  What differs between the two is where the answer goes (struct call_ops).
 *
 * A call is touched on its loop's thread only.  It lives in its arena, which is the transport's for
 * what is answered before anything can go wrong; a write's own, since a write that takes too long
 * is answered (504) while the store still works on it.  Then two hold it, the transport and the
 * chain.
 */

#include "apiserver/call/reqinfo.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "http/server.h"
#include "rest/rest.h"
#include "json/json.h"

struct call;
struct server;
struct audit_call;
struct flow_pass;
struct gate;
struct mount;
struct token_entry;

/* Exactly one of answer, source, stream per call. */
struct call_ops {
    void (*answer)(struct call *c, int code, const struct http_header *h, size_t nh,
                   const str *pieces, size_t npieces);
    void (*source)(struct call *c, int code, const struct http_header *h, size_t nh,
                   struct http_source *src);
    /* Opens the answer; frames follow by the sink that this fills in. */
    struct rest_sink *(*stream)(struct call *c, int code, const struct http_header *h, size_t nh,
                                void (*closed)(struct call *c));
    /* Of the network only, else NULL: see http/server.h. */
    void (*trailers)(struct call *c, const struct http_header *h, size_t n);
    str (*peek)(struct call *c, bool *end);
    void (*consume)(struct call *c, size_t n);
    /* HTTP/1.1: the connection becomes another protocol; else NULL, or gives NULL. */
    struct rest_sink *(*upgrade)(struct call *c, const struct http_header *h, size_t nh,
                                 void (*data)(struct call *c, str bytes),
                                 void (*closed)(struct call *c));
    void (*pause)(struct call *c, bool paused); /* no more data for now */
};

/* What a call to a mount does, for the audit. */
struct call_deed {
    struct reqinfo info; /* as if it had been asked for by the path of its object */
    str event;           /* "Create-Instance", or empty */
};

struct call {
    struct server *server;
    const struct call_ops *ops;
    struct arena *arena;
    unsigned holders; /* 0: the transport's arena, else see call_release */
    struct loop *loop;
    struct loop *home;     /* the server's, when `loop` is the own one of a thread that waits */
    struct loop_msg moved; /* there */
    str method, raw_path, query;
    const struct http_header *headers;
    size_t nheaders;
    str body;
    bool body_too_large, body_follows;
    const struct http_peer *peer;
    bool peer_rejected;
    str remote;
    bool local; /* of a part of our own program (apiserver/call/local.h) */
    str port;   /* the one instance that is served where it came in; empty: all
                   (apiserver/server/listener.h) */

    /* filled in by the chain: */
    size_t step; /* the next one */
    struct reqinfo info;
    const struct mount *mount;        /* who answers, if it is no part of the server */
    struct call_deed *deed;           /* or NULL */
    const struct status *no_instance; /* there is none of that name: said only to whom may know */
    struct identity who;
    str impersonator; /* who really asks, if `who` is another */
    str session;      /* the Session of the caller's login, if they logged in with a password */
    bool was_session; /* a refused token was of such a login */
    bool stale;       /* what people may do is not known up to the moment when it came */
    struct call_standing {         /* of whom is answered for long (apiserver/auth/standing.c) */
        uint64_t rev;              /* all was well at this revision */
        uint64_t keys;             /* … with these (keys_generation) */
        int64_t ends_ms;           /* with its token, by the clock of the loop */
        struct token_entry *token; /* by which they came, or NULL */
        bool bootstrap, external;  /* by one of these; */
        bool by_webhook;           /* who may by the operator's webhook alone */
        bool asked;                /* for the rules of the instance */
    } standing;
    struct gate *gate; /* apiserver/call/gate.h, or NULL */
    str audit_id;
    struct audit_call *audit; /* NULL: nothing is written down of it (apiserver/audit/audit.h) */
    int64_t began_us, deadline_ms;
    struct call *next, **prev; /* of the loop's writes that are not answered yet */
    bool in_flight, mutating, watching, watch_ended, finished, timed_out;
    bool counted,
        counted_watch;      /* among those of its instance (apiserver/call/instance_limits.h) */
    struct flow_pass *pass; /* apiserver/flow/flow.h */
    bool gone; /* nobody waits for the answer any more; it must be given all the same */
    struct mount_call *mounted;
    int code;
    int outcome; /* the code that says how it ended, where that of the answer does not; or 0 */

    /* of the answer: */
    struct http_header *out;
    size_t nout, out_cap;
    bool pretty, gzip;
    str content_type; /* what the client gets from a resource */

    struct rest_request rest;
    struct rest_watch *watch;
    void *transport; /* the ops' own */
};

/* What every call passes, and what hears of its end: one for a server (apiserver/server/chain.c).
 */
struct call_step {
    const char *name;
    bool (*fn)(struct call *c); /* false: answered, or will be */
};

enum call_still { CALL_STILL, CALL_LATER, CALL_NO_MORE };

struct call_chain {
    const struct call_step *steps;
    size_t nsteps;
    /* Called where the call ends, whatever steps it has passed. */
    void (*body)(struct call *c, const str *pieces, size_t npieces);
    void (*failed)(struct call *c, const struct status *st);
    /* Answers in another form than a Kubernetes Status, if the call is of such a client. */
    bool (*refuse)(struct call *c, const struct status *st);
    void (*answered)(struct call *c, int code);
    void (*left)(struct call *c); /* it is no longer in flight; perhaps more than once */
    void (*watch_ended)(struct call *c);
    /*
     * Of a long answer: whether its caller may have what it tells when the store is at this
     * revision; LATER: that is being found out.  Not asked for whom nothing can be withdrawn from.
     * Either may be NULL.
     */
    bool (*guarded)(struct call *c);
    enum call_still (*still)(struct call *c, uint64_t rev);
    /* The rights of a part of our own program, by its name; NULL when no part has this name. */
    const struct rbac_role *(*rights)(const struct server *s, str user);
};

/* Runs the chain; it answers now or later. */
void call_run(struct call *c);

/* Goes on behind the step that had to wait (it said false and did not answer).  On the loop. */
void call_continue(struct call *c);

/* One of the two holders is done with it; the last takes it away. */
void call_release(struct call *c);

str call_header(const struct call *c, const char *name); /* lower case; empty if not there */

/*
 * Serves a resource that is no object in the store.  The call is dispatched: rest has instance,
 * catalog, kind, name, verb, options and body.  Reads the body by rest_read_body, answers by
 * call_answer_json or call_fail, now or later.
 */
typedef void call_handler(struct call *c);

/* ---- answers ---- */

void call_header_add(struct call *c, str name, str value);
/* The body as pieces in the arena; pretty and gzip as asked. */
void call_answer(struct call *c, int code, str content_type, const str *pieces, size_t npieces);
/* 200 with a body that is made as the client takes it. */
void call_answer_source(struct call *c, str content_type, struct http_source *src);
void call_answer_text(struct call *c, int code, str text);
void call_answer_json(struct call *c, int code, const struct json *v);
void call_fail(struct call *c, const struct status *st);
/* What rest gave: pieces, a list, a watch or a failure. */
void call_answer_rest(struct call *c, const struct rest_reply *reply);

/* 200 and an open end.  `closed` calls call_watch_ended; the sink's end does so itself. */
struct rest_sink *call_open(struct call *c, str content_type, void (*closed)(struct call *c));
/* The same with a code and the headers that were added (call_header_add) only. */
struct rest_sink *call_open_as(struct call *c, int code, void (*closed)(struct call *c));
/* 101 with the headers that were added; NULL: this call has no connection of its own. */
struct rest_sink *call_upgrade(struct call *c, void (*data)(struct call *c, str bytes),
                               void (*closed)(struct call *c));
bool call_can_upgrade(const struct call *c);
/* No more data for now, or again. */
void call_pause(struct call *c, bool paused);
/* A watch that was answered is over, whoever ended it. */
void call_watch_ended(struct call *c);

/* A new status in the call's arena. */
struct status *call_status(struct call *c);

/* ---- the parts of the chain (apiserver/server/chain.c has the order) ---- */

/* False: answered.  In apiserver/auth/authn.c, impersonate.c and authorize.c. */
bool authenticate(struct call *c);
bool authn_has_credential(const struct call *c);
bool impersonate(struct call *c);
bool authorize(struct call *c);
bool fence(struct call *c);      /* apiserver/auth/fence.c */
bool suspension(struct call *c); /* apiserver/server/suspension.c */
void dispatch(struct call *c);

/*
 * Before a call does what needs a loop of the server's (asks another server, waits for a worker):
 * true when it was on a thread of its own, and is dispatched anew on that loop.  Not touched after.
 */
bool call_go_home(struct call *c);
void dispatch_resource(struct call *c);
/* Documents and health; false if the path is none of these. */
bool route_document(struct call *c);
void not_found_page(struct call *c); /* k8s: plain text */

#endif
