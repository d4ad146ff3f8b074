/* SPDX-License-Identifier: Apache-2.0 */
#include "store/index.h"

#include <stdlib.h>

#include "base/epoch.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/idmap.h"
#include "tap.h"

enum { KEYS = 3000, HASHES = 3 };

/* Names that share beginnings, end in NULs, and lie around the eight bytes sorting looks at. */
static struct store_key random_key(struct rand_seq *r, char *space)
{
    static const char letters[] = { 'a', 'b', '\0', '\xff' };
    size_t n = 1 + rand_seq_below(r, 12), common = rand_seq_below(r, 3) * 8;

    memset(space, 'p', common);
    for (size_t i = 0; i < n; i++)
        space[common + i] = letters[rand_seq_below(r, 4)];
    return (struct store_key){ rand_seq_below(r, 3), rand_seq_below(r, 3), { space, common + n } };
}

static int key_cmp(const struct store_key *a, const struct store_key *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    return str_cmp(a->name, b->name);
}

static bool in_order(struct index *ix, uint64_t hash, size_t *n)
{
    struct index_cursor c = { .index = ix, .hash = hash };
    struct store_key first = { 0, 0, STR_NONE }, last = first;
    bool ok = true;

    *n = 0;
    for (index_seek(&c, &first); c.row; index_next(&c)) {
        struct store_key key = row_key(c.row);

        ok = ok && (*n == 0 || key_cmp(&last, &key) < 0);
        last = key;
        ++*n;
    }
    return ok;
}

static uint64_t all_hashes[HASHES] = { 10, 20, 30 };

static const uint64_t *hashes_of(void *arg, const struct version *v)
{
    (void)arg;
    (void)v;
    return all_hashes;
}

static void row_seen(void *arg, const struct index_row *r)
{
    *(size_t *)arg += r->height > 0;
}

static void version_add(struct index *ix, struct index_row *row, uint16_t nhashes)
{
    struct version *v = slab_alloc(&ix->slab, sizeof(*v));

    *v = (struct version){ .nhashes = nhashes };
    atomic_store(&v->older, atomic_load(&row->newest));
    atomic_store(&row->newest, v);
}

/* Fills two indexes alike, one row by row, one in bulk. */
static void fill(struct index *one, struct index *bulk, uint64_t seed, size_t *live)
{
    struct rand_seq r = { seed };
    char space[64];

    *live = 0;
    for (int i = 0; i < KEYS; i++) {
        struct store_key key = random_key(&r, space);
        uint16_t nhashes = (uint16_t)rand_seq_below(&r, HASHES + 1);
        struct index_post posts[HASHES];
        struct index_row *a = index_find(one, &key), *b = index_find(bulk, &key);
        bool made;

        CHECK(!a == !b);
        if (a && rand_seq_below(&r, 2)) {
            for (int k = 0; k < HASHES; k++)
                index_unpost(one, a, all_hashes[k]);
            index_remove(one, a);
            index_remove(bulk, b);
            --*live;
            continue;
        }
        *live += !a;
        made = !a;
        a = index_add(one, &key);
        b = index_add(bulk, &key);
        if (made)
            index_link(one, &a, 1);
        CHECK(index_add(one, &key) == a && index_find(bulk, &key) == b);
        version_add(one, a, nhashes);
        index_load_hashes(bulk, b, all_hashes, nhashes);
        version_add(bulk, b, nhashes);
        for (int k = 0; k < nhashes; k++)
            posts[k] = (struct index_post){ all_hashes[k], a };
        index_post(one, posts, nhashes);
    }
}

static void compare(struct index *one, struct index *bulk, uint64_t hash)
{
    struct index_cursor a = { .index = one, .hash = hash }, b = { .index = bulk, .hash = hash };
    struct store_key first = { 0, 0, STR_NONE };

    index_seek(&a, &first);
    index_seek(&b, &first);
    while (a.row && b.row) {
        struct store_key x = row_key(a.row), y = row_key(b.row);

        REQUIRE(key_cmp(&x, &y) == 0);
        index_next(&a);
        index_next(&b);
    }
    CHECK(!a.row && !b.row);
}

TEST(rows_one_by_one_and_in_bulk_are_the_same)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct index one, bulk;
        size_t live, n, seen = 0;

        index_init(&one);
        index_init(&bulk);
        index_load_begin(&bulk, 10);
        fill(&one, &bulk, seed, &live);
        index_load_end(&bulk, hashes_of, row_seen, &seen);
        CHECK(seen == live);
        CHECK(in_order(&one, 0, &n) && n == live);
        CHECK(in_order(&bulk, 0, &n) && n == live);
        for (int k = 0; k < HASHES; k++) {
            CHECK(in_order(&bulk, all_hashes[k], &n));
            compare(&one, &bulk, all_hashes[k]);
        }
        compare(&one, &bulk, 0);
        CHECK(in_order(&one, 15, &n) && n == 0);
        epoch_drain();
        index_release(&one);
        index_release(&bulk);
    }
}

/* Rows with some of many hashes each, in batches as the engine has them, of which some go again. */
TEST(postings_of_a_batch_are_in_order)
{
    enum { BATCH = 100, MANY = 40 };
    struct rand_seq r = { 7 };
    struct index ix;
    size_t want[MANY + 1] = { 0 }, n;

    index_init(&ix);
    for (int round = 0; round < 20; round++) {
        struct index_row *rows[BATCH];
        struct index_post posts[BATCH * MANY];
        size_t nrows = 0, nposts = 0;

        for (int i = 0; i < BATCH; i++) {
            char space[64];
            struct store_key key = random_key(&r, space);
            uint32_t odds = rand_seq_below(&r, 4) ? 10 : 1;

            if (index_find(&ix, &key))
                continue;
            rows[nrows] = index_add(&ix, &key);
            for (uint64_t h = 1; h <= MANY; h++)
                if (rand_seq_below(&r, odds) == 0)
                    posts[nposts++] = (struct index_post){ h, rows[nrows] };
            nrows++;
        }
        index_link(&ix, rows, nrows);
        index_post(&ix, posts, nposts);
        index_post(&ix, posts, nposts / 2); /* they are there */
        for (size_t i = 0; i < nposts; i++)
            want[posts[i].hash]++;
        for (size_t i = 0; i < nrows / 3; i++) {
            for (size_t k = 0; k < nposts; k++)
                if (posts[k].row == rows[i]) {
                    index_unpost(&ix, rows[i], posts[k].hash);
                    want[posts[k].hash]--;
                }
            index_remove(&ix, rows[i]);
        }
        for (uint64_t h = 1; h <= MANY; h++)
            CHECK(in_order(&ix, h, &n) && n == want[h]);
        epoch_drain();
    }
    index_release(&ix);
}

TEST(seeking_finds_the_first_not_before)
{
    struct index ix;
    struct index_cursor c = { .index = &ix };
    struct store_key key = { 1, 5, STR("m") };
    struct index_row *rows[2];

    index_init(&ix);
    index_seek(&c, &key);
    CHECK(!c.row);
    rows[0] = index_add(&ix, &(struct store_key){ 1, 6, STR("a") });
    rows[1] = index_add(&ix, &key);
    index_seek(&c, &key);
    CHECK(!c.row && index_find(&ix, &key) == rows[1]); /* it has no place in the order yet */
    index_link(&ix, rows, 2);
    index_seek(&c, &(struct store_key){ 1, 5, STR("a") });
    CHECK(c.row && str_is(row_name(c.row), "m"));
    index_seek(&c, &(struct store_key){ 1, 5, STR("n") });
    CHECK(c.row && c.row->instance == 6);
    index_seek(&c, &(struct store_key){ 2, 0, STR("a") });
    CHECK(!c.row);
    index_release(&ix);
}

/* As index_add makes them, one lane high. */
static struct index_row *bare_row(const struct store_key *key)
{
    struct index_row *r = mem_zalloc(sizeof(*r) + sizeof(skip_link) + key->name.n);

    r->type = key->type;
    r->instance = key->instance;
    r->name_bytes = (uint16_t)key->name.n;
    r->height = 1;
    memcpy((char *)r + sizeof(*r) + sizeof(skip_link), key->name.p, key->name.n);
    return r;
}

TEST(rows_by_their_keys)
{
    enum { ROWS = 5000 };
    static struct index_row *rows[ROWS];
    struct rowmap m;
    char name[16];

    rowmap_init(&m);
    for (int round = 0; round < 3; round++) /* the second finds entries that were left */
        for (uint32_t i = 0; i < ROWS; i++) {
            struct store_key key = { i % 3, i % 5, { name, 0 } };

            key.name.n = (size_t)snprintf(name, sizeof(name), "n/%u", i / 10);
            key.type += i % 10 * 3; /* ten types have rows of the same name */
            CHECK((rowmap_find(&m, &key) != NULL) == (round == 2));
            if (round == 2) {
                CHECK(rowmap_find(&m, &key) == rows[i]);
                continue;
            }
            rows[i] = bare_row(&key);
            rowmap_add(&m, rows[i]);
            CHECK(rowmap_find(&m, &key) == rows[i]);
            if (round == 0) {
                rowmap_remove(&m, rows[i]);
                CHECK(!rowmap_find(&m, &key));
                free(rows[i]);
            }
        }
    CHECK(m.live == ROWS && m.used >= ROWS);
    for (int i = 0; i < ROWS; i++)
        if (i % 100)
            rowmap_remove(&m, rows[i]);
    rowmap_trim(&m);
    CHECK(m.live == ROWS / 100 && m.used == m.live);
    rowmap_reserve(&m, ROWS);
    for (int i = 0; i < ROWS; i++) {
        struct store_key key = row_key(rows[i]);

        CHECK(rowmap_find(&m, &key) == (i % 100 ? NULL : rows[i]));
        free(rows[i]);
    }
    epoch_drain();
    rowmap_release(&m);
}

TEST(numbers_by_numbers)
{
    struct idmap m;
    struct idmap_pair *list;
    size_t n;

    idmap_init(&m);
    CHECK(idmap_get(&m, 0) == 0);
    for (uint64_t i = 0; i < 5000; i++)
        idmap_set(&m, i << 32 | (i % 7), i + 1);
    for (uint64_t i = 0; i < 5000; i += 2)
        idmap_set(&m, i << 32 | (i % 7), 0);
    for (uint64_t i = 5000; i < 10000; i++) /* grows over the gaps */
        idmap_set(&m, i << 32 | (i % 7), i + 1);
    for (uint64_t i = 0; i < 10000; i++)
        CHECK(idmap_get(&m, i << 32 | (i % 7)) == (i < 5000 && i % 2 == 0 ? 0 : i + 1));
    list = idmap_list(&m, &n);
    CHECK(n == 7500);
    free(list);
    for (uint64_t i = 0; i < 10000; i++)
        if (i % 100)
            idmap_set(&m, i << 32 | (i % 7), 0);
    idmap_trim(&m);
    for (uint64_t i = 0; i < 10000; i++)
        CHECK(idmap_get(&m, i << 32 | (i % 7)) == (i % 100 || i < 5000 ? 0 : i + 1));
    epoch_drain();
    idmap_release(&m);
}

TEST(numbers_by_close_numbers)
{
    static const uint64_t keys[] = { 0, 1, 255, 256, 100000, UINT32_MAX - 1 };
    enum { N = sizeof(keys) / sizeof(keys[0]) };
    struct idpages m;
    struct idmap_pair *list;
    uint64_t sum = 0;
    size_t n;

    idpages_init(&m);
    CHECK(idpages_get(&m, 0) == 0 && idpages_get(&m, UINT32_MAX) == 0);
    for (size_t i = 0; i < N; i++)
        idpages_set(&m, keys[i], i + 1);
    idpages_set(&m, 100000, 50);
    for (uint64_t i = 1000; i < 11000; i++)
        idpages_set(&m, i, i);
    for (size_t i = 0; i < N; i++)
        CHECK(idpages_get(&m, keys[i]) == (keys[i] == 100000 ? 50 : i + 1));
    CHECK(idpages_get(&m, 2) == 0 && idpages_get(&m, 11000) == 0 &&
          idpages_get(&m, 10999) == 10999);
    list = idpages_list(&m, &n);
    for (size_t i = 0; i < n; i++)
        sum += list[i].key;
    CHECK(n == 10000 + N);
    CHECK(sum == (1000 + 10999) * 5000ULL + 1 + 255 + 256 + 100000 + UINT32_MAX - 1);
    free(list);
    epoch_drain();
    idpages_release(&m);
}

TEST(small_cells)
{
    enum { N = 20000 };
    struct slab s;
    struct rand_seq r = { 3 };
    unsigned char **p = mem_zalloc(N * sizeof(*p));
    uint16_t *sizes = mem_zalloc(N * sizeof(*sizes));

    slab_init(&s);
    for (int round = 0; round < 6 * N; round++) {
        uint32_t i = rand_seq_below(&r, N);

        if (p[i]) { /* nobody else has written there */
            CHECK(p[i][0] == (i & 0xff) && p[i][sizes[i] - 1] == (i & 0xff));
            slab_free(p[i]);
            p[i] = NULL;
            continue;
        }
        sizes[i] = (uint16_t)(8 + rand_seq_below(&r, round % 50 ? 120 : SLAB_CELL_MAX - 8));
        p[i] = slab_alloc(&s, sizes[i]);
        CHECK((uintptr_t)p[i] % 8 == 0);
        memset(p[i], (int)(i & 0xff), sizes[i]);
    }
    for (uint32_t i = 0; i < N; i++)
        if (p[i])
            slab_free(p[i]);
    slab_release(&s);
    free(p);
    free(sizes);
}
