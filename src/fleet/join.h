/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_JOIN_H
#define FLEET_JOIN_H

/*
 * How a cluster becomes a member of an instance, and stops being one.
 *
 * In the member: the namespace karmada-cluster with two service accounts, one by which the control
 * plane works there and one by which it acts for its users, their roles, and a token of each that
 * does not expire.  An annotation of the namespace says for which instance.  In the instance: two
 * Secrets with these tokens, and the Cluster.
 *
 * Each step looks before it acts, so that what was broken off can be done again.  Blocks; any
 * thread but the clients' loops.
 */

#include "client/client.h"

struct join {
    struct client *control;
    str instance; /* empty: the one that the client is for */
    str name;     /* of the Cluster */

    struct client *member;
    str server, ca_pem; /* where the instance finds it; without a CA: what the member says it is */

    str provider, region;     /* may be empty */
    const struct json *zones; /* a list, or NULL */
    const struct json *labels;
};

/*
 * ALREADY_EXISTS: the cluster has joined the instance under another name, or another cluster has
 * that name.  Other errors say in which step; doing it again goes on there.
 */
int join_member(const struct join *j, struct arena *a, const struct json **cluster,
                struct status *st) __attribute__((warn_unused_result));

/*
 * The same in pull mode, without a way into the member: the Cluster, an account that can be the
 * syncer of this Cluster and nothing else, and a manifest that an administrator of the member
 * applies there.  It holds a token of that account, which is good as long as the Cluster is there.
 * Of struct join `member`, `server` and `ca_pem` are not used.
 */
struct join_pull {
    struct join join;
    str logical;                     /* the name of the instance */
    str server, server_name, ca_pem; /* how the syncer reaches the instance */
    str image;
    int64_t beat_s;
};
int join_pull(const struct join_pull *p, struct arena *a, secret *manifest, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Lets the account by which the control plane acts for its users (karmada-impersonator, in that
 * namespace of the member) be anybody there: who may go through it is said in the instance.  Who
 * joined the cluster may have left that to the control plane, as karmadactl does.
 * karmada: pkg/controllers/unifiedauth
 */
int join_impersonator(struct client *member, struct arena *a, str namespace, struct status *st)
    __attribute__((warn_unused_result));

/* On a Cluster: when it goes, what join_member left in the member goes, too. */
#define JOIN_CLEAN "fleet.kairship.io/clean"

/*
 * Asks for the Cluster's end; when it has gone, the member is clean, if it could be reached.
 * NOT_FOUND: there is none.
 */
int join_leave(struct client *control, struct arena *a, str instance, str name, struct status *st)
    __attribute__((warn_unused_result));
/* Whether it has gone, waiting that long; TIMEOUT if not. */
int join_gone(struct client *control, str instance, str name, int64_t wait_ms, struct status *st)
    __attribute__((warn_unused_result));

/*
 * Takes away what join_member left in the member, except what another instance that it has joined
 * uses, too.  It may be done with the member's own account, whose rights go last; the member's
 * garbage collector takes what hangs on them.  marked: only if it was join_member that put it
 * there.
 */
int join_clean(const struct join *j, bool marked, struct arena *a, struct status *st)
    __attribute__((warn_unused_result));

#endif
