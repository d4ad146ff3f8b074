/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_CONTROLLERS_H
#define CMD_CONTROLLERS_H

/*
 * The controllers of the controller-manager, and what they share.  Where the API server is does not
 * matter: `up` runs them beside it, `kairship controller-manager` in a process of their own.
 */

#include "client/client.h"
#include "federation/controllers/members/syncer_manager.h"

#define KARMADA_VERSION "v1.18.2" /* whose APIs and behaviour ours are */

struct controllers;

struct controllers_options {
    /* A client with the rights of that user, on one loop for all; the manager does not free it. */
    struct client *(*client)(void *arg, str user);
    void *arg;
    const char *controllers; /* "*", or names with commas; "*,-scheduler": all but that */
    bool loopback;           /* members may be at addresses of this machine, */
    str own;                 /* … but not at this one, which is our server's; may be empty */
    /* Of the syncers of kcp's Clusters: who runs them, and what pull mode needs to know. */
    enum syncer_place syncers;
    str server;                /* how members reach the API server, "https://host:port" */
    str syncer_image;          /* empty: nothing is installed */
    str resources_to_sync;     /* types to import from kcp's Clusters; empty: the usual workloads */
    int64_t splitter_grace_ms; /* until workloads leave a cluster that is not Ready; 0: 30 s */
    int64_t syncer_silence_ms; /* how long one may be silent; 0: a minute */
};

/* Whether the list names controllers that exist; for the command line. */
int controllers_check(const char *controllers, struct status *st)
    __attribute__((warn_unused_result));
const char *controllers_name(size_t i); /* of each there is; NULL: no more */

/* Not on a loop's thread.  The options' strings outlive it. */
struct controllers *controllers_start(const struct controllers_options *o);
void controllers_stop(struct controllers *m); /* the loops still run; NULL is fine */

#endif
