/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ADMIN_KUBECONFIG_H
#define CMD_ADMIN_KUBECONFIG_H

/* How commands for the admin of a running server find it. */

#include "client/client.h"

#define ADMIN_CONTEXT_HELP \
    "Use this context of the kubeconfig. Without this option: its current context."
#define ADMIN_KUBECONFIG_HELP                                                                    \
    "Connect to the server with this kubeconfig. Without this option: with $KUBECONFIG, else "   \
    "with admin.kubeconfig of the data folder that the configuration names (data-dir), else of " \
    "./kairship-data."
#define ADMIN_INSTANCE_HELP \
    "Use this instance (root: the root instance). Without this option: that of the kubeconfig."

/*
 * From `path`, else $KUBECONFIG, else what the server of this machine wrote into its data folder
 * (options_server).  Errors say what to do next.  `context` may be NULL: the current one.
 */
int admin_kubeconfig(struct arena *a, const char *path, const char *context, struct kubeconfig *out,
                     struct status *st) __attribute__((warn_unused_result));

/*
 * That of a data folder.  In a folder of another user the file may hold inline data only: else the
 * user of a server could have root run a command, or send a file of root's as a token.
 */
int admin_kubeconfig_of(struct arena *a, const char *dir, const char *context,
                        struct kubeconfig *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The URL of the server for people and clusters on other machines: what the server advertises when
 * the kubeconfig leads to an address of this machine alone.  Empty: that of the kubeconfig is good
 * for others, too, or the server has no other.  `instance` is one that the client may ask; empty:
 * the root instance.
 */
int admin_kubeconfig_elsewhere(struct arena *a, struct client *c, const struct kubeconfig *k,
                               str instance, str *url, struct status *st)
    __attribute__((warn_unused_result));

#endif
