/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What newer programs change in the data of older ones, in the order in which it came.  A row stays
 * for ever: its name says which stores have had it.
 */

#include "base/banned.h"
#include "base/identity.h"
#include "kinds/kinds.h"
#include "kinds/own/groups.h"
#include "rest/upgrade.h"

static const struct json *without_default(struct rest *r, struct arena *a, const struct json *obj,
                                          struct status *st)
{
    (void)r;
    (void)st;
    return tenancy_without_default(a, obj);
}

static const struct json *without_suspension(struct rest *r, struct arena *a,
                                             const struct json *obj, struct status *st)
{
    (void)r;
    (void)st;
    return tenancy_without_suspension(a, obj);
}

struct now {
    struct rest *rest;
    struct arena *arena;
};

static int uid_now(void *arg, const struct named_entry *e, str *uid, struct status *st)
{
    struct now *n = arg;

    if (e->uid.n)
        return 0;
    return kinds_named_uid(n->rest, n->arena, e->what, e->name, uid, st) < 0 ? -1 : 0;
}

/* Rights that were given to a name hold for what has it now. */
static const struct json *with_uids(struct rest *r, struct arena *a, const struct json *obj,
                                    struct status *st)
{
    struct now n = { .rest = r, .arena = a };

    return kinds_named_each(a, &obj, uid_now, &n, st) < 0 ? NULL : obj;
}

/* Certificates that were issued before the User or Group was made counted as theirs. */
static const struct json *with_older_certificates(struct rest *r, struct arena *a,
                                                  const struct json *obj, struct status *st)
{
    struct json_object notes = json_object_from(a, json_path(obj, "metadata.annotations"));

    (void)r;
    (void)st;
    json_put(&notes, STR(IDENTITY_OLDER_CERTIFICATES), json_of_str(STR(IDENTITY_ACCEPTED)));
    return json_set(a, obj, "metadata.annotations", json_object_done(&notes));
}

static const struct {
    const char *name, *group, *version, *plural;
    rest_upgrade_fn *fix;
} upgrades[] = {
    /* spec.release was Destroy by default: nobody meant it. */
    { "release-unsaid", "tenancy.kairship.io", "v1alpha1", "instances", without_default },
    /* spec.suspended did nothing: what has gone on with it is not stopped by an upgrade. */
    { "suspended-unheard", "tenancy.kairship.io", "v1alpha1", "instances", without_suspension },
    { "older-certificates-of-groups", "iam.kairship.io", "v1alpha1", "groups",
      with_older_certificates },
    { "older-certificates-of-users", "iam.kairship.io", "v1alpha1", "users",
      with_older_certificates },
    { "uids-of-groups", "iam.kairship.io", "v1alpha1", "groups", with_uids },
    { "uids-of-platformroles", "iam.kairship.io", "v1alpha1", "platformroles", with_uids },
    { "uids-of-workspaces", "iam.kairship.io", "v1alpha1", "workspaces", with_uids },
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
