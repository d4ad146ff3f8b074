/* SPDX-License-Identifier: Apache-2.0 */

/* Who and what has a name now, for those that give rights to names. */

#include "base/banned.h"
#include "kinds/kinds.h"
#include "rest/lookup.h"

static const struct {
    const char *group, *version, *plural;
} kinds[] = {
    [NAMED_CLUSTER] = { "fleet.kairship.io", "v1alpha1", "clusters" },
    [NAMED_USER] = { "iam.kairship.io", "v1alpha1", "users" },
    [NAMED_GROUP] = { "iam.kairship.io", "v1alpha1", "groups" },
};

enum { NAME_MAX_BYTES = 253 }; /* no object has a longer one */

/* The row under the name has it: nothing need be parsed. */
static int instance_uid(struct rest *r, struct arena *a, str name, str *uid, struct status *st)
{
    struct instance i;

    if (instance_find(rest_instances(r), a, name, &i, st) == 0) {
        *uid = i.uid;
        return 1;
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int kinds_named_uid(struct rest *r, struct arena *a, enum named_what what, str name, str *uid,
                    struct status *st)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    const struct json *obj;
    const struct kind *k;
    int found;

    *uid = STR_NONE;
    if (!name.n || name.n > NAME_MAX_BYTES)
        return 0;
    if (what == NAMED_INSTANCE)
        return instance_uid(r, a, name, uid, st);
    k = catalog_find(kinds_catalog_root(), str_of(kinds[what].group), str_of(kinds[what].version),
                     str_of(kinds[what].plural));
    found = lookup_plain(r, a, &root, k, STR_NONE, name, &obj, st);
    if (found <= 0)
        return found;
    if (what == NAMED_CLUSTER && str_is(json_get_str(obj, "spec.type"), "Virtual"))
        return 0;
    *uid = json_get_str(obj, "metadata.uid");
    return 1;
}

/* ---- entries ---- */

struct names {
    struct arena *arena;
    named_fn *fn;
    void *arg;
    struct status *st;
};

/* A word of the entry says what it names, the first one when there is none. */
static const struct list {
    const char *path, *word, *name;
    struct {
        const char *word;
        enum named_what what;
    } rows[2];
} lists[] = {
    { "spec.resources",
      "resourceType",
      "resourceName",
      { { "Kairship", NAMED_INSTANCE }, { "Cluster", NAMED_CLUSTER } } },
    { "spec.members", "kind", "name", { { "User", NAMED_USER }, { "Group", NAMED_GROUP } } },
};

static int ask(const struct names *n, enum named_what what, str name, str uid, str field, str *now)
{
    struct named_entry e = { .what = what, .name = name, .uid = uid, .field = field };

    *now = uid;
    return n->fn(n->arg, &e, now, n->st);
}

static int each_of(const struct names *n, const struct list *l, const struct json **obj)
{
    struct json_array out = json_array_new(n->arena);
    bool changed = false;
    size_t i = 0;

    json_for_each (it, json_path(*obj, l->path)) {
        bool second = str_is(json_get_str(it, l->word), l->rows[1].word);
        str field = str_printf(n->arena, "%s[%zu].uid", l->path, i++), now;
        str uid = json_get_str(it, "uid");
        const struct json *with = it;

        if (ask(n, l->rows[second].what, json_get_str(it, l->name), uid, field, &now) < 0)
            return -1;
        if (!str_eq(now, uid)) {
            with =
                json_set(n->arena, it, "uid", now.n ? json_box(n->arena, json_of_str(now)) : NULL);
            changed = true;
        }
        json_push(&out, *with);
    }
    if (changed)
        *obj = json_set(n->arena, *obj, l->path, json_array_done(&out));
    return 0;
}

/* The members of a Group are names, and their uids are beside them. */
static int each_member(const struct names *n, const struct json **obj)
{
    const struct json *uids = json_path(*obj, "spec.memberUids"), *now;
    struct json_object out = json_object_new(n->arena);

    json_for_each (it, json_path(*obj, "spec.members")) {
        str name = json_str(it), uid;
        str field = str_printf(n->arena, "spec.memberUids[%.*s]", STR_ARG(name));

        if (ask(n, NAMED_USER, name, json_str(json_get(uids, name)), field, &uid) < 0)
            return -1;
        if (uid.n)
            json_put(&out, name, json_of_str(uid));
    }
    now = json_object_done(&out);
    if (!json_equal(now, uids ? uids : &json_empty_object))
        *obj = json_set(n->arena, *obj, "spec.memberUids", json_len(now) ? now : NULL);
    return 0;
}

int kinds_named_each(struct arena *a, const struct json **obj, named_fn *fn, void *arg,
                     struct status *st)
{
    struct names n = { .arena = a, .fn = fn, .arg = arg, .st = st };
    const struct json *members = json_path(*obj, "spec.members");

    if (json_is(json_at(members, 0), JSON_STRING) || json_path(*obj, "spec.memberUids"))
        return each_member(&n, obj);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        if (each_of(&n, &lists[i], obj) < 0)
            return -1;
    return 0;
}
