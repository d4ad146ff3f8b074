/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_CONDITIONS_H
#define KINDS_FRAME_CONDITIONS_H

/* metav1.Condition, where what a controller says of an object is checked. */

#include "kinds/frame/site.h"

/* k8s: apimachinery/pkg/apis/meta/v1/validation ValidateConditions */
void conditions_check(struct status *st, const struct site *list);

#endif
