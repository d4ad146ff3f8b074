/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* The group discovery.k8s.io.  k8s: pkg/apis/discovery/validation */

enum { ENDPOINTS_MAX = 1000, ADDRESSES_MAX = 100, PORTS_MAX = 20000, HINTS_MAX = 8, SHOWN = 3 };

/* k8s: IsFullyQualifiedDomainName: a dot may stand at its end */
static void check_domain(struct status *st, const struct site *address)
{
    str text = json_str(address->v), rest = text, label;
    struct json plain = json_of_str(str_sub(text, 0, text.n - str_ends(text, STR("."))));
    struct site shown = *address;

    shown.v = &plain;
    if (site_required(st, address) || !site_name(st, &shown, NAME_SUBDOMAIN))
        return;
    if (str_find(json_str(&plain), '.', 0) < 0) {
        site_invalid(st, &shown, "should be a domain with at least two segments separated by dots");
        return;
    }
    for (rest = json_str(&plain); str_split(&rest, '.', &label);) {
        struct json part = json_of_str(label);

        shown.v = &part;
        if (!site_name(st, &shown, NAME_LABEL))
            return;
    }
}

static void check_address(struct status *st, const struct site *address, str type)
{
    bool four = str_is(type, "IPv4");
    int family =
        four ? site_ip_family_loose(json_str(address->v)) : site_ip_family(json_str(address->v));

    if (str_is(type, "FQDN")) {
        check_domain(st, address);
    } else if (str_is(type, "IPv4") || str_is(type, "IPv6")) {
        struct site list = *address->up; /* k8s: of all, here */

        list.v = address->v;
        if (!family) {
            site_invalid(st, address,
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
            return;
        }
        if (family != (four ? 4 : 6))
            site_fault(st, &list, CAUSE_INVALID, "must be an %.*s address", STR_ARG(type));
        endpoint_check_ip(st, address);
    }
}

static void check_hints(struct status *st, const struct site *hints, const char *member)
{
    struct site list = site_in(hints, member);
    bool nodes = str_is(str_of(member), "forNodes");
    struct json none = json_of_str(STR_NONE);
    struct map seen = { 0 };

    if (json_len(list.v) > HINTS_MAX)
        site_fault(st, &list, CAUSE_TOO_MANY, "must have at most %d items", HINTS_MAX);
    site_each(h, &list)
    {
        struct site name = site_in(&h, "name");

        name.v = name.v ? name.v : &none;
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        if (nodes)
            (void)site_name(st, &name, NAME_SUBDOMAIN);
        else
            (void)label_value_check(st, site_path(st->arena, &name), json_str(name.v));
    }
    map_release(&seen);
}

static void check_endpoint(struct status *st, const struct site *e, str type)
{
    struct site addresses = site_in(e, "addresses"), host = site_in(e, "hostname");
    struct site node = site_in(e, "nodeName"), hints = site_in(e, "hints");

    if (json_len(addresses.v) == 0)
        site_missing(st, &addresses, "must contain at least 1 address");
    if (json_len(addresses.v) > ADDRESSES_MAX)
        site_fault(st, &addresses, CAUSE_TOO_MANY, "must have at most %d items", ADDRESSES_MAX);
    site_each(a, &addresses) check_address(st, &a, type);
    if (node.v)
        (void)site_name(st, &node, NAME_SUBDOMAIN);
    if (host.v)
        (void)site_name(st, &host, NAME_LABEL);
    check_hints(st, &hints, "forZones");
    check_hints(st, &hints, "forNodes");
}

static void check_ports(struct status *st, const struct site *ports)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    static const struct json none = { .type = JSON_STRING };
    struct map seen = { 0 };

    if (json_len(ports->v) > PORTS_MAX)
        site_fault(st, ports, CAUSE_TOO_MANY, "must have at most %d items", PORTS_MAX);
    site_each(p, ports)
    {
        struct site name = site_in(&p, "name");
        struct site protocol = site_in(&p, "protocol"), app = site_in(&p, "appProtocol");

        if (json_str(name.v).n)
            (void)site_name(st, &name, NAME_LABEL);
        name.v = name.v ? name.v : &none;
        if (site_seen_any(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        site_enum(st, &protocol, protocols);
        if (app.v) /* k8s: the number may be any */
            (void)site_qualified(st, &app);
    }
    map_release(&seen);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const types[] = { "FQDN", "IPv4", "IPv6", NULL };
    struct site root = site_root(obj), type = site_in(&root, "addressType");
    struct site endpoints = site_in(&root, "endpoints"), ports = site_in(&root, "ports");

    (void)c;
    if (!site_required(st, &type))
        site_enum(st, &type, types);
    if (json_len(endpoints.v) > ENDPOINTS_MAX)
        site_fault(st, &endpoints, CAUSE_TOO_MANY, "must have at most %d items", ENDPOINTS_MAX);
    check_ports(st, &ports);
    site_each(e, &endpoints) check_endpoint(st, &e, json_str(type.v));
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "addressType", obj, old);
}

static str ports_text(struct arena *a, const struct json *ports)
{
    scoped_buf b = { .max = 1 << 20 };
    size_t n = 0;

    json_for_each (p, ports) {
        const struct json *port = json_get(p, STR("port"));

        if (n++ >= SHOWN)
            continue;
        buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(port ? json_text(a, port) : STR("*")));
    }
    if (n > SHOWN)
        buf_printf(&b, " + %zu more...", n - SHOWN);
    return b.n ? str_dup(a, buf_str(&b)) : STR("<unset>");
}

static str endpoints_text(struct arena *a, const struct json *endpoints)
{
    scoped_buf b = { .max = 1 << 20 };
    size_t n = 0;

    json_for_each (e, endpoints)
        json_for_each (ip, json_get(e, STR("addresses")))
            if (n++ < SHOWN)
                buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(json_str(ip)));
    if (n > SHOWN)
        buf_printf(&b, " + %zu more...", n - SHOWN);
    return b.n ? str_dup(a, buf_str(&b)) : STR("<unset>");
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    cell_str(out, obj, "metadata.name");
    cell_str(out, obj, "addressType");
    cell_text(out, ports_text(a, json_get(obj, STR("ports"))));
    cell_text(out, endpoints_text(a, json_get(obj, STR("endpoints"))));
    cell_age(out, obj, now_s);
}

static const struct kind_ops ops = {
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_endpointslice,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("AddressType", "", 0, "What its addresses are."),
    COLUMN("Ports", "", 0, "The ports."),
    COLUMN("Endpoints", "", 0, "The addresses."),
    AGE_COLUMN,
};

static struct kind kinds[] = {
    {
        KIND_NAMES("EndpointSlice", "endpointslices", "endpointslice"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(columns, columns),
        .ops = &ops,
    },
};

const struct group group_discovery = {
    .name = STR_INIT("discovery.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.discovery.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
