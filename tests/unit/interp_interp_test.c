/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/interp.h"
#include "tap.h"

/* Texts with ' for ". */
static const struct json *tree(struct arena *a, const char *text)
{
    const struct json *v = NULL;
    char *z = str_z(a, str_of(text));
    struct status st;

    status_init(&st, a);
    for (char *p = z; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (json_parse(a, str_of(z), NULL, &v, &st) < 0)
        printf("# %s: %.*s\n", z, STR_ARG(st.message));
    return v;
}

static bool same(struct arena *a, const struct json *got, const char *want)
{
    const struct json *w = want ? tree(a, want) : NULL;

    if (got && w ? json_equal(got, w) : got == w)
        return true;
    printf("#  got: %s\n# want: %s\n", got ? json_text(a, got).p : "nothing", want);
    return false;
}

TEST(replicas_and_what_one_asks_for)
{
    static const struct {
        const char *object;
        int64_t replicas;
        const char *requirements;
    } cases[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':3,'template':{'spec':"
          "{'containers':[{'name':'a'}]}}}}",
          3, NULL },
        { "{'apiVersion':'apps/v1','kind':'StatefulSet','spec':{'replicas':2,'template':{'spec':"
          "{'containers':[{'resources':{'requests':{'cpu':'500m','memory':'1Gi'}}},"
          "{'resources':{'limits':{'cpu':'0.25','memory':'512Mi'},'requests':{'memory':"
          "'256Mi'}}}]}}}}",
          2, "{'resourceRequest':{'cpu':'750m','memory':'1280Mi'}}" },
        { "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':1,'template':{'spec':"
          "{'containers':[{'resources':{'requests':{'cpu':'1'}}}],"
          "'initContainers':[{'resources':{'requests':{'cpu':'2','nvidia.com/gpu':'1'}}},"
          "{'restartPolicy':'Always','resources':{'requests':{'cpu':'100m'}}}],"
          "'overhead':{'cpu':'10m'}}}}}",
          1, "{'resourceRequest':{'cpu':'2010m','nvidia.com/gpu':'1'}}" },
        { "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':1,'template':{'spec':"
          "{'nodeSelector':{'a':'b'},'tolerations':[{'key':'k'}],'affinity':{'nodeAffinity':"
          "{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{}]}}}}}}}",
          1,
          "{'nodeClaim':{'nodeSelector':{'a':'b'},'tolerations':[{'key':'k'}],"
          "'hardNodeAffinity':{'nodeSelectorTerms':[{}]}}}" },
        { "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':5,'completions':3}}", 3,
          NULL },
        { "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':5}}", 5, NULL },
        { "{'apiVersion':'v1','kind':'Pod','spec':{'containers':[{'resources':{'requests':"
          "{'memory':'1M'}}}]}}",
          1, "{'resourceRequest':{'memory':'1000000'}}" },
        { "{'apiVersion':'v1','kind':'ConfigMap'}", -1, NULL },
        { "{'apiVersion':'apps/v1','kind':'DaemonSet','spec':{}}", -1, NULL },
        { "{'apiVersion':'example.com/v1','kind':'Deployment','spec':{'replicas':3}}", -1, NULL },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct interp_replicas r = { .replicas = -1 };

        CHECK(interp_replicas(a, tree(a, cases[i].object), &r) == (cases[i].replicas >= 0));
        CHECK(r.replicas == cases[i].replicas);
        CHECK(same(a, r.requirements, cases[i].requirements));
    }
}

TEST(replicas_are_revised_where_a_kind_has_them)
{
    scoped_arena a = arena_new();
    const struct json *job = tree(a, "{'apiVersion':'batch/v1','kind':'Job','spec':{}}");
    const struct json *map = tree(a, "{'apiVersion':'v1','kind':'ConfigMap'}");

    CHECK(same(a, json_get(interp_revise(a, job, 4), STR("spec")), "{'parallelism':4}"));
    CHECK(interp_revise(a, map, 4) == map);
}

TEST(dependencies_of_a_pod)
{
    scoped_arena a = arena_new();
    const struct json *d =
        tree(a, "{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'namespace':'n'},'spec':{"
                "'volumeClaimTemplates':[{'metadata':{'name':'own'}}],'template':{'spec':{"
                "'serviceAccountName':'sa','imagePullSecrets':[{'name':'pull'}],'containers':[{"
                "'env':[{'valueFrom':{'configMapKeyRef':{'name':'cfgenv'}}},"
                "{'valueFrom':{'secretKeyRef':{'name':'secenv'}}}],"
                "'envFrom':[{'configMapRef':{'name':'cfgenv'}}]}],"
                "'volumes':[{'configMap':{'name':'cfg'}},{'secret':{'secretName':'sec'}},"
                "{'projected':{'sources':[{'configMap':{'name':'p'}},{'secret':{'name':'q'}}]}},"
                "{'persistentVolumeClaim':{'claimName':'vol'}},"
                "{'persistentVolumeClaim':{'claimName':'own'}},7]}}}}");
    static const char *const want[] = {
        "ConfigMap cfgenv", "ConfigMap cfg",     "ConfigMap p",
        "Secret pull",      "Secret secenv",     "Secret sec",
        "Secret q",         "ServiceAccount sa", "PersistentVolumeClaim vol",
    };
    const struct json *got = interp_dependencies(a, d);

    REQUIRE(json_len(got) == sizeof(want) / sizeof(*want));
    for (size_t i = 0; i < json_len(got); i++) {
        const struct json *r = json_at(got, i);

        CHECK_STR(arena_printf(a, "%.*s %.*s", STR_ARG(json_get_str(r, "kind")),
                               STR_ARG(json_get_str(r, "name"))),
                  want[i]);
        CHECK(str_is(json_get_str(r, "namespace"), "n"));
    }
    d = tree(a, "{'apiVersion':'networking.k8s.io/v1','kind':'Ingress','metadata':{'namespace':"
                "'n'},'spec':{'tls':[{'secretName':'t'},{}]}}");
    CHECK(same(a, interp_dependencies(a, d),
               "[{'apiVersion':'v1','kind':'Secret','namespace':'n','name':'t'}]"));
    d = tree(a, "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'template':{'spec':"
                "{'serviceAccountName':'default'}}}}");
    CHECK(json_len(interp_dependencies(a, d)) == 0);
}

TEST(health)
{
    static const struct {
        const char *object;
        enum interp_health want;
    } cases[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':2},'spec':"
          "{'replicas':2},'status':{'observedGeneration':2,'updatedReplicas':2,"
          "'availableReplicas':2}}",
          INTERP_HEALTHY },
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':3},'spec':"
          "{'replicas':2},'status':{'observedGeneration':2,'updatedReplicas':2,"
          "'availableReplicas':2}}",
          INTERP_UNHEALTHY },
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':2},'spec':"
          "{'replicas':2},'status':{'observedGeneration':2,'updatedReplicas':2,"
          "'availableReplicas':1}}",
          INTERP_UNHEALTHY },
        { "{'apiVersion':'apps/v1','kind':'ReplicaSet','spec':{'replicas':1},'status':"
          "{'availableReplicas':1}}",
          INTERP_HEALTHY },
        { "{'apiVersion':'apps/v1','kind':'DaemonSet','status':{'desiredNumberScheduled':1}}",
          INTERP_UNHEALTHY },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'ClusterIP'}}", INTERP_HEALTHY },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'LoadBalancer'}}", INTERP_UNHEALTHY },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'LoadBalancer'},'status':"
          "{'loadBalancer':{'ingress':[{'ip':'192.0.2.1'}]}}}",
          INTERP_HEALTHY },
        { "{'apiVersion':'v1','kind':'Pod','status':{'phase':'Running','conditions':[{'type':"
          "'Ready','status':'True'}]}}",
          INTERP_HEALTHY },
        { "{'apiVersion':'v1','kind':'Pod','status':{'phase':'Running'}}", INTERP_UNHEALTHY },
        { "{'apiVersion':'v1','kind':'Pod','status':{'phase':'Succeeded'}}", INTERP_HEALTHY },
        { "{'apiVersion':'v1','kind':'PersistentVolumeClaim','status':{'phase':'Pending'}}",
          INTERP_UNHEALTHY },
        { "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','status':{'currentHealthy':1,"
          "'desiredHealthy':2}}",
          INTERP_UNHEALTHY },
        { "{'apiVersion':'v1','kind':'ConfigMap'}", INTERP_HEALTHY },
        { "[]", INTERP_HEALTHY },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        if (!CHECK(interp_health(tree(a, cases[i].object)) == cases[i].want))
            printf("# %s\n", cases[i].object);
    }
    CHECK_STR(interp_health_name(INTERP_UNKNOWN), "Unknown");
}

TEST(what_is_shown_of_a_copy)
{
    static const struct {
        const char *object, *want;
    } cases[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':3,'annotations':"
          "{'resourcetemplate.karmada.io/generation':'2'}},'status':{'observedGeneration':3,"
          "'replicas':2,'readyReplicas':0,'conditions':[{}]}}",
          "{'generation':3,'observedGeneration':3,'resourceTemplateGeneration':2,'replicas':2}" },
        { "{'apiVersion':'apps/v1','kind':'DaemonSet','status':{'numberReady':1}}",
          "{'currentNumberScheduled':0,'numberMisscheduled':0,'desiredNumberScheduled':0,"
          "'numberReady':1}" },
        { "{'apiVersion':'batch/v1','kind':'Job','status':{'active':1,'ready':1}}",
          "{'active':1}" },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'ClusterIP'},'status':"
          "{'loadBalancer':{}}}",
          NULL },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'LoadBalancer'},'status':"
          "{'loadBalancer':{'ingress':[]},'conditions':[]}}",
          "{'loadBalancer':{'ingress':[]}}" },
        { "{'apiVersion':'v1','kind':'PersistentVolumeClaim','status':{'phase':'Pending'}}",
          "{'phase':'Pending'}" },
        { "{'apiVersion':'x/v1','kind':'Y','status':{'z':[1]}}", "{'z':[1]}" },
        { "{'apiVersion':'v1','kind':'ConfigMap','data':{}}", NULL },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK(same(a, interp_reflect(a, tree(a, cases[i].object)), cases[i].want));
    }
}

static const struct interp_moment noon = { .now_s = 1767268800 }; /* 2026-01-01T12:00:00Z */

TEST(a_templates_status_is_the_sum)
{
    static const struct {
        const char *object, *items, *want;
    } cases[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':2},'status':"
          "{'conditions':[],'unavailableReplicas':3}}",
          "[{'clusterName':'a','status':{'replicas':2,'readyReplicas':1,'generation':5,"
          "'observedGeneration':5,'resourceTemplateGeneration':2}},"
          "{'clusterName':'b','status':{'replicas':1,'generation':1,'observedGeneration':1,"
          "'resourceTemplateGeneration':2}}]",
          "{'conditions':[],'replicas':3,'readyReplicas':1,'observedGeneration':2}" },
        /* One has not seen the newest template. */
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'generation':3},'status':"
          "{'observedGeneration':2}}",
          "[{'clusterName':'a','status':{'replicas':2,'generation':5,'observedGeneration':5,"
          "'resourceTemplateGeneration':2}}]",
          "{'replicas':2,'observedGeneration':2}" },
        /* One has not said anything. */
        { "{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'generation':1}}",
          "[{'clusterName':'a','status':{'replicas':2,'resourceTemplateGeneration':1}},"
          "{'clusterName':'b'}]",
          "{'replicas':2,'availableReplicas':0}" },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'LoadBalancer'}}",
          "[{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.20'},{'hostname':'b.example'},"
          "{'ip':'192.0.2.10'}]}}},{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.20'}]}}}]",
          "{'loadBalancer':{'ingress':[{'hostname':'b.example'},{'ip':'192.0.2.10'},"
          "{'ip':'192.0.2.20'}]}}" },
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'ClusterIP'}}", "[]", NULL },
        { "{'apiVersion':'v1','kind':'Pod'}",
          "[{'status':{'phase':'Running'}},{'clusterName':'b'}]", "{'phase':'Pending'}" },
        { "{'apiVersion':'v1','kind':'PersistentVolumeClaim'}",
          "[{'status':{'phase':'Bound'}},{'status':{'phase':'Pending'}}]", "{'phase':'Pending'}" },
        { "{'apiVersion':'batch/v1','kind':'CronJob'}",
          "[{'status':{'active':[{'name':'x'}],'lastScheduleTime':'2026-01-01T00:00:00Z'}},"
          "{'status':{'active':[{'name':'y'}],'lastScheduleTime':'2026-01-02T00:00:00Z'}}]",
          "{'active':[{'name':'x'},{'name':'y'}],'lastScheduleTime':'2026-01-02T00:00:00Z'}" },
        { "{'apiVersion':'v1','kind':'ConfigMap'}", "[]", NULL },
        { "{'apiVersion':'apps/v1','kind':'Deployment','status':{'replicas':1}}",
          "[{'status':{'replicas':1}}]", NULL }, /* nothing new */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        if (!CHECK(same(
                a, interp_aggregate(a, tree(a, cases[i].object), tree(a, cases[i].items), &noon),
                cases[i].want)))
            printf("# case %zu\n", i);
    }
}

TEST(a_job_is_complete_when_all_are)
{
    scoped_arena a = arena_new();
    const struct json *job = tree(a, "{'apiVersion':'batch/v1','kind':'Job'}");
    const char *done = "{'clusterName':'a','status':{'succeeded':2,'startTime':"
                       "'2026-01-01T00:00:01Z','completionTime':'2026-01-01T00:00:09Z',"
                       "'conditions':[{'type':'SuccessCriteriaMet','status':'True'},"
                       "{'type':'Complete','status':'True'}]}}";
    const char *started = "{'clusterName':'b','status':{'active':1,'startTime':"
                          "'2026-01-01T00:00:00Z'}}";
    const struct json *now =
        interp_aggregate(a, job, tree(a, arena_printf(a, "[%s,%s]", done, started)), &noon);

    CHECK(same(a, now, "{'active':1,'succeeded':2,'startTime':'2026-01-01T00:00:00Z'}"));
    now = interp_aggregate(a, job, tree(a, arena_printf(a, "[%s]", done)), &noon);
    CHECK(str_is(json_get_str(json_at(json_get(now, STR("conditions")), 0), "type"), "Complete"));
    CHECK(str_is(json_get_str(json_at(json_get(now, STR("conditions")), 1), "reason"),
                 "CompletionsReached"));
    CHECK(str_is(json_get_str(now, "completionTime"), "2026-01-01T00:00:09Z"));
    /* What is finished stays. */
    job = json_set(a, job, "status", now);
    CHECK(!interp_aggregate(a, job, tree(a, arena_printf(a, "[%s]", started)), &noon));
}

/* As the API server takes it: first that it will fail, and that it has once nothing runs. */
TEST(a_job_that_fails_in_a_member_fails)
{
    scoped_arena a = arena_new();
    const struct json *job = tree(a, "{'apiVersion':'batch/v1','kind':'Job'}"), *now;
    const char *failed = "{'clusterName':'c','status':{'failed':2,'startTime':"
                         "'2026-01-01T00:00:01Z','conditions':[{'type':'Failed',"
                         "'status':'True'}]}}";
    const char *runs = "{'clusterName':'b','status':{'active':1}}";
    const char *done = "{'clusterName':'b','status':{'succeeded':1,'startTime':"
                       "'2026-01-01T00:00:00Z','completionTime':'2026-01-01T00:00:09Z',"
                       "'conditions':[{'type':'Complete','status':'True'}]}}";

    now = interp_aggregate(a, job, tree(a, arena_printf(a, "[%s,%s]", failed, runs)), &noon);
    CHECK(json_len(json_get(now, STR("conditions"))) == 1);
    CHECK(str_is(json_get_str(json_at(json_get(now, STR("conditions")), 0), "type"),
                 "FailureTarget"));
    CHECK(str_is(json_get_str(now, "startTime"), "2026-01-01T00:00:01Z"));
    job = json_set(a, job, "status", now);
    now = interp_aggregate(a, job, tree(a, arena_printf(a, "[%s,%s]", failed, done)), &noon);
    CHECK(json_len(json_get(now, STR("conditions"))) == 2);
    CHECK(str_is(json_get_str(json_at(json_get(now, STR("conditions")), 1), "type"), "Failed"));
    CHECK(str_is(json_get_str(json_at(json_get(now, STR("conditions")), 1), "message"),
                 "Job executed failed in member clusters c"));
    CHECK(!json_get(now, STR("completionTime")));
    /* The member with the failure is not there any more: neither is forgotten. */
    now = interp_aggregate(a, job, tree(a, arena_printf(a, "[%s]", done)), &noon);
    CHECK(json_int(json_get(now, STR("failed")), 0) == 2);
    CHECK(json_len(json_get(now, STR("conditions"))) == 1);
    CHECK(!json_get(now, STR("completionTime")));
}

/* Available, then Progressing: "status/reason since, updated". */
static const char *rollout_of(struct arena *a, const struct json *status)
{
    str all = STR("");

    json_for_each (c, json_get(status, STR("conditions")))
        all = str_printf(a, "%.*s%s%.*s/%.*s %.*s %.*s", STR_ARG(all), all.n ? ", " : "",
                         STR_ARG(json_get_str(c, "status")), STR_ARG(json_get_str(c, "reason")),
                         STR_ARG(str_sub(json_get_str(c, "lastTransitionTime"), 11, 5)),
                         STR_ARG(str_sub(json_get_str(c, "lastUpdateTime"), 11, 5)));
    return all.p;
}

#define WEB                                                                              \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','generation':" \
    "1},'spec':{'replicas':8,'progressDeadlineSeconds':600,'strategy':{'type':"          \
    "'RollingUpdate','rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'}}}}"

/* A copy in a cluster with four replicas of the newest template, so many of them ready. */
static const char *copy_of(struct arena *a, const char *cluster, int ready, const char *more)
{
    return arena_printf(a,
                        "{'clusterName':'%s','applied':true,'health':'%s','status':{'replicas':4,"
                        "'updatedReplicas':4,'readyReplicas':%d,'availableReplicas':%d,"
                        "'unavailableReplicas':%d,'generation':1,'observedGeneration':1,"
                        "'resourceTemplateGeneration':1%s}}",
                        cluster, ready == 4 ? "Healthy" : "Unhealthy", ready, ready, 4 - ready,
                        more);
}

TEST(a_deployment_is_available_and_progresses_as_its_copies_do)
{
    static const struct {
        int ready, minutes; /* of the second copy, when */
        const char *more, *want;
    } steps[] = {
        { 0, 0, "",
          "False/MinimumReplicasUnavailable 12:00 12:00, True/ReplicaSetUpdated 12:00 12:00" },
        { 2, 1, "",
          "True/MinimumReplicasAvailable 12:01 12:01, True/ReplicaSetUpdated 12:00 12:00" },
        { 2, 2,
          ",'conditions':[{'type':'Progressing','status':'False','reason':"
          "'ProgressDeadlineExceeded'}]",
          "True/MinimumReplicasAvailable 12:01 12:01, False/ProgressDeadlineExceeded 12:02 12:02" },
        { 4, 3, "",
          "True/MinimumReplicasAvailable 12:01 12:01, True/NewReplicaSetAvailable 12:03 12:03" },
        /* Pods that fail later are no rollout. */
        { 1, 4, "",
          "False/MinimumReplicasUnavailable 12:04 12:04, True/NewReplicaSetAvailable 12:03 12:03" },
    };
    scoped_arena a = arena_new();
    const struct json *web = tree(a, WEB);

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        const struct interp_moment m = { .now_s = noon.now_s + steps[i].minutes * 60 };
        const struct interp_moment later = { .now_s = m.now_s + 30 };
        const struct json *items =
            tree(a, arena_printf(a, "[%s,%s]", copy_of(a, "a", 4, ""),
                                 copy_of(a, "b", steps[i].ready, steps[i].more)));
        const struct json *now = interp_aggregate(a, web, items, &m);

        CHECK_STR(rollout_of(a, now), steps[i].want);
        web = json_set(a, web, "status", now);
        CHECK(!interp_aggregate(a, web, items, &later)); /* nothing new, nothing to write */
    }
}

/* Duplicated: each of two clusters is to have all eight. */
TEST(a_deployment_is_available_when_all_that_was_ordered_is)
{
    scoped_arena a = arena_new();
    const struct interp_moment both = { .wanted = 16, .now_s = noon.now_s };
    const struct json *web = tree(a, WEB), *items;

    items = tree(a, arena_printf(a, "[%s,%s]", copy_of(a, "a", 4, ""), copy_of(a, "b", 4, "")));
    CHECK_STR(rollout_of(a, interp_aggregate(a, web, items, &noon)),
              "True/MinimumReplicasAvailable 12:00 12:00, True/NewReplicaSetAvailable 12:00 12:00");
    CHECK_STR(rollout_of(a, interp_aggregate(a, web, items, &both)),
              "False/MinimumReplicasUnavailable 12:00 12:00, True/ReplicaSetUpdated 12:00 12:00");
}

/* Its replicas are there, as far as is known; whether they are ready is not. */
TEST(what_a_silent_cluster_runs_is_not_known)
{
    scoped_arena a = arena_new();
    const struct json *web = tree(a, WEB), *items, *now, *unknown;
    char *b = str_z(a, str_of(copy_of(a, "b", 4, "")));

    items = tree(a, arena_printf(a, "[%s,%s]", copy_of(a, "a", 4, ""), b));
    web = json_set(a, web, "status", interp_aggregate(a, web, items, &noon));
    b[strlen(b) - 1] = '\0';
    items = tree(a, arena_printf(a, "[%s,%s,'unknownSince':'2026-01-01T11:30:00Z'}]",
                                 copy_of(a, "a", 4, ""), b));
    now = interp_aggregate(a, web, items, &noon);
    CHECK(json_int(json_get(now, STR("replicas")), 0) == 8);
    CHECK(json_int(json_get(now, STR("updatedReplicas")), 0) == 8);
    CHECK(json_int(json_get(now, STR("readyReplicas")), 0) == 4);
    CHECK(json_int(json_get(now, STR("availableReplicas")), 0) == 4);
    CHECK(json_int(json_get(now, STR("unavailableReplicas")), 0) == 4);
    CHECK(json_int(json_get(now, STR("observedGeneration")), 0) == 1);
    CHECK_STR(rollout_of(a, now),
              "False/MinimumReplicasUnavailable 12:00 12:00, True/NewReplicaSetAvailable 12:00 "
              "12:00, True/ClusterNotReady 11:30 ");
    unknown = json_at(json_get(now, STR("conditions")), 2);
    CHECK_STR(str_z(a, json_get_str(unknown, "message")),
              "b (since 2026-01-01T11:30:00Z) is not Ready: what runs there is not known, and "
              "stays unless failover moves it");
    web = json_set(a, web, "status", now);
    CHECK(!interp_aggregate(a, web, items, &noon));
    /* It is back. */
    items = tree(a, arena_printf(a, "[%s,%s]", copy_of(a, "a", 4, ""), copy_of(a, "b", 4, "")));
    now = interp_aggregate(a, web, items, &noon);
    CHECK(json_int(json_get(now, STR("readyReplicas")), 0) == 8);
    CHECK_STR(rollout_of(a, now),
              "True/MinimumReplicasAvailable 12:00 12:00, True/NewReplicaSetAvailable 12:00 12:00");
}

TEST(what_is_the_members_is_kept)
{
    static const struct {
        const char *desired, *observed, *want;
    } cases[] = {
        { "{'apiVersion':'v1','kind':'Service','spec':{'type':'NodePort','ports':[{'port':80},"
          "{'port':81,'nodePort':30000}]}}",
          "{'spec':{'clusterIP':'10.0.0.1','ports':[{'port':80,'nodePort':31000},{'port':81,"
          "'nodePort':31001}]}}",
          "{'apiVersion':'v1','kind':'Service','spec':{'type':'NodePort','clusterIP':'10.0.0.1',"
          "'ports':[{'port':80,'nodePort':31000},{'port':81,'nodePort':30000}]}}" },
        { "{'apiVersion':'v1','kind':'ServiceAccount','secrets':[{'name':'a'}]}",
          "{'secrets':[{'name':'a'},{'name':'b'}]}",
          "{'apiVersion':'v1','kind':'ServiceAccount','secrets':[{'name':'a'},{'name':'b'}]}" },
        { "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':1}}",
          "{'spec':{'replicas':5}}",
          "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':1}}" },
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'labels':"
          "{'resourcetemplate.karmada.io/retain-replicas':'true'}},'spec':{'replicas':1}}",
          "{'spec':{'replicas':5}}",
          "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'labels':"
          "{'resourcetemplate.karmada.io/retain-replicas':'true'}},'spec':{'replicas':5}}" },
        { "{'apiVersion':'v1','kind':'Pod','spec':{'containers':[{'name':'x'}]}}",
          "{'spec':{'nodeName':'n','volumes':[],'containers':[{'name':'x','volumeMounts':[1]}]}}",
          "{'apiVersion':'v1','kind':'Pod','spec':{'nodeName':'n','volumes':[],'containers':"
          "[{'name':'x','volumeMounts':[1]}]}}" },
        { "{'apiVersion':'batch/v1','kind':'Job','spec':{'selector':{'matchLabels':{}}}}",
          "{'spec':{'selector':{'matchLabels':{'controller-uid':'u'}}}}",
          "{'apiVersion':'batch/v1','kind':'Job','spec':{'selector':{'matchLabels':"
          "{'controller-uid':'u'}}}}" },
        { "{'apiVersion':'v1','kind':'PersistentVolumeClaim','spec':{}}",
          "{'spec':{'volumeName':'v'}}",
          "{'apiVersion':'v1','kind':'PersistentVolumeClaim','spec':{'volumeName':'v'}}" },
        { "{'apiVersion':'v1','kind':'ConfigMap','data':{}}", "{'data':{'a':'b'}}",
          "{'apiVersion':'v1','kind':'ConfigMap','data':{}}" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK(same(a, interp_retain(a, tree(a, cases[i].desired), tree(a, cases[i].observed)),
                   cases[i].want));
    }
}

TEST(what_is_not_sent_to_members)
{
    static const struct {
        const char *object, *want;
    } cases[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'x','uid':'u',"
          "'resourceVersion':'1','generation':1,'creationTimestamp':'t','managedFields':[],"
          "'ownerReferences':[],'finalizers':['f'],'annotations':{'a':'b',"
          "'deployment.kubernetes.io/revision':'1'}},'spec':{},'status':{}}",
          "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'x','annotations':"
          "{'a':'b'}},'spec':{}}" },
        { "{'apiVersion':'v1','kind':'Service','metadata':{},'spec':{'clusterIP':'10.0.0.1',"
          "'clusterIPs':['10.0.0.1']}}",
          "{'apiVersion':'v1','kind':'Service','metadata':{},'spec':{}}" },
        { "{'apiVersion':'v1','kind':'Service','spec':{'clusterIP':'None'}}",
          "{'apiVersion':'v1','kind':'Service','spec':{'clusterIP':'None'}}" },
        { "{'apiVersion':'batch/v1','kind':'Job','spec':{'ttlSecondsAfterFinished':1,'selector':"
          "{'matchLabels':{'controller-uid':'u'}},'template':{'metadata':{'labels':{'a':'b',"
          "'job-name':'x','batch.kubernetes.io/job-name':'x'}}}}}",
          "{'apiVersion':'batch/v1','kind':'Job','spec':{'selector':{'matchLabels':{}},"
          "'template':{'metadata':{'labels':{'a':'b'}}}}}" },
        { "{'apiVersion':'v1','kind':'Secret','type':'kubernetes.io/service-account-token',"
          "'data':{'token':'t'}}",
          "{'apiVersion':'v1','kind':'Secret','type':'kubernetes.io/service-account-token'}" },
        { "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'s'},'secrets':"
          "[{'name':'s-token-x'},{'name':'s-token-y'},{'name':'mine'}]}",
          "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'s'},'secrets':"
          "[{'name':'mine'}]}" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();

        CHECK(same(a, interp_prune(a, tree(a, cases[i].object)), cases[i].want));
    }
}
