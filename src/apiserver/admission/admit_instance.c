/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deleting an Instance that has members takes what runs there with it, or leaves it alone for good.
 * The person who deletes says which; without that word the deletion is refused, whoever asks.  A
 * dry run lists what the deletion is about.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "object/meta/release.h"
#include "rest/rows.h"

enum { COUNT_MAX = 100000 };

/* What an instance has, by profile. */
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

static const struct catalog *catalog_of(const struct instance *i)
{
    return i->profile == PROFILE_MINIMAL      ? kinds_catalog_minimal()
           : i->profile == PROFILE_KUBERNETES ? kinds_catalog_kubernetes()
                                              : kinds_catalog_instance();
}

static bool first(void *arg, const struct row *row)
{
    (void)row;
    *(bool *)arg = true;
    return false;
}

/* How many there are; COUNT_MAX stands for more. */
static int count(struct rest *r, const struct instance *i, const struct kind *k, uint64_t *out,
                 struct status *st)
{
    struct rows_range range = { .instance = i, .kind = k };
    bool any = false;

    *out = 0;
    if (rows_scan(r, &range, first, &any, st) < 0)
        return -1;
    if (!any)
        return 0;
    range = (struct rows_range){ .instance = i, .kind = k };
    if (rows_count(r, &range, COUNT_MAX, out, st) < 0)
        return -1;
    *out = *out ? *out : COUNT_MAX;
    return 0;
}

static int count_all(const struct admission *a, str name, uint64_t *members, uint64_t *workloads,
                     struct status *st)
{
    struct instance i;

    *members = *workloads = 0;
    if (instance_find(rest_instances(a->req->rest), a->req->arena, name, &i, st) < 0)
        return -1;
    for (size_t n = 0; n < sizeof(counted) / sizeof(*counted); n++) {
        const struct kind *k = catalog_find(catalog_of(&i), str_of(counted[n].group),
                                            str_of(counted[n].version), str_of(counted[n].plural));
        uint64_t more = 0;

        if (k && count(a->req->rest, &i, k, &more, st) < 0)
            return -1;
        *(counted[n].member ? members : workloads) += more;
    }
    return 0;
}

static str has_text(struct arena *a, uint64_t members, uint64_t workloads)
{
    return str_printf(a, "%llu member cluster%s and %llu workload%s", (unsigned long long)members,
                      members == 1 ? "" : "s", (unsigned long long)workloads,
                      workloads == 1 ? "" : "s");
}

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    str name = json_get_str(a->old, "metadata.name"), has; /* a collection's request has none */
    enum release said = release_of(a->old);
    uint64_t members, workloads;

    (void)obj;
    if (json_path(a->old, "metadata.deletionTimestamp") || json_path(a->old, "spec.attach"))
        return 0; /* it is under way; or what it has is not ours to delete */
    if (said != RELEASE_UNSAID && !a->req->delete.dry_run)
        return 0;
    if (count_all(a, name, &members, &workloads, st) < 0)
        return -1;
    if (members == 0)
        return 0;
    has = has_text(arena, members, workloads);
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
