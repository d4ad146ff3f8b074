/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_INFORMER_H
#define CLIENT_INFORMER_H

/*
 * Knows which objects of a type exist, and tells when that changes: list, then watch, for ever.
 *
 * The watch goes on where it ended; when the server has forgotten that revision (410) everything
 * is listed anew and the differences are told.  Handlers see each object's changes in order, never
 * a change that is older than one already told, and no two of them run at once.  They run on the
 * client's loop: put the key into a workqueue and return.
 *
 * It holds keys and resourceVersions, not the objects: who needs one asks the server, which in
 * process costs next to nothing.  What an informer knows may be old.
 *
 * With gather == true changes are told up to half a second late while more than twenty come in a
 * second, the last one of each object only (client/coalesce.h): for costly work on objects that
 * change often.  Of what came and went in that time its end is told.
 */

#include "client/client.h"

struct informer;

struct informer_key {
    str instance; /* of a wildcard informer (ref.instance "*"), else empty */
    str namespace, name;
};

/* "instance/namespace/name", any of the first two may be empty: what workqueues hold. */
str informer_key_text(struct arena *a, const struct informer_key *k);
bool informer_key_parse(str text, struct informer_key *out); /* slices of the text */

struct informer_options {
    struct client *client;
    struct client_ref ref; /* without a name */
    str label_selector, field_selector;
    bool marks;      /* informer_status_only() is asked for */
    bool gather;     /* where much happens an event that is soon overtaken is not told */
    uint32_t page;   /* objects per list request; 0: 500 */
    int64_t wait_ms; /* after a first failure, then doubling up to 30 s; 0: 800 ms */

    /* Any may be NULL.  The trees live until the handler returns, and say apiVersion and kind. */
    void (*added)(void *arg, const struct informer_key *k, const struct json *now);
    void (*updated)(void *arg, const struct informer_key *k, const struct json *now);
    /* last: NULL when the deletion was noticed by a list */
    void (*deleted)(void *arg, const struct informer_key *k, const struct json *last);
    void (*synced)(void *arg); /* once: all that existed at the beginning has been told */
    void (*listed)(void *arg); /* after each list, when its differences have been told */
    void *arg;
};

struct informer *informer_new(const struct informer_options *o); /* copies what it needs */

/* On the loop's thread.  Handlers begin to be called after start has returned, end with free. */
void informer_start(struct informer *i);
void informer_free(struct informer *i); /* not from a handler */

/* Whoever calls knows that the server answers: a wait after a failure ends now.  On the loop. */
void informer_nudge(struct informer *i);

/* Whether it knows the object.  Whoever made one that a list did not have any more asks this in
 * `listed`: its end was never told.  On the loop. */
bool informer_knows(struct informer *i, const struct informer_key *k);

/*
 * In `updated`: the change was one of the status alone.  Known of objects that have a generation,
 * when options.marks is set.
 */
bool informer_status_only(const struct informer *i);

/* ---- any thread ---- */

bool informer_has_synced(struct informer *i);

/* All keys of this moment, in no order. */
struct informer_key *informer_keys(struct informer *i, struct arena *a, size_t *n);

#endif
