/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/epoch.h"

enum { READ_BYTES = 256 << 10 };

struct backup {
    struct worker_job job; /* first: the worker gets this */
    struct http_source source;
    struct call *call;
    struct arena *arena; /* the worker's, so that the call's is touched on its loop only */
    struct status st;
    int fd, failed;
    uint64_t rev;
    off_t at;
};

static int write_fd(void *arg, const void *p, size_t n)
{
    struct backup *b = arg;

    while (n) {
        ssize_t done = write(b->fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return status_errno(&b->st, errno, "cannot write the backup");
        p = (const char *)p + done;
        n -= (size_t)done;
    }
    return 0;
}

static void make(struct worker_job *job)
{
    struct backup *b = (struct backup *)(void *)job;

    epoch_enter();
    b->failed = store_backup(b->call->server->store, write_fd, b, &b->rev, &b->st);
    epoch_exit();
}

static int pull(struct http_source *self, struct buf *out, size_t want)
{
    struct backup *b = (struct backup *)(void *)((char *)self - offsetof(struct backup, source));
    char *to = buf_reserve(out, READ_BYTES);
    ssize_t n = to ? pread(b->fd, to, READ_BYTES, b->at) : -1;

    (void)want;
    if (n < 0)
        return -1;
    out->n += (size_t)n;
    b->at += n;
    return n > 0;
}

static void made(struct worker_job *job)
{
    struct backup *b = (struct backup *)(void *)job;
    struct call *c = b->call;

    atomic_store(&c->server->backing_up, false);
    if (b->failed < 0) {
        call_fail(c, &b->st);
        return;
    }
    b->source.pull = pull;
    call_header_add(c, STR("kairship-revision"),
                    str_printf(c->arena, "%llu", (unsigned long long)b->rev));
    call_answer_source(c, STR(BACKUP_CONTENT_TYPE), &b->source);
}

static void release(void *arg)
{
    struct backup *b = arg;

    (void)close(b->fd);
    arena_free(b->arena);
}

static void refuse(struct call *c, struct status *st)
{
    st->retry_after_s = 1;
    (void)status_set(st, REASON_TOO_MANY_REQUESTS, "a backup is being made, try again later");
    call_fail(c, st);
}

void backup_serve(struct call *c)
{
    struct backup *b;
    struct status *st = call_status(c);
    int fd;

    if (atomic_exchange(&c->server->backing_up, true)) {
        refuse(c, st);
        return;
    }
    fd = open(c->server->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        (void)status_errno(st, errno, "cannot begin a backup in %s", c->server->dir);
        atomic_store(&c->server->backing_up, false);
        call_fail(c, st);
        return;
    }
    b = arena_new_of(c->arena, struct backup);
    b->call = c;
    b->fd = fd;
    b->arena = arena_new();
    status_init(&b->st, b->arena);
    arena_defer(c->arena, release, b);
    b->job.run = make;
    b->job.done = made;
    if (workers_submit(c->server->workers, &b->job))
        return;
    atomic_store(&c->server->backing_up, false);
    refuse(c, st);
}
