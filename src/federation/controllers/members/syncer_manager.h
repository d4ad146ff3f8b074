/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_SYNCER_MANAGER_H
#define FEDERATION_CONTROLLERS_MEMBERS_SYNCER_MANAGER_H

/* What the syncer manager needs beside its client: its arg. */

#include <pthread.h>

#include "base/map.h"
#include "client/recorder.h"
#include "federation/controllers/frame/tenancy.h"
#include "federation/controllers/members/works.h"

/* Who runs the syncers of kcp's Clusters. */
enum syncer_place {
    SYNCER_PUSH, /* this process */
    SYNCER_PULL, /* the members: we bring it there */
    SYNCER_NONE, /* somebody else */
};

struct syncer_manager {
    struct works *works;
    enum syncer_place place;
    str server;                /* how members reach us, "https://host:port"; of pull mode */
    str ca_pem;                /* by which they know us; empty: the client's */
    str image;                 /* of pull mode; empty: nothing is installed, and Clusters say so */
    struct clock *clock;       /* NULL: the real one */
    struct recorder *recorder; /* NULL: nobody is told */
    int64_t beat_ms;           /* how often syncers give a sign of life; 0: 20 s */
    int64_t silence_ms;        /* how long one may be silent; 0: 60 s */

    struct controller *controller;
    struct suspensions suspensions; /* of the loop */

    /* The types of each Cluster, remembered because imports are many and large. */
    pthread_mutex_t mu;
    struct map known; /* guarded by mu */
};

void syncer_manager_init(struct syncer_manager *m);    /* before its options are set */
void syncer_manager_release(struct syncer_manager *m); /* after its controller has stopped */

/* "push", "pull", "none". */
bool syncer_place_parse(str text, enum syncer_place *out);

#endif
