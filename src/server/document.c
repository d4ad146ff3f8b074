/* SPDX-License-Identifier: Apache-2.0 */

/* Paths that are no resources: discovery, OpenAPI, health, metrics, version. */

#include "base/banned.h"
#include "server/discovery.h"
#include "server/internal.h"
#include "server/negotiate.h"
#include "server/version.h"

static const struct catalog *catalog_of(const struct call *c)
{
    return server_catalog(c->server, &c->rest.instance);
}

static void answer_tree(struct call *c, const struct json *v)
{
    c->pretty = wants_pretty(c->arena, c->query, call_header(c, "user-agent"));
    if (v)
        call_answer_json(c, 200, v);
    else
        not_found_page(c);
}

static void serve_health(struct call *c)
{
    struct health_answer a;
    str *piece = arena_array(c->arena, str, 1);

    if (!health_serve(c->server->health, c->arena, c->info.path, c->query, &a)) {
        not_found_page(c);
        return;
    }
    *piece = a.body;
    call_header_add(c, STR("x-content-type-options"), STR("nosniff"));
    call_answer(c, a.code, a.content_type, piece, 1);
}

static void serve_version(struct call *c)
{
    answer_tree(c, version_document(c->arena));
}

static void serve_metrics(struct call *c)
{
    struct store_stats store;
    struct http_stats http;
    struct metrics_input in = { .store = &store, .http = &http };
    struct store_range names = { .type = TYPE_INSTANCES, .instance = INSTANCE_TEMPLATE };
    str *piece = arena_array(c->arena, str, 1);

    store_stats(c->server->store, &store);
    http_server_stats(c->server->http, &http);
    (void)store_count(c->server->store, &names, &in.instances, call_status(c));
    *piece = metrics_print(c->server->metrics, c->arena, &in);
    call_answer(c, 200, STR(METRICS_CONTENT_TYPE), piece, 1);
}

static bool etag_fits(struct call *c, str etag)
{
    return str_contains(call_header(c, "if-none-match"), etag);
}

/* /api and /apis: aggregated where the client asks for it, which changes only with the catalog. */
static void serve_groups(struct call *c, bool core)
{
    const struct catalog *catalog = catalog_of(c);
    struct status *st = call_status(c);
    struct accept accept;
    str *piece = arena_array(c->arena, str, 1);
    str etag;

    if (accept_negotiate(call_header(c, "accept"), ACCEPT_DISCOVERY, &accept, st) < 0) {
        call_fail(c, st);
        return;
    }
    call_header_add(c, STR("vary"), STR("Accept"));
    if (accept.transform != TRANSFORM_DISCOVERY) {
        answer_tree(c, core ? discovery_api(c->arena, catalog) : discovery_apis(c->arena, catalog));
        return;
    }
    etag = str_printf(c->arena, "\"%016llX%c%.*s\"", (unsigned long long)catalog->etag,
                      core ? 'C' : 'G', STR_ARG(accept.version));
    call_header_add(c, STR("etag"), etag);
    call_header_add(c, STR("cache-control"), STR("public"));
    if (etag_fits(c, etag)) {
        call_answer(c, 304, STR_NONE, NULL, 0);
        return;
    }
    *piece = json_text(c->arena, discovery_aggregated(c->arena, catalog, core, accept.version));
    c->gzip = accepts_gzip(call_header(c, "accept-encoding"));
    call_answer(c, 200, accept.content_type, piece, 1);
}

static void serve_api(struct call *c)
{
    serve_groups(c, true);
}

static void serve_apis(struct call *c)
{
    serve_groups(c, false);
}

/* /api/v1, /apis/<group>, /apis/<group>/<version> */
static void serve_group(struct call *c)
{
    str rest = c->info.path, part[4] = { STR_NONE, STR_NONE, STR_NONE, STR_NONE };
    size_t n = 0;

    for (str p; n < 4 && str_split(&rest, '/', &p);)
        if (p.n)
            part[n++] = p;
    if (n == 2 && str_is(part[0], "api"))
        answer_tree(c, discovery_resources(c->arena, catalog_of(c), STR_NONE, part[1]));
    else if (n == 2 && str_is(part[0], "apis"))
        answer_tree(c, discovery_group(c->arena, catalog_of(c), part[1]));
    else if (n == 3 && str_is(part[0], "apis"))
        answer_tree(c, discovery_resources(c->arena, catalog_of(c), part[1], part[2]));
    else
        not_found_page(c);
}

static void serve_root(struct call *c)
{
    answer_tree(c, discovery_paths(c->arena, catalog_of(c)));
}

static const struct {
    const char *path;
    bool below; /* also everything under it */
    void (*serve)(struct call *c);
} documents[] = {
    { "/", false, serve_root },           { "/api", false, serve_api },
    { "/apis", false, serve_apis },       { "/api/", true, serve_group },
    { "/apis/", true, serve_group },      { "/healthz", true, serve_health },
    { "/livez", true, serve_health },     { "/readyz", true, serve_health },
    { "/metrics", false, serve_metrics }, { "/version", false, serve_version },
};

static bool path_fits(str path, const char *row, bool below)
{
    str r = str_of(row);

    if (str_eq(path, r) || (path.n == r.n + 1 && path.p[r.n] == '/' && str_starts(path, r)))
        return true;
    return below && str_starts(path, r) &&
           (r.p[r.n - 1] == '/' || (path.n > r.n && path.p[r.n] == '/'));
}

bool route_document(struct call *c)
{
    struct status *st;

    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        if (!path_fits(c->info.path, documents[i].path, documents[i].below))
            continue;
        if (str_is(c->method, "GET") || str_is(c->method, "HEAD")) {
            documents[i].serve(c);
            return true;
        }
        st = call_status(c);
        (void)status_set(st, REASON_METHOD_NOT_ALLOWED,
                         "the server does not allow this method on the requested resource");
        st->empty_details = true;
        call_fail(c, st);
        return true;
    }
    return false;
}
