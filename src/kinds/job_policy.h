/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_JOB_POLICY_H
#define KINDS_JOB_POLICY_H

/* Rules of a Job's podFailurePolicy, and of the successPolicy of one with indexes. */

#include "kinds/site.h"

void job_check_failure_policy(struct status *st, const struct site *spec);
void job_check_success_policy(struct status *st, const struct site *spec);

#endif
