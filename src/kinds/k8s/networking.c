/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/networking/validation, pkg/registry/networking */

/* ---- ranges of addresses ---- */

struct range {
    unsigned char bytes[16];
    int family;
    uint64_t bits;
};

static bool parse_range(struct arena *a, str text, struct range *out)
{
    ptrdiff_t slash = str_find(text, '/', 0);
    str ip = str_sub(text, 0, slash < 0 ? 0 : (size_t)slash);

    *out = (struct range){ .family = site_ip_family(ip) };
    if (!out->family || !str_to_u64(str_from(text, (size_t)slash + 1), &out->bits) ||
        out->bits > (out->family == 4 ? 32 : 128))
        return false;
    (void)inet_pton(out->family == 4 ? AF_INET : AF_INET6, str_z(a, ip), out->bytes);
    return true;
}

static bool range_contains(const struct range *outer, const struct range *inner)
{
    if (outer->family != inner->family || outer->bits >= inner->bits)
        return false;
    for (size_t i = 0; i < outer->bits; i++)
        if ((outer->bytes[i / 8] ^ inner->bytes[i / 8]) & (0x80 >> (i % 8)))
            return false;
    return true;
}

static bool check_range(struct status *st, const struct site *s, struct range *out)
{
    if (parse_range(st->arena, json_str(s->v), out))
        return true;
    site_invalid(st, s, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    return false;
}

void network_check_range(struct status *st, const struct site *s)
{
    struct json bare = json_of_str(str_trim(json_str(s->v)));
    struct site trimmed = *s;
    struct range r;

    trimmed.v = &bare;
    (void)check_range(st, &trimmed, &r);
}

/* ---- policies ---- */

static const struct json *policy_defaults(const struct kind_context *c, const struct json *obj)
{
    struct json_array types = json_array_new(c->arena);

    if (json_len(json_path(obj, "spec.policyTypes")))
        return obj;
    json_push(&types, json_of_str(STR("Ingress")));
    if (json_len(json_path(obj, "spec.egress")))
        json_push(&types, json_of_str(STR("Egress")));
    return json_set(c->arena, obj, "spec.policyTypes", json_array_done(&types));
}

static void check_port(struct status *st, const struct site *at)
{
    static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };
    struct site protocol = site_in(at, "protocol"), port = site_in(at, "port");
    struct site end = site_in(at, "endPort");

    site_enum(st, &protocol, protocols);
    if (port.v)
        site_port_or_name(st, &port);
    if (!end.v)
        return;
    if (!port.v)
        site_invalid(st, &end, "may not be specified when `port` is not specified");
    else if (!json_is(port.v, JSON_INT))
        site_invalid(st, &end, "may not be specified when `port` is non-numeric");
    if (!json_is(port.v, JSON_INT))
        return;
    if (json_int(end.v, 0) < json_int(port.v, 0))
        site_invalid(st, &end, "must be greater than or equal to `port`");
    site_port(st, &end);
}

static void check_block(struct status *st, const struct site *block)
{
    struct site cidr = site_in(block, "cidr"), except = site_in(block, "except");
    struct range all, part;

    if (site_required(st, &cidr) || !check_range(st, &cidr, &all))
        return;
    site_each(e, &except)
    {
        if (check_range(st, &e, &part) && !range_contains(&all, &part))
            site_invalid(st, &e, "must be a strict subset of `cidr`");
    }
}

static void check_peer(struct status *st, const struct site *peer)
{
    struct site pods = site_in(peer, "podSelector");
    struct site namespaces = site_in(peer, "namespaceSelector"), block = site_in(peer, "ipBlock");

    site_selector(st, &pods);
    site_selector(st, &namespaces);
    if (block.v)
        check_block(st, &block);
    if (!pods.v && !namespaces.v && !block.v)
        site_missing(st, peer, "must specify a peer");
    else if (block.v && (pods.v || namespaces.v))
        site_forbidden(st, peer, "may not specify both ipBlock and another peer");
}

static void check_rules(struct status *st, const struct site *spec, const char *way,
                        const char *peers)
{
    struct site rules = site_in(spec, way);

    site_each(rule, &rules)
    {
        struct site ports = site_in(&rule, "ports"), list = site_in(&rule, peers);

        site_each(p, &ports) check_port(st, &p);
        site_each(p, &list) check_peer(st, &p);
    }
}

static void policy_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const known[] = { "Ingress", "Egress", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site selector = site_in(&spec, "podSelector"), types = site_in(&spec, "policyTypes");

    (void)c;
    site_selector(st, &selector);
    check_rules(st, &spec, "ingress", "from");
    check_rules(st, &spec, "egress", "to");
    if (json_len(types.v) > 2) {
        site_invalid(st, &types, "may not specify more than two policyTypes");
        return;
    }
    site_each(t, &types) site_enum(st, &t, known);
}

static void policy_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_selector(cells, json_path(obj, "spec.podSelector"));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops policy_ops = {
    .defaults = policy_defaults,
    .validate = policy_validate,
    .warn = warn_networkpolicy,
    .cells = policy_cells,
};

/* ---- addresses ---- */

/* The one way to write it; k8s: IsValidIP, and that there is but one */
static void check_address_name(struct status *st, const struct site *name)
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    unsigned char raw[16] = { 0 };
    char text[INET6_ADDRSTRLEN] = { 0 };
    str ip = json_str(name->v);
    int family = site_ip_family(ip) == 4 ? AF_INET : AF_INET6;

    if (ip.n == 0 || !site_ip_family(ip) || ip.n >= sizeof(text)) {
        site_invalid(st, name,
                     site_ip_family_loose(ip)
                         ? "must not have leading 0s"
                         : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        return;
    }
    memcpy(text, ip.p, ip.n);
    (void)inet_pton(family, text, raw);
    (void)inet_ntop(family, raw, text, sizeof(text));
    if (family == AF_INET6 && memcmp(raw, mapped, sizeof(mapped)) == 0)
        site_invalid(st, name, "must not be an IPv4-mapped IPv6 address");
    else if (!str_is(ip, text))
        site_fault(st, name, CAUSE_INVALID, "must be in canonical form (\"%s\")", text);
}

static void address_validate(const struct kind_context *c, const struct json *obj,
                             struct status *st)
{
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site name = site_in(&meta, "name"), spec = site_in(&root, "spec");
    struct site parent = site_in(&spec, "parentRef"), resource = site_in(&parent, "resource");
    struct site of = site_in(&parent, "name"), group = site_in(&parent, "group");
    struct site namespace_ = site_in(&parent, "namespace");

    (void)c;
    check_address_name(st, &name);
    if (!parent.v) {
        site_missing(st, &parent, "");
        return;
    }
    if (json_str(group.v).n)
        (void)site_name(st, &group, NAME_SUBDOMAIN);
    if (!site_required(st, &resource))
        (void)site_name(st, &resource, NAME_PATH);
    if (!site_required(st, &of))
        (void)site_name(st, &of, NAME_PATH);
    if (json_str(namespace_.v).n)
        (void)site_name(st, &namespace_, NAME_PATH);
}

static void address_update(const struct kind_context *c, const struct json *obj,
                           const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec.parentRef", obj, old);
}

static void address_cells(struct arena *a, const struct json *obj, int64_t now_s,
                          struct json_array *cells)
{
    const struct json *p = json_path(obj, "spec.parentRef");
    str group = json_get_str(p, "group"), namespace_ = json_get_str(p, "namespace");

    cell_str(cells, obj, "metadata.name");
    cell_text(cells, str_printf(a, "%.*s%s%.*s/%.*s%s%.*s", STR_ARG(json_get_str(p, "resource")),
                                group.n ? "." : "", STR_ARG(group), STR_ARG(namespace_),
                                namespace_.n ? "/" : "", STR_ARG(json_get_str(p, "name"))));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops address_ops = {
    .validate = address_validate,
    .validate_update = address_update,
    .cells = address_cells,
};

/* ---- ranges of services; k8s: their status may be written anywhere ---- */

enum { CIDRS_MAX = 2 };

static void check_cidrs(struct status *st, const struct site *cidrs)
{
    bool seen[2] = { false, false };
    struct range r;

    if (json_len(cidrs->v) == 0)
        site_missing(st, cidrs, "at least one CIDR required");
    if (json_len(cidrs->v) > CIDRS_MAX) {
        site_invalid(st, cidrs, "may only hold up to 2 values");
        return;
    }
    site_each(item, cidrs)
    {
        if (!check_range(st, &item, &r))
            continue;
        if (seen[r.family == 6])
            site_invalid(st, cidrs,
                         "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 "
                         "and 2001:db8::/64");
        seen[r.family == 6] = true;
    }
}

static void cidr_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site cidrs = site_in(&spec, "cidrs");

    if (c->create)
        check_cidrs(st, &cidrs);
}

static void cidr_update(const struct kind_context *c, const struct json *obj,
                        const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site cidrs = site_in(&spec, "cidrs");
    const struct json *was = json_path(old, "spec.cidrs");
    size_t n = json_len(was), now = json_len(cidrs.v);

    if (str_is(c->subresource, "status"))
        return;
    if (now != n && !(n == 1 && now == CIDRS_MAX)) { /* one of the other family may come */
        check_immutable(st, "spec.cidrs", obj, old);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct site item = site_item(&cidrs, i);

        site_immutable(st, &item, json_at(was, i));
    }
    if (now != n)
        check_cidrs(st, &cidrs);
}

static void cidr_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *cells)
{
    scoped_buf b = { .max = 1 << 10 };

    cell_str(cells, obj, "metadata.name");
    json_for_each (r, json_path(obj, "spec.cidrs"))
        buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(json_str(r)));
    cell_text(cells, str_dup(a, buf_str(&b)));
    cell_age(cells, obj, now_s);
}

static const struct json *cidr_prepare_update(const struct kind_context *c, const struct json *obj,
                                              const struct json *old)
{
    if (str_is(c->subresource, "status"))
        return check_only_status(c->arena, obj, old);
    return obj;
}

static const struct kind_ops cidr_ops = {
    .prepare_update = cidr_prepare_update,
    .validate = cidr_validate,
    .validate_update = cidr_update,
    .cells = cidr_cells,
};

/* ---- the group ---- */

static const struct column class_columns[] = {
    NAME_COLUMN,
    COLUMN("Controller", "", 0, "Who serves Ingresses of this class."),
    COLUMN("Parameters", "", 0, "The object that says more."),
    AGE_COLUMN,
};
static const struct column ingress_columns[] = {
    NAME_COLUMN,
    COLUMN("Class", "", 0, "Its IngressClass."),
    COLUMN("Hosts", "", 0, "Hosts it is for."),
    COLUMN("Address", "", 0, "Where it can be reached."),
    COLUMN("Ports", "", 0, "Ports it listens at."),
    AGE_COLUMN,
};
static const struct column address_columns[] = {
    NAME_COLUMN, COLUMN("ParentRef", "", 0, "Whose address it is."),
    /* k8s: rows have an age, too, which no column tells */
};
static const struct column policy_columns[] = {
    NAME_COLUMN,
    COLUMN("Pod-Selector", "", 0, "The pods it is about."),
    AGE_COLUMN,
};
static const struct column cidr_columns[] = {
    NAME_COLUMN,
    COLUMN("CIDRs", "", 0, "The ranges."),
    AGE_COLUMN,
};

static const str ingress_short[] = { STR_INIT("ing") };
static const str address_short[] = { STR_INIT("ip") };
static const str policy_short[] = { STR_INIT("netpol") };

static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("IngressClass", "ingressclasses", "ingressclass"),
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(columns, class_columns),
        .ops = &ingressclass_ops,
    },
    {
        KIND_NAMES("Ingress", "ingresses", "ingress"),
        LIST(short_names, ingress_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(subresources, status_only),
        LIST(columns, ingress_columns),
        .ops = &ingress_ops,
    },
    {
        KIND_NAMES("IPAddress", "ipaddresses", "ipaddress"),
        LIST(short_names, address_short),
        .verbs = VERBS_ALL,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        LIST(columns, address_columns),
        .ops = &address_ops,
    },
    {
        KIND_NAMES("NetworkPolicy", "networkpolicies", "networkpolicy"),
        LIST(short_names, policy_short),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .unconditional_update = true,
        LIST(columns, policy_columns),
        .ops = &policy_ops,
    },
    {
        KIND_NAMES("ServiceCIDR", "servicecidrs", "servicecidr"),
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, cidr_columns),
        .ops = &cidr_ops,
    },
};

const struct group group_networking = {
    .name = STR_INIT("networking.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.networking.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
