/* SPDX-License-Identifier: Apache-2.0 */

/* Container Management's registry of clusters. */

#include "unit/kinds_refusal.h"

static struct fixture fleet(const char *name)
{
    struct fixture f = fixture_new("fleet.kairship.io", "v1alpha1", "clusters");

    f.c.name = str_of(name);
    return f;
}

TEST(a_members_name_does_not_look_like_a_virtual_clusters)
{
    struct fixture f = fleet("k-demo");

    CHECK_STR(create(&f, "{}"), "metadata.name: Invalid value: \"k-demo\": must not start with "
                                "\"k-\", as virtual clusters do");
    CHECK_STR(create(&f, "{'spec':{'type':'Virtual','instance':'demo'}}"), "");
    f.c.name = STR("demo");
    CHECK_STR(create(&f, "{}"), "");
    CHECK_STR(create(&f, "{'spec':{'type':'Virtual','instance':'demo'}}"),
              "metadata.name: Invalid value: \"demo\": must start with \"k-\", as virtual clusters "
              "do");
    fixture_release(&f);
}

TEST(what_a_cluster_says_of_itself_is_checked)
{
    struct fixture f = fleet("m1");

    CHECK_STR(create(&f, "{'spec':{'type':'Other','instance':'x','apiEndpoint':'http://x',"
                         "'secretRef':{'name':'s'}},'status':{'phase':'Odd'}}"),
              "spec.type: Unsupported value: \"Other\": supported values: \"Member\", \"Virtual\"; "
              "status.phase: Unsupported value: \"Odd\": supported values: \"Unknown\", "
              "\"Creating\", \"Running\", \"Updating\", \"Deleting\", \"Failed\"; spec.instance: "
              "Forbidden: may only be set for a virtual cluster; spec.apiEndpoint: Invalid value: "
              "\"http://x\": must be a URL that starts with https://; spec.secretRef.namespace: "
              "Required value");
    f.c.name = STR("k-x");
    CHECK_STR(create(&f, "{'spec':{'type':'Virtual'}}"), "spec.instance: Required value");
    CHECK_STR(update(&f, "{'spec':{'type':'Virtual','instance':'x'}}",
                     "{'spec':{'type':'Virtual','instance':'y'}}"),
              "spec.instance: Invalid value: \"y\": field is immutable");
    CHECK_STR(update(&f, "{}", "{'spec':{'type':'Virtual','instance':'y'}}"),
              "spec.type: Invalid value: \"Virtual\": field is immutable; spec.instance: Invalid "
              "value: \"y\": field is immutable");
    fixture_release(&f);
}

TEST(a_cluster_is_shown_with_its_instances)
{
    struct fixture f = fleet("m1");

    CHECK_STR(fixture_cells(&f, fixture_quotes(&f, "{'metadata':{'name':'m1','creationTimestamp':"
                                                   "'2020-01-02T03:04:00Z'},'spec':{'provider':"
                                                   "'p'},'status':{'phase':'Running',"
                                                   "'kubernetesVersion':'v1','instances':['a','b']}"
                                                   "}")),
              "[\"m1\",\"Member\",\"Running\",\"v1\",\"a,b\",\"5s\",\"p\",\"\",\"\",\"\",\"\"]");
    CHECK_STR(fixture_print(&f, f.kind->ops->prepare_create(
                                    &f.c, fixture_read(&f, "{\"status\":{\"phase\":\"Failed\"}}"))),
              "{\"metadata\":{},\"spec\":{\"type\":\"Member\"},\"status\":{}}");
    fixture_release(&f);
}
