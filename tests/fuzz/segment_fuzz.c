/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Recovery from a segment of any bytes: it opens or says why not, and what opens can be read and
 * written.  Checksums are put right first, or nothing behind them would ever be reached; the last
 * byte of the input says whether.
 */

#include <string.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "simdisk.h"
#include "store/engine.h"
#include "store/format.h"
#include "store_help.h"

enum { BYTES_MAX = 64 << 10 };

static void put_right(char *p, size_t n)
{
    struct segment_header h;
    uint32_t seed;
    size_t at = sizeof(h);

    if (n < at)
        return;
    memcpy(&h, p, sizeof(h));
    h.number = 1;
    segment_header_seal(&h, SEGMENT_MAGIC);
    memcpy(p, &h, sizeof(h));
    seed = frame_seed(h.id, 1);
    while (at + sizeof(struct frame_header) <= n) {
        struct frame_header f;

        memcpy(&f, p + at, sizeof(f));
        if (f.bytes < sizeof(f) || f.bytes > n - at)
            break;
        (void)frame_seal(p + at, seed, f.batch, f.floor, f.oldest > 0);
        at += format_align(f.bytes);
    }
}

static void use(struct store *s, struct arena *a)
{
    for (uint32_t type = 0; type < 3; type++) {
        struct store_range r = { .type = type, .instance = STORE_ALL };

        (void)text_range(s, a, r);
        (void)count(s, r);
        r.hash = 5;
        (void)text_range(s, a, r);
    }
    (void)text_events(s, a, UINT32_MAX, STORE_ALL, store_floor(s));
    (void)put(s, 1, 1, "a", "b");
    store_compact(s, store_head(s));
    (void)del(s, 1, 1, "a");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char bytes[BYTES_MAX];
    struct simdisk *d = simdisk_new(1);
    struct engine_options opt = { .dir = STR("data"), .files = simdisk_layer(d) };
    struct file *f = file_open(opt.files, "data/seg-00000001.log", FILE_WRITE | FILE_CREATE);
    struct arena *a = arena_new();
    struct status st;
    struct store *s;

    opt.segment_bytes = BYTES_MAX;
    opt.step_bytes = 4096;
    if (size > 0 && size <= BYTES_MAX) {
        memcpy(bytes, data, size);
        if (data[size - 1] % 4)
            put_right(bytes, size - 1);
        (void)file_write(f, bytes, size - 1, 0);
    }
    file_close(f);
    status_init(&st, a);
    s = engine_open(&opt, &st);
    if (s)
        use(s, a);
    store_close(s);
    arena_free(a);
    simdisk_free(d);
    return 0;
}
