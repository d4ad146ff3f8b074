/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_API_IMPORTER_H
#define FEDERATION_CONTROLLERS_MEMBERS_API_IMPORTER_H

/* What the importer of types needs beside its client: its arg. */

#include <pthread.h>

#include "base/clock.h"
#include "base/map.h"
#include "fleet/member.h"

#define API_IMPORTER_RESOURCES "deployments.apps, daemonsets.apps, statefulsets.apps, jobs.batch"

struct api_importer {
    struct fleet *fleet;
    str resources;       /* as fleet/api_pull.h says; empty: API_IMPORTER_RESOURCES */
    int64_t every_ms;    /* 0: a minute */
    struct clock *clock; /* NULL: the real one */

    /* When each Cluster is to be looked at again: saves work, and can be lost at any time. */
    pthread_mutex_t mu;
    struct map looked; /* guarded by mu */
};

void api_importer_init(struct api_importer *i);    /* before its options are set */
void api_importer_release(struct api_importer *i); /* after its controller has stopped */

#endif
