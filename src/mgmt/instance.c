/* SPDX-License-Identifier: Apache-2.0 */

/* Service Instance: the life of instances. */

#include "mgmt/instance.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "object/meta/release.h"

int instance_get(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                 const struct json **out, struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_instances, name);

    return mgmt_look(p, ctx, &ref, out, st);
}

/* A request about one that the caller must have this role in. */
static int begin(void *arg, struct rpc_context *ctx, const struct json *request, const char *field,
                 enum iam_role least, struct mgmt_parts **p, const struct json **obj,
                 struct status *st)
{
    str name = json_get_str(request, field);

    if (mgmt_parts_of(arg, p, st) < 0)
        return -1;
    if (!name.n)
        return message_refuse(st, str_of(field), "must be the name of an instance");
    if (mgmt_require(*p, ctx, name, least, st) < 0)
        return -1;
    return obj ? instance_get(*p, ctx, name, obj, st) : 0;
}

/* ---- lists ---- */

static int list_all(const struct mgmt_parts *p, struct rpc_context *ctx,
                    const struct json ***objects, size_t *n, struct status *st)
{
    struct client_request req = client_request_list(ctx->arena, &mgmt_instances, NULL);
    const struct json *list, *items;

    if (mgmt_do_own(p, ctx, &req, &list, st) < 0)
        return -1;
    items = json_path(list, "items");
    *objects = arena_array(ctx->arena, const struct json *, json_len(items));
    json_for_each (item, items)
        (*objects)[(*n)++] = item;
    return 0;
}

/* Of those who have roles here and there, only these are looked at. */
static int list_granted(const struct mgmt_parts *p, struct rpc_context *ctx,
                        const struct iam_grant *grants, size_t ngrants,
                        const struct json ***objects, size_t *n, struct status *st)
{
    *objects = arena_array(ctx->arena, const struct json *, ngrants);
    for (size_t i = 0; i < ngrants; i++) {
        if (instance_get(p, ctx, grants[i].instance, &(*objects)[*n], st) == 0)
            (*n)++;
        else if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

static int list_instances(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct json **response, struct status *st)
{
    const struct json **objects;
    const struct iam_grant *grants = NULL;
    size_t n = 0, ngrants = 0;
    enum iam_role role;
    struct mgmt_parts *p;
    struct mgmt_page page;
    int rc;

    if (mgmt_parts_of(arg, &p, st) < 0 || mgmt_page_read(request, &page, st) < 0)
        return -1;
    role = mgmt_role(p, ctx, STR_NONE);
    if (role != IAM_PLATFORM) {
        epoch_enter();
        (void)permissions_grants(p->permissions, ctx->arena, ctx->who, &grants, &ngrants);
        epoch_exit();
    }
    rc = role == IAM_PLATFORM ? list_all(p, ctx, &objects, &n, st)
                              : list_granted(p, ctx, grants, ngrants, &objects, &n, st);
    if (rc < 0)
        return -1;
    *response = mgmt_page_answer(ctx->arena, &page, objects, n, instance_shape);
    return 0;
}

/* ---- one ---- */

static int get_instance(void *arg, struct rpc_context *ctx, const struct json *request,
                        const struct json **response, struct status *st)
{
    const struct json *obj;
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, "name", IAM_VIEWER, &p, &obj, st) < 0)
        return -1;
    *response = json_box(ctx->arena, instance_shape(ctx->arena, obj));
    return 0;
}

/* As kubectl shows it. */
static int get_instance_json(void *arg, struct rpc_context *ctx, const struct json *request,
                             const struct json **response, struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_instances, json_get_str(request, "name"));
    struct client_request req = client_request_get(ctx->arena, &ref);
    const struct json *obj;
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, "name", IAM_VIEWER, &p, NULL, st) < 0 ||
        mgmt_do_own(p, ctx, &req, &obj, st) < 0)
        return -1;
    *response = mgmt_data_answer(ctx->arena, obj);
    return 0;
}

/* All instances are hosted here: `cluster` is noted for those who look for it. */
static const struct json *new_object(struct arena *a, const struct json *request)
{
    const struct json *given = json_path(request, "data.metadata");
    struct json_object metadata = json_object_new(a), o = json_object_new(a);
    struct json_object notes = json_object_from(a, json_path(given, "annotations"));
    const struct json *obj;

    mgmt_copy_str(&notes, "kairship.io/host-cluster", json_get_str(request, "cluster"));
    mgmt_copy(&metadata, "name", given, "name");
    json_add(&o, STR("apiVersion"), json_of_str(STR("tenancy.kairship.io/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("Instance")));
    json_add(&o, STR("metadata"), json_object_value(&metadata));
    json_add(&o, STR("spec"), json_empty_object);
    obj = json_object_done(&o);
    given =
        json_set(a, given ? given : &json_empty_object, "annotations", json_object_done(&notes));
    return instance_with(a, obj, given);
}

/* The management cluster that is named must be one that Container Management knows. */
static int check_host(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                      struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_clusters, name);
    const struct json *found = NULL;

    if (!name.n)
        return 0;
    if (mgmt_look(p, ctx, &ref, &found, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    if (found && !str_is(json_get_str(found, "spec.type"), "Virtual"))
        return 0;
    status_reset(st);
    return message_refuse(st, STR("cluster"),
                          "\"%.*s\" is not a registered cluster; leave it out, and this server "
                          "hosts the instance",
                          STR_ARG(name));
}

static int create_instance(void *arg, struct rpc_context *ctx, const struct json *request,
                           const struct json **response, struct status *st)
{
    str name = json_get_str(request, "data.metadata.name");
    struct client_request req;
    const struct json *made;
    struct mgmt_parts *p;

    if (mgmt_parts_of(arg, &p, st) < 0)
        return -1;
    if (!name.n)
        return message_refuse(st, STR("data.metadata.name"), "must not be empty");
    if (mgmt_require(p, ctx, name, IAM_PLATFORM, st) < 0 ||
        check_host(p, ctx, json_get_str(request, "cluster"), st) < 0)
        return -1;
    req = client_request_create(ctx->arena, &mgmt_instances, NULL, new_object(ctx->arena, request));
    if (mgmt_do(p, ctx, &req, &made, st) < 0)
        return -1;
    *response = json_box(ctx->arena, instance_shape(ctx->arena, made));
    return 0;
}

/* Whoever read it long ago and writes it now is told so, by the revision in what he sends. */
static int update_instance(void *arg, struct rpc_context *ctx, const struct json *request,
                           const struct json **response, struct status *st)
{
    const struct json *obj, *given, *made, *revision;
    struct client_request req;
    struct client_ref ref;
    struct mgmt_parts *p;
    str body_name;

    if (begin(arg, ctx, request, "name", IAM_ADMIN, &p, &obj, st) < 0 ||
        mgmt_data(ctx->arena, request, &given, st) < 0)
        return -1;
    body_name = json_get_str(given, "metadata.name");
    if (body_name.n && !str_eq(body_name, json_get_str(request, "name")))
        return message_refuse(st, STR("data.metadata.name"), "must be \"%.*s\", or left out",
                              STR_ARG(json_get_str(request, "name")));
    revision = json_path(given, "metadata.resourceVersion");
    obj = instance_with(ctx->arena, obj, json_path(given, "metadata"));
    if (json_str(revision).n)
        obj = json_set(ctx->arena, obj, "metadata.resourceVersion", revision);
    ref = mgmt_named(mgmt_instances, json_get_str(request, "name"));
    req = client_request_update(ctx->arena, &ref, NULL, obj);
    if (mgmt_do_own(p, ctx, &req, &made, st) < 0)
        return -1;
    *response = mgmt_data_answer(ctx->arena, made);
    return 0;
}

/* Writes what the caller wants to become of what is distributed; NULL: takes it back. */
static int say_release(const struct mgmt_parts *p, struct rpc_context *ctx,
                       const struct client_ref *ref, const struct json *word, struct status *st)
{
    struct json_object notes = json_object_new(ctx->arena);
    struct client_request req;

    json_add(&notes, STR(RELEASE_ANNOTATION), word ? *word : json_null);
    req = client_request_patch(
        ctx->arena, ref, NULL, CLIENT_PATCH_MERGE,
        json_set(ctx->arena, &json_empty_object, "metadata.annotations", json_object_done(&notes)));
    return mgmt_do(p, ctx, &req, NULL, st);
}

static int delete_instance(void *arg, struct rpc_context *ctx, const struct json *request,
                           const struct json **response, struct status *st)
{
    struct client_request req;
    struct client_ref ref = mgmt_named(mgmt_instances, json_get_str(request, "name"));
    const struct json *word = json_get(request, STR("release"));
    bool said = json_str(word).n > 0;
    struct mgmt_parts *p;
    struct status ignored;

    (void)response;
    if (begin(arg, ctx, request, "name", IAM_PLATFORM, &p, NULL, st) < 0 ||
        (said && say_release(p, ctx, &ref, word, st) < 0))
        return -1;
    req = client_request_delete(ctx->arena, &ref, NULL, NULL);
    if (mgmt_do(p, ctx, &req, NULL, st) == 0)
        return 0;
    status_init(&ignored, ctx->arena);
    if (said) /* it was about this deletion, not about the next one */
        (void)say_release(p, ctx, &ref, NULL, &ignored);
    return -1;
}

static int get_karmada_config(void *arg, struct rpc_context *ctx, const struct json *request,
                              const struct json **response, struct status *st)
{
    struct json_object o = json_object_new(ctx->arena);
    struct mgmt_parts *p;

    (void)request;
    if (mgmt_parts_of(arg, &p, st) < 0)
        return -1;
    json_add(&o, STR("version"), json_of_str(p->karmada));
    *response = json_object_done(&o);
    return 0;
}

static const struct rpc_handler handlers[] = {
    { .method = "ListInstances", .fn = list_instances },
    { .method = "CreateInstance", .fn = create_instance },
    { .method = "GetInstance", .fn = get_instance, .on_loop = true },
    { .method = "GetInstanceJSON", .fn = get_instance_json },
    { .method = "UpdateInstance", .fn = update_instance },
    { .method = "DeleteInstance", .fn = delete_instance },
    { .method = "GetInstanceKarmadaConfig", .fn = get_karmada_config, .on_loop = true },
    { .method = "GetInstanceFailover", .fn = instance_get_failover, .on_loop = true },
    { .method = "UpdateInstanceFailover", .fn = instance_update_failover },
    { .method = "GetInstanceDescheduler", .fn = instance_get_descheduler, .on_loop = true },
    { .method = "UpdateInstanceDescheduler", .fn = instance_update_descheduler },
    { .method = "GetInstanceMetricsAdapter", .fn = instance_get_metrics_adapter, .on_loop = true },
    { .method = "UpdateInstanceMetricsAdapter", .fn = instance_update_metrics_adapter },
    { .method = "CreateInstanceAdminKubeConfig", .fn = instance_kubeconfig },
};

const struct mgmt_service instance_service = { "Instance", handlers,
                                               sizeof(handlers) / sizeof(*handlers) };
