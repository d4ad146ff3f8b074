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
 * Whoever asks sees what search_rights_fn says (a role or RBAC in an instance that the cluster has
 * joined, or a role on it; never RBAC inside of members), by a condition of the query itself
 * (search/rights.h), so that neither rows, counts, pages, owners, events nor discovery tell of
 * more.  A cluster of which the caller may see nothing looks like one that is not there.
 */

#include "base/clock.h"
#include "base/listable.h"
#include "client/client.h"
#include "fleet/egress.h"
#include "rpc/mount.h"

struct search;

/*
 * What a caller may see: all, or in each of these clusters what the listable shows.  A cluster may
 * stand there more than once (it has joined several instances): each grant adds.
 */
struct search_grant {
    str cluster; /* in the index */
    struct listable listable;
};
struct search_rights {
    bool all;
    const struct search_grant *grants;
    size_t ngrants;
};
extern const struct search_rights
    search_rights_all; /* of our own parts and the platform's admins */

/*
 * On a worker; may block.  Fills *out, whose strings live in the arena, or fails.  instance: at
 * whose door the caller is (empty: root's), whose names and groups theirs are; then only the
 * clusters of that instance count.  At root's door it is not asked about members of system:masters,
 * who see everything, and whoever has no grant needs RBAC there (`get` of the resource
 * `resources.clusterpedia.io`) to be let in, and sees nothing.
 */
typedef int search_rights_fn(void *arg, struct arena *a, const struct identity *who, str instance,
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
    search_rights_fn *rights; /* NULL: no grants */
    void *rights_arg;
    struct search_tables tables; /* its functions may be NULL: Name and Created At */
    bool instances;              /* collect those of this process */
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
 * lives until search_stop, and so does what says where members may be (NULL: egress_default).  Any
 * thread but the loop's.
 */
void search_start(struct search *s, struct client *root, const struct egress *egress);
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
    const struct search_rights *rights; /* never NULL: whoever asks says for whom */
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
