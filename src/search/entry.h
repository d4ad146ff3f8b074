/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_ENTRY_H
#define SEARCH_ENTRY_H

/*
 * An object as the index keeps it.
 *
 * Its text begins inside of metadata.annotations, so that an answer is put together from pieces:
 * whatever stands in front (kind, apiVersion), the annotation that names the cluster, this text.
 *
 *     ,"a":"b"}  ,"name":"x",…}  ,"spec":{…}}
 *     annotations metadata        the rest            (meta: where the rest begins)
 *
 * managedFields and the last-applied annotation are left out, of Secrets also all values, of Works
 * what is to be sent, of clusters their kubeconfigs.
 */

#include "json/json.h"

enum {
    ENTRY_FIELD_PARTS = 32,     /* of a path that is asked for */
    ENTRY_TAGS_MAX = 256,       /* labels and fields of one object that are indexed */
    ENTRY_OBJECT_MAX = 8 << 20, /* a larger object is kept as its metadata */
};

struct entry_hash { /* of uids; random, kept with the index */
    uint64_t k0, k1;
};

struct entry {
    str namespace, name;
    int64_t uid, owner; /* hashes; 0: none.  The owner is the controlling one. */
    int64_t version;    /* resourceVersion as a number */
    int64_t created;    /* seconds since 1970 */
    str text;
    uint32_t meta;
};

/* What search can find quickly: a label, or a field of the kind's table whose name begins with a
 * dot. */
struct entry_tag {
    str key, value;
};

/* Which values of a Secret's are hidden depends on the type alone. */
struct entry_kind {
    str group, resource;
};

int64_t entry_hash_of(const struct entry_hash *h, str uid); /* never 0; 0 of the empty one */

/* From a tree; everything lives in the arena.  False when it has no name. */
bool entry_make(struct arena *a, const struct entry_hash *h, const struct entry_kind *k,
                const struct json *object, struct entry *out);

/* Its tags, in no order, each once.  At most max. */
size_t entry_tags(struct arena *a, const struct entry_kind *k, str text, uint32_t meta,
                  struct entry_tag *out, size_t max);

/* True when values of that field (".spec.nodeName") are tags. */
bool entry_field_is_tag(const struct entry_kind *k, str dotted);

/*
 * The value at a path of member names, as it stands in the text; false if there is none, or null.
 */
bool entry_field(str text, uint32_t meta, const str *path, size_t n, str *raw);

/* The same as people write it: strings without quotes, in the arena where they were escaped. */
bool entry_field_text(struct arena *a, str text, uint32_t meta, const str *path, size_t n,
                      str *out);

#endif
