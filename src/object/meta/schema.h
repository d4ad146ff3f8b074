/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_SCHEMA_H
#define OBJECT_META_SCHEMA_H

/*
 * The shape of a kind: what fields it has, of which types, with which protobuf numbers and merge
 * rules.  Built-in kinds come from tables (object/meta/schema_table.h), those of CRDs from OpenAPI
 * documents (object/crdschema/structural.h); both are walked alike.
 *
 * A schema is frozen once made and shared by all threads.
 */

#include "json/json.h"
#include "json/scan.h"

enum schema_type {
    SCHEMA_STRING,
    SCHEMA_BYTES, /* base64 in JSON */
    SCHEMA_BOOL,
    SCHEMA_INT32,
    SCHEMA_INT64,
    SCHEMA_DOUBLE,
    SCHEMA_TIME,      /* RFC 3339, whole seconds */
    SCHEMA_MICROTIME, /* RFC 3339, exactly six digits */
    SCHEMA_QUANTITY,
    SCHEMA_INT_OR_STRING,
    SCHEMA_ANY, /* free JSON (RawExtension, FieldsV1, JSONSchemaProps' any) */
    SCHEMA_OBJECT,
    SCHEMA_MAP,  /* of string to items */
    SCHEMA_LIST, /* of items */
};

/*
 * What Go's struct tags make of a zero value, as recorded answers show:
 * omitempty drops "", 0, false, [], {} …; a pointer keeps whatever was sent (null is absent); a
 * field without omitempty is always written, as the zero of its type (null for times, lists and
 * maps, {} for objects).
 */
enum schema_presence { SCHEMA_OMITEMPTY, SCHEMA_POINTER, SCHEMA_ALWAYS };

enum schema_list_type { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

/* There are thousands: what is small stands together. */
struct schema_field {
    str name;
    const struct schema *type;
    uint32_t proto; /* field number, 0: not in protobuf */
    enum schema_presence presence : 8;
    enum schema_list_type list_type : 8;
    bool required : 1;    /* in OpenAPI */
    bool patch_merge : 1; /* strategic merge: patchStrategy=merge */
    bool retain_keys : 1; /* patchStrategy=retainKeys */
    bool replaced : 1;    /* patchStrategy=replace: an object that is not merged */
    bool map_atomic : 1;  /* x-kubernetes-map-type: atomic */
    bool granular : 1;    /* its members have owners of their own, although its type is atomic */
    bool list_typed : 1;  /* list_type was said, and is published; else it is atomic in effect */
    bool defaulted : 1;   /* `absent` is not the zero of its type */
    bool shown : 1; /* OpenAPI publishes what an absent field means, though it is no default */
    bool off : 1;   /* known and read, but not kept: its feature gate is closed */
    unsigned fill;  /* 1 + its place in the schema's fills, 0: absent is NULL */
    unsigned nlist_keys, nenums;
    str merge_key;                    /* patchMergeKey; empty for a list of scalars */
    const str *list_keys;             /* x-kubernetes-list-map-keys */
    const str *enums;                 /* values that OpenAPI publishes */
    const struct json *default_value; /* published in OpenAPI and applied, or NULL */
    /* What an absent field becomes: the default, the zero of an ALWAYS field, or NULL. */
    const struct json *absent;
    str doc; /* one line for `kubectl explain`; our own words */
};

/* Fields that protobuf has in a message of their own (Volume's volumeSource) and JSON beside the
 * others: they are among the fields too, with proto 0. */
struct schema_embed {
    uint32_t proto;
    const struct schema *type;
};

/* Free JSON of which two forms are known: JSONSchemaPropsOrBool and its like.  In protobuf it is a
 * message with one of two fields. */
struct schema_either {
    const struct schema *object, *other; /* what an object is, and what all else is */
    uint32_t object_proto, other_proto;
};

struct schema_rules;

struct schema {
    enum schema_type type;
    str name; /* in OpenAPI, "io.k8s.api.core.v1.ConfigMap": of objects, times, quantities and
                 int-or-strings, of free JSON that has one; empty for others */
    str doc;
    bool map_atomic;  /* x-kubernetes-map-type: atomic, of the whole type */
    bool says_object; /* of SCHEMA_ANY with a name: documents call it an object */
    /* x-kubernetes-unions: the field that says which of the others counts; empty: none */
    str union_by;
    const str *union_fields;
    unsigned nunion_fields;
    const struct schema_field *fields; /* sorted by name */
    size_t nfields;
    /* A hash table of slot_mask + 1 places + 1 in fields, for schema_field(); or NULL. */
    const uint8_t *slots;
    uint32_t slot_mask;
    const struct schema_embed *embeds;
    size_t nembeds;
    const struct schema_field *const *fills; /* those whose `absent` is not NULL; at most 64 */
    size_t nfills;
    const struct json *zero;    /* what null in a list or map becomes; NULL: null */
    const struct schema *items; /* of a map or list */
    uint32_t wrapped;           /* of a list: protobuf has a message around it, items at this
                                   number (ExtraValue); 0: plain repeated */
    const struct schema_either *either; /* of SCHEMA_ANY, or NULL */
    /*
     * Only where the schema is a CRD's (object/meta/schema_rules.h): what a value must obey.  NULL
     * in all native types, also in those inside of a CRD's (metadata).  There presence and zero
     * mean nothing, and fills are the fields with defaults, however many.
     */
    const struct schema_rules *rules;
    /* Of a CRD's list, wherever it stands; a field that is one has the same. */
    enum schema_list_type list_type;
    bool list_typed;
    const str *list_keys;
    size_t nlist_keys;
};

const struct schema_field *schema_field(const struct schema *s, str name); /* or NULL */

/* The same for one member after another: those that come in the order of their names, as they do in
 * what was stored and in what kubectl sends, are found where the last one was. */
struct schema_walk {
    const struct schema *schema;
    const struct schema_field *next, *end;
};

static inline struct schema_walk schema_walk(const struct schema *s)
{
    return (struct schema_walk){ s, s->fields, s->fields + s->nfields };
}

static inline const struct schema_field *schema_walk_field(struct schema_walk *w, str name)
{
    const struct schema_field *f = w->next;

    if (f == w->end || !scan_equal(f->name, name))
        f = schema_field(w->schema, name);
    if (f)
        w->next = f + 1;
    return f;
}

/* The hash table of an object's fields, which are sorted; made once, when it is frozen.  Very many
 * fields, or such as collide, go without. */
void schema_index(struct arena *a, struct schema *s);

/* What strict field validation complains about: `unknown field "metadata.nope"`, in document order.
 */
struct schema_faults {
    str *texts;
    const char **names; /* of an unknown field its name as it was read; or NULL */
    size_t n, cap;      /* at most 64 are kept */
    bool gated;         /* a field that is off, or an empty list, was there; it is no fault */
};
void schema_fault(struct arena *a, struct schema_faults *f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The object as a typed server would hold and print it: unknown fields dropped (and reported in
 * faults, which may be NULL), nulls and zero values treated by presence, times, bytes and
 * quantities checked and made canonical, defaults of the table filled in.  A wrong type is
 * BAD_REQUEST (`data: must be an object, not a string`).
 * kind and apiVersion at the root are kept as they are.  The result shares what it can with `in`
 * and with the schema.  For a CRD's schema this is schema_rules.decode.
 */
int schema_decode(struct arena *a, const struct schema *s, const struct json *in,
                  struct schema_faults *faults, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* The same, with the fields that are off, and empty lists as such; of what was decoded without them
 * before. */
int schema_decode_gated(struct arena *a, const struct schema *s, const struct json *in,
                        const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

/* An object of which nothing was said: zeros that are always written, no defaults.  Of a CRD: {}.
 */
const struct json *schema_zero(struct arena *a, const struct schema *s);

/* ---- Kubernetes protobuf bodies (object/meta/proto.c) ---- */

struct proto_unknown { /* runtime.Unknown, the envelope behind "k8s\0" */
    str api_version, kind, raw;
};
int proto_unwrap(str body, struct proto_unknown *out, struct status *st)
    __attribute__((warn_unused_result));

/* The message as a JSON tree, to be given to schema_decode; unknown fields are skipped. */
int proto_decode(struct arena *a, const struct schema *s, str raw, const struct json **out,
                 struct status *st) __attribute__((warn_unused_result));

/*
 * For a schema that is another's: what protobuf always says and JSON does not, the zeros of fields
 * with omitempty, left out.
 */
const struct json *schema_drop_zeros(struct arena *a, const struct schema *s,
                                     const struct json *tree);

/* ---- strategic merge patch (object/meta/strategic.c) ---- */

/* INVALID or BAD_REQUEST as recorded for wrong directives and missing merge keys. */
int strategic_merge(struct arena *a, const struct schema *s, const struct json *doc,
                    const struct json *patch, const struct json **out, struct status *st)
    __attribute__((warn_unused_result));

#endif
