/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_NAMES_H
#define OBJECT_META_NAMES_H

/*
 * Rules for names, labels and metadata, with Kubernetes' wording (spec/apimachinery 4.2, 4.3, 5.5).
 * A check adds one cause per fault to st, as long as there is room for causes, and returns how many
 * faults it found.
 */

#include "json/json.h"

enum name_rule {
    NAME_SUBDOMAIN, /* RFC 1123 subdomain, <= 253 */
    NAME_LABEL,     /* RFC 1123 label, <= 63: namespaces */
    NAME_LABEL_1035,
    NAME_PATH,   /* a path segment: RBAC */
    NAME_SEARCH, /* a subdomain whose parts may have underscores and begin with one */
};

unsigned name_check(struct status *st, enum name_rule rule, str field, str name);
/* For generateName: the same rule with a trailing dash allowed. */
unsigned name_check_prefix(struct status *st, enum name_rule rule, str field, str prefix);

unsigned qualified_name_check(struct status *st, str field, str name);
unsigned label_value_check(struct status *st, str field, str value);
unsigned labels_check(struct status *st, str field, const struct json *labels);
unsigned annotations_check(struct status *st, str field, const struct json *annotations);

/* Why it is not one: Kubernetes' sentences (static), and how many; 0 when it is one. */
enum { NAME_FAULTS = 4 };
size_t name_faults(enum name_rule rule, str name, str faults[NAME_FAULTS]);
size_t qualified_name_faults(str name, str faults[NAME_FAULTS]);
size_t label_value_faults(str value, str faults[NAME_FAULTS]);

bool name_is_valid(enum name_rule rule, str name);
bool qualified_name_is_valid(str name);
bool label_value_is_valid(str value);

/*
 * All of metadata on create, and what may not change on update (uid, creationTimestamp …, new
 * finalizers on an object being deleted).  `old` is the stored metadata.  Whether an update must
 * say a resourceVersion is the kind's affair and not looked at here.  object/meta/objmeta.c.
 * k8s: apimachinery/pkg/api/validation/objectmeta.go, pkg/apis/core/validation
 */
void objmeta_validate(struct status *st, const struct json *meta, bool namespaced,
                      enum name_rule rule);
/* For most built-in kinds a finalizer without a slash must be one of Kubernetes' own. */
void objmeta_check_bare_finalizers(struct status *st, const struct json *meta);
/* Entries that a client has sent. */
void objmeta_check_managed(struct status *st, const struct json *entries);
void objmeta_validate_update(struct status *st, const struct json *meta, const struct json *old);

#endif
