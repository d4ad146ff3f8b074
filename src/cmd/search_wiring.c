/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/search_wiring.h"

#include <stdlib.h>

#include "apiserver/call/local.h"
#include "apiserver/call/version.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "iam/permissions.h"
#include "kinds/kinds.h"
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

struct grants {
    const struct iam_grant *p;
    size_t n;
};

struct seen {
    struct arena *arena;
    struct grants instances, members;
    str *clusters, *secrets;
    size_t n, nsecrets;
};

static enum iam_role granted(const struct grants *g, str name)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->p[i].instance, name))
            return g->p[i].role;
    return IAM_NONE;
}

/* The highest role on this member itself, or in an instance that it has joined. */
static enum iam_role role_on(const struct seen *s, const struct json *cluster)
{
    enum iam_role best = IAM_NONE;

    if (!str_is(json_get_str(cluster, "spec.type"), "Virtual"))
        best = granted(&s->members, json_get_str(cluster, "metadata.name"));
    json_for_each (i, json_path(cluster, "status.instances")) {
        enum iam_role role = granted(&s->instances, json_str(i));

        if (role > best)
            best = role;
    }
    return best;
}

/* Viewers read everything but Secrets. */
static void show(struct seen *s, str cluster, enum iam_role role)
{
    if (role > IAM_NONE)
        s->clusters[s->n++] = cluster;
    if (role > IAM_VIEWER)
        s->secrets[s->nsecrets++] = cluster;
}

/* Those of the instances in which the caller has a role, the members that have joined them, and the
 * members that the caller was given by themselves. */
static int clusters_of(struct search_wiring *v, struct seen *s, struct status *st)
{
    struct client_ref ref = { .group = STR("fleet.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    const struct json *list, *items;

    if (client_list(v->root, s->arena, &ref, NULL, &list, st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    s->clusters = arena_array(s->arena, str, s->instances.n + json_len(items));
    s->secrets = arena_array(s->arena, str, s->instances.n + json_len(items));
    for (size_t i = 0; i < s->instances.n; i++)
        show(s, search_cluster_name(s->arena, s->instances.p[i].instance), s->instances.p[i].role);
    json_for_each (c, items)
        show(s, json_get_str(c, "metadata.name"), role_on(s, c));
    return 0;
}

/* As the cache has it now; what it gives lives in its snapshot. */
static struct grants kept(struct arena *a, const struct iam_grant *p, size_t n)
{
    struct iam_grant *copy = arena_array(a, struct iam_grant, n);

    for (size_t i = 0; i < n; i++)
        copy[i] = (struct iam_grant){ .instance = str_dup(a, p[i].instance), .role = p[i].role };
    return (struct grants){ copy, n };
}

static int rights(void *arg, struct arena *a, const struct identity *who, struct search_rights *out,
                  struct status *st)
{
    struct search_wiring *v = arg;
    struct seen s = { .arena = a };
    const struct permissions *all;
    const struct iam_grant *grants;
    enum iam_role role;
    size_t n;

    if (!v->root)
        return status_set(st, REASON_UNAVAILABLE, "the server is not ready yet");
    all = server_permissions(v->server);
    epoch_enter();
    role = permissions_grants(all, a, who, &grants, &n);
    s.instances = kept(a, grants, n);
    (void)permissions_cluster_grants(all, a, who, &grants, &n);
    s.members = kept(a, grants, n);
    epoch_exit();
    out->all = role == IAM_PLATFORM;
    if (out->all || s.instances.n + s.members.n == 0)
        return 0;
    if (clusters_of(v, &s, st) < 0)
        return -1;
    out->clusters = s.clusters;
    out->nclusters = s.n;
    out->secrets = s.secrets;
    out->nsecrets = s.nsecrets;
    return 0;
}

struct search *search_wiring_new(struct search_wiring *v, const char *dir, struct store *store,
                                 bool loopback, struct status *st)
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
                                .loopback = loopback,
                                .version = json_text(a, version_document(a)),
                                .head = head,
                                .served = served,
                                .store_arg = v };
    struct search *s;

    v->store = store;
    s = search_new(&o, st);
    free(real);
    return s;
}

struct client *search_wiring_start(struct search_wiring *v, struct search *s, struct server *server,
                                   struct loop *l)
{
    struct client *root =
        client_new(server_local_transport(server, l, STR("system:kairship:search")));

    v->server = server;
    v->loop = l;
    v->root = root;
    search_start(s, root);
    return root;
}
