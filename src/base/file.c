/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"

struct real_file {
    struct file file;
    int fd;
};

static int fd_of(struct file *f)
{
    return ((struct real_file *)f)->fd;
}

static struct file *real_open(struct file_layer *l, const char *path, int flags)
{
    int how = (flags & FILE_WRITE ? O_RDWR : O_RDONLY) | (flags & FILE_CREATE ? O_CREAT : 0);
    int fd = open(path, how | O_CLOEXEC, 0600);
    struct real_file *f;

    if (fd < 0)
        return NULL;
    f = mem_alloc(sizeof(*f));
    f->file.layer = l;
    f->fd = fd;
    return &f->file;
}

static void real_close(struct file *f)
{
    (void)close(fd_of(f));
    free(f);
}

static int real_lock(struct file *f)
{
    return flock(fd_of(f), LOCK_EX | LOCK_NB);
}

static int64_t real_size(struct file *f)
{
    struct stat sb;

    return fstat(fd_of(f), &sb) < 0 ? -1 : (int64_t)sb.st_size;
}

static int real_write(struct file *f, const void *p, size_t n, uint64_t offset)
{
    const char *at = p;

    while (n > 0) {
        ssize_t done = pwrite(fd_of(f), at, n, (off_t)offset);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        at += done;
        n -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

static ssize_t real_read(struct file *f, void *p, size_t n, uint64_t offset)
{
    size_t got = 0;

    while (got < n) {
        ssize_t some = pread(fd_of(f), (char *)p + got, n - got, (off_t)(offset + got));

        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return -1;
        if (some == 0)
            break;
        got += (size_t)some;
    }
    return (ssize_t)got;
}

static int real_truncate(struct file *f, uint64_t size)
{
    return ftruncate(fd_of(f), (off_t)size);
}

static int real_sync(struct file *f)
{
    return fdatasync(fd_of(f));
}

static const char *real_map(struct file *f, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd_of(f), 0);

    return p == MAP_FAILED ? NULL : p;
}

/* The system's calls take what they only look at without const. */
static void *plain(const char *p)
{
    return (void *)(uintptr_t)p;
}

static void real_unmap(struct file_layer *l, const char *p, size_t size)
{
    (void)l;
    (void)munmap(plain(p), size);
}

static void real_forget(struct file_layer *l, const char *p, size_t size)
{
    (void)l;
    (void)madvise(plain(p), size, MADV_DONTNEED);
}

static int real_mkdir(struct file_layer *l, const char *path)
{
    struct stat sb;

    (void)l;
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST || stat(path, &sb) < 0)
        return -1;
    if (S_ISDIR(sb.st_mode))
        return 0;
    errno = ENOTDIR;
    return -1;
}

static int real_rename(struct file_layer *l, const char *from, const char *to)
{
    (void)l;
    return rename(from, to);
}

static int real_unlink(struct file_layer *l, const char *path)
{
    (void)l;
    return unlink(path);
}

static int real_list(struct file_layer *l, const char *dir, file_name_fn *fn, void *arg)
{
    DIR *d = opendir(dir);
    int err;

    (void)l;
    if (!d)
        return -1;
    errno = 0;
    for (struct dirent *e; (e = readdir(d)); errno = 0)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fn(arg, e->d_name);
    err = errno;
    (void)closedir(d);
    errno = err;
    return err ? -1 : 0;
}

static int real_sync_dir(struct file_layer *l, const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc, err;

    (void)l;
    if (fd < 0)
        return -1;
    rc = fsync(fd);
    err = errno;
    (void)close(fd);
    errno = err;
    return rc;
}

struct file_layer *file_real(void)
{
    static struct file_layer real = {
        .open = real_open,
        .close = real_close,
        .lock = real_lock,
        .size = real_size,
        .write = real_write,
        .read = real_read,
        .truncate = real_truncate,
        .sync = real_sync,
        .map = real_map,
        .unmap = real_unmap,
        .forget = real_forget,
        .mkdir = real_mkdir,
        .rename = real_rename,
        .unlink = real_unlink,
        .list = real_list,
        .sync_dir = real_sync_dir,
    };

    return &real;
}

int file_sync_parent(struct file_layer *l, const char *path)
{
    char *parent = mem_strdup(path), *slash;
    size_t n = strlen(parent);
    int rc;

    while (n > 1 && parent[n - 1] == '/')
        parent[--n] = '\0';
    slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    rc = file_sync_dir(l, slash ? parent : ".");
    free(parent);
    return rc;
}
