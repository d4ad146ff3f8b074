/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"
#include "tap.h"

/* Credentials inside of an object: who may not read Secrets writes it all the same, and sees none.
 */

#define CLUSTERS "/apis/workload.kcp.dev/v1alpha1/clusters"
#define RBAC     "/apis/rbac.authorization.k8s.io/v1"

struct bed {
    struct rig rig;
    struct client *clerk;
    const struct json *seen;
};

static void make_clerk(void *arg)
{
    static const str groups[] = { STR_INIT("system:authenticated") };
    static const struct identity clerk = { .user = STR_INIT("clerk"),
                                           .groups = groups,
                                           .ngroups = 1 };
    struct bed *b = arg;

    b->clerk = client_new(server_local_as(b->rig.host->server, b->rig.host->loop, &clerk));
}

static void free_clerk(void *arg)
{
    client_free(((struct bed *)arg)->clerk);
}

static void bed_open(struct bed *b)
{
    static const char *const objects[][2] = {
        { RBAC "/clusterroles",
          "{\"metadata\":{\"name\":\"clerk\"},\"rules\":[{\"apiGroups\":["
          "\"workload.kcp.dev\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}" },
        { RBAC "/clusterrolebindings",
          "{\"metadata\":{\"name\":\"clerk\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s."
          "io\",\"kind\":\"ClusterRole\",\"name\":\"clerk\"},\"subjects\":[{\"kind\":\"User\","
          "\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"clerk\"}]}" },
        { CLUSTERS,
          "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"kubeconfig\":\"{current-context: c, "
          "clusters: [{name: c, cluster: {server: 'https://m1.example'}}], contexts: [{name: c, "
          "context: {cluster: c, user: c}}], users: [{name: c, user: {token: geheim}}]}\"}}" },
    };

    rig_open(&b->rig);
    loop_call_wait(b->rig.host->loop, make_clerk, b);
    for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
        CHECK(ask_api(&b->rig, "POST", objects[i][0], objects[i][1], NULL) == 200);
}

static void bed_close(struct bed *b)
{
    loop_call_wait(b->rig.host->loop, free_clerk, b);
    rig_close(&b->rig);
}

/* The code; what it said is in b->seen. */
static int as_clerk(struct bed *b, const char *method, const char *path, const char *body)
{
    struct client *admin = b->rig.client;
    int code;

    b->seen = &json_null;
    b->rig.client = b->clerk;
    code = ask_api(&b->rig, method, path, body, &b->seen);
    b->rig.client = admin;
    return code;
}

static bool shows(struct bed *b)
{
    return str_contains(json_text(b->rig.arena, b->seen), STR("geheim"));
}

static bool has_it(struct bed *b)
{
    CHECK(ask_api(&b->rig, "GET", CLUSTERS "/east", "", &b->seen) == 200);
    return shows(b);
}

TEST(reads_show_where_it_is)
{
    struct bed b;

    bed_open(&b);
    CHECK(has_it(&b));
    CHECK(as_clerk(&b, "GET", CLUSTERS "/east", "") == 200 && !shows(&b));
    CHECK(str_is(json_get_str(b.seen, "spec.kubeconfig"), "# in Secret kube-system/cluster-east"));
    CHECK(str_is(json_get_str(b.seen, "kind"), "Cluster"));
    CHECK(as_clerk(&b, "GET", CLUSTERS, "") == 200 && !shows(&b));
    CHECK(json_len(json_get(b.seen, STR("items"))) == 1);
    bed_close(&b);
}

TEST(writes_keep_it_and_do_not_tell_it)
{
    struct bed b;
    const char *text;

    bed_open(&b);
    CHECK(as_clerk(&b, "GET", CLUSTERS "/east", "") == 200);
    text = str_z(b.rig.arena, json_text(b.rig.arena, b.seen));
    CHECK(as_clerk(&b, "PUT", CLUSTERS "/east", text) == 200 && !shows(&b));
    CHECK(has_it(&b));
    CHECK(as_clerk(&b, "PATCH", CLUSTERS "/east", "{\"spec\":{\"unschedulable\":true}}") == 200);
    CHECK(!shows(&b) && has_it(&b));
    CHECK(as_clerk(&b, "PATCH", CLUSTERS "/east?dryRun=All",
                   "{\"spec\":{\"unschedulable\":false}}") == 200);
    CHECK(!shows(&b));
    CHECK(as_clerk(&b, "PATCH", CLUSTERS "/east", "{\"spec\":{\"kubeconfig\":\"x\"}}") == 422);
    CHECK(!shows(&b) && has_it(&b));
    CHECK(as_clerk(&b, "DELETE", CLUSTERS "/east", "") == 200 && !shows(&b));
    bed_close(&b);
}
