/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"
#include "store/index.h"

/*
 * Linking rows one by one in the order of the log costs a search each, most of it cache misses.
 * So while a log is read rows are only found by key, and sorted once at the end: for 100,000 rows
 * with four index hashes each this is the difference between a second and a tenth of it.
 */

struct sort_posting {
    uint64_t hash;
    uint64_t row; /* its place, later its rank */
};

struct index_load {
    struct index_row **rows; /* in order of arrival; NULL: removed */
    size_t n, rows_cap;
    /* Hashes of rows with one version, noted when it came by: fetching them later is a miss each.
     */
    struct sort_posting *noted;
    size_t nnoted, noted_cap;
};

/* row.pending while loading: its place, and whether its hashes are to be looked up again. */
#define LOOK_AGAIN 0x80000000u
#define NO_RANK    UINT32_MAX

enum { SORT_BITS = 11 };

void index_load_begin(struct index *ix, size_t rows)
{
    struct index_load *l = mem_zalloc(sizeof(*l));

    rowmap_reserve(&ix->by_key, rows);
    ix->load = l;
}

void index_load_add(struct index *ix, struct index_row *r)
{
    struct index_load *l = ix->load;

    if (l->n == l->rows_cap) {
        l->rows_cap = l->rows_cap ? l->rows_cap * 2 : 512;
        l->rows = mem_realloc_n(l->rows, l->rows_cap, sizeof(struct index_row *));
    }
    r->pending = (uint32_t)l->n;
    l->rows[l->n++] = r;
}

void index_load_remove(struct index *ix, struct index_row *r)
{
    ix->load->rows[r->pending & ~LOOK_AGAIN] = NULL;
}

/* ---- sorting rows ---- */

struct sort_row {
    uint64_t word; /* of the key at the depth that is being sorted */
    struct index_row *row;
};

static int row_order(const struct index_row *a, const struct index_row *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    return str_cmp(row_name(a), row_name(b));
}

/* Eight bytes of the key that compare as numbers; depth 0 is type and instance. */
static uint64_t word_at(const struct index_row *r, size_t depth)
{
    str part = str_sub(row_name(r), (depth - 1) * 8, 8);
    uint64_t word = 0;

    if (depth == 0)
        return (uint64_t)r->type << 32 | r->instance;
    if (part.n > 0)
        memcpy(&word, part.p, part.n);
    return __builtin_bswap64(word);
}

static void swap(struct sort_row *a, struct sort_row *b)
{
    struct sort_row t = *a;

    *a = *b;
    *b = t;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b)
        return a < c ? a : (b > c ? b : c);
    return b < c ? b : (a > c ? a : c);
}

/* Splits a[0 … n) into less, equal and greater than a pivot. */
static void partition(struct sort_row *a, size_t n, size_t *less, size_t *upto)
{
    uint64_t pivot = median(a[0].word, a[n / 2].word, a[n - 1].word);
    size_t low = 0, high = n;

    for (size_t i = 0; i < high;) {
        if (a[i].word < pivot)
            swap(&a[i++], &a[low++]);
        else if (a[i].word > pivot)
            swap(&a[i], &a[--high]);
        else
            i++;
    }
    *less = low;
    *upto = high;
}

static void words_load(struct sort_row *a, size_t n, size_t depth)
{
    for (size_t i = 0; i < n; i++)
        a[i].word = word_at(a[i].row, depth);
}

/* They agree up to their words, so mostly these decide and the rows need not be looked at. */
static void few_sort(struct sort_row *a, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0; k--) {
            if (a[k - 1].word < a[k].word ||
                (a[k - 1].word == a[k].word && row_order(a[k - 1].row, a[k].row) < 0))
                break;
            swap(&a[k - 1], &a[k]);
        }
}

/*
 * Quicksort by the word at `depth`, equal ones by the next; a word that reaches over the end of the
 * names is not enough to tell them apart ("a" from "a\0"), so the few that remain are compared.
 */
static void rows_sort(struct sort_row *a, size_t n, size_t depth)
{
    while (n > 1) {
        size_t less, upto;

        if (n < 12 || depth > STORE_KEY_MAX / 8) {
            few_sort(a, n);
            return;
        }
        partition(a, n, &less, &upto);
        if (upto - less > 1) {
            words_load(a + less, upto - less, depth + 1);
            rows_sort(a + less, upto - less, depth + 1);
        }
        /* The larger side by turning round, so that the stack stays small. */
        if (less < n - upto) {
            rows_sort(a, less, depth);
            a += upto;
            n -= upto;
        } else {
            rows_sort(a + upto, n - upto, depth);
            n = less;
        }
    }
}

static bool in_order(struct index_row **rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (row_order(rows[i - 1], rows[i]) > 0)
            return false;
    return true;
}

/* Closes the gaps of removed rows and brings the others in order. */
static void load_sort(struct index_load *l)
{
    struct sort_row *a;
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i])
            l->rows[n++] = l->rows[i];
    l->n = n;
    if (in_order(l->rows, n))
        return;
    a = mem_alloc(n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        a[i].row = l->rows[i];
    words_load(a, n, 0);
    rows_sort(a, n, 0);
    for (size_t i = 0; i < n; i++)
        l->rows[i] = a[i].row;
    free(a);
}

/* ---- linking ---- */

struct lanes { /* the last element of each lane of a list that is only appended to */
    struct skiplist *list;
    void *last[SKIP_HEIGHT_MAX];
    int height;
};

static void lanes_append(struct lanes *t, void *elem, int height)
{
    skip_link *links = skip_links(t->list, elem);

    for (int lane = 0; lane < height; lane++) {
        atomic_init(&links[lane], NULL);
        atomic_store_explicit(&skip_links(t->list, t->last[lane])[lane], elem,
                              memory_order_relaxed);
        t->last[lane] = elem;
    }
    if (height > t->height)
        t->height = height;
}

/* Stable, by some bits of the one or the other number. */
static void sort_by(struct sort_posting **a, struct sort_posting **b, size_t n, bool by_row,
                    int shift)
{
    enum { BUCKETS = 1 << SORT_BITS };
    size_t counts[BUCKETS] = { 0 }, sum = 0;
    struct sort_posting *from = *a, *to = *b;

    for (size_t i = 0; i < n; i++)
        counts[(by_row ? from[i].row : from[i].hash) >> shift & (BUCKETS - 1)]++;
    for (size_t k = 0; k < BUCKETS; k++) {
        size_t c = counts[k];

        counts[k] = sum;
        sum += c;
    }
    for (size_t i = 0; i < n; i++)
        to[counts[(by_row ? from[i].row : from[i].hash) >> shift & (BUCKETS - 1)]++] = from[i];
    *a = to;
    *b = from;
}

/* What was noted of rows that are still as they came; from places to ranks. */
static void noted_rank(struct index_load *l, const uint32_t *ranks)
{
    size_t n = 0;

    for (size_t i = 0; i < l->nnoted; i++) {
        uint32_t rank = ranks[l->noted[i].row];

        if (rank != NO_RANK)
            l->noted[n++] = (struct sort_posting){ l->noted[i].hash, rank };
    }
    l->nnoted = n;
}

static void noted_add(struct index_load *l, const uint64_t *hashes, size_t n, uint64_t row)
{
    while (l->nnoted + n > l->noted_cap) {
        l->noted_cap = l->noted_cap ? l->noted_cap * 2 : 4096;
        l->noted = mem_realloc_n(l->noted, l->noted_cap, sizeof(*l->noted));
    }
    for (size_t i = 0; i < n; i++)
        l->noted[l->nnoted++] = (struct sort_posting){ hashes[i], row };
}

void index_load_hashes(struct index *ix, struct index_row *r, const uint64_t *hashes, size_t n)
{
    if (atomic_load_explicit(&r->newest, memory_order_relaxed))
        r->pending |= LOOK_AGAIN;
    else
        noted_add(ix->load, hashes, n, r->pending);
}

/* Links the rows; returns their ranks by place, without those whose hashes were looked up again. */
static uint32_t *rows_link(struct index *ix, size_t places, index_row_fn *each, void *arg)
{
    struct index_load *l = ix->load;
    struct lanes lanes = { .list = &ix->rows, .height = 1 };
    uint32_t *ranks = mem_alloc((places + 1) * sizeof(*ranks));

    memset(ranks, 0xff, places * sizeof(*ranks));
    for (size_t i = 0; i < l->n; i++) {
        struct index_row *r = l->rows[i];

        lanes_append(&lanes, r, r->height);
        r->prev = i > 0 ? l->rows[i - 1] : NULL;
        each(arg, r);
        if (!(r->pending & LOOK_AGAIN))
            ranks[r->pending] = (uint32_t)i;
    }
    atomic_store(&ix->rows.height, lanes.height);
    return ranks;
}

static void look_again(struct index_load *l, index_hashes_fn *hashes, void *arg)
{
    for (size_t i = 0; i < l->n; i++) {
        struct index_row *r = l->rows[i];

        if (r->pending & LOOK_AGAIN)
            for (struct version *v = atomic_load(&r->newest); v; v = atomic_load(&v->older))
                if (v->nhashes)
                    noted_add(l, hashes(arg, v), v->nhashes, i);
        r->pending = 0;
    }
}

static void postings_link(struct index *ix)
{
    struct index_load *l = ix->load;
    struct lanes lanes = { .list = &ix->postings, .height = 1 };
    size_t n = l->nnoted;
    struct sort_posting *a = l->noted, *b = mem_alloc(n * sizeof(*b)), *spare = b;

    for (int shift = 0; l->n >> shift > 0; shift += SORT_BITS)
        sort_by(&a, &b, n, true, shift);
    for (int shift = 0; shift < 64; shift += SORT_BITS)
        sort_by(&a, &b, n, false, shift);
    for (size_t i = 0; i < n; i++) {
        struct posting *p;
        int height;

        /* Several versions of a row often share a hash. */
        if (i > 0 && a[i].hash == a[i - 1].hash && a[i].row == a[i - 1].row)
            continue;
        height = skip_height(&ix->postings);
        p = slab_alloc(&ix->slab, sizeof(*p) + (size_t)height * sizeof(skip_link));
        p->hash = a[i].hash;
        p->row = l->rows[a[i].row];
        p->also = NULL;
        lanes_append(&lanes, p, height);
    }
    atomic_store(&ix->postings.height, lanes.height);
    free(spare);
}

static void load_free(struct index *ix)
{
    free(ix->load->rows);
    free(ix->load->noted);
    free(ix->load);
    ix->load = NULL;
}

void index_load_release(struct index *ix)
{
    for (size_t i = 0; i < ix->load->n; i++)
        if (ix->load->rows[i])
            row_free(ix->load->rows[i]);
    load_free(ix);
}

void index_load_end(struct index *ix, index_hashes_fn *hashes, index_row_fn *each, void *arg)
{
    struct index_load *l = ix->load;
    size_t places = l->n;
    uint32_t *ranks;

    load_sort(l);
    ranks = rows_link(ix, places, each, arg);
    noted_rank(l, ranks);
    free(ranks);
    look_again(l, hashes, arg);
    postings_link(ix);
    load_free(ix);
    rowmap_trim(&ix->by_key);
}
