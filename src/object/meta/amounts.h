/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_AMOUNTS_H
#define OBJECT_META_AMOUNTS_H

/* Quantities by name: Kubernetes' ResourceList.  In an arena; sorted, each name once. */

#include "object/meta/quantity.h"
#include "json/json.h"

struct amount {
    str name;
    struct quantity q;
};

struct amounts {
    struct amount *at;
    size_t n;
};

struct amounts amounts_of(struct arena *a, const struct json *list); /* NULL: none */
const struct json *amounts_json(struct arena *a, const struct amounts *m);
struct amount *amounts_find(const struct amounts *m, str name);        /* or NULL */
const struct quantity *amounts_get(const struct amounts *m, str name); /* or NULL */

/* x + sign * y, with the names of both. */
struct amounts amounts_add(struct arena *a, const struct amounts *x, int sign,
                           const struct amounts *y);

/*
 * An IntOrString: an int, or a percentage of a total that is not negative, rounded up or down;
 * `otherwise` if it is neither.
 */
int64_t amounts_int_or_percent(const struct json *v, int64_t total, bool up, int64_t otherwise);

str amounts_text(struct arena *a, const struct amounts *m); /* "cpu=1,pods=2" */

/* What a pod may say of itself, not only of its containers. */
bool amounts_of_whole_pod(str name);

/*
 * What a pod needs in all; which: "requests" or "limits".  k8s: component-helpers/resource
 *
 * Of its spec: what the containers ask for; what the pod says of itself takes the place of that,
 * and its overhead comes on top, where these parts are wanted.
 */
enum amounts_parts { AMOUNTS_CONTAINERS = 0, AMOUNTS_WHOLE = 1, AMOUNTS_OVERHEAD = 2 };
struct amounts amounts_of_spec(struct arena *a, const struct json *spec, const char *which,
                               unsigned parts);
struct amounts amounts_of_pod(struct arena *a, const struct json *pod, const char *which);

/* Calls fn for each container, then for each init container. */
typedef void amounts_container_fn(void *arg, const struct json *container);
void amounts_each_container(const struct json *pod, amounts_container_fn *fn, void *arg);

#endif
