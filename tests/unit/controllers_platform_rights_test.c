/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/platform/ghippo_webhook.h"
#include "rest/upgrade.h"
#include "server_rig.h"
#include "tap.h"

/* What gives rights goes with what they are on: the controllers of that, against a whole server. */

#define IAM        "/apis/iam.kairship.io/v1alpha1"
#define INSTANCES  "/apis/tenancy.kairship.io/v1alpha1/instances"
#define REGISTERED IAM "/gproductresources/kairship.demo"
#define IN_DEMO    "/clusters/demo"
#define WORKS      IN_DEMO "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"
#define CLUSTERS   IN_DEMO "/apis/cluster.karmada.io/v1alpha1/clusters"

enum { PARTS = 4, WAIT_MS = 10000 };

struct bed {
    struct rig rig;
    struct client *clients[PARTS];
    size_t n;
    struct controller_group *group;
    struct ghippo_webhook ghippo_webhook;
};

static void start(struct bed *b, const struct controller_spec *of, void *arg)
{
    struct host *h = b->rig.host;
    str user = str_printf(h->arena, "system:kairship:%s", of->name);
    struct controller_spec spec = *of;

    spec.arg = arg;
    b->clients[b->n] = client_new(server_local_transport(h->server, h->loop, user));
    (void)controller_group_start(b->group, &spec, b->clients[b->n++]);
}

static void bed_open(struct bed *b)
{
    *b = (struct bed){ .n = 0 };
    rig_open(&b->rig);
    b->group = controller_group_new(2);
    start(b, &instance_registry_controller, NULL);
}

static void free_clients(void *arg)
{
    struct bed *b = arg;

    for (size_t i = 0; i < b->n; i++)
        client_free(b->clients[i]);
}

static void bed_close(struct bed *b)
{
    controller_group_free(b->group);
    ghippo_webhook_release(&b->ghippo_webhook);
    loop_call_wait(b->rig.host->loop, free_clients, b);
    rig_close(&b->rig);
}

/* What is at the path of the object, as text; "" when there is none. */
static const char *at(struct bed *b, const char *url, const char *path)
{
    const struct json *v = NULL;

    if (ask_api(&b->rig, "GET", url, "", &v) != 200)
        return "";
    v = json_path(v, path);
    return v ? str_z(b->rig.arena,
                     json_is(v, JSON_STRING) ? json_str(v) : json_text(b->rig.arena, v))
             : "";
}

/* All of them stand in the text. */
static bool names(const char *text, const char *const *words, bool there)
{
    for (size_t i = 0; words[i]; i++)
        if (!strstr(text, words[i]) == there)
            return false;
    return true;
}

static bool comes_to(struct bed *b, const char *url, const char *path, const char *const *words,
                     bool there)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        if (names(at(b, url, path), words, there))
            return true;
        (void)usleep(10000);
    }
    printf("# %s %s: %s\n", url, path, at(b, url, path));
    return false;
}

static void post(struct bed *b, const char *path, const char *body)
{
    int code = ask_api(&b->rig, "POST", path, body, NULL);

    CHECK(code == 200);
    if (code != 200)
        printf("# POST %s %s: %.*s\n", path, body, STR_ARG(b->rig.st.message));
}

static const char *const yes[] = { "true", NULL };

static void make_demo(struct bed *b)
{
    const char *const demo[] = { "demo", NULL };

    post(b, INSTANCES, "{\"metadata\":{\"name\":\"demo\"}}");
    CHECK(comes_to(b, REGISTERED, "spec.resourceName", demo, true));
}

static void end_demo(struct bed *b)
{
    CHECK(ask_api(&b->rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    for (int ms = 0; ms < WAIT_MS && *at(b, INSTANCES "/demo", "metadata.name"); ms += 10)
        (void)usleep(10000);
    CHECK(!*at(b, INSTANCES "/demo", "metadata.name"));
}

static void make_team(struct bed *b, const char *name, const char *members)
{
    post(b, IAM "/workspaces",
         arena_printf(b->rig.arena,
                      "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"resources\":[{\"resourceName\":"
                      "\"demo\"}],\"members\":[%s]}}",
                      name, members));
}

TEST(entries_go_with_what_they_name)
{
    static const char *const ann[] = { "\"ann\"", NULL }, *const demo[] = { "\"demo\"", NULL },
                             *const devs[] = { "\"devs\"", NULL },
                             *const bob[] = { "\"bob\"", NULL };
    struct bed b;

    bed_open(&b);
    start(&b, &rights_cleanup_controller, NULL);
    make_demo(&b);
    post(&b, IAM "/users", "{\"metadata\":{\"name\":\"ann\"}}");
    post(&b, IAM "/groups", "{\"metadata\":{\"name\":\"devs\"},\"spec\":{\"members\":[\"ann\"]}}");
    post(&b, IAM "/platformroles",
         "{\"metadata\":{\"name\":\"all\"},\"spec\":{\"members\":[{\"name\":\"ann\"},{\"kind\":"
         "\"Group\",\"name\":\"devs\"}]}}");
    make_team(&b, "team",
              "{\"name\":\"ann\",\"role\":\"Admin\"},{\"name\":\"bob\",\"role\":\"Viewer\"}");
    CHECK(ask_api(&b.rig, "DELETE", IAM "/users/ann", "", NULL) == 200);
    CHECK(comes_to(&b, IAM "/workspaces/team", "spec.members", ann, false));
    CHECK(comes_to(&b, IAM "/groups/devs", "spec", ann, false));
    CHECK(comes_to(&b, IAM "/platformroles/all", "spec.members", ann, false));
    CHECK(comes_to(&b, IAM "/platformroles/all", "spec.members", devs, true));
    CHECK(ask_api(&b.rig, "DELETE", IAM "/groups/devs", "", NULL) == 200);
    CHECK(comes_to(&b, IAM "/platformroles/all", "spec.members", devs, false));
    CHECK(names(at(&b, IAM "/workspaces/team", "spec.resources"), demo, true));
    end_demo(&b);
    CHECK(comes_to(&b, IAM "/workspaces/team", "spec.resources", demo, false));
    CHECK(names(at(&b, IAM "/workspaces/team", "spec.members"), bob, true)); /* from elsewhere */
    bed_close(&b);
}

static const struct json *no_uids(struct rest *r, struct arena *a, const struct json *obj,
                                  struct status *st)
{
    struct json_array out = json_array_new(a);

    (void)r;
    (void)st;
    json_for_each (it, json_path(obj, "spec.resources"))
        json_push(&out, *json_set(a, it, "uid", NULL));
    return json_set(a, obj, "spec.resources", json_array_done(&out));
}

/* As an older program has stored it, of what was gone before the first start of this one. */
TEST(a_resource_that_does_not_say_which_goes)
{
    static const char *const demo[] = { "\"demo\"", NULL };
    struct bed b;

    bed_open(&b);
    make_demo(&b);
    make_team(&b, "team", "");
    CHECK(rest_upgrade(b.rig.host->server->rest,
                       catalog_find(kinds_catalog_root(), STR("iam.kairship.io"), STR("v1alpha1"),
                                    STR("workspaces")),
                       STR("test"), no_uids, &b.rig.st) == 0);
    start(&b, &rights_cleanup_controller, NULL);
    CHECK(comes_to(&b, IAM "/workspaces/team", "spec.resources", demo, false));
    bed_close(&b);
}

TEST(a_registration_of_another_instance_is_replaced)
{
    const char *uid[] = { NULL, NULL };
    struct bed b;

    bed_open(&b);
    post(
        &b, IAM "/gproductresources",
        "{\"metadata\":{\"name\":\"kairship.demo\",\"ownerReferences\":[{\"apiVersion\":"
        "\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\",\"name\":\"demo\",\"uid\":\"x\"}]},"
        "\"spec\":{\"gproduct\":\"kairship\",\"resourceType\":\"Kairship\",\"resourceName\":"
        "\"demo\"}}");
    make_demo(&b);
    uid[0] = at(&b, INSTANCES "/demo", "metadata.uid");
    CHECK(comes_to(&b, REGISTERED, "metadata.ownerReferences", uid, true));
    bed_close(&b);
}

static void join(struct bed *b)
{
    post(b, IN_DEMO "/api/v1/namespaces", "{\"metadata\":{\"name\":\"karmada-es-m1\"}}");
    post(b, CLUSTERS,
         "{\"metadata\":{\"name\":\"m1\",\"finalizers\":[\"test/works\"]},\"spec\":{\"syncMode\":"
         "\"Pull\"}}");
}

/* As the cluster's own controller does, when what it has is gone. */
static void leave(struct bed *b)
{
    CHECK(ask_api(&b->rig, "PATCH", CLUSTERS "/m1", "{\"metadata\":{\"finalizers\":null}}", NULL) ==
          200);
    (void)ask_api(&b->rig, "DELETE", CLUSTERS "/m1", "", NULL);
}

TEST(members_hear_of_roles_in_this_instance_only)
{
    static const char *const jane[] = { "\"jane\"", NULL }, *const joe[] = { "\"joe\"", NULL };
    struct bed b;

    bed_open(&b);
    start(&b, &ghippo_webhook_controller, &b.ghippo_webhook);
    make_demo(&b);
    make_team(&b, "old", "{\"name\":\"jane\",\"role\":\"Editor\"}");
    join(&b);
    CHECK(comes_to(&b, WORKS "/kairship-people-edit", "spec.workload", jane, true));
    leave(&b);
    end_demo(&b);
    make_demo(&b);
    make_team(&b, "new", "{\"name\":\"joe\",\"role\":\"Viewer\"}");
    join(&b);
    CHECK(comes_to(&b, WORKS "/kairship-people-view", "spec.workload", joe, true));
    CHECK(!*at(&b, WORKS "/kairship-people-edit", "metadata.name"));
    leave(&b);
    bed_close(&b);
}

TEST(what_an_instance_leaves_in_members_gives_no_roles)
{
    static const char *const jane[] = { "\"jane\"", NULL };
    struct bed b;

    bed_open(&b);
    start(&b, &ghippo_webhook_controller, &b.ghippo_webhook);
    start(&b, &instance_controller, &b.rig.host->clock);
    make_demo(&b);
    make_team(&b, "team", "{\"name\":\"jane\",\"role\":\"Editor\"}");
    join(&b);
    CHECK(comes_to(&b, WORKS "/kairship-people-edit", "spec.workload", jane, true));
    post(&b, WORKS, "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"workload\":{\"manifests\":[]}}}");
    CHECK(comes_to(&b, INSTANCES "/demo", "metadata.finalizers",
                   (const char *const[]){ "kairship.io/members", NULL }, true));
    CHECK(ask_api(&b.rig, "PATCH", INSTANCES "/demo", "{\"spec\":{\"release\":\"Orphan\"}}",
                  NULL) == 200);
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    CHECK(comes_to(&b, WORKS "/app", "spec.preserveResourcesOnDeletion", yes, true));
    CHECK(comes_to(&b, CLUSTERS "/m1", "metadata.deletionTimestamp",
                   (const char *const[]){ "T", NULL }, true)); /* all Works were seen to */
    CHECK(!*at(&b, WORKS "/kairship-people-edit", "spec.preserveResourcesOnDeletion"));
    CHECK(*at(&b, WORKS "/kairship-people-edit", "metadata.name"));
    bed_close(&b);
}
