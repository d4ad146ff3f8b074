/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_REST_H
#define REST_REST_H

/*
 * The generic resource: create, get, list, watch, update, patch, delete over a kind (rest/kind.h)
 * and the store.
 *
 * A request runs on its loop's thread from start to end and never blocks: reads answer at once, or
 * piece by piece; writes prepare a transaction, hand it to the store, and answer when it is
 * durable.  Whoever calls has authenticated and authorized already, and has parsed path and query.
 */

#include "base/bytes.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "object/meta/outline.h"
#include "rest/instance.h"
#include "rest/kind.h"
#include "rest/table.h"
#include "store/store.h"

/* ---- the options of requests, as query and body give them (spec/apimachinery 2.5) ---- */

struct list_options {
    str label_selector, field_selector;
    uint64_t limit; /* 0: none */
    str continue_token;
    str resource_version, resource_version_match; /* as sent; empty: not given */
    int64_t timeout_s;                            /* 0: not given */
    bool watch, allow_bookmarks;
    bool send_initial_events, send_initial_events_given;
};

enum field_validation { FIELD_WARN, FIELD_IGNORE, FIELD_STRICT };

struct write_options {
    bool dry_run;
    enum field_validation field_validation;
    str field_manager;
    bool manager_said; /* by the query, not by who it is */
    bool force, force_given;
};

enum propagation {
    PROPAGATION_DEFAULT,
    PROPAGATION_BACKGROUND,
    PROPAGATION_FOREGROUND,
    PROPAGATION_ORPHAN
};

struct delete_options {
    bool dry_run;
    enum propagation propagation;
    str precondition_uid, precondition_rv;
    bool has_uid, has_rv; /* they were said, be it as empty strings */
    bool has_grace;       /* gracePeriodSeconds was said: */
    int64_t grace_s;
    bool cascades; /* orphanDependents was said, and false */
    bool evicts;   /* it is an eviction's */
};

struct rest;
struct rest_reply;
struct rest_request;

enum { REST_CHARGES = 3, REST_WAIT }; /* operations that admission may add; see charge */

/* A write that is about to be committed. */
struct rest_change {
    const struct json *obj; /* as it will be, or as it was if it goes */
    const struct json *old; /* NULL when it is new */
    bool removed, dry;
    size_t bytes, old_bytes; /* of what is stored, with what it was; 0: nothing */
};

/*
 * Rules that need more than the object.  All run on every try of a write, on its loop, and never
 * block; old is NULL on create, obj of validate is NULL on delete.
 */
struct rest_admission {
    /* On what the client wants, before the kind's own defaults and rules; may change it. */
    int (*mutate)(struct rest_request *req, const struct json **obj, const struct json *old,
                  struct status *st);
    /*
     * On the same with the kind's defaults: what others make of it, who may be far away.  REST_WAIT
     * as below.  May be NULL.
     */
    int (*mutate_far)(struct rest_request *req, const struct json **obj, const struct json *old,
                      struct status *st);
    /* On what is about to be stored; or REST_WAIT. */
    int (*validate)(struct rest_request *req, const struct json *obj, const struct json *old,
                    struct status *st);
    /*
     * The very last word, when it is clear what will happen: may refuse (-1), or say how many
     * operations it adds to the same transaction, on rows that are no object's.  When an
     * expectation of theirs fails the whole write is done again.  REST_WAIT: the write stays where
     * it is, until somebody calls rest_write_again.
     */
    int (*charge)(struct rest_request *req, const struct rest_change *change,
                  struct store_op ops[REST_CHARGES], struct status *st);
    /* A write for which charge has set req->held is over, whatever came of it. */
    void (*charged)(struct rest_request *req);
    /* It is durable: what was written, or what is no more. */
    void (*committed)(struct rest_request *req, const struct json *obj, bool removed);
};

/* Objects of a kind in another of its versions, which only somebody else can make. */
struct rest_question {
    struct rest_request *req;
    const struct kind *kind;
    str from, to; /* as apiVersion says it */
    const struct json *objects;
    /* Once, on the loop, never before the question was taken: as many objects, or why not. */
    void (*done)(struct rest_question *q, const struct json *converted, const struct status *why);
    void *impl; /* of who was asked */
};

struct seal;
struct workers;

struct rest_setup {
    struct store *store;
    struct seal *seal; /* rest/seal.h; NULL: all is stored as it is */
    struct loop *const *loops;
    size_t nloops;
    struct clock *clock;
    struct workers *workers;                  /* for what is large; NULL: it is done on the loops */
    const struct rest_admission *admission;   /* NULL: everything is admitted */
    void (*convert)(struct rest_question *q); /* NULL: nobody does */
    void (*convert_cancel)(struct rest_question *q); /* nobody waits: `done` does not come */
};

/* After the loops are made, before they run. */
struct rest *rest_new(const struct rest_setup *o, struct status *st);
void rest_free(struct rest *r); /* after the loops have ended */
struct instances *rest_instances(struct rest *r);
/* Every watch of that loop has been told of all up to this revision; on the loop. */
uint64_t rest_watched(struct rest *r, struct loop *l);

/*
 * Writes what every instance has by default, an array of objects, where it is not there yet or was
 * another; waits for the disk.
 */
int rest_write_templates(struct rest *r, const struct catalog *c, const struct json *objects,
                         struct status *st) __attribute__((warn_unused_result));

enum rest_form { FORM_OBJECT, FORM_PARTIAL, FORM_TABLE };
enum rest_body { BODY_JSON, BODY_YAML, BODY_PROTOBUF };
enum rest_patch { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

struct rest_warning {
    struct rest_warning *next;
    str text;
};

/* For the audit of the request: what admission has to say about it. */
struct rest_note {
    struct rest_note *next;
    str key, value;
};

struct rest_request {
    struct rest *rest;
    struct arena *arena;
    struct loop *loop;
    uint64_t whose; /* what goes on later is, on the loop */
    const struct identity *who;
    void *admitter; /* for the functions of rest_admission */
    struct instance instance;
    const struct catalog *catalog;
    const struct kind *kind;
    str namespace_, name, subresource;
    enum verb verb;
    struct list_options list;     /* of list, watch, deletecollection */
    struct write_options write;   /* of create, update, patch */
    struct delete_options delete; /* of delete, deletecollection; a body adds to it */
    enum rest_form form;
    enum table_include include; /* of FORM_TABLE */
    bool redacted;              /* kind->ops->redact: they may not read Secrets */
    str body;
    const struct json *sent;       /* filled in: the body as a tree, as far as it was read */
    struct json_duplicates *twice; /* filled in: members that a patch has more than once */
    struct outline outline;        /* filled in: of a body to be applied */
    const struct json *gated;      /* filled in: what was sent, if fields in it are off; or NULL */
    bool unmanaged;                /* the server's own write: nobody comes to manage what it sets */
    bool resets_managers; /* filled in: it leaves an object with an empty list of managedFields */
    enum rest_body body_type;
    enum rest_patch patch_type;
    int64_t deadline_ms; /* of the loop's clock: no read waits longer; 0: none */

    struct rest_warning *warnings; /* filled in for the answer */
    struct rest_note *notes;       /* and for the audit */

    /* Called exactly once, on the loop, maybe before rest_serve returns. */
    void (*done)(struct rest_request *req, const struct rest_reply *reply);
    void *user;

    uint64_t seen; /* of a write: the head when this try began to read */
    void *asked;   /* admission's: whom it has asked about the write, and the answers */
    struct conversions *converted; /* ours: rest/convert.h */
    struct rest_list *list_state;  /* ours, while its rows are converted */
    void *held;          /* admission's, for the time of the write (rest_admission.charged) */
    struct rest_op *op;  /* ours: a write under way */
    struct heavy *heavy; /* ours: a large body (rest/heavy.h) */
};

struct rest_list;
struct rest_watch;

/* What came of it; exactly one of failure, pieces, list, watch.  Valid as long as the arena. */
struct rest_reply {
    int code; /* 200 or 201 */
    const struct status *failure;
    const str *pieces;
    size_t npieces;
    struct rest_list *list;   /* a body to be pulled */
    struct rest_watch *watch; /* to be started */
};

void rest_serve(struct rest_request *req);

/* For admission: adds to the request what the client, or its audit, is told. */
void rest_warn(struct rest_request *req, str text);
void rest_note(struct rest_request *req, str key, str value);

/*
 * For admission: an object of one kind in the version of another kind of the same thing; and as a
 * client would see it, with its managedFields and, if there is one, its resourceVersion.
 */
int rest_convert(struct rest_request *req, const struct kind *from, const struct kind *to,
                 const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
const struct json *rest_shown(struct rest_request *req, const struct json *obj, bool old);

/* The same of the subresource "scale": an object of that kind as its Scale, and as a Scale says. */
bool rest_is_scale(const struct rest_request *req);
const struct json *rest_scale_of(const struct rest_request *req, const struct kind *k,
                                 const struct json *obj);
const struct json *rest_scale_put(const struct rest_request *req, const struct kind *k,
                                  const struct json *obj, const struct json *scale);

/* Begins a write anew that admission has told to wait; on its loop. */
void rest_write_again(struct rest_request *req);

/*
 * A list in progress: appends about `want` bytes to out, or less (even nothing) when it has looked
 * at many rows, then returns 1; 0 when the list is complete, -1 when it cannot be completed (the
 * history it needs is gone: rest_list_failure says it).
 */
int rest_list_pull(struct rest_list *l, struct buf *out, size_t want);
const struct status *rest_list_failure(const struct rest_list *l);

/*
 * A running watch.  Frames go to the sink; when `queued` says that much waits for the client, the
 * initial objects pause until rest_watch_resume.  The sink ends it by rest_watch_stop; the watch
 * ends itself by calling end, after which it is gone.
 */
struct rest_sink {
    bool (*push)(struct rest_sink *s,
                 struct bytes *frame); /* takes its own reference; false: closed */
    size_t (*queued)(struct rest_sink *s);
    void (*end)(struct rest_sink *s);
};
void rest_watch_start(struct rest_watch *w, struct rest_sink *sink);
void rest_watch_resume(struct rest_watch *w);
void rest_watch_stop(struct rest_watch *w);

/*
 * The body of a request whose answer is not an object of the store, as a tree of that schema; it
 * must say this kind and version, if any.  A version that is no longer served may still be one to
 * write the same thing in.
 */
struct rest_body_type {
    const struct schema *schema;
    const struct schema *numbers; /* of protobuf; NULL: the schema */
    str kind, api_version;
    str old_version; /* may be empty */
};
int rest_read_body(struct rest_request *req, const struct rest_body_type *type,
                   const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* A namespace that such a body names must be that of the path; BAD_REQUEST. */
int rest_check_namespace(const struct rest_request *req, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));

/* The JSON of a Status for a failure: what every error answer is. */
void rest_status_print(struct buf *b, const struct status *st);

#endif
