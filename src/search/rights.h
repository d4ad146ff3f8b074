/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_RIGHTS_H
#define SEARCH_RIGHTS_H

/*
 * What a caller may see (struct search_rights) of the types and clusters of one query.  The query
 * is cut to it by a condition of its SQL (search/where.h), and discovery by the same questions.
 * Pure.
 */

#include "search/query.h"
#include "search/search.h"
#include "search/search_index.h"

struct rights_place {
    str cluster, namespace;
};

/* Types of which the caller sees the same. */
struct rights_class {
    struct search_index_type *types;
    size_t ntypes;
    struct query_list whole;          /* clusters: all of it there */
    const struct rights_place *parts; /* and what is in these namespaces */
    size_t nparts;
};

struct rights_cut {
    bool all;                              /* nothing is cut off; there are no classes */
    const struct search_index_type *types; /* those of which anything may be seen */
    size_t ntypes;
    struct query_list clusters; /* in which; all: those that are asked for */
    struct rights_class *classes;
    size_t nclasses;
};

/* asked: clusters; none: any. */
struct rights_cut rights_cut_of(struct arena *a, const struct search_rights *r,
                                const struct search_index_type *types, size_t n,
                                const struct query_list *asked);

/* The caller may know that the cluster is there, and that there are such objects in it. */
bool rights_know(const struct search_rights *r, str cluster);
bool rights_show(const struct search_rights *r, str cluster, str group, str resource);
bool rights_grant_shows(const struct search_grant *g, str group, str resource);

#endif
