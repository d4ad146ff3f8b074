/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOOP_WORKERS_H
#define LOOP_WORKERS_H

/*
 * A bounded pool of threads for what may block or take long.  A job runs on some worker, then its
 * `done` on the loop that submitted it.  Threads start when the first job comes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

struct workers;

struct worker_job {
    struct loop_msg msg; /* ours */
    struct worker_job *next;
    struct loop *loop;
    void (*run)(struct worker_job *job);  /* on a worker */
    void (*done)(struct worker_job *job); /* on the loop that submitted */
};

struct workers *workers_new(unsigned threads, size_t queue_max);
void workers_free(struct workers *w); /* finishes what is queued, joins */

/* From a loop's thread.  False when the queue is full: answer 429. */
bool workers_submit(struct workers *w, struct worker_job *job);

#endif
