/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/catalogs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kinds/crd/custom.h"
#include "rest/lookup.h"
#include "rest/schemas.h"

enum {
    PLACES = 1024,           /* instances that are found without looking at their CRDs */
    CUSTOMS_MORE = 64 << 20, /* bytes of compiled CRDs before those that nobody uses go */
    HELDS_MORE = 64,         /* and catalogs */
};

struct held {
    struct catalog catalog; /* first: what requests have */
    atomic_uint refs;
    struct arena *arena;
    struct custom **customs;
    size_t ncustoms;
};

/* A CRD's row that a catalog was made from: it need not be read again until it changes. */
struct seen {
    uint64_t rev, hash;
    size_t custom; /* 1 + place in held->customs; 0: it is not served */
};

/* Up to this revision the instance has this catalog. */
struct place {
    uint32_t instance;
    uint64_t rev;
    struct held *held; /* NULL: that of its profile */
    struct seen *seen; /* in the order of their names */
    size_t nseen;
};

struct waiter {
    struct loop_msg msg; /* first */
    struct catalogs *catalogs;
    struct call *call;
    void (*then)(struct call *c);
    struct waiter *next;
};

/* One at a time for an instance; who comes meanwhile waits for it. */
struct build {
    struct worker_job job; /* first */
    struct catalogs *catalogs;
    struct instance instance;
    struct waiter *waiters;
};

struct catalogs {
    struct server *server;
    const struct kind *crds;
    _Atomic(struct place *) places[PLACES];
    pthread_mutex_t mu;
    struct map64 builds;  /* guarded by mu, as all below: by instance */
    struct map64 customs; /* by hash */
    struct map64 helds;   /* by etag */
    size_t custom_bytes, customs_max, helds_max;
};

static const struct catalog *base_of(const struct instance *i)
{
    if (i->id == INSTANCE_ROOT || i->id == STORE_ALL)
        return kinds_catalog_root();
    if (i->profile == PROFILE_KUBERNETES)
        return kinds_catalog_kubernetes();
    return i->profile == PROFILE_MINIMAL ? kinds_catalog_minimal() : kinds_catalog_instance();
}

/* ---- references ---- */

static void held_unref(void *arg)
{
    struct held *h = arg;

    if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < h->ncustoms; i++)
        custom_unref(h->customs[i]);
    free(h->customs);
    arena_free(h->arena);
    free(h);
}

static struct held *held_ref(struct held *h)
{
    if (h)
        atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

static void place_free(void *arg)
{
    struct place *p = arg;

    held_unref(p->held);
    free(p->seen);
    free(p);
}

static _Atomic(struct place *) *place_of(struct catalogs *cs, uint32_t instance)
{
    return &cs->places[(instance * 2654435761U) % PLACES];
}

/* Takes the place. */
static void remember(struct catalogs *cs, const struct place *found)
{
    struct place *p = mem_alloc(sizeof(*p)), *old;

    *p = *found;
    old = atomic_exchange(place_of(cs, p->instance), p);
    if (old)
        epoch_retire(place_free, old);
}

struct catalogs *catalogs_new(struct server *s)
{
    struct catalogs *cs = mem_zalloc(sizeof(*cs));

    cs->server = s;
    cs->crds = catalog_find(kinds_catalog_root(), STR("apiextensions.k8s.io"), STR("v1"),
                            STR("customresourcedefinitions"));
    cs->customs_max = CUSTOMS_MORE;
    cs->helds_max = HELDS_MORE;
    (void)pthread_mutex_init(&cs->mu, NULL);
    return cs;
}

void catalogs_free(struct catalogs *cs)
{
    uint64_t key;
    void *value;

    if (!cs)
        return;
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = atomic_load(&cs->places[i]);

        if (p)
            place_free(p);
    }
    for (size_t at = 0; map64_each(&cs->helds, &at, &key, &value);)
        held_unref(value);
    for (size_t at = 0; map64_each(&cs->customs, &at, &key, &value);)
        custom_unref(value);
    map64_release(&cs->helds);
    map64_release(&cs->customs);
    map64_release(&cs->builds);
    (void)pthread_mutex_destroy(&cs->mu);
    free(cs);
}

/* ---- making, on a worker ---- */

struct collect {
    struct catalogs *catalogs;
    struct arena *arena;
    const struct place *was; /* of the same instance, or NULL; lives as long as the epoch */
    size_t at;               /* in was->seen */
    struct held *held;
    struct seen *seen;
    size_t nseen, seen_cap, cap;
    uint64_t etag, rev; /* rev: of the row */
};

static int record_schemas(struct store *s, const struct custom *c, struct status *st)
{
    const struct kind *const *kinds;
    size_t n = custom_kinds(c, &kinds);

    for (size_t i = 0; i < n; i++)
        if (schema_record_put(s, kinds[i], st) < 0)
            return -1;
    return 0;
}

/* A new reference, or NULL when the CRD cannot be served. */
static struct custom *custom_of(struct catalogs *cs, struct arena *a, const struct json *crd,
                                uint64_t hash)
{
    struct custom *c, *other;
    struct status st;
    uint32_t type;

    (void)pthread_mutex_lock(&cs->mu);
    c = map64_get(&cs->customs, hash);
    if (c)
        (void)custom_ref(c);
    (void)pthread_mutex_unlock(&cs->mu);
    if (c)
        return c;
    status_init(&st, a);
    if (type_id(cs->server->store, json_get_str(crd, "spec.group"),
                json_get_str(crd, "status.acceptedNames.plural"), &type, &st) == 0)
        c = custom_new(crd, type, kinds_catalog_instance(), &st);
    if (c && record_schemas(cs->server->store, c, &st) < 0) {
        custom_unref(c);
        c = NULL;
    }
    if (!c) {
        log_warn("a CRD is not served", log_str("name", json_get_str(crd, "metadata.name")),
                 log_status(&st));
        return NULL;
    }
    (void)pthread_mutex_lock(&cs->mu);
    other = map64_put(&cs->customs, hash, custom_ref(c));
    cs->custom_bytes += custom_bytes(c) - (other ? custom_bytes(other) : 0);
    (void)pthread_mutex_unlock(&cs->mu);
    custom_unref(other);
    return c;
}

/* Takes the custom, if there is one. */
static void add(struct collect *k, struct custom *c, uint64_t hash)
{
    struct held *h = k->held;

    if (!c)
        return;
    if (h->ncustoms == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 16;
        h->customs = mem_realloc_n(h->customs, k->cap, sizeof(struct custom *));
    }
    h->customs[h->ncustoms++] = c;
    k->etag = str_hash(STR_NONE, k->etag, hash);
}

static void see(struct collect *k, bool served, uint64_t hash)
{
    if (k->nseen == k->seen_cap) {
        k->seen_cap = k->seen_cap ? 2 * k->seen_cap : 16;
        k->seen = mem_realloc_n(k->seen, k->seen_cap, sizeof(*k->seen));
    }
    k->seen[k->nseen++] =
        (struct seen){ .rev = k->rev, .hash = hash, .custom = served ? k->held->ncustoms : 0 };
}

/* The rows come in the order in which they were seen: only what is new or gone takes a search. */
static bool know(void *arg, str row, uint64_t rev)
{
    struct collect *k = arg;
    const struct seen *s;
    size_t at = k->at;

    (void)row;
    k->rev = rev;
    if (!k->was || !rev)
        return false;
    while (at < k->was->nseen && k->was->seen[at].rev != rev)
        at++;
    if (at == k->was->nseen)
        return false;
    k->at = at + 1;
    s = &k->was->seen[at];
    if (s->custom)
        add(k, custom_ref(k->was->held->customs[s->custom - 1]), s->hash);
    see(k, s->custom > 0, s->hash);
    return true;
}

static bool collect_crd(void *arg, const struct json *crd)
{
    struct collect *k = arg;
    bool served = custom_is_served(crd);
    uint64_t hash = served ? custom_hash(crd) : 0;
    struct custom *c = served ? custom_of(k->catalogs, k->arena, crd, hash) : NULL;

    add(k, c, hash);
    if (k->rev && (c || !served)) /* what went wrong is tried again */
        see(k, served, hash);
    return true;
}

static uint64_t resource_hash(const struct kind *k)
{
    return str_hash(k->plural, str_hash(k->group, 0, 0), 0);
}

static void compose(struct held *h, const struct catalog *base, uint64_t etag)
{
    size_t n = base->nkinds, max = n;
    const struct kind *const *kinds;
    const struct kind **all;
    struct map64 built_in = { 0 };

    for (size_t i = 0; i < n; i++)
        (void)map64_put(&built_in, resource_hash(base->kinds[i]), h);
    for (size_t i = 0; i < h->ncustoms; i++)
        max += custom_kinds(h->customs[i], &kinds);
    if (max > CATALOG_KINDS_MAX)
        max = CATALOG_KINDS_MAX;
    all = arena_array(h->arena, const struct kind *, max);
    memcpy(all, base->kinds, n * sizeof(*all));
    for (size_t i = 0; i < h->ncustoms; i++) {
        size_t served = custom_kinds(h->customs[i], &kinds);

        if (served && map64_get(&built_in, resource_hash(kinds[0])))
            continue;
        for (size_t j = 0; j < served && n < max; j++)
            all[n++] = kinds[j];
    }
    map64_release(&built_in);
    h->catalog =
        (struct catalog){ .kinds = all, .nkinds = n, .schemas = base->schemas, .etag = etag };
    catalog_index(h->arena, &h->catalog);
}

/* Both take values of a map out that nobody but the map has; the caller holds the lock, so nobody
 * gets them meanwhile. */
static void drop_helds_locked(struct catalogs *cs)
{
    struct map64 kept = { 0 };
    uint64_t key;
    void *value;

    for (size_t at = 0; map64_each(&cs->helds, &at, &key, &value);) {
        struct held *h = value;

        if (atomic_load_explicit(&h->refs, memory_order_acquire) == 1)
            held_unref(h);
        else
            (void)map64_put(&kept, key, h);
    }
    map64_release(&cs->helds);
    cs->helds = kept;
    cs->helds_max = 2 * map64_size(&kept) + HELDS_MORE;
}

static void drop_customs_locked(struct catalogs *cs)
{
    struct map64 kept = { 0 };
    uint64_t key;
    void *value;

    cs->custom_bytes = 0;
    for (size_t at = 0; map64_each(&cs->customs, &at, &key, &value);) {
        if (custom_is_alone(value)) {
            custom_unref(value);
            continue;
        }
        cs->custom_bytes += custom_bytes(value);
        (void)map64_put(&kept, key, value);
    }
    map64_release(&cs->customs);
    cs->customs = kept;
    cs->customs_max = 2 * cs->custom_bytes + CUSTOMS_MORE;
}

static void drop_unused_locked(struct catalogs *cs)
{
    if (map64_size(&cs->helds) >= cs->helds_max || cs->custom_bytes >= cs->customs_max)
        drop_helds_locked(cs);
    if (cs->custom_bytes >= cs->customs_max)
        drop_customs_locked(cs);
}

/* Takes the reference; gives one to what there was already, if there was. */
static struct held *intern(struct catalogs *cs, struct held *h)
{
    struct held *same;

    (void)pthread_mutex_lock(&cs->mu);
    same = map64_get(&cs->helds, h->catalog.etag);
    if (same) {
        (void)held_ref(same);
    } else {
        drop_unused_locked(cs);
        (void)map64_put(&cs->helds, h->catalog.etag, held_ref(h));
    }
    (void)pthread_mutex_unlock(&cs->mu);
    if (!same)
        return h;
    held_unref(h);
    return same;
}

static const struct place *place_find(struct catalogs *cs, uint32_t instance)
{
    const struct place *p = atomic_load_explicit(place_of(cs, instance), memory_order_acquire);

    return p && p->instance == instance ? p : NULL;
}

/* A new reference. */
static struct held *make(struct catalogs *cs, const struct instance *i)
{
    const struct catalog *base = base_of(i);
    scoped_arena a = arena_new();
    struct held *h = mem_zalloc(sizeof(*h));
    struct collect k = { .catalogs = cs, .arena = a, .held = h, .etag = base->etag };
    uint64_t rev = store_head(cs->server->store);
    struct status st;

    atomic_store(&h->refs, 1);
    h->arena = arena_new();
    status_init(&st, a);
    epoch_enter();
    k.was = place_find(cs, i->id);
    if (lookup_unknown(cs->server->rest, a, i, cs->crds, know, collect_crd, &k, &st) < 0)
        log_warn("CRDs cannot be read", log_status(&st));
    epoch_exit();
    compose(h, base, k.etag);
    h = intern(cs, h);
    remember(
        cs,
        &(struct place){
            .instance = i->id, .rev = rev, .held = held_ref(h), .seen = k.seen, .nseen = k.nseen });
    return h;
}

static void wake(struct loop_msg *msg)
{
    struct waiter *w = (struct waiter *)(void *)msg;

    catalogs_get(w->catalogs, w->call, w->then);
}

/* Each on its own loop; a waiter may be gone once it is posted. */
static void wake_all(struct waiter *w, void (*fn)(struct loop_msg *msg))
{
    while (w) {
        struct waiter *next = w->next;

        w->msg = (struct loop_msg){ .fn = fn, .whose = w->call->rest.whose };
        loop_post(w->call->loop, &w->msg);
        w = next;
    }
}

static void run(struct worker_job *job)
{
    struct build *b = (struct build *)(void *)job;
    struct waiter *w;

    held_unref(make(b->catalogs, &b->instance));
    (void)pthread_mutex_lock(&b->catalogs->mu);
    (void)map64_remove(&b->catalogs->builds, b->instance.id);
    w = b->waiters;
    (void)pthread_mutex_unlock(&b->catalogs->mu);
    wake_all(w, wake);
}

static void built(struct worker_job *job)
{
    free(job);
}

/* ---- asking ---- */

static void refuse(struct loop_msg *msg)
{
    struct call *c = ((struct waiter *)(void *)msg)->call;
    struct status *st = call_status(c);

    (void)status_set(st, REASON_TOO_MANY_REQUESTS,
                     "too many schemas are being read at this moment, try again");
    st->retry_after_s = 1;
    call_fail(c, st);
}

static void wait_for(struct catalogs *cs, struct call *c, void (*then)(struct call *c))
{
    struct waiter *w = arena_new_of(c->arena, struct waiter);
    struct build *b, *started = NULL;

    *w = (struct waiter){ .catalogs = cs, .call = c, .then = then };
    (void)pthread_mutex_lock(&cs->mu);
    b = map64_get(&cs->builds, c->rest.instance.id);
    if (!b) {
        b = started = mem_zalloc(sizeof(*b));
        b->job.run = run;
        b->job.done = built;
        b->job.loop = c->loop;
        b->catalogs = cs;
        b->instance = c->rest.instance; /* its strings are not used */
        (void)map64_put(&cs->builds, b->instance.id, b);
    }
    w->next = b->waiters;
    b->waiters = w;
    (void)pthread_mutex_unlock(&cs->mu);
    if (!started || workers_submit(cs->server->workers, &started->job))
        return;
    (void)pthread_mutex_lock(&cs->mu);
    (void)map64_remove(&cs->builds, c->rest.instance.id);
    w = started->waiters;
    (void)pthread_mutex_unlock(&cs->mu);
    wake_all(w, refuse);
    free(started);
}

/* NULL when it has to be made. */
static const struct catalog *find(struct catalogs *cs, struct arena *a, const struct instance *i)
{
    uint64_t touched = store_touched(cs->server->store, cs->crds->type_id, i->id);
    const struct place *p = place_find(cs, i->id);
    struct store_range rows = { .type = cs->crds->type_id, .instance = i->id };
    struct status st;
    uint64_t rev, n;

    if (p && (p->rev >= touched || p->rev >= store_head(cs->server->store))) {
        if (!p->held)
            return base_of(i);
        arena_defer(a, held_unref, held_ref(p->held));
        return &p->held->catalog;
    }
    rev = store_head(cs->server->store);
    status_init(&st, a);
    if (store_count(cs->server->store, &rows, &n, &st) < 0 || n > 0)
        return NULL;
    remember(cs, &(struct place){ .instance = i->id, .rev = rev });
    return base_of(i);
}

void catalogs_get(struct catalogs *cs, struct call *c, void (*then)(struct call *c))
{
    const struct instance *i = &c->rest.instance;

    c->rest.catalog = i->id == STORE_ALL ? base_of(i) : find(cs, c->arena, i);
    if (c->rest.catalog)
        then(c);
    else if (!call_go_home(c))
        wait_for(cs, c, then);
}

const struct catalog *catalogs_make(struct catalogs *cs, struct arena *a, const struct instance *i)
{
    const struct catalog *found;
    struct held *h;

    epoch_enter();
    found = find(cs, a, i);
    epoch_exit();
    if (found)
        return found;
    h = make(cs, i);
    arena_defer(a, held_unref, h);
    return &h->catalog;
}
