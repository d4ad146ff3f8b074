/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/metric.h"
#include "store/format.h"

METRIC_HISTOGRAM_OF(durations, "kairship_store_sync_duration_seconds",
                    "How long the disk takes to sync the log.", 1000000, 100, 500, 1000, 2500, 5000,
                    10000, 25000, 50000, 100000, 250000, 1000000, 5000000)

void segment_unref(void *segment)
{
    struct segment *s = segment;

    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    file_unmap(s->files, s->map, s->map_bytes);
    free(s);
}

struct log *log_new(struct file_layer *files, const char *dir, size_t segment_bytes,
                    size_t step_bytes)
{
    struct log *l = mem_zalloc(sizeof(*l));

    l->files = files;
    l->dir = mem_strdup(dir);
    l->segment_bytes = segment_bytes;
    l->step_bytes = step_bytes;
    return l;
}

void log_free(struct log *l)
{
    if (!l)
        return;
    for (struct segment *s = l->oldest, *newer; s; s = newer) {
        newer = s->newer;
        segment_unref(s);
    }
    file_close(l->file);
    free(l->dir);
    free(l);
}

char *log_path(const struct log *l, uint32_t number)
{
    size_t n = strlen(l->dir) + sizeof("/seg-4294967295.log");
    char *path = mem_alloc(n);

    (void)snprintf(path, n, "%s/seg-%08u.log", l->dir, number);
    return path;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct segment *log_adopt(struct log *l, struct file *f, uint32_t number, size_t bytes, size_t room)
{
    size_t map_bytes = max_size(max_size(bytes, room), l->segment_bytes);
    const char *map = file_map(f, map_bytes);
    struct segment *s;

    if (!map)
        return NULL;
    s = mem_zalloc(sizeof(*s));
    atomic_init(&s->refs, 1);
    s->files = l->files;
    s->log = l;
    s->number = number;
    s->slot = number % LOG_SLOTS;
    s->seed = frame_seed(l->id, number);
    s->map = map;
    s->map_bytes = map_bytes;
    s->allocated = bytes;
    if (l->newest)
        l->newest->newer = s;
    else
        l->oldest = s;
    l->newest = s;
    file_close(l->file);
    l->file = f;
    atomic_fetch_add(&l->bytes, bytes);
    atomic_store_explicit(&l->slots[s->slot], s, memory_order_release);
    return s;
}

static void resize(struct log *l, struct segment *s, size_t bytes)
{
    atomic_fetch_add(&l->bytes, bytes - s->allocated);
    s->allocated = bytes;
}

/* Zeros from `from` up to `to`: a hole would have to be filled, and paid for, by a later sync. */
static int write_zeros(struct file *f, size_t from, size_t to)
{
    static const char zeros[64 << 10];

    while (from < to) {
        size_t n = to - from < sizeof(zeros) ? to - from : sizeof(zeros);

        if (file_write(f, zeros, n, from) < 0)
            return errno;
        from += n;
    }
    return 0;
}

static int sync_file(struct log *l, struct file *f)
{
    int64_t began_ns = clock_ns();
    int err = file_sync(f) < 0 ? errno : 0;

    atomic_fetch_add(&l->syncs, 1);
    metric_observe(&durations, (clock_ns() - began_ns) / 1000);
    return err;
}

/* A file with a durable header and one step of zeros under a durable name, or NULL and *err. */
static struct file *segment_file(struct log *l, const char *path, const struct segment_header *h,
                                 size_t bytes, int *err)
{
    struct file *f;

    /* Left over from an attempt that failed, and without a frame. */
    if (file_unlink(l->files, path) < 0 && errno != ENOENT) {
        *err = errno;
        return NULL;
    }
    f = file_open(l->files, path, FILE_WRITE | FILE_CREATE);
    if (!f) {
        *err = errno;
        return NULL;
    }
    *err = write_zeros(f, sizeof(*h), bytes);
    if (!*err && file_write(f, h, sizeof(*h), 0) < 0)
        *err = errno;
    if (!*err)
        *err = sync_file(l, f);
    if (!*err && file_sync_dir(l->files, l->dir) < 0)
        *err = errno;
    if (!*err)
        return f;
    file_close(f);
    (void)file_unlink(l->files, path);
    return NULL;
}

int log_roll(struct log *l, size_t room, uint64_t head, uint64_t floor)
{
    struct segment *old = l->newest;
    struct segment_header h = {
        .number = old ? old->number + 1 : 1,
        .prev_end = old ? old->end : 0,
        .rev = head,
        .floor = floor,
    };
    size_t bytes = min_size(l->step_bytes, l->segment_bytes);
    struct file *f, *old_file = l->file;
    char *path = log_path(l, (uint32_t)h.number);
    int err;

    /* From the first byte of the new file on it may say, after a crash, that the old one ends. */
    l->in_doubt = old != NULL;
    memcpy(h.id, l->id, sizeof(h.id));
    segment_header_seal(&h, SEGMENT_MAGIC);
    f = segment_file(l, path, &h, bytes, &err);
    free(path);
    if (!f)
        return err;
    l->file = NULL; /* stays open a little longer */
    if (!log_adopt(l, f, (uint32_t)h.number, bytes, sizeof(h) + room)) {
        err = errno;
        l->file = old_file;
        file_close(f);
        return err;
    }
    l->newest->end = sizeof(h);
    l->newest->max_rev = head;
    l->in_doubt = false;
    if (old && file_truncate(old_file, old->end) == 0) /* only to save space */
        resize(l, old, old->end);
    file_close(old_file);
    return 0;
}

int log_reserve(struct log *l, size_t n, uint64_t head, uint64_t floor)
{
    struct segment *s = l->newest;
    size_t target;
    int err;

    if (l->in_doubt || s->end + n > s->map_bytes) {
        err = log_roll(l, n, head, floor);
        if (err)
            return err;
        s = l->newest;
    }
    if (s->end + n <= s->allocated)
        return 0;
    target = (s->end + n + l->step_bytes - 1) / l->step_bytes * l->step_bytes;
    target = min_size(target, s->map_bytes);
    /* Where this fails nothing is in doubt: zeros are no frames. */
    err = write_zeros(l->file, s->allocated, target);
    if (err)
        return err;
    resize(l, s, target);
    return 0;
}

int log_append(struct log *l, const char *p, size_t n)
{
    struct segment *s = l->newest;
    int err = 0;

    if (file_write(l->file, p, n, s->end) < 0)
        err = errno;
    if (!err)
        err = sync_file(l, l->file);
    if (!err) {
        s->end += n;
        return 0;
    }
    l->in_doubt = true;
    /* Where a process that starts on what the system still has in memory would find them. */
    if (file_truncate(l->file, s->end) == 0)
        resize(l, s, s->end);
    return err;
}

static void segment_retire(void *arg)
{
    struct segment *s = arg;

    atomic_store(&s->log->slots[s->slot], NULL);
    segment_unref(s);
}

int log_drop_oldest(struct log *l)
{
    struct segment *s = l->oldest;
    char *path = log_path(l, s->number);
    int err = 0;

    /* Names go in order: were a later one gone first, its deletions would be forgotten. */
    if ((file_unlink(l->files, path) < 0 && errno != ENOENT) || file_sync_dir(l->files, l->dir) < 0)
        err = errno;
    free(path);
    if (err)
        return err;
    atomic_fetch_sub(&l->bytes, s->allocated);
    l->oldest = s->newer;
    epoch_retire(segment_retire, s);
    return 0;
}
