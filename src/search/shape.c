/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "search/answer.h"

#define CLUSTER_NOTE "shadow.clusterpedia.io/cluster-name"
#define EVENTS_NOTE  "shadow.clusterpedia.io/events"

/* ---- one object ---- */

enum head { HEAD_NONE, HEAD_KIND, HEAD_PARTIAL };

static void print_head(struct buf *b, enum head head, const struct search_index_type *t,
                       str version)
{
    buf_byte(b, '{');
    if (head == HEAD_PARTIAL)
        buf_lit(b, "\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",");
    if (head == HEAD_KIND)
        buf_printf(b, "\"kind\":\"%.*s\",\"apiVersion\":\"%.*s%s%.*s\",", STR_ARG(t->kind),
                   STR_ARG(t->group), str_empty(t->group) ? "" : "/", STR_ARG(version));
    buf_lit(b, "\"metadata\":{\"annotations\":{\"" CLUSTER_NOTE "\":");
}

/* events: a JSON array as text, or empty. */
static void print_object(struct buf *b, enum head head, const struct search_index_type *t,
                         str version, const struct select_row *row, bool whole, str events)
{
    print_head(b, head, t, version);
    json_print_string(b, row->cluster);
    if (!str_empty(events)) {
        buf_lit(b, ",\"" EVENTS_NOTE "\":");
        json_print_string(b, events);
    }
    buf_str_append(b, whole ? row->text : str_sub(row->text, 0, row->meta));
    if (!whole)
        buf_byte(b, '}');
}

void shape_print(struct buf *b, const struct search_index_type *t, const struct select_row *row)
{
    print_object(b, HEAD_KIND, t, t->version, row, true, STR_NONE);
}

/* ---- events of an object ---- */

static bool add_event(void *arg, const struct select_row *row)
{
    struct buf *b = arg;
    static const struct search_index_type event = { .kind = STR_INIT("Event") };

    buf_byte(b, b->n ? ',' : '[');
    print_object(b, HEAD_KIND, &event, STR("v1"), row, true, STR_NONE);
    return b->n < (1 << 20);
}

/* Those of instances, and of members for what they are about. */
static const struct search_index_type *event_types(struct answer *w, size_t *n)
{
    size_t nall;
    struct search_index_type *all = search_index_types_hidden(w->search_index, w->arena, &nall);

    *n = 0;
    for (size_t i = 0; i < nall; i++)
        if (str_empty(all[i].group) && str_is(all[i].resource, "events"))
            all[(*n)++] = all[i];
    return all;
}

static int events_of(struct answer *w, const struct select_row *row, str uid, str *out,
                     struct status *st)
{
    str cluster = row->cluster;
    struct query q = { .clusters = { &cluster, 1 }, .owner_uid = uid, .limit = 100 };
    struct select_scope scope = { .rights = w->rights, .hash = search_index_hash(w->search_index) };
    scoped_buf b;

    buf_init(&b, 2 << 20);
    *out = STR("[]");
    scope.types = event_types(w, &scope.ntypes);
    if (scope.ntypes == 0)
        return 0;
    if (select_rows(w->reader, w->arena, &q, &scope, add_event, &b, st) < 0)
        return -1;
    if (b.n == 0)
        return 0;
    buf_byte(&b, ']');
    *out = str_dup(w->arena, buf_str(&b));
    return 0;
}

/* ---- lists ---- */

struct listing {
    struct answer *w;
    const struct shape_request *r;
    struct status *st;
    enum head head;
    bool whole, table;
    bool known; /* its columns are the kind's own */
    size_t n;
    int rc;
};

static const struct search_index_type *type_of(const struct shape_request *r, int64_t id)
{
    for (size_t i = 0; i < r->ntypes; i++)
        if (r->types[i].id == id)
            return &r->types[i];
    return &r->types[0];
}

static void print_cells(struct listing *l, const struct search_index_type *t,
                        const struct select_row *row)
{
    scoped_arena a = arena_new();
    struct answer *w = l->w;
    struct json_array cells = json_array_new(a);
    const struct json *object;
    scoped_buf text;
    struct status st;

    status_init(&st, a);
    buf_init(&text, ANSWER_MAX);
    shape_print(&text, t, row);
    json_push(&cells, json_of_str(row->cluster));
    if (json_parse(a, buf_str(&text), NULL, &object, &st) == 0) {
        if (l->known)
            w->tables->cells(w->tables->arg, a, t->group, l->r->version, t->resource, object,
                             w->now_s, &cells);
        else {
            json_push(&cells, json_of_str(row->name));
            json_push(&cells, json_of_str(json_get_str(object, "metadata.creationTimestamp")));
        }
    }
    json_print(&w->out, json_array_done(&cells));
}

static bool print_row(void *arg, const struct select_row *row)
{
    static const str uid_path[] = { STR_INIT("metadata"), STR_INIT("uid") };
    struct listing *l = arg;
    struct answer *w = l->w;
    const struct search_index_type *t = type_of(l->r, row->type);
    str version = l->r->ntypes == 1 && !str_empty(l->r->version) ? l->r->version : t->version;
    str events = STR_NONE, uid;

    if (l->n++)
        buf_byte(&w->out, ',');
    if (l->table) {
        buf_lit(&w->out, "{\"cells\":");
        print_cells(l, t, row);
        buf_lit(&w->out, ",\"object\":");
    }
    if (l->r->q->inject_events &&
        entry_field_text(w->arena, row->text, row->meta, uid_path, 2, &uid) &&
        events_of(w, row, uid, &events, l->st) < 0) {
        l->rc = -1;
        return false;
    }
    print_object(&w->out, l->head, t, version, row, l->whole, events);
    if (l->table)
        buf_byte(&w->out, '}');
    return !buf_overflown(&w->out);
}

static int too_large(struct status *st)
{
    return status_set(st, REASON_TOO_LARGE,
                      "the answer is larger than %d MiB: ask for it in pages, with limit and "
                      "continue",
                      ANSWER_MAX >> 20);
}

static struct select_scope scope_of(struct answer *w, const struct shape_request *r)
{
    struct select_scope s = { .types = r->types,
                              .ntypes = r->ntypes,
                              .rights = w->rights,
                              .hash = search_index_hash(w->search_index) };

    if (r->q->clusters.n == 1)
        s.owner_types = answer_types(w, r->q->clusters.p[0], false, &s.nowner_types);
    return s;
}

/* `"continue":"5","remainingItemCount":9`, or less. */
static int paging(struct listing *l, const struct select_scope *scope, struct buf *b)
{
    const struct query *q = l->r->q;
    uint64_t total = 0;

    if (q->with_continue && q->limit && l->n == (size_t)q->limit)
        buf_printf(b, "\"continue\":\"%lld\"", (long long)q->offset + (long long)q->limit);
    if (!q->with_remaining)
        return 0;
    if (select_count(l->w->reader, l->w->arena, q, scope, &total, l->st) < 0)
        return -1;
    buf_printf(b, "%s\"remainingItemCount\":%lld", b->n ? "," : "",
               (long long)total - (long long)q->offset - (long long)l->n);
    return 0;
}

static int rows(struct listing *l, struct select_scope *scope)
{
    struct answer *w = l->w;

    if (select_rows(w->reader, w->arena, l->r->q, scope, print_row, l, l->st) < 0 || l->rc < 0)
        return -1;
    return buf_overflown(&w->out) ? too_large(l->st) : 0;
}

static void table_head(struct listing *l, const struct search_index_type *t)
{
    struct answer *w = l->w;
    const struct search_tables *tables = w->tables;
    scoped_buf own;

    buf_init(&own, 1 << 20);
    l->known = (!t->custom || t->hidden) && tables->columns &&
               tables->columns(tables->arg, w->arena, t->group, l->r->version, t->resource, &own);
    buf_printf(&w->out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%.*s\",",
               STR_ARG(w->form_version));
    buf_lit(&w->out, "\"columnDefinitions\":[{\"name\":\"Cluster\",\"type\":\"string\","
                     "\"format\":\"\",\"description\":\"The cluster it is in.\",\"priority\":0}");
    if (l->known && own.n > 2) {
        buf_byte(&w->out, ',');
        buf_append(&w->out, own.p + 1, own.n - 2);
    } else
        buf_lit(&w->out,
                ",{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":"
                "\"Name of the object.\",\"priority\":0},{\"name\":\"Created At\",\"type\":"
                "\"date\",\"format\":\"\",\"description\":\"When it was made.\",\"priority\":0}");
    buf_lit(&w->out, "],\"rows\":[");
}

/* Clusterpedia's lists of custom resources have metadata only when it says something. */
static void end_list(struct answer *w, str pages, bool custom)
{
    buf_byte(&w->out, ']');
    if (!custom || pages.n)
        buf_printf(&w->out, ",\"metadata\":{%.*s}", STR_ARG(pages));
    buf_byte(&w->out, '}');
}

int shape_list(struct answer *w, const struct shape_request *r, struct status *st)
{
    const struct search_index_type *t = &r->types[0];
    struct listing l = { .w = w, .r = r, .st = st };
    struct select_scope scope = scope_of(w, r);
    scoped_buf pages;

    buf_init(&pages, 1 << 10);
    l.table = w->form == ANSWER_TABLE;
    l.whole = w->form == ANSWER_JSON && !r->q->only_metadata;
    l.head = w->form != ANSWER_JSON ? HEAD_PARTIAL : t->custom ? HEAD_KIND : HEAD_NONE;
    if (l.table)
        table_head(&l, t);
    else if (w->form == ANSWER_PARTIAL)
        buf_lit(&w->out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
                         "\"meta.k8s.io/v1\",\"items\":[");
    else
        buf_printf(&w->out, "{\"kind\":\"%.*sList\",\"apiVersion\":\"%.*s%s%.*s\",\"items\":[",
                   STR_ARG(t->kind), STR_ARG(t->group), str_empty(t->group) ? "" : "/",
                   STR_ARG(r->version));
    if (rows(&l, &scope) < 0 || paging(&l, &scope, &pages) < 0)
        return -1;
    end_list(w, buf_str(&pages), w->form == ANSWER_JSON && t->custom);
    return 0;
}

int shape_object(struct answer *w, const struct shape_request *r, str name, struct status *st)
{
    const struct search_index_type *t = &r->types[0];
    struct query q = { .clusters = r->q->clusters,
                       .namespaces = r->q->namespaces,
                       .names = { &name, 1 },
                       .limit = 1 };
    struct shape_request one = *r;
    struct listing l = { .w = w, .r = &one, .st = st };
    struct select_scope scope;

    if (!t->namespaced)
        q.namespaces = (struct query_list){ NULL, 0 };
    one.q = &q;
    scope = scope_of(w, &one);
    l.table = w->form == ANSWER_TABLE;
    l.whole = w->form == ANSWER_JSON && !r->q->only_metadata;
    l.head = w->form == ANSWER_JSON ? HEAD_KIND : HEAD_PARTIAL;
    if (l.table)
        table_head(&l, t);
    if (rows(&l, &scope) < 0)
        return -1;
    if (l.n == 0)
        return status_not_found(st, t->group, t->resource, name);
    if (l.table)
        buf_lit(&w->out, "],\"metadata\":{}}");
    return 0;
}

/* ---- collections ---- */

struct gathering {
    struct listing list;
    size_t *seen; /* which types, in the order in which they came */
    size_t nseen;
};

static void print_age(struct buf *b, int64_t s)
{
    static const struct {
        int64_t from, unit;
        char letter;
    } steps[] = { { 2 * 86400, 86400, 'd' }, { 3 * 3600, 3600, 'h' }, { 120, 60, 'm' } };

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (s >= steps[i].from) {
            buf_printf(b, "\"%lld%c\"", (long long)(s / steps[i].unit), steps[i].letter);
            return;
        }
    buf_printf(b, "\"%llds\"", (long long)(s < 0 ? 0 : s));
}

static void gather_cells(struct answer *w, const struct search_index_type *t,
                         const struct select_row *row)
{
    static const str path[] = { STR_INIT("metadata"), STR_INIT("creationTimestamp") };
    const str cells[] = { row->cluster, t->group, t->version, t->kind, row->namespace, row->name };
    int64_t made = w->now_s;
    str text;

    buf_lit(&w->out, "{\"cells\":");
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
        buf_byte(&w->out, i ? ',' : '[');
        json_print_string(&w->out, cells[i]);
    }
    if (entry_field_text(w->arena, row->text, row->meta, path, 2, &text))
        (void)time_parse_seconds(text, &made);
    buf_byte(&w->out, ',');
    print_age(&w->out, w->now_s - made);
    buf_lit(&w->out, "],\"object\":");
}

static void note_type(struct gathering *g, size_t type)
{
    for (size_t i = 0; i < g->nseen; i++)
        if (g->seen[i] == type)
            return;
    g->seen[g->nseen++] = type;
}

static bool gather(void *arg, const struct select_row *row)
{
    struct gathering *g = arg;
    struct listing *l = &g->list;
    const struct search_index_type *t = type_of(l->r, row->type);

    note_type(g, (size_t)(t - l->r->types));
    if (l->n++)
        buf_byte(&l->w->out, ',');
    if (l->table)
        gather_cells(l->w, t, row);
    print_object(&l->w->out, l->head, t, t->version, row, l->whole, STR_NONE);
    if (l->table)
        buf_byte(&l->w->out, '}');
    return !buf_overflown(&l->w->out);
}

static void print_types(struct answer *w, const struct gathering *g)
{
    buf_lit(&w->out, "\"resourceTypes\":[");
    for (size_t i = 0; i < g->nseen; i++) {
        const struct search_index_type *t = &g->list.r->types[g->seen[i]];

        buf_printf(&w->out,
                   "%s{\"group\":\"%.*s\",\"version\":\"%.*s\",\"kind\":\"%.*s\",\"resource\":"
                   "\"%.*s\"}",
                   i ? "," : "", STR_ARG(t->group), STR_ARG(t->version), STR_ARG(t->kind),
                   STR_ARG(t->resource));
    }
    buf_byte(&w->out, ']');
}

static void collection_table_head(struct answer *w)
{
    static const char *const names[] = { "Cluster",   "Group", "Version", "Kind",
                                         "Namespace", "Name",  "Age" };

    buf_printf(&w->out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%.*s\",",
               STR_ARG(w->form_version));
    buf_lit(&w->out, "\"columnDefinitions\":");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        buf_printf(&w->out,
                   "%c{\"name\":\"%s\",\"type\":\"string\",\"format\":\"%s\",\"description\":"
                   "\"%s of the object.\",\"priority\":0}",
                   i ? ',' : '[', names[i], i == 5 ? "name" : "", names[i]);
    buf_lit(&w->out, "],\"rows\":[");
}

int shape_collection(struct answer *w, const struct shape_request *r, str name, struct status *st)
{
    struct gathering g = { .list = { .w = w, .r = r, .st = st } };
    struct select_scope scope = scope_of(w, r);
    struct listing *l = &g.list;
    scoped_buf pages;

    buf_init(&pages, 1 << 10);
    g.seen = arena_array(w->arena, size_t, r->ntypes + 1);
    l->table = w->form == ANSWER_TABLE;
    l->whole = w->form == ANSWER_JSON && !r->q->only_metadata;
    l->head = w->form == ANSWER_JSON ? HEAD_KIND : HEAD_PARTIAL;
    if (l->table)
        collection_table_head(w);
    else
        buf_printf(&w->out,
                   "{\"kind\":\"CollectionResource\",\"apiVersion\":\"clusterpedia.io/v1beta1\","
                   "\"metadata\":{\"name\":\"%.*s\"},\"items\":[",
                   STR_ARG(name));
    if (select_rows(w->reader, w->arena, r->q, &scope, gather, &g, st) < 0 ||
        paging(l, &scope, &pages) < 0)
        return -1;
    if (buf_overflown(&w->out))
        return too_large(st);
    if (l->table) {
        buf_lit(&w->out, "],\"metadata\":{");
        buf_str_append(&w->out, buf_str(&pages));
        buf_lit(&w->out, "}}");
        return 0;
    }
    buf_lit(&w->out, "],");
    print_types(w, &g);
    if (pages.n)
        buf_byte(&w->out, ',');
    buf_str_append(&w->out, buf_str(&pages));
    buf_byte(&w->out, '}');
    return 0;
}
