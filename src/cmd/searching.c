/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/searching.h"

#include "base/banned.h"
#include "kinds/kinds.h"
#include "rest/table.h"
#include "server/local.h"
#include "server/version.h"

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
    struct searching *v = arg;

    return store_head(v->store);
}

static bool served(void *arg, uint64_t revision)
{
    struct searching *v = arg;

    return server_local_watched(v->server, v->loop) >= revision;
}

struct search *searching_new(struct searching *v, const char *dir, struct store *store,
                             bool loopback, struct status *st)
{
    scoped_arena a = arena_new();
    struct search_options o = { .dir = dir,
                                .clock = clock_real(),
                                .tables = { .columns = columns, .cells = cells },
                                .instances = true,
                                .loopback = loopback,
                                .version = json_text(a, version_document(a)),
                                .head = head,
                                .served = served,
                                .store_arg = v };

    v->store = store;
    return search_new(&o, st);
}

struct client *searching_start(struct searching *v, struct search *s, struct server *server,
                               struct loop *l)
{
    struct client *root =
        client_new(server_local_transport(server, l, STR("system:kairship:search")));

    v->server = server;
    v->loop = l;
    search_start(s, root);
    return root;
}
