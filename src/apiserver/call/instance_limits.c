/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/instance_limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum { SHARDS = 256, RETRY_S = 1 };

struct active {
    uint32_t instance;
    uint32_t n[2]; /* by enum limits_what; an entry with none is taken out */
};

/* By the id's low bits, so that instances seldom wait for each other. */
struct limits_shard {
    pthread_mutex_t mu;
    struct active *at; /* guarded by mu, as all below */
    size_t n, cap;
};

struct limits {
    struct instance_limits defaults;
    struct limits_shard shards[SHARDS];
};

struct limits *limits_new(const struct instance_limits *defaults)
{
    struct limits *l = mem_zalloc(sizeof(*l));

    l->defaults = *defaults;
    for (size_t i = 0; i < SHARDS; i++)
        (void)pthread_mutex_init(&l->shards[i].mu, NULL);
    return l;
}

void limits_free(struct limits *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        (void)pthread_mutex_destroy(&l->shards[i].mu);
        free(l->shards[i].at);
    }
    free(l);
}

static uint64_t limit(uint64_t said, uint64_t otherwise)
{
    uint64_t max = said ? said : otherwise;

    return max ? max : INSTANCE_UNLIMITED;
}

static bool is_limited(const struct instance *i, const struct identity *who)
{
    return i->id >= INSTANCE_FIRST && i->id != STORE_ALL && !who->rights;
}

static const struct {
    const char *what, *field;
} names[] = {
    [LIMITS_IN_FLIGHT] = { "requests in flight", "maxInFlight" },
    [LIMITS_WATCHES] = { "watches", "maxWatches" },
};

static bool too_many(const struct instance *i, enum limits_what what, uint64_t max,
                     struct status *st)
{
    (void)status_set(st, REASON_TOO_MANY_REQUESTS,
                     "instance \"%.*s\" has %llu %s and may have no more (spec.limits.%s of the "
                     "Instance): try again later, or with fewer at once",
                     STR_ARG(i->name), (unsigned long long)max, names[what].what,
                     names[what].field);
    st->retry_after_s = RETRY_S;
    return false;
}

/* Under the lock; makes one where there is none. */
static struct active *find(struct limits_shard *s, uint32_t instance)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].instance == instance)
            return &s->at[i];
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 4;
        s->at = mem_realloc_n(s->at, s->cap, sizeof(*s->at));
    }
    s->at[s->n] = (struct active){ .instance = instance };
    return &s->at[s->n++];
}

bool limits_enter(struct limits *l, const struct instance *i, const struct identity *who,
                  enum limits_what what, bool *counted, struct status *st)
{
    uint64_t max = what == LIMITS_WATCHES ? limit(i->limits.watches, l->defaults.watches)
                                          : limit(i->limits.in_flight, l->defaults.in_flight);
    struct limits_shard *s = &l->shards[i->id % SHARDS];
    struct active *a;
    bool fits;

    *counted = false;
    if (max == INSTANCE_UNLIMITED || !is_limited(i, who))
        return true;
    (void)pthread_mutex_lock(&s->mu);
    a = find(s, i->id);
    fits = a->n[what] < max;
    a->n[what] += fits;
    (void)pthread_mutex_unlock(&s->mu);
    *counted = fits;
    return fits ? true : too_many(i, what, max, st);
}

void limits_leave(struct limits *l, uint32_t instance, enum limits_what what)
{
    struct limits_shard *s = &l->shards[instance % SHARDS];
    struct active *a;

    (void)pthread_mutex_lock(&s->mu);
    a = find(s, instance);
    assert(a->n[what] > 0);
    a->n[what]--;
    if (a->n[LIMITS_IN_FLIGHT] == 0 && a->n[LIMITS_WATCHES] == 0) {
        *a = s->at[--s->n];
        if (s->n == 0) {
            free(s->at);
            s->at = NULL;
            s->cap = 0;
        }
    }
    (void)pthread_mutex_unlock(&s->mu);
}

struct growth {
    const char *what, *field;
    uint64_t now, more, max;
};

static int refuse(const struct rest_request *req, const struct rest_change *c,
                  const struct growth *g, struct status *st)
{
    return status_forbidden(st, req->kind->group, req->kind->plural,
                            json_get_str(c->obj, "metadata.name"),
                            "instance \"%.*s\" holds %llu %s, this is %llu more, and it may hold "
                            "%llu (spec.limits.%s of the Instance): delete what is not needed, or "
                            "have the limit raised",
                            STR_ARG(req->instance.name), (unsigned long long)g->now, g->what,
                            (unsigned long long)g->more, (unsigned long long)g->max, g->field);
}

int limits_charge(const struct limits *l, struct store *s, const struct rest_request *req,
                  const struct rest_change *c, struct status *st)
{
    const struct instance_limits *said = &req->instance.limits;
    uint64_t objects = limit(said->objects, l->defaults.objects);
    uint64_t bytes = limit(said->bytes, l->defaults.bytes);
    struct growth growth[2];
    struct store_usage u;

    if (c->removed || c->bytes <= c->old_bytes || !is_limited(&req->instance, req->who) ||
        (objects == INSTANCE_UNLIMITED && bytes == INSTANCE_UNLIMITED))
        return 0;
    store_usage(s, req->instance.id, &u);
    growth[0] = (struct growth){ "objects", "maxObjects", u.rows, c->old_bytes == 0, objects };
    growth[1] = (struct growth){ "bytes", "maxBytes", u.bytes, c->bytes - c->old_bytes, bytes };
    for (size_t i = 0; i < 2; i++)
        if (growth[i].more && growth[i].now + growth[i].more > growth[i].max)
            return refuse(req, c, &growth[i], st);
    return 0;
}
