/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_ROOT_CA_H
#define OBJECT_META_ROOT_CA_H

/*
 * The ConfigMap of every namespace by which programs inside know the server.  It has to be what
 * kube-controller-manager would make: where one runs beside us, both look after it.
 * k8s: pkg/controller/certificates/rootcacertpublisher
 */

#include "json/json.h"

#define ROOT_CA_NAME "kube-root-ca.crt"

/* Without a namespace where the path says it. */
const struct json *root_ca_new(struct arena *a, str namespace, str ca_pem);

/* The ConfigMap as it should be, with what else is in its metadata; `found` itself if it is so. */
const struct json *root_ca_mend(struct arena *a, const struct json *found, str ca_pem);

#endif
