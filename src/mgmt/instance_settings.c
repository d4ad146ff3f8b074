/* SPDX-License-Identifier: Apache-2.0 */

/* Advanced settings: a switch each, and times in seconds. */

#include "base/banned.h"
#include "mgmt/instance.h"

enum { TIMES_MAX = 7 };

/* What an instance that says nothing has; as the table of the kind (tenancy.kairship.io) has it. */
static const struct setting {
    const char *name;
    struct {
        const char *name;
        int64_t seconds;
    } times[TIMES_MAX];
} failover = { "failover",
               { { "failoverEvictionTimeout", 30 },
                 { "clusterMonitorPeriod", 5 },
                 { "clusterStartupGracePeriod", 60 },
                 { "clusterMonitorGracePeriod", 40 },
                 { "gracefulEvictionTimeout", 600 },
                 { "clusterSuccessThreshold", 30 },
                 { "clusterFailureThreshold", 30 } } },
  descheduler = { "descheduler",
                  { { "deschedulingInterval", 120 }, { "unschedulableThreshold", 300 } } },
  metrics_adapter = { "metricsAdapter", { { NULL, 0 } } };

static int begin(void *arg, struct rpc_context *ctx, const struct json *request,
                 enum iam_role least, struct mgmt_parts **p, struct status *st)
{
    str name = json_get_str(request, "instance");

    if (mgmt_parts_of(arg, p, st) < 0)
        return -1;
    return mgmt_require(*p, ctx, name, least, st);
}

static int get_setting(void *arg, struct rpc_context *ctx, const struct json *request,
                       const struct setting *s, const struct json **response, struct status *st)
{
    struct json_object o = json_object_new(ctx->arena), times = json_object_new(ctx->arena);
    const struct json *obj, *now;
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, IAM_VIEWER, &p, st) < 0 ||
        instance_get(p, ctx, json_get_str(request, "instance"), &obj, st) < 0)
        return -1;
    now = json_get(json_path(obj, "spec.settings"), str_of(s->name));
    json_add(&o, STR("enabled"), json_of_bool(json_bool(json_path(now, "enabled"))));
    for (size_t i = 0; i < TIMES_MAX && s->times[i].name; i++)
        json_add(&times, str_of(s->times[i].name),
                 json_of_int(json_int(json_path(now, s->times[i].name), s->times[i].seconds)));
    if (times.n)
        json_add(&o, STR("timeout"), json_object_value(&times));
    *response = json_object_done(&o);
    return 0;
}

/* Times that are not said stay as they are. */
static int update_setting(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct setting *s, struct status *st)
{
    struct json_object o = json_object_new(ctx->arena);
    const struct json *times = json_path(request, "timeout"), *patch;
    struct client_ref ref = mgmt_named(mgmt_instances, json_get_str(request, "instance"));
    struct client_request req;
    struct mgmt_parts *p;

    if (begin(arg, ctx, request, IAM_ADMIN, &p, st) < 0)
        return -1;
    json_add(&o, STR("enabled"), json_of_bool(json_bool(json_path(request, "enabled"))));
    for (size_t i = 0; i < TIMES_MAX && s->times[i].name; i++)
        mgmt_copy(&o, s->times[i].name, times, s->times[i].name);
    patch = json_set(ctx->arena, &json_empty_object,
                     arena_printf(ctx->arena, "spec.settings.%s", s->name), json_object_done(&o));
    req = client_request_patch(ctx->arena, &ref, NULL, CLIENT_PATCH_MERGE, patch);
    return mgmt_do_own(p, ctx, &req, NULL, st);
}

int instance_get_failover(void *arg, struct rpc_context *ctx, const struct json *request,
                          const struct json **response, struct status *st)
{
    return get_setting(arg, ctx, request, &failover, response, st);
}

int instance_update_failover(void *arg, struct rpc_context *ctx, const struct json *request,
                             const struct json **response, struct status *st)
{
    (void)response;
    return update_setting(arg, ctx, request, &failover, st);
}

int instance_get_descheduler(void *arg, struct rpc_context *ctx, const struct json *request,
                             const struct json **response, struct status *st)
{
    return get_setting(arg, ctx, request, &descheduler, response, st);
}

int instance_update_descheduler(void *arg, struct rpc_context *ctx, const struct json *request,
                                const struct json **response, struct status *st)
{
    (void)response;
    return update_setting(arg, ctx, request, &descheduler, st);
}

int instance_get_metrics_adapter(void *arg, struct rpc_context *ctx, const struct json *request,
                                 const struct json **response, struct status *st)
{
    return get_setting(arg, ctx, request, &metrics_adapter, response, st);
}

int instance_update_metrics_adapter(void *arg, struct rpc_context *ctx, const struct json *request,
                                    const struct json **response, struct status *st)
{
    (void)response;
    return update_setting(arg, ctx, request, &metrics_adapter, st);
}
