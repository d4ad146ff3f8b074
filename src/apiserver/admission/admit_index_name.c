/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A PediaCluster and a registered cluster are both indexed by their names.  One that took the name
 * of the other would have its rows, or give it rows of its own.
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "rest/lookup.h"

static const struct {
    const char *group, *version, *plural;
} kinds[] = {
    { "cluster.clusterpedia.io", "v1alpha2", "pediaclusters" },
    { "fleet.kairship.io", "v1alpha1", "clusters" },
};

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    struct rest_request *r = a->req;
    str name = json_get_str(obj, "metadata.name");

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct kind *other = catalog_find(kinds_catalog_root(), str_of(kinds[i].group),
                                                str_of(kinds[i].version), str_of(kinds[i].plural));
        const struct json *found;
        int there;

        if (str_eq(r->kind->group, str_of(kinds[i].group)))
            continue;
        there = lookup_get(r->rest, r->arena, &r->instance, other, STR_NONE, name, &found, st);
        if (there < 0)
            return -1;
        if (!there)
            continue;
        status_cause(st, CAUSE_INVALID, STR("metadata.name"),
                     str_printf(r->arena, "\"%.*s\"", STR_ARG(name)), "is the name of a %.*s of %s",
                     STR_ARG(other->kind), kinds[i].group);
        return status_invalid(st, r->kind->group, r->kind->kind, name);
    }
    return 0;
}

const struct admission_plugin admit_pedia_name = {
    .name = "IndexName",
    .group = "cluster.clusterpedia.io",
    .resource = "pediaclusters",
    .verbs = VERB_CREATE,
    .validate = validate,
};

const struct admission_plugin admit_registered_name = {
    .name = "IndexName",
    .group = "fleet.kairship.io",
    .resource = "clusters",
    .verbs = VERB_CREATE,
    .validate = validate,
};
