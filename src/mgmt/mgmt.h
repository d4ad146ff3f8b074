/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_MGMT_H
#define MGMT_MGMT_H

/*
 * The management API: the services of api/, one file each.
 *
 * What is read of instances and members comes from the index (search/search.h), so that neither an
 * instance nor a member is asked; what is written goes to the instance, under the name of the
 * caller, so that the same rights hold as with kubectl.  Instances themselves, and the clusters
 * that Container Management knows, are objects of root.
 */

#include "client/request.h"
#include "fleet/member.h"
#include "iam/permissions.h"
#include "rpc/handler.h"
#include "search/search.h"

struct mgmt;

/* Before the server: what serves needs the services, and these need the server. */
struct mgmt *mgmt_new(void);
void mgmt_free(struct mgmt *m);

const struct rpc_implementation *mgmt_implementations(struct mgmt *m, size_t *n);

struct mgmt_parts {
    struct client *client; /* of root, in process, with all rights: it acts for the callers */
    /* An object of root at once, without managedFields: 1, 0 when there is none, or -1.  Any
     * thread; never blocks. */
    int (*look)(void *arg, struct arena *a, const struct client_ref *ref, const struct json **out,
                struct status *st);
    void *look_arg;
    struct search *search;
    struct fleet *fleet; /* with that client: the clusters that Container Management knows */
    const struct permissions *permissions;
    /* How clients reach us, now: "host:port" in the arena.  Any thread; never blocks. */
    str (*address)(void *arg, struct arena *a);
    void *address_arg;
    str ca_pem;
    str karmada; /* the version of Karmada's API that instances have */
};

/* What a role shows of an instance and its members, or of a cluster: Viewers see all but Secrets.
 */
struct listable mgmt_listable(enum iam_role role);

/* Until then, calls are answered with UNAVAILABLE.  Strings are copied. */
void mgmt_start(struct mgmt *m, const struct mgmt_parts *parts);

#endif
