/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Addresses and node ports of services.  Nothing remembers what is taken but the services
 * themselves: an address is derived from the service's name, and looked for in the index; if it is
 * another's, the next one is tried.
 *
 * Of two that look at the same moment and find the same one free, one must look again.  So a write
 * that takes something new carries a claim: an empty row which it writes, and which must not have
 * been written since it looked.  Addresses are spread over a few such rows, lest services that have
 * nothing to do with each other wait; node ports share one.  The rows stay: they say nothing about
 * who has what, so nothing needs to be given back.
 * k8s: pkg/registry/core/service/storage/alloc.go
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/rand.h"
#include "kinds/frame/site.h"
#include "kinds/k8s/service_check.h"
#include "rest/index.h"
#include "rest/rows.h"

enum {
    POOL_BITS = 20, /* 10.96.0.0/12 */
    POOL_FIRST = 256,
    PORT_LOW = 30000,
    PORT_COUNT = 2768,
    TRIES = 64,
    CLAIMS = 64, /* rows for addresses in an instance */
};

static const uint32_t pool = 10u << 24 | 96u << 16;

static bool is_type(const struct json *obj, const char *type)
{
    return str_is(json_get_str(obj, "spec.type"), type);
}

static str key_of(const struct admission *a, const struct json *obj)
{
    str name = json_get_str(obj, "metadata.name");

    return str_printf(a->req->arena, "%.*s/%.*s", STR_ARG(a->req->namespace_),
                      STR_ARG(name.n ? name : json_get_str(obj, "metadata.uid")));
}

/* ---- who has it already ---- */

struct search {
    const struct admission *a;
    str ip;       /* an address, or */
    int64_t port; /* a node port */
    str self;     /* key of the service that asks */
    bool taken;
};

static bool has_port(const struct json *obj, int64_t port)
{
    json_for_each (p, json_path(obj, "spec.ports"))
        if (json_int(json_get(p, STR("nodePort")), 0) == port)
            return true;
    return json_int(json_path(obj, "spec.healthCheckNodePort"), 0) == port;
}

static bool look(void *arg, const struct row *row)
{
    struct search *s = arg;
    const struct json *obj;
    struct status st;
    scoped_arena arena = arena_new();

    status_init(&st, arena);
    if (str_eq(row->name, s->self) ||
        row_tree(arena, s->a->req->kind, row, STR_NONE, &obj, &st) < 0)
        return true;
    s->taken =
        s->ip.n ? str_eq(json_get_str(obj, "spec.clusterIP"), s->ip) : has_port(obj, s->port);
    return !s->taken;
}

static int is_taken(struct search *s, struct status *st)
{
    const struct rest_request *r = s->a->req;
    struct rows_range range = { .instance = &r->instance, .kind = r->kind };
    struct selector_term term = {
        .key = STR("spec.clusterIP"), .op = SELECTOR_IN, .values = &s->ip, .nvalues = 1
    };
    struct selector fields = { .terms = &term, .nterms = 1 }, none = { 0 };

    if (s->ip.n)
        range.hash = index_pick(r->kind, &none, &fields);
    s->taken = false;
    return rows_scan(r->rest, &range, look, s, st) < 0 ? -1 : s->taken;
}

/* ---- addresses ---- */

static str address(struct arena *a, uint32_t n)
{
    uint32_t ip = pool + n;

    return str_printf(a, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

static int refuse_ip(const struct admission *a, const struct json *obj, str ip, const char *why,
                     struct status *st)
{
    status_cause(st, CAUSE_INVALID, STR("spec.clusterIPs"),
                 str_printf(st->arena, "[\"%.*s\"]", STR_ARG(ip)), "failed to allocate IP %.*s: %s",
                 STR_ARG(ip), why);
    return status_invalid(st, STR_NONE, a->req->kind->kind, json_get_str(obj, "metadata.name"));
}

static bool in_pool(str ip)
{
    uint64_t parts[4] = { 0 };
    size_t n = 0;

    for (str rest = ip, part; n < 4 && str_split(&rest, '.', &part);)
        if (!str_to_u64(part, &parts[n++]))
            return false;
    return n == 4 && parts[0] == 10 && parts[1] >= 96 && parts[1] < 112;
}

static int give_address(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    struct search s = { .a = a, .self = key_of(a, *obj) };
    /* One that is to be given a name begins anywhere, lest all of them begin at the same place. */
    uint64_t h = json_get_str(*obj, "metadata.name").n ? str_hash(s.self, 0x636c7573, 0x74657269)
                                                       : rand_u64();

    for (unsigned i = 0; i < TRIES; i++) {
        uint32_t n = (uint32_t)(h + i * 0x9e3779b1u) & ((1u << POOL_BITS) - 1);
        int taken;

        if (n < POOL_FIRST || n == (1u << POOL_BITS) - 1)
            continue; /* those are given away by hand: the API's own, DNS; the last is broadcast */
        s.ip = address(arena, n);
        taken = is_taken(&s, st);
        if (taken < 0)
            return -1;
        if (taken)
            continue;
        *obj = json_set(arena, *obj, "spec.clusterIP", json_box(arena, json_of_str(s.ip)));
        return 0;
    }
    return status_set(st, REASON_INTERNAL, "failed to allocate a serviceIP: range is full");
}

static int check_address(const struct admission *a, const struct json *obj, str ip,
                         struct status *st)
{
    struct search s = { .a = a, .ip = ip, .self = key_of(a, obj) };
    int taken;

    if (!in_pool(ip))
        return refuse_ip(a, obj, ip,
                         arena_printf(a->req->arena,
                                      "the provided IP (%.*s) is not in the valid range. The range "
                                      "of valid IPs is 10.96.0.0/12",
                                      STR_ARG(site_ip_plain(a->req->arena, ip))),
                         st);
    taken = is_taken(&s, st);
    if (taken <= 0)
        return taken;
    return refuse_ip(a, obj, ip, "provided IP is already allocated", st);
}

static int addresses(const struct admission *a, const struct json **obj, struct status *st)
{
    str ip = json_get_str(*obj, "spec.clusterIP"), had = json_get_str(a->old, "spec.clusterIP");
    const struct json *list = json_path(*obj, "spec.clusterIPs");

    if (ip.n == 0)
        ip = json_str(json_at(list, 0));
    if (is_type(*obj, "ExternalName") || str_is(ip, "None"))
        return 0;
    if (ip.n == 0 && (had.n == 0 || is_type(a->old, "ExternalName")))
        return give_address(a, obj, st);
    /* What is no address at all, or another than before, is left to the kind's rules. */
    if (ip.n == 0 || str_find(ip, '.', 0) < 0 || (had.n && !is_type(a->old, "ExternalName")))
        return 0;
    return check_address(a, *obj, ip, st);
}

/* ---- node ports ---- */

static int refuse_port(const struct admission *a, const struct json *obj, size_t at, int64_t port,
                       const char *why, struct status *st)
{
    status_cause(st, CAUSE_INVALID, str_printf(st->arena, "spec.ports[%zu].nodePort", at),
                 str_printf(st->arena, "%lld", (long long)port), "%s", why);
    return status_invalid(st, STR_NONE, a->req->kind->kind, json_get_str(obj, "metadata.name"));
}

static int new_port(const struct admission *a, struct search *s, uint64_t seed, struct status *st)
{
    for (unsigned i = 0; i < PORT_COUNT; i++) {
        int taken;

        s->port = PORT_LOW + (int64_t)((seed + i) % PORT_COUNT);
        if (has_port(a->old, s->port))
            continue;
        taken = is_taken(s, st);
        if (taken <= 0)
            return taken;
    }
    return status_set(st, REASON_INTERNAL, "failed to allocate a nodePort: range is full");
}

static bool needs_ports(const struct json *obj)
{
    return is_type(obj, "NodePort") || is_type(obj, "LoadBalancer");
}

/* A port of the same name keeps its node port, unless another has it now. */
static int64_t kept_port(const struct json *old, const struct json *obj, const struct json *port)
{
    int64_t had = 0;

    json_for_each (p, json_path(needs_ports(old) ? old : NULL, "spec.ports"))
        if (str_eq(json_get_str(p, "name"), json_get_str(port, "name")))
            had = json_int(json_get(p, STR("nodePort")), 0);
    return had && has_port(obj, had) ? 0 : had;
}

/* Of one number, in whatever protocol, is one node port. */
static int64_t same_port(const struct json *done, const struct json *port)
{
    json_for_each (p, done)
        if (json_equal(json_get(p, STR("port")), json_get(port, STR("port"))) &&
            !str_eq(json_get_str(p, "protocol"), json_get_str(port, "protocol")))
            return json_int(json_get(p, STR("nodePort")), 0);
    return 0;
}

static int ports(const struct admission *a, const struct json **obj, struct status *st)
{
    const struct json *allocate = json_path(*obj, "spec.allocateLoadBalancerNodePorts");
    struct search s = { .a = a, .self = key_of(a, *obj) };
    uint64_t seed = str_hash(s.self, 0x6e6f6465, 0x706f7274);
    struct json_array out = json_array_new(a->req->arena);

    if (!needs_ports(*obj))
        return 0;
    json_for_each (p, json_path(*obj, "spec.ports")) {
        struct json_object o = json_object_from(a->req->arena, p);
        struct json done = json_array_value(&out);
        int64_t n = json_int(json_get(p, STR("nodePort")), 0);
        int64_t kept = n ? 0 : kept_port(a->old, *obj, p);

        if (!n && !kept)
            kept = same_port(&done, p);

        s.port = n ? n : kept;
        if (n && (n < PORT_LOW || n >= PORT_LOW + PORT_COUNT))
            return refuse_port(a, *obj, out.n, n,
                               "provided port is not in the valid range. The range of valid ports "
                               "is 30000-32767",
                               st);
        if (n && is_taken(&s, st) > 0)
            return refuse_port(a, *obj, out.n, n, "provided port is already allocated", st);
        if (!s.port && !(allocate && !json_bool(allocate)) &&
            new_port(a, &s, seed + out.n * 7, st) < 0)
            return -1;
        if (s.port)
            json_put(&o, STR("nodePort"), json_of_int(s.port));
        json_push(&out, json_object_value(&o));
    }
    *obj = json_set(a->req->arena, *obj, "spec.ports", json_array_done(&out));
    return 0;
}

/* k8s: alloc.go allocHealthCheckNodePort */
static int health_port(const struct admission *a, const struct json **obj, struct status *st)
{
    static const char *const path = "spec.healthCheckNodePort";
    struct search s = { .a = a, .self = key_of(a, *obj) };
    uint64_t seed = str_hash(s.self, 0x6865616c, 0x7468);

    s.port = json_int(json_path(*obj, path), 0);
    if (!is_type(*obj, "LoadBalancer") ||
        !str_is(json_get_str(*obj, "spec.externalTrafficPolicy"), "Local"))
        return 0;
    if (s.port) {
        if (!a->old && (s.port < PORT_LOW || s.port > PORT_LOW + PORT_COUNT - 1))
            return status_set(st, REASON_INTERNAL,
                              "failed to allocate requested HealthCheck NodePort %lld: provided "
                              "port is not in the valid range. The range of valid ports is "
                              "%d-%d",
                              (long long)s.port, PORT_LOW, PORT_LOW + PORT_COUNT - 1);
        if (!has_port(a->old, s.port) && is_taken(&s, st) > 0)
            return status_set(st, REASON_INTERNAL,
                              "failed to allocate requested HealthCheck NodePort %lld: provided "
                              "port is already allocated",
                              (long long)s.port);
        return 0;
    }
    s.port = json_int(json_path(a->old, path), 0);
    for (unsigned i = 0; !s.port || has_port(json_set(a->req->arena, *obj, path, NULL), s.port);
         i++)
        if (new_port(a, &s, seed + i, st) < 0)
            return -1;
    *obj = json_set(a->req->arena, *obj, path, json_box(a->req->arena, json_of_int(s.port)));
    return 0;
}

/* ---- claims ---- */

static bool takes_ports(const struct json *obj, const struct json *old)
{
    int64_t health = json_int(json_path(obj, "spec.healthCheckNodePort"), 0);

    json_for_each (p, json_path(obj, "spec.ports")) {
        int64_t port = json_int(json_get(p, STR("nodePort")), 0);

        if (port && !has_port(old, port))
            return true;
    }
    return health && !has_port(old, health);
}

int service_claims(struct rest_request *req, const struct rest_change *change,
                   struct store_op ops[2], struct status *st)
{
    str ip = json_get_str(change->obj, "spec.clusterIP");
    int n = 0;

    if (req->kind->group.n || !str_is(req->kind->plural, "services") || change->removed ||
        change->dry || req->subresource.n)
        return 0;
    if (ip.n && !str_is(ip, "None") && !str_eq(ip, json_get_str(change->old, "spec.clusterIP"))) {
        unsigned row = (unsigned)(str_hash(ip, 0x636c6169, 0x6d) % CLAIMS);

        if (admission_claim(req, str_printf(req->arena, "address/%u", row), &ops[n++], st) < 0)
            return -1;
    }
    if (takes_ports(change->obj, change->old) &&
        admission_claim(req, STR("ports"), &ops[n++], st) < 0)
        return -1;
    return n;
}

static int mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    /* What can be no service is left to the kind's rules: nothing is given to it. */
    if (a->req->subresource.n || !service_takes_addresses(a->req->arena, *obj, a->old))
        return 0;
    if (addresses(a, obj, st) < 0 || ports(a, obj, st) < 0)
        return -1;
    return health_port(a, obj, st);
}

const struct admission_plugin admit_service = {
    .name = "ServiceAddresses",
    .group = "",
    .resource = "services",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .mutate = mutate,
};
