/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_MGMT_INTERNAL_H
#define MGMT_MGMT_INTERNAL_H

/* What the services share. */

#include <stdatomic.h>

#include "client/client.h"
#include "mgmt/mgmt.h"

struct mgmt {
    struct arena *arena;
    struct mgmt_parts parts;
    atomic_bool started;
    struct rpc_implementation *implementations;
};

/* ---- services: a table each ---- */

struct mgmt_service {
    const char *name; /* "Instance" of kairship.io.api.v1alpha1 */
    const struct rpc_handler *handlers;
    size_t nhandlers;
};
extern const struct mgmt_service instance_service, cluster_service, apps_service, core_service,
    policy_service, aggregation_service, batch_service, networking_service, autoscaling_service,
    apiextensions_service, workspace_service, audit_service, cloud_shell_service, image_service,
    insight_service;

/* For RPCs whose work is not built: UNIMPLEMENTED, and says so (mgmt/unserved.c). */
rpc_fn mgmt_not_served;

/* Every handler begins with it: the parts, or -1 while there are none. */
int mgmt_parts_of(void *arg, struct mgmt_parts **out, struct status *st);

/* ---- who may (mgmt/access.c) ---- */

/* The caller's role in an instance; IAM_PLATFORM for those who have everything. */
enum iam_role mgmt_role(const struct mgmt_parts *p, const struct rpc_context *ctx, str instance);
/* FORBIDDEN, the same whether there is the instance or not. */
int mgmt_require(const struct mgmt_parts *p, const struct rpc_context *ctx, str instance,
                 enum iam_role least, struct status *st) __attribute__((warn_unused_result));

/* What the caller's role in an instance shows of one cluster of the index: the instance itself, or
 * one that has joined it.  Every question to the index carries it. */
struct mgmt_sight {
    struct search_grant grant;
    struct search_rights rights; /* points to the grant */
};
void mgmt_see(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str cluster,
              struct mgmt_sight *out);

/*
 * The right to bring a cluster under the power of somebody else: Admin of the cluster (a cluster of
 * the registry), or of an instance that it has joined.  Whoever may write in an instance may do so
 * in its members, so a role in the instance that it shall join is not enough.  FORBIDDEN, the same
 * whether there is the cluster (NULL: there is none) or not.
 */
int mgmt_require_cluster(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                         const struct json *cluster, struct status *st)
    __attribute__((warn_unused_result));
bool mgmt_may_enter(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                    const struct json *cluster);

/* ---- writing, and reading of root (mgmt/access.c) ---- */

/* Under the name of the caller; out may be NULL. */
int mgmt_do(const struct mgmt_parts *p, struct rpc_context *ctx, struct client_request *req,
            const struct json **out, struct status *st) __attribute__((warn_unused_result));
/* Under our own. */
int mgmt_do_own(const struct mgmt_parts *p, struct rpc_context *ctx, struct client_request *req,
                const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* An object of root, under our own, at once, without managedFields; NOT_FOUND. */
int mgmt_look(const struct mgmt_parts *p, struct rpc_context *ctx, const struct client_ref *ref,
              const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* The entry of the registry that a Cluster of an instance stands for (fleet/registered.h), under
 * our own; NULL: it is not known yet. */
int mgmt_registered(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str cluster,
                    const struct json **out, struct status *st) __attribute__((warn_unused_result));

extern const struct client_ref mgmt_instances, mgmt_clusters; /* of root, without a name */
struct client_ref mgmt_named(struct client_ref ref, str name);

/* ---- what would go (mgmt/affected.c) ---- */

/* Templates, by their bindings: the first are named, all are counted. */
struct mgmt_affected {
    struct arena *arena;
    str text;
    uint64_t n;
};
void mgmt_affected_add(struct mgmt_affected *f, const struct json *binding);
/* "3 resources (Deployment default/web, …)" */
str mgmt_affected_text(const struct mgmt_affected *f);

/* ---- lists (mgmt/page.c) ---- */

/* What all lists are asked with: page, pageSize, sortBy, sortDir (or orderBy), name. */
struct mgmt_page {
    int64_t page, size; /* page counts from 1; size 0: all */
    str sort_by;        /* the enum's name */
    bool ascending;
    str name; /* a part of it */
};
int mgmt_page_read(const struct json *request, struct mgmt_page *out, struct status *st)
    __attribute__((warn_unused_result));

/* The index's order_by for it, or empty. */
str mgmt_page_order(const struct mgmt_page *p);

/*
 * Sorts and cuts objects (with metadata as Kubernetes has it) and gives {items, pagination}, each
 * item by `shape`.
 */
const struct json *mgmt_page_answer(struct arena *a, const struct mgmt_page *p,
                                    const struct json **objects, size_t n,
                                    struct json (*shape)(struct arena *a, const struct json *obj));
/* {total, page, pageSize, pages} */
struct json mgmt_pagination(struct arena *a, const struct mgmt_page *p, uint64_t total);

/* ---- shapes (mgmt/shape.c): from Kubernetes' objects to messages ---- */

struct json mgmt_metadata(struct arena *a, const struct json *obj);
/* The object's text, from {"data": "…"}; BAD_REQUEST says what is wrong with it. */
int mgmt_data(struct arena *a, const struct json *request, const struct json **out,
              struct status *st) __attribute__((warn_unused_result));
/* {"data": "…"} */
const struct json *mgmt_data_answer(struct arena *a, const struct json *obj);
/* Adds a member if there is such a value at the dotted path. */
void mgmt_copy(struct json_object *to, const char *name, const struct json *from, const char *path);
void mgmt_copy_str(struct json_object *to, const char *name, str value);

#endif
