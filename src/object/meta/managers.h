/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_MANAGERS_H
#define OBJECT_META_MANAGERS_H

/*
 * Who owns which fields of an object: metadata.managedFields, and what writes do to it.  Pure
 * functions; nothing here is stored.
 *
 * At rest the list is packed: names that many objects have are numbers of a shared dictionary, and
 * an answer prints the packed form straight into its text (managers_print).
 */

#include "object/meta/fieldset.h"
#include "object/meta/outline.h"
#include "object/meta/schema.h"

struct manager {
    str name, api_version, subresource;
    bool applied;   /* operation Apply, else Update */
    int64_t time_s; /* INT64_MIN: not known */
    /* The set as it is at rest, or empty; `fields` may then be not yet made of it. */
    str packed;
    struct fieldset fields; /* ask manager_fields() */
};

#define MANAGER_NO_TIME INT64_MIN

struct managers {
    struct manager *list; /* sorted as Kubernetes does */
    size_t n;
};

static inline bool manager_owns(const struct manager *m)
{
    return m->packed.n || !fieldset_empty(&m->fields);
}
const struct fieldset *manager_fields(struct arena *a, struct manager *m);
static inline void manager_own(struct manager *m, struct fieldset fields)
{
    m->packed = STR_NONE;
    m->fields = fields;
}

/* ---- forms ---- */

/* From metadata.managedFields as sent; INVALID when it cannot be meant. */
int managers_parse(struct arena *a, const struct json *entries, struct managers *out,
                   struct status *st) __attribute__((warn_unused_result));

str managers_pack(struct arena *a, const struct managers *m);     /* empty for none */
str managers_pack_set(struct arena *a, const struct fieldset *s); /* empty: too large */
/* False when the bytes are broken; sets that are gives nothing to their managers. */
bool managers_unpack(struct arena *a, str packed, struct managers *out);
/* The JSON array; nothing when the bytes are broken. */
void managers_print(struct buf *b, str packed);
const struct json *managers_json(struct arena *a, str packed);

/* Times do not count. */
bool managers_equal(struct arena *a, struct managers *x, struct managers *y);

/*
 * Whoever updated that version and owns the field owns it in an entry of its own, without a time,
 * beside what else it owns.  managers_join() undoes what Kubernetes makes of such a pair when it
 * reads it: the one without a time is lost.
 */
void managers_set_apart(struct arena *a, struct managers *m, const struct fieldset *field,
                        str api_version);
void managers_join(struct managers *m);

/* ---- writes ---- */

struct managers_write {
    struct arena *arena;
    const struct schema *schema; /* of the version in which the objects are */
    uint64_t serial;             /* its own; 0: it has none (object/meta/outline.h) */
    struct outline outline;      /* of a configuration to be applied */
    str manager, api_version, subresource;
    int64_t now_s;                  /* or MANAGER_NO_TIME */
    str told_version;               /* of others, in conflicts; empty: theirs */
    const struct fieldset *ignored; /* what the endpoint does not let through; may be NULL */
    /*
     * An object between the write's version and another of its kind, one way or the other, with the
     * schema of the version it is then in: 0, -1 with the reason, or one of managers_convert. NULL:
     * there is no other version.
     */
    int (*convert)(void *arg, str from, str to, const struct json *obj, const struct json **out,
                   const struct schema **schema, struct status *st);
    void *arg;
};

enum managers_convert {
    MANAGERS_GONE = 1, /* the kind has no such version: who owned fields of it owns nothing */
    MANAGERS_WAIT,     /* it is not there yet: the write is done again when it is */
};

/*
 * A create, update or patch: fields that are new or have another value become the writer's, and
 * nobody else's.  `live` is NULL on create.  An object that exists and has no managers gets none.
 * 0; if something cannot be converted -1, or MANAGERS_WAIT, and *m is of no use.  All that is known
 * to be wanted has then been asked for.
 */
int managers_update(const struct managers_write *w, const struct json *live, const struct json *now,
                    struct managers *m, struct status *st) __attribute__((warn_unused_result));

/*
 * An apply: gives the live object with what the configuration says, without what this manager
 * applied before and nobody wants any more.  CONFLICT, with a cause for each field, when others own
 * what would change, unless forced.  The configuration must have passed typed_check.  *out is
 * `live` itself when nothing changes; live may be NULL.  MANAGERS_WAIT as above.
 */
int managers_apply(const struct managers_write *w, const struct json *live,
                   const struct json *config, bool force, struct managers *m,
                   const struct json **out, struct status *st) __attribute__((warn_unused_result));

#endif
