/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_TYPED_H
#define OBJECT_META_TYPED_H

/*
 * Objects seen through their schema, as server-side apply sees them: which parts are fields of
 * their own, and which are one field however much is in them (atomic lists and maps).
 *
 * A place is a spot in a schema.  Where nothing is known (free JSON, preserved unknown fields) maps
 * are cut by their keys and lists are one field.
 */

#include "object/meta/fieldset.h"
#include "object/meta/schema.h"
#include "json/scan.h"

struct typed_place {
    const struct schema *schema;      /* NULL: nothing is known */
    const struct schema_field *field; /* that it is the value of, or NULL */
    bool declared;                    /* a field of an object, not a key of a map or an item */
    bool unknown;                     /* the schema has no such field */
};

enum shape {
    SHAPE_LEAF,  /* one field */
    SHAPE_MAP,   /* members are fields */
    SHAPE_SET,   /* a list whose values are fields */
    SHAPE_KEYED, /* a list of objects told apart by their keys */
};

static inline struct typed_place place_root(const struct schema *s)
{
    return (struct typed_place){ .schema = s };
}

/* How the value at a place is cut; either may be NULL, and both must have the same form. */
enum shape place_shape(struct typed_place p, const struct json *a, const struct json *b);
struct typed_place place_member(struct typed_place p, str name);
struct typed_place place_item(struct typed_place p);

/* All else is one field, wherever it stands. */
static inline bool place_may_cut(const struct json *v)
{
    return v->type == JSON_OBJECT || v->type == JSON_ARRAY;
}

/* What items of a KEYED list are told apart by. */
const str *place_keys(struct typed_place p, size_t *n);
/* An item's value of such a key, or NULL: often its first member. */
static inline const struct json *place_key(const struct json *item, str key)
{
    if (json_len(item) && item->type == JSON_OBJECT && scan_equal(item->members[0].name, key))
        return &item->members[0].value;
    return json_get(item, key);
}
/* What tells an item of a SET or KEYED list apart; NULL, or what is wrong with the item. */
const char *place_element(struct arena *a, struct typed_place p, enum shape shape,
                          const struct json *item, struct fieldset_node *out);

/* Members by name; in their order if that is it already. */
const struct json_member **sorted_members(struct arena *a, const struct json *v);

/*
 * Faults of an object to be applied: fields that the schema has not, wrong types, items that are
 * there twice or have no key.  The text for the message, or empty.
 */
str typed_check(struct arena *a, const struct schema *s, const struct json *v);

/* The fields that an applied object speaks of. */
struct fieldset typed_fields(struct arena *a, const struct schema *s, const struct json *v);

/*
 * A set that an older schema made: what is below a list or map that is one value now is that value.
 * *set is left as it is where there is none.  k8s: structured-merge-diff typed/reconcile_schema.go
 */
void typed_reconcile(struct arena *a, const struct schema *s, struct fieldset *set);

/*
 * What differs between two objects.  `was` is NULL for an object that is new: then it is compared
 * with what Go has before anything was said, in which fields without omitempty are there already.
 */
struct comparison {
    struct fieldset added, modified, removed;
};
struct comparison typed_compare(struct arena *a, const struct schema *s, const struct json *was,
                                const struct json *now);

/* `live` with everything that `config` says; live may be NULL. */
const struct json *typed_merge(struct arena *a, const struct schema *s, const struct json *live,
                               const struct json *config);

/*
 * Without what is in `last` and not in `kept`.  What then has nothing left is null, as in
 * Kubernetes: it is empty, not away.
 */
const struct json *typed_prune(struct arena *a, const struct schema *s, const struct json *v,
                               const struct fieldset *last, const struct fieldset *kept);

#endif
