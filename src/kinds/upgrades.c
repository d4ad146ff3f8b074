/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What newer programs change in the data of older ones, in the order in which it came.  A row stays
 * for ever: its name says which stores have had it.
 */

#include "base/banned.h"
#include "kinds/kinds.h"
#include "kinds/own/groups.h"
#include "rest/upgrade.h"

static const struct {
    const char *name, *group, *version, *plural;
    const struct json *(*fix)(struct arena *a, const struct json *obj);
} upgrades[] = {
    /* spec.release was Destroy by default: nobody meant it. */
    { "release-unsaid", "tenancy.kairship.io", "v1alpha1", "instances", tenancy_without_default },
};

int kinds_upgrade(struct rest *r, struct status *st)
{
    for (size_t i = 0; i < sizeof(upgrades) / sizeof(*upgrades); i++) {
        const struct kind *k =
            catalog_find(kinds_catalog_root(), str_of(upgrades[i].group),
                         str_of(upgrades[i].version), str_of(upgrades[i].plural));

        if (rest_upgrade(r, k, str_of(upgrades[i].name), upgrades[i].fix, st) < 0)
            return -1;
    }
    return 0;
}
