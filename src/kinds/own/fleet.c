/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/own/groups.h"

/*
 * Container Management's registry: every member cluster once, whatever instances it has joined, and
 * for every instance x the hidden virtual cluster k-x.  Served in the root instance only.
 */

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

static const char *const types[] = { "Member", "Virtual", NULL };
static const char *const phases[] = { "Unknown",  "Creating", "Running", "Updating",
                                      "Deleting", "Failed",   NULL };

#define PREFIX "k-"

/* The prefix says to everybody, by the name alone, what is no cluster of its own. */
static void check_name(struct status *st, str name, bool is_virtual)
{
    if (str_starts(name, STR(PREFIX)) == is_virtual)
        return;
    status_cause(st, CAUSE_INVALID, STR("metadata.name"), check_quote(st->arena, name),
                 is_virtual ? "must start with \"" PREFIX "\", as virtual clusters do"
                            : "must not start with \"" PREFIX "\", as virtual clusters do");
}

static void check_instance(struct status *st, const struct site *instance, bool is_virtual)
{
    if (is_virtual && !site_required(st, instance))
        (void)site_name(st, instance, NAME_LABEL);
    if (!is_virtual && instance->v)
        site_forbidden(st, instance, "may only be set for a virtual cluster");
}

static void check_endpoint(struct status *st, const struct site *endpoint)
{
    str url = json_str(endpoint->v);

    if (url.n && (!str_starts(url, STR("https://")) || url.n == strlen("https://")))
        site_invalid(st, endpoint, "must be a URL that starts with https://");
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site type = site_in(&spec, "type"), ref = site_in(&spec, "secretRef");
    struct site namespace_ = site_in(&ref, "namespace"), name = site_in(&ref, "name");
    struct site instance = site_in(&spec, "instance"), endpoint = site_in(&spec, "apiEndpoint");
    bool is_virtual = str_is(json_str(type.v), "Virtual");

    if (c->create)
        check_name(st, c->name, is_virtual);
    site_enum(st, &type, types);
    check_enum(st, "status.phase", obj, phases);
    check_instance(st, &instance, is_virtual);
    check_endpoint(st, &endpoint);
    if (ref.v) {
        (void)site_required(st, &namespace_);
        (void)site_required(st, &name);
    }
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec.type", obj, old);
    check_immutable(st, "spec.instance", obj, old);
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    str joined = STR_NONE;

    json_for_each (i, json_path(obj, "status.instances"))
        joined =
            str_printf(a, "%.*s%s%.*s", STR_ARG(joined), joined.n ? "," : "", STR_ARG(json_str(i)));
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.type");
    cell_str(cells, obj, "status.phase");
    cell_str(cells, obj, "status.kubernetesVersion");
    json_push(cells, json_of_str(joined));
    cell_age(cells, obj, now_s);
    cell_str(cells, obj, "spec.provider");
    cell_str(cells, obj, "spec.region");
    cell_str(cells, obj, "spec.zone");
    cell_str(cells, obj, "spec.apiEndpoint");
    cell_str(cells, obj, "spec.aliasName");
}

static const struct kind_ops cluster_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Type", "", 0, "Member or Virtual."),
    COLUMN("Phase", "", 0, "Phase of the cluster."),
    COLUMN("Version", "", 0, "Version of the API server."),
    COLUMN("Instances", "", 0, "Instances that it has joined."),
    AGE_COLUMN,
    COLUMN("Provider", "", 1, "Cloud provider of the cluster."),
    COLUMN("Region", "", 1, "Region of the cluster."),
    COLUMN("Zone", "", 1, "Zone of the cluster."),
    COLUMN("API-Endpoint", "", 1, "URL of the API server."),
    COLUMN("Alias", "", 1, "Display name of the cluster."),
};

/* "clusters" alone is the first group's that has some, which is Karmada's. */
static const str short_names[] = { STR_INIT("fc") };
static const str categories[] = { STR_INIT("kairship") };
static const struct subresource subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("Cluster", "clusters", "cluster"),
        LIST(short_names, short_names),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .name_rule = NAME_LABEL,
        .generation = true,
        .unconditional_update = true,
        .json_only = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        .ops = &cluster_ops,
    },
};

const struct group group_fleet = {
    .name = STR_INIT("fleet.kairship.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.kairship.fleet.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
