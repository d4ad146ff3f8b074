/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/own/groups.h"

/* Clusterpedia's own list of what is collected; served in the root instance only. */

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    return check_reset(c, obj, "status");
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (str_is(c->subresource, "status"))
        return check_only_status(c->arena, obj, old);
    return check_keep(c->arena, obj, old, "status");
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site name = site_in(&root, "metadata"), sync = site_in(&spec, "syncResources");

    if (c->create && str_starts(c->name, STR("k-"))) {
        name = site_in(&name, "name");
        site_invalid(st, &name, "must not start with \"k-\", as virtual clusters do");
    }
    if (!sync.v)
        site_missing(st, &sync, "");
    site_each(entry, &sync)
    {
        struct site resources = site_in(&entry, "resources");

        if (json_len(resources.v) == 0)
            site_missing(st, &resources, "");
    }
}

/* "True" and the like of one condition. */
static str condition(const struct json *obj, const char *type)
{
    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return json_get_str(c, "status");
    return STR_NONE;
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    (void)a;
    (void)now_s;
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_str(condition(obj, "Ready")));
    cell_str(cells, obj, "status.version");
    cell_str(cells, obj, "status.apiserver");
    json_push(cells, json_of_str(condition(obj, "Validated")));
    json_push(cells, json_of_str(condition(obj, "SynchroRunning")));
    json_push(cells, json_of_str(condition(obj, "ClusterHealthy")));
    cell_str(cells, obj, "status.shardingName");
}

static const struct kind_ops pediacluster_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "", 0, "Whether the objects are up to date."),
    COLUMN("Version", "", 0, "Version of the API server."),
    COLUMN("APIServer", "", 0, "URL of the API server."),
    COLUMN("Validated", "", 10, "Whether the specification is valid."),
    COLUMN("SynchroRunning", "", 10, "Whether objects are collected."),
    COLUMN("ClusterHealthy", "", 10, "Whether the cluster answers."),
    COLUMN("ShardingName", "", 10, "Name of the collector."),
};

static const struct subresource subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("PediaCluster", "pediaclusters", "pediacluster"),
        .verbs = VERBS_ALL,
        .name_rule = NAME_SUBDOMAIN,
        .generation = true,
        .unconditional_update = true,
        .json_only = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        .ops = &pediacluster_ops,
    },
};

const struct group group_pedia = {
    .name = STR_INIT("cluster.clusterpedia.io"),
    .version = STR_INIT("v1alpha2"),
    .schemas = "io.clusterpedia.cluster.v1alpha2",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
