/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    WRITE_MAX = 1 << 20, /* bytes of lines that leave with one write */
    TAIL = 64 << 10,     /* read at once when the end of the last line is looked for */
    STAMP = 23,          /* 2026-01-02T15-04-05.000 */
    NAMES_MAX = 10000,
};

struct audit_file {
    struct audit_file_options o;
    struct file_layer *layer;
    struct file *file; /* NULL: to be opened */
    uint64_t size;
    bool is_stdout, stuck; /* stuck: it could not be put aside, which was said */
    str dir, stem, suffix; /* "/d", "audit-", ".log" */
    struct arena *arena;
    struct buf text;
};

/* ---- names ---- */

static void split_path(struct audit_file *f)
{
    str path = str_of(f->o.path), base;
    size_t slash = path.n, dot;

    while (slash > 0 && path.p[slash - 1] != '/')
        slash--;
    base = str_from(path, slash);
    f->dir = slash > 1 ? str_dup(f->arena, str_sub(path, 0, slash - 1))
                       : str_dup(f->arena, slash ? STR("/") : STR("."));
    dot = base.n;
    while (dot > 0 && base.p[dot - 1] != '.')
        dot--;
    if (dot <= 1) /* no dot, or a hidden file */
        dot = base.n + 1;
    f->stem = str_printf(f->arena, "%.*s-", STR_ARG(str_sub(base, 0, dot - 1)));
    f->suffix = str_dup(f->arena, str_from(base, dot - 1));
}

/* k8s: gopkg.in/natefinch/lumberjack.v2: 2026-01-02T15-04-05.000 */
static void stamp(char out[TIME_TEXT_SIZE], int64_t wall_us)
{
    (void)time_format_micro(out, wall_us);
    out[13] = out[16] = '-';
    out[STAMP] = '\0';
}

/* When the backup of that name was put aside. */
static bool parse_name(const struct audit_file *f, str name, int64_t *wall_us)
{
    char text[TIME_TEXT_SIZE];
    str at = str_from(name, f->stem.n);

    if (!str_starts(name, f->stem) || !str_ends(name, f->suffix) ||
        name.n != f->stem.n + STAMP + f->suffix.n)
        return false;
    memcpy(text, at.p, STAMP);
    memcpy(text + STAMP, "000Z", 5);
    if (text[13] != '-' || text[16] != '-')
        return false;
    text[13] = text[16] = ':';
    return time_parse_micro(str_of(text), wall_us);
}

struct backups {
    const struct audit_file *file;
    struct arena *arena;
    str names[NAMES_MAX];
    size_t n;
};

static void collect(void *arg, const char *name)
{
    struct backups *b = arg;
    int64_t when;

    if (b->n < NAMES_MAX && parse_name(b->file, str_of(name), &when))
        b->names[b->n++] = str_dup(b->arena, str_of(name));
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Oldest first. */
static struct backups *backups_of(const struct audit_file *f, struct arena *a)
{
    struct backups *b = arena_new_of(a, struct backups);

    b->file = f;
    b->arena = a;
    if (file_list(f->layer, f->dir.p, collect, b) < 0)
        b->n = 0;
    qsort(b->names, b->n, sizeof(*b->names), by_name);
    return b;
}

static const char *in_dir(const struct audit_file *f, struct arena *a, str name)
{
    return arena_printf(a, "%.*s/%.*s", STR_ARG(f->dir), STR_ARG(name));
}

static void prune(const struct audit_file *f)
{
    scoped_arena a = arena_new();
    const struct backups *b = backups_of(f, a);
    int64_t oldest = clock_wall_us(f->o.clock) - f->o.max_age_s * 1000000, when = 0;

    for (size_t i = 0; i < b->n; i++) {
        bool old = f->o.max_age_s && parse_name(f, b->names[i], &when) && when < oldest;
        bool surplus = f->o.max_backups && b->n - i > f->o.max_backups;

        if ((old || surplus) && file_unlink(f->layer, in_dir(f, a, b->names[i])) < 0)
            log_warn("an old audit log cannot be removed", log_str("name", b->names[i]),
                     log_errno(errno));
    }
}

/* ---- the file ---- */

/* Behind the last newline; what follows it is a piece of a line. */
static int find_end(struct file *file, uint64_t size, uint64_t *end)
{
    char *tail = mem_alloc(TAIL);
    uint64_t at = size;
    int rc = 0;

    *end = 0;
    while (at > 0 && *end == 0 && rc == 0) {
        size_t n = at < TAIL ? (size_t)at : TAIL;

        at -= n;
        rc = file_read(file, tail, n, at) == (ssize_t)n ? 0 : -1;
        for (size_t i = n; rc == 0 && i > 0 && *end == 0; i--)
            if (tail[i - 1] == '\n')
                *end = at + i;
    }
    free(tail);
    return rc;
}

static int open_file(struct audit_file *f, struct status *st)
{
    int64_t size;
    uint64_t end;

    f->file = file_open(f->layer, f->o.path, FILE_WRITE | FILE_CREATE);
    if (!f->file)
        return status_errno(st, errno, "cannot open the audit log %s", f->o.path);
    size = file_size(f->file);
    if (size < 0 || find_end(f->file, (uint64_t)size, &end) < 0 ||
        (end != (uint64_t)size && file_truncate(f->file, end) < 0)) {
        (void)status_errno(st, errno, "cannot read the audit log %s", f->o.path);
        file_close(f->file);
        f->file = NULL;
        return -1;
    }
    f->size = end;
    return 0;
}

/* Under a name behind all others, whatever the clock says: names are their order. */
static int put_aside(struct audit_file *f)
{
    scoped_arena a = arena_new();
    const struct backups *b = backups_of(f, a);
    int64_t now = clock_wall_us(f->o.clock), last;
    char text[TIME_TEXT_SIZE];

    if (b->n && parse_name(f, b->names[b->n - 1], &last) && last + 1000 > now)
        now = last + 1000;
    stamp(text, now);
    return file_rename(
        f->layer, f->o.path,
        in_dir(f, a, str_printf(a, "%.*s%s%.*s", STR_ARG(f->stem), text, STR_ARG(f->suffix))));
}

/* A file that cannot be put aside grows on: no line is lost for that. */
static int rotate(struct audit_file *f, struct status *st)
{
    if (put_aside(f) < 0) {
        if (!f->stuck)
            log_error("the audit log cannot be put aside", log_z("path", f->o.path),
                      log_errno(errno));
        f->stuck = true;
        return 0;
    }
    f->stuck = false;
    file_close(f->file);
    f->file = NULL;
    prune(f);
    return open_file(f, st);
}

struct audit_file *audit_file_new(const struct audit_file_options *o, struct status *st)
{
    struct audit_file *f = mem_zalloc(sizeof(*f));

    f->o = *o;
    f->arena = arena_new_lasting();
    f->o.path = str_z(f->arena, str_of(o->path));
    f->layer = o->layer ? o->layer : file_real();
    f->is_stdout = strcmp(o->path, "-") == 0;
    buf_init(&f->text, WRITE_MAX + (8 << 20));
    if (f->is_stdout)
        return f;
    split_path(f);
    if (open_file(f, st) < 0) {
        audit_file_free(f);
        return NULL;
    }
    prune(f);
    return f;
}

void audit_file_free(struct audit_file *f)
{
    if (!f)
        return;
    if (f->file && file_sync(f->file) < 0)
        log_warn("the end of the audit log may not be on disk", log_errno(errno));
    file_close(f->file);
    buf_release(&f->text);
    arena_free(f->arena);
    free(f);
}

/* ---- writing ---- */

static int write_stdout(str text)
{
    while (text.n) {
        ssize_t n = write(STDOUT_FILENO, text.p, text.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text = str_from(text, (size_t)n);
    }
    return 0;
}

/* All of the text or nothing. */
static int write_text(struct audit_file *f, struct status *st)
{
    int err;

    if (f->is_stdout)
        return write_stdout(buf_str(&f->text)) < 0
                   ? status_errno(st, errno, "cannot write the audit log")
                   : 0;
    if (file_write(f->file, f->text.p, f->text.n, f->size) == 0) {
        f->size += f->text.n;
        return 0;
    }
    err = errno;
    if (file_truncate(f->file, f->size) < 0) { /* opening it again finds the last whole line */
        file_close(f->file);
        f->file = NULL;
    }
    return status_errno(st, err, "cannot write the audit log %s", f->o.path);
}

/* Others may have cut it, or written to it. */
static int find_size(struct audit_file *f, struct status *st)
{
    int64_t size = f->is_stdout ? 0 : file_size(f->file);

    if (size < 0)
        return status_errno(st, errno, "cannot look at the audit log %s", f->o.path);
    f->size = (uint64_t)size;
    return 0;
}

/* It would be too large with this line; the first goes into any file. */
static bool is_full(const struct audit_file *f, size_t more, str line)
{
    return f->o.max_bytes && !f->is_stdout && f->size + more > 0 &&
           f->size + more + line.n + 1 > f->o.max_bytes;
}

/* As many lines as fit into the file and one write; at least one. */
static size_t gather(struct audit_file *f, const str *lines, size_t n, bool grows)
{
    size_t i = 0;

    buf_clear(&f->text);
    do {
        buf_str_append(&f->text, lines[i]);
        buf_byte(&f->text, '\n');
        i++;
    } while (i < n && f->text.n < WRITE_MAX && (grows || !is_full(f, f->text.n, lines[i])));
    return i;
}

int audit_file_write(struct audit_file *f, const str *lines, size_t n, size_t *done,
                     struct status *st)
{
    bool grows = false;

    for (*done = 0; *done < n;) {
        size_t some;

        if ((!f->is_stdout && !f->file && open_file(f, st) < 0) || find_size(f, st) < 0)
            return -1;
        if (!grows && is_full(f, 0, lines[*done])) {
            if (rotate(f, st) < 0)
                return -1;
            grows = f->stuck;
        }
        some = gather(f, lines + *done, n - *done, grows);
        if (write_text(f, st) < 0)
            return -1;
        *done += some;
    }
    return 0;
}
