/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_SCHEMA_RULES_H
#define OBJECT_META_SCHEMA_RULES_H

/*
 * What a CRD's schema demands of a value beyond its type (struct schema.rules).  Compiled by
 * object/crdschema/structural.h; frozen as the schema is.
 */

#include "object/meta/pattern.h"
#include "object/meta/schema.h"

/* JSON types a value may have: bits of schema_rules.types. */
enum {
    RULE_OBJECT = 1 << 0,
    RULE_ARRAY = 1 << 1,
    RULE_STRING = 1 << 2,
    RULE_INTEGER = 1 << 3,
    RULE_NUMBER = 1 << 4,
    RULE_BOOLEAN = 1 << 5,
};

/* Bounds of numbers, strings, lists and maps; counts are -1 where not said. */
struct schema_limits {
    const double *minimum, *maximum, *multiple_of; /* NULL where not said */
    bool exclusive_minimum, exclusive_maximum, unique_items;
    int64_t min_length, max_length; /* code points */
    int64_t min_items, max_items, min_properties, max_properties;
    str pattern_text;
    const struct pattern *pattern; /* NULL: none */
    str format_text;
    bool (*format)(str s); /* NULL: none, or one that is not checked */
};

struct schema_logic {
    const struct schema *const *all_of, *const *any_of, *const *one_of;
    size_t nall_of, nany_of, none_of;
    const struct schema *not_;
};

struct cel_rules;

struct schema_rules {
    unsigned types; /* 0: any */
    unsigned fine;  /* those of which nothing else is said, and that are no containers */
    bool nullable, preserve_unknown, int_or_string;
    /* Members that are not described may be applied: unknown ones are preserved here or above, or
     * nothing is described.  k8s: kube-openapi/pkg/schemaconv/openapi.go */
    bool undeclared;
    bool root;     /* the whole object */
    bool embedded; /* x-kubernetes-embedded-resource */
    /* A set or map list, an embedded resource stands here or deeper. */
    bool below_lists, below_embedded;
    bool below_cel; /* rules in CEL stand here or deeper */
    const struct schema *items,
        *additional;                    /* of arrays, and of members without a field; or NULL */
    const struct schema *metadata;      /* what was declared of metadata, or NULL */
    const struct json *default_value;   /* with the defaults inside of it; or NULL */
    const struct json *enums;           /* an array, or NULL */
    const struct schema_limits *limits; /* or NULL */
    const struct schema_logic *logic;   /* or NULL */
    const struct cel_rules
        *cel; /* x-kubernetes-validations (object/crdschema/cel_rules.h), or NULL */
    const str *required;
    size_t nrequired;
    /* The node as it was given: descriptions, examples, x-kubernetes-validations … for OpenAPI. */
    const struct json *source;
    /* How a body is read: structural_decode(), for schema_decode(). */
    int (*decode)(struct arena *a, const struct schema *s, const struct json *in,
                  struct schema_faults *faults, const struct json **out, struct status *st);
};

/* A type of which nothing is described: objects lose all members, other values stay. */
extern const struct schema schema_nothing;

#endif
