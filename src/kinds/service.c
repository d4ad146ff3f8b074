/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/check.h"
#include "kinds/group.h"
#include "kinds/warn.h"
#include "kinds/workload.h"

/*
 * k8s: pkg/registry/core/service.  Addresses and node ports are handed out by the server
 * (server/admit_service.c), before anything here looks.
 */

enum { AFFINITY_SECONDS = 10800, AFFINITY_MAX = 86400 };

static bool is_type(const struct json *obj, const char *type)
{
    return str_is(json_get_str(obj, "spec.type"), type);
}

/* Reached from outside by a port of the nodes. */
static bool is_external(const struct json *obj)
{
    return is_type(obj, "NodePort") || is_type(obj, "LoadBalancer") ||
           (is_type(obj, "ClusterIP") && json_len(json_path(obj, "spec.externalIPs")));
}

static bool is_headless(const struct json *obj)
{
    return str_is(json_str(json_at(json_path(obj, "spec.clusterIPs"), 0)), "None");
}

static bool needs_health_port(const struct json *obj)
{
    return is_type(obj, "LoadBalancer") &&
           str_is(json_get_str(obj, "spec.externalTrafficPolicy"), "Local");
}

/* ---- defaults ---- */

static const struct json *default_ports(struct arena *a, const struct json *obj)
{
    const struct json *ports = json_path(obj, "spec.ports");
    struct json_array out = json_array_new(a);
    bool changed = false;

    json_for_each (p, ports) {
        const struct json *target = json_get(p, STR("targetPort"));
        struct json_object o = json_object_from(a, p);

        if (!json_str(target).n && json_int(target, 0) == 0) {
            json_put(&o, STR("targetPort"), json_of_int(json_int(json_get(p, STR("port")), 0)));
            changed = true;
        }
        json_push(&out, json_object_value(&o));
    }
    return changed ? json_set(a, obj, "spec.ports", json_array_done(&out)) : obj;
}

static const struct json *default_affinity(struct arena *a, const struct json *obj)
{
    struct json seconds = json_of_int(AFFINITY_SECONDS);

    if (str_is(json_get_str(obj, "spec.sessionAffinity"), "None"))
        return json_path(obj, "spec.sessionAffinityConfig")
                   ? json_set(a, obj, "spec.sessionAffinityConfig", NULL)
                   : obj;
    if (!str_is(json_get_str(obj, "spec.sessionAffinity"), "ClientIP") ||
        json_path(obj, "spec.sessionAffinityConfig.clientIP.timeoutSeconds"))
        return obj;
    return json_set(a, obj, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", &seconds);
}

/* k8s: SetDefaults_Service: an address of a balancer is its own, unless it says otherwise */
static const struct json *default_ingress(struct arena *a, const struct json *obj)
{
    const struct json *ingress = json_path(obj, "status.loadBalancer.ingress");
    struct json_array out = json_array_new(a);
    bool changed = false;

    json_for_each (i, ingress) {
        struct json_object o = json_object_from(a, i);

        if (json_get_str(i, "ip").n && !json_get(i, STR("ipMode"))) {
            json_add(&o, STR("ipMode"), json_of_str(STR("VIP")));
            changed = true;
        }
        json_push(&out, json_object_value(&o));
    }
    return changed ? json_set(a, obj, "status.loadBalancer.ingress", json_array_done(&out)) : obj;
}

static const struct json *put_word(struct arena *a, const struct json *obj, const char *path,
                                   const char *word)
{
    return workload_put_missing(a, obj, path, json_of_str(str_of(word)));
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;

    obj = default_affinity(a, default_ports(a, obj));
    if (is_external(obj))
        obj = put_word(a, obj, "spec.externalTrafficPolicy", "Cluster");
    if (is_type(obj, "ClusterIP") || is_type(obj, "NodePort") || is_type(obj, "LoadBalancer"))
        obj = put_word(a, obj, "spec.internalTrafficPolicy", "Cluster");
    if (!is_type(obj, "LoadBalancer"))
        return obj;
    obj = workload_put_missing(a, obj, "spec.allocateLoadBalancerNodePorts", json_of_bool(true));
    return default_ingress(a, obj);
}

static bool has_families_of_its_own(const struct json *obj)
{
    return str_is(json_get_str(obj, "spec.clusterIP"), "None") &&
           json_len(json_path(obj, "spec.selector")) == 0;
}

/*
 * k8s: storage/alloc.go initIPFamilyFields, in a cluster of IPv4.  Whoever says where a headless
 * service leads to may do so in both families.
 */
static const struct json *with_families(struct arena *a, const struct json *obj)
{
    struct json_array families = json_array_new(a);
    const struct json *had = json_path(obj, "spec.ipFamilies");
    bool own = has_families_of_its_own(obj);

    obj = put_word(a, obj, "spec.ipFamilyPolicy", own ? "RequireDualStack" : "SingleStack");
    json_for_each (f, had)
        json_push(&families, *f);
    if (families.n == 0)
        json_push(&families, json_of_str(STR("IPv4")));
    if (own && families.n == 1 &&
        !str_is(json_get_str(obj, "spec.ipFamilyPolicy"), "SingleStack")) {
        struct json done = json_array_value(&families);
        bool is_4 = str_is(json_str(json_at(&done, 0)), "IPv4");

        json_push(&families, json_of_str(is_4 ? STR("IPv6") : STR("IPv4")));
    }
    return json_set(a, obj, "spec.ipFamilies", json_array_done(&families));
}

/* clusterIPs follows clusterIP.  k8s: normalizeClusterIPs */
static const struct json *in_line(struct arena *a, const struct json *obj)
{
    str ip = json_get_str(obj, "spec.clusterIP");
    struct json_array list = json_array_new(a);

    if (ip.n && json_len(json_path(obj, "spec.clusterIPs")) == 0) {
        json_push(&list, json_of_str(ip));
        obj = json_set(a, obj, "spec.clusterIPs", json_array_done(&list));
    }
    return is_type(obj, "ExternalName") ? obj : with_families(a, obj);
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    return in_line(c->arena, check_reset(c, obj, "status"));
}

/* ---- updates ---- */

/* What was handed out stays unless the client says otherwise.  k8s: patchAllocatedValues */
static const struct json *keep_allocated(struct arena *a, const struct json *obj,
                                         const struct json *old)
{
    static const char *const kept[] = { "spec.clusterIP", "spec.clusterIPs",
                                        "spec.ipFamilyPolicy" };

    if (is_type(obj, "ExternalName") || is_type(old, "ExternalName"))
        return obj;
    /* Who changes the one means both. */
    if (json_get_str(obj, "spec.clusterIP").n &&
        !check_same(json_path(obj, kept[0]), json_path(old, kept[0])) &&
        (!json_len(json_path(obj, kept[1])) ||
         check_same(json_path(obj, kept[1]), json_path(old, kept[1]))))
        return json_set(a, obj, kept[1], NULL);
    for (size_t i = 0; i < GROUP_LEN(kept); i++) {
        const struct json *was = json_path(old, kept[i]), *now = json_path(obj, kept[i]);

        if (was && !json_str(now).n && !json_len(now))
            obj = json_set(a, obj, kept[i], was);
    }
    return obj;
}

/* Fields that the new type does not know go, if the client left them alone. */
static const struct json *drop_unused(struct arena *a, const struct json *obj,
                                      const struct json *old)
{
    static const char *const addresses[] = { "spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies",
                                             "spec.ipFamilyPolicy" };
    static const struct {
        const char *path;
        bool (*needs)(const struct json *obj);
    } others[] = {
        { "spec.externalTrafficPolicy", is_external },
        { "spec.healthCheckNodePort", needs_health_port },
    };

    for (size_t i = 0; is_type(obj, "ExternalName") && i < GROUP_LEN(addresses); i++)
        if (check_same(json_path(obj, addresses[i]), json_path(old, addresses[i])))
            obj = json_set(a, obj, addresses[i], NULL);
    for (size_t i = 0; i < GROUP_LEN(others); i++)
        if (others[i].needs(old) && !others[i].needs(obj) &&
            check_same(json_path(obj, others[i].path), json_path(old, others[i].path)))
            obj = json_set(a, obj, others[i].path, NULL);
    if (is_type(old, "LoadBalancer") && !is_type(obj, "LoadBalancer")) {
        obj = json_set(a, obj, "spec.allocateLoadBalancerNodePorts", NULL);
        obj = json_set(a, obj, "spec.loadBalancerClass", NULL);
    }
    return obj;
}

/* Node ports of a service that has none any more. */
static const struct json *drop_node_ports(struct arena *a, const struct json *obj,
                                          const struct json *old)
{
    struct json_array out = json_array_new(a);
    bool had = is_type(old, "NodePort") || is_type(old, "LoadBalancer");

    if (!had || is_type(obj, "NodePort") || is_type(obj, "LoadBalancer"))
        return obj;
    json_for_each (p, json_path(obj, "spec.ports")) {
        struct json_object o = json_object_from(a, p);

        json_remove(&o, STR("nodePort"));
        json_push(&out, json_object_value(&o));
    }
    return json_set(a, obj, "spec.ports", json_array_done(&out));
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    struct arena *a = c->arena;

    if (str_is(c->subresource, "status"))
        return check_keep(a, obj, old, "spec");
    obj = check_keep(a, obj, old, "status");
    if (!is_type(obj, "LoadBalancer") && json_path(obj, "status.loadBalancer.ingress"))
        obj = json_set(a, obj, "status.loadBalancer.ingress", NULL);
    obj = drop_node_ports(a, drop_unused(a, keep_allocated(a, obj, old), old), old);
    return in_line(a, obj);
}

/* ---- rules ---- */

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

/* k8s: what two ports have in common, as Go has it */
static const struct json *port_shown(struct arena *a, const struct json *port)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("Name"), json_of_str(STR_NONE));
    json_add(&o, STR("Protocol"), json_of_str(json_get_str(port, "protocol")));
    json_add(&o, STR("AppProtocol"), json_null);
    json_add(&o, STR("Port"), json_of_int(json_int(json_get(port, STR("port")), 0)));
    json_add(&o, STR("TargetPort"), json_of_int(0));
    json_add(&o, STR("NodePort"), json_of_int(0));
    return json_object_done(&o);
}

static bool seen_port(struct status *st, struct map *seen, const struct site *p, const char *name)
{
    int64_t n = json_int(json_get(p->v, str_of(name)), 0);

    return n && site_seen(seen, str_printf(st->arena, "%.*s/%lld", STR_ARG(site_str(p, "protocol")),
                                           (long long)n));
}

static void check_ports(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ports = site_in(spec, "ports");
    struct map names = { 0 }, numbers = { 0 }, nodes = { 0 };

    if (json_len(ports.v) == 0 && !is_headless(obj) && !is_type(obj, "ExternalName"))
        site_missing(st, &ports, "");
    site_each(p, &ports)
    {
        struct site node = site_in(&p, "nodePort");

        check_port(st, &p, json_len(ports.v) > 1, &names);
        if (node.v && is_type(obj, "ClusterIP"))
            site_forbidden(st, &node, "may not be used when `type` is 'ClusterIP'");
        if (seen_port(st, &nodes, &p, "nodePort"))
            site_duplicate(st, &node);
        if (seen_port(st, &numbers, &p, "port")) {
            p.v = port_shown(st->arena, p.v);
            site_duplicate(st, &p);
        }
    }
    map_release(&names);
    map_release(&numbers);
    map_release(&nodes);
}

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

/* There are addresses of one family only. */
static void check_stack(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site families = site_in(spec, "ipFamilies"), policy = site_in(spec, "ipFamilyPolicy");

    if (str_is(json_str(policy.v), "SingleStack") && json_len(families.v) == 2)
        site_invalid(
            st, &policy,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified");
    if (has_families_of_its_own(obj))
        return;
    if (str_is(json_str(policy.v), "RequireDualStack"))
        site_invalid(st, &policy, "this cluster is not configured for dual-stack services");
    site_each(f, &families) if (str_is(json_str(f.v), "IPv6"))
        site_invalid(st, &f, "not configured on this cluster");
}

static void check_addresses(struct status *st, const struct site *spec, const struct json *obj)
{
    static const char *const families[] = { "IPv4", "IPv6", NULL };
    static const char *const policies[] = { "PreferDualStack", "RequireDualStack", "SingleStack",
                                            NULL };
    struct site ip = site_in(spec, "clusterIP"), ips = site_in(spec, "clusterIPs");
    struct site kinds = site_in(spec, "ipFamilies"), policy = site_in(spec, "ipFamilyPolicy");
    struct site first = site_item(&ips, 0);
    struct map seen = { 0 };

    if (json_str(ip.v).n && !str_eq(json_str(first.v), json_str(ip.v)))
        site_invalid(st, &ips, "first value must match `clusterIP`");
    if (!json_str(ip.v).n && json_len(ips.v))
        site_invalid(st, &ips, "must be empty when `clusterIP` is not specified");
    site_each(f, &kinds)
    {
        site_enum(st, &f, families);
        if (site_seen(&seen, json_str(f.v)))
            site_duplicate(st, &f);
    }
    map_release(&seen);
    site_enum(st, &policy, policies);
    check_stack(st, spec, obj);
    if (is_headless(obj)) {
        if (json_len(ips.v) > 1)
            site_invalid(st, &ips, "'None' must be the first and only value");
        return;
    }
    site_each(i, &ips)
    {
        site_ip(st, &i);
        if (site_ip_family(json_str(i.v)) == 6 &&
            str_is(json_str(json_at(kinds.v, i.index)), "IPv4"))
            site_fault(st, &i, CAUSE_INVALID,
                       "expected an IPv4 value as indicated by `ipFamilies[%zu]`", i.index);
    }
    if (json_len(ips.v) > 2)
        site_invalid(st, &ips, "may only hold up to 2 values");
}

/* k8s: nothing else of a service is looked at before these are right. */
static bool has_good_addresses(struct arena *a, const struct site *spec, const struct json *obj)
{
    struct status st;

    status_init(&st, a);
    if (!is_type(obj, "ExternalName"))
        check_addresses(&st, spec, obj);
    return st.ncauses == 0;
}

static void check_none(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ips = site_in(spec, "clusterIPs"), first = site_item(&ips, 0);

    if (!is_headless(obj))
        return;
    if (is_type(obj, "LoadBalancer"))
        site_invalid(st, &first, "may not be set to 'None' for LoadBalancer services");
    if (is_type(obj, "NodePort"))
        site_invalid(st, &first, "may not be set to 'None' for NodePort services");
}

static void check_class(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site class = site_in(spec, "loadBalancerClass");

    if (class.v && is_type(obj, "LoadBalancer"))
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
    struct site allocate = site_in(spec, "allocateLoadBalancerNodePorts");
    bool balanced = is_type(obj, "LoadBalancer");

    if (external.v && !is_external(obj))
        site_invalid(st, &external, "may only be set for externally-accessible services");
    else
        site_enum(st, &external, policies);
    site_enum(st, &internal, policies);
    site_enum(st, &wish, wishes);
    if (health.v && !needs_health_port(obj))
        site_invalid(st, &health,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
    site_port(st, &health);
    if (allocate.v && !balanced)
        site_forbidden(st, &allocate, "may only be used when `type` is 'LoadBalancer'");
    check_class(st, spec, obj);
}

/* k8s: ValidateLoadBalancerStatus */
static void check_ingress(struct status *st, const struct json *obj)
{
    static const char *const modes[] = { "Proxy", "VIP", NULL };
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site balancer = site_in(&status, "loadBalancer"), all = site_in(&balancer, "ingress");

    if (json_len(all.v) && !is_type(obj, "LoadBalancer")) {
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
            if (site_ip_family(json_str(host.v)))
                site_invalid(st, &host, "must be a DNS name, not an IP address");
        }
    }
}

static void check_sources(struct status *st, const struct site *spec, const struct json *obj)
{
    struct site ranges = site_in(spec, "loadBalancerSourceRanges");

    ranges.name = "LoadBalancerSourceRanges"; /* k8s: so it is called in messages */
    if (json_len(ranges.v) && !is_type(obj, "LoadBalancer"))
        site_forbidden(st, &ranges, "may only be used when `type` is 'LoadBalancer'");
    site_each(r, &ranges) network_check_range(st, &r);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                         NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site type = site_in(&spec, "type"), selector = site_in(&spec, "selector");
    struct site externals = site_in(&spec, "externalIPs");

    if (str_is(c->subresource, "status")) {
        check_ingress(st, obj);
        return;
    }
    if (!has_good_addresses(st->arena, &spec, obj)) {
        check_addresses(st, &spec, obj);
        return;
    }
    check_ports(st, &spec, obj);
    if (is_type(obj, "ExternalName"))
        check_external_name(st, &spec);
    check_none(st, &spec, obj);
    site_labels(st, &selector);
    check_affinity(st, &spec);
    site_each(ip, &externals) endpoint_check_ip(st, &ip);
    site_enum(st, &type, types);
    check_sources(st, &spec, obj);
    check_traffic(st, &spec, obj);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site ips = site_in(&spec, "clusterIPs"), first = site_item(&ips, 0);
    struct site class = site_in(&spec, "loadBalancerClass");
    struct site health = site_in(&spec, "healthCheckNodePort");
    const struct json *was = json_at(json_path(old, "spec.clusterIPs"), 0);

    if (c->subresource.n || !has_good_addresses(c->arena, &spec, obj))
        return;
    if (is_type(old, "LoadBalancer") && is_type(obj, "LoadBalancer") &&
        !check_same(class.v, json_path(old, "spec.loadBalancerClass")))
        site_invalid(st, &class, "may not change once set");
    check_class(st, &spec, obj); /* k8s: said twice */
    if (needs_health_port(old) && needs_health_port(obj) &&
        !check_same(health.v, json_path(old, "spec.healthCheckNodePort")))
        site_forbidden(st, &health, "field is immutable");
    if (is_type(old, "ExternalName") || is_type(obj, "ExternalName"))
        return;
    if (was && !check_same(first.v, was)) {
        first.v = ips.v; /* k8s: all of them are told */
        site_invalid(st, &first, "may not change once set");
    }
}

/* ---- cells ---- */

static str joined(struct arena *a, const struct json *list, str before)
{
    scoped_buf b = { .max = 1 << 20 };

    buf_str_append(&b, before);
    json_for_each (v, list)
        buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(json_str(v)));
    return str_dup(a, buf_str(&b));
}

static str balancer_text(struct arena *a, const struct json *obj)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (i, json_path(obj, "status.loadBalancer.ingress")) {
        str ip = json_get_str(i, "ip"), name = ip.n ? ip : json_get_str(i, "hostname");

        if (name.n)
            buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(name));
    }
    return str_dup(a, buf_str(&b));
}

static str external_text(struct arena *a, const struct json *obj)
{
    const struct json *ips = json_path(obj, "spec.externalIPs");
    str text;

    if (is_type(obj, "ExternalName"))
        return json_get_str(obj, "spec.externalName");
    if (!is_type(obj, "LoadBalancer"))
        return json_len(ips) ? joined(a, ips, STR_NONE) : STR("<none>");
    text = joined(a, ips, balancer_text(a, obj));
    return text.n ? text : STR("<pending>");
}

static str ports_text(struct arena *a, const struct json *obj)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (p, json_path(obj, "spec.ports")) {
        int64_t node = json_int(json_get(p, STR("nodePort")), 0);

        buf_printf(&b, "%s%lld", b.n ? "," : "", (long long)json_int(json_get(p, STR("port")), 0));
        if (node > 0)
            buf_printf(&b, ":%lld", (long long)node);
        buf_printf(&b, "/%.*s", STR_ARG(json_get_str(p, "protocol")));
    }
    return b.n ? str_dup(a, buf_str(&b)) : STR("<none>");
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    str ip = json_str(json_at(json_path(obj, "spec.clusterIPs"), 0));

    cell_str(out, obj, "metadata.name");
    cell_str(out, obj, "spec.type");
    cell_text(out, ip.n ? ip : STR("<none>"));
    cell_text(out, external_text(a, obj));
    cell_text(out, ports_text(a, obj));
    cell_age(out, obj, now_s);
    cell_text(out, cell_labels(a, json_path(obj, "spec.selector")));
}

const struct kind_ops service_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .warn = warn_service,
    .cells = cells,
};
