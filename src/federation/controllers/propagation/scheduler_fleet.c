/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/scheduler_fleet.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    FLEETS_MAX = 32, /* instances that are held */
    STALE_MAX = 16,  /* clusters that are read one by one; more: all are listed */
};

/* One cluster, frozen. */
struct member {
    atomic_uint refs;
    struct arena *arena;
    const struct sched_cluster *cluster;
};

/* All clusters of an instance at one moment, frozen. */
struct image {
    atomic_uint refs;
    uint64_t version;
    struct member **members; /* sorted by name */
    const struct sched_cluster **clusters;
    size_t n;
};

struct fleet {
    struct fleet *next; /* used later than this one */
    char *instance;
    struct image *image; /* NULL: not read yet */
    uint64_t version;    /* of what happened; the image's is behind when something is stale */
    struct {
        char *name;
        uint64_t version;
    } stale[STALE_MAX];
    size_t nstale;
    uint64_t all_stale; /* at this version everything was */
};

struct scheduler_fleets {
    pthread_mutex_t mu;
    struct map known; /* "instance//name" -> struct known */
    struct fleet *fleets;
    size_t nfleets;
};

struct known {
    uint64_t fingerprint;
    char key[];
};

/* ---- members and images ---- */

static struct member *member_new(const struct json *cluster)
{
    struct member *m = mem_zalloc(sizeof(*m));

    atomic_init(&m->refs, 1);
    m->arena = arena_new();
    m->cluster = sched_cluster_keep(m->arena, cluster);
    return m;
}

static struct member *member_ref(struct member *m)
{
    (void)atomic_fetch_add(&m->refs, 1);
    return m;
}

static void member_unref(struct member *m)
{
    if (atomic_fetch_sub(&m->refs, 1) > 1)
        return;
    arena_free(m->arena);
    free(m);
}

static void image_unref(void *arg)
{
    struct image *i = arg;

    if (!i || atomic_fetch_sub(&i->refs, 1) > 1)
        return;
    for (size_t k = 0; k < i->n; k++)
        member_unref(i->members[k]);
    free(i->members);
    free(i->clusters);
    free(i);
}

static struct image *image_ref(struct image *i)
{
    if (i)
        (void)atomic_fetch_add(&i->refs, 1);
    return i;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(struct member *const *)a)->cluster->name,
                   (*(struct member *const *)b)->cluster->name);
}

/* Takes the members. */
static struct image *image_new(struct member **members, size_t n, uint64_t version)
{
    struct image *i = mem_zalloc(sizeof(*i));

    atomic_init(&i->refs, 1);
    i->version = version;
    i->members = members;
    i->n = n;
    if (n)
        qsort(members, n, sizeof(*members), by_name);
    i->clusters = mem_alloc((n + 1) * sizeof(*i->clusters));
    for (size_t k = 0; k < n; k++)
        i->clusters[k] = members[k]->cluster;
    return i;
}

/* ---- the cache ---- */

struct scheduler_fleets *scheduler_fleets_new(void)
{
    struct scheduler_fleets *f = mem_zalloc(sizeof(*f));

    (void)pthread_mutex_init(&f->mu, NULL);
    return f;
}

static void fleet_free(struct fleet *f)
{
    for (size_t i = 0; i < f->nstale; i++)
        free(f->stale[i].name);
    image_unref(f->image);
    free(f->instance);
    free(f);
}

void scheduler_fleets_free(struct scheduler_fleets *f)
{
    size_t at = 0;
    str key;
    void *value;

    if (!f)
        return;
    for (struct fleet *one = f->fleets, *next; one; one = next) {
        next = one->next;
        fleet_free(one);
    }
    while (map_each(&f->known, &at, &key, &value))
        free(value);
    map_release(&f->known);
    (void)pthread_mutex_destroy(&f->mu);
    free(f);
}

/* Under the lock; moves it to the end, where those used last are. */
static struct fleet *find_fleet(struct scheduler_fleets *f, str instance)
{
    struct fleet **at = &f->fleets, *found;

    while (*at && !str_is(instance, (*at)->instance))
        at = &(*at)->next;
    found = *at;
    if (!found || !found->next)
        return found;
    *at = found->next;
    while (*at)
        at = &(*at)->next;
    found->next = NULL;
    *at = found;
    return found;
}

static struct fleet *add_fleet(struct scheduler_fleets *f, str instance)
{
    struct fleet *one = mem_zalloc(sizeof(*one)), **at = &f->fleets;

    one->instance = mem_alloc(instance.n + 1);
    if (instance.n)
        memcpy(one->instance, instance.p, instance.n);
    one->instance[instance.n] = '\0';
    one->version = one->all_stale = 1;
    if (f->nfleets == FLEETS_MAX) {
        struct fleet *oldest = f->fleets;

        f->fleets = oldest->next;
        fleet_free(oldest);
    } else
        f->nfleets++;
    while (*at)
        at = &(*at)->next;
    *at = one;
    return one;
}

static void mark_stale(struct fleet *f, str name)
{
    f->version++;
    for (size_t i = 0; i < f->nstale; i++)
        if (str_is(name, f->stale[i].name)) {
            f->stale[i].version = f->version;
            return;
        }
    if (f->nstale == STALE_MAX) {
        f->all_stale = f->version;
        return;
    }
    f->stale[f->nstale].name = mem_alloc(name.n + 1);
    memcpy(f->stale[f->nstale].name, name.p, name.n);
    f->stale[f->nstale].name[name.n] = '\0';
    f->stale[f->nstale++].version = f->version;
}

/* ---- what changed ---- */

/* Under the lock: whether it is other than what was known of it. */
static bool note_fingerprint(struct scheduler_fleets *f, str key, bool gone, uint64_t now)
{
    struct known *k = map_get(&f->known, key);
    bool changed = gone ? k != NULL : !k || k->fingerprint != now;

    if (gone && k) {
        (void)map_remove(&f->known, key);
        free(k);
    }
    if (gone || !changed)
        return changed;
    if (!k) {
        k = mem_alloc(sizeof(*k) + key.n);
        memcpy(k->key, key.p, key.n);
        (void)map_put(&f->known, (str){ k->key, key.n }, k);
    }
    k->fingerprint = now;
    return true;
}

bool scheduler_fleets_note(struct scheduler_fleets *f, const struct informer_key *k,
                           const struct json *cluster)
{
    scoped_arena a = arena_new();
    uint64_t now = cluster ? sched_cluster_parse(a, cluster)->fingerprint : 0;
    str key = informer_key_text(a, k);
    struct fleet *fleet;
    bool changed;

    (void)pthread_mutex_lock(&f->mu);
    changed = note_fingerprint(f, key, !cluster, now);
    fleet = f->fleets;
    while (fleet && !str_is(k->instance, fleet->instance))
        fleet = fleet->next;
    if (fleet && k->name.n)
        mark_stale(fleet, k->name);
    (void)pthread_mutex_unlock(&f->mu);
    return changed;
}

/* ---- reading ---- */

/* What is to be read again to make the image whole. */
struct reading {
    struct client *client;
    struct arena *arena;
    struct client_ref ref;
    struct image *base; /* NULL: all */
    uint64_t version;
    str names[STALE_MAX];
    size_t nnames;
};

static int read_all(struct reading *r, struct image **out, struct status *st)
{
    const struct json *list, *items;
    struct member **members;
    size_t n = 0;

    if (client_list(r->client, r->arena, &r->ref, NULL, &list, st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    members = mem_alloc((json_len(items) + 1) * sizeof(struct member *));
    json_for_each (item, items)
        members[n++] = member_new(item);
    *out = image_new(members, n, r->version);
    return 0;
}

static bool is_stale(const struct reading *r, str name)
{
    for (size_t i = 0; i < r->nnames; i++)
        if (str_eq(name, r->names[i]))
            return true;
    return false;
}

static int read_stale(struct reading *r, struct image **out, struct status *st)
{
    struct member **members = mem_alloc((r->base->n + STALE_MAX) * sizeof(struct member *));
    size_t n = 0;

    for (size_t i = 0; i < r->base->n; i++)
        if (!is_stale(r, r->base->clusters[i]->name))
            members[n++] = member_ref(r->base->members[i]);
    for (size_t i = 0; i < r->nnames; i++) {
        const struct json *cluster;

        r->ref.name = r->names[i];
        if (client_get(r->client, r->arena, &r->ref, &cluster, st) == 0) {
            members[n++] = member_new(cluster);
            continue;
        }
        if (!status_is(st, REASON_NOT_FOUND)) {
            image_unref(image_new(members, n, 0));
            return -1;
        }
        status_reset(st);
    }
    *out = image_new(members, n, r->version);
    return 0;
}

/* Under the lock. */
static void plan(struct reading *r, struct fleet *f)
{
    r->version = f->version;
    if (!f->image || f->image->version < f->all_stale)
        return;
    r->base = image_ref(f->image);
    for (size_t i = 0; i < f->nstale; i++)
        r->names[r->nnames++] = str_dup(r->arena, str_of(f->stale[i].name));
}

/* Under the lock.  What became stale meanwhile stays so. */
static void install(struct scheduler_fleets *all, str instance, struct image *i)
{
    struct fleet *f = find_fleet(all, instance);
    size_t n = 0;

    if (!f || (f->image && f->image->version >= i->version))
        return;
    image_unref(f->image);
    f->image = image_ref(i);
    for (size_t k = 0; k < f->nstale; k++)
        if (f->stale[k].version > i->version)
            f->stale[n++] = f->stale[k];
        else
            free(f->stale[k].name);
    f->nstale = n;
}

static void hand_out(struct arena *a, struct image *i, struct scheduler_snapshot *out)
{
    arena_defer(a, image_unref, i);
    *out = (struct scheduler_snapshot){ i->clusters, i->n };
}

int scheduler_fleets_get(struct scheduler_fleets *f, struct client *client, struct arena *a,
                         str instance, struct scheduler_snapshot *out, struct status *st)
{
    struct reading r = { .client = client,
                         .arena = a,
                         .ref = { .instance = str_is(instance, "root") ? STR_NONE : instance,
                                  .group = STR("cluster.karmada.io"),
                                  .version = STR("v1alpha1"),
                                  .resource = STR("clusters") } };
    struct image *image = NULL;
    struct fleet *fleet;
    int rc;

    (void)pthread_mutex_lock(&f->mu);
    fleet = find_fleet(f, instance);
    if (!fleet)
        fleet = add_fleet(f, instance);
    if (fleet->image && fleet->image->version == fleet->version)
        image = image_ref(fleet->image);
    else
        plan(&r, fleet);
    (void)pthread_mutex_unlock(&f->mu);
    if (image) {
        hand_out(a, image, out);
        return 0;
    }
    rc = r.base ? read_stale(&r, &image, st) : read_all(&r, &image, st);
    image_unref(r.base);
    if (rc < 0)
        return -1;
    (void)pthread_mutex_lock(&f->mu);
    install(f, instance, image);
    (void)pthread_mutex_unlock(&f->mu);
    hand_out(a, image, out);
    return 0;
}

const struct sched_cluster *scheduler_snapshot_find(const struct scheduler_snapshot *s, str name)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (str_cmp(s->clusters[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && str_eq(s->clusters[low]->name, name) ? s->clusters[low] : NULL;
}
