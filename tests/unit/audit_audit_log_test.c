/* SPDX-License-Identifier: Apache-2.0 */

/* The audit as a file: put aside in time, whole lines only, and what happens when a disk is full.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "apiserver/audit/audit_log.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "simdisk.h"
#include "tap.h"

enum { DAY_MS = 86400 * 1000 };

struct bench {
    struct clock clock;
    struct simdisk *disk;
    struct audit_file_options o;
    struct arena *arena;
    struct status st;
    const char *names[64];
    size_t nnames;
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){ .disk = simdisk_new(1), .arena = arena_new() };
    log_open(2, LOG_ERROR + 1, LOG_JSON);    /* that disks fail is what is tested */
    clock_jump(&b->clock, 1577934245000000); /* 2020-01-02T03:04:05Z */
    b->o = (struct audit_file_options){ .path = "/d/audit.log",
                                        .max_bytes = 100,
                                        .layer = simdisk_layer(b->disk),
                                        .clock = &b->clock };
    status_init(&b->st, b->arena);
}

static void bench_release(struct bench *b)
{
    simdisk_free(b->disk);
    arena_free(b->arena);
}

static int write_lines(struct bench *b, struct audit_file *f, int from, int to, size_t *done)
{
    str lines[100];
    int n = 0;

    for (int i = from; i < to; i++)
        lines[n++] = str_printf(b->arena, "{\"line\":%03d,\"some\":\"text\"}", i);
    return audit_file_write(f, lines, (size_t)n, done, &b->st);
}

static void remember(void *arg, const char *name)
{
    struct bench *b = arg;

    b->names[b->nnames++] = arena_printf(b->arena, "%s", name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in order; backups sort before the file itself. */
static void list(struct bench *b)
{
    b->nnames = 0;
    CHECK(file_list(b->o.layer, "/d", remember, b) == 0);
    qsort(b->names, b->nnames, sizeof(*b->names), by_text);
}

/* All files one behind the other. */
static str text(struct bench *b)
{
    scoped_buf all = { .max = 1 << 20 };

    list(b);
    for (size_t i = 0; i < b->nnames; i++) {
        const char *path = arena_printf(b->arena, "/d/%s", b->names[i]);
        struct file *f = file_open(b->o.layer, path, FILE_READ);
        size_t n = (size_t)file_size(f);
        char *to = buf_reserve(&all, n + 1);

        CHECK(file_read(f, to, n, 0) == (ssize_t)n);
        all.n += n;
        file_close(f);
    }
    return str_dup(b->arena, buf_str(&all));
}

static str lines_text(struct bench *b, int from, int to)
{
    scoped_buf all = { .max = 1 << 20 };

    for (int i = from; i < to; i++)
        buf_printf(&all, "{\"line\":%03d,\"some\":\"text\"}\n", i);
    return str_dup(b->arena, buf_str(&all));
}

TEST(large_files_are_put_aside_and_no_line_is_lost)
{
    struct bench b;
    struct audit_file *f;
    size_t done;

    bench_init(&b);
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    CHECK(write_lines(&b, f, 0, 10, &done) == 0 && done == 10); /* 27 bytes each: 3 a file */
    audit_file_free(f);
    list(&b);
    CHECK(b.nnames == 4);
    CHECK_STR(b.names[0], "audit-2020-01-02T03-04-05.000.log");
    CHECK_STR(b.names[1], "audit-2020-01-02T03-04-05.001.log"); /* in the same instant */
    CHECK_STR(b.names[3], "audit.log");
    CHECK(str_eq(text(&b), lines_text(&b, 0, 10)));
    for (size_t i = 0; i < b.nnames; i++)
        CHECK(simdisk_file_bytes(b.disk, b.names[i]) <= 100);

    /* A line that is longer than a file has one of its own. */
    b.o.max_bytes = 10;
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    CHECK(write_lines(&b, f, 10, 12, &done) == 0 && done == 2);
    audit_file_free(f);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 12)));
    bench_release(&b);
}

TEST(old_files_go_by_number_and_age)
{
    struct bench b;
    struct audit_file *f;
    size_t done;

    bench_init(&b);
    b.o.max_backups = 2;
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    CHECK(write_lines(&b, f, 0, 15, &done) == 0);
    list(&b);
    CHECK(b.nnames == 3);
    CHECK(str_eq(text(&b), lines_text(&b, 6, 15)));
    audit_file_free(f);

    /* A day too old, and others that are not ours. */
    file_close(file_open(b.o.layer, "/d/audit-notes.log", FILE_WRITE | FILE_CREATE));
    file_close(
        file_open(b.o.layer, "/d/other-2000-01-02T03-04-05.000.log", FILE_WRITE | FILE_CREATE));
    b.o.max_age_s = 30 * 86400;
    b.o.max_backups = 0;
    clock_advance(&b.clock, 29LL * DAY_MS);
    audit_file_free(audit_file_new(&b.o, &b.st));
    list(&b);
    CHECK(b.nnames == 5);
    clock_advance(&b.clock, 2LL * DAY_MS);
    audit_file_free(audit_file_new(&b.o, &b.st));
    list(&b);
    CHECK(b.nnames == 3);
    CHECK_STR(b.names[0], "audit-notes.log");
    CHECK_STR(b.names[1], "audit.log");
    CHECK_STR(b.names[2], "other-2000-01-02T03-04-05.000.log");
    bench_release(&b);
}

TEST(a_full_disk_leaves_whole_lines_and_nothing_is_written_twice)
{
    struct bench b;
    struct audit_file *f;
    size_t done, more;

    bench_init(&b);
    b.o.max_bytes = 0;
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    CHECK(write_lines(&b, f, 0, 2, &done) == 0);
    simdisk_capacity(b.disk, 27 * 3);
    CHECK(write_lines(&b, f, 2, 10, &done) < 0 && done == 0);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 2)));
    CHECK(write_lines(&b, f, 2, 3, &done) == 0 && done == 1);
    simdisk_capacity(b.disk, 1 << 20);
    CHECK(write_lines(&b, f, 3, 10, &more) == 0);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 10)));

    /* It fails in the middle: what was written counts. */
    b.o.max_bytes = 100;
    audit_file_free(f);
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    simdisk_fail(b.disk, SIMDISK_WRITE, 2, 1, EIO);
    CHECK(write_lines(&b, f, 10, 20, &done) < 0 && done == 3);
    CHECK(write_lines(&b, f, 10 + (int)done, 20, &more) == 0);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 20)));
    audit_file_free(f);
    bench_release(&b);
}

TEST(what_a_killed_process_left_of_a_line_is_cut_off)
{
    static const char torn[] = "{\"line\":000,\"some\":\"text\"}\n{\"line\":1,\"so";
    struct bench b;
    struct audit_file *f;
    struct file *raw;
    size_t done;

    bench_init(&b);
    raw = file_open(b.o.layer, "/d/audit.log", FILE_WRITE | FILE_CREATE);
    CHECK(file_write(raw, torn, sizeof(torn) - 1, 0) == 0);
    file_close(raw);
    f = audit_file_new(&b.o, &b.st);
    REQUIRE(f);
    CHECK(write_lines(&b, f, 1, 3, &done) == 0);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 3)));
    audit_file_free(f);
    CHECK(simdisk_remove(b.disk, "audit.log"));

    /* Nothing but a piece. */
    raw = file_open(b.o.layer, "/d/audit.log", FILE_WRITE | FILE_CREATE);
    CHECK(file_write(raw, torn, 20, 0) == 0);
    file_close(raw);
    audit_file_free(audit_file_new(&b.o, &b.st));
    CHECK(simdisk_file_bytes(b.disk, "audit.log") == 0);
    bench_release(&b);
}

/* ---- the thread ---- */

static struct bytes *event(const char *s)
{
    struct bytes *b = bytes_new(strlen(s));

    memcpy(b->p, s, b->n);
    return b;
}

TEST(what_was_put_is_written_at_the_end_at_the_latest)
{
    struct bytes *e = event("{\"line\":000,\"some\":\"text\"}");
    struct bench b;
    struct audit_log *l;

    bench_init(&b);
    l = audit_log_new(&b.o, &b.st);
    REQUIRE(l);
    CHECK(audit_log_put(l, e));
    CHECK(audit_log_free(l) == 0);
    bytes_unref(e);
    CHECK(str_eq(text(&b), lines_text(&b, 0, 1)));
    bench_release(&b);
}

TEST(a_disk_that_takes_nothing_fills_the_buffer_and_no_more)
{
    struct bytes *e = event("{}");
    struct bench b;
    struct audit_log *l;
    size_t n = 0;

    bench_init(&b);
    simdisk_capacity(b.disk, 0);
    l = audit_log_new(&b.o, &b.st);
    REQUIRE(l);
    while (n <= AUDIT_LOG_EVENTS && audit_log_put(l, e))
        n++;
    CHECK(n == AUDIT_LOG_EVENTS);
    CHECK(!audit_log_has_room(l));
    CHECK(audit_log_free(l) == n); /* does not wait for the disk */
    CHECK(atomic_load(&e->refs) == 1);
    bytes_unref(e);
    bench_release(&b);
}

TEST(the_buffer_is_bounded_by_bytes_too)
{
    struct bytes *large = bytes_new(1000), *taken[4];
    struct audit_queue q;
    size_t n;

    memset(large->p, ' ', large->n);
    audit_queue_init(&q, 10, 2500);
    CHECK(audit_queue_put(&q, large, &n) && n == 1);
    CHECK(audit_queue_put(&q, large, &n) && n == 2);
    CHECK(!audit_queue_put(&q, large, &n));
    CHECK(audit_queue_waiting(&q) == 2);
    CHECK(audit_queue_take(&q, taken, 4, 10) == 1); /* one at least */
    CHECK(audit_queue_take(&q, taken + 1, 4, SIZE_MAX) == 1);
    CHECK(!audit_queue_put(&q, large, &n)); /* they are not done with */
    audit_queue_done(&q, taken, 2);
    CHECK(audit_queue_put(&q, large, &n) && n == 1);
    audit_queue_release(&q);
    CHECK(atomic_load(&large->refs) == 1);
    bytes_unref(large);
}
