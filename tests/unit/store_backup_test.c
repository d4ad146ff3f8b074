/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/engine.h"
#include "store_help.h"
#include "store_model.h"
#include "tap.h"

struct stream {
    struct buf bytes;
    size_t at, fail_at; /* writing fails beyond */
};

static int stream_write(void *arg, const void *p, size_t n)
{
    struct stream *s = arg;

    if (s->fail_at && s->bytes.n + n > s->fail_at)
        return -1;
    buf_append(&s->bytes, p, n);
    return 0;
}

static ptrdiff_t stream_read(void *arg, void *p, size_t n)
{
    struct stream *s = arg;
    size_t left = s->bytes.n - s->at;

    if (n > left)
        n = left;
    if (n > 1000)
        n = 1000; /* in pieces, as from a pipe */
    memcpy(p, s->bytes.p + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

static void fill(struct store *s)
{
    uint64_t hashes[] = { 3, 4 };
    struct store_op op = op_put(2, 9, STR("hashed"), STR("h"));
    char name[16], *large = mem_zalloc((3 << 20) + 1);

    memset(large, 'l', 3 << 20);
    op.hashes = hashes;
    op.nhashes = 2;
    (void)commit(s, &op, 1);
    for (uint32_t i = 0; i < 500; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        (void)put(s, 1 + i % 3, i % 5, name, "value");
    }
    (void)put(s, 1, 1, "large", large);
    (void)del(s, 1, 0, "n0");
    (void)put(s, 1, 3, "n3", "changed");
    CHECK(drop(s, 4) != 0);
    free(large);
}

static struct store *open_dir(struct arena *a, const char *dir)
{
    struct engine_options opt = { .dir = str_of(dir) };
    struct status st;
    struct store *s;

    status_init(&st, a);
    s = engine_open(&opt, &st);
    if (!s)
        printf("# %.*s\n", STR_ARG(st.message));
    return s;
}

static void check_same(struct store *from, struct store *to, struct arena *a)
{
    struct store_op op = op_put(1, 4, STR("a"), STR("b"));
    struct store_txn txn = { .ops = &op, .nops = 1 };

    CHECK(store_head(from) == store_head(to) && store_floor(to) == store_head(from));
    for (uint32_t type = 1; type <= 3; type++) {
        struct store_range r = { .type = type, .instance = STORE_ALL };

        CHECK_STR(text_range(to, a, r), text_range(from, a, r));
        CHECK(count(to, r) == count(from, r));
        r.hash = 4;
        CHECK_STR(text_range(to, a, r), text_range(from, a, r));
    }
    CHECK(store_commit_wait(to, &txn) < 0 && txn.error == EOWNERDEAD);
    CHECK(put(to, 1, 1, "new", "x") == store_head(from) + 1);
}

static void round_trip(struct store *from, const char *dir)
{
    struct arena *a = arena_new();
    struct stream s = { .at = 0 };
    struct store *to;
    struct status st;
    uint64_t rev;
    char target[64];

    (void)snprintf(target, sizeof(target), "%s/restored", dir);
    status_init(&st, a);
    buf_init(&s.bytes, 64 << 20);
    fill(from);
    CHECK(store_backup(from, stream_write, &s, &rev, &st) == 0 && rev == store_head(from));
    CHECK(store_restore(stream_read, &s, str_of(target), &st) == 0);
    to = open_dir(a, target);
    if (CHECK(to != NULL)) {
        check_same(from, to, a);
        store_close(to);
        to = open_dir(a, target); /* what was written after the restore, too */
        CHECK_STR(get(to, a, 1, 1, "new", 0), "x");
        store_close(to);
    }
    s.at = 0;
    CHECK(store_restore(stream_read, &s, str_of(target), &st) < 0);
    CHECK(str_contains(st.message, STR("is not empty")));
    buf_release(&s.bytes);
    arena_free(a);
}

static void with_dir(void (*fn)(const char *dir))
{
    char dir[] = "/tmp/store_backup_test.XXXXXX", cmd[64];

    REQUIRE(mkdtemp(dir));
    fn(dir);
    (void)snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
    CHECK(system(cmd) == 0);
}

static void model_to_engine(const char *dir)
{
    struct store *from = model_open();

    round_trip(from, dir);
    store_close(from);
}

TEST(a_backup_of_the_model_becomes_an_engine)
{
    with_dir(model_to_engine);
}

static void engine_to_engine(const char *dir)
{
    struct arena *a = arena_new();
    char source[64];
    struct store *from;

    (void)snprintf(source, sizeof(source), "%s/source", dir);
    from = open_dir(a, source);
    if (CHECK(from != NULL)) {
        round_trip(from, dir);
        store_close(from);
    }
    arena_free(a);
}

TEST(a_backup_of_the_engine_becomes_an_engine)
{
    with_dir(engine_to_engine);
}

/* Whatever is wrong with it, a backup is refused and leaves no data dir behind. */
static void spoil(const char *dir)
{
    struct arena *a = arena_new();
    struct store *from = model_open();
    struct stream s = { .at = 0 }, cut;
    struct status st;
    uint64_t rev;
    char target[64];

    (void)snprintf(target, sizeof(target), "%s/restored", dir);
    status_init(&st, a);
    buf_init(&s.bytes, 64 << 20);
    for (int i = 0; i < 20; i++)
        (void)put(from, 1, 1, i % 2 ? "a" : "b", "value");
    CHECK(store_backup(from, stream_write, &s, &rev, &st) == 0);
    for (size_t n = 0; n < s.bytes.n; n += 8) {
        cut = s;
        cut.bytes.n = n;
        CHECK(store_restore(stream_read, &cut, str_of(target), &st) < 0);
        CHECK(access(target, F_OK) < 0);
    }
    for (size_t n = 0; n < s.bytes.n; n += 3) {
        s.bytes.p[n] ^= 0x20;
        s.at = 0;
        CHECK(store_restore(stream_read, &s, str_of(target), &st) < 0);
        CHECK(access(target, F_OK) < 0);
        s.bytes.p[n] ^= 0x20;
    }
    s.at = 0;
    CHECK(store_restore(stream_read, &s, str_of(target), &st) == 0);
    s.fail_at = s.bytes.n + 100;
    CHECK(store_backup(from, stream_write, &s, &rev, &st) < 0);
    buf_release(&s.bytes);
    store_close(from);
    arena_free(a);
}

TEST(a_spoilt_backup_is_refused)
{
    with_dir(spoil);
}
