/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_INSTANCE_H
#define REST_INSTANCE_H

/*
 * Instances by name.  An instance is two rows in the store, written and removed in the same
 * transaction as its Instance object: name → id and id → name.  There is no other state, so an
 * idle instance costs these rows and nothing else, and a look-up is a read of the store.
 *
 * Id 0 holds the template rows that every instance has by default, id 1 is the root instance.
 */

#include "base/arena.h"
#include "base/status.h"
#include "store/store.h"

#define INSTANCE_ROOT_NAME "root" /* what answers over all instances call it; not in paths */

enum { INSTANCE_TEMPLATE = 0, INSTANCE_ROOT = 1, INSTANCE_FIRST = 16 };

/* Types of rows that are not objects; those of objects begin at TYPE_FIRST. */
enum {
    TYPE_TYPES = 0,
    TYPE_INSTANCES = 1,
    TYPE_INSTANCE_IDS = 2,
    TYPE_COUNTERS = 3,
    TYPE_SCHEMAS = 4,
    TYPE_QUOTAS = 5, /* what is used of the quotas of a namespace (apiserver/admission/quota.h) */
    TYPE_CLAIMS = 6, /* the last to take what only one can have (apiserver/admission/admission.h) */
    TYPE_FIRST = 16
};

enum instance_profile { PROFILE_KARMADA, PROFILE_MINIMAL, PROFILE_KUBERNETES }; /* stored */

/* What an instance may use at most.  0: nothing is said, so the server's defaults hold. */
#define INSTANCE_UNLIMITED UINT64_MAX
struct instance_limits {
    uint64_t objects, bytes, in_flight, watches;
};

struct instance {
    uint32_t id; /* STORE_ALL: all of them, as the path says by "*" */
    str name;    /* empty: root */
    str uid;
    uint64_t created_rev;
    str created; /* RFC 3339 */
    enum instance_profile profile;
    bool terminating;
    bool suspended; /* nothing in it is changed but statuses (apiserver/server/suspension.c) */
    bool attached;  /* it is elsewhere: people's requests go there (apiserver/outbound/proxy.c) */
    struct instance_limits limits;
};

struct instances;

/* Writes the rows of root and the counter on an empty store; waits for the disk. */
struct instances *instances_open(struct store *s, int64_t now_s, struct status *st);
void instances_free(struct instances *in);

/* NOT_FOUND, worded for the Instance object.  An empty name is root.  Strings live in the arena. */
int instance_find(struct instances *in, struct arena *a, str name, struct instance *out,
                  struct status *st) __attribute__((warn_unused_result));

/* What the instance was called at that revision (0: is called now); "root" for root. */
int instance_name(struct instances *in, struct arena *a, uint32_t id, uint64_t rev, str *out,
                  struct status *st) __attribute__((warn_unused_result));

/* ---- for the transactions that create, change and remove an Instance object ---- */

/* A new id; never one that was used before.  UNAVAILABLE while more ids are being reserved. */
int instance_new_id(struct instances *in, uint32_t *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The other name whose virtual cluster, by which the instance is indexed, would have the same name:
 * "k-x" of x, and x of "k-x".  Only one of them can be.  Empty: there is none.
 */
str instance_twin(struct arena *a, str name);

/* Fills operations that go with the object's own; returns how many (at most 3). */
size_t instance_create_ops(struct arena *a, const struct instance *i, struct store_op ops[3]);
size_t instance_update_ops(struct arena *a, const struct instance *i, struct store_op ops[3]);
size_t instance_delete_ops(struct arena *a, const struct instance *i, struct store_op ops[3]);

/* The id of a type, given for ever when it is first asked for; waits for the disk then. */
int type_id(struct store *s, str group, str plural, uint32_t *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The same for many, with one wait: while nobody else asks for new ones.  Numbers are given at once
 * and last when type_batch_commit has returned.  Begins with store and arena.
 */
struct type_batch {
    struct store *store;
    struct arena *arena;
    struct store_op *ops; /* rows of new types */
    size_t n, cap;
    uint32_t last; /* highest number, 0: not known yet */
};
int type_batch_id(struct type_batch *b, str group, str plural, uint32_t *out, struct status *st)
    __attribute__((warn_unused_result));
int type_batch_commit(struct type_batch *b, struct status *st) __attribute__((warn_unused_result));

/* 1, or 0 when it was never asked for; inside an epoch. */
int type_find(struct store *s, struct arena *a, str group, str plural, uint32_t *out,
              struct status *st) __attribute__((warn_unused_result));

/* The number in a row of TYPE_TYPES; false when it is none. */
bool type_of_row(const struct store_row *row, uint32_t *out);

#endif
