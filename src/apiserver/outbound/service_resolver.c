/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/service_resolver.h"

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/rand.h"
#include "rest/lookup.h"

enum {
    PORT_DEFAULT = 443,
    PLACES_MAX = 100, /* addresses that are chosen from */
};

const char *service_fault_name(enum service_fault f)
{
    static const char *const names[] = {
        [SERVICE_FOUND] = "Passed",
        [SERVICE_NOT_FOUND] = "ServiceNotFound",
        [SERVICE_PORT_ERROR] = "ServicePortError",
        [SERVICE_NO_ENDPOINTS] = "EndpointsNotFound",
        [SERVICE_NOT_READY] = "MissingEndpoints",
        [SERVICE_UNREADABLE] = "ServiceAccessError",
    };

    return names[f];
}

/* ---- addresses ---- */

struct search {
    struct arena *arena;
    const struct service_ref *ref;
    str port_name;
    struct service_place place;
    unsigned places;
    bool any; /* an object that could have some */
};

/* The n-th takes the place of those before with a chance of 1/n: each is as likely. */
static void take(struct search *s, str address, int64_t port)
{
    if (!address.n || port <= 0 || port > UINT16_MAX || s->places >= PLACES_MAX)
        return;
    if (rand_below(++s->places) == 0)
        s->place = (struct service_place){ address, str_printf(s->arena, "%d", (int)port) };
}

/* The port of that name, an empty one included; 0: none. */
static int64_t port_named(const struct json *ports, str name)
{
    json_for_each (p, ports)
        if (str_eq(json_get_str(p, "name"), name))
            return json_int(json_get(p, STR("port")), 0);
    return 0;
}

static bool look_at_slice(void *arg, const struct json *slice)
{
    struct search *s = arg;
    str of =
        json_str(json_get(json_path(slice, "metadata.labels"), STR("kubernetes.io/service-name")));
    int64_t port = port_named(json_get(slice, STR("ports")), s->port_name);

    if (!str_eq(of, s->ref->name))
        return true;
    s->any = true;
    json_for_each (e, json_get(slice, STR("endpoints"))) {
        const struct json *ready = json_path(e, "conditions.ready");

        if (!ready || json_is(ready, JSON_NULL) || json_bool(ready))
            take(s, json_str(json_at(json_get(e, STR("addresses")), 0)), port);
    }
    return s->places < PLACES_MAX;
}

static void look_at_endpoints(struct search *s, const struct json *endpoints)
{
    json_for_each (subset, json_get(endpoints, STR("subsets"))) {
        int64_t port = port_named(json_get(subset, STR("ports")), s->port_name);

        s->any = true;
        json_for_each (address, json_get(subset, STR("addresses")))
            take(s, json_get_str(address, "ip"), port);
    }
}

static int search(struct server *srv, struct search *s, struct status *st)
{
    const struct catalog *c = kinds_catalog_root();
    const struct kind *slices =
        catalog_find(c, STR("discovery.k8s.io"), STR("v1"), STR("endpointslices"));
    const struct kind *endpoints = catalog_find(c, STR_NONE, STR("v1"), STR("endpoints"));
    const struct json *obj;
    int rc;

    if (lookup_each(srv->rest, s->arena, &s->ref->instance, slices, s->ref->namespace_,
                    look_at_slice, s, st) < 0)
        return -1;
    if (s->places)
        return 0;
    /* Nobody mirrors them into slices here. */
    rc = lookup_get(srv->rest, s->arena, &s->ref->instance, endpoints, s->ref->namespace_,
                    s->ref->name, &obj, st);
    if (rc > 0)
        look_at_endpoints(s, obj);
    return rc < 0 ? -1 : 0;
}

/* ---- services ---- */

static enum service_fault fault(enum service_fault f, const struct service_ref *r, str port_name,
                                struct status *st)
{
    str name = r->name, in = r->namespace_;

    switch (f) {
    case SERVICE_NOT_FOUND:
        (void)status_set(st, REASON_NOT_FOUND, "service/%.*s in \"%.*s\" is not present",
                         STR_ARG(name), STR_ARG(in));
        break;
    case SERVICE_PORT_ERROR:
        (void)status_set(st, REASON_UNAVAILABLE,
                         "service/%.*s in \"%.*s\" is not listening on port %d", STR_ARG(name),
                         STR_ARG(in), r->port);
        break;
    case SERVICE_NO_ENDPOINTS:
        (void)status_set(st, REASON_UNAVAILABLE,
                         "cannot find endpointslices for service/%.*s in \"%.*s\"", STR_ARG(name),
                         STR_ARG(in));
        break;
    case SERVICE_NOT_READY:
        (void)status_set(st, REASON_UNAVAILABLE,
                         "endpointslices for service/%.*s in \"%.*s\" have no addresses with port "
                         "name \"%.*s\"",
                         STR_ARG(name), STR_ARG(in), STR_ARG(port_name));
        break;
    case SERVICE_UNREADABLE:
        (void)status_wrap(st, "service/%.*s in \"%.*s\" cannot be checked due to", STR_ARG(name),
                          STR_ARG(in));
        break;
    case SERVICE_FOUND:
        break;
    }
    return f;
}

static const struct json *port_of(const struct json *service, int64_t number)
{
    json_for_each (p, json_path(service, "spec.ports"))
        if (json_int(json_get(p, STR("port")), 0) == number)
            return p;
    return NULL;
}

enum service_fault service_resolve(struct server *srv, struct arena *a,
                                   const struct service_ref *ref, struct service_place *out,
                                   struct status *st)
{
    const struct kind *services =
        catalog_find(kinds_catalog_root(), STR_NONE, STR("v1"), STR("services"));
    struct search s = { .arena = a, .ref = ref };
    const struct json *service, *port;
    int rc = lookup_get(srv->rest, a, &ref->instance, services, ref->namespace_, ref->name,
                        &service, st);

    if (rc <= 0)
        return fault(rc < 0 ? SERVICE_UNREADABLE : SERVICE_NOT_FOUND, ref, STR_NONE, st);
    if (str_is(json_get_str(service, "spec.type"), "ExternalName")) {
        *out = (struct service_place){ json_get_str(service, "spec.externalName"),
                                       str_printf(a, "%d", ref->port) };
        return SERVICE_FOUND;
    }
    port = port_of(service, ref->port);
    if (!port)
        return fault(SERVICE_PORT_ERROR, ref, STR_NONE, st);
    s.port_name = json_get_str(port, "name");
    if (search(srv, &s, st) < 0)
        return fault(SERVICE_UNREADABLE, ref, STR_NONE, st);
    if (!s.places)
        return fault(s.any ? SERVICE_NOT_READY : SERVICE_NO_ENDPOINTS, ref, s.port_name, st);
    *out = s.place;
    return SERVICE_FOUND;
}

/* ---- references ---- */

str service_host(struct arena *a, str namespace_, str name)
{
    return str_printf(a, "%.*s.%.*s.svc", STR_ARG(name), STR_ARG(namespace_));
}

static uint16_t port_number(const struct json *service)
{
    int64_t port = json_int(json_get(service, STR("port")), PORT_DEFAULT);

    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : PORT_DEFAULT;
}

str service_url(struct arena *a, const struct json *service)
{
    str host = service_host(a, json_get_str(service, "namespace"), json_get_str(service, "name"));
    str path = json_get_str(service, "path");

    return str_printf(a, "https://%.*s:%d%s%.*s", STR_ARG(host), port_number(service),
                      str_starts(path, STR("/")) ? "" : "/", STR_ARG(path));
}

struct service_ref service_ref_read(struct arena *a, const struct instance *i,
                                    const struct json *service)
{
    return (struct service_ref){
        .instance = *i,
        .namespace_ = str_dup(a, json_get_str(service, "namespace")),
        .name = str_dup(a, json_get_str(service, "name")),
        .port = port_number(service),
    };
}
