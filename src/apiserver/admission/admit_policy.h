/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_ADMIT_POLICY_H
#define APISERVER_ADMISSION_ADMIT_POLICY_H

/*
 * Evaluates the ValidatingAdmissionPolicies of an instance for a write.
 *
 * k8s: apiserver/pkg/admission/plugin/policy/{generic,validating}
 */

#include "apiserver/admission/hooks.h"

struct server;

/* Returns 0, or -1 with the client's error.  Warnings and audit annotations go to the request. */
int policies_validate(struct server *s, const struct hook_set *set, struct hook_write *w,
                      struct status *st) __attribute__((warn_unused_result));

#endif
