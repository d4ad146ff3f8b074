/* SPDX-License-Identifier: Apache-2.0 */

/* Calls, and reading for them. */

#include "mgmt/resource.h"

#include <assert.h>

#include "base/banned.h"
#include "mgmt/instance.h"
#include "mgmt/translate.h"
#include "object/meta/karmada.h"
#include "rpc/api.h"

#define INDEX_NOTE "shadow.clusterpedia.io/cluster-name"
#define STALE      "299 - \"the index lags behind: the answer may be older than what was written\""

enum { SCAN_CHUNK = 500, ITEMS_MAX = 10000 };

/* ---- calls ---- */

static const struct rpc_method *method_of(str path)
{
    for (size_t f = 0; f < kairship_api.nfiles; f++)
        for (size_t s = 0; s < kairship_api.files[f].nservices; s++) {
            const struct rpc_service *service = &kairship_api.files[f].services[s];

            if (!str_starts(path, service->name) || path.p[service->name.n] != '/')
                continue;
            for (size_t m = 0; m < service->nmethods; m++)
                if (str_eq(service->methods[m].name, str_from(path, service->name.n + 1)))
                    return &service->methods[m];
        }
    return NULL;
}

/* What stands in the path over REST must be there over gRPC, too. */
static int require_path(const struct resource_call *c, struct status *st)
{
    str path = str_of(c->method->rules[0].path);

    for (ptrdiff_t at = str_find(path, '{', 0); at >= 0; at = str_find(path, '{', (size_t)at + 1)) {
        ptrdiff_t end = str_find(path, '}', (size_t)at);
        str field = str_sub(path, (size_t)at + 1, (size_t)(end - at - 1));

        if (!json_str(json_get(c->request, field)).n)
            status_cause(st, CAUSE_REQUIRED, field, STR_NONE, "must not be empty");
    }
    return status_invalid(st, STR_NONE, c->method->input->name, STR_NONE);
}

static const struct resource_rpc *row_of(const struct resource_rpc *rpcs, size_t n, str method)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(method, rpcs[i].method))
            return &rpcs[i];
    return NULL;
}

int resource_run(const struct resource_rpc *rpcs, size_t n, void *arg, struct rpc_context *ctx,
                 const struct json *request, const struct json **response, struct status *st)
{
    struct resource_call c = { .ctx = ctx,
                               .arena = ctx->arena,
                               .request = request,
                               .method = method_of(ctx->method),
                               .instance = json_get_str(request, "instance"),
                               .namespace = json_get_str(request, "namespace"),
                               .name = json_get_str(request, "name") };
    const struct resource_rpc *row;
    struct mgmt_parts *p;

    assert(c.method);
    row = row_of(rpcs, n, c.method->name);
    assert(row);
    if (mgmt_parts_of(arg, &p, st) < 0 || require_path(&c, st) < 0 ||
        mgmt_require(p, ctx, c.instance, row->least, st) < 0 ||
        instance_get(p, ctx, c.instance, &c.owner, st) < 0)
        return -1;
    c.p = p;
    c.what = row->what;
    c.cluster = search_cluster_name(c.arena, c.instance);
    return row->fn(&c, response, st);
}

/* ---- the index ---- */

struct search_find resource_find(struct resource_call *c, const struct resource *what)
{
    mgmt_see(c->p, c->ctx, c->instance, c->cluster, &c->sight);
    return (struct search_find){ .clusters = &c->cluster,
                                 .nclusters = 1,
                                 .group = what->ref.group,
                                 .resource = what->ref.resource,
                                 .rights = &c->sight.rights };
}

static void wait_for_index(struct resource_call *c)
{
    int64_t left = rpc_time_left_ms(c->ctx);

    if (c->waited)
        return;
    c->waited = true;
    if (!search_wait(c->p->search, left < SEARCH_WAIT_MS ? left : SEARCH_WAIT_MS))
        c->ctx->warning = STR(STALE);
}

/* As the instance has it, without what the index adds. */
static const struct json *without_note(struct arena *a, const struct json *obj)
{
    struct json_object notes = json_object_from(a, json_path(obj, "metadata.annotations"));

    json_remove(&notes, STR(INDEX_NOTE));
    return json_set(a, obj, "metadata.annotations", notes.n ? json_object_done(&notes) : NULL);
}

static int look(struct resource_call *c, struct arena *a, const struct search_find *f,
                const struct json ***out, size_t *n, uint64_t *total, struct status *st)
{
    struct search_found found;

    wait_for_index(c);
    if (search_find(c->p->search, a, f, &found, st) < 0)
        return -1;
    *out = arena_array(a, const struct json *, found.n);
    for (size_t i = 0; i < found.n; i++) {
        if (json_parse(a, found.items[i].json, NULL, &(*out)[i], st) < 0)
            return -1;
        (*out)[i] = without_note(a, (*out)[i]);
    }
    *n = found.n;
    if (total)
        *total = found.total;
    return 0;
}

int resource_search(struct resource_call *c, const struct search_find *f, const struct json ***out,
                    size_t *n, uint64_t *total, struct status *st)
{
    return look(c, c->arena, f, out, n, total, st);
}

int resource_read(struct resource_call *c, const struct resource *what, str namespace, str name,
                  const struct json **out, struct status *st)
{
    struct search_find f = resource_find(c, what);
    const struct json **objects;
    size_t n;

    f.names = &name;
    f.nnames = 1;
    f.namespaces = &namespace;
    f.nnamespaces = what->cluster_scoped ? 0 : 1;
    if (resource_search(c, &f, &objects, &n, NULL, st) < 0)
        return -1;
    if (n == 0)
        return status_not_found(st, what->ref.group, what->ref.resource, name);
    *out = objects[0];
    return 0;
}

/* ---- answers ---- */

static struct json shape(struct resource_call *c, const struct rpc_message *m,
                         const struct json *obj)
{
    const struct json *message = translate(c->arena, m, obj);

    if (c->at_member)
        message =
            json_set(c->arena, message, "metadata.cluster", json_get(c->request, STR("cluster")));
    if (c->what->finish)
        message = c->what->finish(c, obj, message);
    if (c->what->spreads)
        message = json_set(c->arena, message,
                           message_field(m, STR("clusters")) ? "clusters" : "status.clusters",
                           spread_of(c, obj));
    return *message;
}

int resource_answer(struct resource_call *c, const struct json *obj, const struct json **response,
                    struct status *st)
{
    const struct rpc_message *m = c->method->output;
    struct json_object o = json_object_new(c->arena);

    if (message_field(m, STR("data")) && m->nfields == 1) {
        *response = mgmt_data_answer(c->arena, obj);
        return 0;
    }
    if (c->what->spreads && spread_load(c, &obj, 1, st) < 0)
        return -1;
    if (m->nfields != 1) {
        *response = json_box(c->arena, shape(c, m, obj));
        return 0;
    }
    assert(m->fields[0].type == RPC_MESSAGE);
    json_add(&o, m->fields[0].json, shape(c, m->fields[0].message, obj));
    *response = json_object_done(&o);
    return 0;
}

int resource_get(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json *obj;

    if (resource_read(c, c->what, c->namespace, c->name, &obj, st) < 0)
        return -1;
    return resource_answer(c, obj, response, st);
}

/* ---- lists ---- */

struct page { /* of a list */
    struct mgmt_page asked;
    const struct json **objects;
    size_t n;
    uint64_t total;
};

int resource_scan(struct resource_call *c, struct search_find *f, resource_each_fn *each, void *arg,
                  struct status *st)
{
    const struct json **chunk;
    size_t n = SCAN_CHUNK;

    f->limit = SCAN_CHUNK;
    f->count = false;
    for (f->offset = 0; n == SCAN_CHUNK; f->offset += n) {
        scoped_arena a = arena_new();

        if (look(c, a, f, &chunk, &n, NULL, st) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            each(arg, chunk[i]);
    }
    return 0;
}

struct sieve { /* keeps what is on the page */
    struct arena *arena;
    const struct resource_filter *filter;
    struct page *page;
    uint64_t from, to;
};

static void sift(void *arg, const struct json *obj)
{
    struct sieve *s = arg;

    if (!s->filter->takes(s->filter->arg, obj))
        return;
    if (s->page->total >= s->from && s->page->total < s->to)
        s->page->objects[s->page->n++] = json_dup(s->arena, obj);
    s->page->total++;
}

/* The index cannot find it by itself: all is looked at. */
static int scan(struct resource_call *c, struct search_find *f,
                const struct resource_filter *filter, struct page *page, struct status *st)
{
    struct sieve s = { c->arena, filter, page, f->offset, f->offset + f->limit };

    page->objects = arena_array(c->arena, const struct json *, f->limit);
    return resource_scan(c, f, sift, &s, st);
}

static str both(struct arena *a, str x, str y)
{
    return x.n && y.n ? str_printf(a, "%.*s,%.*s", STR_ARG(x), STR_ARG(y)) : x.n ? x : y;
}

/* Mostly "items". */
static const struct rpc_field *list_of(const struct rpc_message *m)
{
    for (size_t i = 0; i < m->nfields; i++)
        if (m->fields[i].flags & RPC_REPEATED && m->fields[i].type == RPC_MESSAGE)
            return &m->fields[i];
    return NULL;
}

static int answer_page(struct resource_call *c, const struct page *page,
                       const struct json **response, struct status *st)
{
    const struct rpc_field *list = list_of(c->method->output);
    struct json_array items = json_array_new(c->arena);
    struct json_object o = json_object_new(c->arena);

    assert(list);
    if (c->what->spreads && spread_load(c, page->objects, page->n, st) < 0)
        return -1;
    for (size_t i = 0; i < page->n; i++)
        json_push(&items, shape(c, list->message, page->objects[i]));
    json_add(&o, list->json, json_array_value(&items));
    json_add(&o, STR("pagination"), mgmt_pagination(c->arena, &page->asked, page->total));
    *response = json_object_done(&o);
    return 0;
}

int resource_list_filtered(struct resource_call *c, const struct resource_filter *filter,
                           const struct json **response, struct status *st)
{
    struct search_find f = resource_find(c, c->what);
    struct page page = { .n = 0 };
    int64_t size;

    if (mgmt_page_read(c->request, &page.asked, st) < 0)
        return -1;
    size = page.asked.size ? page.asked.size : ITEMS_MAX;
    f.namespaces = &c->namespace;
    f.nnamespaces = c->namespace.n ? 1 : 0;
    f.fuzzy = filter->name_is_other ? STR_NONE : page.asked.name;
    f.label_selector = both(c->arena, json_get_str(c->request, "labelSelector"), filter->labels);
    f.field_selector = both(c->arena, json_get_str(c->request, "fieldSelector"), filter->fields);
    f.owner_uid = filter->owner;
    f.order_by = mgmt_page_order(&page.asked);
    if (!f.order_by.n)
        f.order_by = filter->order;
    f.limit = (uint32_t)size;
    f.offset = (uint64_t)(page.asked.page - 1) * (uint64_t)size;
    f.count = true;
    if (filter->takes ? scan(c, &f, filter, &page, st) < 0
                      : resource_search(c, &f, &page.objects, &page.n, &page.total, st) < 0)
        return -1;
    return answer_page(c, &page, response, st);
}

int resource_list(struct resource_call *c, const struct json **response, struct status *st)
{
    return resource_list_filtered(c, &(struct resource_filter){ .takes = NULL }, response, st);
}

static struct json as_it_is(struct arena *a, const struct json *obj)
{
    (void)a;
    return *obj;
}

int resource_list_of(struct resource_call *c, const struct json **objects, size_t n,
                     const struct json **response, struct status *st)
{
    struct page page = { .n = 0 };
    const struct json *answer;

    if (mgmt_page_read(c->request, &page.asked, st) < 0)
        return -1;
    answer = mgmt_page_answer(c->arena, &page.asked, objects, n, as_it_is);
    json_for_each (item, json_get(answer, STR("items")))
        objects[page.n++] = item;
    page.objects = objects;
    page.total = (uint64_t)json_int(json_path(answer, "pagination.total"), 0);
    return answer_page(c, &page, response, st);
}

void resource_check_word(struct resource_call *c, const char *field, struct status *st)
{
    str word = json_get_str(c->request, field);

    for (size_t i = 0; i < word.n; i++) {
        char x = word.p[i], lower = (char)(x | 0x20);

        if ((lower >= 'a' && lower <= 'z') || (x >= '0' && x <= '9') ||
            str_find(STR("-._:"), x, 0) >= 0)
            continue;
        status_cause(st, CAUSE_INVALID, str_of(field),
                     json_text(c->arena, json_path(c->request, field)),
                     "must be a name: letters, digits and -._:");
        return;
    }
}

/* ---- members ---- */

static const struct resource member_clusters = {
    .ref = { .group = STR_INIT("cluster.karmada.io"), .resource = STR_INIT("clusters") },
    .cluster_scoped = true,
};

/* Its name in Container Management's registry is its name in the index.  Which entry it stands for
 * the registry says, not the Cluster, which may claim any id. */
int resource_at_member(struct resource_call *c, struct status *st)
{
    str cluster = json_get_str(c->request, "cluster");
    struct search_cluster state;
    const struct json *joined, *entry;

    if (resource_read(c, &member_clusters, STR_NONE, cluster, &joined, st) < 0 ||
        mgmt_registered(c->p, c->ctx, c->instance, cluster, &entry, st) < 0)
        return -1;
    if (!entry)
        return status_set(st, REASON_UNAVAILABLE,
                          "cluster \"%.*s\" has joined, but what it has is not known yet",
                          STR_ARG(cluster));
    c->cluster = json_get_str(entry, "metadata.name");
    c->at_member = true;
    search_cluster_state(c->p->search, c->arena, c->cluster, &state);
    if (!state.healthy)
        c->ctx->warning = str_printf(
            c->arena,
            "299 - \"cluster %.*s cannot be followed: the answer may be old or incomplete\"",
            STR_ARG(cluster));
    return 0;
}

int resource_list_member(struct resource_call *c, const struct json **response, struct status *st)
{
    if (resource_at_member(c, st) < 0)
        return -1;
    return resource_list(c, response, st);
}

int resource_list_promotable(struct resource_call *c, const struct json **response,
                             struct status *st)
{
    struct resource_filter f = { .labels = STR("!" KARMADA_MANAGED) };

    if (resource_at_member(c, st) < 0)
        return -1;
    return resource_list_filtered(c, &f, response, st);
}
