/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/answer_cache.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"

enum { WAYS = 4 };

struct cached_answer { /* frozen, all of it in one block */
    atomic_uint refs;
    uint64_t generation;
    int64_t until_ms;
    unsigned char hash[SHA256_SIZE];
    struct answer_cache_answer answer;
    max_align_t bytes[];
};

struct answer_cache {
    _Atomic(struct cached_answer *) sets[ANSWER_CACHE_SETS][WAYS];
};

static void entry_unref(void *arg)
{
    struct cached_answer *e = arg;

    if (e && atomic_fetch_sub(&e->refs, 1) == 1)
        free(e);
}

/* ---- copying: once to see how much it is, once to do it ---- */

struct packer {
    char *base; /* NULL: only counts */
    size_t n;
};

static void *place(struct packer *p, const void *from, size_t n, size_t align)
{
    char *at;

    p->n = (p->n + align - 1) / align * align;
    at = p->base ? p->base + p->n : NULL;
    p->n += n;
    if (at && n)
        memcpy(at, from, n);
    return at;
}

static str pack(struct packer *p, str s)
{
    return (str){ place(p, s.p, s.n, 1), s.n };
}

static const str *pack_list(struct packer *p, const str *list, size_t n)
{
    str *out = place(p, list, n * sizeof(*list), alignof(str));

    for (size_t i = 0; i < n; i++) {
        str s = pack(p, list[i]);

        if (out)
            out[i] = s;
    }
    return out;
}

static struct identity pack_identity(struct packer *p, const struct identity *who)
{
    struct identity out = { .ngroups = who->ngroups, .nextra = who->nextra };
    struct identity_extra *extra =
        place(p, who->extra, who->nextra * sizeof(*extra), alignof(struct identity_extra));

    for (size_t i = 0; i < who->nextra; i++) {
        struct identity_extra x = { .nvalues = who->extra[i].nvalues };

        x.values = pack_list(p, who->extra[i].values, x.nvalues);
        x.key = pack(p, who->extra[i].key);
        if (extra)
            extra[i] = x;
    }
    out.extra = extra;
    out.groups = pack_list(p, who->groups, who->ngroups);
    out.user = pack(p, who->user);
    out.uid = pack(p, who->uid);
    return out;
}

static struct answer_cache_answer pack_answer(struct packer *p,
                                              const struct answer_cache_answer *from)
{
    struct answer_cache_answer out = { .yes = from->yes };

    out.who = pack_identity(p, &from->who);
    out.reason = pack(p, from->reason);
    return out;
}

/* ---- the table ---- */

struct answer_cache *answer_cache_new(void)
{
    return mem_zalloc(sizeof(struct answer_cache));
}

void answer_cache_free(struct answer_cache *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < ANSWER_CACHE_SETS; i++)
        for (size_t j = 0; j < WAYS; j++)
            entry_unref(atomic_load(&r->sets[i][j]));
    free(r);
}

static _Atomic(struct cached_answer *) *set_of(struct answer_cache *r, const unsigned char *hash)
{
    return r->sets[((size_t)hash[0] << 8 | hash[1]) % ANSWER_CACHE_SETS];
}

/* The reference is the arena's: what is replaced lives on until the epoch is over. */
const struct answer_cache_answer *answer_cache_get(struct answer_cache *r, struct arena *a,
                                                   const unsigned char hash[SHA256_SIZE],
                                                   uint64_t generation, int64_t now_ms)
{
    _Atomic(struct cached_answer *) *set = set_of(r, hash);

    for (size_t i = 0; i < WAYS; i++) {
        struct cached_answer *e = atomic_load_explicit(&set[i], memory_order_acquire);

        if (e && e->generation == generation && e->until_ms > now_ms &&
            memcmp(e->hash, hash, SHA256_SIZE) == 0) {
            (void)atomic_fetch_add(&e->refs, 1);
            arena_defer(a, entry_unref, e);
            return &e->answer;
        }
    }
    return NULL;
}

/* In place of one that holds no more, or of the same question, else of any. */
void answer_cache_put(struct answer_cache *r, const unsigned char hash[SHA256_SIZE],
                      uint64_t generation, int64_t now_ms, int64_t until_ms,
                      const struct answer_cache_answer *answer)
{
    _Atomic(struct cached_answer *) *set = set_of(r, hash);
    struct packer p = { 0 };
    size_t way = hash[2] % WAYS;
    struct cached_answer *e;

    (void)pack_answer(&p, answer);
    if (until_ms <= now_ms || p.n > ANSWER_CACHE_BYTES)
        return;
    e = mem_zalloc(sizeof(*e) + p.n);
    p = (struct packer){ .base = (char *)e->bytes };
    e->answer = pack_answer(&p, answer);
    atomic_init(&e->refs, 1);
    e->generation = generation;
    e->until_ms = until_ms;
    memcpy(e->hash, hash, SHA256_SIZE);
    for (size_t i = 0; i < WAYS; i++) {
        const struct cached_answer *old = atomic_load(&set[i]);

        if (!old || old->until_ms <= now_ms || old->generation != generation ||
            memcmp(old->hash, hash, SHA256_SIZE) == 0) {
            way = i;
            break;
        }
    }
    e = atomic_exchange(&set[way], e);
    if (e)
        epoch_retire(entry_unref, e);
}
