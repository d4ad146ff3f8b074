/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/scheduler_promises.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    KEPT_MS = 60000,   /* what has not come by then will not come */
    KEPT_MAX = 20000,  /* promises in one cluster; of more the first go */
    RESOURCES_MAX = 8, /* by name, in one cluster; others are not counted */
    BOOKS_MAX = 1000,  /* instances; of more nothing is kept */
};

struct promise {
    struct promise *next;
    uint64_t key;
    int64_t pods, made_ms;
    int64_t each[RESOURCES_MAX]; /* of one pod, as the shelf names them */
};

/* Those in one cluster, the first first. */
struct shelf {
    struct shelf *next;
    char *cluster;
    int64_t seen; /* pods that it was last known to have */
    struct promise *first, **last;
    size_t n;
    int64_t pods;
    char *names[RESOURCES_MAX];
    int64_t amounts[RESOURCES_MAX];
};

/* Those of one instance. */
struct book {
    char *instance;
    uint64_t made;         /* promises so far */
    struct shelf *shelves; /* by name, as rows of decisions are */
};

struct scheduler_promises {
    pthread_mutex_t mu;
    struct map books; /* guarded by mu: struct book by instance */
};

struct scheduler_promises *scheduler_promises_new(void)
{
    struct scheduler_promises *p = mem_zalloc(sizeof(*p));

    (void)pthread_mutex_init(&p->mu, NULL);
    return p;
}

/* ---- shelves; under the lock ---- */

static void take(struct shelf *s, struct promise *m, int64_t pods)
{
    m->pods -= pods;
    s->pods -= pods;
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        s->amounts[i] -= m->each[i] * pods;
}

static void shelf_free(struct shelf *s)
{
    for (struct promise *m = s->first, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        free(s->names[i]);
    free(s->cluster);
    free(s);
}

/* Promises at the front that nothing is left of go, and shelves without any. */
static void sweep(struct book *b)
{
    for (struct shelf **at = &b->shelves, *s; (s = *at);) {
        while (s->first && (s->pods == 0 || s->first->pods == 0)) {
            struct promise *gone = s->first;

            s->first = gone->next;
            free(gone);
            s->n--;
        }
        if (s->first) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        shelf_free(s);
    }
}

static void expire(struct book *b, int64_t now_ms)
{
    for (struct shelf *s = b->shelves; s; s = s->next)
        for (struct promise *m = s->first; m && now_ms - m->made_ms >= KEPT_MS; m = m->next)
            take(s, m, m->pods);
    sweep(b);
}

/* The oldest of them, or those of one binding. */
static void take_some(struct shelf *s, const uint64_t *key, int64_t pods)
{
    for (struct promise *m = s->first; m && pods > 0; m = m->next) {
        int64_t n = m->pods < pods ? m->pods : pods;

        if (key && m->key != *key)
            continue;
        take(s, m, n);
        pods -= n;
    }
}

static struct shelf *find_shelf(const struct book *b, str cluster)
{
    struct shelf *s = b->shelves;

    while (s && !str_is(cluster, s->cluster))
        s = s->next;
    return s;
}

static char *copy(str s)
{
    char *z = mem_alloc(s.n + 1);

    if (s.n)
        memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    return z;
}

static struct shelf *add_shelf(struct shelf **at, const struct sched_cluster *c)
{
    struct shelf *s = mem_zalloc(sizeof(*s));

    s->cluster = copy(c->name);
    s->seen = c->used;
    s->last = &s->first;
    s->next = *at;
    *at = s;
    return s;
}

/* Where the shelf counts that resource; RESOURCES_MAX: nowhere. */
static size_t place_of(struct shelf *s, str resource)
{
    size_t i = 0;

    while (i < RESOURCES_MAX && s->names[i] && !str_is(resource, s->names[i]))
        i++;
    if (i < RESOURCES_MAX && !s->names[i])
        s->names[i] = copy(resource);
    return i;
}

static void put(struct shelf *s, uint64_t key, int64_t pods, const struct sched_amounts *each,
                int64_t now_ms)
{
    struct promise *m = mem_zalloc(sizeof(*m));

    m->key = key;
    m->made_ms = now_ms;
    for (size_t i = 0; i < each->n; i++) {
        size_t at = place_of(s, each->v[i].name);

        if (at < RESOURCES_MAX && each->v[i].n > 0 && each->v[i].n < INT64_MAX / INT32_MAX)
            m->each[at] = each->v[i].n;
    }
    take(s, m, -pods);
    if (s->n++ >= KEPT_MAX)
        take(s, s->first, s->first->pods);
    *s->last = m;
    s->last = &m->next;
}

/* ---- books; under the lock ---- */

static void book_free(struct book *b)
{
    for (struct shelf *s = b->shelves, *next; s; s = next) {
        next = s->next;
        shelf_free(s);
    }
    free(b->instance);
    free(b);
}

static struct book *book_of(struct scheduler_promises *p, str instance, bool make)
{
    struct book *b = map_get(&p->books, instance);

    if (b || !make || map_size(&p->books) >= BOOKS_MAX)
        return b;
    b = mem_zalloc(sizeof(*b));
    b->instance = copy(instance);
    (void)map_put(&p->books, str_of(b->instance), b);
    return b;
}

void scheduler_promises_free(struct scheduler_promises *p)
{
    size_t at = 0;
    str key;
    void *b;

    if (!p)
        return;
    while (map_each(&p->books, &at, &key, &b))
        book_free(b);
    map_release(&p->books);
    (void)pthread_mutex_destroy(&p->mu);
    free(p);
}

/* ---- questions and answers ---- */

static struct sched_amounts amounts_of(struct arena *a, const struct shelf *s)
{
    struct sched_amount *v = arena_array(a, struct sched_amount, RESOURCES_MAX);
    size_t n = 0;

    for (size_t i = 0; i < RESOURCES_MAX && s->names[i]; i++)
        v[n++] = (struct sched_amount){ str_dup(a, str_of(s->names[i])), s->amounts[i] };
    return (struct sched_amounts){ v, n };
}

uint64_t scheduler_promises_get(struct scheduler_promises *p, struct arena *a, str instance,
                                int64_t now_ms, struct sched_request *r)
{
    struct sched_promise *all;
    struct book *b;
    uint64_t made;
    size_t n = 0;

    (void)pthread_mutex_lock(&p->mu);
    b = book_of(p, instance, false);
    if (b)
        expire(b, now_ms);
    for (struct shelf *s = b ? b->shelves : NULL; s; s = s->next)
        n++;
    all = arena_array(a, struct sched_promise, n);
    n = 0;
    for (struct shelf *s = b ? b->shelves : NULL; s; s = s->next)
        all[n++] =
            (struct sched_promise){ str_dup(a, str_of(s->cluster)), s->pods, amounts_of(a, s) };
    made = b ? b->made : 0;
    (void)pthread_mutex_unlock(&p->mu);
    r->promised = all;
    r->npromised = n;
    return made;
}

static int64_t given(const struct sched_row *row)
{
    return row->verdict == SCHED_CHOSEN ? row->replicas : 0;
}

bool scheduler_promises_make(struct scheduler_promises *p, const struct scheduler_promiser *who,
                             uint64_t known, const struct sched_request *r,
                             const struct sched_decision *d, int64_t now_ms)
{
    bool counts = d->way == SCHED_DYNAMIC_WEIGHT || d->way == SCHED_AGGREGATED;
    scoped_arena a = arena_new();
    struct sched_amounts each = sched_request_amounts(a, r);
    uint64_t key = str_hash(who->key, 0, 0);
    struct shelf **at;
    struct book *b;
    bool ok;

    (void)pthread_mutex_lock(&p->mu);
    b = book_of(p, who->instance, true);
    ok = !b || !counts || b->made == known;
    at = b ? &b->shelves : NULL;
    for (size_t i = 0; b && ok && i < d->nrows; i++) {
        const struct sched_row *row = &d->rows[i];
        int64_t more = given(row) - row->before;
        bool there;

        while (*at && str_cmp(str_of((*at)->cluster), row->cluster->name) < 0)
            at = &(*at)->next;
        there = *at && str_is(row->cluster->name, (*at)->cluster);
        if (more < 0 && there)
            take_some(*at, &key, -more);
        if (more <= 0)
            continue;
        put(there ? *at : add_shelf(at, row->cluster), key, more, &each, now_ms);
        b->made++;
    }
    (void)pthread_mutex_unlock(&p->mu);
    return ok;
}

void scheduler_promises_drop(struct scheduler_promises *p, const struct scheduler_promiser *who)
{
    uint64_t key = str_hash(who->key, 0, 0);
    struct book *b;

    (void)pthread_mutex_lock(&p->mu);
    b = book_of(p, who->instance, false);
    for (struct shelf *s = b ? b->shelves : NULL; s; s = s->next)
        take_some(s, &key, INT64_MAX);
    if (b)
        sweep(b);
    (void)pthread_mutex_unlock(&p->mu);
}

static bool has_promises(struct scheduler_promises *p, str instance)
{
    struct book *b;
    bool any;

    (void)pthread_mutex_lock(&p->mu);
    b = book_of(p, instance, false);
    any = b && b->shelves;
    (void)pthread_mutex_unlock(&p->mu);
    return any;
}

void scheduler_promises_seen(struct scheduler_promises *p, str instance, const struct json *cluster)
{
    scoped_arena a = arena_new();
    const struct sched_cluster *now;
    struct book *b;
    struct shelf *s;

    if (!has_promises(p, instance)) /* which is so mostly, and spares the reading */
        return;
    now = sched_cluster_parse(a, cluster);
    (void)pthread_mutex_lock(&p->mu);
    b = book_of(p, instance, false);
    s = b ? find_shelf(b, now->name) : NULL;
    if (s) {
        take_some(s, NULL, now->used - s->seen);
        s->seen = now->used;
        sweep(b);
    }
    (void)pthread_mutex_unlock(&p->mu);
}
