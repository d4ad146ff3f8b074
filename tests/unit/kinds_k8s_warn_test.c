/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds_fixture.h"

/* k8s: the tests beside pkg/api/pod/warnings.go and its neighbours have the same sentences */

/* All of them, one a line; `old` may be NULL. */
static const char *warnings(struct fixture *f, const char *text, const char *old)
{
    struct arena *a = f->c.arena;
    struct schema_faults w = { 0 };
    const char *all = "";

    f->kind->ops->warn(&f->c, fixture_read(f, fixture_quotes(f, text)),
                       old ? fixture_read(f, fixture_quotes(f, old)) : NULL, &w);
    for (size_t i = 0; i < w.n; i++)
        all = arena_printf(a, "%s%s%.*s", all, i ? "\n" : "", STR_ARG(w.texts[i]));
    return all;
}

#define POD(rest) \
    "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i'}]" rest "}}"
#define ONE(rest) \
    "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i'" rest "}]}}"

TEST(pods_are_warned_of_what_does_nothing)
{
    static const struct fixture_row rows[] = {
        { POD(""), "" },
        { POD(",'nodeSelector':{'beta.kubernetes.io/os':'linux'}"),
          "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
          "\"kubernetes.io/os\" instead" },
        { POD(",'imagePullSecrets':[{'name':'s'},{'name':'s'},{}]"),
          "spec.imagePullSecrets[1].name: duplicate name \"s\"\n"
          "spec.imagePullSecrets[2].name: invalid empty name \"\"" },
        { POD(",'hostAliases':[{'ip':'1.2.3.4'},{'ip':'1.2.3.4'},{'ip':'01.2.3.4'}]"),
          "spec.hostAliases[1].ip: duplicate ip \"1.2.3.4\"\n"
          "spec.hostAliases[2].ip: non-standard IP address \"01.2.3.4\" will be considered invalid "
          "in a future Kubernetes release: use \"1.2.3.4\"" },
        { POD(",'volumes':[{'name':'v','gitRepo':{'repository':'r'}},"
              "{'name':'w','storageos':{}}]"),
          "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+\n"
          "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+" },
        { POD(",'topologySpreadConstraints':[{'topologyKey':'beta.kubernetes.io/arch'}]"),
          "spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/arch is deprecated "
          "since v1.14; use \"kubernetes.io/arch\" instead\n"
          "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in "
          "matching no pod" },
        { ONE(",'resources':{'limits':{'memory':'1500m'},'requests':{'memory':'1'}}"),
          "spec.containers[0].resources.limits[memory]: fractional byte value \"1500m\" is "
          "invalid, must be an integer" },
        { ONE(",'env':[{'name':'A','value':'1'},{'name':'A','value':'$(A)2'},{'name':'A'}]"),
          "spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped "
          "when using apply" },
        { "{'metadata':{'name':'a.b','annotations':{'security.alpha.kubernetes.io/sysctls':'x'}},"
          "'spec':{'containers':[{'name':'a','image':'i'}]}}",
          "metadata.name: this is used in the Pod's hostname, which can result in surprising "
          "behavior; a DNS label is recommended: [must not contain dots]\n"
          "metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; "
          "use the \"sysctls\" field instead" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(warnings(&f, rows[i].manifest, NULL), rows[i].faults);
    CHECK_STR(warnings(&f, POD(",'imagePullSecrets':[{}]"), POD("")), "");
    fixture_release(&f);
}

TEST(ports_and_files_that_hide_one_another)
{
    static const struct fixture_row rows[] = {
        { ONE(",'ports':[{'containerPort':80,'protocol':'TCP'},{'containerPort':80,'protocol':"
              "'TCP'},{'containerPort':80,'protocol':'TCP','hostPort':8}]"),
          "spec.containers[0].ports[1]: duplicate port definition with "
          "spec.containers[0].ports[0]\n"
          "spec.containers[0].ports[2]: overlapping port definition with "
          "spec.containers[0].ports[0]\n"
          "spec.containers[0].ports[2]: overlapping port definition with "
          "spec.containers[0].ports[1]" },
        { ONE(",'ports':[{'containerPort':80,'protocol':'TCP','hostPort':8,'hostIP':'1.1.1.1'},"
              "{'containerPort':80,'protocol':'TCP','hostPort':8}]"),
          "spec.containers[0].ports[1]: dangerously ambiguous port definition with "
          "spec.containers[0].ports[0]" },
        { ONE(",'ports':[{'containerPort':80,'protocol':'TCP','name':'n','hostIP':'1.1.1.1'}]"),
          "spec.containers[0].ports[0]: hostIP set without hostPort: {Name:n HostPort:0 "
          "ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}" },
        { POD(",'initContainers':[{'name':'b','ports':[{'containerPort':1,'name':'n'}]},"
              "{'name':'c','ports':[{'containerPort':2,'name':'n'}]}]"),
          "spec.initContainers[1].ports[0]: duplicate port name \"n\" with "
          "spec.initContainers[0].ports[0], services and probes that select ports by name will "
          "use spec.initContainers[0].ports[0]" },
        { POD(",'volumes':[{'name':'v','configMap':{'name':'m','items':[{'key':'a','path':'x/'},"
              "{'key':'b','path':'x/y'},{'key':'c','path':'xy'}]}}]"),
          "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"x/y\" with \"x\"" },
        { POD(",'volumes':[{'name':'v','projected':{'sources':[{'secret':{'name':'s','items':[{"
              "'key':'a','path':'t'}]}},{'serviceAccountToken':{'path':'t'}},{}]}}]"),
          "volume \"v\" (Projected): overlapping paths: \"t\" (ServiceAccountToken) with \"t\" "
          "(Secret \"s\")\n"
          "volume \"v\" (Projected) has no sources provided" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(warnings(&f, rows[i].manifest, NULL), rows[i].faults);
    fixture_release(&f);
}

/* A body full of ports of one number costs no more than a few comparisons of each. */
TEST(there_is_an_end_of_comparing)
{
    struct fixture f = fixture_new("", "v1", "pods");
    struct schema_faults w = { 0 };
    struct json_array ports = json_array_new(f.c.arena), list = json_array_new(f.c.arena);
    struct json_object pod = json_object_new(f.c.arena), spec = json_object_new(f.c.arena);
    struct json_object container = json_object_new(f.c.arena);

    for (int64_t i = 0; i < 50000; i++) {
        struct json_object p = json_object_new(f.c.arena);

        json_add(&p, STR("containerPort"), json_of_int(80));
        json_add(&p, STR("hostPort"), json_of_int(i + 1));
        json_push(&ports, json_object_value(&p));
    }
    json_add(&container, STR("ports"), *json_array_done(&ports));
    json_push(&list, json_object_value(&container));
    json_add(&spec, STR("containers"), *json_array_done(&list));
    json_add(&pod, STR("spec"), json_object_value(&spec));
    f.kind->ops->warn(&f.c, json_object_done(&pod), json_object_done(&pod), &w);
    CHECK(w.n == 0);
    f.kind->ops->warn(&f.c, json_object_done(&pod), NULL, &w);
    CHECK(w.n == 1); /* it has no name */
    fixture_release(&f);
}

#define TEMPLATE(rest) "'template':{'spec':{" rest "}}"

TEST(templates_have_longer_paths)
{
    struct fixture f = fixture_new("apps", "v1", "deployments");
    const char *text = "{'metadata':{'name':'d'},'spec':{'replicas':1," TEMPLATE(
        "'terminationGracePeriodSeconds':-1") "}}";
    const char *said = "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative "
                       "values are invalid and will be treated as 1";

    CHECK_STR(warnings(&f, text, NULL), said);
    CHECK_STR(warnings(&f, text, text), "");
    CHECK_STR(warnings(&f, text, "{'spec':{'replicas':2}}"), said);
    f.c.subresource = STR("status");
    CHECK_STR(warnings(&f, text, "{'spec':{'replicas':2}}"), "");
    fixture_release(&f);

    f = fixture_new("batch", "v1", "cronjobs");
    CHECK_STR(warnings(&f,
                       "{'metadata':{'name':'A'},'spec':{'jobTemplate':{'spec':{" TEMPLATE(
                           "'terminationGracePeriodSeconds':-1") "}}}}",
                       NULL),
              "metadata.name: this is used in Pod names and hostnames, which can result in "
              "surprising behavior; a DNS label is recommended: [a lowercase RFC 1123 label must "
              "consist of lower case alphanumeric characters or '-', and must start and end with "
              "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
              "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')]\n"
              "spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds: must be >= 0; "
              "negative values are invalid and will be treated as 1");
    fixture_release(&f);
}

TEST(addresses_and_ranges)
{
    static const struct fixture_row rows[] = {
        { "'externalIPs':['1.2.3.4','2001:DB8::1','::ffff:1.2.3.4','2001:db8:0:0:1:0:0:1']",
          "spec.externalIPs[1]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical "
          "format (\"2001:db8::1\")\n"
          "spec.externalIPs[2]: non-standard IP address \"::ffff:1.2.3.4\" will be considered "
          "invalid in a future Kubernetes release: use \"1.2.3.4\"\n"
          "spec.externalIPs[3]: IPv6 address \"2001:db8:0:0:1:0:0:1\" should be in RFC 5952 "
          "canonical format (\"2001:db8::1:0:0:1\")" },
        { "'loadBalancerSourceRanges':['10.0.0.0/8','10.0.0.1/8','010.0.0.0/8','2001:DB8::/32']",
          "spec.loadBalancerSourceRanges[1]: CIDR value \"10.0.0.1/8\" is ambiguous in this "
          "context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)\n"
          "spec.loadBalancerSourceRanges[2]: non-standard CIDR value \"010.0.0.0/8\" will be "
          "considered invalid in a future Kubernetes release: use \"10.0.0.0/8\"\n"
          "spec.loadBalancerSourceRanges[3]: IPv6 CIDR value \"2001:DB8::/32\" should be in RFC "
          "5952 canonical format (\"2001:db8::/32\")" },
        { "'type':'ClusterIP','clusterIP':'None','externalIPs':['1.2.3.4'],"
          "'sessionAffinity':'ClientIP'",
          "spec.externalIPs is ignored for headless services\n"
          "spec.SessionAffinity is ignored for headless services" },
    };
    struct fixture f = fixture_new("", "v1", "services");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(warnings(&f, arena_printf(f.c.arena, "{'spec':{%s}}", rows[i].manifest), NULL),
                  rows[i].faults);
    fixture_release(&f);
}

TEST(the_other_kinds)
{
    static const struct {
        const char *group, *version, *plural, *text, *said;
    } rows[] = {
        { "", "v1", "nodes", "{'spec':{'externalID':'x'}}",
          "spec.externalID: this field is deprecated, and is unused by Kubernetes" },
        { "", "v1", "persistentvolumes",
          "{'spec':{'persistentVolumeReclaimPolicy':'Recycle','rbd':{}}}",
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
          "the recommended approach is to use dynamic provisioning.\n"
          "spec.rbd: deprecated in v1.28, non-functional in v1.31+" },
        { "", "v1", "persistentvolumeclaims",
          "{'spec':{'resources':{'requests':{'storage':'1m'}}}}",
          "spec.resources.requests[storage]: fractional byte value \"1m\" is invalid, must be an "
          "integer" },
        { "", "v1", "resourcequotas", "{'spec':{'hard':{'cpu':'2','limits.cpu':'1'}}}",
          "ResourceQuota cpu (2) should be less than limits.cpu (1)" },
        { "apps", "v1", "statefulsets", "{'spec':{'revisionHistoryLimit':-1}}",
          "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value "
          ">= 0 is recommended" },
        { "storage.k8s.io", "v1", "csidrivers", "{'spec':{'tokenRequests':[{'audience':'a'}]}}",
          "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to "
          "true to prevent possible logging of tokens in volume attributes" },
        { "discovery.k8s.io", "v1", "endpointslices", "{'addressType':'FQDN'}",
          "spec.addressType: FQDN endpoints are deprecated" },
        { "networking.k8s.io", "v1", "ingresses",
          "{'metadata':{'annotations':{'kubernetes.io/ingress.class':'x'}}}",
          "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
          "'spec.ingressClassName' instead" },
        { "networking.k8s.io", "v1", "networkpolicies",
          "{'spec':{'egress':[{'to':[{'ipBlock':{'cidr':'10.0.0.0/8','except':['10.0.0.1/24']}}]}]"
          "}}",
          "spec.egress[0].to[0].ipBlock.except[0]: CIDR value \"10.0.0.1/24\" is ambiguous in this "
          "context (should be \"10.0.0.0/24\" or \"10.0.0.1/32\"?)" },
        { "node.k8s.io", "v1", "runtimeclasses",
          "{'scheduling':{'nodeSelector':{'node-role.kubernetes.io/master':''}}}",
          "scheduling.nodeSelector: use \"node-role.kubernetes.io/control-plane\" instead" },
        { "resource.k8s.io", "v1", "resourceslices", "{'spec':{'driver':'A.b'}}",
          "spec.driver: driver names should be lowercase; \"A.b\" contains uppercase characters" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture f = fixture_new(rows[i].group, rows[i].version, rows[i].plural);

        CHECK_STR(warnings(&f, rows[i].text, NULL), rows[i].said);
        fixture_release(&f);
    }
}
