/* SPDX-License-Identifier: Apache-2.0 */
#include "simdisk.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"

enum {
    SECTOR = 512,
    FILE_MAX = 64 << 20,
    SECTORS = FILE_MAX / SECTOR,
    NAME_SIZE = 64,
};

enum sector_state { CLEAN, DIRTY, DOUBTFUL };

struct inode {
    struct inode *next;
    char *cache;  /* as it is seen; as large as a file may become, and never moved */
    char *stable; /* as it is on the platter */
    size_t size, stable_size;
    size_t touched; /* sectors beyond were never written */
    uint8_t *sectors;
    bool locked;
};

struct entry {
    struct entry *next;
    char name[NAME_SIZE];
    struct inode *now, *stable; /* NULL: there is no such name */
};

struct fault {
    uint64_t in, times;
    int err;
};

struct simdisk {
    struct file_layer layer; /* first */
    pthread_mutex_t mu;
    struct rand_seq rand;
    struct inode *inodes;
    struct entry *entries;
    uint64_t operations, cut_in, capacity;
    bool cut;
    struct fault faults[SIMDISK_OPS];
};

struct sim_file {
    struct file file;
    struct inode *inode;
    bool locks;
};

static struct simdisk *disk_of(struct file_layer *l)
{
    return (struct simdisk *)l;
}

static void lock(struct simdisk *d)
{
    (void)pthread_mutex_lock(&d->mu);
}

static void unlock(struct simdisk *d)
{
    (void)pthread_mutex_unlock(&d->mu);
}

static bool coin(struct simdisk *d, uint32_t of)
{
    return rand_seq_below(&d->rand, of) == 0;
}

static void *reserve(size_t n)
{
    void *p =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert(p != MAP_FAILED);
    return p;
}

static struct inode *inode_new(struct simdisk *d)
{
    struct inode *i = mem_zalloc(sizeof(*i));

    i->cache = reserve(FILE_MAX);
    i->stable = reserve(FILE_MAX);
    i->sectors = reserve(SECTORS);
    i->next = d->inodes;
    d->inodes = i;
    return i;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct entry *entry_of(struct simdisk *d, const char *path)
{
    const char *name = base_name(path);
    struct entry *e = d->entries;

    while (e && strcmp(e->name, name) != 0)
        e = e->next;
    if (e)
        return e;
    e = mem_zalloc(sizeof(*e));
    (void)snprintf(e->name, sizeof(e->name), "%s", name);
    e->next = d->entries;
    d->entries = e;
    return e;
}

/* ---- the power ---- */

static bool refused(struct simdisk *d)
{
    if (!d->cut)
        return false;
    errno = EIO;
    return true;
}

/* Counts an operation that changes something; true when the power goes with it. */
static bool power_goes(struct simdisk *d)
{
    d->operations++;
    if (d->cut_in == 0 || --d->cut_in > 0)
        return false;
    d->cut = true;
    errno = EIO;
    return true;
}

/* Whether an operation is to fail; with errno. */
static bool faulty(struct simdisk *d, enum simdisk_op op)
{
    struct fault *f = &d->faults[op];

    if (f->times == 0 || (f->in > 0 && --f->in > 0))
        return false;
    f->times--;
    errno = f->err;
    return true;
}

/* What is left of a file whose last changes were not synced. */
static void inode_settle(struct simdisk *d, struct inode *i, uint32_t lose)
{
    size_t size = i->stable_size;

    if (i->size != i->stable_size && !coin(d, lose)) {
        size_t low = i->size < size ? i->size : size, high = i->size < size ? size : i->size;

        size = coin(d, 2) ? i->size : low + rand_seq_below(&d->rand, (uint32_t)(high - low + 1));
    }
    for (size_t k = 0; k < i->touched; k++)
        if (i->sectors[k] != CLEAN && !coin(d, lose))
            memcpy(i->stable + k * SECTOR, i->cache + k * SECTOR, SECTOR);
    if (size < i->touched * SECTOR)
        memset(i->stable + size, 0, i->touched * SECTOR - size);
    memcpy(i->cache, i->stable, i->touched * SECTOR);
    memset(i->sectors, CLEAN, i->touched);
    i->size = i->stable_size = size;
    i->locked = false;
}

void simdisk_restart(struct simdisk *d)
{
    /* One in so many is lost: a coin each, or nearly all, or nearly none. */
    static const uint32_t moods[] = { 2, 1, 8 };
    uint32_t lose;

    lock(d);
    lose = moods[rand_seq_below(&d->rand, 3)];
    for (struct entry *e = d->entries; e; e = e->next) {
        if (e->now != e->stable && !coin(d, lose))
            e->stable = e->now;
        e->now = e->stable;
    }
    for (struct inode *i = d->inodes; i; i = i->next)
        inode_settle(d, i, lose);
    d->cut = false;
    d->cut_in = 0;
    memset(d->faults, 0, sizeof(d->faults));
    unlock(d);
}

/* ---- files ---- */

static struct inode *inode_of(struct file *f)
{
    return ((struct sim_file *)f)->inode;
}

static struct file *sim_open(struct file_layer *l, const char *path, int flags)
{
    struct simdisk *d = disk_of(l);
    struct sim_file *f = NULL;
    struct entry *e;

    lock(d);
    e = entry_of(d, path);
    if (refused(d) || (!e->now && flags & FILE_CREATE && power_goes(d)))
        goto out;
    if (!e->now && !(flags & FILE_CREATE)) {
        errno = ENOENT;
        goto out;
    }
    if (!e->now)
        e->now = inode_new(d);
    f = mem_zalloc(sizeof(*f));
    f->file.layer = l;
    f->inode = e->now;
out:
    unlock(d);
    return f ? &f->file : NULL;
}

static void sim_close(struct file *f)
{
    struct sim_file *sf = (struct sim_file *)f;

    lock(disk_of(f->layer));
    if (sf->locks)
        sf->inode->locked = false;
    unlock(disk_of(f->layer));
    free(sf);
}

static int sim_lock(struct file *f)
{
    struct sim_file *sf = (struct sim_file *)f;
    int rc = 0;

    lock(disk_of(f->layer));
    if (sf->inode->locked) {
        errno = EWOULDBLOCK;
        rc = -1;
    } else {
        sf->inode->locked = sf->locks = true;
    }
    unlock(disk_of(f->layer));
    return rc;
}

static int64_t sim_size(struct file *f)
{
    int64_t size;

    lock(disk_of(f->layer));
    size = (int64_t)inode_of(f)->size;
    unlock(disk_of(f->layer));
    return size;
}

static uint64_t bytes_used(const struct simdisk *d)
{
    uint64_t n = 0;

    for (const struct entry *e = d->entries; e; e = e->next)
        n += e->now ? e->now->size : 0;
    return n;
}

static void put_bytes(struct inode *i, const void *p, size_t n, uint64_t offset)
{
    size_t first = offset / SECTOR, last = (offset + n + SECTOR - 1) / SECTOR;

    if (n == 0)
        return;
    memcpy(i->cache + offset, p, n);
    memset(i->sectors + first, DIRTY, last - first);
    if (last > i->touched)
        i->touched = last;
    if (offset + n > i->size)
        i->size = offset + n;
}

static int sim_write(struct file *f, const void *p, size_t n, uint64_t offset)
{
    struct simdisk *d = disk_of(f->layer);
    struct inode *i = inode_of(f);
    int rc = -1;

    lock(d);
    assert(offset + n <= FILE_MAX);
    if (refused(d))
        goto out;
    if (power_goes(d)) {
        put_bytes(i, p, rand_seq_below(&d->rand, (uint32_t)n + 1), offset);
        errno = EIO;
        goto out;
    }
    if (faulty(d, SIMDISK_WRITE)) {
        int err = errno;

        put_bytes(i, p, rand_seq_below(&d->rand, (uint32_t)n + 1), offset);
        errno = err;
        goto out;
    }
    if (offset + n > i->size && bytes_used(d) + (offset + n - i->size) > d->capacity) {
        errno = ENOSPC;
        goto out;
    }
    put_bytes(i, p, n, offset);
    rc = 0;
out:
    unlock(d);
    return rc;
}

static ssize_t sim_read(struct file *f, void *p, size_t n, uint64_t offset)
{
    struct inode *i = inode_of(f);
    ssize_t got = -1;

    lock(disk_of(f->layer));
    if (!refused(disk_of(f->layer))) {
        size_t left = offset < i->size ? i->size - offset : 0;

        got = (ssize_t)(n < left ? n : left);
        memcpy(p, i->cache + offset, (size_t)got);
    }
    unlock(disk_of(f->layer));
    return got;
}

static int sim_truncate(struct file *f, uint64_t size)
{
    struct simdisk *d = disk_of(f->layer);
    struct inode *i = inode_of(f);
    int rc = -1;

    lock(d);
    if (!refused(d) && !power_goes(d)) {
        size_t first = size / SECTOR;

        if (size < i->size)
            memset(i->cache + size, 0, i->size - size);
        if (first < i->touched)
            memset(i->sectors + first, DIRTY, i->touched - first);
        i->size = size;
        rc = 0;
    }
    unlock(d);
    return rc;
}

static void make_stable(struct inode *i)
{
    for (size_t k = 0; k < i->touched; k++)
        if (i->sectors[k] == DIRTY) {
            memcpy(i->stable + k * SECTOR, i->cache + k * SECTOR, SECTOR);
            i->sectors[k] = CLEAN;
        }
    i->stable_size = i->size;
}

static int sim_sync(struct file *f)
{
    struct simdisk *d = disk_of(f->layer);
    struct inode *i = inode_of(f);
    int rc = -1;

    lock(d);
    if (refused(d) || power_goes(d))
        goto out;
    if (faulty(d, SIMDISK_SYNC)) {
        for (size_t k = 0; k < i->touched; k++)
            if (i->sectors[k] == DIRTY)
                i->sectors[k] = DOUBTFUL;
        goto out;
    }
#ifndef SIMDISK_NO_SYNC
    make_stable(i);
#else
    (void)make_stable;
#endif
    rc = 0;
out:
    unlock(d);
    return rc;
}

static const char *sim_map(struct file *f, size_t size)
{
    assert(size <= FILE_MAX);
    return inode_of(f)->cache;
}

static void sim_unmap(struct file_layer *l, const char *p, size_t size)
{
    (void)l;
    (void)p;
    (void)size;
}

/* ---- names ---- */

static int sim_mkdir(struct file_layer *l, const char *path)
{
    (void)l;
    (void)path;
    return 0;
}

static int sim_rename(struct file_layer *l, const char *from, const char *to)
{
    struct simdisk *d = disk_of(l);
    int rc = -1;

    lock(d);
    if (!refused(d) && !power_goes(d)) {
        struct entry *old = entry_of(d, from), *e = entry_of(d, to);

        e->now = old->now;
        old->now = NULL;
        rc = 0;
    }
    unlock(d);
    return rc;
}

static int sim_unlink(struct file_layer *l, const char *path)
{
    struct simdisk *d = disk_of(l);
    struct entry *e;
    int rc = -1;

    lock(d);
    e = entry_of(d, path);
    if (refused(d))
        goto out;
    if (!e->now) {
        errno = ENOENT;
        goto out;
    }
    if (power_goes(d))
        goto out;
    e->now = NULL;
    rc = 0;
out:
    unlock(d);
    return rc;
}

static int sim_list(struct file_layer *l, const char *dir, file_name_fn *fn, void *arg)
{
    struct simdisk *d = disk_of(l);
    int rc = -1;

    (void)dir;
    lock(d);
    if (!refused(d)) {
        for (struct entry *e = d->entries; e; e = e->next)
            if (e->now)
                fn(arg, e->name);
        rc = 0;
    }
    unlock(d);
    return rc;
}

static int sim_sync_dir(struct file_layer *l, const char *dir)
{
    struct simdisk *d = disk_of(l);
    int rc = -1;

    (void)dir;
    lock(d);
    if (!refused(d) && !power_goes(d) && !faulty(d, SIMDISK_SYNC_DIR)) {
#ifndef SIMDISK_NO_SYNC
        for (struct entry *e = d->entries; e; e = e->next)
            e->stable = e->now;
#endif
        rc = 0;
    }
    unlock(d);
    return rc;
}

/* ---- for tests ---- */

struct simdisk *simdisk_new(uint64_t seed)
{
    struct simdisk *d = mem_zalloc(sizeof(*d));

    d->layer = (struct file_layer){
        .open = sim_open,
        .close = sim_close,
        .lock = sim_lock,
        .size = sim_size,
        .write = sim_write,
        .read = sim_read,
        .truncate = sim_truncate,
        .sync = sim_sync,
        .map = sim_map,
        .unmap = sim_unmap,
        .forget = sim_unmap,
        .mkdir = sim_mkdir,
        .rename = sim_rename,
        .unlink = sim_unlink,
        .list = sim_list,
        .sync_dir = sim_sync_dir,
    };
    d->rand.state = seed;
    d->capacity = UINT64_MAX;
    (void)pthread_mutex_init(&d->mu, NULL);
    return d;
}

void simdisk_free(struct simdisk *d)
{
    for (struct entry *e = d->entries, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    for (struct inode *i = d->inodes, *next; i; i = next) {
        next = i->next;
        (void)munmap(i->cache, FILE_MAX);
        (void)munmap(i->stable, FILE_MAX);
        (void)munmap(i->sectors, SECTORS);
        free(i);
    }
    (void)pthread_mutex_destroy(&d->mu);
    free(d);
}

struct file_layer *simdisk_layer(struct simdisk *d)
{
    return &d->layer;
}

void simdisk_cut_after(struct simdisk *d, uint64_t n)
{
    lock(d);
    d->cut_in = n;
    unlock(d);
}

bool simdisk_is_cut(struct simdisk *d)
{
    bool cut;

    lock(d);
    cut = d->cut;
    unlock(d);
    return cut;
}

void simdisk_fail(struct simdisk *d, enum simdisk_op op, uint64_t n, uint64_t times, int err)
{
    lock(d);
    d->faults[op] = (struct fault){ n, times, err };
    unlock(d);
}

void simdisk_capacity(struct simdisk *d, uint64_t bytes)
{
    lock(d);
    d->capacity = bytes;
    unlock(d);
}

uint64_t simdisk_operations(struct simdisk *d)
{
    uint64_t n;

    lock(d);
    n = d->operations;
    unlock(d);
    return n;
}

size_t simdisk_files(struct simdisk *d)
{
    size_t n = 0;

    lock(d);
    for (struct entry *e = d->entries; e; e = e->next)
        n += e->now != NULL;
    unlock(d);
    return n;
}

uint64_t simdisk_file_bytes(struct simdisk *d, const char *name)
{
    uint64_t n;

    lock(d);
    n = entry_of(d, name)->now ? entry_of(d, name)->now->size : 0;
    unlock(d);
    return n;
}

void simdisk_corrupt(struct simdisk *d, const char *name, uint64_t offset, uint8_t with)
{
    struct inode *i;

    lock(d);
    i = entry_of(d, name)->now;
    assert(i && offset < i->size);
    i->cache[offset] = i->stable[offset] = (char)with;
    unlock(d);
}

bool simdisk_remove(struct simdisk *d, const char *name)
{
    struct entry *e;
    bool was;

    lock(d);
    e = entry_of(d, name);
    was = e->now != NULL;
    e->now = e->stable = NULL;
    unlock(d);
    return was;
}
