/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "fleet/registered.h"
#include "mgmt/cluster.h"
#include "object/meta/selector.h"

/* Providers have names of their own in this API; what is none of them is GENERIC. */
static const char *const providers[] = {
    "DAOCLOUD_KUBESPRAY", "DAOCLOUD_CLUSTER_API", "DAOCLOUD_DCE4",  "REDHAT_OPENSHIFT4",
    "SUSE_RANCHER",       "VMWARE_TANZU",         "AWS_EKS",        "ALIYUN_ACK",
    "TENCENT_TKE",        "HUAWEI_CCE",           "MICROSOFT_AZURE"
};

str cluster_provider(str name)
{
    for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++)
        if (str_eq_nocase(name, str_of(providers[i])))
            return str_of(providers[i]);
    return STR("GENERIC");
}

static str either(const struct json *first, const struct json *second, const char *path)
{
    str s = json_get_str(first, path);

    return s.n ? s : json_get_str(second, path);
}

static struct json spec_of(struct arena *a, const struct json *joined, const struct json *known)
{
    struct json_object o = json_object_new(a);
    str zone = either(joined, known, "spec.zone");

    if (!zone.n)
        zone = json_str(json_at(json_path(joined, "spec.zones"), 0));
    json_add(&o, STR("provider"),
             json_of_str(cluster_provider(either(known, joined, "spec.provider"))));
    mgmt_copy_str(&o, "apiEndpoint", either(joined, known, "spec.apiEndpoint"));
    mgmt_copy_str(&o, "region", either(joined, known, "spec.region"));
    mgmt_copy_str(&o, "zone", zone);
    mgmt_copy(&o, "roles", known, "spec.roles");
    mgmt_copy(&o, "managedBy", known, "spec.managedBy");
    mgmt_copy(&o, "aliasName", known, "spec.aliasName");
    mgmt_copy(&o, "secretRef", joined ? joined : known, "spec.secretRef");
    mgmt_copy(&o, "taints", joined, "spec.taints");
    return json_object_value(&o);
}

/* Container Management says it in a word, a member by its condition Ready. */
static str phase_of(const struct json *obj)
{
    static const char *const phases[] = { "UNKNOWN",  "CREATING", "RUNNING",
                                          "UPDATING", "DELETING", "FAILED" };
    str said = json_get_str(obj, "status.phase");

    if (json_path(obj, "metadata.deletionTimestamp"))
        return STR("DELETING");
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++)
        if (str_eq_nocase(said, str_of(phases[i])))
            return str_of(phases[i]);
    json_for_each (c, json_path(obj, "status.conditions")) {
        str status = json_get_str(c, "status");

        if (!str_is(json_get_str(c, "type"), "Ready"))
            continue;
        return str_is(status, "True")    ? STR("RUNNING")
               : str_is(status, "False") ? STR("FAILED")
                                         : STR("UNKNOWN");
    }
    return STR("CREATING");
}

static struct json status_of(struct arena *a, const struct json *joined, const struct json *known)
{
    static const char *const of_registry[] = { "kubeSystemID", "serviceCIDR", "podCIDR",
                                               "cpuUsage",     "memoryUsage", "proxyMode" };
    const struct json *room = json_path(joined ? joined : known, "status.resourceSummary");
    struct json_object o = json_object_new(a), summary = json_object_new(a);

    mgmt_copy_str(&o, "kubernetesVersion", either(joined, known, "status.kubernetesVersion"));
    for (size_t i = 0; i < sizeof(of_registry) / sizeof(*of_registry); i++)
        mgmt_copy(&o, of_registry[i], json_path(known, "status"), of_registry[i]);
    json_add(&o, STR("phase"), json_of_str(phase_of(joined ? joined : known)));
    mgmt_copy(&summary, "allocatable", room, "allocatable");
    mgmt_copy(&summary, "allocated", room, "allocated");
    json_add(&o, STR("resourceSummary"), json_object_value(&summary));
    return json_object_value(&o);
}

/* As people wrote it: what the registry notes there names other instances. */
static struct json metadata_of(struct arena *a, const struct json *known)
{
    struct json labels = registered_labels(a, json_path(known, "metadata.labels"));
    struct json notes = registered_labels(a, json_path(known, "metadata.annotations"));

    known = json_set(a, known, "metadata.labels", &labels);
    return mgmt_metadata(a, json_set(a, known, "metadata.annotations", &notes));
}

struct json cluster_shape(struct arena *a, const struct json *joined, const struct json *known)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("metadata"), joined ? mgmt_metadata(a, joined) : metadata_of(a, known));
    json_add(&o, STR("spec"), spec_of(a, joined, known));
    json_add(&o, STR("status"), status_of(a, joined, known));
    return json_object_value(&o);
}

/* ---- filters ---- */

struct cluster_filter {
    const struct json *request;
    struct selector labels;
};

/* Fields of the request that must equal a field of the message. */
static const struct {
    const char *field, *path;
} equals[] = {
    { "kubernetesVersion", "status.kubernetesVersion" },
    { "phase", "status.phase" },
    { "managedBy", "spec.managedBy" },
    { "region", "spec.region" },
    { "provider", "spec.provider" },
    { "zone", "spec.zone" },
};

int cluster_filter_read(struct arena *a, const struct json *request,
                        const struct cluster_filter **out, struct status *st)
{
    static const char *const unserved[] = { "fieldSelector", "clusterSelector" };
    struct cluster_filter *f = arena_new_of(a, struct cluster_filter);

    for (size_t i = 0; i < sizeof(unserved) / sizeof(*unserved); i++)
        if (json_get_str(request, unserved[i]).n)
            return status_set(st, REASON_METHOD_NOT_ALLOWED, "%s: is not served for clusters",
                              unserved[i]);
    f->request = request;
    *out = f;
    return selector_parse_labels(a, json_get_str(request, "labelSelector"), &f->labels, st);
}

static bool has_role(const struct json *roles, const struct json *wanted)
{
    json_for_each (w, wanted)
        json_for_each (r, roles)
            if (str_eq(json_str(w), json_str(r)))
                return true;
    return json_len(wanted) == 0;
}

bool cluster_filter_takes(const struct cluster_filter *f, const struct json *message)
{
    for (size_t i = 0; i < sizeof(equals) / sizeof(*equals); i++) {
        str want = json_get_str(f->request, equals[i].field);

        if (want.n && !str_eq_nocase(want, json_get_str(message, equals[i].path)))
            return false;
    }
    return has_role(json_path(message, "spec.roles"), json_path(f->request, "role")) &&
           selector_matches(&f->labels, json_path(message, "metadata.labels"));
}
