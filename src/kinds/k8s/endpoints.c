/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/core/validation ValidateEndpointIP: addresses that mean something else elsewhere.
 */
void endpoint_check_ip(struct status *st, const struct site *ip)
{
    str text = json_str(ip->v);
    int family = site_ip_family_loose(text);
    unsigned char raw[16] = { 0 };
    char zero[16] = { 0 };

    if (!family) {
        site_invalid(st, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        return;
    }
    (void)inet_pton(family == 4 ? AF_INET : AF_INET6,
                    str_z(st->arena, site_ip_plain(st->arena, text)), raw);
    if (memcmp(raw, zero, family == 4 ? 4 : 16) == 0)
        site_fault(st, ip, CAUSE_INVALID, "may not be unspecified (%.*s)", STR_ARG(text));
    if (family == 4 ? raw[0] == 127 : (memcmp(raw, zero, 15) == 0 && raw[15] == 1))
        site_invalid(st, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (family == 4 ? (raw[0] == 169 && raw[1] == 254)
                    : (raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80))
        site_invalid(st, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (family == 4 ? (raw[0] == 224 && !raw[1] && !raw[2])
                    : (raw[0] == 0xff && (raw[1] & 0xf) == 2))
        site_invalid(st, ip,
                     "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void check_addresses(struct status *st, const struct site *list)
{
    site_each(address, list)
    {
        struct site ip = site_in(&address, "ip"), host = site_in(&address, "hostname");
        struct site node = site_in(&address, "nodeName");

        endpoint_check_ip(st, &ip);
        if (json_str(host.v).n)
            (void)site_name(st, &host, NAME_LABEL);
        if (node.v)
            (void)site_name(st, &node, NAME_SUBDOMAIN);
    }
}

static void check_ports(struct status *st, const struct site *ports)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

    site_each(p, ports)
    {
        struct site name = site_in(&p, "name"), port = site_in(&p, "port");
        struct site protocol = site_in(&p, "protocol"), app = site_in(&p, "appProtocol");

        if (json_str(name.v).n)
            (void)site_name(st, &name, NAME_LABEL);
        else if (json_len(ports->v) > 1)
            site_missing(st, &name, "");
        site_port(st, &port);
        site_enum(st, &protocol, protocols);
        if (app.v)
            (void)site_qualified(st, &app);
    }
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), subsets = site_in(&root, "subsets");

    (void)c;
    site_each(s, &subsets)
    {
        struct site ready = site_in(&s, "addresses"), others = site_in(&s, "notReadyAddresses");
        struct site ports = site_in(&s, "ports");

        if (json_len(ready.v) == 0 && json_len(others.v) == 0)
            site_missing(st, &s, "must specify `addresses` or `notReadyAddresses`");
        check_addresses(st, &ready);
        check_addresses(st, &others);
        check_ports(st, &ports);
    }
}

enum { SHOWN = 3 };

struct listing {
    struct buf *out;
    size_t shown, all;
};

static void list_addresses(struct listing *l, const struct json *addresses, const struct json *port)
{
    json_for_each (address, addresses) {
        str ip = json_get_str(address, "ip");
        bool six = str_find(ip, ':', 0) >= 0 && port;

        l->all++;
        if (l->shown == SHOWN)
            continue;
        buf_printf(l->out, "%s%s%.*s%s", l->shown++ ? "," : "", six ? "[" : "", STR_ARG(ip),
                   six ? "]" : "");
        if (port)
            buf_printf(l->out, ":%lld", (long long)json_int(json_get(port, STR("port")), 0));
    }
}

static str subsets_text(struct arena *a, const struct json *subsets)
{
    scoped_buf b = { .max = 1 << 16 };
    struct listing l = { .out = &b };

    if (json_len(subsets) == 0)
        return STR("<none>");
    json_for_each (s, subsets) {
        const struct json *ports = json_get(s, STR("ports"));
        const struct json *addresses = json_get(s, STR("addresses"));

        if (json_len(ports) == 0)
            list_addresses(&l, addresses, NULL);
        json_for_each (p, ports)
            list_addresses(&l, addresses, p);
    }
    if (l.all > SHOWN)
        buf_printf(&b, " + %zu more...", l.all - SHOWN);
    return str_dup(a, buf_str(&b));
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    cell_str(out, obj, "metadata.name");
    cell_text(out, subsets_text(a, json_get(obj, STR("subsets"))));
    cell_age(out, obj, now_s);
}

const struct kind_ops endpoints_ops = {
    .validate = validate,
    .warn = warn_endpoints,
    .cells = cells,
};
