/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/service_check.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/core/validation ValidateService…, pkg/registry/core/service/storage/alloc.go */

enum { AFFINITY_MAX = 86400 };

bool service_is(const struct json *obj, const char *type)
{
    return str_is(json_get_str(obj, "spec.type"), type);
}

bool service_is_external(const struct json *obj)
{
    return service_is(obj, "NodePort") || service_is(obj, "LoadBalancer") ||
           (service_is(obj, "ClusterIP") && json_len(json_path(obj, "spec.externalIPs")));
}

bool service_needs_health_port(const struct json *obj)
{
    return service_is(obj, "LoadBalancer") &&
           str_is(json_get_str(obj, "spec.externalTrafficPolicy"), "Local");
}

bool service_has_families_of_its_own(const struct json *obj)
{
    return str_is(json_get_str(obj, "spec.clusterIP"), "None") &&
           json_len(json_path(obj, "spec.selector")) == 0;
}

static bool is_headless(const struct json *obj)
{
    return str_is(json_str(json_at(json_path(obj, "spec.clusterIPs"), 0)), "None");
}

/* ---- addresses ---- */

static void check_families(struct status *st, const struct site *spec)
{
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    struct site list = site_in(spec, "ipFamilies");
    struct map seen = { 0 };

    site_each(f, &list)
    {
        site_enum(st, &f, families);
        if (site_seen(&seen, str_printf(st->arena, "/%.*s", STR_ARG(json_str(f.v)))))
            site_duplicate(st, &f);
    }
    map_release(&seen);
}

/* False when it is no list of addresses. */
static bool check_list(struct status *st, const struct site *ips)
{
    size_t before = st->ncauses;
    bool good;

    site_each(i, ips)
    {
        if (i.index || !str_is(json_str(i.v), "None"))
            site_ip(st, &i);
        else if (json_len(ips->v) > 1)
            site_invalid(st, ips, "'None' must be the first and only value");
    }
    good = st->ncauses == before;
    if (json_len(ips->v) > 2)
        site_invalid(st, ips, "may only hold up to 2 values");
    return good;
}

static void check_match(struct status *st, const struct site *ips, const struct json *families)
{
    site_each(i, ips)
    {
        str family = json_str(json_at(families, i.index));
        bool six = site_ip_family_loose(json_str(i.v)) == 6;

        if ((six && str_is(family, "IPv4")) || (!six && str_is(family, "IPv6")))
            site_fault(st, &i, CAUSE_INVALID,
                       "expected an %.*s value as indicated by `ipFamilies[%zu]`", STR_ARG(family),
                       i.index);
    }
}

/* k8s: ValidateServiceClusterIPsRelatedFields */
static void check_addresses(struct status *st, const struct site *spec, const struct json *obj)
{
    static const char *const policies[] = { "PreferDualStack", "RequireDualStack", "SingleStack",
                                            NULL };
    struct site ip = site_in(spec, "clusterIP"), ips = site_in(spec, "clusterIPs");
    struct site policy = site_in(spec, "ipFamilyPolicy"), first = site_item(&ips, 0);

    if (json_str(ip.v).n && !str_eq(json_str(first.v), json_str(ip.v)))
        site_invalid(st, &ips, "first value must match `clusterIP`");
    if (!json_str(ip.v).n && json_len(ips.v))
        site_invalid(st, &ips, "must be empty when `clusterIP` is not specified");
    check_families(st, spec);
    site_enum(st, &policy, policies);
    if (!check_list(st, &ips) || is_headless(obj))
        return;
    if (json_len(ips.v) == 2 && site_ip_family_loose(json_str(first.v)) ==
                                    site_ip_family_loose(json_str(json_at(ips.v, 1))))
        site_invalid(st, &ips, "may specify no more than one IP for each IP family");
    check_match(st, &ips, json_path(obj, "spec.ipFamilies"));
}

/* k8s: initIPFamilyFields, in a cluster of IPv4 */
static void check_stack(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site families = site_in(spec, "ipFamilies"), policy = site_in(spec, "ipFamilyPolicy");
    struct site ips = site_in(spec, "clusterIPs");
    size_t before = st->ncauses;

    if (str_is(json_str(policy.v), "SingleStack") && json_len(ips.v) == 2)
        site_invalid(st, &policy,
                     "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs "
                     "are specified");
    if (str_is(json_str(policy.v), "SingleStack") && json_len(families.v) == 2)
        site_invalid(
            st, &policy,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified");
    for (size_t i = json_len(families.v); i < json_len(ips.v); i++) {
        struct site one = site_item(&ips, i);
        bool six = site_ip_family_loose(json_str(one.v)) == 6;

        one.v = ips.v; /* k8s: all of them are told */
        if (six)
            site_invalid(st, &one, "IPv6 is not configured on this cluster");
    }
    if (st->ncauses != before || service_has_families_of_its_own(obj))
        return;
    if (str_is(json_str(policy.v), "RequireDualStack"))
        site_invalid(st, &policy, "this cluster is not configured for dual-stack services");
    site_each(f, &families) if (str_is(json_str(f.v), "IPv6"))
        site_invalid(st, &f, "not configured on this cluster");
}

bool service_check_addresses(struct status *st, const struct json *obj)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    size_t before = st->ncauses;

    if (service_is(obj, "ExternalName"))
        return true;
    check_addresses(st, &spec, obj);
    if (st->ncauses == before)
        check_stack(st, &spec, obj);
    return st->ncauses == before;
}

/* ---- ports ---- */

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

static void check_port(struct status *st, const struct site *p, bool several, struct map *names)
{
    struct site name = site_in(p, "name"), port = site_in(p, "port");
    struct site protocol = site_in(p, "protocol"), target = site_in(p, "targetPort");
    struct site app = site_in(p, "appProtocol");

    if (json_str(name.v).n == 0) {
        if (several)
            site_missing(st, &name, "");
    } else {
        (void)site_name(st, &name, NAME_LABEL);
        if (site_seen(names, json_str(name.v)))
            site_duplicate(st, &name);
    }
    site_port(st, &port);
    site_enum(st, &protocol, protocols);
    site_port_or_name(st, &target);
    if (app.v)
        (void)site_qualified(st, &app);
}

static bool seen_port(struct status *st, struct map *seen, const struct site *p, const char *name)
{
    int64_t n = json_int(json_get(p->v, str_of(name)), 0);

    return n && site_seen(seen, str_printf(st->arena, "%.*s/%lld", STR_ARG(site_str(p, "protocol")),
                                           (long long)n));
}

static void check_ports(struct status *st, const struct site *spec)
{
    struct site ports = site_in(spec, "ports");
    struct map names = { 0 };

    site_each(p, &ports) check_port(st, &p, json_len(ports.v) > 1, &names);
    map_release(&names);
}

/* What ports are to each other. */
static void check_numbers(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ports = site_in(spec, "ports");
    struct map numbers = { 0 }, nodes = { 0 };

    site_each(p, &ports)
    {
        struct site node = site_in(&p, "nodePort");

        if (json_int(node.v, 0) && service_is(obj, "ClusterIP"))
            site_forbidden(st, &node, "may not be used when `type` is 'ClusterIP'");
    }
    site_each(p, &ports)
    {
        struct site node = site_in(&p, "nodePort");

        if (seen_port(st, &nodes, &p, "nodePort"))
            site_duplicate(st, &node);
    }
    site_each(p, &ports) if (seen_port(st, &numbers, &p, "port")) site_duplicate(st, &p);
    map_release(&numbers);
    map_release(&nodes);
}

/* ---- the rest ---- */

static void check_external_name(struct status *st, const struct site *spec)
{
    static const char *const refused[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
    struct site name = site_in(spec, "externalName");
    str text = json_str(name.v);
    struct json bare = json_of_str(str_ends(text, STR(".")) ? str_sub(text, 0, text.n - 1) : text);

    for (size_t i = 0; i < GROUP_LEN(refused); i++) {
        struct site field = site_in(spec, refused[i]);

        if (field.v)
            site_forbidden(st, &field, "may not be set for ExternalName services");
    }
    if (site_required(st, &name))
        return;
    name.v = &bare;
    (void)site_name(st, &name, NAME_SUBDOMAIN);
}

static void check_none(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ips = site_in(spec, "clusterIPs"), first = site_item(&ips, 0);

    if (!is_headless(obj))
        return;
    if (service_is(obj, "LoadBalancer"))
        site_invalid(st, &first, "may not be set to 'None' for LoadBalancer services");
    if (service_is(obj, "NodePort"))
        site_invalid(st, &first, "may not be set to 'None' for NodePort services");
}

static void check_class(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site class = site_in(spec, "loadBalancerClass");

    if (class.v && service_is(obj, "LoadBalancer"))
        (void)site_qualified(st, &class);
    else if (class.v)
        site_forbidden(st, &class, "may only be used when `type` is 'LoadBalancer'");
}

static void check_affinity(struct status *st, const struct site *spec)
{
    static const char *const kinds[] = { "ClientIP", "None", NULL };
    struct site affinity = site_in(spec, "sessionAffinity");
    struct site config = site_in(spec, "sessionAffinityConfig");
    struct site client = site_in(&config, "clientIP"), seconds = site_in(&client, "timeoutSeconds");
    int64_t n = json_int(seconds.v, 1);

    site_enum(st, &affinity, kinds);
    if (n <= 0 || n > AFFINITY_MAX)
        site_fault(st, &seconds, CAUSE_INVALID, "must be greater than 0 and less than %d",
                   AFFINITY_MAX);
}

static void check_traffic(struct status *st, const struct site *spec, const struct json *obj)
{
    static const char *const policies[] = { "Cluster", "Local", NULL };
    static const char *const wishes[] = { "PreferClose", "PreferSameZone", "PreferSameNode", NULL };
    struct site external = site_in(spec, "externalTrafficPolicy");
    struct site internal = site_in(spec, "internalTrafficPolicy");
    struct site health = site_in(spec, "healthCheckNodePort");
    struct site wish = site_in(spec, "trafficDistribution");

    if (external.v && !service_is_external(obj))
        site_invalid(st, &external, "may only be set for externally-accessible services");
    else
        site_enum(st, &external, policies);
    if (service_needs_health_port(obj))
        site_port(st, &health);
    else if (json_int(health.v, 0))
        site_invalid(st, &health,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
    site_enum(st, &internal, policies);
    site_enum(st, &wish, wishes);
}

static void check_sources(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ranges = site_in(spec, "loadBalancerSourceRanges");

    ranges.name = "LoadBalancerSourceRanges"; /* k8s: so it is called in messages */
    if (json_len(ranges.v) && !service_is(obj, "LoadBalancer"))
        site_forbidden(st, &ranges, "may only be used when `type` is 'LoadBalancer'");
    site_each(r, &ranges) network_check_range(st, &r);
}

static void check_type(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ports = site_in(spec, "ports");

    if (json_len(ports.v) == 0 && !is_headless(obj) && !service_is(obj, "ExternalName"))
        site_missing(st, &ports, "");
    if (service_is(obj, "ExternalName"))
        check_external_name(st, spec);
    check_none(st, spec, obj);
}

static void check_spec(struct status *st, const struct site *spec, const struct json *obj)
{
    static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                         NULL };
    struct site type = site_in(spec, "type"), selector = site_in(spec, "selector");
    struct site externals = site_in(spec, "externalIPs");
    struct site allocate = site_in(spec, "allocateLoadBalancerNodePorts");

    check_type(st, spec, obj);
    check_ports(st, spec);
    site_labels(st, &selector);
    check_affinity(st, spec);
    site_each(ip, &externals) endpoint_check_ip(st, &ip);
    site_enum(st, &type, types);
    check_numbers(st, spec, obj);
    check_sources(st, spec, obj);
    if (allocate.v && !service_is(obj, "LoadBalancer"))
        site_forbidden(st, &allocate, "may only be used when `type` is 'LoadBalancer'");
    check_class(st, spec, obj);
    check_traffic(st, spec, obj);
}

static void check_update(struct status *st, const struct site *spec, const struct json *obj,
                         const struct json *old)
{
    struct site ips = site_in(spec, "clusterIPs"), first = site_item(&ips, 0);
    struct site class = site_in(spec, "loadBalancerClass");
    struct site health = site_in(spec, "healthCheckNodePort");
    const struct json *was = json_at(json_path(old, "spec.clusterIPs"), 0);

    if (!service_is(old, "ExternalName") && !service_is(obj, "ExternalName") && was &&
        !check_same(first.v, was)) {
        first.v = ips.v; /* k8s: all of them are told */
        site_invalid(st, &first, "may not change once set");
    }
    if (service_is(old, "LoadBalancer") && service_is(obj, "LoadBalancer") &&
        !check_same(class.v, json_path(old, "spec.loadBalancerClass")))
        site_invalid(st, &class, "may not change once set");
    check_class(st, spec, obj); /* k8s: said twice */
    if (service_needs_health_port(old) && service_needs_health_port(obj) &&
        !check_same(health.v, json_path(old, "spec.healthCheckNodePort")))
        site_forbidden(st, &health, "field is immutable");
}

void service_check(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    /* k8s: nothing else of a service is looked at before these are right. */
    if (!service_check_addresses(st, obj))
        return;
    if (old)
        check_update(st, &spec, obj, old);
    check_spec(st, &spec, obj);
}

/* k8s: ValidateLoadBalancerStatus */
void service_check_ingress(struct status *st, const struct json *obj)
{
    static const char *const modes[] = { "Proxy", "VIP", NULL };
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site balancer = site_in(&status, "loadBalancer"), all = site_in(&balancer, "ingress");

    if (json_len(all.v) && !service_is(obj, "LoadBalancer")) {
        site_forbidden(st, &all, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    site_each(i, &all)
    {
        struct site ip = site_in(&i, "ip"), mode = site_in(&i, "ipMode");
        struct site host = site_in(&i, "hostname");
        bool has_ip = json_str(ip.v).n > 0;

        if (has_ip)
            site_ip(st, &ip);
        if (has_ip && !mode.v)
            site_missing(st, &mode, "must be specified when `ip` is set");
        else if (!has_ip && mode.v)
            site_forbidden(st, &mode, "may not be specified when `ip` is not set");
        else
            site_enum(st, &mode, modes);
        if (json_str(host.v).n) {
            (void)site_name(st, &host, NAME_SUBDOMAIN);
            if (site_ip_family_loose(json_str(host.v)))
                site_invalid(st, &host, "must be a DNS name, not an IP address");
        }
    }
}
