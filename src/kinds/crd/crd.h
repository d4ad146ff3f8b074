/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_CRD_CRD_H
#define KINDS_CRD_CRD_H

/*
 * What the files of the kind CustomResourceDefinition share.
 *
 * k8s: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
 * pkg/apiserver/schema/validation.go; the wording is theirs, and so are the paths, which are those
 * of Kubernetes' internal form.
 */

#include "base/map.h"
#include "object/meta/schema.h"

/* A place in a CRD, from the inside out; made into text only when something is wrong there. */
struct crd_at {
    const struct crd_at *up;
    const char *word; /* the member; of the outermost its whole path */
    enum { CRD_AT_WORD, CRD_AT_KEY, CRD_AT_INDEX } form;
    str key;
    size_t index;
};

#define CRD_AT(up_, word_)           \
    &(const struct crd_at)           \
    {                                \
        .up = (up_), .word = (word_) \
    }
#define CRD_AT_MEMBER(up_, word_, key_)                                 \
    &(const struct crd_at)                                              \
    {                                                                   \
        .up = (up_), .word = (word_), .form = CRD_AT_KEY, .key = (key_) \
    }
#define CRD_AT_ITEM(up_, word_, index_)                                       \
    &(const struct crd_at)                                                    \
    {                                                                         \
        .up = (up_), .word = (word_), .form = CRD_AT_INDEX, .index = (index_) \
    }

str crd_path(struct arena *a, const struct crd_at *at);

/* A cause at a place; value is printed as JSON, NULL: none. */
void crd_fault(struct status *st, enum cause_type type, const struct crd_at *at,
               const struct json *value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void crd_unsupported(struct status *st, const struct crd_at *at, const struct json *value,
                     const char *const *words);

/* The member unless it is null, or NULL.  Here, so that the length of the name is no work. */
static inline const struct json *crd_get(const struct json *v, const char *name)
{
    const struct json *m = json_get(v, str_of(name));

    return json_is(m, JSON_NULL) ? NULL : m;
}

/* A 1035 label, or a cause at `at` with `lead` before Kubernetes' sentences. */
void crd_check_label(struct status *st, const struct crd_at *at, str s, const char *lead);

/* crd_schema.c: one version's openAPIV3Schema. */
void crd_check_schema(struct status *st, const struct crd_at *at, const struct json *schema,
                      bool status_enabled, const struct schema *object_meta);
/* Calls fn for the schema and every one in it. */
void crd_each_schema(const struct json *schema, void (*fn)(void *arg, const struct json *s),
                     void *arg);

/* crd_cel.c: rules in CEL that do not compile, or cost too much; not of the nodes (by address of
 * their JSON) that are faulty already. */
void crd_check_rules(struct status *st, const struct crd_at *at, const struct schema *s,
                     const struct map64 *faulty);

/* crd_structural.c: what makes a schema structural; true when nothing was wrong. */
bool crd_check_structural(struct status *st, const struct crd_at *at, const struct json *schema);

/* crd_fault.c */
void crd_check_names(struct status *st, const struct crd_at *at, const struct json *names);
void crd_check_columns(struct status *st, const struct crd_at *at, const struct json *columns);
void crd_check_subresources(struct status *st, const struct crd_at *at, const struct json *sub);
void crd_check_selectable(struct status *st, const struct crd_at *at, const struct json *fields,
                          const struct json *schema);
/*
 * The schema that a path leads to from another: `.spec.color`, with brackets `['spec'].color`.
 * NULL and a reason when it leads nowhere.
 */
const struct json *crd_follow(struct arena *a, const struct json *schema, str path, bool brackets,
                              str *why);
void crd_check_conversion(struct status *st, const struct crd_at *at,
                          const struct json *conversion);

/* crd_check.c */
void crd_validate(struct status *st, const struct json *obj, const struct schema *object_meta,
                  bool create);
void crd_validate_update(struct status *st, const struct json *obj, const struct json *old);
void crd_validate_status(struct status *st, const struct json *obj);

#endif
