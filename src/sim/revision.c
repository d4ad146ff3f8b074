/* SPDX-License-Identifier: Apache-2.0 */

/* ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, for its history. */

#include "base/banned.h"
#include "sim/state.h"

static const struct json *data_of(struct arena *a, const struct json *owner)
{
    const struct json *template =
        obj_set_str(a, json_path(owner, "spec.template"), "$patch", STR("replace"));

    return json_set(a, &json_empty_object, "spec.template", template);
}

static int read_all(struct client *client, struct arena *a, const struct informer_key *k,
                    const struct json *owner, struct obj_list *out, struct status *st)
{
    return obj_list_owned(client, a, obj_ref(k, "apps", "controllerrevisions"), owner, out, st);
}

/* The oldest go, as many as the owner does not want to keep; the newest ones are in use. */
static int clean_up(struct client *client, struct arena *a, const struct informer_key *k,
                    const struct json *owner, const struct obj_list *all, int64_t newest,
                    struct status *st)
{
    int64_t keep = json_int(json_path(owner, "spec.revisionHistoryLimit"), 10) + 2;

    for (size_t i = 0; i < all->n; i++) {
        struct client_ref ref =
            obj_ref_named(k, "apps", "controllerrevisions", obj_name(all->items[i]));

        if (json_int(json_get(all->items[i], STR("revision")), 0) + keep <= newest &&
            obj_delete(client, a, &ref, obj_uid(all->items[i]), -1, st) < 0)
            return -1;
    }
    return 0;
}

static int make(struct client *client, struct arena *a, const struct informer_key *k,
                const struct json *owner, const char *kind, const struct revision *r,
                int64_t number, struct status *st)
{
    const struct json *v = obj_owned(a, "apps/v1", "ControllerRevision", owner, "apps/v1", kind);

    v = obj_set_str(a, v, "metadata.name", r->name);
    v = json_set(a, v, "metadata.labels", json_path(owner, "spec.template.metadata.labels"));
    v = obj_put(a, v, "metadata.labels", STR("controller-revision-hash"), json_of_str(r->hash));
    v = json_set(a, v, "data", data_of(a, owner));
    v = obj_set_int(a, v, "revision", number);
    return obj_create(client, a, k, "apps", "controllerrevisions", v, st);
}

int revision_ensure(struct client *client, struct arena *a, const struct informer_key *k,
                    const struct json *owner, const char *kind, struct revision *out,
                    struct status *st)
{
    const struct json *mine = NULL;
    struct obj_list all;
    struct client_ref ref;
    int64_t newest = 0;

    out->hash = obj_hash(a, data_of(a, owner));
    out->name = str_printf(a, "%.*s-%.*s", STR_ARG(obj_name(owner)), STR_ARG(out->hash));
    if (read_all(client, a, k, owner, &all, st) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        int64_t n = json_int(json_get(all.items[i], STR("revision")), 0);

        newest = n > newest ? n : newest;
        if (str_eq(obj_name(all.items[i]), out->name))
            mine = all.items[i];
    }
    if (!mine)
        return make(client, a, k, owner, kind, out, newest + 1, st) < 0
                   ? -1
                   : clean_up(client, a, k, owner, &all, newest + 1, st);
    if (json_int(json_get(mine, STR("revision")), 0) == newest)
        return 0;
    ref = obj_ref_named(k, "apps", "controllerrevisions", out->name); /* it has come back */
    return client_patch(client, a, &ref, CLIENT_PATCH_MERGE,
                        obj_set_int(a, &json_empty_object, "revision", newest + 1), NULL, st);
}
