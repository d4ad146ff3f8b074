/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_CHECK_H
#define KINDS_FRAME_CHECK_H

/*
 * What the strategies of several kinds need: field errors with Kubernetes' wording, parts kept from
 * the old object, cells.  Fields are dotted paths as clients see them.
 */

#include "base/map.h"
#include "rest/kind.h"

/* `"x"`, as a cause shows a string. */
str check_quote(struct arena *a, str s);

/* NULL and absent are the same. */
bool check_same(const struct json *a, const struct json *b);

/* The values of an object by name, for looking up many: objects are as large as a body may be. */
struct map check_index(const struct json *object);

/* The members of first, then those of second with other names; either may be NULL. */
const struct json *check_union(struct arena *a, const struct json *first,
                               const struct json *second);

/* k8s: ValidateImmutableField: `Invalid value: …: field is immutable` unless both are the same. */
void check_immutable(struct status *st, const char *path, const struct json *obj,
                     const struct json *old);

/*
 * For kinds with the field `immutable`: once it is true neither it nor the members named (up to
 * NULL) may change.
 */
void check_frozen(struct status *st, const struct json *obj, const struct json *old,
                  const char *const *members);

/* One of the words, or `Unsupported value: "x": supported values: "a", "b"`; absent is fine. */
void check_enum(struct status *st, const char *path, const struct json *obj,
                const char *const *words);

/* Required value, when the string at path is absent or empty. */
void check_required(struct status *st, const char *path, const struct json *obj);

/* k8s: ValidateFinalizerName: qualified, or one of the three old names. */
void check_finalizer(struct status *st, str field, str name);

/* k8s: ValidateLabelSelector; `field` is where the metav1.LabelSelector is. */
void check_label_selector(struct status *st, str field, const struct json *selector);

enum { CHECK_DATA_MAX = 1 << 20 }; /* k8s: MaxSecretSize, of ConfigMaps too */

/*
 * The keys of a ConfigMap's or Secret's map, and the sum of the bytes of its values; `base64` says
 * how these are written.  k8s: IsConfigMapKey
 */
size_t check_data(struct status *st, const char *path, const struct json *obj, bool base64);

/* One key, at `field`. */
void check_data_key(struct status *st, str field, str key);

/* obj with the member `name` of old, or without it. */
const struct json *check_keep(struct arena *a, const struct json *obj, const struct json *old,
                              const char *name);

/* The old object with the status of the new one: what a write to /status of a custom resource is.
 */
const struct json *check_only_status(struct arena *a, const struct json *obj,
                                     const struct json *old);

/* obj with the member as if nobody had said anything about it: what a client may not set. */
const struct json *check_reset(const struct kind_context *c, const struct json *obj,
                               const char *name);

void cell_str(struct json_array *cells, const struct json *obj, const char *path);
void cell_age(struct json_array *cells, const struct json *obj, int64_t now_s);

#endif
