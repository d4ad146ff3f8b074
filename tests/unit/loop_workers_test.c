/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "loop/workers.h"
#include "tap.h"

enum { JOBS = 200 };

struct square {
    struct worker_job job;
    int in, out;
    pthread_t ran_on;
};

static struct loop *loop;
static struct workers *workers;
static struct square jobs[JOBS];
static int done_jobs, want_jobs;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void run_square(struct worker_job *job)
{
    struct square *s = (struct square *)job;

    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    s->ran_on = pthread_self();
    s->out = s->in * s->in;
}

static void done_square(struct worker_job *job)
{
    struct square *s = (struct square *)job;

    CHECK(loop_is_current(loop));
    CHECK(s->out == s->in * s->in);
    CHECK(!pthread_equal(s->ran_on, pthread_self()));
    if (++done_jobs == want_jobs)
        loop_stop(loop);
}

static bool submit(int i)
{
    jobs[i] = (struct square){ .job.run = run_square, .job.done = done_square, .in = i + 1 };
    return workers_submit(workers, &jobs[i].job);
}

static void submit_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < JOBS; i++)
        CHECK(submit(i));
}

TEST(every_job_runs_on_a_worker_and_ends_on_its_loop)
{
    loop = loop_new();
    workers = workers_new(3, JOBS);
    done_jobs = 0;
    want_jobs = JOBS;
    loop_call(loop, submit_all, NULL);
    loop_run(loop);
    CHECK(done_jobs == JOBS);
    workers_free(workers);
    loop_free(loop);
}

static int refused;

/* One thread, held at the gate, and a queue of four: at most five fit. */
static void submit_too_many(void *arg)
{
    (void)arg;
    (void)pthread_mutex_lock(&gate);
    want_jobs = 0;
    for (int i = 0; i < 20; i++)
        if (submit(i))
            want_jobs++;
        else
            refused++;
    (void)pthread_mutex_unlock(&gate);
}

TEST(a_full_queue_refuses)
{
    loop = loop_new();
    workers = workers_new(1, 4);
    done_jobs = 0;
    loop_call(loop, submit_too_many, NULL);
    loop_run(loop);
    CHECK(want_jobs >= 4 && want_jobs <= 5);
    CHECK(refused == 20 - want_jobs);
    CHECK(done_jobs == want_jobs);
    workers_free(workers);
    loop_free(loop);
}

static void submit_and_stop(void *arg)
{
    (void)arg;
    want_jobs = -1;
    for (int i = 0; i < 4; i++)
        CHECK(submit(i));
    loop_stop(loop);
}

TEST(freeing_finishes_what_is_queued)
{
    loop = loop_new();
    workers = workers_new(2, 4);
    done_jobs = 0;
    loop_call(loop, submit_and_stop, NULL);
    loop_run(loop);
    workers_free(workers);
    loop_free(loop);
    CHECK(done_jobs == 4);
}

TEST(a_pool_that_was_never_used_starts_nothing)
{
    workers_free(workers_new(64, 1));
    workers_free(NULL);
}
