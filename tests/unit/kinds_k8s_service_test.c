/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture services(void)
{
    return fixture_new("", "v1", "services");
}

/* As it would be stored. */
static const struct json *made(struct fixture *f, const char *text)
{
    return f->kind->ops->prepare_create(&f->c, fixture_read(f, fixture_quotes(f, text)));
}

TEST(services_are_completed)
{
    struct fixture f = services();

    CHECK_STR(fixture_print(&f, made(&f, "{'spec':{'clusterIP':'None','ports':[{'port':80}]}}")),
              "{\"metadata\":{},\"spec\":{\"clusterIP\":\"None\",\"clusterIPs\":[\"None\"],"
              "\"internalTrafficPolicy\":\"Cluster\",\"ipFamilies\":[\"IPv4\",\"IPv6\"],"
              "\"ipFamilyPolicy\":\"RequireDualStack\",\"ports\":[{\"port\":80,\"protocol\":"
              "\"TCP\",\"targetPort\":80}],"
              "\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"},\"status\":{\"loadBalancer\":"
              "{}}}");
    CHECK_STR(fixture_print(&f, made(&f, "{'spec':{'type':'ExternalName','externalName':'x.y'}}")),
              "{\"metadata\":{},\"spec\":{\"externalName\":\"x.y\",\"sessionAffinity\":\"None\","
              "\"type\":\"ExternalName\"},\"status\":{\"loadBalancer\":{}}}");
    CHECK_STR(fixture_print(&f, json_get(made(&f, "{'spec':{'type':'LoadBalancer',"
                                                  "'sessionAffinity':'ClientIP'}}"),
                                         STR("spec"))),
              "{\"allocateLoadBalancerNodePorts\":true,\"externalTrafficPolicy\":\"Cluster\","
              "\"internalTrafficPolicy\":\"Cluster\",\"ipFamilies\":[\"IPv4\"],"
              "\"ipFamilyPolicy\":\"SingleStack\",\"sessionAffinity\":\"ClientIP\","
              "\"sessionAffinityConfig\":{\"clientIP\":{\"timeoutSeconds\":10800}},\"type\":"
              "\"LoadBalancer\"}");
    fixture_release(&f);
}

TEST(addresses_of_balancers_are_their_own)
{
    struct fixture f = services();
    const struct json *read = fixture_read(
        &f, fixture_quotes(&f, "{'spec':{'type':'LoadBalancer'},'status':{'loadBalancer':{"
                               "'ingress':[{'ip':'192.0.2.1'},{'hostname':'x.y'},{'ip':"
                               "'192.0.2.2','ipMode':'Proxy'}]}}}"));

    CHECK_STR(fixture_print(&f, json_path(read, "status.loadBalancer.ingress")),
              "[{\"ip\":\"192.0.2.1\",\"ipMode\":\"VIP\"},{\"hostname\":\"x.y\"},"
              "{\"ip\":\"192.0.2.2\",\"ipMode\":\"Proxy\"}]");
    fixture_release(&f);
}

TEST(services_have_rules)
{
    static const struct fixture_row rows[] = {
        { "'ports':[{'port':80}]", "" },
        { "'ports':[]", "spec.ports: Required value" },
        { "'ports':[{'port':0}]",
          "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive; "
          "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive" },
        { "'ports':[{'port':80},{'port':81}]",
          "spec.ports[0].name: Required value; spec.ports[1].name: Required value" },
        { "'ports':[{'port':80,'name':'a'},{'port':80,'name':'a'}]",
          "spec.ports[1].name: Duplicate value: \"a\"; spec.ports[1]: Duplicate value: "
          "{\"port\":80,\"name\":\"a\",\"protocol\":\"TCP\",\"targetPort\":80}" },
        { "'ports':[{'port':80,'nodePort':30000}]",
          "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'" },
        { "'type':'Nope','ports':[{'port':80}]",
          "spec.type: Unsupported value: \"Nope\": supported values: \"ClusterIP\", "
          "\"ExternalName\", \"LoadBalancer\", \"NodePort\"" },
        { "'type':'ExternalName'", "spec.externalName: Required value" },
        { "'ports':[{'port':80}],'sessionAffinity':'Nope'",
          "spec.sessionAffinity: Unsupported value: \"Nope\": supported values: \"ClientIP\", "
          "\"None\"" },
        { "'ports':[{'port':80}],'externalTrafficPolicy':'Local'",
          "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for "
          "externally-accessible services" },
        { "'ports':[{'port':80}],'externalIPs':['127.0.0.1']",
          "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range "
          "(127.0.0.0/8, ::1/128)" },
        { "'ports':[{'port':80}],'clusterIP':'1.2.3.4','clusterIPs':['1.2.3.5']",
          "spec.clusterIPs: Invalid value: [\"1.2.3.5\"]: first value must match `clusterIP`" },
        { "'ports':[{'port':80}],'clusterIPs':['1.2.3.5']",
          "spec.clusterIPs: Invalid value: [\"1.2.3.5\"]: must be empty when `clusterIP` is not "
          "specified" },
        { "'type':'ExternalName','externalName':'a.b','clusterIPs':['10.96.0.9']",
          "spec.clusterIPs: Forbidden: may not be set for ExternalName services" },
        { "'ports':[{'port':80}],'ipFamilies':['IPv6']",
          "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster" },
        { "'ports':[{'port':80}],'ipFamilies':['IPv4','IPv6'],'clusterIP':'None',"
          "'clusterIPs':['None'],'ipFamilyPolicy':'RequireDualStack'",
          "" },
        { "'ports':[{'port':80}],'ipFamilies':['IPv4','IPv6'],'ipFamilyPolicy':"
          "'SingleStack'",
          "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
          "'PreferDualStack' when multiple IP families are specified" },
        { "'ports':[{'port':80}],'ipFamilyPolicy':'RequireDualStack'",
          "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not "
          "configured "
          "for dual-stack services" },
        { "'ports':[{'port':80}],'ipFamilyPolicy':'PreferDualStack'", "" },
        { "'ports':[{'port':80}],'clusterIP':'fd00::1','clusterIPs':['fd00::1'],"
          "'ipFamilies':['IPv4']",
          "spec.clusterIPs[0]: Invalid value: \"fd00::1\": expected an IPv4 value as indicated by "
          "`ipFamilies[0]`" },
        { "'ports':[{'port':80}],'loadBalancerSourceRanges':['10.0.0.0/8']",
          "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is "
          "'LoadBalancer'" },
        { "'type':'LoadBalancer','ports':[{'port':80}],'loadBalancerSourceRanges':[' 10.0.0.0/8 ',"
          "'x']",
          "spec.LoadBalancerSourceRanges[1]: Invalid value: \"x\": must be a valid CIDR value, "
          "(e.g. "
          "10.9.8.0/24 or 2001:db8::/64)" },
    };
    struct fixture f = services();

    CHECK(f.kind->name_rule == NAME_LABEL_1035);
    FIXTURE_ROWS(&f, "{'spec':{%s}}", rows);
    fixture_release(&f);
}

TEST(an_address_is_kept_and_does_not_change)
{
    struct fixture f = services();
    const struct json *old = made(&f, "{'spec':{'clusterIP':'10.96.1.1','ports':[{'port':80}]}}");
    const struct json *now = fixture_read(&f, "{\"spec\":{\"ports\":[{\"port\":81}]}}");

    now = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK_STR(str_z(f.c.arena, json_get_str(now, "spec.clusterIP")), "10.96.1.1");
    CHECK_STR(fixture_faults(&f, now, old), "");
    now = made(&f, "{'spec':{'clusterIP':'10.96.1.2','ports':[{'port':80}]}}");
    CHECK_STR(fixture_faults(&f, now, old),
              "spec.clusterIPs[0]: Invalid value: [\"10.96.1.2\"]: may not change once set");
    now = f.kind->ops->prepare_update(
        &f.c, json_set(f.c.arena, old, "spec.clusterIP", json_path(now, "spec.clusterIP")), old);
    CHECK_STR(fixture_faults(&f, now, old),
              "spec.clusterIPs[0]: Invalid value: [\"10.96.1.2\"]: may not change once set");
    fixture_release(&f);
}

TEST(what_a_type_does_not_know_goes)
{
    struct fixture f = services();
    const struct json *old = made(&f, "{'spec':{'type':'NodePort','clusterIP':'10.96.1.1','ports':"
                                      "[{'port':80,'nodePort':30001}]}}");
    struct json plain = json_of_str(STR("ClusterIP"));
    const struct json *now = json_set(f.c.arena, old, "spec.type", &plain);

    now = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK(!json_get(json_at(json_path(now, "spec.ports"), 0), STR("nodePort")));
    CHECK(!json_path(now, "spec.externalTrafficPolicy"));
    CHECK_STR(fixture_faults(&f, now, old), "");
    fixture_release(&f);
}

TEST(a_balancer_keeps_its_class_and_its_port)
{
    struct fixture f = services();
    const struct json *old =
        made(&f, "{'spec':{'type':'LoadBalancer','clusterIP':'10.96.1.1','loadBalancerClass':'a/b',"
                 "'externalTrafficPolicy':'Local','healthCheckNodePort':30001,'ports':[{'port':80}"
                 "]}}");
    const struct json *now =
        made(&f, "{'spec':{'type':'LoadBalancer','clusterIP':'10.96.1.1','loadBalancerClass':'a/c',"
                 "'externalTrafficPolicy':'Local','healthCheckNodePort':30002,'ports':[{'port':80}"
                 "]}}");

    CHECK_STR(fixture_faults(&f, now, old),
              "spec.loadBalancerClass: Invalid value: \"a/c\": may not change once set; "
              "spec.healthCheckNodePort: Forbidden: field is immutable");
    fixture_release(&f);
}

TEST(a_balancers_status_goes_with_it_and_has_rules)
{
    struct fixture f = services();
    const struct json *old =
        fixture_read(&f, fixture_quotes(&f, "{'spec':{'type':'LoadBalancer','ports':[{'port':80}]},"
                                            "'status':{'loadBalancer':{'ingress':[{'ip':'x'},"
                                            "{'hostname':'10.0.0.1','ipMode':'VIP'}]}}}"));
    struct json plain = json_of_str(STR("ClusterIP"));
    const struct json *now = json_set(f.c.arena, old, "spec.type", &plain);

    now = f.kind->ops->prepare_update(&f.c, now, old);
    CHECK_STR(fixture_print(&f, json_get(now, STR("status"))), "{\"loadBalancer\":{}}");
    f.c.subresource = STR("status");
    CHECK_STR(
        fixture_faults(&f, old, old),
        "status.loadBalancer.ingress[0].ip: Invalid value: \"x\": must be a valid IP address, "
        "(e.g. 10.9.8.7 or 2001:db8::ffff); status.loadBalancer.ingress[1].ipMode: Forbidden: "
        "may not be specified when `ip` is not set; status.loadBalancer.ingress[1].hostname: "
        "Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address");
    now = json_set(f.c.arena, old, "spec.type", &plain);
    CHECK_STR(fixture_faults(&f, now, old),
              "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is "
              "'LoadBalancer'");
    fixture_release(&f);
}

TEST(cells)
{
    struct fixture f = services();

    CHECK_STR(fixture_cells(
                  &f, fixture_quotes(&f, "{'metadata':{'name':'s','creationTimestamp':"
                                         "'2020-01-02T03:04:00Z'},'spec':{'type':'LoadBalancer',"
                                         "'clusterIPs':['10.96.1.1'],'selector':{'a':'b'},'ports':"
                                         "[{'port':80,'nodePort':30001},{'port':53,'protocol':"
                                         "'UDP'}]},'status':{'loadBalancer':{'ingress':[{'ip':"
                                         "'9.9.9.9'}]}}}")),
              "[\"s\",\"LoadBalancer\",\"10.96.1.1\",\"9.9.9.9\",\"80:30001/TCP,53/UDP\",\"5s\","
              "\"a=b\"]");
    fixture_release(&f);
}
