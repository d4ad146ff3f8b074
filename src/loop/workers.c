/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/workers.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

struct workers {
    pthread_mutex_t mu;
    pthread_cond_t more;
    struct worker_job *first, **tail; /* guarded by mu, as all below */
    size_t queued, queue_max;
    unsigned idle, started, threads_max;
    bool closing;
    pthread_t *threads;
};

struct workers *workers_new(unsigned threads, size_t queue_max)
{
    struct workers *w = mem_zalloc(sizeof(*w));

    assert(threads > 0 && queue_max > 0);
    (void)pthread_mutex_init(&w->mu, NULL);
    (void)pthread_cond_init(&w->more, NULL);
    w->tail = &w->first;
    w->queue_max = queue_max;
    w->threads_max = threads;
    w->threads = mem_zalloc(threads * sizeof(pthread_t));
    return w;
}

static void finished(struct loop_msg *msg)
{
    struct worker_job *job = (struct worker_job *)msg; /* msg is its first member */

    job->done(job);
}

/* Waits for a job; NULL when there is none left and the pool closes. */
static struct worker_job *take(struct workers *w)
{
    struct worker_job *job;

    (void)pthread_mutex_lock(&w->mu);
    w->idle++;
    while (!w->first && !w->closing)
        (void)pthread_cond_wait(&w->more, &w->mu);
    w->idle--;
    job = w->first;
    if (job) {
        w->first = job->next;
        if (!w->first)
            w->tail = &w->first;
        w->queued--;
    }
    (void)pthread_mutex_unlock(&w->mu);
    return job;
}

static void *work(void *arg)
{
    struct workers *w = arg;

    for (struct worker_job *job; (job = take(w));) {
        struct loop *l = job->loop;

        job->run(job);
        job->msg.fn = finished;
        loop_post(l, &job->msg);
    }
    return NULL;
}

/* Signals are for the main thread.  When the system gives no thread, those there are must do. */
static void start_one_locked(struct workers *w)
{
    sigset_t all, old;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&w->threads[w->started], NULL, work, w) == 0)
        w->started++;
    else if (w->started == 0)
        mem_exhausted();
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool workers_submit(struct workers *w, struct worker_job *job)
{
    bool fits;

    job->loop = loop_current();
    assert(job->loop);
    job->next = NULL;
    (void)pthread_mutex_lock(&w->mu);
    assert(!w->closing);
    fits = w->queued < w->queue_max;
    if (fits) {
        *w->tail = job;
        w->tail = &job->next;
        w->queued++;
        if (w->queued > w->idle && w->started < w->threads_max)
            start_one_locked(w);
        else
            (void)pthread_cond_signal(&w->more);
    }
    (void)pthread_mutex_unlock(&w->mu);
    return fits;
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    (void)pthread_mutex_lock(&w->mu);
    w->closing = true;
    (void)pthread_cond_broadcast(&w->more);
    (void)pthread_mutex_unlock(&w->mu);
    for (unsigned i = 0; i < w->started; i++)
        (void)pthread_join(w->threads[i], NULL);
    (void)pthread_cond_destroy(&w->more);
    (void)pthread_mutex_destroy(&w->mu);
    free(w->threads);
    free(w);
}
