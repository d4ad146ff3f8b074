/* SPDX-License-Identifier: Apache-2.0 */

/* Services whose work is not built: CloudShell, Image and Insight. */

#include "object/meta/unserved.h"
#include "base/banned.h"
#include "mgmt/mgmt_internal.h"

/* "kairship.io.api.v1alpha1.Image/ListProjects" */
int mgmt_not_served(void *arg, struct rpc_context *ctx, const struct json *request,
                    const struct json **response, struct status *st)
{
    str method = ctx->method, service;
    const struct unserved *row;
    ptrdiff_t dot;

    (void)arg;
    (void)request;
    (void)response;
    (void)str_split(&method, '/', &service);
    while ((dot = str_find(service, '.', 0)) >= 0)
        service = str_from(service, (size_t)dot + 1);
    row = unserved_rpc(service, method);
    return status_set(st, REASON_METHOD_NOT_ALLOWED, "%.*s",
                      STR_ARG(row ? unserved_sentence(ctx->arena, row) : ctx->method));
}

#define ROW(name)                                              \
    {                                                          \
        .method = name, .fn = mgmt_not_served, .on_loop = true \
    }
#define SERVICE(variable, name, handlers) \
    const struct mgmt_service variable = { name, handlers, sizeof(handlers) / sizeof(*(handlers)) }

static const struct rpc_handler shells[] = {
    ROW("CreateCloudShell"),
    ROW("GetCloudShell"),
    ROW("DeleteCloudShell"),
};
SERVICE(cloud_shell_service, "CloudShell", shells);

static const struct rpc_handler images[] = {
    ROW("ListRegistries"), ROW("ListProjects"),   ROW("ListRepositories"),
    ROW("ListArtifacts"),  ROW("DetectKangaroo"),
};
SERVICE(image_service, "Image", images);

static const struct rpc_handler metrics[] = {
    ROW("QueryMetric"),
    ROW("QueryRangeMetric"),
    ROW("DetectInsight"),
};
SERVICE(insight_service, "Insight", metrics);
