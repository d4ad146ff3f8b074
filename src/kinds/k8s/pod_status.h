/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_POD_STATUS_H
#define KINDS_K8S_POD_STATUS_H

#include "base/status.h"
#include "json/json.h"

/* An update of a pod's status: what it may say, and what of the old one it may take back. */
void pod_check_status(struct status *st, const struct json *obj, const struct json *old);

#endif
