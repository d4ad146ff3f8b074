/* SPDX-License-Identifier: Apache-2.0 */
#include "store/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"

enum { POSTED_MAX = 16 };

static inline int row_cmp(const void *elem, const void *probe)
{
    const struct index_row *r = elem;
    const struct store_key *key = probe;
    size_t n = r->name_bytes < key->name.n ? r->name_bytes : key->name.n;
    int cmp;

    if (r->type != key->type)
        return r->type < key->type ? -1 : 1;
    if (r->instance != key->instance)
        return r->instance < key->instance ? -1 : 1;
    cmp = n ? memcmp(row_name(r).p, key->name.p, n) : 0;
    if (cmp)
        return cmp;
    return (r->name_bytes > key->name.n) - (r->name_bytes < key->name.n);
}

struct posting_probe {
    uint64_t hash;
    struct store_key key;
};

static inline int posting_cmp(const void *elem, const void *probe)
{
    const struct posting *p = elem;
    const struct posting_probe *want = probe;

    if (p->hash != want->hash)
        return p->hash < want->hash ? -1 : 1;
    return row_cmp(p->row, &want->key);
}

void index_init(struct index *ix)
{
    rowmap_init(&ix->by_key);
    skip_init(&ix->rows, offsetof(struct index_row, links));
    skip_init(&ix->postings, offsetof(struct posting, links));
    slab_init(&ix->slab);
    ix->load = NULL;
}

void row_free(void *arg)
{
    struct index_row *r = arg;

    for (struct version *v = atomic_load(&r->newest), *older; v; v = older) {
        older = atomic_load(&v->older);
        slab_free(v);
    }
    slab_free(r);
}

void index_release(struct index *ix)
{
    void *next;

    if (ix->load)
        index_load_release(ix);
    for (struct posting *p = skip_next(&ix->postings, NULL); p; p = next) {
        next = skip_next(&ix->postings, p);
        slab_free(p);
    }
    for (struct index_row *r = skip_next(&ix->rows, NULL); r; r = next) {
        next = skip_next(&ix->rows, r);
        row_free(r);
    }
    slab_release(&ix->slab);
    rowmap_release(&ix->by_key);
}

struct index_row *index_find(const struct index *ix, const struct store_key *key)
{
    return rowmap_find(&ix->by_key, key);
}

void index_prefetch(const struct index *ix, const struct store_key *key)
{
    rowmap_prefetch(&ix->by_key, key);
}

void index_seek(struct index_cursor *c, const struct store_key *key)
{
    struct posting_probe probe = { c->hash, *key };

    if (!c->hash) {
        c->row = skip_find(&c->index->rows, row_cmp, key, NULL);
        return;
    }
    c->posting = skip_find(&c->index->postings, posting_cmp, &probe, NULL);
    c->row = c->posting && c->posting->hash == c->hash ? c->posting->row : NULL;
}

void index_next(struct index_cursor *c)
{
    if (!c->hash) {
        c->row = skip_next(&c->index->rows, c->row);
        return;
    }
    c->posting = skip_next(&c->index->postings, c->posting);
    c->row = c->posting && c->posting->hash == c->hash ? c->posting->row : NULL;
}

static inline void row_hint(const void *elem, const void *probe)
{
    (void)probe;
    __builtin_prefetch((const char *)elem + 64); /* the name */
}

static inline void posting_hint(const void *elem, const void *probe)
{
    const struct posting *p = elem;
    const struct posting_probe *want = probe;

    if (p->hash == want->hash) {
        __builtin_prefetch(p->row);
        __builtin_prefetch((const char *)p->row + 64);
    }
}

static struct index_row *row_new(struct index *ix, const struct store_key *key)
{
    int height = skip_height(&ix->rows);
    size_t links = (size_t)height * sizeof(skip_link);
    struct index_row *r = slab_alloc(&ix->slab, sizeof(*r) + links + key->name.n);

    r->type = key->type;
    r->instance = key->instance;
    r->pending = 0;
    r->name_bytes = (uint16_t)key->name.n;
    r->height = (uint8_t)height;
    atomic_init(&r->newest, NULL);
    r->prev = NULL;
    r->posted = NULL;
    r->nposted = 0;
    memcpy((char *)r + sizeof(*r) + links, key->name.p, key->name.n);
    return r;
}

struct index_row *index_add(struct index *ix, const struct store_key *key)
{
    struct index_row *r = rowmap_find(&ix->by_key, key);

    if (r)
        return r;
    r = row_new(ix, key);
    rowmap_add(&ix->by_key, r);
    if (ix->load)
        index_load_add(ix, r);
    return r;
}

static void row_link(struct index *ix, struct index_row *r, struct skip_walk *walk)
{
    struct index_row *next;

    skip_catch_up(&ix->rows, row_cmp, walk, r->height);
    skip_insert(&ix->rows, r, r->height, walk->before);
    next = skip_next(&ix->rows, r);
    r->prev = walk->before[0];
    if (next)
        next->prev = r;
}

void index_link(struct index *ix, struct index_row *const *rows, size_t n)
{
    struct store_key keys[SKIP_ABREAST];
    struct skip_walk walks[SKIP_ABREAST];

    for (size_t k; n > 0; n -= k, rows += k) {
        k = n < SKIP_ABREAST ? n : SKIP_ABREAST;
        for (size_t i = 0; i < k; i++) {
            keys[i] = row_key(rows[i]);
            walks[i].probe = &keys[i];
        }
        skip_walk_all(&ix->rows, row_cmp, row_hint, walks, k);
        for (size_t i = 0; i < k; i++)
            row_link(ix, rows[i], &walks[i]);
    }
}

void index_remove(struct index *ix, struct index_row *r)
{
    void *before[SKIP_HEIGHT_MAX];
    struct store_key key = row_key(r);

    rowmap_remove(&ix->by_key, r);
    if (ix->load) {
        index_load_remove(ix, r);
        row_free(r);
        return;
    }
    if (skip_find(&ix->rows, row_cmp, &key, before) == r) {
        struct index_row *next = skip_next(&ix->rows, r);

        if (next)
            next->prev = r->prev;
        skip_remove(&ix->rows, r, before);
    }
    epoch_retire(row_free, r);
}

/* Those of few hashes: a client may give a row thousands. */
static void posted_add(struct posting *p)
{
    p->also = NULL;
    if (p->row->nposted == POSTED_MAX)
        return;
    p->row->nposted++;
    p->also = p->row->posted;
    p->row->posted = p;
}

static void posted_remove(struct posting *p)
{
    struct posting **at = &p->row->posted;

    while (*at && *at != p)
        at = &(*at)->also;
    if (!*at)
        return;
    *at = p->also;
    p->row->nposted--;
}

static void posting_add(struct index *ix, const struct index_post *post, struct skip_walk *walk,
                        int height)
{
    struct posting *p;

    skip_catch_up(&ix->postings, posting_cmp, walk, height);
    p = walk->next;
    if (p && p->hash == post->hash && p->row == post->row)
        return;
    p = slab_alloc(&ix->slab, sizeof(*p) + (size_t)height * sizeof(skip_link));
    p->hash = post->hash;
    p->row = post->row;
    posted_add(p);
    skip_insert(&ix->postings, p, height, walk->before);
}

/* The posting that the row before has for this hash: the new one comes right behind it. */
static struct posting *posting_before(const struct index_post *post)
{
    struct posting *p = post->row->prev ? post->row->prev->posted : NULL;

    while (p && p->hash != post->hash)
        p = p->also;
    return p;
}

/*
 * Rows that lie together often share labels, and three of four postings are in the lowest lane
 * only: those need no search.
 */
void index_post(struct index *ix, const struct index_post *posts, size_t n)
{
    const struct index_post *searched[SKIP_ABREAST];
    struct posting_probe probes[SKIP_ABREAST];
    struct skip_walk walks[SKIP_ABREAST];
    int heights[SKIP_ABREAST];
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        struct posting *before;

        searched[k] = &posts[i];
        probes[k] = (struct posting_probe){ posts[i].hash, row_key(posts[i].row) };
        walks[k].probe = &probes[k];
        heights[k] = skip_height(&ix->postings);
        before = heights[k] == 1 ? posting_before(&posts[i]) : NULL;
        if (before) {
            walks[k].before[0] = before;
            posting_add(ix, &posts[i], &walks[k], 1);
        } else {
            k++;
        }
        if (k < SKIP_ABREAST && i + 1 < n)
            continue;
        skip_walk_all(&ix->postings, posting_cmp, posting_hint, walks, k);
        for (size_t j = 0; j < k; j++)
            posting_add(ix, searched[j], &walks[j], heights[j]);
        k = 0;
    }
}

void index_unpost(struct index *ix, struct index_row *r, uint64_t hash)
{
    void *before[SKIP_HEIGHT_MAX];
    struct posting_probe probe = { hash, row_key(r) };
    struct posting *p;

    if (ix->load)
        return;
    p = skip_find(&ix->postings, posting_cmp, &probe, before);
    if (!p || p->hash != hash || p->row != r)
        return;
    skip_remove(&ix->postings, p, before);
    posted_remove(p);
    epoch_retire(slab_free, p);
}
