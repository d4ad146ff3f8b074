/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

/* Classes that are the default of their instance. */

#define CLAIMS     "/api/v1/namespaces/default/persistentvolumeclaims"
#define STORAGE    "/apis/storage.k8s.io/v1/storageclasses"
#define PRIORITIES "/apis/scheduling.k8s.io/v1/priorityclasses"

static void make_storage(struct rig *r, const char *name, const char *mark)
{
    CHECK(ask_api(r, "POST", STORAGE,
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"%s\",\"annotations\":{"
                               "\"storageclass.kubernetes.io/is-default-class\":\"%s\"}},"
                               "\"provisioner\":\"example.com/disk\"}",
                               name, mark),
                  NULL) == 200);
}

/* The class of a new claim; "-": none. */
static const char *class_of_claim(struct rig *r, const char *name, const char *spec)
{
    const struct json *v = NULL;
    str class;

    CHECK(ask_api(r, "POST", CLAIMS,
                  arena_printf(r->arena,
                               "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                               "\"accessModes\":[\"ReadWriteOnce\"],"
                               "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
                               name, spec),
                  &v) == 200);
    class = json_get_str(v, "spec.storageClassName");
    return json_path(v, "spec.storageClassName") ? str_z(r->arena, class) : "-";
}

TEST(a_claim_gets_the_default_storage_class)
{
    struct rig r;

    rig_open(&r);
    CHECK_STR(class_of_claim(&r, "before", ""), "-");
    make_storage(&r, "slow", "false");
    CHECK_STR(class_of_claim(&r, "none", ""), "-");
    make_storage(&r, "fast", "true");
    CHECK_STR(class_of_claim(&r, "given", ""), "fast");
    CHECK_STR(class_of_claim(&r, "named", "\"storageClassName\":\"slow\","), "slow");
    CHECK_STR(class_of_claim(&r, "empty", "\"storageClassName\":\"\","), "");
    rig_close(&r);
}

static int make_priority(struct rig *r, const char *name, const char *global)
{
    return ask_api(r, "POST", PRIORITIES,
                   arena_printf(r->arena,
                                "{\"metadata\":{\"name\":\"%s\"},\"value\":7,\"globalDefault\":%s}",
                                name, global),
                   NULL);
}

TEST(one_priority_class_is_the_default)
{
    struct rig r;

    rig_open(&r);
    CHECK(make_priority(&r, "a", "true") == 200);
    CHECK(make_priority(&r, "b", "false") == 200);
    CHECK(make_priority(&r, "c", "true") == 403);
    CHECK_STR(str_z(r.arena, r.st.message),
              "priorityclasses.scheduling.k8s.io \"c\" is forbidden: PriorityClass a is already "
              "marked as default. Only one default can exist");
    CHECK(ask_api(&r, "PATCH", PRIORITIES "/a", "{\"description\":\"still it\"}", NULL) == 200);
    CHECK(ask_api(&r, "PATCH", PRIORITIES "/b", "{\"globalDefault\":true}", NULL) == 403);
    CHECK(ask_api(&r, "DELETE", PRIORITIES "/a", "", NULL) == 200);
    CHECK(ask_api(&r, "PATCH", PRIORITIES "/b", "{\"globalDefault\":true}", NULL) == 200);
    rig_close(&r);
}

#define PODS    "/api/v1/namespaces/default/pods"
#define RUNTIME "/apis/node.k8s.io/v1/runtimeclasses"

static int make_pod(struct rig *r, const char *name, const char *spec, const struct json **v)
{
    return ask_api(r, "POST", PODS,
                   arena_printf(r->arena,
                                "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                                "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                                name, spec),
                   v);
}

TEST(a_runtime_class_says_what_it_costs_and_where_it_runs)
{
    const struct json *v = NULL;
    struct rig r;

    rig_open(&r);
    CHECK(ask_api(&r, "POST", RUNTIME,
                  "{\"metadata\":{\"name\":\"gv\"},\"handler\":\"gv\","
                  "\"overhead\":{\"podFixed\":{\"cpu\":\"250m\"}},"
                  "\"scheduling\":{\"nodeSelector\":{\"run\":\"gv\"},\"tolerations\":["
                  "{\"key\":\"gv\",\"operator\":\"Exists\"},"
                  "{\"key\":\"own\",\"operator\":\"Equal\",\"value\":\"x\"}]}}",
                  NULL) == 200);
    CHECK(make_pod(&r, "a",
                   "\"runtimeClassName\":\"gv\",\"nodeSelector\":{\"disk\":\"fast\"},"
                   "\"tolerations\":[{\"key\":\"gv\",\"value\":\"y\",\"effect\":\"NoSchedule\"}],",
                   &v) == 200);
    CHECK_STR(str_z(r.arena, json_get_str(v, "spec.overhead.cpu")), "250m");
    CHECK_STR(str_z(r.arena, json_text(r.arena, json_path(v, "spec.nodeSelector"))),
              "{\"disk\":\"fast\",\"run\":\"gv\"}");
    /* Of two that tolerate the same the wider one is kept; the two that every pod gets follow. */
    CHECK(json_len(json_path(v, "spec.tolerations")) == 4);

    CHECK(make_pod(&r, "b", "\"runtimeClassName\":\"none\",", NULL) == 403);
    CHECK_STR(str_z(r.arena, r.st.message),
              "pods \"b\" is forbidden: pod rejected: RuntimeClass \"none\" not found");
    CHECK(make_pod(&r, "b", "\"overhead\":{\"cpu\":\"1\"},", NULL) == 403);
    CHECK_STR(str_z(r.arena, r.st.message),
              "pods \"b\" is forbidden: pod rejected: Pod Overhead set without corresponding "
              "RuntimeClass defined Overhead");
    CHECK(make_pod(&r, "b", "\"runtimeClassName\":\"gv\",\"overhead\":{\"cpu\":\"1\"},", NULL) ==
          403);
    CHECK(make_pod(&r, "b", "\"runtimeClassName\":\"gv\",\"nodeSelector\":{\"run\":\"x\"},",
                   NULL) == 403);
    CHECK_STR(str_z(r.arena, r.st.message),
              "pods \"b\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[run] = gv; "
              "pod.spec.nodeSelector[run] = x");
    rig_close(&r);
}
