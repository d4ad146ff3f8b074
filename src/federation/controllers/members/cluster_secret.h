/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_MEMBERS_CLUSTER_SECRET_H
#define FEDERATION_CONTROLLERS_MEMBERS_CLUSTER_SECRET_H

/*
 * The kubeconfig of a kcp Cluster as a Secret, cluster-<name> in kube-system, where the credentials
 * of other members are, too.  It follows the Cluster and is deleted with it.  The Cluster itself
 * shows the kubeconfig only to callers who may read this Secret (redact in rest/kind.h).
 */

#include "client/client.h"

int cluster_secret_keep(struct client *client, struct arena *a, str instance,
                        const struct json *cluster, struct status *st)
    __attribute__((warn_unused_result));

#endif
