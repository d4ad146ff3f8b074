/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/karmada.h"
#include "tap.h"

TEST(names_of_bindings_and_works)
{
    scoped_arena a = arena_new();

    CHECK_STR(karmada_binding_name(a, STR("nginx"), STR("Deployment")).p, "nginx-deployment");
    CHECK_STR(karmada_binding_name(a, STR("system:Node"), STR("ClusterRole")).p,
              "system.node-clusterrole");
    CHECK_STR(karmada_work_name(a, STR("default"), STR("nginx"), STR("Deployment")).p,
              "nginx-687f7fb96f");
    /* As Karmada v1.18 named them. */
    CHECK_STR(karmada_work_name(a, STR_NONE, STR("kg-role"), STR("ClusterRole")).p,
              "kg-role-75b6b88777");
    CHECK_STR(karmada_work_name(a, STR("kg-propagate-deps"), STR("cfg"), STR("ConfigMap")).p,
              "cfg-69fd668dd");
    /* The hash, too, is of the name without its colon and in small letters. */
    CHECK_STR(karmada_work_name(a, STR_NONE, STR("system:Node"), STR("ClusterRole")).p,
              karmada_work_name(a, STR_NONE, STR("system.node"), STR("ClusterRole")).p);
    CHECK(str_starts(karmada_depended_by(a, STR("default"), STR("x")), STR(KARMADA_DEPENDED_BY)));
}

TEST(execution_namespaces)
{
    scoped_arena a = arena_new();
    str cluster;

    CHECK_STR(karmada_execution_namespace(a, STR("m1")).p, "karmada-es-m1");
    REQUIRE(karmada_execution_cluster(STR("karmada-es-m1"), &cluster));
    CHECK(str_is(cluster, "m1"));
    CHECK(!karmada_execution_cluster(STR("karmada-es-"), &cluster));
    CHECK(!karmada_execution_cluster(STR("default"), &cluster));
    CHECK(karmada_namespace_reserved(STR("karmada-es-m1")));
    CHECK(karmada_namespace_reserved(STR("karmada-system")));
    CHECK(!karmada_namespace_reserved(STR("karmada")));
}
