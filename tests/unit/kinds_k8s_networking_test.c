/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

#define ROWS(f, frame, rows) fixture_rows(f, frame, rows, sizeof(rows) / sizeof(*(rows)))

TEST(ingresses)
{
    static const struct fixture_row rows[] = {
        { "'defaultBackend':{'service':{'name':'s','port':{'name':'http'}}}", "" },
        { "'rules':[{'host':'*.example.com'}]", "" },
        { "", "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified" },
        { "'rules':[{'host':'192.0.2.1'}]",
          "spec.rules[0].host: Invalid value: \"192.0.2.1\": must be a DNS name, not an IP "
          "address" },
        { "'defaultBackend':{}",
          "spec.defaultBackend: Invalid value: {}: resource or service backend is required" },
        { "'defaultBackend':{'service':{'name':'s','port':{'name':'h','number':1}}}",
          "spec.defaultBackend: Invalid value: "
          "{\"service\":{\"name\":\"s\",\"port\":{\"name\":\"h\",\"number\":1}}}: cannot set both "
          "port name & port number" },
        { "'rules':[{'http':{'paths':[{'path':'/a//b','pathType':'Exact','backend':{'service':"
          "{'name':'s','port':{'number':80}}}}]}}]",
          "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b\": must not contain '//'" },
    };
    struct fixture f = fixture_new("networking.k8s.io", "v1", "ingresses");

    ROWS(&f, "{'spec':{%s}}", rows);
    fixture_release(&f);
}

TEST(policies)
{
    static const struct fixture_row rows[] = {
        { "'ingress':[{'from':[{}]}]",
          "spec.ingress[0].from[0]: Required value: must specify a peer" },
        { "'ingress':[{'ports':[{'port':'http','endPort':9}]}]",
          "spec.ingress[0].ports[0].endPort: Invalid value: 9: may not be specified when `port` is "
          "non-numeric" },
        { "'ingress':[{'ports':[{'protocol':'ICMP'}]}]",
          "spec.ingress[0].ports[0].protocol: Unsupported value: \"ICMP\": supported values: "
          "\"TCP\", \"UDP\", \"SCTP\"" },
        { "'egress':[{'to':[{'ipBlock':{'cidr':'2001:db8::/64','except':['2001:db8::1/128']}}]}]",
          "" },
        { "'egress':[{'to':[{'ipBlock':{'cidr':'10.0.0.0/33'}}]}]",
          "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.0/33\": must be a valid CIDR "
          "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)" },
    };
    struct fixture f = fixture_new("networking.k8s.io", "v1", "networkpolicies");
    const struct json *obj =
        fixture_read(&f, fixture_quotes(&f, "{'spec':{'egress':[{'ports':[{'port':53}]}]}}"));

    ROWS(&f, "{'spec':{'podSelector':{},%s}}", rows);
    CHECK(json_len(json_path(obj, "spec.policyTypes")) == 2);
    fixture_release(&f);
}

TEST(addresses_and_ranges)
{
    static const struct fixture_row names[] = {
        { "192.0.2.1", "" },
        { "2001:db8::1", "" },
        { "192.0.2.01", "metadata.name: Invalid value: \"192.0.2.01\": must not have leading 0s" },
        { "2001:db8::0001",
          "metadata.name: Invalid value: \"2001:db8::0001\": must be in canonical form "
          "(\"2001:db8::1\")" },
        { "::ffff:1.2.3.4", "metadata.name: Invalid value: \"::ffff:1.2.3.4\": must not be an "
                            "IPv4-mapped IPv6 address" },
        { "x", "metadata.name: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
               "2001:db8::ffff)" },
    };
    static const struct fixture_row ranges[] = {
        { "'192.0.2.0/24','2001:db8::/64'", "" },
        { "", "spec.cidrs: Required value: at least one CIDR required" },
        { "'192.0.2.0/24','198.51.100.0/24'",
          "spec.cidrs: Invalid value: [\"192.0.2.0/24\",\"198.51.100.0/24\"]: may specify no more "
          "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64" },
    };
    struct fixture f = fixture_new("networking.k8s.io", "v1", "ipaddresses");
    struct fixture g = fixture_new("networking.k8s.io", "v1", "servicecidrs");

    ROWS(&f, "{'metadata':{'name':'%s'},'spec':{'parentRef':{'resource':'services','name':'s'}}}",
         names);
    ROWS(&g, "{'spec':{'cidrs':[%s]}}", ranges);
    fixture_release(&f);
    fixture_release(&g);
}

TEST(three_hosts_of_an_ingress_are_shown)
{
    struct fixture f = fixture_new("networking.k8s.io", "v1", "ingresses");

    CHECK_STR(fixture_cells(&f, fixture_quotes(&f, "{'metadata':{'name':'i'},'spec':{'rules':[{"
                                                   "'host':'a'},{'host':'b'},{'host':'c'}]}}")),
              "[\"i\",\"<none>\",\"a,b,c\",\"\",\"80\",\"<unknown>\"]");
    CHECK_STR(fixture_cells(&f, fixture_quotes(&f, "{'metadata':{'name':'i'},'spec':{'rules':[{"
                                                   "'host':'a'},{'host':'b'},{'host':'c'},{},{"
                                                   "'host':'d'}]}}")),
              "[\"i\",\"<none>\",\"a,b,c + 2 more...\",\"\",\"80\",\"<unknown>\"]");
    fixture_release(&f);
}
