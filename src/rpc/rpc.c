/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/rpc.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum { WORKERS = 4, JOBS_MAX = 256, MOUNTS_MAX = 8 };

static struct rpc_endpoint *find(struct rpc *r, const char *service, const char *method)
{
    return map_get(&r->by_path, str_printf(r->arena, "/%s/%s", service, method));
}

static int implement(struct rpc *r, const struct rpc_implementation *im, void *arg,
                     struct status *st)
{
    for (size_t i = 0; i < im->nhandlers; i++) {
        struct rpc_endpoint *e = find(r, im->service, im->handlers[i].method);

        if (!e || e->handler)
            return status_set(st, REASON_INTERNAL, "%s/%s is %s", im->service,
                              im->handlers[i].method, e ? "implemented twice" : "not in the API");
        e->handler = &im->handlers[i];
        e->arg = arg;
    }
    return 0;
}

static size_t count(const struct rpc_api *api, size_t *nrules)
{
    size_t n = 0;

    *nrules = 0;
    for (size_t f = 0; f < api->nfiles; f++)
        for (size_t s = 0; s < api->files[f].nservices; s++) {
            const struct rpc_service *service = &api->files[f].services[s];

            n += service->nmethods;
            for (size_t i = 0; i < service->nmethods; i++)
                *nrules += service->methods[i].nrules;
        }
    return n;
}

static bool names(const struct route *r, str field)
{
    for (size_t i = 0; i < r->nsegments; i++)
        if (r->fields >> i & 1 && str_eq(r->segments[i], field))
            return true;
    return false;
}

/* A path cannot leave out what it names, but a message can. */
static void find_named(struct rpc *r, struct rpc_endpoint *e, const struct route *routes, size_t n)
{
    str *named = arena_array(r->arena, str, ROUTE_SEGMENTS);

    for (size_t i = 0; n && i < routes[0].nsegments; i++) {
        size_t in = 1;

        if (!(routes[0].fields >> i & 1))
            continue;
        while (in < n && names(&routes[in], routes[0].segments[i]))
            in++;
        if (in == n)
            named[e->nnamed++] = routes[0].segments[i];
    }
    e->named = named;
}

static int add_method(struct rpc *r, const struct rpc_service *s, const struct rpc_method *m,
                      struct status *st)
{
    struct rpc_endpoint *e = &r->endpoints[r->nendpoints++];
    const struct route *first = &r->routes[r->nroutes];

    *e = (struct rpc_endpoint){
        .service = s,
        .method = m,
        .path = str_printf(r->arena, "/%.*s/%.*s", STR_ARG(s->name), STR_ARG(m->name)),
    };
    (void)map_put(&r->by_path, e->path, e);
    for (size_t i = 0; i < m->nrules; i++)
        if (route_parse(r->arena, &m->rules[i], e, &r->routes[r->nroutes++], st) < 0)
            return -1;
    find_named(r, e, first, m->nrules);
    return 0;
}

static int add_endpoints(struct rpc *r, struct status *st)
{
    size_t nrules, n = count(r->api, &nrules);

    r->endpoints = arena_array(r->arena, struct rpc_endpoint, n);
    r->routes = arena_array(r->arena, struct route, nrules);
    for (size_t f = 0; f < r->api->nfiles; f++)
        for (size_t s = 0; s < r->api->files[f].nservices; s++) {
            const struct rpc_service *service = &r->api->files[f].services[s];

            for (size_t i = 0; i < service->nmethods; i++)
                if (add_method(r, service, &service->methods[i], st) < 0)
                    return -1;
        }
    routes_sort(r->routes, r->nroutes);
    return 0;
}

/* "/apis/kairship.io" of the routes, each once. */
static int add_mounts(struct rpc *r, struct status *st)
{
    r->mounts = arena_array(r->arena, struct mount, MOUNTS_MAX);
    r->mounts[r->nmounts++] = (struct mount){ .prefix = "",
                                              .content_type = "application/grpc",
                                              .early = true,
                                              .serve = grpc_serve,
                                              .describe = grpc_describe,
                                              .refusal = grpc_refusal,
                                              .arg = r };
    for (size_t i = 0; i < r->nroutes; i++) {
        const struct route *route = &r->routes[i];
        const char *prefix = arena_printf(r->arena, "/%.*s/%.*s", STR_ARG(route->segments[0]),
                                          STR_ARG(route->segments[1]));
        size_t known = 1;

        if (route->nsegments < 3 || route->fields & 3)
            return status_set(st, REASON_INTERNAL, "%s is too short", route->rule->path);
        while (known < r->nmounts && strcmp(r->mounts[known].prefix, prefix) != 0)
            known++;
        if (known < r->nmounts)
            continue;
        if (r->nmounts == MOUNTS_MAX)
            return status_set(st, REASON_INTERNAL, "there are too many groups of paths");
        r->mounts[r->nmounts++] = (struct mount){
            .prefix = prefix, .serve = rest_serve_mount, .describe = rest_describe, .arg = r
        };
    }
    return 0;
}

static int add_all(struct rpc *r, const struct rpc_options *o, struct status *st)
{
    if (add_endpoints(r, st) < 0 || add_mounts(r, st) < 0)
        return -1;
    for (size_t i = 0; i < o->nimplementations; i++)
        if (implement(r, &o->implementations[i], o->implementations[i].arg, st) < 0)
            return -1;
    if (!o->builtins)
        return 0;
    if (implement(r, &health_implementation, r, st) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++)
        if (implement(r, &reflection_implementations[i], r, st) < 0)
            return -1;
    return 0;
}

struct rpc *rpc_new(const struct rpc_options *o, struct status *st)
{
    struct rpc *r = mem_zalloc(sizeof(*r));

    r->arena = arena_new();
    r->api = o->api;
    r->workers = workers_new(o->workers ? o->workers : WORKERS, JOBS_MAX);
    if (add_all(r, o, st) < 0) {
        rpc_free(r);
        return NULL;
    }
    return r;
}

void rpc_free(struct rpc *r)
{
    if (!r)
        return;
    workers_free(r->workers);
    map_release(&r->by_path);
    arena_free(r->arena);
    free(r);
}

const struct mount *rpc_mounts(const struct rpc *r, size_t *n)
{
    *n = r->nmounts;
    return r->mounts;
}
