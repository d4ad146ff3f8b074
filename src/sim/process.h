/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

/*
 * Containers that really run: those whose image is `kairship` are processes of this program, with
 * the container's command, arguments and environment.  There is no container around them, so what
 * a pod would find in its file system is in a folder, and where arguments and environment name a
 * place of a mounted volume they are given that folder's:
 *
 *     DIR/<member>/<namespace>/<pod>/serviceaccount/{token,ca.crt,namespace}
 *     DIR/<member>/<namespace>/<pod>/volumes/<volume>/<key>    of Secrets and ConfigMaps
 *     DIR/<member>/<namespace>/<pod>/<container>.log
 *
 * Whoever may make pods in a simulated member may so run this program, as the user who simulates.
 *
 * One that ends is started again after a while that doubles.  They end with the pod, and with us.
 * Any thread, but where something else is said.
 */

#include "client/informer.h"

struct processes;

struct processes_options {
    struct loop *loop;
    const char *dir, *program;
    str ca_pem;
    str (*address_of)(void *arg, struct arena *a, str instance); /* as in sim/sim.h */
    void *address_arg;
    /* On the loop: a process of that pod has ended; process_ensure starts it again. */
    void (*ended)(void *arg, const struct informer_key *pod);
    void *arg;
};

struct processes *processes_new(const struct processes_options *o);
void processes_free(struct processes *p); /* after the loop has ended */

/* Whether a container of the pod is to be a process.  Pure. */
bool process_wanted(const struct json *pod);

/*
 * What of the pod is to run runs, or has to wait for its next start.  0, or a wish to be called
 * again after so many milliseconds: for that, or to renew the token.  Blocks.
 */
int process_ensure(struct processes *p, struct client *client, struct arena *a,
                   const struct informer_key *k, const struct json *pod, struct status *st)
    __attribute__((warn_unused_result));

/* How a container's process is: of one that is none of ours, up and never started again. */
struct process_view {
    int64_t restarts;
    bool down; /* it has ended, and is not yet started again */
};
struct process_view process_look(struct processes *p, const struct informer_key *k, str container);

/* SIGTERM, and SIGKILL two seconds later. */
void processes_stop(struct processes *p, const struct informer_key *k);
void processes_stop_all(struct processes *p); /* and waits for them; not on the loop */

/* Text with each of the places in it that begins a path replaced: mounts of a container.  Pure. */
struct process_mount {
    str at, dir;
};
str process_relocate(struct arena *a, str text, const struct process_mount *m, size_t n);

#endif
