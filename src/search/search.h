/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

/*
 * Search: a copy of the objects of all members and instances in one index, and questions to it.
 *
 *   collects   members that root's PediaClusters and registered Clusters name, over their own
 *              API; instances in process, one watch a type over all of them, kinds of their
 *              CRDs too; instances that are attached as members are
 *   keeps      an SQLite file in the data's folder (search/search_index.h).  It is a cache: lost or
 *              damaged, also while it runs, it is made again
 *   answers    the Clusterpedia API as a mount at /apis/clusterpedia.io, and search_find() for the
 *              management API's reads
 *
 * The objects of instance x are those of a cluster "k-x" (search_cluster_name), which is left out
 * unless it is named or asked for.  Secrets are kept without their values.
 *
 * Whoever asks sees what search_rights_fn says, by a filter of the query itself, so that neither
 * counts nor pages tell of more.
 */

#include "base/clock.h"
#include "client/client.h"
#include "rpc/mount.h"

struct search;

/* What a caller may see.  all: everything; else the named clusters, each with all it has but
 * Secrets, and of those the Secrets for which they are named a second time. */
struct search_rights {
    bool all;
    const str *clusters, *secrets;
    size_t nclusters, nsecrets;
};

/*
 * On a worker; may block.  Fills *out, whose strings live in the arena, or fails.  The platform's
 * admins are not asked about: they see everything.  To whom it gives nothing RBAC may: who may
 * `get` the resource `resources.clusterpedia.io` in root sees everything, anybody else is refused.
 */
typedef int search_rights_fn(void *arg, struct arena *a, const struct identity *who,
                             struct search_rights *out, struct status *st);

/* How objects of built-in kinds look as rows of a table: the layer of kinds knows. */
struct search_tables {
    /* The array columnDefinitions of that type; false if it is not known. */
    bool (*columns)(void *arg, struct arena *a, str group, str version, str resource,
                    struct buf *out);
    /* The cells of one object, as an array. */
    void (*cells)(void *arg, struct arena *a, str group, str version, str resource,
                  const struct json *object, int64_t now_s, struct json_array *out);
    void *arg;
};

struct search_options {
    const char *dir; /* the index is a file in it */
    struct clock *clock;
    search_rights_fn *rights; /* may be NULL */
    void *rights_arg;
    struct search_tables tables; /* its functions may be NULL: Name and Created At */
    bool instances;              /* collect those of this process */
    bool loopback;               /* members may be on this machine */
    str version;                 /* the document of /version */
    /*
     * For search_wait: the store's head (any thread), and whether every watch of root's loop has
     * been told of all up to a revision (on that loop).  NULL: a turn of the loop is enough.
     */
    uint64_t (*head)(void *arg);
    bool (*served)(void *arg, uint64_t revision);
    void *store_arg;
};

/* Opens the index; nothing is collected yet.  NULL: it cannot be made. */
struct search *search_new(const struct search_options *o, struct status *st);
/*
 * Begins to collect, once the loops run.  root: in process, of root, "system:kairship:search"; it
 * lives until search_stop.  Any thread but the loop's.
 */
void search_start(struct search *s, struct client *root);
/* Ends collecting, while the loops still run; then the root client may be freed. */
void search_stop(struct search *s);
void search_free(struct search *s);

/* To be handed to the server; it lives as long as the search. */
struct mount search_mount(struct search *s);

/* "k-x" of instance x, and x itself where it begins so (DESIGN 3). */
str search_cluster_name(struct arena *a, str instance);

/*
 * Waits until everything that this process had acknowledged in instances before the call is in the
 * index, at most ms.  False: it is not, and the answer should say so.  Blocks; not on a loop.
 */
bool search_wait(struct search *s, int64_t ms);
enum { SEARCH_WAIT_MS = 500 };

/* ---- questions of the management API; any thread but a loop's ---- */

struct search_find {
    const str *clusters; /* names in the index; none: all that are not hidden */
    size_t nclusters;
    bool show_virtual;             /* with none named: the hidden ones, too */
    str group, version, resource;  /* version empty: the one that is kept */
    const str *namespaces, *names; /* none: any */
    size_t nnamespaces, nnames;
    str fuzzy;          /* a part of the name; empty: any */
    str label_selector; /* as in URLs */
    str field_selector; /* Clusterpedia's: any path */
    str owner_uid;      /* its controller; with one cluster */
    str order_by;       /* "name desc,cluster"; empty: cluster, namespace, name */
    uint32_t limit;     /* 0: all */
    uint64_t offset;
    bool count;                         /* also the total */
    const struct search_rights *rights; /* NULL: all */
};

struct search_item {
    str cluster, namespace, name;
    str json; /* the whole object, with kind, apiVersion and the cluster as an annotation */
};

struct search_found {
    struct search_item *items;
    size_t n;
    uint64_t total; /* when it was asked for */
};

int search_find(struct search *s, struct arena *a, const struct search_find *f,
                struct search_found *out, struct status *st) __attribute__((warn_unused_result));

/* How many there are; cheap where only clusters and namespaces are given. */
int search_count(struct search *s, struct arena *a, const struct search_find *f, uint64_t *out,
                 struct status *st) __attribute__((warn_unused_result));

/* How it is with a cluster: whether it is known, and whether its rows are up to date. */
struct search_cluster {
    bool known, hidden, healthy;
    str reason; /* why not healthy */
};
void search_cluster_state(struct search *s, struct arena *a, str name, struct search_cluster *out);

#endif
