/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_WORKS_H
#define FEDERATION_CONTROLLERS_MEMBERS_WORKS_H

/*
 * The syncers of all members in push mode, of all instances: the arg of the controllers that start
 * and stop them (works.c for Karmada's Clusters, syncer_manager.c for kcp's).  They live on the
 * loop of the fleet, and of the controllers' clients, which is the same.
 */

#include "federation/controllers/frame/controller.h"
#include "fleet/member.h"
#include "fleet/syncer.h"

struct works;

struct customizations;

/* What kinds mean to instances: the caller's; may be NULL. */
struct works *works_new(struct fleet *f, struct customizations *c);
/* After the controllers have stopped; not on the loop, which still runs. */
void works_free(struct works *w);

struct fleet *works_fleet(const struct works *w);

/* What is wanted of one syncer. */
struct works_order {
    str instance, cluster;
    enum member_door door;
    struct member *member; /* taken; NULL: stays as it is, or without one if there is none */
    enum syncer_mode mode; /* SYNCER_RUNNING after SYNCER_SUSPENDED: a new one looks at all */
    /* But source, target, instance, cluster, ops: those are filled in. */
    struct syncer_options options;
};

/* There is to be one, so; or none any more.  From a worker. */
void works_keep(struct works *w, struct client *source, const struct works_order *o);
void works_drop(struct works *w, str instance, str cluster, enum member_door door);

/* All Clusters of the instance that this ref and key are about; it may not serve them. */
int works_wake_all(struct client *client, struct arena *a, struct client_ref clusters,
                   const struct informer_key *k, struct controller *c, struct status *st)
    __attribute__((warn_unused_result));

/* interp/, as syncers ask it; their ops_arg is a struct customizations, or NULL. */
extern const struct syncer_ops works_ops;

#endif
