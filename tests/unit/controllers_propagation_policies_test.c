/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: which one has a template, and what waits for what. */

#include "propagation_rig.h"
#include "tap.h"

TEST(policies_come_go_and_compete)
{
    struct plant p;
    const char *rb = BINDINGS "/conf-configmap";

    open_plant(&p);
    (void)must(&p, "POST", MAPS,
               "{'metadata':{'name':'conf','labels':{'x':'y'}},'data':{'k':'v'}}");
    /* Policies that come later find it; the better of two is chosen. */
    (void)must(&p, "POST", CPOLICIES,
               "{'metadata':{'name':'cpp'},'spec':{'priority':9,'resourceSelectors':[{'apiVersion':"
               "'v1','kind':'ConfigMap','name':'conf'}],'placement':{'clusterAffinity':{"
               "'clusterNames':['m1']}}}}");
    CHECK(becomes(&p, binding_of, rb, "cpp 0 [\"m1\"]"));
    /* Who is claimed stays claimed, until the policy goes. */
    make_policy(&p, "exact", "{'apiVersion':'v1','kind':'ConfigMap','name':'conf'}", "");
    make_policy(&p, "labels",
                "{'apiVersion':'v1','kind':'ConfigMap','labelSelector':{'matchLabels':{'x':'y'}}}",
                "");
    CHECK(stays(&p, binding_of, rb, "cpp 0 [\"m1\"]"));
    (void)must(&p, "DELETE", CPOLICIES "/cpp", "");
    CHECK(becomes(&p, finalizers_of, CPOLICIES "/cpp", "none"));
    CHECK(becomes(&p, binding_of, rb, "exact 0 [\"m1\",\"m2\"]"));
    CHECK(!karmada_label(get(&p, MAPS "/conf"), KARMADA_CPP_ID).n);
    CHECK(karmada_label(get(&p, MAPS "/conf"), KARMADA_PP_ID).n);
    /* Its policy changes, then does not mean it any more. */
    (void)must(&p, "PATCH", POLICIES "/exact",
               "{'spec':{'placement':{'clusterAffinity':{'clusterNames':['m2']}}}}");
    CHECK(becomes(&p, binding_of, rb, "exact 0 [\"m2\"]"));
    (void)must(
        &p, "PATCH", POLICIES "/exact",
        "{'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':'ConfigMap','name':'b'}]}}");
    CHECK(becomes(&p, binding_of, rb, "labels 0 [\"m1\",\"m2\"]"));
    /* With preemption a larger priority takes it away. */
    make_policy(&p, "grab", "{'apiVersion':'v1','kind':'ConfigMap','name':'conf'}",
                ",'priority':3,'preemption':'Always'");
    CHECK(becomes(&p, binding_of, rb, "grab 0 [\"m1\",\"m2\"]"));
    /* Nobody is left: the binding stays as it is. */
    (void)must(&p, "DELETE", POLICIES "/labels", "");
    (void)must(&p, "DELETE", POLICIES "/grab", "");
    CHECK(becomes(&p, binding_of, rb, " 0 [\"m1\",\"m2\"]"));
    CHECK(becomes(&p, finalizers_of, POLICIES "/grab", "none"));
    close_plant(&p);
}

TEST(what_every_namespace_has_is_nobodys_template)
{
    struct plant p;

    open_plant(&p);
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'kube-root-ca.crt'},'data':{'k':'v'}}");
    make_policy(&p, "all", "{'apiVersion':'v1','kind':'ConfigMap'}", "");
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'conf'},'data':{'k':'v'}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/conf-configmap", "all 0 [\"m1\",\"m2\"]"));
    make_policy(&p, "services", "{'apiVersion':'v1','kind':'Service'}", "");
    (void)must(&p, "POST", I "/api/v1/namespaces/default/services",
               "{'metadata':{'name':'web'},'spec':{'ports':[{'port':80}]}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/web-service", "services 0 [\"m1\",\"m2\"]"));
    CHECK(get(&p, I "/api/v1/namespaces/default/services/kubernetes"));
    CHECK(!get(&p, BINDINGS "/kubernetes-service"));
    CHECK(!get(&p, BINDINGS "/kube-root-ca.crt-configmap"));
    CHECK(!karmada_label(get(&p, MAPS "/kube-root-ca.crt"), KARMADA_PP_ID).n);
    close_plant(&p);
}

/* The claim was the last thing that the one before us wrote. */
/* karmada: pkg/util/apigroup.go.  The ConfigMap shows that the policy has been looked at. */
TEST(policies_leave_karmadas_own_kinds_alone)
{
    static const char *const kinds[] = {
        "policy.karmada.io/v1alpha1','kind':'OverridePolicy",
        "work.karmada.io/v1alpha2','kind':'ResourceBinding",
        "v1','kind':'ConfigMap",
    };
    struct plant p;

    open_plant(&p);
    (void)must(&p, "POST", OVERRIDES,
               "{'metadata':{'name':'o'},'spec':{'overrideRules':[{'overriders':{}}]}}");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        make_policy(&p, arena_printf(p.rig.arena, "p%zu", i),
                    arena_printf(p.rig.arena, "{'apiVersion':'%s'}", kinds[i]), "");
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'c'}}");
    CHECK(becomes(&p, names_of, BINDINGS, "c-configmap"));
    CHECK(stays(&p, names_of, BINDINGS, "c-configmap"));
    close_plant(&p);
}

TEST(a_template_that_was_claimed_gets_its_binding_after_a_crash)
{
    const struct json *policy;
    struct plant p;

    prepare_plant(&p);
    make_policy(&p, "pol", ALL_DEPLOYMENTS, "");
    make_deployment(&p, "web", 3);
    policy = get(&p, POLICIES "/pol");
    CHECK(karmada_label(policy, KARMADA_PP_ID).n);
    (void)must(&p, "PATCH", DEPLOYMENTS "/web",
               arena_printf(p.rig.arena,
                            "{'metadata':{'labels':{'" KARMADA_PP_ID
                            "':'%.*s'},'annotations':{'" KARMADA_PP_NAME
                            "':'pol','" KARMADA_PP_NAMESPACE "':'default'}}}",
                            STR_ARG(karmada_label(policy, KARMADA_PP_ID))));
    start_plant(&p);
    CHECK(becomes(&p, binding_of, BINDINGS "/web-deployment", "pol 3 [\"m1\",\"m2\"]"));
    close_plant(&p);
}

TEST(a_lazy_policy_waits_for_the_template)
{
    struct plant p;
    const char *rb = BINDINGS "/conf-configmap";

    open_plant(&p);
    make_policy(&p, "lazy", "{'apiVersion':'v1','kind':'ConfigMap','name':'conf'}",
                ",'activationPreference':'Lazy'");
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'conf'},'data':{'k':'v'}}");
    CHECK(becomes(&p, binding_of, rb, "lazy 0 [\"m1\",\"m2\"]"));
    (void)must(&p, "PATCH", POLICIES "/lazy",
               "{'spec':{'placement':{'clusterAffinity':{'clusterNames':['m2']}}}}");
    CHECK(stays(&p, binding_of, rb, "lazy 0 [\"m1\",\"m2\"]"));
    (void)must(&p, "PATCH", MAPS "/conf", "{'data':{'k':'v2'}}");
    CHECK(becomes(&p, binding_of, rb, "lazy 0 [\"m2\"]"));
    /* So does a template that has been there before. */
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'early'},'data':{'k':'v'}}");
    make_policy(&p, "late", "{'apiVersion':'v1','kind':'ConfigMap','name':'early'}",
                ",'activationPreference':'Lazy'");
    CHECK(stays(&p, binding_of, BINDINGS "/early-configmap", "none"));
    (void)must(&p, "PATCH", MAPS "/early", "{'data':{'k':'v2'}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/early-configmap", "late 0 [\"m1\",\"m2\"]"));
    close_plant(&p);
}

TEST(a_policy_waits_for_its_overrides)
{
    struct plant p;

    open_plant(&p);
    make_policy(&p, "pol", "{'apiVersion':'v1','kind':'ConfigMap','name':'conf'}",
                ",'dependentOverrides':['later']");
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'conf'},'data':{'k':'v'}}");
    CHECK(stays(&p, binding_of, BINDINGS "/conf-configmap", "none"));
    (void)must(&p, "POST", OVERRIDES,
               "{'metadata':{'name':'later'},'spec':{'overrideRules':[{'overriders':{"
               "'labelsOverrider':[{'operator':'add','value':{'o':'k'}}]}}]}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/conf-configmap", "pol 0 [\"m1\",\"m2\"]"));
    close_plant(&p);
}

TEST(an_override_that_does_not_apply_holds_back_its_cluster)
{
    struct plant p;
    str name;

    open_plant(&p);
    name = karmada_work_name(p.rig.arena, STR("default"), STR("conf"), STR("ConfigMap"));
    (void)must(&p, "POST", OVERRIDES,
               "{'metadata':{'name':'bad'},'spec':{'overrideRules':[{'targetCluster':{"
               "'clusterNames':['m1']},'overriders':{'plaintext':[{'path':'/spec/no/such',"
               "'operator':'replace','value':'x'}]}}]}}");
    make_policy(&p, "pol", "{'apiVersion':'v1','kind':'ConfigMap'}", "");
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'conf'},'data':{'k':'v'}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/conf-configmap", "pol 0 [\"m1\",\"m2\"]"));
    schedule(&p, BINDINGS "/conf-configmap", "[{'name':'m1'},{'name':'m2'}]");
    CHECK(becomes(&p, data_of,
                  arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m2/works/%s", name.p),
                  "{\"k\":\"v\"}"));
    CHECK(stays(&p, data_of,
                arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%s", name.p),
                "none"));
    close_plant(&p);
}
