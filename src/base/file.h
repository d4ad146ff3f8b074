/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

/*
 * The file layer: all durable I/O goes through here, so that tests can put a simulated disk in the
 * place of the real one (tests/simdisk.h) which loses power, fills up and fails at will.
 *
 * What is promised, and no more: bytes written are durable after file_sync of that file; a name
 * made, changed or removed is durable after file_sync_dir of its folder.  Until then a power cut
 * may keep, lose or tear each.  After a failed sync nothing is known of what was written since the
 * last good one, and repeating the sync proves nothing: write it elsewhere.
 *
 * All functions return 0, or -1 with errno, where nothing else is said.  A file is used by one
 * thread at a time; mappings by all.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_layer;

struct file {
    struct file_layer *layer;
};

enum file_flags {
    FILE_READ = 0,
    FILE_WRITE = 1,
    FILE_CREATE = 2, /* with WRITE: makes it (mode 0600) if it is not there */
};

typedef void file_name_fn(void *arg, const char *name);

/* What a disk can do; call it by the functions below. */
struct file_layer {
    struct file *(*open)(struct file_layer *l, const char *path, int flags);
    void (*close)(struct file *f);
    int (*lock)(struct file *f);
    int64_t (*size)(struct file *f);
    int (*write)(struct file *f, const void *p, size_t n, uint64_t offset);
    ssize_t (*read)(struct file *f, void *p, size_t n, uint64_t offset);
    int (*truncate)(struct file *f, uint64_t size);
    int (*sync)(struct file *f);
    const char *(*map)(struct file *f, size_t size);
    void (*unmap)(struct file_layer *l, const char *p, size_t size);
    void (*forget)(struct file_layer *l, const char *p, size_t size);
    int (*mkdir)(struct file_layer *l, const char *path);
    int (*rename)(struct file_layer *l, const char *from, const char *to);
    int (*unlink)(struct file_layer *l, const char *path);
    int (*list)(struct file_layer *l, const char *dir, file_name_fn *fn, void *arg);
    int (*sync_dir)(struct file_layer *l, const char *dir);
};

struct file_layer *file_real(void); /* the machine's files */

static inline struct file *file_open(struct file_layer *l, const char *path, int flags)
{
    return l->open(l, path, flags); /* NULL with errno */
}

static inline void file_close(struct file *f) /* NULL is fine; syncs nothing */
{
    if (f)
        f->layer->close(f);
}

/* Exclusive among all processes until the file is closed; EWOULDBLOCK when another has it. */
static inline int file_lock(struct file *f)
{
    return f->layer->lock(f);
}

static inline int64_t file_size(struct file *f) /* or -1 */
{
    return f->layer->size(f);
}

static inline int file_write(struct file *f, const void *p, size_t n, uint64_t offset) /* all n */
{
    return f->layer->write(f, p, n, offset);
}

static inline ssize_t file_read(struct file *f, void *p, size_t n, uint64_t offset)
{
    return f->layer->read(f, p, n, offset); /* less than n only at the end of the file; or -1 */
}

static inline int file_truncate(struct file *f, uint64_t size)
{
    return f->layer->truncate(f, size);
}

static inline int file_sync(struct file *f)
{
    return f->layer->sync(f);
}

/*
 * For reading; may be larger than the file, which may grow into it: only what has been written may
 * be touched.  Outlives the file's closing and removal.  A disk that cannot read a page that is
 * touched ends the process (SIGBUS).
 */
static inline const char *file_map(struct file *f, size_t size) /* NULL with errno */
{
    return f->layer->map(f, size);
}

static inline void file_unmap(struct file_layer *l, const char *p, size_t size)
{
    l->unmap(l, p, size);
}

/* Gives back the memory of a mapping; touching it again finds the same bytes. */
static inline void file_forget(struct file_layer *l, const char *p, size_t size)
{
    l->forget(l, p, size);
}

static inline int file_mkdir(struct file_layer *l, const char *path) /* mode 0700; fine if there */
{
    return l->mkdir(l, path);
}

static inline int file_rename(struct file_layer *l, const char *from, const char *to)
{
    return l->rename(l, from, to);
}

static inline int file_unlink(struct file_layer *l, const char *path)
{
    return l->unlink(l, path);
}

/* Names in a folder, in no order, without "." and "..". */
static inline int file_list(struct file_layer *l, const char *dir, file_name_fn *fn, void *arg)
{
    return l->list(l, dir, fn, arg);
}

static inline int file_sync_dir(struct file_layer *l, const char *dir)
{
    return l->sync_dir(l, dir);
}

int file_sync_parent(struct file_layer *l, const char *path); /* the folder that path lies in */

#endif
