/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FRAME_SITE_H
#define KINDS_FRAME_SITE_H

/*
 * A place in an object while it is checked: the value there and the way to it.  Sites live on the
 * stack and point to the one above; the path becomes text only when something is wrong, so that a
 * good object costs nothing but looking.
 *
 *     struct site spec = site_in(&root, "spec"), ports = site_in(&spec, "ports");
 *
 *     site_each (port, &ports)
 *         site_range(st, &port, 1, 65535);
 *
 * Every check takes an absent value for a good one, unless it says otherwise.
 */

#include "base/map.h"
#include "object/meta/names.h"
#include "json/json.h"

struct site {
    const struct site *up;
    const char *name; /* of a member, */
    str key;          /* of an entry of a map, or */
    size_t index;     /* of an item */
    enum { SITE_ROOT, SITE_MEMBER, SITE_KEY, SITE_ITEM } kind;
    const struct json *v; /* NULL: not there */
};

struct site site_root(const struct json *v);
struct site site_in(const struct site *up, const char *name);
/* An absent word is the empty one, and as wrong. */
struct site site_word_in(const struct site *up, const char *name);
struct site site_item(const struct site *up, size_t i);
struct site site_key(const struct site *up, str key, const struct json *v); /* path[key] */

#define site_each(item, list)                                                     \
    for (struct site item = site_item(list, 0); item.index < json_len((list)->v); \
         item = site_item(list, item.index + 1))

str site_path(struct arena *a, const struct site *s);

static inline str site_str(const struct site *up, const char *name)
{
    return json_str(json_get(up->v, str_of(name)));
}
static inline bool site_has(const struct site *up, const char *name)
{
    return json_get(up->v, str_of(name)) != NULL;
}

/* `Invalid value: <the value>: …`, and the like of the other types of cause. */
void site_fault(struct status *st, const struct site *s, enum cause_type type, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void site_invalid(struct status *st, const struct site *s, const char *why);
void site_missing(struct status *st, const struct site *s, const char *why); /* Required value */
void site_forbidden(struct status *st, const struct site *s, const char *why);
void site_duplicate(struct status *st, const struct site *s);

/* True, and a cause, when the string is absent or empty. */
bool site_required(struct status *st, const struct site *s);
/* One of the words (up to NULL), or Unsupported value. */
void site_enum(struct status *st, const struct site *s, const char *const *words);
void site_unsupported(struct status *st, const struct site *s, const char *const *words);
/* k8s: ValidateNonnegativeField, IsInRange, IsValidPortNum, IsValidPortName */
void site_not_negative(struct status *st, const struct site *s);
void site_not_negative_quantity(struct status *st, const struct site *s);
void site_positive(struct status *st, const struct site *s);
bool site_range(struct status *st, const struct site *s, int64_t low, int64_t high);
void site_port(struct status *st, const struct site *s);
void site_service_port(struct status *st, const struct site *s); /* of a webhook, an APIService */
void site_port_name(struct status *st, const struct site *s);
void site_port_or_name(struct status *st, const struct site *s);
/* Faults of a name; false when there were any. */
bool site_name(struct status *st, const struct site *s, enum name_rule rule);
/* `acme.io/foo`; k8s: IsDomainPrefixedPath */
void site_domain_path(struct status *st, const struct site *s);
bool site_qualified(struct status *st, const struct site *s);
void site_labels(struct status *st, const struct site *s);
/* An address as text, strictly (no leading zeros): family 4 or 6, 0 when it is none. */
int site_ip_family(str ip);
/* Of fields from before addresses were read strictly: zeros may stand before a part. */
int site_ip_family_loose(str ip);
str site_ip_plain(struct arena *a, str ip); /* without these zeros */
void site_ip(struct status *st, const struct site *s);
/* k8s: ValidateImmutableField */
void site_immutable(struct status *st, const struct site *s, const struct json *old);

/*
 * metav1.LabelSelector: operators, values, labels.  Absent is fine.
 * k8s: apimachinery/pkg/apis/meta/v1/validation
 */
void site_selector(struct status *st, const struct site *s);
bool site_selector_empty(const struct json *selector);
/* Whether the selector takes these labels; an absent one takes none, an empty one all. */
bool site_selector_matches(const struct json *selector, const struct json *labels);

/* Whether a string stands in a list for the second time: keeps what was seen. */
bool site_seen(struct map *seen, str s);
/* The same where the empty string is one like others. */
bool site_seen_any(struct map *seen, str s);

#endif
