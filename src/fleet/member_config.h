/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_MEMBER_CONFIG_H
#define FLEET_MEMBER_CONFIG_H

/*
 * What a Cluster object and its Secret say about the way to a member, checked field by field: they
 * were written by a tenant, and nothing in them is trusted.  Pure.
 *
 * A Cluster says it in one of three forms:
 *   spec.kubeconfig                       an inline kubeconfig (workload.kcp.dev)
 *   spec.secretRef alone                  a Secret whose key `kubeconfig` holds one
 *   spec.apiEndpoint and spec.secretRef   Karmada's: a Secret with `token`, or `tls.crt` and
 *                                         `tls.key`, and `caBundle` (or `ca.crt`)
 * spec.impersonatorSecretRef names a Secret with the `token` for acting as others.
 */

#include "client/kubeconfig.h"
#include "json/json.h"

struct member_config_options {
    bool impersonator; /* the credentials for acting as others */
    bool insecure;     /* insecureSkipTLSVerification is obeyed, not refused */
};

/* The Secret that must be read, too: "namespace" and "name"; false: none.  INVALID is found later.
 */
bool member_config_secret(const struct json *cluster, const struct member_config_options *o,
                          str *namespace, str *name);

/*
 * creds: the Secret, NULL if none is named.  With o->impersonator `ca` is the Secret of secretRef,
 * which has the CA by which the member is known; NULL if there is none.  INVALID with what is wrong
 * where.
 */
int member_config_read(struct arena *a, const struct json *cluster, const struct json *creds,
                       const struct json *ca, const struct member_config_options *o,
                       struct kubeconfig *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
