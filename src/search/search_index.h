/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_SEARCH_INDEX_H
#define SEARCH_SEARCH_INDEX_H

/*
 * The index: rows of objects (search/entry.h) in one SQLite file, and what can be found quickly
 * about them.  A cache: a file that is damaged, or of another version of this layout, is deleted.
 *
 *   objects   a row each, by (type, cluster, namespace, name), by (type, name), by owner, by uid
 *   tags      (type, pair, object) of labels and of some fields; pairs are (key, value), each once
 *   names     the trigrams of names
 *   steps     how many rows of a type have names from one to the next (search/names.h)
 *   counts    objects by (type, cluster, namespace)
 *   synced    which types of which clusters are here, and up to which resourceVersion
 *
 * One thread writes, in batches, each of which is seen as a whole or not at all; any number read.
 * The few types and clusters are also in memory, under a lock, for discovery.
 *
 * A type is a resource of one group and version.  Those of hidden clusters are types of their own,
 * so that what is hidden costs nothing where it is not asked for.
 */

#include "loop/loop.h"
#include "search/entry.h"

struct search_index;

enum { DEPOT_BACKLOG_MAX = 32 << 20 }; /* bytes that wait for the writer; then watches pause */

/* NULL: the file cannot be made.  dir/search.db */
struct search_index *search_index_open(const char *dir, struct status *st);
void search_index_close(struct search_index *d); /* writes what waits */

/*
 * Damage that is noticed while it runs: the file is made anew, empty, and `lost` is called on the
 * writer's thread.  What is submitted from then until search_index_resume() is not written (its
 * `done` is called); whoever collects has to begin again after that.
 */
void search_index_on_loss(struct search_index *d, void (*lost)(void *arg), void *arg);
void search_index_resume(struct search_index *d);

const struct entry_hash *search_index_hash(const struct search_index *d);

/* ---- types and clusters ---- */

struct search_index_type {
    int64_t id;
    str group, version, resource, kind, singular;
    str more;        /* `,"shortNames":[…],"categories":[…]` of discovery, or empty */
    bool namespaced; /* else of the cluster */
    bool hidden;
    bool custom; /* of a CRD: lists name the kind of each item */
    /* Hidden and custom: every instance serves it.  Else those do that have the CRD, though all
     * hidden clusters share the type. */
    bool everywhere;
};

/* Its id, made when it is new; fields but the id are copied and renewed.  Any thread. */
int64_t search_index_type_put(struct search_index *d, const struct search_index_type *t);

/* Copies in the arena.  version empty: any.  Types that no cluster has are left out. */
struct search_index_type *search_index_types(struct search_index *d, struct arena *a, bool hidden,
                                             size_t *n);
/* Those of hidden clusters and the events of others, whoever has them. */
struct search_index_type *search_index_types_hidden(struct search_index *d, struct arena *a,
                                                    size_t *n);
/* Of a cluster that is not hidden: without events that are only shown with what they are about. */
struct search_index_type *search_index_types_of(struct search_index *d, struct arena *a,
                                                str cluster, size_t *n);

/* Hidden clusters that are not apart are collected together, and so are healthy together: that is
 * put under the empty name. */
struct search_index_cluster {
    str name;
    str uid; /* of the object that its rows are collected for; put: empty keeps what is known */
    bool hidden, healthy;
    bool apart; /* hidden, and collected by itself, not with all others that are hidden */
    str reason; /* why not healthy */
};
/* False if it is not known. */
bool search_index_cluster(struct search_index *d, struct arena *a, str name,
                          struct search_index_cluster *out);
struct search_index_cluster *search_index_clusters(struct search_index *d, struct arena *a,
                                                   size_t *n);
/* Those that are collected by themselves and are not healthy. */
struct search_index_cluster *search_index_unhealthy(struct search_index *d, struct arena *a,
                                                    size_t *n);
void search_index_cluster_put(struct search_index *d, const struct search_index_cluster *c);

/* The resourceVersion up to which rows of that type are here; empty: never listed.  cluster empty:
 * of a type of all hidden clusters. */
str search_index_synced(struct search_index *d, struct arena *a, str cluster, int64_t type);

/* ---- writing; any thread ---- */

/* Changes that become visible together, in the order of adding; then `done`, on the writer. */
struct search_index_batch;

struct search_index_batch *search_index_batch_new(struct search_index *d);
void search_index_batch_free(struct search_index_batch *b); /* instead of submitting it */
void search_index_put(struct search_index_batch *b, int64_t type, str cluster,
                      const struct entry_kind *k, const struct json *object);
void search_index_delete(struct search_index_batch *b, int64_t type, str cluster, str namespace,
                         str name);
/* All of that type follow (cluster empty: of every hidden cluster that is not apart); at the end
 * what was not put since goes. */
void search_index_list_begin(struct search_index_batch *b, int64_t type, str cluster);
void search_index_list_end(struct search_index_batch *b, int64_t type, str cluster);
/* From here a watch goes on. */
void search_index_at(struct search_index_batch *b, int64_t type, str cluster, str version);
/* Nothing of that type, or of that cluster at all (type 0). */
void search_index_drop(struct search_index_batch *b, int64_t type, str cluster);

/*
 * On the writer's thread, before it is written: fills the batch.  For what takes long to read; of
 * `size` bytes.  Not called when the batch is not written (search_index_on_loss).
 */
void search_index_prepare(struct search_index_batch *b,
                          void (*fill)(struct search_index_batch *b, void *arg), void *arg,
                          size_t size);
/* Called when the batch is gone, written or not. */
void search_index_batch_defer(struct search_index_batch *b, void (*release)(void *arg), void *arg);

void search_index_submit(struct search_index_batch *b, void (*done)(void *arg), void *arg);

/* Bytes that wait. */
size_t search_index_backlog(struct search_index *d);

/* ---- reading; any thread, not two at once with one reader ---- */

struct search_index_reader;
struct search_index_reader *search_index_reader_take(struct search_index *d, struct status *st);
void search_index_reader_give(struct search_index *d, struct search_index_reader *r);

/*
 * Runs one statement, made before or now.  Values are bound in order.  For each row `row` is called
 * with the statement (search/query.c reads its columns); it returns false to stop.
 */
struct search_index_value {
    bool is_text;
    int64_t number;
    str text;
};
struct sqlite3_stmt;
int search_index_query(struct search_index_reader *r, str sql,
                       const struct search_index_value *values, size_t n,
                       bool (*row)(void *arg, struct sqlite3_stmt *s), void *arg, struct status *st)
    __attribute__((warn_unused_result));

/* The names of all rows of a type in a cluster; strings live in the arena. */
int search_index_names(struct search_index_reader *r, struct arena *a, int64_t type, str cluster,
                       const str **out, size_t *n, struct status *st)
    __attribute__((warn_unused_result));

/* In SQL: kfield(object, meta, path) with the path's parts joined by DEPOT_PATH_SEPARATOR. */
#define DEPOT_PATH_SEPARATOR '\x1f'

#endif
