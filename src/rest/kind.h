/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_KIND_H
#define REST_KIND_H

/*
 * A kind: everything the generic resource (rest/rest.h) must know about one served version of one
 * resource.  A kind is a row of a table with a few functions; kinds/ holds the built-in ones.
 * Frozen, shared by all instances and threads.
 */

#include "base/identity.h"
#include "meta/names.h"
#include "meta/schema.h"
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

/* What a strategy function may look at besides the objects. */
struct kind_context {
    struct arena *arena;
    const struct kind *kind;
    const struct identity *who; /* of the request */
    str subresource;            /* empty: the main resource */
    str namespace_, name;
    int64_t now_s;  /* wall clock */
    bool create;    /* the write is a create: some rules are for new objects only */
    bool has_grace; /* of a delete: the client says how long it may take, */
    int64_t grace_s;
    bool evicts; /* and what is deleted is told that it had to go (pods/eviction) */
};

/*
 * All objects are trees of this version's schema, decoded and defaulted by the schema table.  Every
 * function may be NULL.  Order on create: prepare_create, validate; on update: prepare_update,
 * validate, validate_update.  Metadata common to all kinds is handled by rest.
 */
struct kind_ops {
    /* Defaults that depend on other fields; on create, update and patch. */
    const struct json *(*defaults)(const struct kind_context *c, const struct json *obj);
    /* What a client may not set (status) or what the server adds (spec.finalizers). */
    const struct json *(*prepare_create)(const struct kind_context *c, const struct json *obj);
    /* Keeps from old what this endpoint (main or a subresource) may not change. */
    const struct json *(*prepare_update)(const struct kind_context *c, const struct json *obj,
                                         const struct json *old);
    /* Add causes to st. */
    void (*validate)(const struct kind_context *c, const struct json *obj, struct status *st);
    void (*validate_update)(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st);
    /* After all of these, when nothing was wrong: what a webhook of the kind's makers would refuse
     * (FORBIDDEN); old is NULL on create.  Not asked about subresources. */
    int (*review)(const struct kind_context *c, const struct json *obj, const struct json *old,
                  struct status *st);
    /* Texts for the Warning headers of a write that is accepted; old is NULL on create. */
    void (*warn)(const struct kind_context *c, const struct json *obj, const struct json *old,
                 struct schema_faults *warnings);
    /* Refuses a delete (FORBIDDEN) or returns 0. */
    int (*check_delete)(const struct kind_context *c, const struct json *obj, struct status *st);
    /*
     * A delete that does not remove at once: gives the object to store instead (a Namespace becomes
     * Terminating, with a deletionTimestamp but no grace period), or NULL when it may go.
     */
    const struct json *(*begin_delete)(const struct kind_context *c, const struct json *obj);
    /* What an object that finalizers hold says of itself while it is being deleted. */
    const struct json *(*held)(const struct kind_context *c, const struct json *obj);
    /* True when an update leaves an object that must now vanish beyond metadata.finalizers
     * (a Namespace without spec.finalizers). */
    bool (*may_vanish)(const struct json *obj);
    /* Between this version and the stored one; NULL: the same. */
    const struct json *(*to_stored)(struct arena *a, const struct json *obj);
    const struct json *(*from_stored)(struct arena *a, const struct json *obj);
    /*
     * Of a kind that has credentials inside: as it is shown to who may not read Secrets, and what
     * such a one writes with the parts that it did not see put back.
     */
    const struct json *(*veil)(struct arena *a, const struct json *obj);
    const struct json *(*unveil)(struct arena *a, const struct json *obj, const struct json *old);
    /* The cells of its columns. */
    void (*cells)(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells);
};

struct jsonpath;

struct column {
    str name, type, format, description; /* type "string" … */
    int priority;
    const struct jsonpath *path; /* where the cell is found; NULL: ops->cells makes them all */
};

/* A field that fieldSelector knows besides metadata.name and metadata.namespace. */
struct field_label {
    str label;         /* "involvedObject.name" */
    const char *path;  /* where in the stored object; dotted */
    const char *alias; /* second path if the first is empty, or NULL ("source" of events) */
    const char *zero;  /* how an absent value compares, NULL: "" */
    bool indexed;      /* equality is answered from index rows */
    /* Of one with several values, instead of path: adds strings; equal is who has it among them. */
    void (*each)(struct arena *a, const struct json *tree, struct json_array *out);
};

/* Where an object says how many it wants to be; dotted paths, empty: nowhere. */
struct scale {
    str replicas, status_replicas, selector;
};

struct subresource {
    str name;
    unsigned verbs;
    str group, version, kind;  /* of what it speaks, empty: the parent's */
    const struct scale *scale; /* of "scale" */
};

enum status_meta {
    STATUS_META_FREE,
    STATUS_META_LABELS, /* labels stay */
    STATUS_META_ALL,    /* labels, annotations, finalizers and owners stay */
};

struct kind {
    str group, version, kind, plural, singular;
    str list_kind;
    const str *short_names, *categories;
    size_t nshort_names, ncategories;
    bool namespaced;
    unsigned verbs;
    enum name_rule name_rule;
    bool generation;              /* metadata.generation is kept */
    bool generation_stays;        /* it is 1 for ever */
    bool status_counts;           /* a change of status is one of the object: there is no /status */
    bool generation_late;         /* there is none until the first change */
    enum status_meta status_meta; /* what of metadata cannot be changed by way of /status */
    bool delete_returns_object;
    bool orphans;         /* a delete that says nothing of dependents leaves them */
    str orphans_warning;  /* what is said of it then, or empty */
    bool no_dependents;   /* deletes never ask for them: events */
    bool plain_conflicts; /* preconditions fail in the store's words: namespaces */
    bool bare_finalizers; /* finalizers may be without a slash; k8s: of kinds, custom ones
                             too, whose validation is not core's */
    bool named_by_uuid;   /* who gives no name gets one: limit ranges */
    bool owns_nothing;    /* no field of spec or status gets an owner: what was asked of a signer */
    bool unconditional_update; /* PUT without resourceVersion wins */
    bool update_creates;       /* PUT of what is not there makes it */
    bool transient;            /* never stored: server/special.h says who answers */
    bool
        any; /* of all CRDs that have this resource, wherever: objects say which (rest/schemas.h) */
    bool json_only;      /* no protobuf bodies (415), as custom resources */
    bool kind_selectors; /* an unknown field selector reads "field label not supported: x" (it has
                            selectors of its own) */
    str closed;          /* why no more of it can be made; empty: it can */
    str deprecated;      /* what every request about it is warned of, or empty */
    const struct schema *schema;
    /* Of a CRD with a kind of Kubernetes' own: how clients that know it by heart number its fields.
     * NULL: as its schema does. */
    const struct schema *numbers;
    /* Where its objects are stored: several versions or groups may share one type. */
    str storage_group, storage_plural;
    const struct kind *storage; /* the kind whose version is stored (itself for most) */
    /* Of a CRD's kind: all its versions, also those that are not served. */
    const struct kind *versions;
    size_t nversions;
    const struct subresource *subresources;
    size_t nsubresources;
    const struct column *columns;
    size_t ncolumns;
    const char *row_rank; /* a number by which rows of a table are sorted; dotted, NULL: by name */
    const struct field_label *field_labels;
    size_t nfield_labels;
    const struct kind_ops *ops;
    /*
     * Of a CRD's kind: objects that another schema wrote (obj.schema is not schema_id) are read
     * again by this one's before anybody sees them.  0: as stored is as served.
     */
    uint32_t schema_id;
    /* How a webhook converts between the versions (clientConfig of the CRD); NULL: by schema only.
     */
    const struct json *conversion;
    /* Made by kinds_init or custom_new: */
    uint32_t type_id; /* in the store */
    str type_prefix;  /* `{"kind":"ConfigMap","apiVersion":"v1",` */
    str api_version;  /* "v1", "events.k8s.io/v1" */
    uint64_t serial;  /* of kinds that come and go, kind_serial(): another may get its address */
};

uint64_t kind_serial(void); /* never the same twice, never 0; any thread */

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
    /* By group, version and plural: 1 + place in kinds, in 2^nslots_log2 slots.  NULL: look at all.
     */
    const uint16_t *slots;
    unsigned nslots_log2;
};

enum { CATALOG_KINDS_MAX = 30000 };

/* Once the kinds are there; the slots live in the arena. */
void catalog_index(struct arena *a, struct catalog *c);

bool catalog_has_group(const struct catalog *c, str group, str version); /* version may be empty */
const struct kind *catalog_find(const struct catalog *c, str group, str version, str plural);
const struct kind *catalog_find_kind(const struct catalog *c, str api_version, str kind);

#endif
