/* SPDX-License-Identifier: Apache-2.0 */

/* The kinds that the kcp prototype brings with it. */

#include "unit/kinds_refusal.h"

TEST(a_cluster_needs_a_kubeconfig)
{
    struct fixture f = fixture_new("workload.kcp.dev", "v1alpha1", "clusters");

    CHECK_STR(create(&f, "{}"), "spec.kubeconfig: Required value");
    CHECK_STR(fixture_print(
                  &f, json_get(fixture_read(&f, "{\"spec\":{\"kubeconfig\":\"x\"}}"), STR("spec"))),
              "{\"kubeconfig\":\"x\",\"unschedulable\":false}");
    CHECK_STR(create(&f, "{'spec':{'kubeconfig':'x'},'status':{'conditions':[{'type':'Ready',"
                         "'status':'Maybe','severity':'Bad'}]}}"),
              "status.conditions[0].severity: Unsupported value: \"Bad\": supported values: "
              "\"Error\", \"Warning\", \"Info\"; status.conditions[0].status: Unsupported value: "
              "\"Maybe\": supported values: \"True\", \"False\", \"Unknown\"");
    fixture_release(&f);
}

#define NOTE "kubectl.kubernetes.io/last-applied-configuration"

TEST(who_may_not_read_secrets_sees_where_the_kubeconfig_is)
{
    struct fixture f = fixture_new("workload.kcp.dev", "v1alpha1", "clusters");
    const struct kind_ops *ops = f.kind->ops;
    struct arena *a = f.c.arena;
    struct json other = json_of_str(STR("neu"));
    const struct json *old =
        fixture_read(&f, "{\"metadata\":{\"name\":\"us\",\"annotations\":{\"a\":\"b\",\"" NOTE
                         "\":\"{\\\"spec\\\":{\\\"kubeconfig\\\":\\\"geheim\\\"}}\\n\"}},"
                         "\"spec\":{\"kubeconfig\":\"geheim\",\"unschedulable\":true}}");
    const struct json *seen = ops->redact(a, old), *back;

    CHECK(!str_contains(json_text(a, seen), STR("geheim")));
    CHECK(str_contains(json_text(a, seen), STR(NOTE)));
    CHECK(str_is(json_get_str(seen, "spec.kubeconfig"), "# in Secret kube-system/cluster-us"));
    CHECK(json_equal(ops->unredact(a, seen, old), old));
    back = ops->unredact(a, json_set(a, seen, "spec.kubeconfig", &other), old);
    CHECK(str_is(json_get_str(back, "spec.kubeconfig"), "neu"));
    fixture_release(&f);
}

TEST(a_note_that_cannot_be_read_is_not_shown)
{
    struct fixture f = fixture_new("workload.kcp.dev", "v1alpha1", "clusters");
    const struct json *old =
        fixture_read(&f, "{\"metadata\":{\"name\":\"us\",\"annotations\":{\"" NOTE
                         "\":\"kubeconfig: geheim\"}}}");

    CHECK_STR(
        fixture_print(&f, json_path(f.kind->ops->redact(f.c.arena, old), "metadata.annotations")),
        "{}");
    fixture_release(&f);
}

TEST(an_import_says_its_type_and_where_it_is_from)
{
    struct fixture f = fixture_new("apiresource.kcp.dev", "v1alpha1", "apiresourceimports");
    const char *good = "{'metadata':{'name':'deployments.us.v1.apps'},'spec':{'groupVersion':{"
                       "'group':'apps','version':'v1'},'scope':'Namespaced','plural':'deployments',"
                       "'kind':'Deployment','location':'us','openAPIV3Schema':{'type':'object'},"
                       "'subResources':[{'name':'status'}]}}";

    CHECK_STR(create(&f, good), "");
    CHECK(str_is(
        json_get_str(fixture_read(&f, fixture_quotes(&f, good)), "spec.schemaUpdateStrategy"),
        "UpdateUnpublished"));
    CHECK_STR(
        create(&f, "{'spec':{'scope':'World','schemaUpdateStrategy':'Always','subResources':[{"
                   "'name':'log'}]}}"),
        "spec.groupVersion.version: Required value; spec.kind: Required value; spec.location: "
        "Required value; spec.plural: Required value; spec.schemaUpdateStrategy: Unsupported "
        "value: \"Always\": supported values: \"UpdateNever\", \"UpdateUnpublished\", "
        "\"UpdatePublished\"; spec.scope: Unsupported value: \"World\": supported values: "
        "\"Cluster\", \"Namespaced\"; spec.subResources[0].name: Unsupported value: \"log\": "
        "supported values: \"scale\", \"status\"");
    CHECK_STR(fixture_cells(&f, fixture_quotes(&f, good)),
              "[\"deployments.us.v1.apps\",\"us\",\"UpdateUnpublished\",\"apps/v1\","
              "\"deployments\",null,null,\"<unknown>\"]");
    fixture_release(&f);
}

TEST(instances_of_both_profiles_serve_them)
{
    static const char *const plurals[] = { "apiresourceimports", "negotiatedapiresources" };

    fixture_kinds();
    for (size_t i = 0; i < 2; i++) {
        CHECK(catalog_find(kinds_catalog_minimal(), STR("apiresource.kcp.dev"), STR("v1alpha1"),
                           str_of(plurals[i])));
        CHECK(catalog_find(kinds_catalog_instance(), STR("apiresource.kcp.dev"), STR("v1alpha1"),
                           str_of(plurals[i])));
    }
    CHECK(catalog_find(kinds_catalog_minimal(), STR("workload.kcp.dev"), STR("v1alpha1"),
                       STR("clusters")));
    CHECK(!catalog_has_group(kinds_catalog_minimal(), STR("policy.karmada.io"), STR("")));
    CHECK(!catalog_has_group(kinds_catalog_minimal(), STR("cluster.karmada.io"), STR("")));
}
