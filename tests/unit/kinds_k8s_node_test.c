/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

TEST(what_a_node_has_is_what_pods_can_have)
{
    struct fixture f = fixture_new("", "v1", "nodes");
    const struct json *node = fixture_read(&f, "{\"status\":{\"capacity\":{\"cpu\":\"4\"}}}");

    CHECK_STR(fixture_print(&f, json_path(node, "status.allocatable")), "{\"cpu\":\"4\"}");
    fixture_release(&f);
}

TEST(ranges_of_pods)
{
    static const struct fixture_row rows[] = {
        { "'podCIDR':'10.0.0.0/24'", "" },
        { "'podCIDR':'x'",
          "spec.podCIDRs[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. "
          "10.9.8.0/24 or 2001:db8::/64)" },
    };
    struct fixture f = fixture_new("", "v1", "nodes");
    const struct json *node = fixture_read(&f, "{\"spec\":{\"podCIDR\":\"10.0.0.0/24\"}}");

    CHECK_STR(fixture_print(&f, json_path(node, "spec.podCIDRs")), "[\"10.0.0.0/24\"]");
    node = fixture_read(&f, "{\"spec\":{\"podCIDRs\":[\"10.0.1.0/24\"]}}");
    CHECK_STR(fixture_print(&f, json_path(node, "spec.podCIDR")), "\"10.0.1.0/24\"");
    FIXTURE_ROWS(&f, "{'spec':{%s}}", rows);
    fixture_release(&f);
}

TEST(taints)
{
    static const struct fixture_row rows[] = {
        { "{'key':'a','effect':'NoSchedule'},{'key':'a','effect':'NoExecute'}", "" },
        { "{'key':'a'}", "metadata.taints[0].effect: Required value" },
        { "{'key':'a','effect':'Nope'}",
          "metadata.taints[0].effect: Unsupported value: \"Nope\": supported values: "
          "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"" },
        { "{'key':'a','effect':'NoSchedule'},{'key':'a','effect':'NoSchedule'}",
          "metadata.taints[1]: Duplicate value: {\"key\":\"a\",\"effect\":\"NoSchedule\"}: taints "
          "must be unique by key and effect pair" },
    };
    struct fixture f = fixture_new("", "v1", "nodes");

    FIXTURE_ROWS(&f, "{'spec':{'taints':[%s]}}", rows);
    CHECK_STR(fixture_update_faults(&f, "{'spec':{'podCIDRs':['10.0.0.0/24']}}", "{}"),
              "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to "
              "valid");
    fixture_release(&f);
}

#define NO_FEATURE(name)                                                                     \
    "Invalid value: \"" name "\": invalid feature name \"" name "\": must start with an "    \
    "UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or " \
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"

TEST(what_a_node_says_of_itself)
{
    static const struct fixture_row rows[] = {
        { "'declaredFeatures':['A','B/c2','B/cD']", "" },
        { "'declaredFeatures':['a']", "status.declaredFeatures[0]: " NO_FEATURE("a") },
        { "'declaredFeatures':['A/']", "status.declaredFeatures[0]: " NO_FEATURE("A/") },
        { "'declaredFeatures':['B','A','A']",
          "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically; "
          "status.declaredFeatures[2]: Duplicate value: \"A\"" },
        { "'allocatable':{'cpu':'-1'}",
          "status.allocatable.cpu: Invalid value: \"-1\": must be greater than or equal to 0" },
    };
    struct fixture f = fixture_new("", "v1", "nodes");

    FIXTURE_ROWS(&f, "{'status':{%s}}", rows);
    CHECK_STR(fixture_update_faults(&f, "{'spec':{}}", "{'spec':{'externalID':'x'}}"),
              "spec.externalID: Forbidden: may not be updated");
    fixture_release(&f);
}

TEST(cells_of_a_node)
{
    struct fixture f = fixture_new("", "v1", "nodes");

    CHECK_STR(fixture_cells(&f, fixture_quotes(
                                    &f, "{'metadata':{'name':'n','labels':{"
                                        "'node-role.kubernetes.io/worker':''},'creationTimestamp':"
                                        "'2020-01-02T03:04:00Z'},'spec':{'unschedulable':true},"
                                        "'status':{'conditions':[{'type':'Ready','status':'True'}],"
                                        "'addresses':[{'type':'InternalIP','address':'1.2.3.4'}],"
                                        "'nodeInfo':{'kubeletVersion':'v1','architecture':'amd64',"
                                        "'kernelVersion':'6.1'}}}")),
              "[\"n\",\"Ready,SchedulingDisabled\",\"worker\",\"5s\",\"v1\",\"1.2.3.4\",\"<none>\","
              "\"<unknown>\",\"6.1\",\"<unknown>\"]");
    fixture_release(&f);
}

TEST(an_address_of_a_node_is_told_once)
{
    struct fixture f = fixture_new("", "v1", "nodes");

    f.c.subresource = STR("status");
    CHECK_STR(
        fixture_update_faults(&f, "{}",
                              "{'status':{'addresses':[{'type':'x','address':'x'},{'type':'x',"
                              "'address':'y'},{'type':'x','address':'x'}]}}"),
        "status.addresses[2]: Duplicate value: {\"type\":\"x\",\"address\":\"x\"}");
    fixture_release(&f);
}

TEST(endpoints)
{
    static const struct fixture_row rows[] = {
        { "{'addresses':[{'ip':'1.2.3.4'}],'ports':[{'port':80}]}", "" },
        { "{}", "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`" },
        { "{'addresses':[{'ip':'0.0.0.0'},{'ip':'x'}],'ports':[{'port':1},{'port':2,'name':'b'}]}",
          "subsets[0].addresses[0].ip: Invalid value: \"0.0.0.0\": may not be unspecified "
          "(0.0.0.0); subsets[0].addresses[1].ip: Invalid value: \"x\": must be a valid IP "
          "address, (e.g. 10.9.8.7 or 2001:db8::ffff); subsets[0].ports[0].name: Required value" },
    };
    struct fixture f = fixture_new("", "v1", "endpoints");

    FIXTURE_ROWS(&f, "{'subsets':[%s]}", rows);
    CHECK_STR(fixture_cells(&f, fixture_quotes(&f, "{'metadata':{'name':'e','creationTimestamp':"
                                                   "'2020-01-02T03:04:00Z'},'subsets':[{"
                                                   "'addresses':[{'ip':'1.1.1.1'},{'ip':'1.1.1.2'}"
                                                   ",{'ip':'::1'},{'ip':'1.1.1.4'}],'ports':"
                                                   "[{'port':80}]}]}")),
              "[\"e\",\"1.1.1.1:80,1.1.1.2:80,[::1]:80 + 1 more...\",\"5s\"]");
    fixture_release(&f);
}
