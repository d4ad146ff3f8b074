/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ADMIN_H
#define CMD_ADMIN_H

/* How commands for the admin of a running server find it. */

#include "client/kubeconfig.h"

#define ADMIN_CONTEXT_HELP    "of the kubeconfig; else its current one"
#define ADMIN_KUBECONFIG_HELP "how to reach the server; else $KUBECONFIG, else the data folder's"

/*
 * From `path`, else $KUBECONFIG, else what `kairship up` wrote into ./kairship-data.  Errors say
 * what to do next.  `context` may be NULL: the current one.
 */
int admin_kubeconfig(struct arena *a, const char *path, const char *context, struct kubeconfig *out,
                     struct status *st) __attribute__((warn_unused_result));

#endif
