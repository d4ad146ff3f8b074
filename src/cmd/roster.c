/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/roster.h"

#include <stdatomic.h>

#include "base/banned.h"
#include "kinds/kinds.h"
#include "rest/instance.h"

static const struct client_ref registry = { .group = STR_INIT("fleet.kairship.io"),
                                            .version = STR_INIT("v1alpha1"),
                                            .resource = STR_INIT("clusters") };

struct roster_list {
    atomic_uint refs;
    struct arena *arena; /* and itself */
    uint64_t rev;        /* nothing older is missing */
    struct roster_cluster *clusters;
    size_t n;
};

static struct roster_list *list_ref(struct roster_list *l)
{
    if (l)
        (void)atomic_fetch_add(&l->refs, 1);
    return l;
}

static void list_unref(void *arg)
{
    struct roster_list *l = arg;

    if (l && atomic_fetch_sub(&l->refs, 1) == 1)
        arena_free(l->arena);
}

static bool is_fresh(const struct roster *r, const struct roster_list *l)
{
    const struct kind *k =
        catalog_find(kinds_catalog_root(), registry.group, registry.version, registry.resource);

    return store_touched(r->store, k->type_id, INSTANCE_ROOT) <= l->rev ||
           store_head(r->store) <= l->rev;
}

static void add(struct roster_list *l, const struct json *entry)
{
    const struct json *instances = json_path(entry, "status.instances");
    bool member = !str_is(json_get_str(entry, "spec.type"), "Virtual");
    str *names;

    if (!member && json_len(instances) == 0)
        return;
    names = arena_array(l->arena, str, json_len(instances));
    l->clusters[l->n] = (struct roster_cluster){
        .name = str_dup(l->arena, json_get_str(entry, "metadata.name")),
        .member = member,
        .instances = names,
    };
    json_for_each (i, instances)
        names[l->clusters[l->n].ninstances++] = str_dup(l->arena, json_str(i));
    l->n++;
}

static struct roster_list *read_list(struct roster *r, struct client *root, struct status *st)
{
    scoped_arena a = arena_new();
    uint64_t rev = store_head(r->store);
    const struct json *list, *items;
    struct roster_list *l;
    struct arena *own;

    if (client_list(root, a, &registry, NULL, &list, st) < 0)
        return NULL;
    items = json_get(list, STR("items"));
    own = arena_new();
    l = arena_new_of(own, struct roster_list);
    l->arena = own;
    l->rev = rev;
    l->clusters = arena_array(own, struct roster_cluster, json_len(items));
    atomic_init(&l->refs, 1);
    json_for_each (entry, items)
        add(l, entry);
    return l;
}

static struct roster_list *current(struct roster *r)
{
    struct roster_list *l;

    (void)pthread_mutex_lock(&r->lock);
    l = list_ref(r->now);
    (void)pthread_mutex_unlock(&r->lock);
    if (!l || is_fresh(r, l))
        return l;
    list_unref(l);
    return NULL;
}

/* Whoever comes last stays: an older one is only read again. */
static void keep(struct roster *r, struct roster_list *l)
{
    struct roster_list *was;

    (void)pthread_mutex_lock(&r->lock);
    was = r->now;
    r->now = list_ref(l);
    (void)pthread_mutex_unlock(&r->lock);
    list_unref(was);
}

int roster_get(struct roster *r, struct client *root, struct arena *a,
               const struct roster_cluster **out, size_t *n, struct status *st)
{
    struct roster_list *l = current(r);

    if (!l) {
        l = read_list(r, root, st);
        if (!l)
            return -1;
        keep(r, l);
    }
    arena_defer(a, list_unref, l);
    *out = l->clusters;
    *n = l->n;
    return 0;
}

void roster_init(struct roster *r, struct store *store)
{
    *r = (struct roster){ .store = store };
    (void)pthread_mutex_init(&r->lock, NULL);
}

void roster_release(struct roster *r)
{
    list_unref(r->now);
    (void)pthread_mutex_destroy(&r->lock);
}
