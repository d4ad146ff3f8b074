/* SPDX-License-Identifier: Apache-2.0 */

/* Paths that are no resources: documents about the API, health, metrics. */

#include "apiserver/admission/admission.h"
#include "apiserver/admission/event_rate.h"
#include "apiserver/audit/audit.h"
#include "apiserver/auth/openid.h"
#include "apiserver/call/health.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/negotiate.h"
#include "apiserver/discovery/docs.h"
#include "apiserver/flow/flow.h"
#include "apiserver/outbound/aggregate.h"
#include "apiserver/server/backup.h"
#include "apiserver/server/dispatch_check.h"
#include "apiserver/server/server.h"
#include "base/banned.h"
#include "base/metric.h"
#include "base/sandbox.h"
#include "rest/rows.h"

enum { COUNTED_MAX = 500, METRICS_MAX = 1 << 20, INSTANCE_METRICS_MAX = 4 << 20 };

static bool serve_health(struct call *c)
{
    struct health_answer a;
    str *piece = arena_array(c->arena, str, 1);

    if (!health_serve(c->server->health, c->arena, c->info.path, c->query, &a))
        return false;
    *piece = a.body;
    call_header_add(c, STR("x-content-type-options"), STR("nosniff"));
    call_answer(c, a.code, a.content_type, piece, 1);
    return true;
}

/*
 * How many there are, template rows included; of a type that has such rows, and too many of its own
 * to look at, those of its own.  k8s: apiserver_storage_objects
 */
static uint64_t count_objects(struct call *c, const struct kind *k)
{
    struct rows_range seen = { .instance = &c->rest.instance, .kind = k };
    struct store_range own = { .type = k->type_id, .instance = c->rest.instance.id };
    struct status *st = call_status(c);
    uint64_t n = 0;

    if (rows_count(c->server->rest, &seen, COUNTED_MAX, &n, st) < 0 || n > 0)
        return n;
    return store_count(c->server->store, &own, &n, st) < 0 ? 0 : n;
}

/* Of an instance other than root: what is its own, one series for each resource that it keeps. */
static void serve_instance_metrics(struct call *c)
{
    static const struct metric_spec spec = { "apiserver_storage_objects",
                                             "Objects that are stored.", METRIC_GAUGE,
                                             .labels = { { .name = "resource" } } };
    const struct catalog *catalog = c->rest.catalog;
    scoped_buf b = { .max = INSTANCE_METRICS_MAX };
    str *piece = arena_array(c->arena, str, 1);

    metric_head(&b, &spec);
    for (size_t i = 0; i < catalog->nkinds; i++) {
        const struct kind *k = catalog->kinds[i];
        str name = k->plural;

        if (k->transient || k->storage != k) /* several versions, one count */
            continue;
        if (k->group.n)
            name = str_printf(c->arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(k->group));
        metric_row(&b, &spec, &name, (int64_t)count_objects(c, k));
    }
    *piece = str_dup(c->arena, buf_str(&b));
    call_answer(c, 200, STR(METRIC_CONTENT_TYPE), piece, 1);
}

static void read_sandbox(struct buf *out, const struct metric_spec *spec)
{
    struct sandbox_state now = sandbox_state();
    str landlock = STR("landlock"), calls = STR("calls");

    metric_head(out, spec);
    metric_row(out, spec, &landlock, now.landlock);
    metric_row(out, spec, &calls, now.calls);
}
METRIC_READ(sandbox, read_sandbox, METRIC_GAUGE, "kairship_sandbox",
            "What is in force: Landlock's version, system calls that are let through; 0: none.",
            "part")

/* Of what keeps others from too much. */
static void print_guards(struct server *s, struct buf *b)
{
    flow_print(s->flow, b);
    if (admission_is_on(s, &admit_event_rate))
        event_rate_print(s->event_rate, b);
}

static bool serve_metrics(struct call *c)
{
    struct store_stats store;
    struct http_stats http;
    struct metrics_audit audit;
    struct server *s = c->server;
    struct metrics_input in = {
        .store = &store,
        .ends = { .serving = s->serving_end, .ca = s->ca_end, .signer = s->signer_end },
        .now_s = clock_wall_s(s->clock),
        .dir = s->dir,
    };
    struct store_range names = { .type = TYPE_INSTANCES, .instance = INSTANCE_TEMPLATE };
    str *piece = arena_array(c->arena, str, 1);
    scoped_buf b = { .max = METRICS_MAX };

    if (c->rest.instance.id == STORE_ALL || c->rest.instance.id == INSTANCE_TEMPLATE)
        return false;
    if (c->rest.instance.id != INSTANCE_ROOT) { /* these here are of all instances */
        serve_instance_metrics(c);
        return true;
    }
    store_stats(c->server->store, &store);
    if (c->server->http) {
        http_server_stats(c->server->http, &http);
        in.http = &http;
    }
    if (s->audit) {
        audit_stats(s->audit, &audit);
        in.audit = &audit;
    }
    if (store_count(c->server->store, &names, &in.instances, call_status(c)) < 0)
        in.instances = 0;
    metrics_print(s->metrics, &b, &in);
    print_guards(s, &b);
    metric_print(&b);
    *piece = str_dup(c->arena, buf_str(&b));
    call_answer(c, 200, STR(METRIC_CONTENT_TYPE), piece, 1);
    return true;
}

static bool serve_backup(struct call *c)
{
    if (!str_is(c->info.path, BACKUP_PATH) || c->info.instance.n)
        return false;
    backup_serve(c);
    return true;
}

static void add_if(struct call *c, str name, str value)
{
    if (value.n)
        call_header_add(c, name, value);
}

static bool reads(const struct call *c)
{
    return str_is(c->method, "GET") || str_is(c->method, "HEAD");
}

static void wrong_method(struct call *c)
{
    struct status *st = call_status(c);

    (void)status_set(st, REASON_METHOD_NOT_ALLOWED,
                     "the server does not allow this method on the requested resource");
    st->empty_details = true;
    call_fail(c, st);
}

/* k8s: what is not there is not there by any method. */
static bool serve_docs(struct call *c)
{
    struct docs_request r = {
        .catalog = c->rest.catalog,
        .prefix = c->info.prefix,
        .path = c->info.path,
        .query = c->query,
        .accept = call_header(c, "accept"),
        .if_none_match = call_header(c, "if-none-match"),
        .now_s = clock_wall_s(c->server->clock),
        .server = server_advertised(c->server, c->arena),
        .aggregated = aggregate_versions(c),
    };
    struct docs_answer a;
    struct status *st = call_status(c);
    str *piece = arena_array(c->arena, str, 1);

    if (!docs_has(c->info.path))
        return false;
    if (docs_serve(c->server->docs, c->arena, &r, &a, st) < 0) {
        call_fail(c, st);
        return true;
    }
    if (!reads(c) && a.code != 404) {
        wrong_method(c);
        return true;
    }
    add_if(c, STR("etag"), a.etag);
    add_if(c, STR("cache-control"), a.cache_control);
    add_if(c, STR("expires"), a.expires);
    add_if(c, STR("vary"), a.vary);
    add_if(c, STR("location"), a.location);
    *piece = a.body;
    c->pretty = a.json && wants_pretty(c->arena, c->query, call_header(c, "user-agent"));
    c->gzip = accepts_gzip(call_header(c, "accept-encoding"));
    call_answer(c, a.code, a.content_type, piece, a.body.n > 0);
    return true;
}

/*
 * Each serves the paths that its row names and no others, and a path is what authorization has been
 * asked about: exactly this one, or with a "*" all that begin so.
 */
static const struct {
    const char *path;
    bool (*serve)(struct call *c); /* false: not this one, after all */
} documents[] = {
    { "/healthz*", serve_health },
    { "/livez*", serve_health },
    { "/readyz*", serve_health },
    { "/metrics", serve_metrics },
    { BACKUP_PATH, serve_backup },
    { "/.well-known/openid-configuration", openid_serve },
    { "/openid/v1/jwks", openid_serve },
    { "/", serve_docs },
    { "/api", serve_docs },
    { "/api/*", serve_docs },
    { "/apis", serve_docs },
    { "/apis/*", serve_docs },
    { "/openapi/*", serve_docs },
    { "/version", serve_docs },
    { "/version/", serve_docs },
};

int document_check(struct arena *a, str pattern, struct status *st)
{
    bool open_end = str_ends(pattern, STR("*"));
    str path =
        open_end ? str_printf(a, "%.*sx", STR_ARG(str_sub(pattern, 0, pattern.n - 1))) : pattern;
    struct reqinfo info;

    if (reqinfo_parse(a, STR("GET"), path, STR_NONE, &info, st) < 0)
        return -1;
    if (info.is_resource || info.instance.n || !str_eq(info.path, path))
        return status_set(st, REASON_INTERNAL, "the document %.*s would not be authorized by path",
                          STR_ARG(pattern));
    return 0;
}

int documents_check(struct arena *a, struct status *st)
{
    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++)
        if (document_check(a, str_of(documents[i].path), st) < 0)
            return -1;
    return 0;
}

const char *document_path(size_t i)
{
    return i < sizeof(documents) / sizeof(*documents) ? documents[i].path : NULL;
}

static bool is_at(const char *pattern, str path)
{
    str p = str_of(pattern);

    return str_ends(p, STR("*")) ? str_starts(path, str_sub(p, 0, p.n - 1)) : str_eq(path, p);
}

bool route_document(struct call *c)
{
    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        if (!is_at(documents[i].path, c->info.path))
            continue;
        if (documents[i].serve != serve_docs && !reads(c)) {
            wrong_method(c);
            return true;
        }
        if (documents[i].serve(c))
            return true;
    }
    return false;
}
