/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"
#include "http/password.h"
#include "rest/upgrade.h"
#include "server_rig.h"
#include "tap.h"

/*
 * Whatever gives a right names the object that it is for, and not only the object's name: for each
 * kind of such a thing the object is deleted and made again under its name, and nothing is
 * inherited.
 */

#define IAM        "/apis/iam.kairship.io/v1alpha1"
#define INSTANCES  "/apis/tenancy.kairship.io/v1alpha1/instances"
#define CLUSTERS   "/apis/fleet.kairship.io/v1alpha1/clusters"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define DEMO       "/clusters/demo" CONFIGMAPS

#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define KAIRSHIP(name) \
    "\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":\"" name "\"}]"
#define MEMBER(kind, name) \
    "\"members\":[{\"kind\":\"" kind "\",\"name\":\"" name "\",\"role\":\"Viewer\"}]"
#define WORKSPACE(resources, members) \
    "{\"metadata\":{\"name\":\"team\"},\"spec\":{" resources "," members "}}"
#define PLATFORM(kind, name)                                                          \
    "{\"metadata\":{\"name\":\"all\"},\"spec\":{\"members\":[{\"kind\":\"" kind "\"," \
    "\"name\":\"" name "\"}]}}"
#define DEVS "{\"metadata\":{\"name\":\"devs\"},\"spec\":{\"members\":[\"jane\"]}}"
#define CLUSTER \
    "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"apiEndpoint\":\"https://127.0.0.1:1\"}}"

struct bed {
    struct rig rig;
    struct client *jane;
    int barriers;
};

static void make_jane(void *arg)
{
    static const str groups[] = { STR_INIT("system:authenticated") };
    static const struct identity jane = { .user = STR_INIT("jane"),
                                          .groups = groups,
                                          .ngroups = 1 };
    struct bed *b = arg;

    b->jane = client_new(server_local_as(b->rig.host->server, b->rig.host->loop, &jane));
}

static void free_jane(void *arg)
{
    client_free(((struct bed *)arg)->jane);
}

static void post(struct bed *b, const char *path, const char *body)
{
    int code = ask_api(&b->rig, "POST", path, body, NULL);

    CHECK(code == 200);
    if (code != 200)
        printf("# POST %s %s: %.*s\n", path, body, STR_ARG(b->rig.st.message));
}

static void bed_open(struct bed *b)
{
    *b = (struct bed){ .barriers = 0 };
    rig_open(&b->rig);
    server_start_collecting(b->rig.host->server);
    loop_call_wait(b->rig.host->loop, make_jane, b);
    post(b, INSTANCES, NAMED("demo"));
    post(b, IAM "/gproductresources",
         "{\"metadata\":{\"name\":\"kairship.demo\"},\"spec\":{\"gproduct\":\"kairship\","
         "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}}");
    post(b, IAM "/users", NAMED("jane"));
    post(b, CLUSTERS, CLUSTER);
}

static void bed_close(struct bed *b)
{
    loop_call_wait(b->rig.host->loop, free_jane, b);
    server_stop_collecting(b->rig.host->server);
    rig_close(&b->rig);
}

static int as_jane(struct bed *b, const char *path)
{
    struct client *admin = b->rig.client;
    int code;

    b->rig.client = b->jane;
    code = ask_api(&b->rig, "GET", path, "", NULL);
    b->rig.client = admin;
    return code;
}

static bool comes_to(struct bed *b, const char *path, int want)
{
    for (int i = 0; i < 2000; i++) {
        if (as_jane(b, path) == want)
            return true;
        (void)usleep(1000);
    }
    return false;
}

/* The server's eyes have seen all that was written: somebody new has a role. */
static void barrier(struct bed *b)
{
    const struct permissions *p = people_permissions(b->rig.host->server->people);
    struct arena *a = b->rig.arena;
    char *name = arena_printf(a, "barrier-%d", ++b->barriers);
    struct identity who = { .user = str_of(name) };
    enum iam_role role = IAM_NONE;

    post(b, IAM "/platformroles",
         arena_printf(a,
                      "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"members\":[{\"name\":\"%s\"}]}}",
                      name, name));
    for (int i = 0; i < 2000 && role != IAM_PLATFORM; i++) {
        (void)as_jane(b, "/version"); /* the cache is read for the requests of people */
        epoch_enter();
        role = permissions_role(p, &who, STR_NONE);
        epoch_exit();
    }
    CHECK(role == IAM_PLATFORM);
}

/* A cluster that one may use is asked for by its role. */
static bool has_cluster(struct bed *b)
{
    static const struct identity jane = { .user = STR_INIT("jane") };
    const struct permissions *p = people_permissions(b->rig.host->server->people);
    const struct iam_grant *grants;
    enum iam_role role;
    size_t n;

    epoch_enter();
    role = permissions_cluster_grants(p, b->rig.arena, &jane, &grants, &n);
    epoch_exit();
    return role > IAM_NONE && n == 1;
}

static bool may(struct bed *b, const char *probe)
{
    if (probe)
        return as_jane(b, probe) == 200;
    (void)as_jane(b, "/version"); /* the cache is read for the requests of people */
    return has_cluster(b);
}

static bool may_soon(struct bed *b, const char *probe)
{
    for (int i = 0; i < 2000; i++) {
        if (may(b, probe))
            return true;
        (void)usleep(1000);
    }
    return false;
}

static const struct heir {
    const char *what;
    const char *given[2][3]; /* a collection, what is made in it, and its name */
    const char *ends[3];     /* the same of what is deleted and made again */
    const char *probe;       /* NULL: the cluster m1 */
    const char *again;       /* a merge patch that gives the last of `given` anew */
} heirs[] = {
    { "the instance of a workspace",
      { { IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("User", "jane")), "team" } },
      { INSTANCES, NAMED("demo"), "demo" },
      DEMO,
      "{\"spec\":{" KAIRSHIP("demo") "}}" },
    { "the cluster of a workspace",
      { { IAM "/workspaces",
          WORKSPACE("\"resources\":[{\"resourceType\":\"Cluster\",\"resourceName\":\"m1\"}]",
                    MEMBER("User", "jane")),
          "team" } },
      { CLUSTERS, CLUSTER, "m1" },
      NULL,
      "{\"spec\":{\"resources\":[{\"resourceType\":\"Cluster\",\"resourceName\":\"m1\"}]}}" },
    { "the user of a workspace",
      { { IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("User", "jane")), "team" } },
      { IAM "/users", NAMED("jane"), "jane" },
      DEMO,
      "{\"spec\":{" MEMBER("User", "jane") "}}" },
    { "the group of a workspace",
      { { IAM "/groups", DEVS, "devs" },
        { IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("Group", "devs")), "team" } },
      { IAM "/groups", DEVS, "devs" },
      DEMO,
      "{\"spec\":{" MEMBER("Group", "devs") "}}" },
    { "the user of a group",
      { { IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), "\"members\":[]"), "team" },
        { IAM "/groups", DEVS, "devs" } },
      { IAM "/users", NAMED("jane"), "jane" },
      DEMO,
      "{\"spec\":{\"members\":[\"jane\"],\"memberUids\":null}}" },
    { "the user of a role on the platform",
      { { IAM "/platformroles", PLATFORM("User", "jane"), "all" } },
      { IAM "/users", NAMED("jane"), "jane" },
      INSTANCES,
      "{\"spec\":{\"members\":[{\"name\":\"jane\"}]}}" },
    { "the group of a role on the platform",
      { { IAM "/groups", DEVS, "devs" },
        { IAM "/platformroles", PLATFORM("Group", "devs"), "all" } },
      { IAM "/groups", DEVS, "devs" },
      INSTANCES,
      "{\"spec\":{\"members\":[{\"kind\":\"Group\",\"name\":\"devs\"}]}}" },
};

static char *at(struct bed *b, const char *collection, const char *name)
{
    return arena_printf(b->rig.arena, "%s/%s", collection, name);
}

static void change(struct bed *b, const char *const given[3], const char *patch)
{
    CHECK(ask_api(&b->rig, "PATCH", at(b, given[0], given[2]), patch, NULL) == 200);
}

/* The group is a member of the workspace once both are there. */
static void give(struct bed *b, const struct heir *h)
{
    for (size_t i = 0; i < 2 && h->given[i][0]; i++)
        post(b, h->given[i][0], h->given[i][1]);
    if (strcmp(h->what, "the user of a group") == 0)
        change(b, h->given[0], "{\"spec\":{" MEMBER("Group", "devs") "}}");
}

TEST(what_is_made_again_inherits_nothing)
{
    for (size_t i = 0; i < sizeof(heirs) / sizeof(*heirs); i++) {
        const struct heir *h = &heirs[i];
        size_t last = h->given[1][0] ? 1 : 0;
        struct bed b;

        printf("# %s\n", h->what);
        bed_open(&b);
        give(&b, h);
        CHECK(may_soon(&b, h->probe));
        CHECK(ask_api(&b.rig, "DELETE", at(&b, h->ends[0], h->ends[2]), "", NULL) == 200);
        post(&b, h->ends[0], h->ends[1]);
        if (!str_starts(str_of(h->ends[0]), STR(IAM))) /* the end of others need not be heard of */
            CHECK(!may(&b, h->probe));
        barrier(&b);
        CHECK(!may(&b, h->probe));
        for (size_t g = 0; g <= last; g++) /* whatever else changes */
            if (strcmp(h->given[g][0], h->ends[0]) != 0)
                change(&b, h->given[g], "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
        barrier(&b);
        CHECK(!may(&b, h->probe));
        change(&b, h->given[last], h->again);
        CHECK(may_soon(&b, h->probe));
        bed_close(&b);
    }
}

/* ---- whom an entry is for ---- */

static str field(struct bed *b, const char *path, const char *of)
{
    const struct json *obj = NULL;

    CHECK(ask_api(&b->rig, "GET", path, "", &obj) == 200);
    return json_get_str(obj, of);
}

static str member_uid(struct bed *b)
{
    const struct json *obj = NULL;

    CHECK(ask_api(&b->rig, "GET", IAM "/workspaces/team", "", &obj) == 200);
    return json_get_str(json_at(json_path(obj, "spec.members"), 0), "uid");
}

static int patch_member(struct bed *b, const char *uid)
{
    return ask_api(
        &b->rig, "PATCH", IAM "/workspaces/team",
        arena_printf(b->rig.arena,
                     "{\"spec\":{\"members\":[{\"name\":\"ann\",\"role\":\"Viewer\"%s%s%s"
                     "}]}}",
                     uid ? ",\"uid\":\"" : "", uid ? uid : "", uid ? "\"" : ""),
        NULL);
}

TEST(no_client_chooses_whom_an_entry_is_for)
{
    struct bed b;
    str ann, first;

    bed_open(&b);
    post(&b, IAM "/users", NAMED("ann"));
    post(&b, IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("User", "ann")));
    ann = field(&b, IAM "/users/ann", "metadata.uid");
    first = member_uid(&b);
    CHECK(str_eq(first, ann));
    CHECK(patch_member(&b, "chosen") == 422);
    CHECK(str_contains(b.rig.st.message, STR("spec.members[0].uid: Invalid value: \"chosen\"")));
    CHECK(patch_member(&b, str_z(b.rig.arena, field(&b, IAM "/users/jane", "metadata.uid"))) ==
          422);
    CHECK(patch_member(&b, str_z(b.rig.arena, ann)) == 200);
    CHECK(patch_member(&b, NULL) == 200 && str_eq(member_uid(&b), ann));

    /* Gone: the entry says of whom it was, until another has the name and it is written anew. */
    CHECK(ask_api(&b.rig, "DELETE", IAM "/users/ann", "", NULL) == 200);
    CHECK(patch_member(&b, NULL) == 200 && str_eq(member_uid(&b), first));
    post(&b, IAM "/users", NAMED("ann"));
    ann = field(&b, IAM "/users/ann", "metadata.uid");
    CHECK(patch_member(&b, str_z(b.rig.arena, first)) == 200 && str_eq(member_uid(&b), first));
    CHECK(patch_member(&b, NULL) == 200 && str_eq(member_uid(&b), ann));
    CHECK(patch_member(&b, str_z(b.rig.arena, first)) == 422);
    bed_close(&b);
}

TEST(uids_are_of_members_only)
{
    struct bed b;
    str jane;

    bed_open(&b);
    post(&b, IAM "/groups",
         "{\"metadata\":{\"name\":\"devs\"},\"spec\":{\"memberUids\":{\"jane\":\"x\"}}}");
    CHECK(!field(&b, IAM "/groups/devs", "spec.memberUids.jane").n);
    CHECK(ask_api(&b.rig, "PATCH", IAM "/groups/devs", "{\"spec\":{\"members\":[\"jane\"]}}",
                  NULL) == 200);
    jane = field(&b, IAM "/users/jane", "metadata.uid");
    CHECK(str_eq(field(&b, IAM "/groups/devs", "spec.memberUids.jane"), jane));
    CHECK(ask_api(&b.rig, "PATCH", IAM "/groups/devs", "{\"spec\":{\"members\":[]}}", NULL) == 200);
    CHECK(!field(&b, IAM "/groups/devs", "spec.memberUids.jane").n);
    CHECK(ask_api(&b.rig, "PATCH", IAM "/groups/devs",
                  "{\"spec\":{\"members\":[\"jane\"],\"memberUids\":{\"jane\":\"x\"}}}",
                  NULL) == 422);
    bed_close(&b);
}

TEST(an_entry_for_people_from_elsewhere_stays_one)
{
    struct bed b;
    str ann;

    bed_open(&b);
    post(&b, IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("User", "ann")));
    CHECK(!member_uid(&b).n);
    post(&b, IAM "/users", NAMED("ann"));
    ann = field(&b, IAM "/users/ann", "metadata.uid");
    CHECK(patch_member(&b, NULL) == 200 && !member_uid(&b).n);
    CHECK(patch_member(&b, str_z(b.rig.arena, ann)) == 200 && str_eq(member_uid(&b), ann));
    CHECK(ask_api(&b.rig, "PATCH", IAM "/workspaces/team", "{\"spec\":{\"members\":[]}}", NULL) ==
          200);
    CHECK(patch_member(&b, NULL) == 200 && str_eq(member_uid(&b), ann));
    bed_close(&b);
}

TEST(a_registration_is_of_one_instance)
{
    struct bed b;
    struct arena *a;

    bed_open(&b);
    a = b.rig.arena;
    post(&b, INSTANCES, NAMED("other"));
    post(&b, IAM "/gproductresources",
         arena_printf(a,
                      "{\"metadata\":{\"name\":\"kairship.other\",\"ownerReferences\":[{"
                      "\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\","
                      "\"name\":\"other\",\"uid\":\"%.*s\"}]},\"spec\":{\"gproduct\":\"kairship\","
                      "\"resourceType\":\"Kairship\",\"resourceName\":\"other\"}}",
                      STR_ARG(field(&b, INSTANCES "/demo", "metadata.uid"))));
    CHECK(ask_api(&b.rig, "POST", IAM "/workspaces",
                  WORKSPACE(KAIRSHIP("other"), MEMBER("User", "jane")), NULL) == 422);
    CHECK(str_contains(b.rig.st.message, STR("it is not registered")));
    /* What is bound and gone is in nobody's way. */
    post(&b, IAM "/workspaces", WORKSPACE(KAIRSHIP("demo"), MEMBER("User", "jane")));
    CHECK(ask_api(&b.rig, "DELETE", INSTANCES "/demo", "", NULL) == 200);
    post(&b, INSTANCES, NAMED("demo"));
    post(&b, IAM "/workspaces",
         "{\"metadata\":{\"name\":\"next\"},\"spec\":{" KAIRSHIP("demo") "}}");
    bed_close(&b);
}

/* ---- passwords ---- */

static int login(struct bed *b)
{
    return ask_api(&b->rig, "POST", IAM "/logins",
                   "{\"spec\":{\"username\":\"jane\",\"password\":\"correct horse\"}}", NULL);
}

/* owner: its uid, or NULL. */
static void set_password(struct bed *b, const char *owner)
{
    struct arena *a = b->rig.arena;
    str hash = base64_encode(a, BASE64_STD, password_hash(a, secret_of(STR("correct horse"))));
    char *owners = !owner ? arena_printf(a, "[]")
                          : arena_printf(a,
                                         "[{\"apiVersion\":\"iam.kairship.io/v1alpha1\",\"kind\":"
                                         "\"User\",\"name\":\"jane\",\"uid\":\"%s\"}]",
                                         owner);

    (void)ask_api(&b->rig, "DELETE",
                  "/api/v1/namespaces/kube-system/secrets/kairship-password-jane", "", NULL);
    post(b, "/api/v1/namespaces/kube-system/secrets",
         arena_printf(a,
                      "{\"metadata\":{\"name\":\"kairship-password-jane\",\"ownerReferences\":%s},"
                      "\"data\":{\"hash\":\"%.*s\"}}",
                      owners, STR_ARG(hash)));
}

TEST(a_password_is_of_one_user)
{
    struct bed b;
    char *uid;

    bed_open(&b);
    uid = str_z(b.rig.arena, field(&b, IAM "/users/jane", "metadata.uid"));
    set_password(&b, "of-another");
    CHECK(login(&b) == 401);
    set_password(&b, uid);
    CHECK(login(&b) == 200);
    set_password(&b, NULL); /* by hand */
    CHECK(login(&b) == 200);
    clock_jump(&b.rig.host->clock, clock_wall_us(&b.rig.host->clock) + 5000000);
    CHECK(ask_api(&b.rig, "DELETE", IAM "/users/jane", "", NULL) == 200);
    post(&b, IAM "/users", NAMED("jane"));
    CHECK(login(&b) == 401);
    set_password(&b, uid);
    CHECK(login(&b) == 401);
    set_password(&b, NULL);
    CHECK(login(&b) == 200);
    bed_close(&b);
}

/* ---- what an older program has stored ---- */

static const struct json *no_uids(struct rest *r, struct arena *a, const struct json *obj,
                                  struct status *st)
{
    static const char *const lists[] = { "spec.resources", "spec.members" };

    (void)r;
    (void)st;
    for (size_t i = 0; i < 2; i++) {
        struct json_array out = json_array_new(a);

        json_for_each (it, json_path(obj, lists[i]))
            json_push(&out, json_is(it, JSON_STRING) ? *it : *json_set(a, it, "uid", NULL));
        if (json_path(obj, lists[i]))
            obj = json_set(a, obj, lists[i], json_array_done(&out));
    }
    return json_set(a, obj, "spec.memberUids", NULL);
}

/* As it was before uids were stored, and then a start of this program. */
static void restart_from_old(struct bed *b)
{
    static const char *const kinds[] = { "groups", "platformroles", "workspaces" };
    static const char *const marks[] = { "uids-of-groups", "uids-of-platformroles",
                                         "uids-of-workspaces", "older-certificates-of-users",
                                         "older-certificates-of-groups" };
    struct server *s = b->rig.host->server;
    struct arena *a = b->rig.arena;

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        struct store_key key = { .type = TYPE_COUNTERS,
                                 .instance = INSTANCE_TEMPLATE,
                                 .name = str_printf(a, "upgrade/%s", marks[i]) };
        struct store_op op = { .kind = STORE_DELETE, .key = key, .expect = STORE_ANY };
        struct store_txn txn = { .ops = &op, .nops = 1 };

        CHECK(store_commit_wait(s->store, &txn) == 0);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct kind *k = catalog_find(kinds_catalog_root(), STR("iam.kairship.io"),
                                            STR("v1alpha1"), str_of(kinds[i]));

        CHECK(rest_upgrade(s->rest, k, str_printf(a, "test-%s", kinds[i]), no_uids, &b->rig.st) ==
              0);
    }
    CHECK(!member_uid(b).n);
    CHECK(kinds_upgrade(s->rest, &b->rig.st) == 0);
}

/* Certificates that were issued before it was made go on as theirs. */
static bool has_note(struct bed *b, const char *path)
{
    const struct json *obj = NULL;

    CHECK(ask_api(&b->rig, "GET", path, "", &obj) == 200);
    return str_is(json_str(json_get(json_path(obj, "metadata.annotations"),
                                    STR(IDENTITY_OLDER_CERTIFICATES))),
                  IDENTITY_ACCEPTED);
}

TEST(who_had_a_right_keeps_it_when_the_program_is_new)
{
    struct bed b;

    bed_open(&b);
    post(&b, IAM "/groups", DEVS);
    post(&b, IAM "/platformroles", PLATFORM("User", "jane"));
    post(&b, IAM "/workspaces",
         WORKSPACE("\"resources\":[{\"resourceName\":\"demo\"},{\"resourceType\":\"Cluster\","
                   "\"resourceName\":\"m1\"}]",
                   "\"members\":[{\"kind\":\"Group\",\"name\":\"devs\",\"role\":\"Viewer\"},"
                   "{\"kind\":\"User\",\"name\":\"elsewhere\",\"role\":\"Viewer\"}]"));
    restart_from_old(&b);
    CHECK(str_eq(member_uid(&b), field(&b, IAM "/groups/devs", "metadata.uid")));
    CHECK(str_eq(field(&b, IAM "/groups/devs", "spec.memberUids.jane"),
                 field(&b, IAM "/users/jane", "metadata.uid")));
    CHECK(has_note(&b, IAM "/users/jane") && has_note(&b, IAM "/groups/devs"));
    CHECK(comes_to(&b, INSTANCES, 200));
    CHECK(ask_api(&b.rig, "DELETE", IAM "/platformroles/all", "", NULL) == 200);
    CHECK(comes_to(&b, INSTANCES, 403));
    CHECK(as_jane(&b, DEMO) == 200);
    CHECK(may_soon(&b, NULL));
    bed_close(&b);
}
