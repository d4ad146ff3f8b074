/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_KUBECONFIG_EDIT_H
#define CLIENT_KUBECONFIG_EDIT_H

/*
 * Changes to the kubeconfig files of a person, beside kubectl and as it does them: in the file that
 * has the entry, else in the one that kubectl would choose, under kubectl's lock (FILE.lock).  All
 * that is not changed keeps its meaning; comments go, as with kubectl.  A file is replaced at once
 * and has mode 0600 then; a link to it stays one.
 *
 * k8s: client-go/tools/clientcmd/config.go, ModifyConfig
 */

#include "client/kubeconfig.h"

/* A cluster, a user and a context that joins them. */
struct kubeconfig_entry {
    str cluster, user, context; /* their names */
    str server, ca_pem;         /* without a CA: those of the system */
    secret token;
};

/*
 * Puts it in and makes its context the current one.  What there is of these names is changed: of
 * the cluster address and CA, of the context cluster and user (a namespace stays); the user has the
 * token and nothing else.  `path`: as for kubeconfig_load.  *file: where the context is now.
 */
int kubeconfig_put(struct arena *a, const char *path, const struct kubeconfig_entry *e, str *file,
                   struct status *st) __attribute__((warn_unused_result));

/* Takes the token out of every user that has it.  NOT_FOUND when none has: it came from somewhere
 * else. */
int kubeconfig_forget_token(struct arena *a, const char *path, secret token, struct status *st)
    __attribute__((warn_unused_result));

#endif
