/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_CRDSCHEMA_STRUCTURAL_H
#define OBJECT_CRDSCHEMA_STRUCTURAL_H

/*
 * Structural schemas: the openAPIV3Schema of a CRD's version, compiled once into a struct schema
 * (object/meta/schema.h) that is walked like any other, and then used for every object of that
 * version:
 *
 *     structural_compile    when a CRD is accepted or loaded
 *     structural_decode     a body, or an object from the store: metadata typed, unknown fields
 *                           pruned, nulls and defaults settled (schema_decode() comes here too)
 *     structural_validate   all field errors, with Kubernetes' wording
 *
 * How it maps: `type: object` is SCHEMA_OBJECT, with additionalProperties SCHEMA_MAP; `array` is
 * SCHEMA_LIST, `integer` SCHEMA_INT64, `number` SCHEMA_DOUBLE, int-or-string SCHEMA_INT_OR_STRING,
 * nothing SCHEMA_ANY.  A type that is not said but has properties, additionalProperties or items is
 * taken for what those belong to.  The root and embedded resources always have the fields
 * apiVersion, kind and metadata; metadata is the native ObjectMeta, whatever was declared.  Each
 * field has list_type, list_keys, map_atomic and default_value as native fields have; lists in
 * lists or maps have them in the list's own schema.
 *
 * Compiled schemas are frozen: any thread may use them, as long as the arena lives.
 */

#include "object/meta/schema_rules.h"

enum {
    STRUCTURAL_DEPTH_MAX = 256,    /* of a schema; deeper ones are refused */
    STRUCTURAL_NODES_MAX = 100000, /* in one schema */
};

/*
 * `openapi` is spec.versions[].schema.openAPIV3Schema as the CRD kind decodes it; NULL: nothing is
 * described.  `preserve_unknown` is spec.preserveUnknownFields.  `object_meta` is the native type
 * io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.  All three must live as long as the arena, which
 * gets the result.  Accepts every schema that kinds/crd/crd.c accepts; INVALID for what is too deep
 * or too large, or has a pattern that does not compile.
 */
int structural_compile(struct arena *a, const struct schema *object_meta,
                       const struct json *openapi, bool preserve_unknown, const struct schema **out,
                       struct status *st) __attribute__((warn_unused_result));

enum structural_source {
    STRUCTURAL_REQUEST, /* metadata of wrong types: BAD_REQUEST */
    STRUCTURAL_STORED,  /* what is wrong in metadata is dropped; never fails */
    STRUCTURAL_APPLIED, /* as of a request, but nulls that may not be stay, to be refused */
    /* As of a request, but without defaults: what was stored has got those of its own version.
     * k8s: customresource_handler.go, schemaCoercingConverter */
    STRUCTURAL_CONVERTED,
};

/*
 * The object as the server holds it.  Unknown fields go to faults (may be NULL) in Kubernetes'
 * order: those of metadata, then the pruned ones, then those in embedded metadata, each sorted.
 * Shares what it can with `in` and the schema; without anything to change the result is `in`.
 * k8s: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, unstructuredSchemaCoercer
 */
int structural_decode(struct arena *a, const struct schema *s, const struct json *in,
                      enum structural_source from, struct schema_faults *faults,
                      const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* The same for an object that was converted; by a native schema, as schema_decode(). */
int structural_convert(struct arena *a, const struct schema *s, const struct json *in,
                       const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* The value with the defaults that it lacks; nothing is pruned. */
const struct json *structural_fill(struct arena *a, const struct schema *s, const struct json *v);

enum structural_part {
    STRUCTURAL_WHOLE,
    STRUCTURAL_STATUS, /* only status is looked at, and paths in messages begin below it */
};

/*
 * Adds a cause for every fault of a decoded object: first the schema's rules, the rest are
 * apiVersion, kind and metadata of embedded resources (of the whole only), then doubles in sets and
 * map lists, then the rules in CEL, unless what they would look at is not even of the right form.
 * The object's own metadata, kind and apiVersion are rest's affair, except for what the schema
 * declares of them.  `old` is the stored object in this version, NULL on create: faults of values
 * that did not change are tolerated (ratcheting).
 */
void structural_validate_values(const struct schema *s, const struct json *obj,
                                const struct json *old, enum structural_part part,
                                struct status *st);
void structural_validate_rest(const struct schema *s, const struct json *obj,
                              const struct json *old, enum structural_part part, struct status *st);
static inline void structural_validate(const struct schema *s, const struct json *obj,
                                       const struct json *old, struct status *st)
{
    structural_validate_values(s, obj, old, STRUCTURAL_WHOLE, st);
    structural_validate_rest(s, obj, old, STRUCTURAL_WHOLE, st);
}

/*
 * Validates a default, with field paths that begin with `path`: embedded resources in it, then
 * its values, then the rules in CEL, as far as nothing was wrong.
 */
void structural_validate_at(const struct schema *s, str path, const struct json *value,
                            struct status *st);

#endif
