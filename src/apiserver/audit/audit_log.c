/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_log.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/log.h"
#include "base/mem.h"

enum { BATCH = 250 };

struct audit_log {
    struct audit_queue queue;
    struct audit_sink sink;
    struct audit_file *file; /* or NULL */
    pthread_t thread;
    bool started, failing;
    pthread_mutex_t mu;
    pthread_cond_t wake;
    bool some, stop; /* guarded by mu: there may be something to write; nothing more comes */
    size_t lost;
};

/* Until there is something, or it is to stop. */
static bool wait_for_some(struct audit_log *l)
{
    bool stop;

    (void)pthread_mutex_lock(&l->mu);
    while (!l->some && !l->stop)
        (void)pthread_cond_wait(&l->wake, &l->mu);
    l->some = false;
    stop = l->stop;
    (void)pthread_mutex_unlock(&l->mu);
    return !stop;
}

/* Less when it is to stop; true then. */
static bool nap(struct audit_log *l, int64_t ms)
{
    struct timespec until;
    bool stop;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&l->mu);
    while (!l->stop && pthread_cond_timedwait(&l->wake, &l->mu, &until) != ETIMEDOUT)
        ;
    stop = l->stop;
    (void)pthread_mutex_unlock(&l->mu);
    return stop;
}

/* Tells once that it fails, and once that it does no more. */
static void note(struct audit_log *l, const struct status *why)
{
    if (why && !l->failing)
        log_error("what is audited cannot be written, and is kept until there is no room",
                  log_str("to", str_of(l->sink.name)), log_status(why));
    if (!why && l->failing)
        log_info("what is audited is written again", log_str("to", str_of(l->sink.name)));
    l->failing = why != NULL;
}

/* All of them, however long that takes; less when it is to stop. */
static void write_batch(struct audit_log *l, struct bytes **events, size_t n)
{
    str lines[BATCH];
    size_t written = 0, done;

    for (size_t i = 0; i < n; i++)
        lines[i] = bytes_str(events[i]);
    for (;;) {
        scoped_arena a = arena_new();
        struct status st;
        int rc;

        status_init(&st, a);
        rc = l->sink.write(l->sink.arg, lines + written, n - written, &done, &st);
        written += done;
        note(l, rc < 0 ? &st : NULL);
        if (rc == 0 || nap(l, AUDIT_LOG_RETRY_MS))
            break;
    }
    l->lost += n - written;
    audit_queue_done(&l->queue, events, n);
}

static void write_all(struct audit_log *l)
{
    struct bytes *events[BATCH];
    size_t n;

    while ((n = audit_queue_take(&l->queue, events, BATCH, SIZE_MAX)) > 0)
        write_batch(l, events, n);
}

static void *run(void *arg)
{
    struct audit_log *l = arg;

    while (wait_for_some(l)) {
        (void)nap(l, AUDIT_LOG_NAP_MS);
        write_all(l);
    }
    write_all(l);
    return NULL;
}

static int write_file(void *arg, const str *lines, size_t n, size_t *done, struct status *st)
{
    return audit_file_write(arg, lines, n, done, st);
}

struct audit_log *audit_log_new(const struct audit_file_options *o, struct status *st)
{
    struct audit_file *file = audit_file_new(o, st);
    struct audit_log *l;

    if (!file)
        return NULL;
    l = audit_log_new_to(&(struct audit_sink){ "the audit log", write_file, file }, st);
    if (l)
        l->file = file;
    else
        audit_file_free(file);
    return l;
}

struct audit_log *audit_log_new_to(const struct audit_sink *sink, struct status *st)
{
    struct audit_log *l = mem_zalloc(sizeof(*l));
    pthread_condattr_t monotonic;
    int err;

    audit_queue_init(&l->queue, AUDIT_LOG_EVENTS, AUDIT_LOG_BYTES);
    (void)pthread_mutex_init(&l->mu, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&l->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    l->sink = *sink;
    err = pthread_create(&l->thread, NULL, run, l);
    l->started = !err;
    if (l->started)
        return l;
    (void)status_errno(st, err, "cannot start a thread");
    (void)audit_log_free(l);
    return NULL;
}

size_t audit_log_free(struct audit_log *l)
{
    size_t lost;

    if (!l)
        return 0;
    (void)pthread_mutex_lock(&l->mu);
    l->stop = true;
    (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->mu);
    if (l->started)
        (void)pthread_join(l->thread, NULL);
    lost = l->lost;
    audit_file_free(l->file);
    audit_queue_release(&l->queue);
    (void)pthread_cond_destroy(&l->wake);
    (void)pthread_mutex_destroy(&l->mu);
    free(l);
    return lost;
}

bool audit_log_put(struct audit_log *l, struct bytes *event)
{
    size_t n;

    if (!audit_queue_put(&l->queue, event, &n))
        return false;
    if (n > 1) /* who put the first has woken the thread */
        return true;
    (void)pthread_mutex_lock(&l->mu);
    l->some = true;
    (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->mu);
    return true;
}

bool audit_log_has_room(struct audit_log *l)
{
    return audit_queue_has_room(&l->queue);
}
