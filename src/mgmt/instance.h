/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_INSTANCE_H
#define MGMT_INSTANCE_H

/* Instances as messages: what their objects in root have elsewhere is among their metadata here. */

#include "mgmt/mgmt_internal.h"

struct json instance_shape(struct arena *a, const struct json *obj);

/* The object with labels, annotations, and what they say of alias, description and release, as in
 * the metadata of a message or of an object. */
const struct json *instance_with(struct arena *a, const struct json *obj,
                                 const struct json *metadata);

/* One object of root; who asks has been checked. */
int instance_get(const struct mgmt_parts *p, struct rpc_context *ctx, str name,
                 const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* Advanced settings (mgmt/instance_settings.c) and credentials (mgmt/instance_access.c). */
rpc_fn instance_get_failover, instance_update_failover, instance_get_descheduler,
    instance_update_descheduler, instance_get_metrics_adapter, instance_update_metrics_adapter,
    instance_kubeconfig;

#endif
