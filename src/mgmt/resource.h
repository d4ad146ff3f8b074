/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_RESOURCE_H
#define MGMT_RESOURCE_H

/*
 * Objects of instances and members behind RPCs: what most services do with most kinds.
 *
 * A service is a table of its RPCs: the kind, what is done (a resource_fn), and the role that is
 * needed before anything else is looked at.  Reads come from the index; writes go to the instance
 * under the caller's name, whose rights are the instance's to check.
 *
 *     #define RPCS(X) X("GetDeployment", &deployments, resource_get, IAM_VIEWER) …
 *     RESOURCE_SERVICE(apps_service, "Apps", RPCS)
 */

#include "mgmt/mgmt_internal.h"

struct resource_call;
struct spread;

typedef int resource_fn(struct resource_call *c, const struct json **response, struct status *st);

struct resource {
    struct client_ref ref; /* group, version and resource */
    const char *kind;
    bool cluster_scoped, spreads; /* spreads: status.clusters says where it goes */
    /* The message with what it has and the object has not; may be NULL. */
    const struct json *(*finish)(struct resource_call *c, const struct json *obj,
                                 const struct json *message);
    /* What is to be refused or changed before it is written; may be NULL. */
    int (*before_update)(struct resource_call *c, const struct json **obj, struct status *st);
    int (*before_delete)(struct resource_call *c, struct status *st);
};

struct resource_rpc {
    const char *method;
    const struct resource *what;
    resource_fn *fn;
    enum iam_role least;
};

struct resource_call {
    const struct mgmt_parts *p;
    struct rpc_context *ctx;
    struct arena *arena; /* the context's */
    const struct json *request;
    const struct resource *what;
    const struct rpc_method *method;
    str instance, namespace, name; /* of the request */
    const struct json *owner;      /* the Instance */
    str cluster;                   /* in the index */
    struct mgmt_sight sight;       /* what the caller sees of it */
    const struct spread *spread;   /* of the objects that are about to be shaped */
    bool waited, at_member;
};

/* Answers a call of one of these. */
int resource_run(const struct resource_rpc *rpcs, size_t n, void *arg, struct rpc_context *ctx,
                 const struct json *request, const struct json **response, struct status *st);

#define RESOURCE_ROW_(method, what, fn, least)   { method, what, fn, least },
#define RESOURCE_HANDLER_(rpc, what, fn_, least) { .method = rpc, .fn = resource_answer_ },
#define RESOURCE_SERVICE(service, name_, RPCS)                                                     \
    static const struct resource_rpc resource_rpcs_[] = { RPCS(RESOURCE_ROW_) };                   \
    static int resource_answer_(void *arg, struct rpc_context *ctx, const struct json *request,    \
                                const struct json **response, struct status *st)                   \
    {                                                                                              \
        return resource_run(resource_rpcs_, sizeof(resource_rpcs_) / sizeof(*resource_rpcs_), arg, \
                            ctx, request, response, st);                                           \
    }                                                                                              \
    static const struct rpc_handler resource_handlers_[] = { RPCS(RESOURCE_HANDLER_) };            \
    const struct mgmt_service service = {                                                          \
        name_, resource_handlers_, sizeof(resource_handlers_) / sizeof(*resource_handlers_)        \
    };

/* ---- what is done (mgmt/resource.c, resource_write.c) ---- */

resource_fn resource_get, resource_list; /* get: also …JSON, by the answer's message */
resource_fn resource_create, resource_update, resource_patch, resource_delete;

/* The same for a member of the instance: {cluster}; whoever sees the instance sees these. */
int resource_at_member(struct resource_call *c, struct status *st)
    __attribute__((warn_unused_result));
resource_fn resource_list_member;
/* Those that the instance could take over: what one has brought there is left out. */
resource_fn resource_list_promotable;

/* One member at the dotted path becomes this; answers the object. */
int resource_change(struct resource_call *c, const char *path, struct json value,
                    const struct json **response, struct status *st)
    __attribute__((warn_unused_result));

/* ---- parts of them ---- */

/* A list that only has what the filter takes, beside what the index can find by itself. */
struct resource_filter {
    bool (*takes)(const void *arg, const struct json *obj); /* NULL: all */
    const void *arg;
    str labels, fields; /* selectors, beside those of the request */
    str owner;          /* the uid of their controller */
    str order;          /* if the request says nothing */
    bool name_is_other; /* the request's name is not a part of the object's */
};
int resource_list_filtered(struct resource_call *c, const struct resource_filter *f,
                           const struct json **response, struct status *st)
    __attribute__((warn_unused_result));

/* A list of these, which are all that could be in it. */
int resource_list_of(struct resource_call *c, const struct json **objects, size_t n,
                     const struct json **response, struct status *st)
    __attribute__((warn_unused_result));

/* From the index, of c->cluster; what is found lives in the call's arena. */
struct search_find resource_find(struct resource_call *c, const struct resource *what);
int resource_search(struct resource_call *c, const struct search_find *f, const struct json ***out,
                    size_t *n, uint64_t *total, struct status *st)
    __attribute__((warn_unused_result));
/* All of them, however many, a chunk at a time; each is gone when `each` returns. */
typedef void resource_each_fn(void *arg, const struct json *obj);
int resource_scan(struct resource_call *c, struct search_find *f, resource_each_fn *each, void *arg,
                  struct status *st) __attribute__((warn_unused_result));
/* One, or NOT_FOUND. */
int resource_read(struct resource_call *c, const struct resource *what, str namespace, str name,
                  const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* As the message of the method's answer, which may be wrapped: {"deployment": {…}}, {"data": "…"}.
 */
int resource_answer(struct resource_call *c, const struct json *obj, const struct json **response,
                    struct status *st) __attribute__((warn_unused_result));

/* What the client may have left out is put in; INVALID if it says something else.  field: where it
 * stands in the request, "data". */
int resource_check(struct resource_call *c, const struct resource *what, const char *field,
                   const struct json *obj, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
/* The patch of the request: an object, or an array. */
int resource_patch_of(struct resource_call *c, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));
struct client_ref resource_ref(const struct resource_call *c, const struct resource *what,
                               str name);
int resource_make(struct resource_call *c, const struct client_ref *ref, const struct json *obj,
                  bool dry_run, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* ---- several at once, all or nothing (mgmt/batch.c) ---- */

struct batch_item {
    struct client_ref ref;
    const struct json *obj;
    const char *field;       /* of the request, to be told where it fails */
    bool existing;           /* one that is there already is as good */
    const struct json *made; /* by batch_make; NULL: it was there */
};
int batch_make(struct resource_call *c, struct batch_item *items, size_t n, struct status *st)
    __attribute__((warn_unused_result));

/* ---- where objects go (mgmt/spread.c) ---- */

int spread_load(struct resource_call *c, const struct json *const *objects, size_t n,
                struct status *st) __attribute__((warn_unused_result));
/* ClusterProviderSummary of each. */
const struct json *spread_of(const struct resource_call *c, const struct json *obj);

/* ---- kinds (core.c, apps.c, policy.c) ---- */

extern const struct resource resource_namespaces, resource_pods, resource_services,
    resource_configmaps, resource_secrets, resource_events, resource_deployments,
    resource_propagation_policies, resource_override_policies,
    resource_cluster_propagation_policies, resource_cluster_override_policies;

/* A PropagationPolicy of the request's namespace: <name>-<5 letters>. */
const struct json *policy_for(struct resource_call *c, str name, const struct json *selectors,
                              const struct json *placement, bool takes_over);
struct json policy_selector(struct arena *a, const struct resource *what, str name);

/* mgmt/promote.c */
resource_fn promote_deployment, promote_service, promote_ingress;
/* An object as if it had never been anywhere. */
const struct json *resource_cleaned(struct arena *a, const struct json *obj);
resource_fn pods_of_member;            /* mgmt/core_pods.c */
resource_fn events_list, events_kinds; /* mgmt/core_events.c */
resource_fn namespaces_list, namespaces_get, namespaces_summary, namespaces_of_member;
/* mgmt/core_services.c */
resource_fn services_list, services_of_member, services_to_promote, services_create_for_workload;

/* A cause if the field is not one word of letters, digits and -._: and could mean something else
 * in a selector. */
void resource_check_word(struct resource_call *c, const char *field, struct status *st);

#endif
