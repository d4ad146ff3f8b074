/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_GARBAGE_INTERNAL_H
#define APISERVER_UPKEEP_GARBAGE_INTERNAL_H

/* What garbage.c (what to look at, and when) and garbage_act.c (what to do then) share. */

#include "apiserver/call/internal.h"
#include "client/client.h"

/* Looking at one thing. */
struct gc {
    struct server *server;
    struct client *client;
    struct arena *arena;
    struct instance instance;
    const struct catalog *catalog;
};

/* The stored kind of that type in the instance, or NULL. */
const struct kind *gc_kind(const struct gc *g, uint32_t type);

/* An object and what kind it is of. */
struct gc_object {
    const struct kind *kind;
    const struct json *obj;
};

/*
 * Deletes the object if all its owners are gone, or takes those that are out of it; lets it go if
 * it waits for its dependents, and none holds it any more.  0, or -1: to be tried again.
 */
int gc_look_at(const struct gc *g, const struct gc_object *o, struct status *st)
    __attribute__((warn_unused_result));

/* Calls gc_look_at for all that belong to an owner. */
int gc_owner_gone(const struct gc *g, str uid, struct status *st)
    __attribute__((warn_unused_result));

/* The Endpoints of that name go with a Service, whoever made them; as in Kubernetes, a server that
 * is killed in between leaves them.  k8s: registry/core/service/storage/storage.go afterDelete */
int gc_service_gone(const struct gc *g, str row, struct status *st)
    __attribute__((warn_unused_result));

/* It is being deleted and waits for its dependents, or for being taken out of them. */
bool gc_is_waiting(const struct json *obj);

#endif
