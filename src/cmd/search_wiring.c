/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/search_wiring.h"

#include <stdlib.h>

#include "apiserver/auth/authz.h"
#include "apiserver/call/local.h"
#include "apiserver/call/version.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "iam/permissions.h"
#include "kinds/kinds.h"
#include "mgmt/mgmt.h"
#include "rest/table.h"

/* Old versions of a kind look like its newest. */
static const struct kind *kind_of(str group, str version, str resource)
{
    const struct catalog *c = kinds_catalog_root();
    const struct kind *k = catalog_find(c, group, version, resource);

    for (size_t i = 0; !k && i < c->nkinds; i++)
        if (str_eq(c->kinds[i]->group, group) && str_eq(c->kinds[i]->plural, resource))
            k = c->kinds[i];
    return k;
}

static bool columns(void *arg, struct arena *a, str group, str version, str resource,
                    struct buf *out)
{
    const struct kind *k = kind_of(group, version, resource);

    (void)arg;
    (void)a;
    if (k)
        table_columns(out, k);
    return k;
}

static void cells(void *arg, struct arena *a, str group, str version, str resource,
                  const struct json *object, int64_t now_s, struct json_array *out)
{
    const struct kind *k = kind_of(group, version, resource);
    const struct json *row;
    struct status st;
    scoped_buf b;

    (void)arg;
    if (!k)
        return;
    status_init(&st, a);
    buf_init(&b, 16 << 20);
    table_row(&b, a, k, object, TABLE_NONE, now_s);
    if (json_parse(a, str_dup(a, buf_str(&b)), NULL, &row, &st) < 0)
        return;
    json_for_each (cell, json_get(row, STR("cells")))
        json_push(out, *cell);
}

static uint64_t head(void *arg)
{
    struct search_wiring *v = arg;

    return store_head(v->store);
}

static bool served(void *arg, uint64_t revision)
{
    struct search_wiring *v = arg;

    return server_local_watched(v->server, v->loop) >= revision;
}

/* ---- who may see what ---- */

/* What somebody may list in an instance, or in a cluster by itself. */
struct given {
    str name;
    enum iam_role role;
    struct listable listable;
};

struct givens {
    struct given *p;
    size_t n;
};

struct sight {
    struct arena *arena;
    struct givens instances, clusters;
    struct search_grant *grants;
    size_t n, cap;
};

static void grant(struct sight *s, str cluster, const struct listable *listable)
{
    if (listable->n == 0)
        return;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 32;
        struct search_grant *more = arena_array(s->arena, struct search_grant, cap);

        if (s->n)
            memcpy(more, s->grants, s->n * sizeof(*more));
        s->grants = more;
        s->cap = cap;
    }
    s->grants[s->n++] = (struct search_grant){ cluster, *listable };
}

static void grant_named(struct sight *s, str cluster, const struct givens *from, str name)
{
    for (size_t i = 0; i < from->n; i++)
        if (str_eq(from->p[i].name, name))
            grant(s, cluster, &from->p[i].listable);
}

/* What the index has by that name is a PediaCluster's. */
static bool is_among(const struct json *pedias, str name)
{
    json_for_each (p, pedias)
        if (str_eq(json_get_str(p, "metadata.name"), name))
            return true;
    return false;
}

/* Members by what was given in the instances that they have joined, and on them by themselves. */
static int grant_members(struct search_wiring *v, struct sight *s, struct status *st)
{
    struct client_ref others = { .group = STR("cluster.clusterpedia.io"),
                                 .version = STR("v1alpha2"),
                                 .resource = STR("pediaclusters") };
    const struct roster_cluster *clusters;
    const struct json *pedias;
    size_t n;

    if (roster_get(&v->roster, v->root, s->arena, &clusters, &n, st) < 0 ||
        client_list(v->root, s->arena, &others, NULL, &pedias, st) < 0)
        return -1;
    for (size_t c = 0; c < n; c++) {
        if (is_among(json_get(pedias, STR("items")), clusters[c].name))
            continue;
        if (clusters[c].member)
            grant_named(s, clusters[c].name, &s->clusters, clusters[c].name);
        for (size_t i = 0; i < clusters[c].ninstances; i++)
            grant_named(s, clusters[c].name, &s->instances, clusters[c].instances[i]);
    }
    return 0;
}

/* As the cache has it now; what it gives lives in its snapshot. */
static struct givens kept(struct arena *a, const struct iam_grant *p, size_t n)
{
    struct given *copy = arena_array(a, struct given, n);

    for (size_t i = 0; i < n; i++)
        copy[i] = (struct given){ .name = str_dup(a, p[i].instance),
                                  .role = p[i].role,
                                  .listable = mgmt_listable(p[i].role) };
    return (struct givens){ copy, n };
}

/* The roles of Global Management; instance: only those in it.  False: the caller sees all. */
static bool look_at_roles(struct search_wiring *v, const struct identity *who, str instance,
                          struct sight *s)
{
    const struct permissions *all = server_permissions(v->server);
    const struct iam_grant *grants;
    struct iam_grant one = { .instance = instance };
    size_t n;

    epoch_enter();
    if (instance.n) {
        one.role = permissions_role(all, who, instance);
        s->instances = kept(s->arena, &one, 1);
    } else if (permissions_grants(all, s->arena, who, &grants, &n) == IAM_PLATFORM) {
        epoch_exit();
        return false;
    } else {
        s->instances = kept(s->arena, grants, n);
        (void)permissions_cluster_grants(all, s->arena, who, &grants, &n);
        s->clusters = kept(s->arena, grants, n);
    }
    epoch_exit();
    return true;
}

/* RBAC of an instance counts for those who may enter it, and adds only to what a role shows. */
static int add_rbac(struct search_wiring *v, const struct identity *who, struct sight *s,
                    struct given *in, struct status *st)
{
    struct listable more;
    struct listable_rule *rules;
    size_t n = in->listable.n;

    if (in->role > IAM_VIEWER)
        return 0; /* they see everything */
    if (access_listable(v->server, s->arena, who, in->name, &more, st) < 0)
        return -1;
    rules = arena_array(s->arena, struct listable_rule, n + more.n);
    if (n)
        memcpy(rules, in->listable.rules, n * sizeof(*rules));
    for (size_t i = 0; i < more.n; i++)
        if (in->role == IAM_NONE || listable_shows(&more.rules[i], STR_NONE, STR("secrets")))
            rules[n++] = more.rules[i];
    in->listable = (struct listable){ rules, n };
    return 0;
}

static int rights(void *arg, struct arena *a, const struct identity *who, str instance,
                  struct search_rights *out, struct status *st)
{
    struct search_wiring *v = arg;
    struct sight s = { .arena = a };
    size_t shown = 0;

    if (!v->root)
        return status_set(st, REASON_UNAVAILABLE, "the server is not ready yet");
    if (!look_at_roles(v, who, instance, &s)) {
        out->all = true;
        return 0;
    }
    for (size_t i = 0; i < s.instances.n; i++) {
        struct given *in = &s.instances.p[i];

        if (add_rbac(v, who, &s, in, st) < 0)
            return -1;
        shown += in->listable.n;
        grant(&s, search_cluster_name(a, in->name), &in->listable);
    }
    if (shown + s.clusters.n && grant_members(v, &s, st) < 0)
        return -1;
    out->grants = s.grants;
    out->ngrants = s.n;
    return 0;
}

struct search *search_wiring_new(struct search_wiring *v, const char *dir, struct store *store,
                                 struct status *st)
{
    scoped_arena a = arena_new();
    char *real =
        realpath(dir, NULL); /* SQLite looks at links, which it may not do any more later */
    struct search_options o = { .dir = real ? real : dir,
                                .clock = clock_real(),
                                .rights = rights,
                                .rights_arg = v,
                                .tables = { .columns = columns, .cells = cells },
                                .instances = true,
                                .version = json_text(a, version_document(a)),
                                .head = head,
                                .served = served,
                                .store_arg = v };
    struct search *s;

    v->store = store;
    roster_init(&v->roster, store);
    s = search_new(&o, st);
    free(real);
    return s;
}

void search_wiring_release(struct search_wiring *v)
{
    roster_release(&v->roster);
}

struct client *search_wiring_start(struct search_wiring *v, struct search *s, struct server *server,
                                   struct loop *l)
{
    struct client *root =
        client_new(server_local_transport(server, l, STR("system:kairship:search")));

    v->server = server;
    v->loop = l;
    v->root = root;
    search_start(s, root, server_egress(server));
    return root;
}
