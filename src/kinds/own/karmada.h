/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_OWN_KARMADA_H
#define KINDS_OWN_KARMADA_H

/*
 * What the kinds of Karmada share.  There they are CRDs with webhooks, so a write meets two walls:
 * the schema (422, all faults at once), and then the webhook (403, its faults in one sentence).
 * The schema's wall is karmada_validate, which works from the tables; the webhook's is each kind's
 * `review`, which looks at the object through sites and ends in karmada_denied.
 */

#include "kinds/frame/site.h"
#include "kinds/own/groups.h"
#include "object/meta/karmada.h"

/* Required fields, enumerations, lengths and ranges, by the tables of the kind's own types. */
void karmada_validate(const struct kind_context *c, const struct json *obj, struct status *st);

/*
 * The causes in st as what a webhook of that name says when it refuses: -1 and FORBIDDEN.  0 when
 * there are none.
 */
int karmada_denied(struct status *st, const char *webhook) __attribute__((warn_unused_result));
/* The same for a plain sentence. */
int karmada_deny(struct status *st, const char *webhook, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Status is for /status, when there is one, and the rest for the main endpoint. */
const struct json *karmada_prepare_create(const struct kind_context *c, const struct json *obj);
const struct json *karmada_prepare_update(const struct kind_context *c, const struct json *obj,
                                          const struct json *old);

/* The object with a new uuid as that label. */
const struct json *karmada_with_id(struct arena *a, const struct json *obj, const char *label);

/* The object with each item of the list at `path` made anew. */
const struct json *
karmada_each(const struct kind_context *c, const struct json *obj, const char *path,
             const struct json *(*make)(const struct kind_context *c, const struct json *item));

/*
 * Cells as a CRD's columns: a dotted path, `*` for the first item of a list; `?Type` is the status
 * of that condition.  What is not there is null.
 */
void karmada_cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells,
                   const char *const *paths);
#define KARMADA_CELLS(function, ...)                                             \
    static void function(struct arena *a, const struct json *obj, int64_t now_s, \
                         struct json_array *cells)                               \
    {                                                                            \
        static const char *const paths[] = { __VA_ARGS__, NULL };                \
        karmada_cells(a, obj, now_s, cells, paths);                              \
    }

extern const str karmada_category[1];
extern const struct subresource karmada_status[1];
extern const struct column karmada_age_columns[2];

/* What a kind of Karmada has but for names, columns and functions. */
#define KARMADA_KIND \
    .verbs = VERBS_ALL, .generation = true, .json_only = true, .bare_finalizers = true

/* A cluster's name: a label of at most 48 bytes, since other names are made of it. */
enum { KARMADA_CLUSTER_NAME_MAX = 48 };
void karmada_check_cluster_name(struct status *st, const struct site *s);

/* Placement and parts of it (karmada_placement.c). */
const struct json *karmada_placement_defaults(const struct kind_context *c, const struct json *obj);
void karmada_check_placement(struct status *st, const struct site *placement);
void karmada_check_affinity(struct status *st, const struct site *affinity);
void karmada_check_selectors(struct status *st, const struct site *selectors, str namespace_);
const struct json *karmada_selector_namespaces(const struct kind_context *c,
                                               const struct json *obj);

extern const struct kind_ops karmada_override_ops, karmada_cluster_override_ops, karmada_taint_ops,
    karmada_quota_ops;

#endif
