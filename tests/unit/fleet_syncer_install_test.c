/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_install.h"

#include "base/encode.h"
#include "tap.h"

/* What is brought into a member so that a syncer runs there: names, rights, the Deployment. */

static struct syncer_type types[] = {
    { STR_INIT(""), STR_INIT("v1"), STR_INIT("configmaps") },
    { STR_INIT(""), STR_INIT("v1"), STR_INIT("secrets") },
    { STR_INIT("apps"), STR_INIT("v1"), STR_INIT("deployments") },
};
static const struct syncer_types some = { types, 3 };

static struct syncer_install install(void)
{
    return (struct syncer_install){ .logical = STR("demo"),
                                    .cluster = STR("us-east1"),
                                    .uid = STR("u-1"),
                                    .image = STR("registry.example.com/kairship:1"),
                                    .kubeconfig = secret_of(STR("the way \"back\"")),
                                    .types = &some,
                                    .beat_s = 20 };
}

static const char *at(struct arena *a, const struct syncer_object *o, const char *path)
{
    const struct json *v = json_path(o->object, path);

    return v ? str_z(a, json_text(a, v)) : "-";
}

TEST(names_tell_instances_and_clusters_apart)
{
    scoped_arena a = arena_new();
    str one = syncer_install_name(a, STR("demo"), STR("us-east1"), STR("u"));
    char longest[254];

    CHECK(str_starts(one, STR("kcp-syncer-us-east1-")));
    CHECK(str_eq(one, syncer_install_name(a, STR("demo"), STR("us-east1"), STR("u"))));
    CHECK(!str_eq(one, syncer_install_name(a, STR("other"), STR("us-east1"), STR("u"))));
    CHECK(!str_eq(one, syncer_install_name(a, STR("demo"), STR("us-east1"), STR("v"))));
    memset(longest, 'x', sizeof(longest));
    longest[10] = '.';
    one = syncer_install_name(a, STR("demo"), (str){ longest, sizeof(longest) }, STR("u"));
    CHECK(one.n == 63);
    CHECK(str_find(one, '.', 0) < 0);
}

TEST(the_member_gets_a_namespace_an_account_its_rights_and_a_pod)
{
    scoped_arena a = arena_new();
    struct syncer_install i = install();
    struct syncer_object o[SYNCER_OBJECTS];
    str name, text;

    syncer_install_member(a, &i, o);
    name = syncer_install_name(a, i.logical, i.cluster, i.uid);
    CHECK_STR(at(a, &o[0], "kind"), "\"Namespace\"");
    CHECK_STR(at(a, &o[1], "kind"), "\"ServiceAccount\"");
    CHECK_STR(at(a, &o[2], "rules"),
              "[{\"verbs\":[\"get\",\"create\",\"patch\"],\"apiGroups\":[\"\"],\"resources\":["
              "\"namespaces\"]},"
              "{\"verbs\":[\"get\",\"list\",\"watch\",\"create\",\"patch\",\"delete\"],"
              "\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"secrets\"]},"
              "{\"verbs\":[\"get\",\"list\",\"watch\",\"create\",\"patch\",\"delete\"],"
              "\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"]}]");
    CHECK(str_eq(json_get_str(json_at(json_path(o[3].object, "subjects"), 0), "namespace"), name));
    CHECK(base64_decode(a, BASE64_STD, json_get_str(o[4].object, "data.kubeconfig"), &text));
    CHECK(str_eq(text, secret_reveal(i.kubeconfig)));
    CHECK_STR(at(a, &o[5], "spec.strategy.type"), "\"Recreate\"");
    CHECK(str_contains(json_text(a, o[5].object),
                       STR("[\"syncer\",\"--from\",\"/kcp/kubeconfig\",\"--cluster\",\"us-east1\","
                           "\"--feeds\",\"labels\",\"--heartbeat\",\"20\"]")));
    for (size_t n = 0; n < SYNCER_OBJECTS; n++)
        CHECK(str_eq(json_get_str(o[n].object, "metadata.name"), name) &&
              str_eq(o[n].ref.name, name));
}

TEST(another_kubeconfig_is_another_pod)
{
    scoped_arena a = arena_new();
    struct syncer_install i = install();
    struct syncer_object one[SYNCER_OBJECTS], two[SYNCER_OBJECTS];

    syncer_install_member(a, &i, one);
    i.kubeconfig = secret_of(STR("another"));
    syncer_install_member(a, &i, two);
    CHECK(!json_equal(json_path(one[5].object, "spec.template"),
                      json_path(two[5].object, "spec.template")));
}

TEST(the_instance_gets_an_account_that_reads_and_tells_status_only)
{
    scoped_arena a = arena_new();
    struct syncer_install i = install();
    struct syncer_object o[SYNCER_ACCOUNT_OBJECTS];

    syncer_install_account(a, &i, o);
    CHECK(str_is(o[0].ref.namespace, SYNCER_ACCOUNTS));
    CHECK_STR(at(a, &o[1], "rules"),
              "[{\"verbs\":[\"get\"],\"apiGroups\":[\"workload.kcp.dev\"],\"resources\":["
              "\"clusters\"],\"resourceNames\":[\"us-east1\"]},"
              "{\"verbs\":[\"update\"],\"apiGroups\":[\"workload.kcp.dev\"],\"resources\":["
              "\"clusters/status\"],\"resourceNames\":[\"us-east1\"]},"
              "{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"apiresource.kcp.dev\"],"
              "\"resources\":[\"apiresourceimports\"]},"
              "{\"verbs\":[\"create\",\"patch\"],\"apiGroups\":[\"\"],\"resources\":[\"events\"]},"
              "{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"\"],\"resources\":["
              "\"configmaps\",\"secrets\"]},"
              "{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"apps\"],\"resources\":["
              "\"deployments\"]},"
              "{\"verbs\":[\"update\"],\"apiGroups\":[\"\"],\"resources\":[\"configmaps/status\","
              "\"secrets/status\"]},"
              "{\"verbs\":[\"update\"],\"apiGroups\":[\"apps\"],\"resources\":["
              "\"deployments/status\"]}]");
    CHECK_STR(at(a, &o[3], "type"), "\"kubernetes.io/service-account-token\"");
}

TEST(one_that_carries_works_may_do_anything_in_its_member)
{
    scoped_arena a = arena_new();
    struct syncer_install i = install();
    struct syncer_object o[SYNCER_OBJECTS];

    i.works = true;
    syncer_install_member(a, &i, o);
    CHECK(str_starts(o[0].ref.name, STR("kairship-syncer-us-east1-")));
    CHECK_STR(at(a, &o[2], "rules"),
              "[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]},"
              "{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"get\"]}]");
    CHECK(str_contains(json_text(a, o[5].object), STR("\"--feeds\",\"works\"")));
    CHECK(!str_contains(json_text(a, o[5].object), STR("kcp.io")));
}

/* Works of its own cluster, its own Cluster and Lease, and what kinds mean to the instance. */
TEST(its_account_in_the_instance_is_that_of_one_cluster)
{
    static const struct {
        const char *kind, *namespace, *rules;
    } want[SYNCER_WORKS_ACCOUNT_OBJECTS] = {
        { "ServiceAccount", "kube-system", "-" },
        { "ClusterRole", "",
          "[{\"verbs\":[\"get\"],\"apiGroups\":[\"cluster.karmada.io\"],\"resources\":["
          "\"clusters\"],\"resourceNames\":[\"us-east1\"]},"
          "{\"verbs\":[\"update\"],\"apiGroups\":[\"cluster.karmada.io\"],\"resources\":["
          "\"clusters/status\"],\"resourceNames\":[\"us-east1\"]},"
          "{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"config.karmada.io\"],"
          "\"resources\":[\"resourceinterpretercustomizations\"]},"
          "{\"verbs\":[\"create\",\"patch\"],\"apiGroups\":[\"\"],\"resources\":[\"events\"]}]" },
        { "ClusterRoleBinding", "", "-" },
        { "Role", "karmada-es-us-east1",
          "[{\"verbs\":[\"get\",\"list\",\"watch\",\"patch\"],\"apiGroups\":["
          "\"work.karmada.io\"],\"resources\":[\"works\"]},"
          "{\"verbs\":[\"patch\"],\"apiGroups\":[\"work.karmada.io\"],\"resources\":["
          "\"works/status\"]}]" },
        { "RoleBinding", "karmada-es-us-east1", "-" },
        { "Role", "karmada-cluster",
          "[{\"verbs\":[\"get\",\"patch\"],\"apiGroups\":[\"coordination.k8s.io\"],"
          "\"resources\":[\"leases\"],\"resourceNames\":[\"us-east1\"]}]" },
        { "RoleBinding", "karmada-cluster", "-" },
        { "Secret", "kube-system", "-" },
    };
    scoped_arena a = arena_new();
    struct syncer_install i = install();
    struct syncer_object o[SYNCER_WORKS_ACCOUNT_OBJECTS];

    i.works = true;
    syncer_install_works_account(a, &i, o);
    for (size_t n = 0; n < SYNCER_WORKS_ACCOUNT_OBJECTS; n++) {
        const struct json *owner = json_at(json_path(o[n].object, "metadata.ownerReferences"), 0);
        const struct json *subject = json_at(json_path(o[n].object, "subjects"), 0);

        CHECK(str_is(json_get_str(o[n].object, "kind"), want[n].kind));
        CHECK(str_is(o[n].ref.namespace, want[n].namespace));
        CHECK_STR(at(a, &o[n], "rules"), want[n].rules);
        CHECK(str_is(json_get_str(owner, "kind"), "Cluster") &&
              str_is(json_get_str(owner, "uid"), "u-1"));
        CHECK(!subject || (str_is(json_get_str(subject, "namespace"), "kube-system") &&
                           str_eq(json_get_str(subject, "name"), o[0].ref.name)));
    }
}
