/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ADMIT_POLICY_H
#define SERVER_ADMIT_POLICY_H

/*
 * ValidatingAdmissionPolicies: what the expressions of an instance's policies say to a write.
 *
 * k8s: apiserver/pkg/admission/plugin/policy/{generic,validating}
 */

#include "server/hooks.h"

struct server;

/* 0, or -1 with what the client is told.  Warnings and notes for the audit go to the request. */
int policies_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st) __attribute__((warn_unused_result));

#endif
