/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SCHEDULER_H

/*
 * What the scheduler has beside its client: its arg.  One for all instances.
 *
 *     struct scheduler *s = scheduler_new(recorder, NULL);
 *     spec = scheduler_controller;
 *     spec.arg = s;
 */

#include "base/clock.h"
#include "client/recorder.h"

struct scheduler;

/* recorder: events on bindings and templates, kept; NULL: none.  clock: NULL: the real one. */
struct scheduler *scheduler_new(struct recorder *recorder, struct clock *clock);
void scheduler_free(struct scheduler *s); /* when the controller has stopped; NULL is fine */

/* Decisions made so far, and how many of them were written because they were new.  Any thread. */
void scheduler_counts(struct scheduler *s, uint64_t *decided, uint64_t *written);

#endif
