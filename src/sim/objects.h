/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_OBJECTS_H
#define SIM_OBJECTS_H

/* Objects of Kubernetes as the controllers of a simulated cluster read and write them. */

#include "client/informer.h"
#include "object/meta/condition.h"

/* ---- making ---- */

const struct json *obj_str(struct arena *a, str s);

/* Fixed text of our own that is JSON. */
const struct json *obj_of(struct arena *a, const char *text);

const struct json *obj_set_str(struct arena *a, const struct json *v, const char *path, str s);
const struct json *obj_set_int(struct arena *a, const struct json *v, const char *path, int64_t i);

/* A member with any name (an annotation, a label) of the object at a path. */
const struct json *obj_put(struct arena *a, const struct json *v, const char *path, str name,
                           struct json value);

struct json obj_time(struct arena *a, int64_t wall_s);

/* "kind", "apiVersion" and metadata with the owner's namespace, owned and controlled by it. */
const struct json *obj_owned(struct arena *a, const char *api_version, const char *kind,
                             const struct json *owner, const char *owner_version,
                             const char *owner_kind);

/* Letters and digits for a value, the same for equal ones, as names of revisions have them. */
str obj_hash(struct arena *a, const struct json *v);

/*
 * The list of conditions with this one in it.  Its times change only where it does, and so equal
 * conditions make equal lists.  times: "lastTransitionTime", "lastUpdateTime" … a Deployment's has
 * both.
 */
struct obj_condition {
    const char *type;
    bool holds;
    str reason, message;
    bool updates; /* it has a lastUpdateTime, too */
};
const struct json *obj_condition(struct arena *a, const struct json *conditions,
                                 const struct obj_condition *c, int64_t wall_s);

/* ---- looking ---- */

str obj_name(const struct json *v);
str obj_uid(const struct json *v);
bool obj_deleting(const struct json *v);

/* The ownerReference that controls it, or NULL. */
const struct json *obj_controller(const struct json *v);

/* Whether the labels have all that the selector, an object, asks for. */
bool obj_selects(const struct json *selector, const struct json *labels);

/* ---- pods ---- */

bool pod_is_ready(const struct json *pod);
bool pod_is_over(const struct json *pod);   /* Succeeded or Failed */
bool pod_is_active(const struct json *pod); /* neither, and not being deleted */

/* Whether it has been ready for that long; else *wait_ms is shortened to when it will. */
bool pod_is_available(const struct json *pod, int64_t min_ready_s, int64_t now_s, int *wait_ms);

/* ---- the API ---- */

/* A thing in the instance and namespace of a key; the key's own name, or none (NULL: a list). */
struct client_ref obj_ref(const struct informer_key *k, const char *group, const char *resource);
struct client_ref obj_ref_named(const struct informer_key *k, const char *group,
                                const char *resource, str name);

/* 1, 0 when there is none, -1. */
int obj_get(struct client *c, struct arena *a, const struct client_ref *ref,
            const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* Status last, and only if it is another. */
int obj_put_status(struct client *c, struct arena *a, struct client_ref ref,
                   const struct json *object, const struct json *status, struct status *st)
    __attribute__((warn_unused_result));

/* Gone already is fine; so is another of the same name (uid may be empty: any). */
int obj_delete(struct client *c, struct arena *a, const struct client_ref *ref, str uid,
               int64_t grace_s, struct status *st) __attribute__((warn_unused_result));

/* To a subresource of something that is there.  out may be NULL. */
int obj_post(struct client *c, struct arena *a, const struct client_ref *ref,
             const struct json *object, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* Things that the owner controls among those that its selector finds. */
struct obj_list {
    const struct json **items;
    size_t n;
};
int obj_list_owned(struct client *c, struct arena *a, struct client_ref ref,
                   const struct json *owner, struct obj_list *out, struct status *st)
    __attribute__((warn_unused_result));

/* A pod of the template, not yet made: with labels, and a name or the beginning of one. */
const struct json *obj_pod(struct arena *a, const struct json *owner, const char *owner_version,
                           const char *owner_kind);
int obj_create(struct client *c, struct arena *a, const struct informer_key *k, const char *group,
               const char *resource, const struct json *object, struct status *st)
    __attribute__((warn_unused_result));

#endif
