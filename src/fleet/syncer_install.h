/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_SYNCER_INSTALL_H
#define FLEET_SYNCER_INSTALL_H

/*
 * What a syncer needs to run inside of its member (pull mode), as objects to be applied.  Pure.
 *
 * In the member: a namespace of its own, an account that may do with the synced types, and with
 * nothing else, what the syncer does, a Secret with the way to the control plane, and the
 * Deployment that runs it.  In the instance: an account that may read the synced types and write
 * their status, and its own Cluster's; a token of it is what the Secret holds, so that it opens
 * that instance alone.
 *
 * All that belongs to one syncer has one name, which tells the instance and the cluster apart from
 * all others in the member.
 */

#include "fleet/syncer_types.h"

struct syncer_install {
    str logical, cluster; /* which instance, which Cluster of it */
    str uid;              /* of the Cluster */
    str image;
    secret kubeconfig; /* to the instance */
    const struct syncer_types *types;
    int64_t beat_s; /* how often it gives a sign of life */
    /* Of a Cluster of Karmada, not of kcp: it carries Works, in which anything can be, so that it
     * may do anything in the member. */
    bool works;
};

#define SYNCER_ACCOUNTS "kube-system"     /* the namespace of accounts in the instance */
#define SYNCER_LEASES   "karmada-cluster" /* that of the Leases of members */

/* "kcp-syncer-<cluster>-<8 digits>", not longer than a name may be. */
str syncer_install_name(struct arena *a, str logical, str cluster, str uid);

/* Where one of the objects goes, with name and namespace. */
struct syncer_object {
    struct client_ref ref;
    const struct json *object;
};

enum { SYNCER_OBJECTS = 6 };

/* In the order in which they are applied; deleted in the reverse order. */
void syncer_install_member(struct arena *a, const struct syncer_install *i,
                           struct syncer_object out[SYNCER_OBJECTS]);

enum { SYNCER_ACCOUNT_OBJECTS = 4 };

/* In the instance: ServiceAccount, ClusterRole, its binding, the Secret that gets the token. */
void syncer_install_account(struct arena *a, const struct syncer_install *i,
                            struct syncer_object out[SYNCER_ACCOUNT_OBJECTS]);

enum { SYNCER_WORKS_ACCOUNT_OBJECTS = 8 };

/*
 * The same for one that carries Works: it reads them and writes their status, and says what it
 * finds of its own Cluster alone.  All of it is owned by the Cluster and goes with it.  Namespaces
 * and Lease are there already.
 */
void syncer_install_works_account(struct arena *a, const struct syncer_install *i,
                                  struct syncer_object out[SYNCER_WORKS_ACCOUNT_OBJECTS]);

#endif
