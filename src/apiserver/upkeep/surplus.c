/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "apiserver/upkeep/upkeep_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    POLL_MS = 30000,
    LOOKED = 5000,   /* rows looked at in one go */
    KEEP_TENTHS = 9, /* of what they may take, so that not each new one is the one too many */
};

struct person {
    uint64_t bytes, kept;
};

struct surplus {
    struct server *server;
    uint64_t max_bytes;
    size_t person_at, person_size;
    uint64_t touched; /* when it was weighed last */
    /* Of what is to go; NULL: nothing is. */
    struct arena *arena;
    struct map64 persons;
    uint64_t share; /* bytes that stay of one person */
    struct buf at;  /* the last row looked at */
};

struct surplus *surplus_new(struct server *s, const struct expiry_options *o)
{
    struct surplus *x = mem_zalloc(sizeof(*x));

    x->server = s;
    x->max_bytes = o->max_bytes;
    x->person_at = o->person_at;
    x->person_size = o->person_size;
    x->touched = UINT64_MAX;
    buf_init(&x->at, STORE_KEY_MAX);
    return x;
}

static void forget(struct surplus *x)
{
    map64_release(&x->persons);
    arena_free(x->arena);
    x->arena = NULL;
    buf_clear(&x->at);
}

void surplus_free(struct surplus *x)
{
    if (!x)
        return;
    forget(x);
    buf_release(&x->at);
    free(x);
}

/* ---- walking ---- */

struct walk {
    struct surplus *surplus;
    struct arena *arena;
    struct doomed *doomed; /* NULL: they are weighed only */
    uint64_t total;
    size_t looked;
};

static struct person *person_of(struct surplus *x, str name)
{
    uint64_t id = str_hash(str_sub(name, x->person_at, x->person_size), 1, 2);
    struct person *p = map64_get(&x->persons, id);

    if (p)
        return p;
    p = arena_new_of(x->arena, struct person);
    *p = (struct person){ 0 };
    (void)map64_put(&x->persons, id, p);
    return p;
}

static bool look(void *arg, const struct store_row *row)
{
    struct walk *w = arg;
    struct surplus *x = w->surplus;
    struct person *p = person_of(x, row->key.name);
    size_t bytes = row->key.name.n + row->value.n;

    buf_clear(&x->at);
    buf_str_append(&x->at, row->key.name);
    w->total += bytes;
    w->looked++;
    if (!w->doomed) {
        p->bytes += bytes;
        return w->looked < LOOKED;
    }
    p->kept += bytes;
    if (p->kept > x->share)
        doomed_add(w->doomed, w->arena, row);
    return w->doomed->n < DOOMED_MAX && w->looked < LOOKED;
}

/* A portion; true when there is more. */
static bool walk(struct walk *w, uint32_t type)
{
    struct surplus *x = w->surplus;
    struct store_range range = { .type = type,
                                 .instance = INSTANCE_ROOT,
                                 .start_instance = INSTANCE_ROOT,
                                 .start = str_dup(w->arena, buf_str(&x->at)) };
    struct status st;
    int stopped;

    status_init(&st, w->arena);
    w->looked = 0;
    epoch_enter();
    stopped = store_scan(x->server->store, &range, look, w, &st);
    epoch_exit();
    if (stopped < 0)
        log_warn("the size of records cannot be found", log_status(&st));
    return stopped > 0;
}

/* ---- shares ---- */

static int by_bytes(const void *va, const void *vb)
{
    uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

    return a < b ? -1 : a > b;
}

/* What each may have so that all together take `target`: who has less leaves the rest to others. */
static uint64_t share_of(const struct map64 *persons, struct arena *a, uint64_t target)
{
    size_t n = map64_size(persons), at = 0, i = 0;
    uint64_t *bytes = arena_array(a, uint64_t, n), id;
    void *p;

    while (map64_each(persons, &at, &id, &p))
        bytes[i++] = ((const struct person *)p)->bytes;
    qsort(bytes, n, sizeof(*bytes), by_bytes);
    for (i = 0; i < n && bytes[i] * (n - i) <= target; i++)
        target -= bytes[i];
    return i == n ? UINT64_MAX : target / (n - i);
}

/* True when some of them must go. */
static bool weigh(struct surplus *x, struct arena *a, uint32_t type)
{
    struct walk w = { .surplus = x, .arena = a };

    x->arena = arena_new();
    while (walk(&w, type))
        ;
    if (w.total <= x->max_bytes)
        return false;
    x->share = share_of(&x->persons, a, x->max_bytes / 10 * KEEP_TENTHS);
    buf_clear(&x->at);
    return true;
}

int64_t surplus_run(struct surplus *x, struct arena *a, uint32_t type)
{
    uint64_t touched = store_touched(x->server->store, type, INSTANCE_ROOT);
    struct doomed doomed = { .n = 0 };
    struct walk w = { .surplus = x, .arena = a, .doomed = &doomed };
    bool more;

    if (!x->arena && touched == x->touched)
        return POLL_MS;
    x->touched = touched;
    if (!x->arena && !weigh(x, a, type)) {
        forget(x);
        return POLL_MS;
    }
    more = walk(&w, type);
    doomed_delete(&doomed, x->server->store);
    if (more)
        return 1;
    forget(x);
    return POLL_MS;
}
