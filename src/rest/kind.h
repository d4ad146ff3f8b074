/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_KIND_H
#define REST_KIND_H

/*
 * A kind: everything the generic resource (rest/rest.h) must know about one served version of one
 * resource.  A kind is a row of a table with a few functions; kinds/ holds the built-in ones.
 * Frozen, shared by all instances and threads.
 */

#include "base/identity.h"
#include "object/meta/names.h"
#include "object/meta/schema.h"
#include "json/json.h"

enum verb {
    VERB_GET = 1 << 0,
    VERB_LIST = 1 << 1,
    VERB_WATCH = 1 << 2,
    VERB_CREATE = 1 << 3,
    VERB_UPDATE = 1 << 4,
    VERB_PATCH = 1 << 5,
    VERB_DELETE = 1 << 6,
    VERB_DELETE_COLLECTION = 1 << 7,
    VERBS_ALL = (1 << 8) - 1,
    VERBS_STATUS = VERB_GET | VERB_UPDATE | VERB_PATCH,
};
const char *verb_name(enum verb v); /* "deletecollection" */

struct kind;

/* What a strategy function may use besides the objects. */
struct kind_context {
    struct arena *arena;
    const struct kind *kind;
    const struct identity *who; /* the user of the request */
    str subresource;            /* empty: the main resource */
    str namespace_, name;
    int64_t now_s;  /* wall clock */
    bool create;    /* the write is a create: some rules apply to new objects only */
    bool has_grace; /* of a delete: the client gives a grace period */
    int64_t grace_s;
    bool evicts; /* of a delete: it is an eviction (pods/eviction) */
};

/*
 * All objects are trees of this version's schema, decoded and defaulted by the schema table.  Every
 * function may be NULL.  Order on create: prepare_create, validate; on update: prepare_update,
 * validate, validate_update.  Metadata common to all kinds is handled by rest.
 */
struct kind_ops {
    /* Defaults that depend on other fields; on create, update and patch. */
    const struct json *(*defaults)(const struct kind_context *c, const struct json *obj);
    /* Removes what a client may not set (status), and adds what the server sets
     * (spec.finalizers). */
    const struct json *(*prepare_create)(const struct kind_context *c, const struct json *obj);
    /* Restores from old the fields that this endpoint (main or a subresource) may not change. */
    const struct json *(*prepare_update)(const struct kind_context *c, const struct json *obj,
                                         const struct json *old);
    /* Add causes to st. */
    void (*validate)(const struct kind_context *c, const struct json *obj, struct status *st);
    void (*validate_update)(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st);
    /* Runs after all of these, if they accept the object: refuses (FORBIDDEN) what the admission
     * webhook of the kind's authors would refuse.  old is NULL on create.  Not called for
     * subresources. */
    int (*review)(const struct kind_context *c, const struct json *obj, const struct json *old,
                  struct status *st);
    /* Adds texts for the Warning headers of an accepted write; old is NULL on create. */
    void (*warn)(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings);
    /* Returns 0, or refuses a delete (FORBIDDEN). */
    int (*check_delete)(const struct kind_context *c, const struct json *obj, struct status *st);
    /*
     * Returns the object to store when a delete must not remove it at once (a Namespace becomes
     * Terminating, with a deletionTimestamp but no grace period), or NULL when it may be removed.
     */
    const struct json *(*begin_delete)(const struct kind_context *c, const struct json *obj);
    /* Updates an object that a delete only marks, because it has finalizers. */
    const struct json *(*held)(const struct kind_context *c, const struct json *obj);
    /* Returns whether an object that is being deleted may be removed, in addition to the rule that
     * metadata.finalizers is empty (a Namespace needs empty spec.finalizers). */
    bool (*may_vanish)(const struct json *obj);
    /* Convert between this version and the stored one; NULL: they are the same. */
    const struct json *(*to_stored)(struct arena *a, const struct json *obj);
    const struct json *(*from_stored)(struct arena *a, const struct json *obj);
    /*
     * For kinds that contain credentials: redact() hides them from callers who may not read
     * Secrets; unredact() restores them in an object that such a caller writes.
     */
    const struct json *(*redact)(struct arena *a, const struct json *obj);
    const struct json *(*unredact)(struct arena *a, const struct json *obj, const struct json *old);
    /* Appends the cells of the kind's columns. */
    void (*cells)(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells);
};

struct jsonpath;

struct column {
    str name, type, format, description; /* type "string" … */
    int priority;
    const struct jsonpath *path; /* to the cell's field; NULL: ops->cells makes all cells */
};

/* A field that fieldSelector supports besides metadata.name and metadata.namespace. */
struct field_label {
    str label;         /* "involvedObject.name" */
    const char *path;  /* dotted path in the stored object */
    const char *alias; /* second path if the first is empty, or NULL ("source" of events) */
    const char *zero;  /* how an absent value compares, NULL: "" */
    bool indexed;      /* equality is decided by index rows */
    /* For fields with several values, instead of path: appends them all; the selector matches if
     * any is equal. */
    void (*each)(struct arena *a, const struct json *tree, struct json_array *out);
};

/* Where an object keeps its number of replicas; dotted paths, empty: it does not. */
struct scale {
    str replicas, status_replicas, selector;
};

struct subresource {
    str name;
    unsigned verbs;
    str group, version, kind;  /* of its bodies; empty: the parent's */
    const struct scale *scale; /* for "scale" */
};

enum status_meta {
    STATUS_META_FREE,
    STATUS_META_LABELS, /* /status cannot change labels */
    STATUS_META_ALL,    /* nor annotations, finalizers and ownerReferences */
};

struct kind {
    str group, version, kind, plural, singular;
    str list_kind;
    const str *short_names, *categories;
    size_t nshort_names, ncategories;
    bool namespaced;
    unsigned verbs;
    enum name_rule name_rule;
    bool generation;       /* has metadata.generation */
    bool generation_stays; /* metadata.generation is always 1 */
    bool status_counts;    /* a change of status increments generation: the kind has no /status */
    bool generation_late;  /* metadata.generation is absent until the first change */
    enum status_meta status_meta; /* the metadata that /status cannot change */
    bool delete_returns_object;
    bool orphans;         /* a delete without a propagation policy orphans the dependents */
    str orphans_warning;  /* the warning of such a delete, or empty */
    bool no_dependents;   /* no object depends on one, so a delete does not look: events */
    bool plain_conflicts; /* failed preconditions have the storage layer's message: namespaces */
    bool bare_finalizers; /* finalizers need no slash; k8s: for kinds, also custom ones, that
                             core validation does not cover */
    bool named_by_uuid;   /* an object without a name gets a UUID as its name: limit ranges */
    bool owns_nothing;    /* writes take no ownership of spec and status: certificate requests */
    bool unconditional_update; /* PUT without resourceVersion overwrites */
    bool update_creates;       /* PUT creates an object that does not exist */
    bool transient;            /* never stored: apiserver/server/special.h has the handlers */
    bool any;                  /* stands for this resource in the CRDs of all instances; each
                                  object names its schema (rest/schemas.h) */
    bool json_only;            /* no protobuf bodies (415), like custom resources */
    bool kind_selectors; /* the error for an unknown field selector is "field label not supported:
                            x", as for kinds with selectors of their own */
    str closed;          /* why creates are refused; empty: they are not */
    str deprecated;      /* the warning in every response about it, or empty */
    const struct schema *schema;
    /* For a CRD that serves a built-in kind of Kubernetes: the protobuf field numbers that clients
     * have compiled in.  NULL: those of the schema. */
    const struct schema *numbers;
    /* Where its objects are stored: several versions or groups may share one type. */
    str storage_group, storage_plural;
    const struct kind *storage; /* the kind whose version is stored (itself for most) */
    /* For a CRD's kind: all its versions, including those that are not served. */
    const struct kind *versions;
    size_t nversions;
    const struct subresource *subresources;
    size_t nsubresources;
    const struct column *columns;
    size_t ncolumns;
    const char *row_rank; /* a number by which tables sort their rows; dotted path, NULL: by name */
    const struct field_label *field_labels;
    size_t nfield_labels;
    const struct kind_ops *ops;
    /*
     * For a CRD's kind: an object that was written with another schema (obj.schema is not
     * schema_id) is pruned and defaulted with this one before it is served.  0: stored objects are
     * served as they are.
     */
    uint32_t schema_id;
    /* The conversion webhook (clientConfig of the CRD); NULL: only the apiVersion differs. */
    const struct json *conversion;
    /* Set by kinds_init() or custom_new(): */
    uint32_t type_id; /* in the store */
    str type_prefix;  /* `{"kind":"ConfigMap","apiVersion":"v1",` */
    str api_version;  /* "v1", "events.k8s.io/v1" */
    uint64_t serial;  /* from kind_serial() for kinds that come and go, because another may get the
                         same address */
};

uint64_t kind_serial(void); /* returns a number never returned before, not 0; any thread */

const struct subresource *kind_subresource(const struct kind *k, str name); /* or NULL */

/*
 * What an instance serves: kinds in discovery order (group by group, versions in order of
 * preference).  Equal instances share one catalog; `etag` changes with the content.
 */
struct catalog {
    const struct kind *const *kinds;
    size_t nkinds;
    const struct schema_set *schemas;
    uint64_t etag;
    /* A hash table of 2^nslots_log2 slots, by group, version and plural: 1 + index into kinds.
     * NULL: search linearly. */
    const uint16_t *slots;
    unsigned nslots_log2;
};

enum { CATALOG_KINDS_MAX = 30000 };

/* Builds the hash table, when the kinds are complete; it lives in the arena. */
void catalog_index(struct arena *a, struct catalog *c);

bool catalog_has_group(const struct catalog *c, str group, str version); /* version may be empty */
const struct kind *catalog_find(const struct catalog *c, str group, str version, str plural);
const struct kind *catalog_find_kind(const struct catalog *c, str api_version, str kind);

#endif
