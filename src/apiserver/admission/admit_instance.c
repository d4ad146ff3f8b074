/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deleting an Instance that has members takes what runs there with it, or leaves it alone for good.
 * The person who deletes says which; without that word the deletion is refused, whoever asks.  A
 * dry run lists what the deletion is about.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/affected.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "object/meta/release.h"

/* What an instance may have, whether its profile serves the type or its members have brought it. */
static const struct {
    const char *group, *version, *plural;
    bool member;
} counted[] = {
    { "cluster.karmada.io", "v1alpha1", "clusters", true },
    { "workload.kcp.dev", "v1alpha1", "clusters", true },
    { "apps", "v1", "deployments", false },
    { "apps", "v1", "statefulsets", false },
    { "apps", "v1", "daemonsets", false },
    { "batch", "v1", "jobs", false },
    { "batch", "v1", "cronjobs", false },
};

static int name_all(const struct admission *a, str name, struct affected *members,
                    struct affected *workloads, struct status *st)
{
    struct instance i;

    if (instance_find(rest_instances(a->req->rest), a->req->arena, name, &i, st) < 0)
        return -1;
    for (size_t n = 0; n < sizeof(counted) / sizeof(*counted); n++) {
        struct rows_range range = { .instance = &i };

        range.kind = catalog_find(kinds_catalog_instance(), str_of(counted[n].group),
                                  str_of(counted[n].version), str_of(counted[n].plural));
        if (range.kind && affected_add(counted[n].member ? members : workloads, &range, st) < 0)
            return -1;
    }
    return 0;
}

static str has_text(const struct affected *members, const struct affected *workloads)
{
    str m = affected_text(members, "member cluster", "member clusters");
    str w = affected_text(workloads, "workload", "workloads");

    return str_printf(members->arena, "%.*s and %.*s", STR_ARG(m), STR_ARG(w));
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    str name = json_get_str(a->old, "metadata.name"), has; /* a collection's request has none */
    enum release said = release_of(a->old);
    struct affected members = { .rest = a->req->rest, .arena = arena }, workloads = members;
    bool suspended = json_bool(json_path(a->old, "spec.suspended"));

    (void)obj;
    workloads.kinds = true;
    if (json_path(a->old, "metadata.deletionTimestamp") || json_path(a->old, "spec.attach"))
        return 0; /* it is under way; or what it has is not ours to delete */
    if (name_all(a, name, &members, &workloads, st) < 0)
        return -1;
    if (members.n == 0)
        return 0;
    has = has_text(&members, &workloads);
    if (suspended && said == RELEASE_DESTROY)
        return status_conflict(
            st, a->req->kind->group, a->req->kind->plural, name,
            "it is suspended and has %.*s, of which nothing is deleted in the meantime: end the "
            "suspension (spec.suspended), or say " RELEASE_ANNOTATION "=Orphan, by which what it "
            "has distributed stays in the members",
            STR_ARG(has));
    if (said != RELEASE_UNSAID) {
        rest_warn(a->req,
                  str_printf(arena, "this deletes the instance with its %.*s; %s", STR_ARG(has),
                             said == RELEASE_ORPHAN
                                 ? "what it has distributed stays in the members"
                                 : "what it has distributed is deleted in the members"));
        return 0;
    }
    return status_conflict(
        st, a->req->kind->group, a->req->kind->plural, name,
        "it has %.*s; first say what shall become of what it has distributed: kubectl annotate "
        "instance %.*s " RELEASE_ANNOTATION
        "=Orphan (it stays in the members) or =Destroy (it is deleted there)",
        STR_ARG(has), STR_ARG(name));
}

const struct admission_plugin admit_instance = {
    .name = "InstanceRelease",
    .group = "tenancy.kairship.io",
    .resource = "instances",
    .verbs = VERB_DELETE,
    .validate = validate,
};
