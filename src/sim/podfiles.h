/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PODFILES_H
#define SIM_PODFILES_H

/*
 * What a container finds around it, as files in a folder and as an environment: its service
 * account's token, Secrets and ConfigMaps that its pod mounts, values that come from these.
 */

#include "sim/process.h"

struct podfiles_options {
    const char *dir; /* of all pods */
    str ca_pem;
};

struct podfiles {
    const char *dir; /* of this pod */
    struct process_mount *mounts;
    size_t nmounts;
    str *env; /* "NAME=value" */
    size_t nenv;
};

/* Blocks.  Written anew each time: what has changed is seen when the process starts again. */
int podfiles_write(const struct podfiles_options *o, struct client *client, struct arena *a,
                   const struct informer_key *k, const struct json *pod,
                   const struct json *container, struct podfiles *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
