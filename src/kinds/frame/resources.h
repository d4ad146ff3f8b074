/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_RESOURCES_H
#define KINDS_FRAME_RESOURCES_H

/*
 * Names of compute resources and countable objects, as LimitRanges and ResourceQuotas use them.
 * k8s: pkg/apis/core/helper, pkg/apis/core/validation
 */

#include "rest/kind.h"

enum resource_use {
    RESOURCE_ANY,       /* a standard resource, or a qualified name */
    RESOURCE_CONTAINER, /* what a container may ask for */
    RESOURCE_QUOTA,     /* what a quota may count */
};

void resource_check_name(struct status *st, enum resource_use use, str field, str name);

/* Not negative, and whole where the resource is counted. */
void resource_check_value(struct status *st, str field, str name, str value);

/* True where limits may be above requests: everything built in except huge pages. */
bool resource_overcommits(str name);

/* The scopes of quotas as bits; 0 for an unknown one. */
unsigned resource_scope(str name);

/* Whether a quota of this one scope may limit this resource; true for what is not built in. */
bool resource_in_scope(unsigned scope, str name);

#endif
