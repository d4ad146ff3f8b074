/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/engine_internal.h"

/*
 * Reading the log again.  Every segment but the newest must be whole as far as the next one's
 * header says; the newest ends at its first frame that is not, provided nothing behind it was
 * synced later.  Anything else is damage, and named: going on would lose what was acknowledged.
 */

enum { ROW_BYTES = 1024 }; /* a guess at how many rows there are; tables grow if it is wrong */

struct recovery {
    struct engine *e;
    struct status *st;
    uint32_t *numbers; /* of the segment files, sorted */
    size_t n, cap;
    uint32_t oldest; /* as the last frame says */
    struct count_run run;
};

static int damaged(struct recovery *r, uint32_t number, size_t offset, const char *what)
{
    char *path = log_path(r->e->log, number);
    int rc =
        status_set(r->st, REASON_INTERNAL, "%s is damaged at offset %zu: %s", path, offset, what);

    free(path);
    return rc;
}

static int failed(struct recovery *r, uint32_t number, int err, const char *what)
{
    char *path = log_path(r->e->log, number);
    int rc = status_errno(r->st, err, "cannot %s %s", what, path);

    free(path);
    return rc;
}

/* ---- finding the files ---- */

static void note_file(void *arg, const char *name)
{
    struct recovery *r = arg;
    unsigned number;
    char tail[8] = "";

    if (sscanf(name, "seg-%8u%7s", &number, tail) != 2 || strcmp(tail, ".log") != 0)
        return;
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        r->numbers = mem_realloc_n(r->numbers, r->cap, sizeof(*r->numbers));
    }
    r->numbers[r->n++] = number;
}

static int number_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static bool all_zero(const char *p, size_t n)
{
    static const char zeros[4096];

    for (; n >= sizeof(zeros); p += sizeof(zeros), n -= sizeof(zeros))
        if (memcmp(p, zeros, sizeof(zeros)) != 0)
            return false;
    return memcmp(p, zeros, n) == 0;
}

enum found { FOUND, UNFINISHED, FAILED };

/*
 * The newest file without a good header and without anything else was being made when the end
 * came: a header is durable before the first frame is written.
 */
static enum found header_missing(struct recovery *r, struct file *f, uint32_t number, int64_t size,
                                 bool newest)
{
    size_t at = sizeof(struct segment_header);
    const char *map;
    bool empty;

    if (!newest)
        return damaged(r, number, 0, "no valid header"), FAILED;
    if (size <= (int64_t)at)
        return UNFINISHED;
    map = file_map(f, (size_t)size);
    if (!map)
        return failed(r, number, errno, "map"), FAILED;
    empty = all_zero(map + at, (size_t)size - at);
    file_unmap(r->e->opt.files, map, (size_t)size);
    if (!empty)
        return damaged(r, number, 0, "no valid header, and yet it is not empty"), FAILED;
    return UNFINISHED;
}

/* Opens a segment; on the way the one before learns where it ends. */
static enum found segment_open(struct recovery *r, uint32_t number, bool newest)
{
    struct log *l = r->e->log;
    char *path = log_path(l, number);
    struct file *f = file_open(l->files, path, newest ? FILE_WRITE : FILE_READ);
    int64_t size = f ? file_size(f) : -1;
    struct segment_header h = { .version = 0 };
    enum header_state state;
    enum found found = FOUND;

    free(path);
    if (size < 0 || file_read(f, &h, sizeof(h), 0) < 0) {
        (void)failed(r, number, errno, "read");
        file_close(f);
        return FAILED;
    }
    state = segment_header_check(&h, SEGMENT_MAGIC);
    if (state == HEADER_BAD)
        found = header_missing(r, f, number, size, newest);
    else if (state == HEADER_OTHER_VERSION)
        found = (damaged(r, number, 8, "it has a format of another version"), FAILED);
    else if (h.number != number)
        found = (damaged(r, number, 16, "it is another segment under this name"), FAILED);
    else if (l->newest && memcmp(h.id, l->id, sizeof(h.id)) != 0)
        found = (damaged(r, number, 48, "it belongs to another store"), FAILED);
    if (found != FOUND) {
        file_close(f);
        return found;
    }
    memcpy(l->id, h.id, sizeof(h.id));
    if (l->newest)
        l->newest->end = (size_t)h.prev_end;
    if (!log_adopt(l, f, number, (size_t)size, 0)) {
        (void)failed(r, number, errno, "map");
        file_close(f);
        return FAILED;
    }
    return FOUND;
}

static int unfinished_remove(struct recovery *r, uint32_t number)
{
    struct log *l = r->e->log;
    char *path = log_path(l, number);
    int rc = file_unlink(l->files, path);

    free(path);
    if (rc < 0 || file_sync_dir(l->files, l->dir) < 0)
        return failed(r, number, errno, "remove");
    r->n--;
    return 0;
}

static int files_open(struct recovery *r)
{
    struct log *l = r->e->log;

    if (file_list(l->files, l->dir, note_file, r) < 0)
        return status_errno(r->st, errno, "cannot list %s", l->dir);
    if (r->n > 0)
        qsort(r->numbers, r->n, sizeof(*r->numbers), number_cmp);
    for (size_t i = 0; i < r->n; i++) {
        bool newest = i + 1 == r->n;

        if (i > 0 && r->numbers[i] != r->numbers[i - 1] + 1)
            return damaged(r, r->numbers[i - 1] + 1, 0, "the file is missing");
        switch (segment_open(r, r->numbers[i], newest)) {
        case FAILED:
            return -1;
        case UNFINISHED:
            if (unfinished_remove(r, r->numbers[i]) < 0)
                return -1;
            break;
        case FOUND:
            break;
        }
    }
    return 0;
}

/* ---- replaying ---- */

static bool dropped(struct engine *e, uint32_t instance)
{
    return idpages_get(&e->drops, instance) != 0;
}

/* What is wrong with the record, or NULL. */
static const char *replay_txn(struct engine *e, const struct record *rec,
                              const struct record_place *at)
{
    struct index_row *row;
    struct version *v;

    if (rec->rev != atomic_load(&e->head) || rec->created > rec->rev ||
        rec->key.instance == STORE_ALL)
        return "a record does not fit its transaction";
    if (dropped(e, rec->key.instance))
        return "a record of an instance that was dropped before";
    if (rec->kind == RECORD_DROP) {
        engine_apply_drop(e, rec->key.instance, rec->rev, at->segment, false);
        return NULL;
    }
    if (rec->kind == RECORD_PUT) {
        row = index_add(&e->index, &rec->key);
        v = atomic_load_explicit(&row->newest, memory_order_relaxed);
        if (v && v->rev == rec->rev)
            return "two records of one row in a transaction";
        engine_apply_put(e, row, rec->rev, rec->created, at);
        return NULL;
    }
    /* Of a deletion below the floor the row may be gone already, with an older segment. */
    row = index_find(&e->index, &rec->key);
    v = row ? atomic_load_explicit(&row->newest, memory_order_relaxed) : NULL;
    if (v && v->rev == rec->rev)
        return "two records of one row in a transaction";
    if (v && !v->deleted)
        engine_apply_delete(e, row, rec->rev, rec->created, at);
    return NULL;
}

static const char *replay_copy(struct engine *e, const struct record *rec,
                               const struct record_place *at)
{
    struct index_row *row;
    struct version *v;

    if (rec->rev > e->pruned || rec->rev == 0 || rec->created > rec->rev ||
        rec->key.instance == STORE_ALL)
        return "a copied record is newer than the floor";
    if (rec->kind == RECORD_DROP) {
        engine_apply_drop(e, rec->key.instance, rec->rev, at->segment, true);
        return NULL;
    }
    if (rec->kind != RECORD_PUT)
        return "a copied deletion";
    row = index_add(&e->index, &rec->key);
    v = atomic_load_explicit(&row->newest, memory_order_relaxed);
    if (!v)
        engine_apply_found(e, row, rec->rev, rec->created, at);
    else if (v->rev == rec->rev && !v->deleted)
        engine_apply_copy(e, row, at);
    else
        return "a copied record is not the last of its row";
    return NULL;
}

static const char *replay_records(struct engine *e, struct segment *s, size_t offset,
                                  const struct frame_header *h)
{
    struct record_cursor c;
    struct record rec;
    size_t at;

    record_cursor_init(&c, s->map + offset);
    while (record_next(&c, &rec, &at)) {
        struct record_place place = { s, (uint32_t)(offset + at), (uint32_t)rec.value.n,
                                      (uint16_t)rec.nhashes, rec.hashes };
        const char *wrong =
            h->kind == FRAME_TXN ? replay_txn(e, &rec, &place) : replay_copy(e, &rec, &place);

        if (wrong)
            return wrong;
    }
    return c.bad ? "records do not fill their frame" : NULL;
}

/* Applies a frame whose checksum is right.  NULL, or what is wrong with it. */
static const char *replay_frame(struct recovery *r, struct segment *s, size_t offset)
{
    struct engine *e = r->e;
    struct frame_header h;
    uint64_t head = atomic_load(&e->head);

    memcpy(&h, s->map + offset, sizeof(h));
    if (h.kind != FRAME_TXN && h.kind != FRAME_COPY && h.kind != FRAME_MARK)
        return "a frame of unknown kind";
    if (h.rev != head + (h.kind == FRAME_TXN) || h.floor > head || h.oldest > s->number)
        return "a frame out of order";
    r->oldest = h.oldest;
    if (h.floor > atomic_load(&e->floor)) {
        atomic_store(&e->floor, h.floor);
        (void)engine_prune(e, SIZE_MAX);
    }
    if (h.kind == FRAME_TXN) {
        atomic_store(&e->head, h.rev);
        s->max_rev = h.rev;
    }
    return replay_records(e, s, offset, &h);
}

/* A whole frame of a batch that begins behind `end` says that all up to there had been synced. */
static bool synced_behind(const struct segment *s, size_t end)
{
    for (size_t at = end + FORMAT_ALIGN; at + sizeof(struct frame_header) <= s->allocated;
         at += FORMAT_ALIGN) {
        struct frame_header h;

        memcpy(&h, s->map + at, sizeof(h));
        if (h.magic == FRAME_MAGIC && h.batch > end && h.batch <= at &&
            frame_check(s->map + at, s->allocated - at, s->seed) == FRAME_OK)
            return true;
    }
    return false;
}

/* The newest segment ends here: cut, or damaged? */
static int tail_check(struct recovery *r, struct segment *s, size_t end)
{
    if (all_zero(s->map + end, s->allocated - end))
        return 0;
    if (synced_behind(s, end))
        return damaged(r, s->number, end, "a frame that was durable is broken");
    r->e->log->in_doubt = true; /* goes on in a new segment; what is here will be ruled out */
    return 0;
}

/* Has the first row's place in the table under way while the frame's checksum is computed. */
static void prefetch(const struct engine *e, const char *frame, size_t n)
{
    struct record rec;
    size_t head = sizeof(struct frame_header) + sizeof(struct record_header);

    if (n < head)
        return;
    record_read(frame + sizeof(struct frame_header), &rec);
    if (n - head >= rec.nhashes * sizeof(uint64_t) + rec.key.name.n)
        index_prefetch(&e->index, &rec.key);
}

static int segment_replay(struct recovery *r, struct segment *s)
{
    bool newest = !s->newer;
    size_t limit = newest ? s->allocated : s->end, at = sizeof(struct segment_header);
    const char *wrong = NULL;

    if (limit > s->allocated || limit < at)
        return damaged(r, s->number, s->allocated, "the file is too short");
    s->max_rev = atomic_load(&r->e->head);
    while (at < limit) {
        enum frame_state state;
        struct frame_header h;

        prefetch(r->e, s->map + at, limit - at);
        state = frame_check(s->map + at, limit - at, s->seed);
        if (state != FRAME_OK && newest)
            break;
        if (state != FRAME_OK)
            return damaged(r, s->number, at, "a broken frame");
        wrong = replay_frame(r, s, at);
        if (wrong)
            return damaged(r, s->number, at, wrong);
        memcpy(&h, s->map + at, sizeof(h));
        at += format_align(h.bytes);
    }
    s->end = at < limit ? at : limit;
    return newest ? tail_check(r, s, s->end) : 0;
}

static int replay(struct recovery *r)
{
    struct engine *e = r->e;

    for (struct segment *s = e->log->oldest; s; s = s->newer) {
        struct segment_header h;

        memcpy(&h, s->map, sizeof(h));
        if (s == e->log->oldest) {
            atomic_store(&e->head, h.rev);
            atomic_store(&e->floor, h.floor);
            e->pruned = h.floor;
        }
        if (h.rev != atomic_load(&e->head) || h.floor > h.rev)
            return damaged(r, s->number, 0, "its revision does not follow on the segment before");
        if (h.floor > atomic_load(&e->floor)) {
            atomic_store(&e->floor, h.floor);
            (void)engine_prune(e, SIZE_MAX);
        }
        if (segment_replay(r, s) < 0)
            return -1;
    }
    assert(e->log->oldest); /* without segments there is no replay */
    if (e->log->oldest->number > r->oldest && r->oldest > 0)
        return damaged(r, r->oldest, 0, "the file is missing");
    return 0;
}

static const uint64_t *hashes_of(void *arg, const struct version *v)
{
    return record_hashes(version_record(((struct recovery *)arg)->e, v));
}

static void count_row(void *arg, const struct index_row *row)
{
    struct recovery *r = arg;

    engine_count_in_order(r->e, &r->run, row);
}

/* A process that was killed may have left the last batch unsynced: it is served, so it must stay.
 */
static int make_durable(struct recovery *r)
{
    struct log *l = r->e->log;

    if (file_sync(l->file) < 0)
        return failed(r, l->newest->number, errno, "sync");
    if (file_sync_dir(l->files, l->dir) < 0)
        return status_errno(r->st, errno, "cannot sync %s", l->dir);
    return 0;
}

static int begin_new(struct recovery *r)
{
    struct log *l = r->e->log;
    int err;

    rand_bytes(l->id, sizeof(l->id));
    err = log_roll(l, 0, 0, 0);
    if (err)
        return failed(r, 1, err, "make");
    r->e->oldest = 1;
    return 0;
}

static int recover(struct recovery *r)
{
    struct engine *e = r->e;
    struct log *l = e->log;

    if (files_open(r) < 0)
        return -1;
    if (!l->newest)
        return begin_new(r);
    index_load_begin(&e->index, (size_t)(atomic_load(&l->bytes) / ROW_BYTES));
    if (replay(r) < 0 || make_durable(r) < 0)
        return -1;
    index_load_end(&e->index, hashes_of, count_row, r);
    engine_count_in_order(e, &r->run, NULL);
    for (struct segment *s = l->oldest; s; s = s->newer)
        file_forget(l->files, s->map, s->map_bytes); /* all of it has been read */
    e->durable_floor = e->pruned = atomic_load(&e->floor);
    atomic_store(&e->floor_goal, e->pruned);
    e->durable_oldest = r->oldest;
    assert(l->oldest);
    e->oldest = r->oldest > l->oldest->number ? r->oldest : l->oldest->number;
    while (engine_purge(e, SIZE_MAX))
        ;
    /* Their removal was under way. */
    while (l->oldest->number < e->oldest && l->oldest->live == 0 && l->oldest->stale == 0)
        if (log_drop_oldest(l) != 0)
            break;
    if (l->in_doubt) /* where this fails, the writer tries again */
        (void)log_roll(l, 0, atomic_load(&e->head), atomic_load(&e->floor));
    return 0;
}

int engine_recover(struct engine *e, struct status *st)
{
    struct recovery r = { .e = e, .st = st };
    int rc = recover(&r);

    free(r.numbers);
    return rc;
}
