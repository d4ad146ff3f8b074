/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_KUBECONFIG_H
#define CLIENT_KUBECONFIG_H

/*
 * Kubeconfig files: one context of one, resolved to what a connection needs.
 *
 * How much a file may say depends on who wrote it (DESIGN 4.15).  One that a person named on the
 * command line may use files, exec plugins, HTTP proxies and every other setting, except
 * auth-provider plugins, which client-go does not have any more either.  One that comes out of an
 * API object may hold inline data only: every other field is named in an INVALID status.
 */

#include "base/arena.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/str.h"

struct kubeconfig {
    str context; /* its name */
    str server;  /* the URL, and its parts: */
    bool tls;
    str host, port;
    str prefix; /* of every path; empty or "/clusters/x" */
    str server_name, ca_pem;
    bool insecure;
    str cert_pem;
    secret key_pem, token, password;
    str token_file; /* absolute; token holds what it said when it was read */
    const struct exec_plugin
        *exec;                  /* of a person; kubeconfig_load runs it and takes what it says */
    int64_t expires_s;          /* when that ends, since 1970; 0: never, or nobody knows */
    str proxy_host, proxy_port; /* by which the server is reached; empty: directly */
    str username;
    str as, as_uid; /* impersonation */
    const str *as_groups;
    size_t nas_groups;
    str lease; /* "<namespace>/<name>/<holder>": writes only while it is held; not in files */
    str namespace;
};

enum kubeconfig_origin { KUBECONFIG_PERSON, KUBECONFIG_OBJECT };

/*
 * The context of that name, or the current one if it is empty.  `dir` is where relative file names
 * start; unused with KUBECONFIG_OBJECT.  The arena is wiped when it goes.  BAD_REQUEST when a
 * person's file is wrong, INVALID with all wrong fields when an object's is.
 */
int kubeconfig_parse(struct arena *a, secret text, enum kubeconfig_origin origin, str dir,
                     str context, struct kubeconfig *out, struct status *st)
    __attribute__((warn_unused_result));

/*
 * From files, as kubectl finds them: `path` (one file), else $KUBECONFIG (a list with colons: the
 * first that names a thing wins, with all it says of it), else ~/.kube/config, else what a pod is
 * given (client/in_cluster.h).
 */
int kubeconfig_load(struct arena *a, const char *path, str context, struct kubeconfig *out,
                    struct status *st) __attribute__((warn_unused_result));

/* For programs that stay: REFUSED where the credential ends some day and nobody would renew it. */
int kubeconfig_check_lasting(const struct kubeconfig *k, struct status *st)
    __attribute__((warn_unused_result));

/*
 * A kubeconfig in YAML with these contexts, whose data is inline; the first is the current one.
 * Used of each: context, server, server_name, ca_pem, insecure, cert_pem, key_pem, token,
 * namespace.  The text holds keys: save it with kubeconfig_save.
 */
secret kubeconfig_write(struct arena *a, const struct kubeconfig *contexts, size_t n);

/* A file of secrets, whole, in the arena. */
int kubeconfig_read(struct arena *a, const char *path, secret *out, struct status *st)
    __attribute__((warn_unused_result));

/* Replaces the file at once; mode 0600. */
int kubeconfig_save(const char *path, secret text, struct status *st)
    __attribute__((warn_unused_result));

#endif
