/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CRD_GROUPS_H
#define KINDS_CRD_GROUPS_H

/* The group of CustomResourceDefinitions. */

#include "kinds/frame/group.h"

extern const struct group group_apiextensions;

#endif
