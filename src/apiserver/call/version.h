/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_VERSION_H
#define APISERVER_CALL_VERSION_H

/* Who we say we are: a Kubernetes 1.35 with our own version as build metadata. */

#include "json/json.h"

#define VERSION_KUBERNETES_MAJOR "1"
#define VERSION_KUBERNETES_MINOR "35"

str version_own(void);        /* "0.2.0" */
str version_kubernetes(void); /* "v1.35.0+kairship-0.2.0": semver, as helm and others parse it */

/* The answer of /version. */
const struct json *version_document(struct arena *a);

#endif
