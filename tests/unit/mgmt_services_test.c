/* SPDX-License-Identifier: Apache-2.0 */

/* Instances, and services that came after them, over an instance without members. */

#include "mgmt_rig.h"
#include "object/meta/unserved.h"
#include "rpc/api.h"
#include "tap.h"

#define IN       "\"namespace\":\"default\","
#define AT(name) "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"" name "\"}"
#define POD \
    "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"busybox:1\"}]}"
#define JOB "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":" POD "}}}"
#define CRONJOB(schedule)                                                     \
    "{\"metadata\":{\"name\":\"nightly\"},\"spec\":{\"schedule\":\"" schedule \
    "\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":" POD "}}}}}"
#define CRD(plural, kind, scope)                                                               \
    "{\"metadata\":{\"name\":\"" plural ".example.com\"},\"spec\":{\"group\":\"example.com\"," \
    "\"scope\":\"" scope "\",\"names\":{\"plural\":\"" plural "\",\"kind\":\"" kind "\"},"     \
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"             \
    "\"openAPIV3Schema\":{\"type\":\"object\","                                                \
    "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"
#define GVR(resource)                                                                             \
    "\"instance\":\"demo\",\"group\":\"example.com\",\"version\":\"v1\",\"resource\":\"" resource \
    "\""
#define WIDGETS GVR("widgets") ",\"namespace\":\"default\""

static str path(const struct json *v, const char *at)
{
    return json_get_str(v, at);
}

static const struct json *admin(struct bed *b, const char *method, const char *request)
{
    return bed_ok(b, &bed_admin, method, request);
}

TEST(a_job_is_made_read_and_made_anew)
{
    const struct json *v;
    const char *uid;
    struct bed b;

    bed_open(&b);
    (void)admin(&b, "Batch/CreateJob", bed_data(&b, IN, JOB));
    v = admin(&b, "Batch/GetJob", AT("j"));
    CHECK(str_is(path(v, "status.phase"), "Waiting"));
    uid = str_z(b.rig.arena, path(v, "metadata.uid"));
    CHECK_STR(bed_names(&b, admin(&b, "Batch/ListJobs", AT(""))), "j");
    CHECK_STR(bed_names(&b, admin(&b, "Batch/ListInstanceJobs",
                                  "{\"instance\":\"demo\",\"phase\":\"completed\"}")),
              "");
    CHECK_STR(bed_names(&b, admin(&b, "Batch/ListInstanceJobs",
                                  "{\"instance\":\"demo\",\"fuzzyName\":\"k\"}")),
              "");
    bed_refused(&b, &bed_admin, "Batch/RestartJob",
                "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"j\","
                "\"resourceVersion\":\"1\"}",
                REASON_CONFLICT);
    v = admin(&b, "Batch/RestartJob", AT("j"));
    CHECK(!str_is(path(v, "job.metadata.uid"), uid));
    CHECK(str_eq(path(admin(&b, "Batch/GetJob", AT("j")), "metadata.uid"),
                 path(v, "job.metadata.uid")));
    (void)admin(&b, "Batch/DeleteJob", AT("j"));
    bed_refused(&b, &bed_admin, "Batch/RestartJob", AT("j"), REASON_NOT_FOUND);
    bed_close(&b);
}

TEST(a_job_that_would_not_go_is_not_made_anew)
{
    struct bed b;

    bed_open(&b);
    (void)admin(&b, "Batch/CreateJob",
                bed_data(&b, IN,
                         "{\"metadata\":{\"name\":\"j\",\"finalizers\":[\"example.com/x\"]},"
                         "\"spec\":{\"template\":{\"spec\":" POD "}}}"));
    bed_refused(&b, &bed_admin, "Batch/RestartJob", AT("j"), REASON_CONFLICT);
    CHECK(
        !json_int(json_path(admin(&b, "Batch/GetJob", AT("j")), "metadata.deletionTimestamp"), 0));
    bed_close(&b);
}

TEST(a_cronjob_is_paused_and_resumed)
{
    const struct json *v;
    struct bed b;

    bed_open(&b);
    (void)admin(&b, "Batch/CreateCronJob", bed_data(&b, IN, CRONJOB("0 1 * * *")));
    v = admin(&b, "Batch/PauseCronJob", AT("nightly"));
    CHECK(json_bool(json_path(v, "cronjob.spec.paused")));
    CHECK(str_is(path(v, "cronjob.status.phase"), "Stopped"));
    CHECK_STR(bed_names(&b, admin(&b, "Batch/ListInstanceCronJobs",
                                  "{\"instance\":\"demo\",\"phase\":\"Stopped\"}")),
              "nightly");
    (void)admin(&b, "Batch/ResumeCronJob", AT("nightly"));
    (void)admin(&b, "Batch/UpdateCronJob", bed_data(&b, IN, CRONJOB("0 2 * * *")));
    v = admin(&b, "Batch/GetCronJob", AT("nightly"));
    CHECK(str_is(path(v, "spec.schedule"), "0 2 * * *"));
    CHECK(str_is(path(v, "status.phase"), "Waiting"));
    CHECK(str_is(json_str(json_at(json_path(v, "images"), 0)), "busybox:1"));
    bed_refused(&b, &bed_admin, "Batch/UpdateCronJob", bed_data(&b, IN, "{}"), REASON_BAD_REQUEST);
    CHECK(b.rig.st.causes && str_is(b.rig.st.causes->field, "data.metadata.name"));
    bed_close(&b);
}

TEST(an_ingress_is_made_and_patched)
{
    const struct json *v;
    struct bed b;

    bed_open(&b);
    (void)admin(
        &b, "Networking/CreateIngress",
        bed_data(&b, IN,
                 "{\"metadata\":{\"name\":\"i\"},\"spec\":{\"rules\":[{\"host\":\"a.example\","
                 "\"http\":{\"paths\":[{\"path\":\"/\",\"pathType\":\"Prefix\",\"backend\":{"
                 "\"service\":{\"name\":\"s\",\"port\":{\"number\":80}}}}]}}]}}"));
    v = json_at(json_path(admin(&b, "Networking/GetIngress", AT("i")), "spec.rules"), 0);
    CHECK(str_is(path(v, "host"), "a.example"));
    v = json_at(json_path(v, "http.paths"), 0);
    CHECK(json_int(json_path(v, "backend.service.port.number"), 0) == 80);
    (void)admin(&b, "Networking/PatchIngress",
                "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"i\","
                "\"data\":{\"spec\":\"{\\\"ingressClassName\\\":\\\"nginx\\\"}\"}}");
    v = admin(&b, "Networking/GetIngress", AT("i"));
    CHECK(str_is(path(v, "spec.ingressClassName"), "nginx"));
    bed_refused(&b, &bed_admin, "Networking/ListIngressClassForMemberCluster",
                "{\"instance\":\"demo\",\"cluster\":\"m1\"}", REASON_NOT_FOUND);
    bed_close(&b);
}

TEST(autoscalers_are_found_by_what_they_scale)
{
    const struct json *v;
    struct bed b;

    bed_open(&b);
    (void)admin(
        &b, "Autoscaling/CreateFederatedHPA",
        bed_data(&b, IN,
                 "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":"
                 "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"minReplicas\":1,"
                 "\"maxReplicas\":5}}"));
    v = admin(&b, "Autoscaling/GetFederatedHPA", AT("h"));
    CHECK(json_int(json_path(v, "fhpa.spec.maxReplicas"), 0) == 5);
    CHECK(str_is(path(v, "fhpa.status.phase"), "NotReady"));
    CHECK_STR(bed_names(&b, admin(&b, "Autoscaling/ListInstanceFederatedHPAs",
                                  "{\"instance\":\"demo\",\"kind\":\"Deployment\"}")),
              "h");
    CHECK_STR(bed_names(&b, admin(&b, "Autoscaling/ListFederatedHPAs",
                                  "{\"instance\":\"demo\",\"namespace\":\"default\","
                                  "\"kind\":\"StatefulSet\"}")),
              "");
    bed_close(&b);
}

static void define(struct bed *b)
{
    const struct json *v;

    (void)admin(b, "Apiextensions/CreateCustomResourceDefinition",
                bed_data(b, "", CRD("widgets", "Widget", "Namespaced")));
    v = admin(b, "Apiextensions/GetCustomResourceDefinition",
              "{\"instance\":\"demo\",\"name\":\"widgets.example.com\"}");
    CHECK(str_is(path(v, "spec.scope"), "NAMESPACED"));
    v = admin(b, "Apiextensions/ListCustomResourceDefinitionGroups", "{\"instance\":\"demo\"}");
    CHECK(str_is(json_str(json_at(json_path(v, "items"), 0)), "example.com"));
    CHECK_STR(bed_names(b, admin(b, "Apiextensions/ListCustomResourceDefinitions",
                                 "{\"instance\":\"demo\",\"group\":\"other.example\"}")),
              "");
}

/* What says which kind it is comes from the definition, not from the caller. */
TEST(custom_resources_are_those_of_a_definition)
{
    static const struct {
        const char *request;
        enum reason why;
    } refused[] = {
        { "{" GVR("nothings") ",\"namespace\":\"default\"}", REASON_NOT_FOUND },
        { "{\"instance\":\"demo\",\"group\":\"example.com\",\"version\":\"v9\","
          "\"resource\":\"widgets\",\"namespace\":\"default\"}",
          REASON_NOT_FOUND },
        { "{\"instance\":\"demo\",\"group\":\"apps\",\"version\":\"v1\","
          "\"resource\":\"deployments\",\"namespace\":\"default\"}",
          REASON_NOT_FOUND },
    };
    struct bed b;

    bed_open(&b);
    define(&b);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        bed_refused(&b, &bed_admin, "Apiextensions/ListCustomResources", refused[i].request,
                    refused[i].why);
    bed_refused(&b, &bed_admin, "Apiextensions/ListClusterCustomResources", "{" GVR("widgets") "}",
                REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, "Apiextensions/PatchCustomResource",
                "{" WIDGETS ",\"name\":\"w\",\"data\":\"{}\",\"subResources\":[\"../x\"]}",
                REASON_BAD_REQUEST);
    bed_close(&b);
}

static bool is_bound(struct bed *b, const char *workspace)
{
    const struct json *v = admin(b, "Workspace/ListInstances", "{\"instance\":\"dem\"}");

    v = json_at(json_path(v, "items"), 0);
    return str_is(path(v, "instance"), "demo") && str_is(path(v, "workspace.workspace"), workspace);
}

TEST(an_instance_is_bound_to_a_workspace)
{
    static const char bind[] = "{\"instance\":\"demo\",\"workspace\":{\"workspace\":\"team\"},"
                               "\"action\":\"BIND\"}";
    struct bed b;

    bed_open(&b);
    bed_role(&b, "Editor"); /* in team, which has demo */
    CHECK(is_bound(&b, "team"));
    CHECK(json_len(json_path(bed_ok(&b, &bed_jane, "Workspace/ListWorkspaces", "{}"), "items")) ==
          1);
    bed_refused(&b, &bed_jane, "Workspace/BindInstances",
                "{\"instance\":\"demo\",\"action\":\"UNBIND\"}", REASON_FORBIDDEN);
    (void)admin(&b, "Workspace/BindInstances", "{\"instance\":\"demo\",\"action\":\"UNBIND\"}");
    CHECK(is_bound(&b, ""));
    bed_refused(&b, &bed_admin, "Workspace/BindInstances",
                "{\"instance\":\"demo\",\"action\":\"UNBIND\"}", REASON_NOT_FOUND);
    (void)admin(&b, "Workspace/BindInstances", bind);
    (void)admin(&b, "Workspace/BindInstances", bind); /* is as good */
    CHECK(is_bound(&b, "team"));
    bed_refused(&b, &bed_admin, "Workspace/BindInstances", "{\"instance\":\"demo\"}",
                REASON_BAD_REQUEST);
    bed_refused(&b, &bed_admin, "Workspace/BindInstances",
                "{\"instance\":\"none\",\"workspace\":{\"workspace\":\"team\"},"
                "\"action\":\"BIND\"}",
                REASON_INVALID);
    bed_close(&b);
}

TEST(a_person_without_a_role_sees_no_workspace)
{
    struct bed b;

    bed_open(&b);
    bed_role(&b, "Viewer");
    CHECK(!json_len(json_path(
        bed_ok(&b, &(struct identity){ .user = STR("joe"), .groups = bed_people, .ngroups = 1 },
               "Workspace/ListInstances", "{}"),
        "items")));
    bed_close(&b);
}

TEST(a_request_for_an_instance_is_refused_with_its_field)
{
    static const struct {
        const char *method, *request, *why;
    } rows[] = {
        { "CreateInstance", "{\"cluster\":\"nowhere\",\"data\":{\"metadata\":{\"name\":\"x\"}}}",
          "cluster: " },
        { "CreateInstance", "{\"data\":{\"metadata\":{\"name\":\"config\"}}}", "metadata.name: " },
        { "UpdateInstance",
          "{\"name\":\"demo\",\"data\":\"{\\\"metadata\\\":{\\\"name\\\":\\\"other\\\"}}\"}",
          "data.metadata.name: " },
        { "ListInstances", "{\"pageSize\":-1}", "pageSize: " },
        { "ListInstances", "{\"page\":-1}", "page: " },
    };
    struct bed b;

    bed_open(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *method = arena_printf(b.rig.arena, "Instance/%s", rows[i].method);

        if (!CHECK(!bed_call(&b, &bed_admin, method, rows[i].request) &&
                   str_contains(b.rig.st.message, str_of(rows[i].why))))
            printf("# %s: %.*s\n", method, STR_ARG(b.rig.st.message));
    }
    bed_close(&b);
}

TEST(an_instance_is_read_as_it_is_now)
{
    static const char demo[] = "/apis/tenancy.kairship.io/v1alpha1/instances/demo";
    const struct json *v;
    struct bed b;

    bed_open(&b);
    for (int i = 0; i < 20; i++) {
        const char *alias = arena_printf(b.rig.arena, "a%d", i);
        const char *patch = arena_printf(b.rig.arena, "{\"spec\":{\"alias\":\"%s\"}}", alias);

        CHECK(ask_api(&b.rig, "PATCH", demo, patch, NULL) == 200);
        v = admin(&b, "Instance/GetInstance", "{\"name\":\"demo\"}");
        v = json_get(json_path(v, "metadata.annotations"), STR("kairship.io/alias"));
        CHECK(str_is(json_str(v), alias));
    }
    v = admin(&b, "Instance/GetInstanceJSON", "{\"name\":\"demo\"}");
    CHECK(str_contains(path(v, "data"), STR("\"managedFields\"")));
    bed_refused(&b, &bed_admin, "Instance/GetInstance", "{\"name\":\"none\"}", REASON_NOT_FOUND);
    bed_refused(&b, &bed_jane, "Instance/GetInstance", "{\"name\":\"none\"}", REASON_FORBIDDEN);
    bed_close(&b);
}

TEST(a_write_by_an_rpc_is_warned_too)
{
    struct bed b;

    bed_open(&b);
    (void)admin(&b, "Instance/UpdateInstanceDescheduler",
                "{\"instance\":\"demo\",\"enabled\":true}");
    CHECK_STR(str_z(b.rig.arena, b.warning),
              "spec.settings.descheduler.enabled is not served: no replica is moved because it "
              "cannot be scheduled");
    (void)admin(&b, "Instance/UpdateInstanceDescheduler",
                "{\"instance\":\"demo\",\"enabled\":false}");
    CHECK(!b.warning.n);
    bed_close(&b);
}

TEST(an_rpc_that_is_not_built_says_so)
{
    struct bed b;
    size_t n = 0;

    bed_open(&b);
    for (size_t i = 0; i < unserved_count; i++) {
        const struct unserved *row = &unserved_rows[i];

        if (strcmp(row->group, "rpc") != 0)
            continue;
        bed_refused(&b, &bed_admin, arena_printf(b.rig.arena, "%s/%s", row->kind, row->path), "{}",
                    REASON_METHOD_NOT_ALLOWED);
        CHECK_STR(str_z(b.rig.arena, b.rig.st.message),
                  str_z(b.rig.arena, unserved_sentence(b.rig.arena, row)));
        n++;
    }
    CHECK(n > 0);
    bed_close(&b);
}

static bool is_answered(const struct rpc_implementation *all, size_t n, str service, str method)
{
    for (size_t i = 0; i < n; i++)
        for (size_t m = 0; str_is(service, all[i].service) && m < all[i].nhandlers; m++)
            if (str_is(method, all[i].handlers[m].method))
                return true;
    return false;
}

/* So that what is not built has its row in the table. */
TEST(each_rpc_of_the_api_is_answered)
{
    struct mgmt *mgmt = mgmt_new();
    size_t n, methods = 0;
    const struct rpc_implementation *all = mgmt_implementations(mgmt, &n);

    for (size_t f = 0; f < kairship_api.nfiles; f++)
        for (size_t s = 0; s < kairship_api.files[f].nservices; s++) {
            const struct rpc_service *service = &kairship_api.files[f].services[s];

            if (!str_starts(service->name, STR("kairship.io.")))
                continue; /* health and reflection */
            for (size_t m = 0; m < service->nmethods; m++, methods++)
                if (!CHECK(is_answered(all, n, service->name, service->methods[m].name)))
                    printf("# %.*s/%.*s\n", STR_ARG(service->name),
                           STR_ARG(service->methods[m].name));
        }
    CHECK(methods > 100);
    mgmt_free(mgmt);
}
