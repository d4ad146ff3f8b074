/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_leave.h"

#include "base/banned.h"
#include "fleet/syncer_internal.h"

enum { PAGE = 500 };

static bool is_of(struct arena *a, const struct json *namespace, const struct ownership *who,
                  str logical)
{
    str owner = owner_of(namespace, who->name);
    struct syncer_origin from;

    if (!syncer_origin_read(a, sync_locator_of(namespace), &from) || !str_eq(from.logical, logical))
        return false;
    if (from.installation.n)
        return str_eq(from.installation, who->installation);
    return who->origin == INSTALLATION_UPGRADED && (!owner.n || str_eq(owner, who->name));
}

static int drop(struct client *member, struct arena *a, struct client_ref *ref,
                const struct json *namespace, struct status *st)
{
    if (json_path(namespace, "metadata.deletionTimestamp"))
        return 0;
    ref->name = json_get_str(namespace, "metadata.name");
    if (client_delete(member, a, ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int syncer_leave(struct client *member, struct arena *a, const struct ownership *who, str logical,
                 struct status *st)
{
    struct client_query q = { .limit = PAGE };
    int left = 0;

    do {
        struct client_ref ref = { .version = STR("v1"), .resource = STR("namespaces") };
        scoped_arena page = arena_new();
        const struct json *list;

        if (client_list(member, page, &ref, &q, &list, st) < 0)
            return -1;
        json_for_each (namespace, json_get(list, STR("items"))) {
            if (!is_of(page, namespace, who, logical))
                continue;
            left++;
            if (drop(member, page, &ref, namespace, st) < 0)
                return -1;
        }
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return left;
}
