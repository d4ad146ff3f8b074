/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_K8S_WORKLOAD_H
#define KINDS_K8S_WORKLOAD_H

/* What the kinds that make pods share beside the pods themselves (kinds/k8s/podspec.h). */

#include "kinds/k8s/podspec.h"

/* spec.selector is there, is not empty, and takes the template's labels; `what` for the message. */
/* False: it is none, and that was said. */
bool workload_check_selector(struct status *st, const struct site *spec, const char *what);
/* The template's labels against a LabelSelector. */
void workload_check_labels(struct status *st, const struct site *spec, const struct json *selector);
/* spec.template, whose pods must never be done. */
void workload_check_template(struct status *st, const struct site *spec);
/* Its pods run until they are deleted. */
void workload_check_endless(struct status *st, const struct site *spec, const char *what);
/* The selector and the template of a Deployment or ReplicaSet: without a selector the template is
 * not checked, as in Kubernetes. */
void workload_check_pods(struct status *st, const struct site *spec);
void workload_check_counts(struct status *st, const struct site *at, const char *const *names);

/* Status on the main endpoint, the rest on /status: whatever else is kept from old. */
const struct json *workload_prepare_create(const struct kind_context *c, const struct json *obj);
const struct json *workload_prepare_update(const struct kind_context *c, const struct json *obj,
                                           const struct json *old);

/* Numbers and percentages, as rolling updates have them. */
void workload_check_part(struct status *st, const struct site *s);
void workload_check_at_most_all(struct status *st, const struct site *s);
bool workload_is_zero(const struct site *s);

const struct json *workload_put_missing(struct arena *a, const struct json *obj, const char *path,
                                        struct json v);
extern const char *const workload_spec_counts[]; /* what may not be negative in a spec */
/* A status that counts pods; `first` is the part of them that is told first. */
void workload_check_available(struct status *st, const struct site *root, const char *first);
/* Of a write to /status: collisionCount does not shrink. */
void workload_check_collisions(struct status *st, const struct site *root, const struct json *old);
/* Of an update: the selector stays, or of /status collisionCount. */
void workload_selector_stays(const struct kind_context *c, const struct json *obj,
                             const struct json *old, struct status *st);
const struct json *workload_defaults(const struct kind_context *c, const struct json *obj);

/* An address that a service may lead to or be reached at. */
void endpoint_check_ip(struct status *st, const struct site *ip);
/* A range of addresses, with spaces around it. */
void network_check_range(struct status *st, const struct site *s);

void cell_int(struct json_array *cells, const struct json *obj, const char *path);
void cell_text(struct json_array *cells, str text);
/* `a=b,c=d`, `<none>` when there are none. */
str cell_labels(struct arena *a, const struct json *labels);
/* `a=b,c in (d,e)`, `<none>` when it is empty. */
void cell_selector(struct json_array *cells, const struct json *selector);

#endif
