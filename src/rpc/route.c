/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/route.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "rpc/context.h"
#include "rpc/message_scalar.h"

enum { NAME_PARTS_MAX = 8, QUERY_MAX = 1000 };

/* ---- templates ---- */

/* The field at a dotted path of names; NULL if it is none, or one of a list. */
static const struct rpc_field *field_at(const struct rpc_message *m, str path, str *json_path,
                                        struct arena *a)
{
    const struct rpc_field *f = NULL;
    str done = STR_NONE;
    int parts = 0;

    for (str rest = path, part; str_split(&rest, '.', &part);) {
        if (++parts > NAME_PARTS_MAX || !m || (f && f->flags & (RPC_REPEATED | RPC_MAP)))
            return NULL;
        f = message_field(m, part);
        if (!f)
            return NULL;
        m = f->type == RPC_MESSAGE ? f->message : NULL;
        done = done.n ? str_printf(a, "%.*s.%.*s", STR_ARG(done), STR_ARG(f->json)) : f->json;
    }
    *json_path = done;
    return f;
}

static int bad_template(const struct rpc_rule *rule, struct status *st)
{
    return status_set(st, REASON_INTERNAL, "%s %s is no path of a call", rule->verb, rule->path);
}

static int parse_segment(struct arena *a, str part, struct route *out, struct status *st)
{
    const struct rpc_message *in = out->endpoint->method->input;
    const struct rpc_field *f;
    str path;

    if (out->nsegments == ROUTE_SEGMENTS || part.n == 0)
        return bad_template(out->rule, st);
    if (part.p[0] != '{') {
        out->segments[out->nsegments++] = part;
        return 0;
    }
    if (!str_ends(part, STR("}")))
        return bad_template(out->rule, st);
    f = field_at(in, str_sub(part, 1, part.n - 2), &path, a);
    if (!f || f->type == RPC_MESSAGE || f->flags & (RPC_REPEATED | RPC_MAP))
        return bad_template(out->rule, st);
    out->fields |= 1u << out->nsegments;
    out->segments[out->nsegments++] = path;
    return 0;
}

int route_parse(struct arena *a, const struct rpc_rule *rule, const struct rpc_endpoint *e,
                struct route *out, struct status *st)
{
    str path = str_of(rule->path), part;
    ptrdiff_t colon = -1;

    *out = (struct route){ .method = str_of(rule->verb), .rule = rule, .endpoint = e };
    for (ptrdiff_t at = str_find(path, ':', 0); at >= 0; at = str_find(path, ':', (size_t)at + 1))
        colon = at;
    if (colon >= 0) {
        out->verb = str_from(path, (size_t)colon + 1);
        path = str_sub(path, 0, (size_t)colon);
    }
    if (path.n < 2 || path.p[0] != '/')
        return bad_template(rule, st);
    for (str rest = str_from(path, 1); str_split(&rest, '/', &part);)
        if (parse_segment(a, part, out, st) < 0)
            return -1;
    return 0;
}

static int compare(const void *va, const void *vb)
{
    const struct route *a = va, *b = vb;

    if ((a->verb.n > 0) != (b->verb.n > 0))
        return a->verb.n > 0 ? -1 : 1;
    for (size_t i = 0; i < a->nsegments && i < b->nsegments; i++) {
        unsigned fa = a->fields >> i & 1, fb = b->fields >> i & 1;

        if (fa != fb)
            return fa ? 1 : -1;
    }
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

void routes_sort(struct route *routes, size_t n)
{
    qsort(routes, n, sizeof(*routes), compare);
}

/* ---- paths ---- */

static size_t cut(str path, str out[ROUTE_SEGMENTS])
{
    size_t n = 0;
    str part;

    for (str rest = str_from(path, 1); str_split(&rest, '/', &part);) {
        if (n == ROUTE_SEGMENTS || part.n == 0)
            return 0;
        out[n++] = part;
    }
    return n;
}

/* The last segment may carry the verb. */
static bool last_fits(const struct route *r, str *last)
{
    if (r->verb.n == 0)
        return true;
    if (last->n <= r->verb.n + 1 || !str_ends(*last, r->verb) ||
        last->p[last->n - r->verb.n - 1] != ':')
        return false;
    last->n -= r->verb.n + 1;
    return true;
}

static bool path_fits(const struct route *r, const str *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str part = parts[i];

        if (i == n - 1 && !last_fits(r, &part))
            return false;
        if (!(r->fields >> i & 1) && !str_eq(r->segments[i], part))
            return false;
    }
    return true;
}

const struct route *route_find(const struct route *routes, size_t n, str method, str path,
                               bool *other_method)
{
    str parts[ROUTE_SEGMENTS];
    size_t nparts = cut(path, parts);

    *other_method = false;
    for (size_t i = 0; i < n && nparts; i++) {
        if (routes[i].nsegments != nparts || !path_fits(&routes[i], parts, nparts))
            continue;
        if (str_eq(routes[i].method, method))
            return &routes[i];
        *other_method = true;
    }
    return NULL;
}

/* ---- requests ---- */

struct request {
    struct arena *arena;
    const struct route *route;
    const struct json *tree;
    struct status *st;
};

static int set_text(struct request *r, const struct rpc_field *f, str path, str text)
{
    struct json given = json_of_str(text), v;
    const char *z = str_z(r->arena, path), *why;

    if (f->type == RPC_BOOL && (str_is(text, "true") || str_is(text, "1")))
        given = json_true;
    else if (f->type == RPC_BOOL && (str_is(text, "false") || str_is(text, "0")))
        given = json_false;
    if (!scalar_read(r->arena, f, &given, &v, &why))
        return message_refuse(r->st, path, "must be %s", why);
    if (f->flags & RPC_REPEATED) {
        struct json_array list = json_array_new(r->arena);

        json_for_each (item, json_path(r->tree, z))
            json_push(&list, *item);
        json_push(&list, v);
        v = json_array_value(&list);
    } else if (scalar_is_default(f, &v)) {
        r->tree = json_set(r->arena, r->tree, z, NULL);
        return 0;
    }
    r->tree = json_set(r->arena, r->tree, z, json_box(r->arena, v));
    return 0;
}

static int take_body(struct request *r, str body)
{
    const struct rpc_rule *rule = r->route->rule;
    const struct rpc_message *m = r->route->endpoint->method->input;
    const struct json *v, *wrapped;
    struct json_object o;

    if (!*rule->body || str_trim(body).n == 0)
        return 0;
    if (json_parse(r->arena, body, NULL, &v, r->st) < 0)
        return -1;
    if (strcmp(rule->body, "*") == 0)
        return message_read(r->arena, m, v, &r->tree, r->st);
    o = json_object_new(r->arena);
    json_add(&o, str_of(rule->body), *v);
    wrapped = json_object_done(&o);
    return message_read(r->arena, m, wrapped, &r->tree, r->st);
}

static bool in_path(const struct route *r, str path)
{
    for (size_t i = 0; i < r->nsegments; i++)
        if (r->fields >> i & 1 && str_eq(r->segments[i], path))
            return true;
    return false;
}

/* What no field is called is for others; as in grpc-gateway. */
static int take_pair(struct request *r, str pair)
{
    ptrdiff_t eq = str_find(pair, '=', 0);
    str name, text, path;
    const struct rpc_field *f;

    if (!percent_decode(r->arena, PERCENT_QUERY, eq < 0 ? pair : str_sub(pair, 0, (size_t)eq),
                        &name) ||
        !percent_decode(r->arena, PERCENT_QUERY, eq < 0 ? STR_NONE : str_from(pair, (size_t)eq + 1),
                        &text))
        return status_set(r->st, REASON_BAD_REQUEST, "the query holds a broken escape");
    f = field_at(r->route->endpoint->method->input, name, &path, r->arena);
    if (!f || f->type == RPC_MESSAGE || f->flags & RPC_MAP || in_path(r->route, path))
        return 0;
    return set_text(r, f, path, text);
}

static int take_query(struct request *r, str query)
{
    size_t n = 0;
    str pair;

    if (strcmp(r->route->rule->body, "*") == 0)
        return 0;
    for (str rest = query; query.n && str_split(&rest, '&', &pair);) {
        if (++n > QUERY_MAX)
            return status_set(r->st, REASON_BAD_REQUEST, "the query has too many parameters");
        if (pair.n && take_pair(r, pair) < 0)
            return -1;
    }
    return 0;
}

static int take_path(struct request *r, str path)
{
    const struct rpc_message *m = r->route->endpoint->method->input;
    str parts[ROUTE_SEGMENTS], at;
    size_t n = cut(path, parts);

    for (size_t i = 0; i < n; i++) {
        if (i == n - 1)
            (void)last_fits(r->route, &parts[i]);
        if (r->route->fields >> i & 1 &&
            set_text(r, field_at(m, r->route->segments[i], &at, r->arena), r->route->segments[i],
                     parts[i]) < 0)
            return -1;
    }
    return 0;
}

int route_request(struct arena *a, const struct route *r, str path, str query, str body,
                  const struct json **out, struct status *st)
{
    struct request req = { .arena = a, .route = r, .tree = &json_empty_object, .st = st };

    if (take_body(&req, body) < 0 || take_query(&req, query) < 0 || take_path(&req, path) < 0)
        return -1;
    *out = req.tree;
    return 0;
}
