/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CRDSCHEMA_CEL_ESTIMATE_H
#define OBJECT_CRDSCHEMA_CEL_ESTIMATE_H

/*
 * What a rule of a CRD may cost at most, as Kubernetes estimates it when the CRD is written.
 * k8s: apiextensions-apiserver/pkg/apiserver/schema/cel, cel-go checker/cost.go
 */

#include "object/cel/cel.h"

/* The cost of a program at most, UINT64_MAX when there is no limit. */
uint64_t cel_estimate(const struct cel_program *p);

/* How often values of a schema can stand in one object, at most. */
uint64_t cel_cardinality(const struct schema *s);

#endif
