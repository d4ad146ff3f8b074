/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_QUERY_H
#define SEARCH_QUERY_H

/*
 * What is asked for, as a value: Clusterpedia's options of a URL, read.
 *
 * An option of the URL wins over the search label of the same meaning
 * (search.clusterpedia.io/clusters=…), which is read from labelSelector; what is left of that are
 * the labels of objects.  Pure.
 */

#include "search/fields.h"

enum query_column {
    QUERY_CLUSTER,
    QUERY_NAMESPACE,
    QUERY_NAME,
    QUERY_CREATED,
    QUERY_VERSION,
    QUERY_RESOURCE,
    QUERY_GROUP,
    QUERY_KIND,
    QUERY_COLUMNS,
};

enum {
    QUERY_ORDERS_MAX = 8,
    QUERY_LIST_MAX = 4096, /* words of one option */
    QUERY_SENIORITY_MAX = 8,
};

struct query_list {
    const str *p;
    size_t n;
};

struct query_order {
    enum query_column column;
    bool desc;
};

struct query {
    struct query_list clusters, namespaces, names, fuzzy;
    bool show_virtual; /* hidden clusters, too */
    bool has_since, has_before;
    int64_t since, before; /* seconds */
    str owner_uid, owner_name, owner_group, owner_resource;
    bool owner_typed; /* owner_group and owner_resource are given */
    int64_t owner_seniority;
    struct query_order orders[QUERY_ORDERS_MAX];
    size_t norders;
    int64_t limit, offset; /* limit 0: all */
    bool with_continue, with_remaining;
    bool inject_events, only_metadata;
    struct selector labels;
    struct fields fields;
    str groups, resources; /* of the collection `any`, as they are */
    bool has_groups;
    bool watch;
};

/* BAD_REQUEST with Clusterpedia's words, INVALID for fields that cannot be asked for. */
int query_parse(struct arena *a, str text, struct query *out, struct status *st)
    __attribute__((warn_unused_result));

/* "name desc,cluster" */
int query_parse_orders(str text, struct query *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
