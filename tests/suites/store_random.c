/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random histories: the same operations on the model and on the engine must give equal answers,
 * equal ranges at every revision, equal events, also after the engine was closed and opened again.
 *
 *     store_random [seeds [first seed]]
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "simdisk.h"
#include "store/engine.h"
#include "store_help.h"
#include "store_model.h"

enum { STEPS = 250, TYPES = 3, INSTANCES = 5, NAMES = 24, HASHES = 6, OPS = 4 };

struct pair {
    struct rand_seq rand;
    struct store *model, *engine;
    struct simdisk *disk;
    struct arena *arena; /* of one comparison */
    bool failed;
};

static uint32_t below(struct pair *p, uint32_t n)
{
    return rand_seq_below(&p->rand, n);
}

static void differ(struct pair *p, const char *what, const char *model, const char *engine)
{
    if (strcmp(model, engine) == 0)
        return;
    p->failed = true;
    printf("# %s: the model says\n%s\n# the engine says\n%s\n", what, model, engine);
}

static void differ_u64(struct pair *p, const char *what, uint64_t model, uint64_t engine)
{
    differ(p, what, arena_printf(p->arena, "%llu", (unsigned long long)model),
           arena_printf(p->arena, "%llu", (unsigned long long)engine));
}

static bool engine_begin(struct pair *p)
{
    struct engine_options opt = { .dir = STR("data"), .files = simdisk_layer(p->disk) };
    struct status st;

    opt.segment_bytes = 4096 << below(p, 4);
    opt.step_bytes = 1024 << below(p, 3);
    status_init(&st, p->arena);
    p->engine = engine_open(&opt, &st);
    if (p->engine)
        return true;
    printf("# cannot open: %.*s\n", STR_ARG(st.message));
    p->failed = true;
    return false;
}

/* ---- writing ---- */

struct op_space {
    char name[16], value[700];
    uint64_t hashes[3];
};

static struct store_op random_op(struct pair *p, struct op_space *space)
{
    static const enum store_op_kind kinds[] = { STORE_PUT, STORE_PUT, STORE_PUT, STORE_DELETE,
                                                STORE_CHECK };
    struct store_op op =
        op_of(kinds[below(p, 5)], 1 + below(p, TYPES), 1 + below(p, INSTANCES), STR_NONE);
    size_t n = below(p, 8) ? below(p, 60) : below(p, 600);

    (void)snprintf(space->name, sizeof(space->name), "%c/%u", 'a' + (char)below(p, 3),
                   below(p, NAMES));
    op.key.name = str_of(space->name);
    if (op.kind == STORE_PUT) {
        size_t at = 0;

        op.hashes = space->hashes;
        op.nhashes = below(p, 4);
        for (size_t i = 0; i < op.nhashes; i++) { /* the value says which, to check again */
            space->hashes[i] = 1 + below(p, HASHES);
            at += (size_t)snprintf(space->value + at, sizeof(space->value) - at, "#%u",
                                   (unsigned)space->hashes[i]);
        }
        memset(space->value + at, 'a' + (int)below(p, 26), n);
        op.value = (str){ space->value, at + n };
    }
    return op;
}

static uint64_t row_rev(struct pair *p, const struct store_key *key)
{
    struct store_row row;
    struct status st;

    status_init(&st, p->arena);
    return store_get(p->model, p->arena, *key, 0, &row, &st) == 1 ? row.rev : 0;
}

static void random_txn(struct pair *p)
{
    struct op_space space[OPS];
    struct store_op ops[OPS];
    size_t n = 1 + below(p, OPS);
    struct store_txn a, b;

    for (size_t i = 0; i < n; i++) {
        ops[i] = random_op(p, &space[i]);
        if (below(p, 3) == 0)
            ops[i].expect = row_rev(p, &ops[i].key);
        if (below(p, 20) == 0)
            ops[i].expect = below(p, (uint32_t)store_head(p->model) + 2);
    }
    if (below(p, 60) == 0) {
        ops[0] = (struct store_op){ .kind = STORE_DROP };
        ops[0].key.instance = 1 + below(p, INSTANCES + 20);
    }
    a = b = (struct store_txn){ .ops = ops, .nops = n };
    (void)store_commit_wait(p->model, &a);
    (void)store_commit_wait(p->engine, &b);
    differ_u64(p, "revision", a.rev, b.rev);
    differ_u64(p, "failed operation", (uint64_t)a.failed_op, (uint64_t)b.failed_op);
    differ_u64(p, "found", a.found, b.found);
    differ_u64(p, "error", (uint64_t)a.error, (uint64_t)b.error);
}

/* ---- comparing ---- */

struct hash_filter {
    struct buf text;
    char want[8];
};

static bool filtered_row(void *arg, const struct store_row *row)
{
    struct hash_filter *f = arg;

    if (!f->want[0] || str_contains(row->value, str_of(f->want)))
        (void)text_row(&f->text, row);
    return true;
}

static const char *filtered(struct pair *p, struct store *s, struct store_range r)
{
    struct hash_filter f = { .want = "" };
    struct status st;
    const char *text;
    int rc;

    if (r.hash)
        (void)snprintf(f.want, sizeof(f.want), "#%u", (unsigned)r.hash);
    buf_init(&f.text, 16 << 20);
    status_init(&st, p->arena);
    epoch_enter();
    rc = store_scan(s, &r, filtered_row, &f, &st);
    epoch_exit();
    text = rc < 0 ? status_reason(&st) : str_z(p->arena, buf_str(&f.text));
    buf_release(&f.text);
    return text;
}

static uint64_t random_rev(struct pair *p)
{
    uint64_t floor = store_floor(p->model), head = store_head(p->model);

    if (below(p, 4) == 0)
        return 0;
    if (below(p, 20) == 0)
        return head + 1;
    if (below(p, 10) == 0)
        return 1 + below(p, (uint32_t)head + 1);
    return floor + below(p, (uint32_t)(head - floor) + 1);
}

static void compare_range(struct pair *p)
{
    struct store_range r = { .type = 1 + below(p, TYPES), .instance = 1 + below(p, INSTANCES) };
    char start[16];

    if (below(p, 2))
        r.instance = STORE_ALL;
    if (below(p, 3) == 0)
        r.prefix = below(p, 3) ? STR("b/") : STR("b/1");
    if (below(p, 3) == 0) {
        (void)snprintf(start, sizeof(start), "%c/%u", 'a' + (char)below(p, 3), below(p, NAMES));
        r.start = str_of(start);
        r.start_instance = 1 + below(p, INSTANCES);
        r.inclusive = below(p, 2);
    }
    r.rev = random_rev(p);
    differ_u64(p, "count", count(p->model, r), count(p->engine, r));
    if (below(p, 3) == 0)
        r.hash = 1 + below(p, HASHES);
    differ(p, "range", filtered(p, p->model, r), filtered(p, p->engine, r));
}

static void compare_row(struct pair *p)
{
    char name[16];
    uint32_t type = 1 + below(p, TYPES), instance = 1 + below(p, INSTANCES);
    uint64_t rev = random_rev(p);

    (void)snprintf(name, sizeof(name), "%c/%u", 'a' + (char)below(p, 3), below(p, NAMES));
    differ(p, "row", get(p->model, p->arena, type, instance, name, rev),
           get(p->engine, p->arena, type, instance, name, rev));
}

static void compare_events(struct pair *p)
{
    uint32_t type = below(p, 2) ? UINT32_MAX : 1 + below(p, TYPES);
    uint32_t instance = below(p, 2) ? STORE_ALL : 1 + below(p, INSTANCES);
    uint64_t after = random_rev(p);

    differ(p, "events", text_events(p->model, p->arena, type, instance, after),
           text_events(p->engine, p->arena, type, instance, after));
}

static void compare_all(struct pair *p)
{
    differ_u64(p, "head", store_head(p->model), store_head(p->engine));
    differ_u64(p, "floor", store_floor(p->model), store_floor(p->engine));
    for (uint32_t type = 1; type <= TYPES; type++) {
        struct store_range r = { .type = type, .instance = STORE_ALL };

        differ(p, "all rows", filtered(p, p->model, r), filtered(p, p->engine, r));
        differ_u64(p, "all counted", count(p->model, r), count(p->engine, r));
        for (r.instance = 1; r.instance <= INSTANCES; r.instance++) {
            r.prefix = STR_NONE;
            differ_u64(p, "instance counted", count(p->model, r), count(p->engine, r));
            r.prefix = STR("b/");
            differ_u64(p, "folder counted", count(p->model, r), count(p->engine, r));
        }
    }
    differ(p, "all events",
           text_events(p->model, p->arena, UINT32_MAX, STORE_ALL, store_floor(p->model)),
           text_events(p->engine, p->arena, UINT32_MAX, STORE_ALL, store_floor(p->model)));
}

static void step(struct pair *p)
{
    uint64_t head = store_head(p->model);

    p->arena = arena_new();
    switch (below(p, 40)) {
    case 0:
        store_compact(p->model, head - below(p, (uint32_t)head + 1));
        store_compact(p->engine, store_floor(p->model));
        break;
    case 1:
        store_close(p->engine);
        if (engine_begin(p))
            compare_all(p);
        break;
    case 2:
    case 3:
    case 4:
        compare_range(p);
        break;
    case 5:
    case 6:
        compare_events(p);
        break;
    case 7:
    case 8:
        compare_row(p);
        break;
    default:
        random_txn(p);
        break;
    }
    arena_free(p->arena);
}

static bool run(uint64_t seed)
{
    struct pair p = { .rand = { seed }, .model = model_open(), .disk = simdisk_new(seed) };

    p.arena = arena_new();
    if (!engine_begin(&p))
        return false;
    arena_free(p.arena);
    for (int i = 0; i < STEPS && !p.failed; i++)
        step(&p);
    store_close(p.model);
    store_close(p.engine);
    simdisk_free(p.disk);
    return !p.failed;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 150;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, bad = 0;

    for (uint64_t seed = first; seed < first + seeds; seed++)
        if (!run(seed)) {
            bad++;
            printf("# seed %llu failed\n", (unsigned long long)seed);
        }
    printf("%sok 1 - %llu random histories are equal on model and engine\n1..1\n",
           bad ? "not " : "", (unsigned long long)seeds);
    return bad != 0;
}
