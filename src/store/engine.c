/* SPDX-License-Identifier: Apache-2.0 */
#include "store/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/backup.h"
#include "store/engine_internal.h"

enum {
    SEGMENT_BYTES = 64 << 20,
    STEP_BYTES = 1 << 20,
    HISTORY_MS = 300000,
    HISTORY_EVENTS = 200000,
    BATCH_MAX = 256 << 20, /* no transaction comes near */
};

static uint64_t engine_head(struct store *s)
{
    return atomic_load_explicit(&engine_of(s)->head, memory_order_acquire);
}

static uint64_t engine_floor(struct store *s)
{
    return atomic_load_explicit(&engine_of(s)->floor, memory_order_acquire);
}

static void engine_compact(struct store *s, uint64_t rev)
{
    engine_raise_floor(engine_of(s), rev);
    engine_kick(engine_of(s));
}

static void engine_stats(struct store *s, struct store_stats *out)
{
    struct engine *e = engine_of(s);

    *out = (struct store_stats){
        .head = atomic_load(&e->head),
        .floor = atomic_load(&e->floor),
        .rows = atomic_load(&e->rows),
        .versions = atomic_load(&e->versions),
        .bytes_live = atomic_load(&e->live_bytes),
        .bytes_disk = atomic_load(&e->log->bytes),
        .commits = atomic_load(&e->commits),
        .batches = atomic_load(&e->batches),
        .syncs = atomic_load(&e->log->syncs),
        .read_only = atomic_load(&e->read_only),
        .last_error = atomic_load(&e->last_error),
    };
}

/* Frees all but the thread, which has ended or never began. */
static void engine_free(struct engine *e)
{
    epoch_drain(); /* what is retired points here */
    history_release(&e->history);
    index_release(&e->index);
    idpages_release(&e->drops);
    idpages_release(&e->drop_at);
    idpages_release(&e->used_rows);
    idpages_release(&e->used_bytes);
    idmap_release(&e->counts);
    idmap_release(&e->folders);
    log_free(e->log);
    file_close(e->lock);
    buf_release(&e->batch.bytes);
    free(e->batch.ops);
    free(e->batch.fresh);
    free(e->batch.posts);
    free(e->pins);
    free(e->types);
    free(e->purge);
    (void)pthread_mutex_destroy(&e->pins_mu);
    (void)pthread_mutex_destroy(&e->wake_mu);
    (void)pthread_cond_destroy(&e->wake);
    store_release(&e->store);
    free(e);
}

static void engine_close(struct store *s)
{
    struct engine *e = engine_of(s);

    (void)pthread_mutex_lock(&e->wake_mu);
    e->stop = true;
    (void)pthread_cond_signal(&e->wake);
    (void)pthread_mutex_unlock(&e->wake_mu);
    (void)pthread_join(e->writer, NULL);
    engine_free(e);
}

static const struct store_backend backend = {
    .head = engine_head,
    .floor = engine_floor,
    .get = engine_get,
    .scan = engine_scan,
    .count = engine_count,
    .usage = engine_usage,
    .pin = engine_pin,
    .unpin = engine_unpin,
    .commit = engine_commit,
    .events = engine_events,
    .compact = engine_compact,
    .backup = engine_backup,
    .stats = engine_stats,
    .close = engine_close,
};

static struct engine *engine_new(const struct engine_options *opt, const char *dir)
{
    struct engine *e = mem_zalloc(sizeof(*e));
    pthread_condattr_t monotonic;

    store_init(&e->store, &backend);
    e->opt = *opt;
    e->opt.segment_bytes = opt->segment_bytes ? format_align(opt->segment_bytes) : SEGMENT_BYTES;
    e->opt.step_bytes = opt->step_bytes ? format_align(opt->step_bytes) : STEP_BYTES;
    e->opt.history_ms = opt->history_ms ? opt->history_ms : HISTORY_MS;
    e->opt.history_events = opt->history_events ? opt->history_events : HISTORY_EVENTS;
    e->opt.files = opt->files ? opt->files : file_real();
    e->opt.clock = opt->clock ? opt->clock : clock_real();
    e->opt.dir = STR_NONE; /* the log has it */
    e->log = log_new(e->opt.files, dir, e->opt.segment_bytes, e->opt.step_bytes);
    index_init(&e->index);
    history_init(&e->history);
    idpages_init(&e->drops);
    idpages_init(&e->drop_at);
    idpages_init(&e->used_rows);
    idpages_init(&e->used_bytes);
    idmap_init(&e->counts);
    idmap_init(&e->folders);
    rand_bytes(e->folder_keys, sizeof(e->folder_keys));
    buf_init(&e->batch.bytes, BATCH_MAX);
    (void)pthread_mutex_init(&e->pins_mu, NULL);
    (void)pthread_mutex_init(&e->wake_mu, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&e->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return e;
}

/* Who may not even look at the folder it is in (base/sandbox.h) has not made it just now. */
static int dir_make(struct file_layer *files, const char *dir)
{
    if (file_mkdir(files, dir) < 0)
        return -1;
    return file_sync_parent(files, dir) < 0 && errno != EACCES ? -1 : 0;
}

/* One process to a data dir. */
static int dir_take(struct engine *e, struct status *st)
{
    const char *dir = e->log->dir;
    size_t n = strlen(dir) + sizeof("/LOCK");
    char *path = mem_alloc(n);
    int err;

    (void)snprintf(path, n, "%s/LOCK", dir);
    if (dir_make(e->opt.files, dir) < 0) {
        err = errno;
        free(path);
        return status_errno(st, err, "cannot make the data dir %s", dir);
    }
    e->lock = file_open(e->opt.files, path, FILE_WRITE | FILE_CREATE);
    err = !e->lock || file_lock(e->lock) < 0 ? errno : 0;
    free(path);
    if (err == EWOULDBLOCK)
        return status_set(st, REASON_CONFLICT, "the data dir %s is in use by another process", dir);
    return err ? status_errno(st, err, "cannot lock the data dir %s", dir) : 0;
}

struct store *engine_open(const struct engine_options *opt, struct status *st)
{
    char *dir = mem_alloc(opt->dir.n + 1);
    struct engine *e;
    int err;

    memcpy(dir, opt->dir.p, opt->dir.n);
    dir[opt->dir.n] = '\0';
    e = engine_new(opt, dir);
    free(dir);
    if (dir_take(e, st) < 0 || engine_recover(e, st) < 0) {
        engine_free(e);
        return NULL;
    }
    store_touch_all(&e->store, atomic_load(&e->head));
    err = pthread_create(&e->writer, NULL, engine_writer, e);
    if (err) {
        (void)status_errno(st, err, "cannot start the writer");
        engine_free(e);
        return NULL;
    }
    return &e->store;
}
