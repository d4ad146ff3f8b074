/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLERS_WORKS_H
#define CONTROLLERS_WORKS_H

/*
 * The syncers of all members in push mode, of all instances: the arg of the controllers that start
 * and stop them (works.c for Karmada's Clusters, syncer_manager.c for kcp's).  They live on the
 * loop of the fleet, and of the controllers' clients, which is the same.
 */

#include "fleet/member.h"
#include "fleet/syncer.h"

struct works;

struct works *works_new(struct fleet *f);
/* After the controllers have stopped; not on the loop, which still runs. */
void works_free(struct works *w);

struct fleet *works_fleet(const struct works *w);

/* What is wanted of one syncer. */
struct works_order {
    str instance, cluster;
    enum member_door door;
    struct member *member; /* taken; NULL: stays as it is, or without one if there is none */
    enum syncer_mode mode;
    struct syncer_options options; /* but source, target, instance, cluster: those are filled in */
};

/* There is to be one, so; or none any more.  From a worker. */
void works_keep(struct works *w, struct client *source, const struct works_order *o);
void works_drop(struct works *w, str instance, str cluster, enum member_door door);

/* interp/, as syncers ask it. */
extern const struct syncer_ops works_ops;

#endif
