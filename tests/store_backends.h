/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BACKENDS_H
#define STORE_BACKENDS_H

/*
 * For the suites of the store's promises: each test runs on every implementation.  To add one, add
 * a row to the backends and a line to SUITE.
 */

#include <errno.h>

#include "simdisk.h"
#include "store/engine.h"
#include "store_help.h"
#include "store_model.h"
#include "tap.h"

struct fixture {
    struct store *store;
    struct arena *arena;
    struct simdisk *disk;
};

struct backend {
    void (*open)(struct fixture *f);
    void (*reopen)(struct fixture *f); /* after a power cut; NULL: nothing is durable */
};

static void open_model(struct fixture *f)
{
    f->store = model_open();
}

static void open_engine(struct fixture *f)
{
    struct engine_options opt = { .dir = STR("data"),
                                  .segment_bytes = 32 << 10,
                                  .step_bytes = 4 << 10 };
    struct status st;

    if (!f->disk)
        f->disk = simdisk_new(1);
    opt.files = simdisk_layer(f->disk);
    status_init(&st, f->arena);
    f->store = engine_open(&opt, &st);
    if (!f->store)
        printf("# %.*s\n", STR_ARG(st.message));
}

static void reopen_engine(struct fixture *f)
{
    simdisk_cut_after(f->disk, 1);
    store_close(f->store);
    simdisk_restart(f->disk);
    open_engine(f);
}

static const struct backend model = { open_model, NULL };
static const struct backend engine = { open_engine, reopen_engine };

static inline void run(const struct backend *b,
                       void (*fn)(struct fixture *f, const struct backend *b))
{
    struct fixture f = { .arena = arena_new() };

    b->open(&f);
    if (CHECK(f.store != NULL)) {
        fn(&f, b);
        store_close(f.store);
    }
    arena_free(f.arena);
    if (f.disk)
        simdisk_free(f.disk);
}

#define SUITE(id)                                                       \
    static void suite_##id(struct fixture *f, const struct backend *b); \
    TEST(model_##id)                                                    \
    {                                                                   \
        run(&model, suite_##id);                                        \
    }                                                                   \
    TEST(engine_##id)                                                   \
    {                                                                   \
        run(&engine, suite_##id);                                       \
    }                                                                   \
    static void suite_##id(struct fixture *f, __attribute__((unused)) const struct backend *b)

#define GET(...)    get(f->store, f->arena, __VA_ARGS__)
#define ROWS(...)   text_range(f->store, f->arena, (struct store_range){ __VA_ARGS__ })
#define EVENTS(...) text_events(f->store, f->arena, __VA_ARGS__)

#endif
