/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/rand.h"
#include "simdisk.h"
#include "tap.h"

TEST(checksums_by_instruction_and_by_tables_agree)
{
    uint8_t bytes[3000];
    struct rand_seq r = { 7 };

    CHECK(crc32c(0, "123456789", 9) == 0xe3069283); /* RFC 3720, B.4 has more */
    CHECK(crc32c_tables(0, "123456789", 9) == 0xe3069283);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rand_seq_u64(&r);
    for (size_t n = 0; n < sizeof(bytes); n += n < 40 ? 1 : 37) {
        uint32_t whole = crc32c(0, bytes, n);

        CHECK(whole == crc32c_tables(0, bytes, n));
        CHECK(whole == crc32c(crc32c(0, bytes, n / 3), bytes + n / 3, n - n / 3));
    }
}

static void count_names(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
}

/* What both kinds of disk have to do. */
static void check_layer(struct file_layer *l, const char *dir)
{
    char path[256], other[256], back[16] = "";
    struct file *f, *g;
    const char *map;
    int names = 0;

    (void)snprintf(path, sizeof(path), "%s/a", dir);
    (void)snprintf(other, sizeof(other), "%s/b", dir);
    CHECK(!file_open(l, path, FILE_READ) && errno == ENOENT);
    f = file_open(l, path, FILE_WRITE | FILE_CREATE);
    REQUIRE(f);
    CHECK(file_write(f, "hello", 5, 0) == 0);
    CHECK(file_write(f, "world", 5, 8) == 0);
    CHECK(file_size(f) == 13);
    CHECK(file_read(f, back, sizeof(back), 0) == 13);
    CHECK(memcmp(back, "hello\0\0\0world", 13) == 0);
    CHECK(file_sync(f) == 0);
    map = file_map(f, 65536);
    REQUIRE(map);
    CHECK(memcmp(map, "hello", 5) == 0);
    CHECK(file_write(f, "grown", 5, 13) == 0);
    CHECK(memcmp(map + 13, "grown", 5) == 0);
    file_forget(l, map, 65536);
    CHECK(memcmp(map + 8, "worldgrown", 10) == 0);
    CHECK(file_truncate(f, 4) == 0 && file_size(f) == 4);

    file_close(f);
    CHECK(memcmp(map, "hell", 4) == 0);
    file_unmap(l, map, 65536);
    f = file_open(l, path, FILE_WRITE);
    REQUIRE(f);
    CHECK(file_lock(f) == 0);
    g = file_open(l, path, FILE_WRITE);
    REQUIRE(g);
    CHECK(file_lock(g) < 0 && errno == EWOULDBLOCK);
    file_close(f);
    CHECK(file_lock(g) == 0);
    file_close(g);

    CHECK(file_rename(l, path, other) == 0);
    CHECK(file_list(l, dir, count_names, &names) == 0 && names == 1);
    CHECK(file_unlink(l, path) < 0 && errno == ENOENT);
    CHECK(file_unlink(l, other) == 0);
    CHECK(file_sync_dir(l, dir) == 0);
}

TEST(the_real_disk)
{
    char dir[] = "/tmp/base_file_test.XXXXXX";

    REQUIRE(mkdtemp(dir));
    CHECK(file_mkdir(file_real(), dir) == 0);
    check_layer(file_real(), dir);
    CHECK(rmdir(dir) == 0);
}

TEST(the_simulated_disk)
{
    struct simdisk *d = simdisk_new(1);

    check_layer(simdisk_layer(d), "/d");
    simdisk_free(d);
}

TEST(a_power_cut_loses_only_what_was_not_synced)
{
    int lost = 0, kept = 0, torn = 0, gone = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct simdisk *d = simdisk_new(seed);
        struct file_layer *l = simdisk_layer(d);
        struct file *f = file_open(l, "/d/a", FILE_WRITE | FILE_CREATE), *g;
        char old[4096], fresh[4096], back[4096];
        int news = 0;

        memset(old, 'o', sizeof(old));
        memset(fresh, 'f', sizeof(fresh));
        CHECK(file_write(f, old, sizeof(old), 0) == 0 && file_sync(f) == 0);
        CHECK(file_sync_dir(l, "/d") == 0);
        CHECK(file_write(f, fresh, sizeof(fresh), 0) == 0);
        g = file_open(l, "/d/b", FILE_WRITE | FILE_CREATE);
        file_close(f);
        file_close(g);
        simdisk_restart(d);
        f = file_open(l, "/d/a", FILE_READ);
        REQUIRE(f);
        CHECK(file_read(f, back, sizeof(back), 0) == sizeof(back));
        for (size_t i = 0; i < sizeof(back); i += 512) {
            CHECK(memcmp(back + i, back[i] == 'f' ? fresh : old, 512) == 0);
            news += back[i] == 'f';
        }
        lost += news == 0;
        kept += news == 8;
        torn += news > 0 && news < 8;
        file_close(f);
        g = file_open(l, "/d/b", FILE_READ);
        gone += g == NULL;
        file_close(g);
        simdisk_free(d);
    }
    CHECK(lost > 5 && kept > 5 && torn > 5);
    CHECK(gone > 5 && gone < 95);
}

TEST(faults_come_when_they_are_told_to)
{
    struct simdisk *d = simdisk_new(1);
    struct file_layer *l = simdisk_layer(d);
    struct file *f = file_open(l, "/d/a", FILE_WRITE | FILE_CREATE);

    simdisk_fail(d, SIMDISK_WRITE, 2, 1, ENOSPC);
    CHECK(file_write(f, "a", 1, 0) == 0);
    CHECK(file_write(f, "a", 1, 0) < 0 && errno == ENOSPC);
    CHECK(file_write(f, "a", 1, 0) == 0);
    simdisk_fail(d, SIMDISK_SYNC, 1, 2, EIO);
    CHECK(file_sync(f) < 0 && errno == EIO);
    CHECK(file_sync(f) < 0);
    CHECK(file_sync(f) == 0);
    simdisk_capacity(d, 10);
    CHECK(file_write(f, "0123456789", 10, 0) == 0);
    CHECK(file_write(f, "a", 1, 10) < 0 && errno == ENOSPC);
    simdisk_cut_after(d, 2);
    CHECK(file_write(f, "b", 1, 0) == 0);
    CHECK(file_write(f, "b", 1, 0) < 0 && simdisk_is_cut(d));
    CHECK(file_sync(f) < 0 && errno == EIO);
    file_close(f);
    simdisk_restart(d);
    f = file_open(l, "/d/a", FILE_WRITE | FILE_CREATE);
    CHECK(f != NULL);
    file_close(f);
    simdisk_free(d);
}
