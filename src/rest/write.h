/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_WRITE_H
#define REST_WRITE_H

/*
 * What all writes share: an object on its way into the store.
 *
 * A write reads the current row, makes the new object out of it, and commits with the expectation
 * that the row is still the same.  If it is not, the whole is done again from the new row, unless
 * the client insisted on a version.  The function that makes the new object is the only thing in
 * which create, update, patch and delete differ.
 */

#include "rest/form.h"
#include "rest/rest_internal.h"

enum {
    WRITE_OPS = 8,
    /*
     * How often a lost race is run again.  Of many writers of one object only one wins a batch, so
     * a few tries are not enough; but each builds everything anew in the request's arena, and large
     * objects stop at WRITE_MEMORY.
     */
    WRITE_TRIES_MIN = 5,
    WRITE_TRIES = 200,
    WRITE_MEMORY = 16 << 20,
    GENERATE_TRIES = 8,
};

enum write_what {
    WRITE_NOTHING, /* the row is already as wanted: answer with it */
    WRITE_PUT,
    WRITE_REMOVE,
};

/*
 * How far a write had come when it had to wait: it goes on there if the row is still the same, so
 * that what was asked about is what is written, even where making it again would give another.
 */
struct write_stage {
    enum { STAGE_NONE, STAGE_MUTATE, STAGE_CHECK, STAGE_VALIDATE } at;
    const struct json *obj;
    uint64_t rev; /* of the row then */
    str managed;
    struct rest_warning *warnings, **warnings_end;
    struct rest_note *notes;
};

struct rest_op {
    struct store_txn txn; /* first: the store's callback gets this */
    struct store_op ops[WRITE_OPS];
    struct rest_request *req;
    str row;    /* name of the row */
    str name;   /* of the object */
    bool found; /* there is a current object: */
    struct row current;
    const struct json *old; /* it as a tree of the request's version */
    unsigned tries;
    struct rest_warning **warnings; /* where those of this try begin */
    struct store_op namespace_;     /* of a create: it must still be there */
    str managed;                    /* managedFields of what is stored (rest/managed_fields.h) */
    bool mutated;                   /* admission has changed what the client wanted */
    bool tracked;                   /* they are what they must be: an apply has made them */
    bool waiting;                   /* admission waits for somebody: write_run comes again */
    str sent_version;               /* of a create, which only a dry run lets be */
    str uid, created;               /* of what a create makes, the same in every try */
    struct write_stage stage;
    struct heavy *checked;       /* what a worker says of it (rest/heavy.h) */
    const struct json *to_store; /* obj in the stored version */

    /* Sets the following; 0, or -1 with the failure. */
    int (*make)(struct rest_op *op, struct status *st);
    enum write_what what;
    const struct json *obj; /* to store, or the object that goes; a tree of the request's version */
    bool insists;           /* the client named a version: a lost race is a conflict */
    bool answers_status;    /* with a Status of success, not with the object */
    int code;

    /* When set, called instead of answering; failure is NULL when it worked. */
    void (*then)(struct rest_op *op, const struct status *failure);
    void *user;
    str stored; /* what was written, for the answer */
};

/* Reads, makes, commits, answers.  op lives in the request's arena. */
void write_run(struct rest_op *op);

/* Reads the row of op->row. */
int write_load(struct rest_op *op, struct status *st) __attribute__((warn_unused_result));

/* What charging op->obj would say, of a create that is refused in any case. */
int write_check_charge(struct rest_op *op, struct status *st) __attribute__((warn_unused_result));

/* op->obj, validated on the way in, by the kind's and the common rules; rest/prepare.c. */
int write_prepare_create(struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));
int write_prepare_update(struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));

/* k8s: admission plugin NamespaceLifecycle.  The commit then expects the namespace unchanged. */
int write_check_namespace(struct rest_op *op, struct status *st)
    __attribute__((warn_unused_result));

/* Admission's last word; obj is NULL on delete. */
int write_validate(struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));

/* The same, but REST_WAIT is -1, and the op is marked. */
int write_waits(struct rest_op *op, int rc) __attribute__((warn_unused_result));

/*
 * What an update, a patch and an apply share: the version and the uid in the object must be the
 * current ones; then it is put, or taken out when nothing holds it any more.  rest/update.c.
 */
int write_check_version(struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));
int write_check_uid(const struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));
int write_change(struct rest_op *op, const struct json *obj, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Patches and applied configurations of what `shape` describes: the request's kind, or another form
 * of it (a Scale).  A patched tree is decoded; rest/update.c, rest/apply.c.
 */
int patch_read(struct rest_request *req, const struct json **patch, struct status *st)
    __attribute__((warn_unused_result));
int patch_tree(struct rest_request *req, const struct kind *shape, const struct json *old,
               const struct json *patch, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
int apply_read(struct rest_request *req, const struct kind *shape, const struct json **config,
               struct status *st) __attribute__((warn_unused_result));

struct kind_context write_context(const struct rest_op *op);

#endif
