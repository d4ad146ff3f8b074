/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_IN_CLUSTER_H
#define CLIENT_IN_CLUSTER_H

/*
 * What a pod is given to reach the API of the cluster it runs in: the address in its environment,
 * and a token, a CA and a namespace in a folder.  The token is replaced while the pod runs; the
 * transport reads it again (client/http_transport.h).
 */

#include "client/kubeconfig.h"

#define IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* Where that folder is: there, or where $KAIRSHIP_SERVICE_ACCOUNT_DIR says (sim/process.h). */
const char *in_cluster_dir(void);

/* Whether the environment says that this is a pod. */
bool in_cluster(void);

/* The context is called "in-cluster".  NOT_FOUND outside of a pod. */
int in_cluster_config(struct arena *a, const char *dir, struct kubeconfig *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
