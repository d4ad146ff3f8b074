/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/file.h"
#include "base/rand.h"
#include "store/format.h"
#include "store/log.h"

enum {
    FRAME_FULL = 1 << 20,
    FRAME_MAX = FRAME_FULL + STORE_VALUE_MAX + (1 << 20), /* with one row more than full */
    SEGMENT_BYTES = 64 << 20,
};

/* ---- making one ---- */

void backup_begin(struct backup_writer *w, store_write_fn *write, void *arg, uint64_t rev)
{
    struct segment_header h = { .rev = rev, .floor = rev };

    *w = (struct backup_writer){ .write = write, .arg = arg, .rev = rev, .frame = SIZE_MAX };
    buf_init(&w->buf, FRAME_MAX * (size_t)2);
    rand_bytes(h.id, sizeof(h.id));
    segment_header_seal(&h, BACKUP_MAGIC);
    w->seed = frame_seed(h.id, 0);
    w->failed = write(arg, &h, sizeof(h)) < 0;
}

static void record_add(struct backup_writer *w, const struct record *r)
{
    if (w->frame == SIZE_MAX)
        w->frame = frame_begin(&w->buf, FRAME_COPY, w->rev);
    (void)record_append(&w->buf, w->frame, r);
    w->nrecords++;
}

void backup_row(struct backup_writer *w, const struct store_row *row, const uint64_t *hashes,
                size_t nhashes)
{
    struct record r = { .kind = RECORD_PUT, .key = row->key, .rev = row->rev };

    r.created = row->created;
    r.value = row->value;
    r.hashes = hashes;
    r.nhashes = nhashes;
    record_add(w, &r);
}

void backup_drop(struct backup_writer *w, uint32_t instance, uint64_t rev)
{
    struct record r = { .kind = RECORD_DROP, .key = { .instance = instance }, .rev = rev };

    record_add(w, &r);
    backup_flush(w);
}

static void frame_out(struct backup_writer *w)
{
    if (w->frame == SIZE_MAX)
        return;
    frame_end(&w->buf, w->frame);
    (void)frame_seal(w->buf.p + w->frame, w->seed, 0, w->rev, 0);
    w->frame = SIZE_MAX;
    if (!w->failed)
        w->failed = w->write(w->arg, w->buf.p, w->buf.n) < 0;
    buf_clear(&w->buf);
}

void backup_flush(struct backup_writer *w)
{
    if (w->buf.n >= FRAME_FULL)
        frame_out(w);
}

int backup_end(struct backup_writer *w, struct status *st)
{
    frame_out(w);
    w->frame = frame_begin(&w->buf, FRAME_END, w->nrecords);
    frame_out(w);
    buf_release(&w->buf);
    return w->failed ? status_set(st, REASON_INTERNAL, "the backup could not be written") : 0;
}

/* ---- restoring ---- */

struct restore {
    store_read_fn *read;
    void *arg;
    struct status *st;
    struct segment_header header;
    uint32_t seed;
    struct buf frame; /* the one that was read last */
    uint64_t offset, nrecords;
    struct log *log;
};

static int broken(struct restore *r, const char *what)
{
    return status_set(r->st, REASON_BAD_REQUEST, "the backup is damaged at offset %llu: %s",
                      (unsigned long long)r->offset, what);
}

static int read_all(struct restore *r, void *p, size_t n)
{
    for (size_t got = 0; got < n;) {
        ptrdiff_t some = r->read(r->arg, (char *)p + got, n - got);

        if (some < 0)
            return status_set(r->st, REASON_INTERNAL, "the backup could not be read");
        if (some == 0)
            return broken(r, "it ends too early");
        got += (size_t)some;
    }
    return 0;
}

static int frame_read(struct restore *r, struct frame_header *h)
{
    char *p;

    buf_clear(&r->frame);
    if (read_all(r, h, sizeof(*h)) < 0)
        return -1;
    if (h->magic != FRAME_MAGIC || h->bytes < sizeof(*h) || h->bytes > FRAME_MAX ||
        h->bytes % FORMAT_ALIGN)
        return broken(r, "no valid frame");
    buf_append(&r->frame, h, sizeof(*h));
    p = buf_reserve(&r->frame, h->bytes - sizeof(*h));
    if (read_all(r, p, h->bytes - sizeof(*h)) < 0)
        return -1;
    r->frame.n = h->bytes;
    if (frame_check(r->frame.p, r->frame.n, r->seed) != FRAME_OK)
        return broken(r, "a frame's checksum is wrong");
    return 0;
}

static int frame_records(struct restore *r)
{
    struct record_cursor c;
    struct record rec;
    size_t at;

    record_cursor_init(&c, r->frame.p);
    for (; record_next(&c, &rec, &at); r->nrecords++)
        if (rec.kind == RECORD_DELETE || rec.rev == 0 || rec.rev > r->header.rev)
            return broken(r, "a record that no backup has");
    return c.bad ? broken(r, "records do not fill their frame") : 0;
}

/* Writes the frame, as it is but for its place, to the log. */
static int frame_write(struct restore *r)
{
    uint64_t rev = r->header.rev;
    int err = log_reserve(r->log, r->frame.n, rev, rev);
    struct segment *s = r->log->newest;

    if (!err) {
        (void)frame_seal(r->frame.p, s->seed, (uint32_t)s->end, rev, 1);
        err = log_append(r->log, r->frame.p, r->frame.n);
    }
    return err ? status_errno(r->st, err, "cannot write to %s", r->log->dir) : 0;
}

static int restore_frames(struct restore *r)
{
    struct frame_header h;

    for (;;) {
        if (frame_read(r, &h) < 0)
            return -1;
        if (h.kind == FRAME_END)
            break;
        if (h.kind != FRAME_COPY || h.rev != r->header.rev)
            return broken(r, "a frame that no backup has");
        if (frame_records(r) < 0 || frame_write(r) < 0)
            return -1;
        r->offset += r->frame.n;
    }
    return h.rev == r->nrecords ? 0 : broken(r, "records are missing");
}

static int restore_header(struct restore *r)
{
    if (read_all(r, &r->header, sizeof(r->header)) < 0)
        return -1;
    switch (segment_header_check(&r->header, BACKUP_MAGIC)) {
    case HEADER_BAD:
        return broken(r, "this is not a backup of a kairship store");
    case HEADER_OTHER_VERSION:
        return broken(r, "it has a format of another version");
    case HEADER_OK:
        break;
    }
    r->seed = frame_seed(r->header.id, 0);
    r->offset = sizeof(r->header);
    return 0;
}

static int restore_into(struct restore *r, const char *dir)
{
    int err, rc;

    if (restore_header(r) < 0)
        return -1;
    r->log = log_new(file_real(), dir, SEGMENT_BYTES, FRAME_FULL);
    rand_bytes(r->log->id, sizeof(r->log->id));
    err = log_roll(r->log, 0, r->header.rev, r->header.rev);
    rc = err ? status_errno(r->st, err, "cannot write to %s", dir) : 0;
    if (rc == 0)
        rc = restore_frames(r);
    log_free(r->log);
    return rc;
}

/* ---- folders ---- */

struct names {
    const char *dir; /* remove what is found there, or (NULL) only count */
    size_t n;
};

static void name_found(void *arg, const char *name)
{
    struct names *names = arg;
    char path[4096];

    names->n++;
    if (!names->dir)
        return;
    if (snprintf(path, sizeof(path), "%s/%s", names->dir, name) < (int)sizeof(path))
        (void)file_unlink(file_real(), path);
}

/* Made anew beside the place it goes to: what is half-way is never under the final name. */
static int partial_make(const char *dir, struct status *st)
{
    struct names left = { .dir = dir };

    if (file_mkdir(file_real(), dir) < 0 || file_list(file_real(), dir, name_found, &left) < 0)
        return status_errno(st, errno, "cannot make %s", dir);
    return 0;
}

static int target_check(const char *dir, struct status *st)
{
    struct names names = { 0 };

    if (file_list(file_real(), dir, name_found, &names) < 0)
        return errno == ENOENT ? 0 : status_errno(st, errno, "cannot look into %s", dir);
    if (names.n > 0)
        return status_set(st, REASON_CONFLICT, "%s is not empty", dir);
    return 0;
}

int store_restore(store_read_fn *read, void *arg, str data_dir, struct status *st)
{
    struct restore r = { .read = read, .arg = arg, .st = st };
    const char *dir, *partial;
    struct arena *a = arena_new();
    int rc;

    while (data_dir.n > 1 && data_dir.p[data_dir.n - 1] == '/')
        data_dir.n--;
    dir = str_z(a, data_dir);
    partial = arena_printf(a, "%s.partial", dir);
    buf_init(&r.frame, FRAME_MAX);
    rc =
        target_check(dir, st) < 0 || partial_make(partial, st) < 0 ? -1 : restore_into(&r, partial);
    if (rc == 0 &&
        (file_rename(file_real(), partial, dir) < 0 || file_sync_parent(file_real(), dir) < 0))
        rc = status_errno(st, errno, "cannot make %s", dir);
    buf_release(&r.frame);
    arena_free(a);
    return rc;
}
