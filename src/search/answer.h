/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_ANSWER_H
#define SEARCH_ANSWER_H

/*
 * From a path below /apis/clusterpedia.io to the bytes of an answer.  Everything here runs on a
 * worker and may read the index.
 */

#include "search/query.h"
#include "search/search.h"
#include "search/search_index.h"
#include "search/select.h"

enum { ANSWER_MAX = 256 << 20 }; /* bytes; larger lists have to be asked for in pages */

enum answer_form { ANSWER_JSON, ANSWER_TABLE, ANSWER_PARTIAL };

struct answer {
    struct arena *arena; /* what follows lives here */
    struct search_index *search_index;
    struct search_index_reader *reader;
    const struct search_tables *tables;
    const struct search_rights *rights;
    str version; /* the document of /version */
    int64_t now_s;

    str method, path, query, accept; /* path: behind the group, "" or "/v1beta1/…" */

    enum answer_form form;
    str form_version; /* of a table: "v1" */
    bool yaml;
    struct buf out;
    str warning; /* a header, or empty */
};

/* 200 and a body in out, or -1 and why. */
int answer_make(struct answer *w, struct status *st) __attribute__((warn_unused_result));

/* What the audit records of a request for such a path: who looks for Secrets. */
void answer_describe(str method, str path, struct mount_deed *out);

int answer_missing(struct status *st); /* 404 without saying of what */

/* Whether that cluster is there for this caller. */
bool answer_knows(struct answer *w, str cluster, struct search_index_cluster *out);

/* The types a caller can ask for: of one cluster, or with an empty name of all.  Custom ones only
 * where they may see such objects. */
struct search_index_type *answer_types(struct answer *w, str cluster, bool show_virtual, size_t *n);

/* What discovery over all clusters names. */
struct search_index_type *answer_offered(struct answer *w, size_t *n);

/* A warning if rows may be old or missing, since a cluster that is asked for and that the caller
 * may see cannot be followed. */
void answer_warn(struct answer *w, const struct query *q, const struct search_index_type *types,
                 size_t n);

/* Another version of a built-in type in which it is also offered; false: none by that name. */
bool answer_old_version(str group, str resource, str version);

/* ---- documents (search/search_discovery.c); parts: behind /resources[/clusters/x] ---- */

int search_discovery_answer(struct answer *w, str cluster, const str *parts, size_t n,
                            struct status *st) __attribute__((warn_unused_result));
void search_discovery_group(struct answer *w);
void search_discovery_group_version(struct answer *w);

/* ---- objects (search/shape.c) ---- */

struct shape_request {
    const struct query *q;
    const struct search_index_type *types;
    size_t ntypes;
    str cluster; /* of the path */
    str version; /* in which it was asked for, of a list or an object */
};
int shape_list(struct answer *w, const struct shape_request *r, struct status *st)
    __attribute__((warn_unused_result));
int shape_object(struct answer *w, const struct shape_request *r, str name, struct status *st)
    __attribute__((warn_unused_result));
/* A collection of several types under a name. */
int shape_collection(struct answer *w, const struct shape_request *r, str name, struct status *st)
    __attribute__((warn_unused_result));

/* The object whole, as JSON that stands alone. */
void shape_print(struct buf *b, const struct search_index_type *t, const struct select_row *row);

/* ---- collections (search/collections.c) ---- */

int collections_answer(struct answer *w, const str *parts, size_t n, struct status *st)
    __attribute__((warn_unused_result));

#endif
