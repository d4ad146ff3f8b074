/* SPDX-License-Identifier: Apache-2.0 */
#include "search/rights.h"

#include "base/banned.h"

bool rights_know(const struct search_rights *r, str cluster)
{
    for (size_t i = 0; !r->all && i < r->ngrants; i++)
        if (r->grants[i].listable.n && str_eq(r->grants[i].cluster, cluster))
            return true;
    return r->all;
}

bool rights_grant_shows(const struct search_grant *g, str group, str resource)
{
    for (size_t i = 0; i < g->listable.n; i++)
        if (listable_shows(&g->listable.rules[i], group, resource))
            return true;
    return false;
}

bool rights_show(const struct search_rights *r, str cluster, str group, str resource)
{
    for (size_t i = 0; !r->all && i < r->ngrants; i++)
        if (str_eq(r->grants[i].cluster, cluster) &&
            rights_grant_shows(&r->grants[i], group, resource))
            return true;
    return r->all;
}

/* ---- classes ---- */

struct cutting {
    struct arena *arena;
    const struct search_grant *grants; /* of clusters that are asked for */
    size_t ngrants;
    struct rights_cut *cut;
};

/* Every rule says the same of both. */
static bool alike(const struct cutting *c, const struct search_index_type *x,
                  const struct search_index_type *y)
{
    for (size_t i = 0; i < c->ngrants; i++) {
        const struct listable *l = &c->grants[i].listable;

        for (size_t k = 0; k < l->n; k++)
            if (listable_shows(&l->rules[k], x->group, x->resource) !=
                listable_shows(&l->rules[k], y->group, y->resource))
                return false;
    }
    return true;
}

static bool is_seen(const struct cutting *c, const struct search_index_type *t)
{
    for (size_t i = 0; i < c->ngrants; i++)
        if (rights_grant_shows(&c->grants[i], t->group, t->resource))
            return true;
    return false;
}

static bool in_list(const struct query_list *l, str word)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->p[i], word))
            return true;
    return false;
}

/* An instance's members are told one after the other: twice the same is rare, and harmless. */
static void add_cluster(struct query_list *l, str *p, str cluster)
{
    if (l->n && str_eq(p[l->n - 1], cluster))
        return;
    p[l->n++] = cluster;
    l->p = p;
}

static bool is_whole(const struct listable *l, const struct search_index_type *t)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_empty(l->rules[i].namespace_) &&
            listable_shows(&l->rules[i], t->group, t->resource))
            return true;
    return false;
}

static size_t add_parts(struct rights_place *p, const struct search_grant *g,
                        const struct search_index_type *t)
{
    size_t n = 0;

    for (size_t i = 0; i < g->listable.n; i++) {
        const struct listable_rule *r = &g->listable.rules[i];

        if (listable_shows(r, t->group, t->resource) &&
            (n == 0 || !str_eq(p[n - 1].namespace, r->namespace_)))
            p[n++] = (struct rights_place){ g->cluster, r->namespace_ };
    }
    return n;
}

/* Where the class's types are seen. */
static void fill_class(struct cutting *c, struct rights_class *class)
{
    const struct search_index_type *t = &class->types[0];
    str *whole = arena_array(c->arena, str, c->ngrants);
    struct rights_place *parts;
    size_t most = 0;

    for (size_t i = 0; i < c->ngrants; i++) {
        const struct search_grant *g = &c->grants[i];

        if (is_whole(&g->listable, t))
            add_cluster(&class->whole, whole, g->cluster);
        else
            most += g->listable.n;
    }
    if (most == 0)
        return;
    parts = arena_array(c->arena, struct rights_place, most);
    for (size_t i = 0; i < c->ngrants; i++)
        if (!is_whole(&c->grants[i].listable, t))
            class->nparts += add_parts(parts + class->nparts, &c->grants[i], t);
    class->parts = parts;
}

static struct rights_class *class_of(struct cutting *c, const struct search_index_type *t, size_t n)
{
    struct rights_cut *cut = c->cut;
    struct rights_class *new = &cut->classes[cut->nclasses];

    for (size_t i = 0; i < cut->nclasses; i++)
        if (alike(c, &cut->classes[i].types[0], t))
            return &cut->classes[i];
    *new = (struct rights_class){ .types = arena_array(c->arena, struct search_index_type, n) };
    cut->nclasses++;
    return new;
}

static void sort_types(struct cutting *c, const struct search_index_type *types, size_t n)
{
    struct rights_cut *cut = c->cut;
    struct search_index_type *seen = arena_array(c->arena, struct search_index_type, n);

    cut->classes = arena_array(c->arena, struct rights_class, n);
    for (size_t i = 0; i < n; i++) {
        struct rights_class *class;

        if (!is_seen(c, &types[i]))
            continue;
        seen[cut->ntypes++] = types[i];
        class = class_of(c, &types[i], n);
        class->types[class->ntypes++] = types[i];
        if (class->ntypes == 1)
            fill_class(c, class);
    }
    cut->types = seen;
}

/* All clusters of all classes. */
static void sum_clusters(struct cutting *c)
{
    struct rights_cut *cut = c->cut;
    str *p;

    if (cut->nclasses == 1 && cut->classes[0].nparts == 0) {
        cut->clusters = cut->classes[0].whole;
        return;
    }
    p = arena_array(c->arena, str, c->ngrants);
    for (size_t i = 0; i < c->ngrants; i++)
        for (size_t k = 0; k < cut->nclasses; k++) {
            const struct search_index_type *t = &cut->classes[k].types[0];

            if (!rights_grant_shows(&c->grants[i], t->group, t->resource))
                continue;
            add_cluster(&cut->clusters, p, c->grants[i].cluster);
            break;
        }
}

static void only_asked(struct cutting *c, const struct query_list *asked)
{
    struct search_grant *grants = arena_array(c->arena, struct search_grant, c->ngrants);
    size_t n = 0;

    for (size_t i = 0; i < c->ngrants; i++)
        if (in_list(asked, c->grants[i].cluster))
            grants[n++] = c->grants[i];
    c->grants = grants;
    c->ngrants = n;
}

struct rights_cut rights_cut_of(struct arena *a, const struct search_rights *r,
                                const struct search_index_type *types, size_t n,
                                const struct query_list *asked)
{
    struct rights_cut cut = { .types = types, .ntypes = n, .clusters = *asked };
    struct cutting c = { a, r->grants, r->ngrants, &cut };

    cut.all = r->all;
    if (r->all)
        return cut;
    if (asked->n)
        only_asked(&c, asked);
    cut.ntypes = 0;
    cut.clusters = (struct query_list){ 0 };
    sort_types(&c, types, n);
    sum_clusters(&c);
    return cut;
}
