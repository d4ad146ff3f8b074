/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/service_check.h"
#include "kinds/k8s/workload.h"

/*
 * k8s: pkg/registry/core/service.  Addresses and node ports are handed out by the server
 * (apiserver/admission/admit_service.c), before anything here looks.
 */

enum { AFFINITY_SECONDS = 10800 };

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

/* k8s: defaultOnReadInternalTrafficPolicy: never shown, so a good one is not kept */
static const struct json *drop_internal(struct arena *a, const struct json *obj)
{
    str policy = json_get_str(obj, "spec.internalTrafficPolicy");

    return str_is(policy, "Cluster") || str_is(policy, "Local")
               ? json_set(a, obj, "spec.internalTrafficPolicy", NULL)
               : obj;
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    struct arena *a = c->arena;

    obj = default_affinity(a, default_ports(a, obj));
    if (service_is_external(obj))
        obj = put_word(a, obj, "spec.externalTrafficPolicy", "Cluster");
    if (service_is(obj, "ClusterIP") || service_is(obj, "NodePort") ||
        service_is(obj, "LoadBalancer"))
        obj = put_word(a, obj, "spec.internalTrafficPolicy", "Cluster");
    if (service_is(obj, "ExternalName"))
        obj = drop_internal(a, obj);
    if (!service_is(obj, "LoadBalancer"))
        return obj;
    obj = workload_put_missing(a, obj, "spec.allocateLoadBalancerNodePorts", json_of_bool(true));
    return default_ingress(a, obj);
}

/* An address of IPv6 stands where no family is told. */
static bool is_beyond(const struct json *obj)
{
    const struct json *ips = json_path(obj, "spec.clusterIPs");

    for (size_t i = json_len(json_path(obj, "spec.ipFamilies")); i < json_len(ips); i++)
        if (site_ip_family_loose(json_str(json_at(ips, i))) == 6)
            return true;
    return false;
}

/*
 * k8s: storage/alloc.go initIPFamilyFields, in a cluster of IPv4.  Whoever says where a headless
 * service leads to may do so in both families.
 */
static const struct json *with_families(struct arena *a, const struct json *obj)
{
    struct json_array families = json_array_new(a);
    const struct json *had = json_path(obj, "spec.ipFamilies");
    bool own = service_has_families_of_its_own(obj);

    obj = put_word(a, obj, "spec.ipFamilyPolicy", own ? "RequireDualStack" : "SingleStack");
    if (is_beyond(obj))
        return obj; /* k8s: to be refused for its addresses, not for what follows from them */
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
    return service_is(obj, "ExternalName") ? obj : with_families(a, obj);
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

    if (service_is(obj, "ExternalName") || service_is(old, "ExternalName"))
        return obj;
    /* Who changes the one means both. */
    if (json_get_str(obj, "spec.clusterIP").n &&
        !check_same(json_path(obj, kept[0]), json_path(old, kept[0])) &&
        (!json_len(json_path(obj, kept[1])) ||
         check_same(json_path(obj, kept[1]), json_path(old, kept[1]))))
        return json_set(a, obj, kept[1], NULL);
    for (size_t i = 0; i < GROUP_LEN(kept); i++) {
        const struct json *was = json_path(old, kept[i]), *now = json_path(obj, kept[i]);
        bool told = i == 2 ? now != NULL : json_str(now).n || json_len(now);

        if (was && !told)
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
    static const char *const of_balancers[] = { "spec.allocateLoadBalancerNodePorts",
                                                "spec.loadBalancerClass" };
    static const struct {
        const char *path;
        bool (*needs)(const struct json *obj);
    } others[] = {
        { "spec.externalTrafficPolicy", service_is_external },
        { "spec.healthCheckNodePort", service_needs_health_port },
    };

    for (size_t i = 0; service_is(obj, "ExternalName") && i < GROUP_LEN(addresses); i++)
        if (check_same(json_path(obj, addresses[i]), json_path(old, addresses[i])))
            obj = json_set(a, obj, addresses[i], NULL);
    for (size_t i = 0; i < GROUP_LEN(others); i++)
        if (others[i].needs(old) && !others[i].needs(obj) &&
            check_same(json_path(obj, others[i].path), json_path(old, others[i].path)))
            obj = json_set(a, obj, others[i].path, NULL);
    if (service_is(old, "LoadBalancer") && !service_is(obj, "LoadBalancer")) {
        for (size_t i = 0; i < GROUP_LEN(of_balancers); i++)
            if (check_same(json_path(obj, of_balancers[i]), json_path(old, of_balancers[i])))
                obj = json_set(a, obj, of_balancers[i], NULL);
    }
    return obj;
}

/* Node ports of a service that has none any more. */
static const struct json *drop_node_ports(struct arena *a, const struct json *obj,
                                          const struct json *old)
{
    struct json_array out = json_array_new(a);
    bool had = service_is(old, "NodePort") || service_is(old, "LoadBalancer");

    if (!had || service_is(obj, "NodePort") || service_is(obj, "LoadBalancer"))
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
    if (!service_is(obj, "LoadBalancer") && json_path(obj, "status.loadBalancer.ingress"))
        obj = json_set(a, obj, "status.loadBalancer.ingress", NULL);
    obj = drop_node_ports(a, drop_unused(a, keep_allocated(a, obj, old), old), old);
    return in_line(a, obj);
}

/* ---- rules ---- */

bool service_takes_addresses(struct arena *a, const struct json *obj, const struct json *old)
{
    struct status st;

    status_init(&st, a);
    return service_check_addresses(&st, in_line(a, old ? keep_allocated(a, obj, old) : obj));
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    if (str_is(c->subresource, "status"))
        service_check_ingress(st, obj);
    else if (c->create)
        service_check(st, obj, NULL);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    if (c->subresource.n == 0)
        service_check(st, obj, old);
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

    if (service_is(obj, "ExternalName"))
        return json_get_str(obj, "spec.externalName");
    if (!service_is(obj, "LoadBalancer"))
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
