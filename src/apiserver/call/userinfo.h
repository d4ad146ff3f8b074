/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_CALL_USERINFO_H
#define APISERVER_CALL_USERINFO_H

#include "base/identity.h"
#include "json/json.h"

/* The identity as reviews show it (k8s: authentication.k8s.io UserInfo), without empty fields. */
const struct json *userinfo_json(struct arena *a, const struct identity *who);

#endif
