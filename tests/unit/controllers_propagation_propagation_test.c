/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From a template to its Works and back, against a whole server, each controller with the rights it
 * has there.  The test plays the scheduler and the members.
 */

#include "propagation_rig.h"
#include "tap.h"

TEST(a_deployment_goes_to_two_members_and_comes_back)
{
    struct plant p;
    const char *rb = BINDINGS "/web-deployment", *m1, *m2;
    const struct json *b, *w;
    str name;

    open_plant(&p);
    name = karmada_work_name(p.rig.arena, STR("default"), STR("web"), STR("Deployment"));
    m1 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%.*s", STR_ARG(name));
    m2 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m2/works/%.*s", STR_ARG(name));
    make_policy(&p, "pol", ALL_DEPLOYMENTS, "");
    make_deployment(&p, "web", 3);
    CHECK(becomes(&p, binding_of, rb, "pol 3 [\"m1\",\"m2\"]"));
    b = get(&p, rb);
    CHECK(str_is(json_get_str(b, "spec.conflictResolution"), "Abort"));
    CHECK(str_is(json_get_str(b, "spec.replicaRequirements.resourceRequest.cpu"), "100m"));
    CHECK(str_is(json_get_str(json_at(json_path(b, "metadata.ownerReferences"), 0), "kind"),
                 "Deployment"));
    CHECK_STR(finalizers_of(&p, rb), "[\"karmada.io/binding-controller\"]");
    CHECK_STR(fully_applied(&p, rb), "silent");

    (void)must(&p, "POST", OVERRIDES,
               "{'metadata':{'name':'mirror'},'spec':{'resourceSelectors':[" ALL_DEPLOYMENTS
               "],'overrideRules':[{'targetCluster':{'clusterNames':['m2']},'overriders':{"
               "'imageOverrider':[{'component':'Registry','operator':'replace','value':"
               "'mirror.local'}],'labelsOverrider':[{'operator':'add','value':{'team':'b'}}]}}]}}");
    schedule(&p, rb, "[{'name':'m1','replicas':2},{'name':'m2','replicas':1}]");
    CHECK(becomes(&p, deployment_of, m1, "2 nginx:1 "));
    CHECK(becomes(&p, deployment_of, m2, "1 mirror.local/nginx:1 b"));
    w = get(&p, m2);
    CHECK(str_is(karmada_annotation(w, KARMADA_CONFLICT), "abort"));
    CHECK(str_starts(karmada_annotation(w, KARMADA_APPLIED_OVERRIDES),
                     STR("[{\"policyName\":\"mirror\",\"overriders\":{\"imageOverrider\":[{"
                         "\"component\":\"Registry\",\"operator\":\"replace\"")));
    CHECK(str_eq(karmada_label(w, KARMADA_RB_ID), karmada_label(b, KARMADA_RB_ID)));
    w = json_at(json_path(w, "spec.workload.manifests"), 0);
    CHECK(!json_path(w, "metadata.uid") && !json_path(w, "status"));
    CHECK(str_is(karmada_annotation(w, KARMADA_MANAGED_LABELS),
                 "app,karmada.io/managed,propagationpolicy.karmada.io/permanent-id,"
                 "resourcebinding.karmada.io/permanent-id,team,work.karmada.io/permanent-id"));

    report(&p, m1, 2, 2);
    CHECK(becomes(&p, fully_applied, rb, "FullyAppliedFailed"));
    report(&p, m2, 1, 0);
    CHECK(becomes(&p, fully_applied, rb, "FullyAppliedSuccess"));
    CHECK(becomes(&p, status_of, DEPLOYMENTS "/web", "3 2 observed"));

    /* The override goes, a cluster goes, the template is scaled. */
    (void)must(&p, "DELETE", OVERRIDES "/mirror", "");
    CHECK(becomes(&p, deployment_of, m2, "1 nginx:1 "));
    CHECK(!karmada_annotation(get(&p, m2), KARMADA_APPLIED_OVERRIDES).n);
    (void)must(&p, "PATCH", DEPLOYMENTS "/web", "{'spec':{'replicas':5}}");
    CHECK(becomes(&p, binding_of, rb, "pol 5 [\"m1\",\"m2\"]"));
    schedule(&p, rb, "[{'name':'m1','replicas':5}]");
    CHECK(becomes(&p, deployment_of, m1, "5 nginx:1 "));
    CHECK(becomes(&p, names_of,
                  WORKS "/namespaces/karmada-es-m2/works?labelSelector="
                        "resourcebinding.karmada.io/permanent-id",
                  name.p));
    CHECK(json_path(get(&p, m2), "metadata.deletionTimestamp"));
    (void)must(&p, "PATCH", m2, "{'metadata':{'finalizers':null}}"); /* as its syncer would */
    report(&p, m1, 5, 5);
    CHECK(becomes(&p, fully_applied, rb, "FullyAppliedSuccess"));
    CHECK(becomes(&p, status_of, DEPLOYMENTS "/web", "5 5 observed"));

    /* The end, as garbage collection begins it. */
    (void)must(&p, "DELETE", DEPLOYMENTS "/web", "");
    (void)must(&p, "DELETE", rb, "");
    CHECK(becomes(&p, binding_of, rb, "none"));
    (void)must(&p, "PATCH", m1, "{'metadata':{'finalizers':null}}");
    CHECK(becomes(&p, names_of, WORKS "/works", ""));
    close_plant(&p);
}

/* "cluster health since; …" and the template's ready replicas. */
static const char *known_of(struct plant *p, const char *path)
{
    str all = STR("");

    json_for_each (i, json_path(get(p, path), "status.aggregatedStatus"))
        all =
            str_printf(p->rig.arena, "%.*s%.*s %.*s %.*s; ", STR_ARG(all),
                       STR_ARG(json_get_str(i, "clusterName")), STR_ARG(json_get_str(i, "health")),
                       STR_ARG(json_get_str(i, "unknownSince")));
    return str_printf(
               p->rig.arena, "%.*s%d", STR_ARG(all),
               (int)json_int(json_path(get(p, DEPLOYMENTS "/web"), "status.readyReplicas"), 0))
        .p;
}

static void make_ready(struct plant *p, const char *cluster, const char *status, const char *since)
{
    (void)must(p, "PATCH",
               arena_printf(p->rig.arena, I "/apis/cluster.karmada.io/v1alpha1/clusters/%s/status",
                            cluster),
               arena_printf(p->rig.arena,
                            "{'status':{'conditions':[{'type':'Ready','status':'%s','reason':'X',"
                            "'message':'','lastTransitionTime':'%s'}]}}",
                            status, since));
}

TEST(what_a_silent_cluster_said_stays_and_is_not_known)
{
    struct plant p;
    const char *rb = BINDINGS "/web-deployment", *m1, *m2;
    str name;

    open_plant(&p);
    name = karmada_work_name(p.rig.arena, STR("default"), STR("web"), STR("Deployment"));
    m1 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%.*s", STR_ARG(name));
    m2 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m2/works/%.*s", STR_ARG(name));
    make_policy(&p, "pol", ALL_DEPLOYMENTS, "");
    make_deployment(&p, "web", 3);
    CHECK(becomes(&p, binding_of, rb, "pol 3 [\"m1\",\"m2\"]"));
    schedule(&p, rb, "[{'name':'m1','replicas':2},{'name':'m2','replicas':1}]");
    CHECK(becomes(&p, deployment_of, m1, "2 nginx:1 "));
    CHECK(becomes(&p, deployment_of, m2, "1 nginx:1 "));
    report(&p, m1, 2, 2);
    report(&p, m2, 1, 1);
    CHECK(becomes(&p, known_of, rb, "m1 Healthy ; m2 Healthy ; 3"));
    make_ready(&p, "m1", "True", "2026-01-01T00:00:00Z");
    make_ready(&p, "m2", "Unknown", "2026-01-01T00:00:00Z");
    CHECK(becomes(&p, known_of, rb, "m1 Healthy ; m2 Unknown 2026-01-01T00:00:00Z; 2"));
    make_ready(&p, "m1", "False", "2026-01-02T00:00:00Z");
    CHECK(becomes(&p, known_of, rb,
                  "m1 Unknown 2026-01-02T00:00:00Z; m2 Unknown 2026-01-01T00:00:00Z; 0"));
    CHECK(json_len(json_path(get(&p, rb), "spec.clusters")) == 2); /* and nothing is moved */
    make_ready(&p, "m2", "True", "2026-01-03T00:00:00Z");
    make_ready(&p, "m1", "True", "2026-01-03T00:00:00Z");
    CHECK(becomes(&p, known_of, rb, "m1 Healthy ; m2 Healthy ; 3"));
    close_plant(&p);
}

TEST(a_copy_that_is_evicted_directly_stays_until_there_is_a_place)
{
    struct plant p;
    const char *rb = BINDINGS "/web-deployment", *m1, *m2;
    str name;

    open_plant(&p);
    name = karmada_work_name(p.rig.arena, STR("default"), STR("web"), STR("Deployment"));
    m1 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%.*s", STR_ARG(name));
    m2 = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m2/works/%.*s", STR_ARG(name));
    make_policy(&p, "pol", ALL_DEPLOYMENTS, "");
    make_deployment(&p, "web", 3);
    CHECK(becomes(&p, binding_of, rb, "pol 3 [\"m1\",\"m2\"]"));
    schedule(&p, rb, "[{'name':'m1','replicas':3}]");
    CHECK(becomes(&p, deployment_of, m1, "3 nginx:1 "));
    (void)must(&p, "PATCH", rb,
               "{'spec':{'clusters':null,'gracefulEvictionTasks':[{'fromCluster':'m1','purgeMode':"
               "'Directly','reason':'TaintUntolerated','producer':'TaintManager',"
               "'creationTimestamp':'2026-01-01T00:00:00Z'}]}}");
    CHECK(stays(&p, deployment_of, m1, "3 nginx:1 ")); /* nothing else runs anywhere */
    schedule(&p, rb, "[{'name':'m2','replicas':3}]");
    CHECK(becomes(&p, deployment_of, m1, "3 nginx:1 "));
    CHECK(stays(&p, deployment_of, m2, "none"));
    (void)must(&p, "DELETE", m1, ""); /* as graceful_eviction.c would, and then the syncer */
    (void)must(&p, "PATCH", m1, "{'metadata':{'finalizers':null}}");
    CHECK(becomes(&p, deployment_of, m2, "3 nginx:1 "));
    CHECK(becomes(&p, deployment_of, m1, "none"));
    close_plant(&p);
}

TEST(what_a_deployment_needs_follows_it)
{
    struct plant p;
    const char *rb = BINDINGS "/web-deployment", *conf = BINDINGS "/conf-configmap", *work;
    str name;

    open_plant(&p);
    name = karmada_work_name(p.rig.arena, STR("default"), STR("conf"), STR("ConfigMap"));
    work = arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%s", name.p);
    make_policy(&p, "pol", ALL_DEPLOYMENTS, ",'propagateDeps':true");
    make_deployment(&p, "web", 1);
    CHECK(becomes(&p, binding_of, rb, "pol 1 [\"m1\",\"m2\"]"));
    schedule(&p, rb, "[{'name':'m1','replicas':1}]");
    CHECK(becomes(&p, finalizers_of, rb,
                  "[\"karmada.io/binding-controller\","
                  "\"karmada.io/binding-dependencies-distributor\"]"));
    CHECK(stays(&p, required_of, conf, "none"));
    /* It comes later than who needs it. */
    (void)must(&p, "POST", MAPS, "{'metadata':{'name':'conf'},'data':{'k':'v'}}");
    CHECK(becomes(&p, required_of, conf,
                  "[{\"clusters\":[{\"name\":\"m1\",\"replicas\":1}],\"name\":\"web-deployment\","
                  "\"namespace\":\"default\"}]"));
    CHECK(json_is(json_path(get(&p, conf), "spec.preserveResourcesOnDeletion"), JSON_BOOL));
    CHECK(becomes(&p, data_of, work, "{\"k\":\"v\"}"));
    (void)must(&p, "PATCH", MAPS "/conf", "{'data':{'k':'v2'}}");
    CHECK(becomes(&p, data_of, work, "{\"k\":\"v2\"}"));
    /* It moves along. */
    schedule(&p, rb, "[{'name':'m2','replicas':1}]");
    CHECK(becomes(&p, data_of,
                  arena_printf(p.rig.arena, WORKS "/namespaces/karmada-es-m2/works/%s", name.p),
                  "{\"k\":\"v2\"}"));
    (void)must(&p, "PATCH", POLICIES "/pol", "{'spec':{'propagateDeps':false}}");
    CHECK(becomes(&p, required_of, conf, "nobody"));
    CHECK(becomes(&p, finalizers_of, rb, "[\"karmada.io/binding-controller\"]"));
    close_plant(&p);
}

#define GADGETS                                                                            \
    "{'metadata':{'name':'gadgets.example.com'},'spec':{'group':'example.com','scope':"    \
    "'Namespaced','names':{'plural':'gadgets','singular':'gadget','kind':'Gadget',"        \
    "'listKind':'GadgetList'},'versions':[{'name':'v1','served':true,'storage':true,"      \
    "'schema':{'openAPIV3Schema':{'type':'object','x-kubernetes-preserve-unknown-fields':" \
    "true}}}]}}"

static const char *label_of(struct plant *p, const char *path)
{
    const struct json *m = json_at(json_path(get(p, path), "spec.workload.manifests"), 0);

    return str_z(p->rig.arena, karmada_label(m, "v"));
}

static const char *work_of(struct plant *p, const char *name, const char *kind)
{
    return arena_printf(
        p->rig.arena, WORKS "/namespaces/karmada-es-m1/works/%s",
        karmada_work_name(p->rig.arena, STR("default"), str_of(name), str_of(kind)).p);
}

/* Not only ConfigMaps and the like: whatever a script names, also kinds that come later. */
TEST(what_a_script_says_is_needed_is_kept_up)
{
    struct client *reader;
    struct plant p;

    prepare_plant(&p);
    reader = client_new(server_local_transport(p.rig.host->server, p.rig.host->loop,
                                               STR("system:kairship:customizations")));
    p.propagation.customizations = customizations_new(reader, STR("*"));
    (void)must(&p, "POST", I "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
               "{'metadata':{'name':'needs'},'spec':{'target':{'apiVersion':'apps/v1','kind':"
               "'Deployment'},'customizations':{'dependencyInterpretation':{'luaScript':'function "
               "GetDependencies(o) return {{apiVersion=[[v1]],kind=[[Service]],name=[[db]],"
               "namespace=o.metadata.namespace},{apiVersion=[[example.com/v1]],kind=[[Gadget]],"
               "name=[[g]],namespace=o.metadata.namespace}} end'}}}}");
    start_plant(&p);
    make_policy(&p, "pol", ALL_DEPLOYMENTS, ",'propagateDeps':true");
    (void)must(&p, "POST", I "/api/v1/namespaces/default/services",
               "{'metadata':{'name':'db','labels':{'v':'1'}},'spec':{'ports':[{'port':1}]}}");
    make_deployment(&p, "web", 1);
    CHECK(becomes(&p, binding_of, BINDINGS "/web-deployment", "pol 1 [\"m1\",\"m2\"]"));
    schedule(&p, BINDINGS "/web-deployment", "[{'name':'m1','replicas':1}]");
    CHECK(becomes(&p, label_of, work_of(&p, "db", "Service"), "1"));
    (void)must(&p, "PATCH", I "/api/v1/namespaces/default/services/db",
               "{'metadata':{'labels':{'v':'2'}}}");
    CHECK(becomes(&p, label_of, work_of(&p, "db", "Service"), "2"));
    (void)must(&p, "POST", I "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", GADGETS);
    for (int i = 0; i < 400 && !get(&p, I "/apis/example.com/v1/gadgets"); i++)
        (void)usleep(5000);
    (void)must(&p, "POST", I "/apis/example.com/v1/namespaces/default/gadgets",
               "{'apiVersion':'example.com/v1','kind':'Gadget','metadata':{'name':'g','labels':{"
               "'v':'1'}}}");
    CHECK(becomes(&p, label_of, work_of(&p, "g", "Gadget"), "1"));
    (void)must(&p, "PATCH", I "/apis/example.com/v1/namespaces/default/gadgets/g",
               "{'metadata':{'labels':{'v':'2'}}}");
    CHECK(becomes(&p, label_of, work_of(&p, "g", "Gadget"), "2"));
    controller_group_free(p.group);
    p.group = controller_group_new(1);
    customizations_free(p.propagation.customizations);
    loop_call_wait(p.rig.host->loop, free_client, reader);
    close_plant(&p);
}

TEST(namespaces_are_in_every_member)
{
    struct plant p;

    open_plant(&p);
    (void)must(&p, "POST", I "/api/v1/namespaces", "{'metadata':{'name':'shop'}}");
    (void)must(&p, "POST", I "/api/v1/namespaces", "{'metadata':{'name':'kube-x'}}");
    (void)must(&p, "POST", I "/api/v1/namespaces",
               "{'metadata':{'name':'mine','labels':{"
               "'namespace.karmada.io/skip-auto-propagation':'true'}}}");
    CHECK(becomes(&p, names_of, WORKS "/namespaces/karmada-es-m1/works",
                  karmada_work_name(p.rig.arena, STR_NONE, STR("shop"), STR("Namespace")).p));
    /* A member that comes later gets what is there. */
    (void)must(&p, "POST", I "/apis/cluster.karmada.io/v1alpha1/clusters",
               "{'metadata':{'name':'m3'},'spec':{'syncMode':'Push'}}");
    (void)must(&p, "POST", I "/api/v1/namespaces", "{'metadata':{'name':'karmada-es-m3'}}");
    CHECK(becomes(&p, names_of, WORKS "/namespaces/karmada-es-m3/works",
                  karmada_work_name(p.rig.arena, STR_NONE, STR("shop"), STR("Namespace")).p));
    close_plant(&p);
}

/* Kinds are watched in all instances once a policy of one names them. */
TEST(an_instance_without_policies_is_left_alone)
{
    struct informer_key key = { .instance = STR("two"),
                                .namespace = STR("default"),
                                .name = STR("v1 ConfigMap c") };
    struct plant p;

    open_plant(&p);
    (void)must(&p, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
               "{'metadata':{'name':'two'},'spec':{'profile':'minimal'}}");
    (void)must(&p, "POST", "/clusters/two/api/v1/namespaces/default/configmaps",
               "{'metadata':{'name':'c'}}");
    if (!CHECK(detector_controller.reconcile(&p.propagation, p.clients[0], p.rig.arena, &key,
                                             &p.rig.st) == 0))
        printf("# %.*s\n", STR_ARG(p.rig.st.message));
    close_plant(&p);
}

static const char *uid_of(struct plant *p, const char *path)
{
    return str_z(p->rig.arena, json_get_str(get(p, path), "metadata.uid"));
}

TEST(cluster_scoped_and_custom_templates)
{
    const char *uid;
    struct plant p;

    open_plant(&p);
    (void)must(&p, "POST", CPOLICIES,
               "{'metadata':{'name':'roles'},'spec':{'resourceSelectors':[{'apiVersion':"
               "'rbac.authorization.k8s.io/v1','kind':'ClusterRole','name':'r'},{'apiVersion':"
               "'example.com/v1','kind':'Gadget'}],'placement':{'clusterAffinity':{'clusterNames':"
               "['m2']}}}}");
    (void)must(&p, "POST", I "/apis/rbac.authorization.k8s.io/v1/clusterroles",
               "{'metadata':{'name':'r'},'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':"
               "['get']}]}");
    CHECK(becomes(&p, binding_of, CBINDINGS "/r-clusterrole", "roles 0 [\"m2\"]"));
    schedule(&p, CBINDINGS "/r-clusterrole", "[{'name':'m2'}]");
    CHECK(becomes(&p, names_of, WORKS "/namespaces/karmada-es-m2/works",
                  karmada_work_name(p.rig.arena, STR_NONE, STR("r"), STR("ClusterRole")).p));
    /* A kind that comes after the policy. */
    (void)must(&p, "POST", I "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", GADGETS);
    for (int i = 0; i < 400 && !get(&p, I "/apis/example.com/v1/gadgets"); i++)
        (void)usleep(5000);
    (void)must(&p, "POST", I "/apis/example.com/v1/namespaces/default/gadgets",
               "{'apiVersion':'example.com/v1','kind':'Gadget','metadata':{'name':'g'}}");
    CHECK(becomes(&p, binding_of, BINDINGS "/g-gadget", "roles 0 [\"m2\"]"));
    uid = uid_of(&p, CBINDINGS "/r-clusterrole");
    (void)must(&p, "DELETE", CBINDINGS "/r-clusterrole", "");
    for (int i = 0; i < 1000 && strcmp(uid_of(&p, CBINDINGS "/r-clusterrole"), uid) == 0; i++)
        (void)usleep(5000);
    /* It is gone; if something else was heard of since, there is a new one. */
    CHECK(strcmp(uid_of(&p, CBINDINGS "/r-clusterrole"), uid) != 0);
    close_plant(&p);
}

static const char *json_of(struct plant *p, const char *path)
{
    const struct json *v = get(p, path);

    return v ? str_z(p->rig.arena, json_text(p->rig.arena, json_path(v, "spec.workload"))) : "none";
}

static const char *quota_status(struct plant *p, const char *path)
{
    const struct json *v = json_path(get(p, path), "status");

    return v ? str_z(p->rig.arena, json_text(p->rig.arena, v)) : "none";
}

TEST(a_quota_is_shared_out_and_summed_up)
{
    static const char quotas[] =
        I "/apis/policy.karmada.io/v1alpha1/namespaces/default/federatedresourcequotas";
    struct plant p;
    const char *work;

    open_plant(&p);
    work = arena_printf(
        p.rig.arena, WORKS "/namespaces/karmada-es-m1/works/%.*s",
        STR_ARG(karmada_work_name(p.rig.arena, STR("default"), STR("q"), STR("ResourceQuota"))));
    (void)must(&p, "POST", quotas,
               "{'metadata':{'name':'q'},'spec':{'overall':{'cpu':'10'},'staticAssignments':[{"
               "'clusterName':'m1','hard':{'cpu':'3'}},{'clusterName':'none','hard':{'cpu':'1'}}]}"
               "}");
    for (int i = 0; i < 500 && strcmp(json_of(&p, work), "none") == 0; i++)
        (void)usleep(10000);
    CHECK(strstr(json_of(&p, work), "\"kind\":\"ResourceQuota\""));
    CHECK(strstr(json_of(&p, work), "\"hard\":{\"cpu\":\"3\"}"));
    CHECK(str_is(karmada_label(get(&p, work), "federatedresourcequota.karmada.io/name"), "q"));
    CHECK(becomes(&p, quota_status, arena_printf(p.rig.arena, "%s/q", quotas),
                  "{\"overall\":{\"cpu\":\"10\"}}"));
    /* The member tells what is used. */
    (void)must(&p, "PATCH", arena_printf(p.rig.arena, "%s/status", work),
               "{'status':{'conditions':[{'type':'Applied','status':'True','reason':'A','message':"
               "'','lastTransitionTime':'2026-01-02T03:04:05Z'}],'manifestStatuses':[{'identifier':"
               "{'ordinal':0,'version':'v1','kind':'ResourceQuota','resource':'','name':'q'},"
               "'status':{'hard':{'cpu':'3'},'used':{'cpu':'500m'}}}]}}");
    CHECK(becomes(&p, quota_status, arena_printf(p.rig.arena, "%s/q", quotas),
                  "{\"aggregatedStatus\":[{\"clusterName\":\"m1\",\"hard\":{\"cpu\":\"3\"},"
                  "\"used\":{\"cpu\":\"500m\"}}],\"overall\":{\"cpu\":\"10\"},"
                  "\"overallUsed\":{\"cpu\":\"500m\"}}"));
    /* A part that is taken away, and the whole. */
    (void)must(&p, "PATCH", arena_printf(p.rig.arena, "%s/q", quotas),
               "{'spec':{'staticAssignments':[{'clusterName':'m2','hard':{'cpu':'2'}}]}}");
    for (int i = 0; i < 500 && !propagator_deleting(get(&p, work)); i++)
        (void)usleep(10000);
    CHECK(propagator_deleting(get(&p, work))); /* its syncer, which is not here, lets it go */
    close_plant(&p);
}
