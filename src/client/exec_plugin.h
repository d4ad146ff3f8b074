/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_EXEC_PLUGIN_H
#define CLIENT_EXEC_PLUGIN_H

/*
 * A program that a person's kubeconfig names, which says who they are (client.authentication.k8s.io
 * v1 and v1beta1): `aws eks get-token` and the like.  It is run once, when the file is loaded; the
 * caller waits, so never on a loop.  A file that comes out of an API object may not name one
 * (client/kubeconfig.h).
 *
 * k8s: client-go/plugin/pkg/client/auth/exec
 */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/str.h"

struct json;
struct kubeconfig;

enum {
    EXEC_ARGS_MAX = 256,         /* arguments, and variables of its environment */
    EXEC_OUTPUT_MAX = 256 << 10, /* bytes of what it says */
    EXEC_TIMEOUT_MS = 60000,
};

struct exec_plugin {
    const char *command; /* a path, or a name that is looked for in $PATH */
    const char *const *args;
    size_t nargs;
    const char *const *env; /* "NAME=value" */
    size_t nenv;
    str api_version, hint; /* the latter is for when it is not installed */
    bool cluster_info, may_interact;
};

struct exec_credential {
    secret token, key_pem;
    str cert_pem;
    int64_t expires_s; /* since 1970; 0: it did not say */
};

/* What `exec` of a kubeconfig says; relative paths start in `dir`. */
int exec_plugin_parse(struct arena *a, const struct json *exec, str dir, struct exec_plugin *out,
                      struct status *st) __attribute__((warn_unused_result));

/* Runs it for the server of `k`. */
int exec_plugin_run(struct arena *a, const struct exec_plugin *p, const struct kubeconfig *k,
                    struct exec_credential *out, struct status *st)
    __attribute__((warn_unused_result));

/* An ExecCredential, as such a program prints it. */
int exec_credential_parse(struct arena *a, secret text, str api_version,
                          struct exec_credential *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
