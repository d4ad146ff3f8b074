/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_ADMISSIONREGISTRATION_H
#define KINDS_K8S_ADMISSIONREGISTRATION_H

/* What webhooks and policies of admission share. */

#include "kinds/frame/site.h"
#include "object/cel/cel_admission.h"
#include "rest/kind.h"

/* An expression that must be there and compile; the program, or NULL when a fault was added. */
const struct cel_program *admission_check_expression(struct status *st,
                                                     const struct site *expression,
                                                     const struct cel_admission *scope,
                                                     enum cel_admission_result result);
void admission_check_conditions(struct status *st, const struct site *conditions,
                                const struct cel_admission *scope);
/* Operations on resources, as rules of webhooks and policies have them. */
void admission_check_rule(struct status *st, const struct site *rule);

extern const struct kind_ops webhook_configuration_ops, admission_policy_ops, admission_binding_ops;

#endif
