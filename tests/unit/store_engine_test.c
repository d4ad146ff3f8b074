/* SPDX-License-Identifier: Apache-2.0 */
#include "store/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "simdisk.h"
#include "store/format.h"
#include "store_help.h"
#include "tap.h"

struct fixture {
    struct arena *arena;
    struct simdisk *disk;
    struct clock clock;
    struct engine_options opt;
    struct store *store;
    str error;
};

static bool start(struct fixture *f)
{
    struct status st;

    status_init(&st, f->arena);
    f->store = engine_open(&f->opt, &st);
    f->error = f->store ? STR_NONE : st.message;
    return f->store != NULL;
}

static bool init(struct fixture *f)
{
    *f = (struct fixture){ .arena = arena_new(), .disk = simdisk_new(1) };
    f->opt = (struct engine_options){
        .dir = STR("data"), .segment_bytes = 16 << 10, .step_bytes = 4 << 10, .clock = &f->clock
    };
    f->opt.files = simdisk_layer(f->disk);
    return start(f);
}

static bool restart(struct fixture *f) /* the hard way */
{
    simdisk_cut_after(f->disk, 1);
    store_close(f->store);
    simdisk_restart(f->disk);
    return start(f);
}

static void release(struct fixture *f)
{
    store_close(f->store);
    arena_free(f->arena); /* what it holds of the store lies on the disk */
    simdisk_free(f->disk);
}

static struct store_stats stats_of(struct fixture *f)
{
    struct store_stats stats;

    store_stats(f->store, &stats);
    return stats;
}

/* Until the writer has done in the background what is awaited, or has had long enough. */
#define EVENTUALLY(cond)                               \
    do {                                               \
        for (int n_ = 0; n_ < 5000 && !(cond); n_++) { \
            struct timespec ms_ = { 0, 1000000 };      \
            (void)nanosleep(&ms_, NULL);               \
        }                                              \
        CHECK(cond);                                   \
    } while (0)

#define ALL(f, type_)                  \
    text_range((f)->store, (f)->arena, \
               (struct store_range){ .type = (type_), .instance = STORE_ALL })

static bool says(str text, const char *part)
{
    bool found = str_contains(text, str_of(part));

    if (!found)
        printf("# not in: %.*s\n", STR_ARG(text));
    return found;
}

/* ---- the data dir ---- */

TEST(a_data_dir_has_one_user)
{
    struct fixture f;
    struct store *first;

    REQUIRE(init(&f));
    first = f.store;
    CHECK(!start(&f));
    CHECK(says(f.error, "data dir data is in use"));
    f.store = first;
    release(&f);
}

TEST(the_real_disk_works_as_well)
{
    char dir[] = "/tmp/store_engine_test.XXXXXX", cmd[64];
    struct fixture f;
    const char *rows;
    struct store *first;

    REQUIRE(mkdtemp(dir));
    REQUIRE(init(&f));
    store_close(f.store);
    f.opt = (struct engine_options){ .dir = str_printf(f.arena, "%s/data", dir) };
    REQUIRE(start(&f));
    for (int i = 0; i < 100; i++)
        CHECK(put(f.store, 1, (uint32_t)i % 7, "a", "value") == (uint64_t)i + 1);
    rows = ALL(&f, 1);
    first = f.store;
    CHECK(!start(&f) && says(f.error, "is in use"));
    store_close(first);
    REQUIRE(start(&f));
    CHECK_STR(ALL(&f, 1), rows);
    release(&f);
    (void)snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
    CHECK(system(cmd) == 0);
}

/* ---- failures ---- */

TEST(a_full_disk_refuses_writes_and_recovers)
{
    struct fixture f;
    struct store_txn txn;
    struct store_op op;
    uint64_t acknowledged = 0, head;
    char name[16], *value = mem_zalloc(1001);

    memset(value, 'v', 1000);
    REQUIRE(init(&f));
    simdisk_capacity(f.disk, 40 << 10);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "n%02d", i);
        op = op_put(1, 1, str_of(name), str_of(value));
        txn = (struct store_txn){ .ops = &op, .nops = 1 };
        if (store_commit_wait(f.store, &txn) < 0)
            break;
        acknowledged++;
    }
    CHECK(txn.error == ENOSPC && txn.rev == 0);
    CHECK(acknowledged > 20 && acknowledged < 60);
    head = store_head(f.store);
    CHECK(head == acknowledged);
    CHECK(stats_of(&f).last_error == ENOSPC);
    CHECK(count(f.store, (struct store_range){ .type = 1, .instance = 1, .prefix = STR("n") }) ==
          acknowledged);
    CHECK_STR(get(f.store, f.arena, 1, 1, "n00", 0), value);
    /* Space is back. */
    simdisk_capacity(f.disk, UINT64_MAX);
    clock_advance(&f.clock, 10000);
    EVENTUALLY(!stats_of(&f).read_only);
    CHECK(put(f.store, 1, 1, "after", "x") == head + 1);
    REQUIRE(restart(&f));
    CHECK(store_head(f.store) == head + 1);
    CHECK(count(f.store, (struct store_range){ .type = 1, .instance = 1, .prefix = STR("n") }) ==
          acknowledged);
    free(value);
    release(&f);
}

TEST(what_a_failed_write_or_sync_left_is_never_seen)
{
    for (int kind = SIMDISK_WRITE; kind <= SIMDISK_SYNC; kind++)
        for (uint64_t times = 1; times <= 4; times++) {
            struct fixture f;
            struct store_op op = op_put(1, 1, STR("b"), STR("in doubt"));
            struct store_txn txn = { .ops = &op, .nops = 1 };

            REQUIRE(init(&f));
            CHECK(put(f.store, 1, 1, "a", "1") == 1);
            simdisk_fail(f.disk, (enum simdisk_op)kind, 1, times, EIO);
            CHECK(store_commit_wait(f.store, &txn) < 0 && txn.error == EIO);
            CHECK(stats_of(&f).last_error == EIO);
            CHECK_STR(ALL(&f, 1), "1/1/a@1+1=1\n");
            CHECK(store_head(f.store) == 1);
            /* Each attempt uses up one failure. */
            for (int i = 0; i < 5 && stats_of(&f).read_only; i++) {
                CHECK(put(f.store, 1, 1, "c", "x") == 0);
                clock_advance(&f.clock, 10000);
                op = op_of(STORE_CHECK, 9, 9, STR("-"));
                if (store_commit_wait(f.store, &txn) == 0)
                    break;
            }
            CHECK(!stats_of(&f).read_only);
            op = op_put(1, 1, STR("d"), STR("2"));
            CHECK(store_commit_wait(f.store, &txn) == 0);
            REQUIRE(restart(&f));
            CHECK_STR(get(f.store, f.arena, 1, 1, "b", 0), "");
            CHECK_STR(get(f.store, f.arena, 1, 1, "c", 0), "");
            CHECK_STR(get(f.store, f.arena, 1, 1, "d", 0), "2");
            release(&f);
        }
}

TEST(a_broken_disk_is_tried_again_without_writes)
{
    struct fixture f;

    REQUIRE(init(&f));
    simdisk_fail(f.disk, SIMDISK_SYNC, 1, 1000, EIO);
    CHECK(put(f.store, 1, 1, "a", "1") == 0);
    CHECK(stats_of(&f).read_only);
    CHECK(put(f.store, 1, 1, "a", "1") == 0);
    simdisk_fail(f.disk, SIMDISK_SYNC, 0, 0, 0);
    clock_advance(&f.clock, 1000);
    EVENTUALLY(!stats_of(&f).read_only);
    CHECK(put(f.store, 1, 1, "a", "1") == 1);
    release(&f);
}

/* ---- damage ---- */

/* A record's value is "ZZZ", so that the byte to spoil is easy to find: one Z may be chance. */
static uint64_t find_value(struct fixture *f, const char *name)
{
    struct file *file = file_open(f->opt.files, name, FILE_READ);
    uint64_t size = simdisk_file_bytes(f->disk, name), at = UINT64_MAX;

    for (uint64_t i = 0; file && at == UINT64_MAX && i < size; i++) {
        char bytes[3] = "";

        if (file_read(file, bytes, 3, i) == 3 && memcmp(bytes, "ZZZ", 3) == 0)
            at = i;
    }
    file_close(file);
    return at;
}

TEST(damage_in_the_middle_is_named)
{
    struct fixture f;
    uint64_t at;

    REQUIRE(init(&f));
    (void)put(f.store, 1, 1, "a", "ZZZ");
    (void)put(f.store, 1, 1, "b", "2");
    store_close(f.store);
    at = find_value(&f, "seg-00000001.log");
    REQUIRE(at != UINT64_MAX);
    simdisk_corrupt(f.disk, "seg-00000001.log", at, 'Y');
    CHECK(!start(&f));
    CHECK(says(f.error, "seg-00000001.log is damaged at offset 64"));
    simdisk_corrupt(f.disk, "seg-00000001.log", at, 'Z');
    CHECK(start(&f));
    release(&f);
}

TEST(a_damaged_tail_is_cut_and_never_comes_back)
{
    struct fixture f;
    uint64_t at;

    REQUIRE(init(&f));
    (void)put(f.store, 1, 1, "a", "1");
    (void)put(f.store, 1, 1, "b", "ZZZ");
    store_close(f.store);
    at = find_value(&f, "seg-00000001.log");
    REQUIRE(at != UINT64_MAX);
    simdisk_corrupt(f.disk, "seg-00000001.log", at, 'Y');
    REQUIRE(start(&f));
    CHECK(store_head(f.store) == 1);
    CHECK(put(f.store, 1, 1, "c", "3") == 2);
    CHECK(simdisk_file_bytes(f.disk, "seg-00000001.log") < at);
    REQUIRE(restart(&f));
    CHECK_STR(ALL(&f, 1), "1/1/a@1+1=1\n1/1/c@2+2=3\n");
    release(&f);
}

TEST(older_segments_must_be_whole_and_there)
{
    struct fixture f;
    uint64_t at;
    char value[1000];

    REQUIRE(init(&f));
    (void)put(f.store, 1, 1, "z", "ZZZ");
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 40; i++)
        (void)put(f.store, 1, 1, "a", value);
    store_close(f.store);
    at = find_value(&f, "seg-00000001.log");
    REQUIRE(at != UINT64_MAX);
    simdisk_corrupt(f.disk, "seg-00000001.log", at, 'Y');
    CHECK(!start(&f) && says(f.error, "seg-00000001.log is damaged at offset 64"));
    simdisk_corrupt(f.disk, "seg-00000001.log", at, 'Z');
    simdisk_corrupt(f.disk, "seg-00000002.log", 20, 'Y');
    CHECK(!start(&f) && says(f.error, "seg-00000002.log is damaged at offset 0"));
    CHECK(simdisk_remove(f.disk, "seg-00000002.log"));
    CHECK(!start(&f) && says(f.error, "seg-00000002.log is damaged at offset 0: the file is miss"));
    arena_free(f.arena);
    simdisk_free(f.disk);
}

static void fill_segments(struct fixture *f, int writes)
{
    char value[1000];

    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < writes; i++)
        (void)put(f->store, 1, 1, "a", value);
}

static struct segment_header header_of(struct fixture *f, const char *name)
{
    struct file *file = file_open(f->opt.files, name, FILE_READ);
    struct segment_header h = { .version = 0 };

    CHECK(file && file_read(file, &h, sizeof(h), 0) == sizeof(h));
    file_close(file);
    return h;
}

static void header_put(struct fixture *f, const char *name, const struct segment_header *h)
{
    for (size_t i = 0; i < sizeof(*h); i++)
        simdisk_corrupt(f->disk, name, i, ((const uint8_t *)h)[i]);
}

/* With good checksums, as a file has that somebody put there. */
TEST(segments_of_other_stores_numbers_and_versions_are_refused)
{
    struct segment_header good, h;
    struct fixture f;

    REQUIRE(init(&f));
    fill_segments(&f, 40);
    store_close(f.store);
    good = header_of(&f, "seg-00000002.log");
    h = good;
    h.number = 7;
    segment_header_seal(&h, SEGMENT_MAGIC);
    header_put(&f, "seg-00000002.log", &h);
    CHECK(!start(&f) && says(f.error, "seg-00000002.log is damaged at offset 16: it is another"));
    h = good;
    h.id[3] ^= 1;
    segment_header_seal(&h, SEGMENT_MAGIC);
    header_put(&f, "seg-00000002.log", &h);
    CHECK(!start(&f) && says(f.error, "offset 48: it belongs to another store"));
    h = good;
    h.version++;
    h.crc = 0;
    h.crc = crc32c(0, &h, sizeof(h));
    header_put(&f, "seg-00000002.log", &h);
    CHECK(!start(&f) && says(f.error, "offset 8: it has a format of another version"));
    h = good;
    h.prev_end = 1;
    segment_header_seal(&h, SEGMENT_MAGIC);
    header_put(&f, "seg-00000002.log", &h);
    CHECK(!start(&f) && says(f.error, "damaged"));
    header_put(&f, "seg-00000002.log", &good);
    CHECK(start(&f));
    release(&f);
}

static void make_file(struct fixture *f, const char *name, const char *bytes, size_t n)
{
    struct file *file = file_open(f->opt.files, name, FILE_WRITE | FILE_CREATE);

    CHECK(file && file_write(file, bytes, n, 0) == 0 && file_sync(file) == 0);
    file_close(file);
    CHECK(file_sync_dir(f->opt.files, "data") == 0);
}

/* The end came while a segment was being made: it goes.  One that holds something stays. */
TEST(a_newest_segment_without_header_goes_only_if_it_is_empty)
{
    static const char zeros[8192];
    char text[8192] = "";
    struct fixture f;
    uint64_t head;

    REQUIRE(init(&f));
    fill_segments(&f, 3);
    head = store_head(f.store);
    store_close(f.store);
    make_file(&f, "seg-00000002.log", zeros, 16);
    REQUIRE(start(&f));
    store_close(f.store);
    make_file(&f, "seg-00000002.log", zeros, sizeof(zeros));
    REQUIRE(start(&f));
    CHECK(store_head(f.store) == head);
    store_close(f.store);
    text[5000] = 'x';
    make_file(&f, "seg-00000002.log", text, sizeof(text));
    CHECK(!start(&f) && says(f.error, "no valid header, and yet it is not empty"));
    CHECK(simdisk_remove(f.disk, "seg-00000002.log"));
    REQUIRE(start(&f));
    CHECK(store_head(f.store) == head);
    release(&f);
}

TEST(a_lost_first_segment_is_noticed)
{
    struct fixture f;
    char value[1000];

    REQUIRE(init(&f));
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 40; i++)
        (void)put(f.store, 1, 1, "a", value);
    store_close(f.store);
    CHECK(simdisk_remove(f.disk, "seg-00000001.log"));
    CHECK(!start(&f) && says(f.error, "seg-00000001.log is damaged at offset 0: the file is miss"));
    arena_free(f.arena);
    simdisk_free(f.disk);
}

/* ---- history ---- */

TEST(history_is_limited_by_number)
{
    struct fixture f;

    REQUIRE(init(&f));
    store_close(f.store);
    f.opt.history_events = 10;
    REQUIRE(start(&f));
    for (int i = 0; i < 100; i++)
        (void)put(f.store, 1, 1, i % 2 ? "a" : "b", "x");
    EVENTUALLY(store_floor(f.store) == 90);
    EVENTUALLY(stats_of(&f).versions <= 12);
    CHECK_STR(get(f.store, f.arena, 1, 1, "a", 89), "Expired");
    CHECK_STR(get(f.store, f.arena, 1, 1, "a", 91), "x");
    CHECK(store_pin(f.store, 95));
    for (int i = 0; i < 100; i++)
        (void)put(f.store, 1, 1, "a", "x");
    CHECK(store_floor(f.store) == 95);
    clock_advance(&f.clock, 61000); /* a pin is good for a minute */
    (void)put(f.store, 1, 1, "a", "x");
    EVENTUALLY(store_floor(f.store) >= 190);
    store_unpin(f.store, 95);
    release(&f);
}

TEST(history_is_limited_by_age)
{
    struct fixture f;

    REQUIRE(init(&f));
    (void)put(f.store, 1, 1, "a", "1");
    clock_advance(&f.clock, 290000);
    (void)put(f.store, 1, 1, "a", "2");
    CHECK(store_floor(f.store) == 0);
    clock_advance(&f.clock, 20000);
    (void)put(f.store, 1, 1, "a", "3");
    EVENTUALLY(store_floor(f.store) == 1);
    clock_advance(&f.clock, 300000);
    (void)put(f.store, 1, 1, "a", "4");
    EVENTUALLY(store_floor(f.store) == 3);
    release(&f);
}

TEST(history_is_there_again_after_a_restart)
{
    struct fixture f;
    const char *events;

    REQUIRE(init(&f));
    for (int i = 0; i < 50; i++)
        (void)put(f.store, 1, 1, i % 3 ? "a" : "b", i % 2 ? "x" : "y");
    store_compact(f.store, 20);
    (void)put(f.store, 1, 1, "a", "z");
    events = text_events(f.store, f.arena, 1, 1, 20);
    REQUIRE(restart(&f));
    CHECK(store_floor(f.store) == 20);
    CHECK_STR(text_events(f.store, f.arena, 1, 1, 20), events);
    CHECK_STR(text_events(f.store, f.arena, 1, 1, 19), "Expired");
    release(&f);
}

TEST(what_is_below_the_floor_leaves_memory)
{
    struct fixture f;
    uint64_t hash = 5;
    struct store_op op = op_put(1, 1, STR("h"), STR("x"));

    REQUIRE(init(&f));
    op.hashes = &hash;
    op.nhashes = 1;
    (void)commit(f.store, &op, 1);
    op.nhashes = 0;
    (void)commit(f.store, &op, 1);
    for (int i = 0; i < 20; i++)
        (void)put(f.store, 1, 1, "a", "x");
    (void)del(f.store, 1, 1, "a");
    CHECK(stats_of(&f).versions == 23);
    store_compact(f.store, store_head(f.store));
    EVENTUALLY(stats_of(&f).versions == 1);
    CHECK(count(f.store, (struct store_range){ .type = 1, .instance = 1, .hash = 5 }) == 0);
    release(&f);
}

/* ---- space ---- */

TEST(space_comes_back)
{
    struct fixture f;
    char name[16], value[200];
    uint64_t most = 0, first;

    REQUIRE(init(&f));
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    CHECK(drop(f.store, 77) != 0); /* must be remembered for ever */
    first = put(f.store, 2, 1, "old", "as old as the log");
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i % 50);
        CHECK(put(f.store, 1, 1, name, value) != 0);
        if (i % 100 == 99)
            store_compact(f.store, store_head(f.store) - 20);
        if (stats_of(&f).bytes_disk > most)
            most = stats_of(&f).bytes_disk;
    }
    CHECK(most < 200 << 10); /* a megabyte was written, of which 16 KiB are alive */
    for (int again = 0; again < 2; again++) {
        struct store_op op = op_put(1, 77, STR("x"), STR("y"));
        struct store_txn txn = { .ops = &op, .nops = 1 };

        CHECK(count(f.store, (struct store_range){ .type = 1, .instance = 1 }) == 50);
        CHECK_STR(get(f.store, f.arena, 2, 1, "old", 0), "as old as the log");
        CHECK_STR(ALL(&f, 2), arena_printf(f.arena, "2/1/old@%llu+%llu=as old as the log\n",
                                           (unsigned long long)first, (unsigned long long)first));
        CHECK(store_commit_wait(f.store, &txn) < 0 && txn.error == EOWNERDEAD);
        CHECK(simdisk_file_bytes(f.disk, "seg-00000001.log") == 0);
        REQUIRE(restart(&f));
    }
    release(&f);
}

TEST(an_empty_store_keeps_its_revision)
{
    struct fixture f;
    char value[2000];

    REQUIRE(init(&f));
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 60; i++) {
        (void)put(f.store, 1, 1, "a", value);
        (void)del(f.store, 1, 1, "a");
        store_compact(f.store, store_head(f.store));
    }
    EVENTUALLY(stats_of(&f).bytes_disk < 40 << 10);
    REQUIRE(restart(&f));
    CHECK(store_head(f.store) == 120);
    CHECK_STR(ALL(&f, 1), "");
    CHECK(put(f.store, 1, 1, "a", "x") == 121);
    release(&f);
}

TEST(dropped_instances_leave_memory_and_disk)
{
    struct fixture f;
    char name[16];

    REQUIRE(init(&f));
    for (uint32_t i = 1; i <= 300; i++)
        for (int k = 0; k < 4; k++) {
            (void)snprintf(name, sizeof(name), "n%d", k);
            (void)put(f.store, (uint32_t)k, i, name, "some value of some length");
        }
    for (uint32_t i = 1; i <= 300; i++)
        CHECK(drop(f.store, i) != 0);
    CHECK(stats_of(&f).rows == 0 && stats_of(&f).versions == 1200);
    CHECK(count(f.store, (struct store_range){ .type = 1,
                                               .instance = STORE_ALL,
                                               .rev = store_head(f.store) - 100 }) == 100);
    store_compact(f.store, store_head(f.store));
    EVENTUALLY(stats_of(&f).versions == 0 && stats_of(&f).bytes_live == 0);
    for (int i = 0; i < 300; i++)
        (void)put(f.store, 1, 1000, "a", "b");
    EVENTUALLY(stats_of(&f).bytes_disk < 150 << 10);
    REQUIRE(restart(&f));
    CHECK(drop(f.store, 17) == 0);
    release(&f);
}

TEST(the_past_does_not_outweigh_the_present)
{
    struct fixture f;
    struct store_op ops[STORE_TXN_OPS_MAX];
    char names[STORE_TXN_OPS_MAX][8];

    REQUIRE(init(&f));
    for (uint32_t i = 1; i <= 600; i++) {
        for (int k = 0; k < STORE_TXN_OPS_MAX; k++) {
            (void)snprintf(names[k], sizeof(names[k]), "n%d", k);
            ops[k] = op_put((uint32_t)k % 5, i, str_of(names[k]), STR("x"));
        }
        CHECK(commit(f.store, ops, STORE_TXN_OPS_MAX) == i);
    }
    clock_advance(&f.clock, 5000);
    CHECK(put(f.store, 1, 600, "n1", "x") == 601);
    CHECK(store_floor(f.store) == 0); /* as many changes as rows */
    for (uint32_t i = 1; i <= 590; i++)
        CHECK(drop(f.store, i) != 0);
    CHECK(store_floor(f.store) == 0 && stats_of(&f).versions == 600 * 64 + 1);
    clock_advance(&f.clock, 1000);
    CHECK(put(f.store, 1, 600, "n1", "x") == 1192);
    CHECK(store_floor(f.store) == 0);
    clock_advance(&f.clock, 1500);
    CHECK(put(f.store, 1, 600, "n1", "x") == 1193);
    EVENTUALLY(store_floor(f.store) > 600 && store_floor(f.store) < 1192);
    clock_advance(&f.clock, 1000);
    CHECK(put(f.store, 1, 600, "n1", "x") == 1194);
    EVENTUALLY(stats_of(&f).versions < 2000 + 1000);
    CHECK(count(f.store, (struct store_range){ .type = 1, .instance = STORE_ALL }) == 130);
    release(&f);
}

static uint64_t many(struct fixture *f, uint32_t from, uint32_t to, bool deleted)
{
    struct store_op ops[STORE_TXN_OPS_MAX];
    char names[STORE_TXN_OPS_MAX][8];
    uint64_t rev = 0;

    for (size_t n = 0; from < to; from += (uint32_t)n) {
        for (n = 0; n < STORE_TXN_OPS_MAX && from + n < to; n++) {
            (void)snprintf(names[n], sizeof(names[n]), "%u", from + (unsigned)n);
            ops[n] = op_put(1, 1, str_of(names[n]), STR("x"));
            if (deleted)
                ops[n].kind = STORE_DELETE;
        }
        rev = commit(f->store, ops, n);
    }
    return rev;
}

TEST(what_is_deleted_leaves_memory_soon)
{
    struct fixture f;
    uint64_t made, gone;

    REQUIRE(init(&f));
    made = many(&f, 0, 6400, false);
    clock_advance(&f.clock, 5000);
    gone = many(&f, 0, 6400, true);
    CHECK(made == 100 && gone == 200);
    CHECK(store_floor(f.store) == 0 && stats_of(&f).versions == 12800);
    clock_advance(&f.clock, 1000);
    (void)put(f.store, 2, 1, "a", "x");
    CHECK(store_floor(f.store) == 0); /* too young */
    clock_advance(&f.clock, 2500);
    (void)put(f.store, 2, 1, "a", "x");
    /* The last 2,000 deletions are kept, with what was deleted. */
    EVENTUALLY(stats_of(&f).versions <= 4000 + 5 && store_floor(f.store) == 169);
    clock_advance(&f.clock, 60000);
    (void)put(f.store, 2, 1, "a", "x");
    EVENTUALLY(stats_of(&f).versions <= 4000 + 5);
    CHECK(store_floor(f.store) == 169);
    REQUIRE(restart(&f));
    /* Rows that are made again are not dead any more. */
    (void)many(&f, 0, 6400, false);
    clock_advance(&f.clock, 5000);
    (void)put(f.store, 2, 1, "a", "x");
    CHECK(store_floor(f.store) <= 169);
    (void)many(&f, 0, 6400, true);
    clock_advance(&f.clock, 1000);
    (void)put(f.store, 2, 1, "a", "x");
    clock_advance(&f.clock, 2500);
    (void)put(f.store, 2, 1, "a", "x");
    EVENTUALLY(stats_of(&f).versions <= 4000 + 10);
    CHECK(store_floor(f.store) < store_head(f.store) - 30);
    release(&f);
}
