/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_SERVICE_CHECK_H
#define KINDS_K8S_SERVICE_CHECK_H

/* The rules of Services, in the order in which Kubernetes looks at them. */

#include "base/status.h"
#include "json/json.h"

bool service_is(const struct json *obj, const char *type);
bool service_is_external(const struct json *obj); /* reached from outside by a port of the nodes */
bool service_needs_health_port(const struct json *obj);
/* Whoever says where a headless service leads to may do so in both families. */
bool service_has_families_of_its_own(const struct json *obj);

/* old is NULL on create. */
void service_check(struct status *st, const struct json *obj, const struct json *old);

/* Its addresses and their families only; false when something is wrong. */
bool service_check_addresses(struct status *st, const struct json *obj);

/* Whether an address may be looked for: what is sent has none that is wrong. */
bool service_takes_addresses(struct arena *a, const struct json *obj, const struct json *old);

/* What a write to its status says.  k8s: ValidateLoadBalancerStatus */
void service_check_ingress(struct status *st, const struct json *obj);

#endif
