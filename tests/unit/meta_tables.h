/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_TABLES_H
#define META_TABLES_H

/* A few kinds as tables, for the tests of what works by them. */

#include "object/meta/schema_table.h"

static const char meta_tables_meta[] =
    "table io.k8s.apimachinery.pkg.apis.meta.v1\n"
    "type ObjectMeta\n"
    "  name                       1 string\n"
    "  generateName               2 string\n"
    "  namespace                  3 string\n"
    "  uid                        5 string\n"
    "  resourceVersion            6 string\n"
    "  generation                 7 int64\n"
    "  creationTimestamp          8 time\n"
    "  deletionTimestamp          9 *time\n"
    "  deletionGracePeriodSeconds 10 *int64\n"
    "  labels                     11 map[string]\n"
    "  annotations                12 map[string]\n"
    "  ownerReferences            13 []OwnerReference merge=uid list=map(uid)\n"
    "  finalizers                 14 []string merge list=set\n"
    "  managedFields              17 []ManagedFieldsEntry list=atomic\n"
    "type OwnerReference atomic\n"
    "  apiVersion         5 string always required\n"
    "  kind               1 string always required\n"
    "  name               3 string always required\n"
    "  uid                4 string always required\n"
    "  controller         6 *bool\n"
    "  blockOwnerDeletion 7 *bool\n"
    "type ManagedFieldsEntry\n"
    "  manager    1 string\n"
    "  operation  2 string\n"
    "  apiVersion 3 string\n"
    "  time       4 *time\n"
    "  fieldsType 6 string\n"
    "  fieldsV1   7 *any\n"
    "type ListMeta\n"
    "  resourceVersion 2 string\n";

static const char meta_tables_core[] =
    "table io.k8s.api.core.v1\n"
    "use meta io.k8s.apimachinery.pkg.apis.meta.v1\n"
    "kind ConfigMap\n"
    "  data       2 map[string]\n"
    "  binaryData 3 map[bytes]\n"
    "  immutable  4 *bool\n"
    "kind Event\n"
    "  involvedObject     2 ObjectReference always required\n"
    "  reason             3 string\n"
    "  source             5 EventSource always\n"
    "  firstTimestamp     6 time always\n"
    "  count              8 int32\n"
    "  type               9 string\n"
    "  eventTime          10 microtime always\n"
    "  reportingComponent 14 string always\n"
    "type ObjectReference atomic\n"
    "  kind      1 string\n"
    "  namespace 2 string\n"
    "  name      3 string\n"
    "type EventSource\n"
    "  component 1 string\n"
    "  host      2 string\n"
    "kind Pod\n"
    "  spec 2 PodSpec always\n"
    "type PodSpec\n"
    "  volumes        1 []Volume merge=name retain list=map(name)\n"
    "  containers     2 []Container required merge=name list=map(name)\n"
    "  restartPolicy  3 string default=\"Always\"\n"
    "  gracePeriod    4 *int64 default=30\n"
    "  nodeSelector   7 map[string] atomic\n"
    "  hostAliases    23 []HostAlias merge=ip list=map(ip)\n"
    "  overhead       32 map[quantity]\n"
    "  extra          40 map[ExtraValue]\n"
    "  ratio          41 double\n"
    "  rules          42 []string always\n"
    "  strategy       43 Strategy retain always\n"
    "  numbers        44 []int32\n"
    "  hints          45 []Hint list=map(name,kind)\n"
    "type Hint\n"
    "  name 1 string always required\n"
    "  kind 2 *string\n"
    "type Strategy\n"
    "  type          1 string\n"
    "  rollingUpdate 2 *Rolling\n"
    "type Rolling\n"
    "  maxSurge 1 *intorstring\n"
    "type HostAlias\n"
    "  ip        1 string required always\n"
    "  hostnames 2 []string list=atomic\n"
    "alias ExtraValue 1 []string\n"
    "type Volume\n"
    "  name 1 string required always\n"
    "  +    2 VolumeSource\n"
    "type VolumeSource\n"
    "  emptyDir 2 *EmptyDir\n"
    "  hostPath 1 *HostPath\n"
    "type EmptyDir\n"
    "  medium 1 string\n"
    "type HostPath\n"
    "  path 1 string required always\n"
    "type Container\n"
    "  name  1 string required always\n"
    "  image 2 string\n"
    "  args  4 []string list=atomic\n"
    "  ports 6 []ContainerPort merge=containerPort list=map(containerPort,protocol)\n"
    "  env   7 []EnvVar merge=name list=map(name)\n"
    "type ContainerPort\n"
    "  name          1 string\n"
    "  containerPort 3 int32 always required\n"
    "  protocol      4 string default=\"TCP\"\n"
    "type EnvVar\n"
    "  name  1 string always required\n"
    "  value 2 string\n"
    "kind Lease\n"
    "  spec 2 LeaseSpec always\n"
    "type LeaseSpec\n"
    "  holderIdentity       1 *string\n"
    "  leaseDurationSeconds 2 *int32\n"
    "  acquireTime          3 *microtime\n"
    "  renewTime            4 *microtime\n"
    "  leaseTransitions     5 *int32\n";

static struct schema_set *meta_tables_load(void)
{
    scoped_arena a = arena_new();
    struct schema_set *s = schema_set_new();
    struct status st;

    status_init(&st, a);
    if (schema_set_add(s, str_of(meta_tables_core), &st) < 0 ||
        schema_set_add(s, str_of(meta_tables_meta), &st) < 0 || schema_set_link(s, &st) < 0) {
        printf("Bail out! %.*s\n", STR_ARG(st.message));
        abort();
    }
    return s;
}

#endif
