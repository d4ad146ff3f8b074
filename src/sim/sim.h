/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

/*
 * What makes clusters out of instances: nodes that are ready, a scheduler, a kubelet that says that
 * containers run, and the controllers of workloads and services.  One set of controllers serves the
 * instances of a server, however many; each looks like a cluster of its own from outside.
 *
 * A container runs as nothing at all, but one whose image is `kairship` (of any registry and tag)
 * runs as a process of this program (sim/process.h).
 *
 * Everything goes through the API, so a member can be looked at and changed by kubectl at any
 * moment, and nodes that others make are played like its own.  State is in the objects: it can be
 * ended at any line and started again.
 */

#include "apiserver/server/server.h"
#include "base/clock.h"

struct sim;

struct sim_options {
    struct server *server;
    struct loop *loop; /* of the server: informers run there */
    int64_t delay_ms;  /* until containers run, and until they have ended */
    int64_t job_ms;    /* until a pod of a Job has done its work */
    bool no_balancers; /* Services that want one wait for ever, as without a cloud */
    /* What a node has that does not say it: quantities. */
    const char *cpu, *memory, *pods;
    /* Of processes: */
    const char *dir;     /* where their folders are made */
    const char *program; /* what to run; NULL: nothing runs */
    str ca_pem;          /* by which they know their server */
    /* Where an instance is reached: "127.0.0.1:6443"; empty: nowhere.  Any thread. */
    str (*address_of)(void *arg, struct arena *a, str instance);
    void *arg;
};

/* Once the loops run.  What the options point to stays. */
struct sim *sim_new(const struct sim_options *o);
void sim_stop(struct sim *s); /* ends controllers and processes; while the loops run */
void sim_free(struct sim *s); /* after they have ended; NULL is fine */

#endif
