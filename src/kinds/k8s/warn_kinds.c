/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "object/meta/quantity.h"

/* k8s: WarningsOnCreate and WarningsOnUpdate of pkg/registry; /status has few of its own. */

#define ROWS(array) (array), sizeof(array) / sizeof(*(array))
#define WARNER                        \
    {                                 \
        .arena = c->arena, .out = out \
    }

static bool is_status(const struct kind_context *c)
{
    return str_is(c->subresource, "status");
}

/* ---- what makes pods ---- */

static void warn_label(const struct warner *w, const struct json *obj, const char *where)
{
    str faults[NAME_FAULTS], text = STR_NONE;
    size_t n = name_faults(NAME_LABEL, json_get_str(obj, "metadata.name"), faults);

    for (size_t i = 0; i < n; i++)
        text = str_printf(w->arena, "%.*s%s%.*s", STR_ARG(text), i ? " " : "", STR_ARG(faults[i]));
    if (n)
        schema_fault(w->arena, w->out,
                     "metadata.name: this is used in %s, which can result in surprising behavior; "
                     "a DNS label is recommended: [%.*s]",
                     where, STR_ARG(text));
}

static const char in_names[] = "Pod names and hostnames";

WARN_OF(pod)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site pods = site_in(&status, "podIPs"), hosts = site_in(&status, "hostIPs");

    if (is_status(c)) {
        warn_ips(&w, &pods, "ip");
        warn_ips(&w, &hosts, "ip");
    }
    if (old)
        return; /* programs write pods, and often */
    warn_label(&w, obj, "the Pod's hostname");
    podspec_warn(&w, &root);
}

/* The template of an object whose spec is new: what was warned of is not warned of again. */
static void warn_template(const struct warner *w, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site template = site_in(&spec, "template");

    if (!old || !check_same(spec.v, json_get(old, STR("spec"))))
        podspec_warn(w, &template);
}

WARN_OF(podtemplate)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), template = site_in(&root, "template");

    if (!old || !check_same(template.v, json_get(old, STR("template"))))
        podspec_warn(&w, &template);
}

WARN_OF(replicaset)
{
    struct warner w = WARNER;

    if (is_status(c))
        return;
    if (!old)
        warn_label(&w, obj, in_names);
    warn_template(&w, obj, old);
}

WARN_OF(deployment)
{
    const struct json *annotations = json_path(obj, "metadata.annotations");

    /* k8s: annotations count, too: controllers read them */
    if (old && !is_status(c) && !check_same(annotations, json_path(old, "metadata.annotations"))) {
        struct warner w = WARNER;

        warn_template(&w, obj, NULL);
        return;
    }
    warn_replicaset(c, obj, old, out);
}

/* k8s: rcStrategy.WarningsOnUpdate looks at the template that was. */
WARN_OF(replicationcontroller)
{
    struct warner w = WARNER;

    if (old && !is_status(c))
        warn_template(&w, old, obj);
    else
        warn_replicaset(c, obj, old, out);
}

WARN_OF(daemonset)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site template = site_in(&spec, "template");

    if (!is_status(c) && (!old || !check_same(template.v, json_path(old, "spec.template"))))
        podspec_warn(&w, &template);
}

WARN_OF(statefulset)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site limit = site_in(&spec, "revisionHistoryLimit");
    struct site claims = site_in(&spec, "volumeClaimTemplates");

    if (is_status(c))
        return;
    warn_template(&w, obj, old);
    site_each(claim, &claims)
    {
        struct site shown = old ? site_in(&claim, "Spec") : claim; /* k8s: so it stands there */

        shown.v = json_get(claim.v, STR("spec"));
        warn_claim(&w, &shown);
    }
    if (json_int(limit.v, 0) < 0)
        warn_at(&w, &limit,
                "a negative value retains all historical revisions; a value >= 0 is recommended");
}

static void warn_job_spec(const struct warner *w, const struct site *spec)
{
    enum { MANY = 100000, MANY_AT_ONCE = 10000 };
    struct site template = site_in(spec, "template");

    if (str_is(site_str(spec, "completionMode"), "Indexed") &&
        json_int(json_get(spec->v, STR("completions")), 0) > MANY &&
        json_int(json_get(spec->v, STR("parallelism")), 0) > MANY_AT_ONCE)
        warn_at(w, spec,
                "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
                "higher than 10^4, Kubernetes might not be able to track completedIndexes when a "
                "big number of indexes fail");
    podspec_warn(w, &template);
}

WARN_OF(job)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    if (is_status(c))
        return;
    if (!old)
        warn_label(&w, obj, in_names);
    if (!old || !check_same(spec.v, json_get(old, STR("spec"))))
        warn_job_spec(&w, &spec);
}

WARN_OF(cronjob)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site template = site_in(&spec, "jobTemplate"), job = site_in(&template, "spec");

    if (is_status(c))
        return;
    if (!old)
        warn_label(&w, obj, in_names);
    if (!old || !check_same(spec.v, json_get(old, STR("spec"))))
        warn_job_spec(&w, &job);
    if (old && str_contains(site_str(&spec, "schedule"), STR("TZ")))
        schema_fault(w.arena, w.out,
                     "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                     "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for "
                     "more details");
}

/* ---- networks ---- */

static void warn_ingress_ips(const struct warner *w, const struct json *obj)
{
    struct site root = site_root(obj), status = site_in(&root, "status");
    struct site balancer = site_in(&status, "loadBalancer"), all = site_in(&balancer, "ingress");

    site_each(one, &all)
    {
        struct site shown = one; /* k8s: of the item, not of its field */

        shown.v = json_get(one.v, STR("ip"));
        warn_ip(w, &shown);
    }
}

static void warn_headless(const struct warner *w, const struct site *spec)
{
    if (!str_is(site_str(spec, "type"), "ClusterIP") ||
        !str_is(site_str(spec, "clusterIP"), "None"))
        return;
    if (site_str(spec, "loadBalancerIP").n)
        schema_fault(w->arena, w->out, "spec.loadBalancerIP is ignored for headless services");
    if (json_len(json_get(spec->v, STR("externalIPs"))))
        schema_fault(w->arena, w->out, "spec.externalIPs is ignored for headless services");
    if (!str_is(site_str(spec, "sessionAffinity"), "None"))
        schema_fault(w->arena, w->out, "spec.SessionAffinity is ignored for headless services");
}

static void warn_service_type(const struct warner *w, const struct site *spec)
{
    bool alias = str_is(site_str(spec, "type"), "ExternalName");

    if (alias && json_len(json_get(spec->v, STR("externalIPs"))))
        schema_fault(w->arena, w->out,
                     "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    if (!alias && site_str(spec, "externalName").n)
        schema_fault(w->arena, w->out,
                     "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (str_is(site_str(spec, "trafficDistribution"), "PreferClose"))
        schema_fault(w->arena, w->out,
                     "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
                     "\"PreferSameZone\"");
}

WARN_OF(service)
{
    static const char hints[] = "service.kubernetes.io/topology-aware-hints";
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site cluster = site_in(&spec, "clusterIPs"), external = site_in(&spec, "externalIPs");
    struct site balancer = site_in(&spec, "loadBalancerIP");
    struct site ranges = site_in(&spec, "loadBalancerSourceRanges");

    (void)old;
    if (is_status(c)) {
        warn_ingress_ips(&w, obj);
        return;
    }
    if (json_get(json_path(obj, "metadata.annotations"), str_of(hints)))
        schema_fault(w.arena, w.out,
                     "annotation %s is deprecated, please use service.kubernetes.io/topology-mode "
                     "instead",
                     hints);
    warn_ips(&w, &cluster, NULL); /* "None" is no address */
    warn_headless(&w, &spec);
    warn_ips(&w, &external, NULL);
    warn_ip(&w, &balancer);
    site_each(range, &ranges) warn_range(&w, &range);
    warn_service_type(&w, &spec);
}

WARN_OF(ingress)
{
    static const char class[] = "kubernetes.io/ingress.class";
    struct warner w = WARNER;

    if (is_status(c))
        warn_ingress_ips(&w, obj);
    else if (!old && json_get(json_path(obj, "metadata.annotations"), str_of(class)) &&
             !json_path(obj, "spec.ingressClassName"))
        schema_fault(w.arena, w.out,
                     "annotation \"%s\" is deprecated, please use 'spec.ingressClassName' instead",
                     class);
}

static void warn_peers(const struct warner *w, const struct site *spec, const char *rules,
                       const char *peers)
{
    struct site all = site_in(spec, rules);

    site_each(rule, &all)
    {
        struct site list = site_in(&rule, peers);

        site_each(peer, &list)
        {
            struct site block = site_in(&peer, "ipBlock"), range = site_in(&block, "cidr");
            struct site except = site_in(&block, "except");

            warn_range(w, &range);
            site_each(one, &except) warn_range(w, &one);
        }
    }
}

WARN_OF(networkpolicy)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    (void)old;
    warn_peers(&w, &spec, "ingress", "from");
    warn_peers(&w, &spec, "egress", "to");
}

WARN_OF(endpoints)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), subsets = site_in(&root, "subsets");
    const struct json *labels = json_path(obj, "metadata.labels");

    (void)old;
    if (str_is(json_str(json_get(labels, STR("endpoints.kubernetes.io/managed-by"))),
               "endpoint-controller"))
        return;
    site_each(subset, &subsets)
    {
        struct site ready = site_in(&subset, "addresses");
        struct site others = site_in(&subset, "notReadyAddresses");

        warn_ips(&w, &ready, "ip");
        warn_ips(&w, &others, "ip");
    }
}

WARN_OF(endpointslice)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), all = site_in(&root, "endpoints");
    const struct json *labels = json_path(obj, "metadata.labels");
    str by = json_str(json_get(labels, STR("endpointslice.kubernetes.io/managed-by")));

    if (!old && str_is(json_get_str(obj, "addressType"), "FQDN"))
        schema_fault(w.arena, w.out, "spec.addressType: FQDN endpoints are deprecated");
    if (str_is(by, "endpointslice-controller.k8s.io") ||
        str_is(by, "endpointslicemirroring-controller.k8s.io"))
        return;
    site_each(endpoint, &all)
    {
        struct site list = site_in(&endpoint, "addresses");

        warn_ips(&w, &list, NULL);
    }
}

/* ---- nodes and volumes ---- */

WARN_OF(node)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site ranges = site_in(&spec, "podCIDRs");

    (void)old;
    if (is_status(c))
        return;
    if (site_has(&spec, "configSource"))
        schema_fault(w.arena, w.out, "spec.configSource: the feature is removed");
    if (site_str(&spec, "externalID").n)
        schema_fault(w.arena, w.out,
                     "spec.externalID: this field is deprecated, and is unused by Kubernetes");
    site_each(range, &ranges) warn_range(&w, &range);
}

static const struct warn_row volume_annotations[] = {
    WARN_ROW("volume.beta.kubernetes.io/storage-class",
             "deprecated since v1.8; use \"storageClassName\" attribute instead"),
    WARN_ROW("volume.beta.kubernetes.io/mount-options",
             "deprecated since v1.31; use \"mountOptions\" attribute instead"),
};
static const struct warn_row old_sources[] = {
    WARN_ROW("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    WARN_ROW("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    WARN_ROW("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    { "storageos", "deprecated in v1.22, non-functional in v1.25+", "storageOS" },
    WARN_ROW("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    WARN_ROW("rbd", "deprecated in v1.28, non-functional in v1.31+"),
};

WARN_OF(volume)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site policy = site_in(&spec, "persistentVolumeReclaimPolicy");
    struct site affinity = site_in(&spec, "nodeAffinity"), must = site_in(&affinity, "required");
    struct site terms = site_in(&must, "nodeSelectorTerms");

    (void)old;
    if (is_status(c))
        return;
    warn_annotations(&w, &root, ROWS(volume_annotations));
    if (str_is(json_str(policy.v), "Recycle"))
        warn_at(&w, &policy,
                "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to "
                "use dynamic provisioning.");
    site_each(term, &terms) warn_node_term(&w, &term, false);
    warn_members(&w, &spec, ROWS(old_sources));
}

WARN_OF(volumeclaim)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), spec = site_in(&root, "spec");

    (void)old;
    if (is_status(c))
        return;
    warn_annotations(&w, &root, volume_annotations, 1);
    warn_claim(&w, &spec);
}

WARN_OF(storageclass)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), all = site_in(&root, "allowedTopologies");

    (void)old;
    site_each(topology, &all)
    {
        struct site terms = site_in(&topology, "matchLabelExpressions");

        site_each(term, &terms)
        {
            struct site key = site_in(&term, "key");

            if (warn_node_label(json_str(key.v)))
                warn_at(&w, &key, "%s", warn_node_label(json_str(key.v)));
        }
    }
}

WARN_OF(capacity)
{
    struct warner w = WARNER;
    struct site root = site_root(obj), topology = site_in(&root, "nodeTopology");

    (void)old;
    warn_node_term(&w, &topology, false);
    json_for_each_member (m, json_get(topology.v, STR("matchLabels")))
        if (warn_node_label(m->name))
            schema_fault(w.arena, w.out, "nodeTopology.matchLabels.%.*s: %s", STR_ARG(m->name),
                         warn_node_label(m->name));
}

WARN_OF(csidriver)
{
    const struct json *tokens = json_path(obj, "spec.tokenRequests");

    if (json_len(tokens) && !json_path(obj, "spec.serviceAccountTokenInSecrets") &&
        (!old || !check_same(tokens, json_path(old, "spec.tokenRequests"))))
        schema_fault(c->arena, out,
                     "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
                     "set to true to prevent possible logging of tokens in volume attributes");
}

/* ---- others ---- */

WARN_OF(runtimeclass)
{
    (void)old;
    json_for_each_member (m, json_path(obj, "scheduling.nodeSelector"))
        if (warn_node_label(m->name))
            schema_fault(c->arena, out, "scheduling.nodeSelector: %s", warn_node_label(m->name));
}

WARN_OF(resourceslice)
{
    str driver = json_get_str(obj, "spec.driver");

    (void)old;
    for (size_t i = 0; i < driver.n; i++)
        if (driver.p[i] >= 'A' && driver.p[i] <= 'Z') {
            schema_fault(c->arena, out,
                         "spec.driver: driver names should be lowercase; %.*s contains uppercase "
                         "characters",
                         STR_ARG(check_quote(c->arena, driver)));
            return;
        }
}

/* The one of the two ways to say a request that is there. */
static const struct json *request_of(struct arena *a, const struct json *hard, const char *name,
                                     bool bare, str *key)
{
    const struct json *v;

    *key = str_printf(a, "requests.%s", name);
    v = json_get(hard, *key);
    if (v || !bare)
        return v;
    *key = str_of(name);
    return json_get(hard, *key);
}

WARN_OF(quota)
{
    static const char *const names[] = { "cpu", "memory", "storage", "ephemeral-storage" };
    const struct json *hard = json_path(obj, "spec.hard");

    for (size_t i = 0; !old && i < sizeof(names) / sizeof(*names); i++) {
        str key, most = str_printf(c->arena, "limits.%s", names[i]);
        const struct json *request = request_of(c->arena, hard, names[i], i < 2, &key);
        const struct json *limit = json_get(hard, most);
        struct quantity a, b;

        if (quantity_parse(json_str(request), &a) && quantity_parse(json_str(limit), &b) &&
            quantity_cmp(&a, &b) > 0)
            schema_fault(c->arena, out, "ResourceQuota %.*s (%.*s) should be less than %.*s (%.*s)",
                         STR_ARG(key), STR_ARG(json_str(request)), STR_ARG(most),
                         STR_ARG(json_str(limit)));
    }
}
