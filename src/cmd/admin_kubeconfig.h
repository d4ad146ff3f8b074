/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ADMIN_KUBECONFIG_H
#define CMD_ADMIN_KUBECONFIG_H

/* How commands for the admin of a running server find it. */

#include "client/kubeconfig.h"

#define ADMIN_CONTEXT_HELP \
    "Use this context of the kubeconfig. Without this option: its current context."
#define ADMIN_KUBECONFIG_HELP                                                                  \
    "Connect to the server with this kubeconfig. Without this option: with $KUBECONFIG, else " \
    "with ./kairship-data/admin.kubeconfig."
#define ADMIN_INSTANCE_HELP \
    "Use this instance (root: the root instance). Without this option: that of the kubeconfig."

/*
 * From `path`, else $KUBECONFIG, else what `kairship up` wrote into ./kairship-data.  Errors say
 * what to do next.  `context` may be NULL: the current one.
 */
int admin_kubeconfig(struct arena *a, const char *path, const char *context, struct kubeconfig *out,
                     struct status *st) __attribute__((warn_unused_result));

#endif
