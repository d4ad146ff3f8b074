/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_ADMISSIONREGISTRATION_H
#define KINDS_ADMISSIONREGISTRATION_H

/* What webhooks and policies of admission share. */

#include "kinds/site.h"
#include "rest/kind.h"

/* An expression that must be there and well-formed. */
void admission_check_expression(struct status *st, const struct site *expression);
void admission_check_conditions(struct status *st, const struct site *conditions);
/* Operations on resources, as rules of webhooks and policies have them. */
void admission_check_rule(struct status *st, const struct site *rule);

extern const struct kind_ops webhook_configuration_ops, admission_policy_ops, admission_binding_ops;

#endif
