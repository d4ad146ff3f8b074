/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_JOB_POLICY_H
#define KINDS_K8S_JOB_POLICY_H

/* Rules of a Job's podFailurePolicy, and of the successPolicy of one with indexes. */

#include "kinds/frame/site.h"

void job_check_failure_policy(struct status *st, const struct site *spec);
void job_check_success_policy(struct status *st, const struct site *spec);

/*
 * Indexes of pods as text, "0,3-5", and one part of it.  What is wrong, empty when nothing is; k8s:
 * validateIndexesFormat, parseIndexInterval
 */
str job_read_indexes(struct arena *a, str text, int64_t completions, int64_t *total);
str job_read_interval(struct arena *a, str text, int64_t completions, int64_t *from, int64_t *to);

/* An update of the status; job_status.c. */
void job_check_status(struct status *st, const struct json *obj, const struct json *old);

#endif
