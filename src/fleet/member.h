/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_MEMBER_H
#define FLEET_MEMBER_H

/*
 * The members of all instances, as connections.  A fleet turns the name of a member into a client
 * of it: it reads the Cluster object and the Secret it names, checks what they say (nothing in them
 * is trusted: fleet/egress.h and the limits below), and opens one HTTP/2 connection, which all who
 * ask for the same member on the same loop share.
 *
 *     if (fleet_member(f, a, &(struct member_name){ .instance = i, .cluster = c }, &m, st) < 0)
 *         return -1;
 *     rc = client_get(member_client(m), a, &ref, &object, st);
 *     member_unref(m);
 *
 * Asking reads the objects each time, which in process costs microseconds, so that a changed
 * credential is used from the next question on; the connection is remade only when something has
 * changed.  So ask for each piece of work.  Who holds a member for long (an informer in it) looks
 * at the Cluster and its Secret by a source of its own.
 *
 * A member that hangs or lies harms itself only: each call has a time limit, each answer a limit
 * of size, and nothing here waits on the loop.
 *
 * A fleet belongs to the loop of the client it was given; one a loop.
 */

#include "client/client.h"
#include "fleet/egress.h"

struct fleet;
struct member;

/* Which kind of object says where a member is. */
enum member_door {
    MEMBER_KARMADA,  /* clusters.cluster.karmada.io: apiEndpoint and Secrets */
    MEMBER_KCP,      /* clusters.workload.kcp.dev: an inline kubeconfig */
    MEMBER_REGISTRY, /* clusters.fleet.kairship.io of the root instance: a kubeconfig in a Secret */
    MEMBER_DOORS,
};

/* Two instances may have members of equal names, and one instance may have one at each door. */
struct member_name {
    str instance; /* empty: the one that the fleet's client is for */
    str cluster;
    enum member_door door;
    bool impersonator; /* with the credentials for acting as others (impersonatorSecretRef) */
};

struct fleet_options {
    const struct egress *egress; /* where connections may go; kept; NULL: egress_default */
    bool insecure;               /* insecureSkipTLSVerification is obeyed, not refused */
    int64_t timeout_ms;          /* of a call that says nothing else; 0: 30 s */
    int64_t connect_ms;          /* 0: 5 s */
    size_t reply_max;            /* bytes of an answer; 0: 64 MiB */
    size_t window;               /* as in struct http_client_options */
};

/* The control plane's client stays the caller's and lives longer; o may be NULL. */
struct fleet *fleet_new(struct client *control, const struct fleet_options *o);

/*
 * On the loop's thread, or when it runs no more.  Every member has been given back, no question is
 * under way.
 */
void fleet_free(struct fleet *f);

struct loop *fleet_loop(const struct fleet *f);

/*
 * A reference of the caller's.  Blocks; any thread but the loop's.  NOT_FOUND: there is no such
 * Cluster.  INVALID: what it or its Secret says cannot be used; the message says which field and
 * why.  Whether the member answers is not tried.
 */
int fleet_member(struct fleet *f, struct arena *a, const struct member_name *name,
                 struct member **out, struct status *st) __attribute__((warn_unused_result));

/* The same with a callback, on the loop.  Kept by the caller until `done` (once) or cancel. */
struct fleet_lookup {
    struct arena *arena; /* the words of `why` live here */
    /* Either a reference of the receiver's, or NULL and why not. */
    void (*done)(struct fleet_lookup *l, struct member *m, const struct status *why);
    void *user;
    void *impl; /* the fleet's */
};
void fleet_lookup(struct fleet *f, const struct member_name *name, struct fleet_lookup *l);
void fleet_lookup_cancel(struct fleet_lookup *l); /* no callback comes after */

/* Any thread.  The connection closes when the last user of a member that is stale has gone. */
struct member *member_ref(struct member *m);
void member_unref(struct member *m);

/* Borrowed from the member.  Its loop is the fleet's. */
struct client *member_client(const struct member *m);
/* For those who pass on what they do not understand (the proxy). */
struct client_transport *member_transport(const struct member *m);

#endif
