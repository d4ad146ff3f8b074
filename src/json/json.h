/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

/*
 * Immutable JSON values in an arena.
 *
 * A value is 16 bytes and is passed by pointer to const; containers hold their children inline, so
 * copying a value shares what is below it.  To change is to build another: json_set() and the
 * builders copy one level and share the rest.  Integers that fit int64 stay exact, other numbers
 * are doubles.  Strings are valid UTF-8 and may hold NUL bytes (\u0000).
 *
 * Everything lives in the arena it was made in; a value may share parts with values of arenas that
 * live at least as long.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_FLOAT,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_member;

struct json {
    enum json_type type;
    uint32_t n; /* bytes, items or members */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        const struct json *items;
        const struct json_member *members; /* in document order; names are unique */
    };
};

struct json_member {
    str name;
    struct json value;
};

/* ---- reading ---- */

enum { JSON_DEPTH_MAX = 512 }; /* deeper nesting is a parse error; k8s allows 10,000, needs none */

/* Names that stood twice in one object; the last one wins. */
struct json_duplicates {
    struct json_duplicate {
        str path;  /* `data.x`, `items[2].a` */
        str name;  /* the last part of it */
        size_t at; /* JSON: the address of the second one; YAML: the line of its value, from 1 */
    } * all;       /* each path once, in the order of the text */
    size_t n;      /* at most 64 are kept */
    bool lines;    /* they are of YAML */
};

/*
 * Parses one whole document.  Fails with BAD_REQUEST and a message that says what and where.
 * Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD, as in Go.  dups may be
 * NULL.
 */
int json_parse(struct arena *a, str text, struct json_duplicates *dups, const struct json **out,
               struct status *st) __attribute__((warn_unused_result));

/*
 * YAML 1.1 as sigs.k8s.io/yaml reads it (yes/on/off are booleans, also as keys), the first
 * document, JSON included; no document at all is null.  Aliases are limited: an expansion beyond
 * 1 M nodes or ten times the text plus 64 KiB is an error, so that no document is larger than it
 * looks.  json/yaml.c.
 */
int json_parse_yaml(struct arena *a, str text, struct json_duplicates *dups,
                    const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* ---- looking ---- */

/* NULL-safe: a NULL or other-typed value gives the "nothing" of the asked type. */
const struct json *json_get(const struct json *v, str name); /* member, or NULL */
const struct json *json_at(const struct json *v, size_t i);  /* item, or NULL */
/* Members by a dotted path of names without dots: json_path(v, "metadata.labels"). */
const struct json *json_path(const struct json *v, const char *path);

static inline bool json_is(const struct json *v, enum json_type t)
{
    return v && v->type == t;
}

static inline size_t json_len(const struct json *v) /* items or members, else 0 */
{
    return v && (v->type == JSON_ARRAY || v->type == JSON_OBJECT) ? v->n : 0;
}

static inline str json_str(const struct json *v) /* empty if not a string */
{
    return json_is(v, JSON_STRING) ? (str){ v->s, v->n } : STR_NONE;
}

static inline int64_t json_int(const struct json *v, int64_t otherwise)
{
    return json_is(v, JSON_INT) ? v->i : otherwise;
}

static inline bool json_bool(const struct json *v) /* false if not a bool */
{
    return json_is(v, JSON_BOOL) && v->b;
}

static inline str json_get_str(const struct json *v, const char *path)
{
    return json_str(json_path(v, path));
}

/* for (const struct json *it = …) over an array, which is evaluated once; over members, of what has
 * no effects. */
#define json_for_each(item, array)                                                           \
    for (const struct json *item##_of = (array),                                             \
                           *item = json_is(item##_of, JSON_ARRAY) ? item##_of->items : NULL, \
                           *item##_end = item ? item + item##_of->n : NULL;                  \
         item != item##_end; item++)

#define json_for_each_member(m, object)                                                           \
    for (const struct json_member *m = json_is((object), JSON_OBJECT) ? (object)->members : NULL, \
                                  *m##_end = m ? m + (object)->n : NULL;                          \
         m != m##_end; m++)

/* Order of members does not count; 1 and 1.0 are equal. */
bool json_equal(const struct json *a, const struct json *b);

/* Name of the type as messages say it: "a string", "a number", "a boolean", "an array",
 * "object", "null". */
const char *json_type_name(const struct json *v);

/* ---- making ---- */

extern const struct json json_null, json_true, json_false, json_empty_object, json_empty_array;

/* Values, to be put into containers; strings are not copied. */
static inline struct json json_of_str(str s)
{
    return (struct json){ .type = JSON_STRING, .n = (uint32_t)s.n, .s = s.p };
}
static inline struct json json_of_int(int64_t i)
{
    return (struct json){ .type = JSON_INT, .i = i };
}
static inline struct json json_of_bool(bool b)
{
    return (struct json){ .type = JSON_BOOL, .b = b };
}
struct json json_of_float(double f); /* an integral value within int64 becomes an int */

/* The value as a pointer in the arena. */
const struct json *json_box(struct arena *a, struct json v);

/* A copy that shares nothing, for another arena. */
const struct json *json_dup(struct arena *a, const struct json *v);

/*
 * Growing containers.  Finish by taking .value(); the builder must not be used after.
 *
 *     struct json_object o = json_object_new(a);
 *     json_add(&o, STR("name"), json_of_str(name));
 *     const struct json *v = json_object_done(&o);
 */
struct json_object {
    struct arena *arena;
    struct json_member *members;
    uint32_t n, cap;
};
struct json_array {
    struct arena *arena;
    struct json *items;
    uint32_t n, cap;
};

struct json_object json_object_new(struct arena *a);
struct json_object json_object_from(struct arena *a, const struct json *v); /* with v's members */
void json_add(struct json_object *o, str name,
              struct json v); /* the name must be new (not checked) */
void json_put(struct json_object *o, str name, struct json v); /* replaces or adds */
void json_remove(struct json_object *o, str name);
struct json json_object_value(struct json_object *o);
const struct json *json_object_done(struct json_object *o);

struct json_array json_array_new(struct arena *a);
void json_push(struct json_array *r, struct json v);
struct json json_array_value(struct json_array *r);
const struct json *json_array_done(struct json_array *r);

/*
 * The object with the member at a dotted path set (NULL value: removed), intermediate objects made
 * where missing or not objects.  Path copying: v is not changed.
 */
const struct json *json_set(struct arena *a, const struct json *v, const char *path,
                            const struct json *value);

/* ---- writing ---- */

/* One line, no blanks, members in their order; strings escape only what JSON demands. */
void json_print(struct buf *b, const struct json *v);
/*
 * The form at rest: at the root kind, apiVersion, metadata first, everything else and everything
 * below sorted bytewise; int64 exact, other numbers the shortest that reads back equal.
 */
void json_print_canonical(struct buf *b, const struct json *v);
void json_print_pretty(struct buf *b,
                       const struct json *v); /* two blanks, as Kubernetes' pretty=true */
void json_print_sorted(struct buf *b, const struct json *v); /* one line, as Go's maps: by name */
/* YAML as Kubernetes' tools write it: keys sorted, block style.  json/yaml_print.c. */
void json_print_yaml(struct buf *b, const struct json *v);
void json_print_string(struct buf *b, str s);         /* with quotes */
str json_text(struct arena *a, const struct json *v); /* json_print into the arena */

/* ---- patches (json/patch.c) ---- */

enum {
    JSON_PATCH_OPS_MAX = 10000,
    JSON_PATCH_COPY_MAX = 3 << 20, /* bytes of JSON that all `copy` operations may add */
};

/*
 * RFC 6902, with Kubernetes' (evanphx/json-patch v4) leniencies: `replace` of a missing object
 * member adds it, `test` and `copy` take a missing object member as null, negative indices count
 * from the end; only `replace` and `test` work on the whole document.  `patch` must be an array of
 * objects (else BAD_REQUEST); more than JSON_PATCH_OPS_MAX operations, or too much work: TOO_LARGE;
 * an operation that cannot be done, or a failed test: INVALID.  Memory is bounded by the sizes of
 * the document and the patch and JSON_PATCH_COPY_MAX.  The result shares parts with both.
 */
int json_patch(struct arena *a, const struct json *doc, const struct json *patch,
               const struct json **out, struct status *st) __attribute__((warn_unused_result));

/*
 * RFC 7386; null deletes; members that are null vanish from all that is new, also (as in
 * Kubernetes) from objects in arrays.
 */
const struct json *json_merge_patch(struct arena *a, const struct json *doc,
                                    const struct json *patch);

#endif
