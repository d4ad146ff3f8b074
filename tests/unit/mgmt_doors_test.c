/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Doors of entry: through each of them something comes under somebody's power, or is reached with
 * credentials of this server.  Every person tries every door, and is let in only with the right on
 * what is behind it (docs/security.md, "Doors").
 */

#include "mgmt_rig.h"
#include "tap.h"

enum person {
    STRANGER,
    VIEWER,
    EDITOR,
    ADMIN,
    OWNER,
    KEEPER,
    CLERK,
    TELLER,
    HAND,
    PLATFORM,
    PEOPLE
};

/* In the instance demo, but for what is said. */
static const char *const names[PEOPLE] = {
    [STRANGER] = "stranger",   [VIEWER] = "viewer", [EDITOR] = "editor",
    [ADMIN] = "admin-of-demo", [OWNER] = "owner", /* Admin of demo, and of the registered cluster
                                                     "foreign" */
    [KEEPER] = "keeper", /* Admin of demo, and of the instance "other", which foreign has joined */
    [CLERK] = "clerk",   /* writes what doors are made of in root, and nothing else */
    [TELLER] = "teller", /* the same, and may read the Secret "creds" */
    [HAND] = "hand",     /* writes Clusters in demo by RBAC, and nothing else */
    [PLATFORM] = "boss",
};

struct doors {
    struct bed bed;
    struct identity who[PEOPLE];
};

#define ROOT_RBAC "/apis/rbac.authorization.k8s.io/v1"
#define IAM       "/apis/iam.kairship.io/v1alpha1"
#define FLEET     "/apis/fleet.kairship.io/v1alpha1/clusters"
#define CREDS     "{\"namespace\":\"default\",\"name\":\"creds\"}"

/* ---- what there is ---- */

static void give(struct bed *b, const char *at, const char *name, const char *rules,
                 const char *users)
{
    struct arena *a = b->rig.arena;

    bed_post(b, arena_printf(a, "%s" ROOT_RBAC "/clusterroles", at),
             arena_printf(a, "{\"metadata\":{\"name\":\"%s\"},\"rules\":[%s]}", name, rules));
    bed_post(b, arena_printf(a, "%s" ROOT_RBAC "/clusterrolebindings", at),
             arena_printf(a,
                          "{\"metadata\":{\"name\":\"%s\"},\"roleRef\":{\"apiGroup\":"
                          "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"%s\"},"
                          "\"subjects\":[%s]}",
                          name, name, users));
}

#define USER(n) "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"" n "\"}"
#define RULE(groups, resources, verbs) \
    "{\"apiGroups\":[" groups "],\"resources\":[" resources "],\"verbs\":[" verbs "]}"

static void give_rights(struct bed *b)
{
    give(b, "", "clerks",
         RULE("\"tenancy.kairship.io\",\"fleet.kairship.io\",\"iam.kairship.io\"", "\"*\"",
              "\"get\",\"create\",\"update\",\"patch\""),
         USER("clerk") "," USER("teller") "," USER("owner"));
    give(b, "", "tellers",
         "{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"resourceNames\":[\"creds\"],"
         "\"verbs\":[\"get\"]}",
         USER("teller"));
    give(b, "/clusters/demo", "hands",
         RULE("\"cluster.karmada.io\"", "\"clusters\"", "\"get\",\"create\",\"update\""),
         USER("hand"));
}

#define MEMBER(n, role) "{\"kind\":\"User\",\"name\":\"" n "\",\"role\":\"" role "\"}"

static void workspace(struct bed *b, const char *name, const char *type, const char *resource,
                      const char *members)
{
    bed_post(b, IAM "/workspaces",
             arena_printf(b->rig.arena,
                          "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"resources\":[{"
                          "\"resourceType\":\"%s\",\"resourceName\":\"%s\"}],\"members\":[%s]}}",
                          name, type, resource, members));
}

static void give_roles(struct bed *b)
{
    static const char *const instances[] = { "demo", "other" };

    for (size_t i = 0; i < 2; i++)
        bed_post(
            b, IAM "/gproductresources",
            arena_printf(b->rig.arena,
                         "{\"metadata\":{\"name\":\"kairship.%s\"},\"spec\":{\"gproduct\":"
                         "\"kairship\",\"resourceType\":\"Kairship\",\"resourceName\":\"%s\"}}",
                         instances[i], instances[i]));
    workspace(
        b, "of-demo", "Kairship", "demo",
        MEMBER("viewer", "Viewer") "," MEMBER("editor", "Editor") "," MEMBER(
            "admin-of-demo", "Admin") "," MEMBER("owner", "Admin") "," MEMBER("keeper", "Admin"));
    workspace(
        b, "of-other", "Kairship", "other",
        MEMBER("keeper", "Admin") "," MEMBER("editor", "Editor") "," MEMBER("owner", "Editor"));
    workspace(b, "of-foreign", "Cluster", "foreign", MEMBER("owner", "Admin"));
    bed_post(b, IAM "/workspaces", "{\"metadata\":{\"name\":\"empty\"},\"spec\":{\"members\":[]}}");
    bed_post(b, IAM "/platformroles",
             "{\"metadata\":{\"name\":\"admins\"},\"spec\":{\"role\":\"Admin\",\"members\":[{"
             "\"kind\":\"User\",\"name\":\"boss\"}]}}");
}

static bool has_role(struct doors *d, enum person p, const char *instance, enum iam_role role)
{
    bool has = false;

    for (int i = 0; i < 2000 && !has; i++) {
        (void)ask_api(&d->bed.rig, "GET", "/version", "", NULL); /* it is read for requests */
        epoch_enter();
        has = permissions_role(server_permissions(d->bed.rig.host->server), &d->who[p],
                               str_of(instance)) >= role;
        epoch_exit();
        if (!has)
            (void)usleep(1000);
    }
    return has;
}

static void open_doors(struct doors *d)
{
    struct bed *b = &d->bed;

    bed_open(b);
    for (size_t p = 0; p < PEOPLE; p++)
        d->who[p] =
            (struct identity){ .user = str_of(names[p]), .groups = bed_people, .ngroups = 1 };
    bed_post(b, "/apis/tenancy.kairship.io/v1alpha1/instances",
             "{\"metadata\":{\"name\":\"other\"}}");
    bed_post(b, "/api/v1/namespaces/default/secrets",
             "{\"metadata\":{\"name\":\"creds\"},\"stringData\":{\"token\":\"t\"}}");
    bed_post(b, "/clusters/demo/api/v1/namespaces/default/secrets",
             "{\"metadata\":{\"name\":\"creds\"},\"stringData\":{\"token\":\"t\"}}");
    bed_post(b, FLEET,
             "{\"metadata\":{\"name\":\"foreign\",\"labels\":{\"fleet.kairship.io/id\":\"its-id\","
             "\"joined.fleet.kairship.io/other\":\"foreign\"}},\"spec\":{\"type\":\"Member\","
             "\"apiEndpoint\":\"https://127.0.0.1:1\"}}");
    bed_post(b, FLEET,
             "{\"metadata\":{\"name\":\"strange\"},\"spec\":{\"type\":\"Member\","
             "\"apiEndpoint\":\"https://127.0.0.1:1\"}}");
    CHECK(ask_api(&b->rig, "PATCH", FLEET "/foreign/status",
                  "{\"status\":{\"instances\":[\"other\"]}}", NULL) == 200);
    bed_post(
        b, "/clusters/demo/apis/cluster.karmada.io/v1alpha1/clusters",
        "{\"metadata\":{\"name\":\"claims\"},\"spec\":{\"syncMode\":\"Push\",\"id\":\"its-id\","
        "\"apiEndpoint\":\"https://127.0.0.1:1\"}}");
    bed_post(
        b, "/clusters/other/apis/cluster.karmada.io/v1alpha1/clusters",
        "{\"metadata\":{\"name\":\"foreign\"},\"spec\":{\"syncMode\":\"Push\",\"id\":\"its-id\","
        "\"apiEndpoint\":\"https://127.0.0.1:1\"}}");
    give_rights(b);
    give_roles(b);
    CHECK(has_role(d, VIEWER, "demo", IAM_VIEWER) && has_role(d, KEEPER, "other", IAM_ADMIN) &&
          has_role(d, PLATFORM, "", IAM_PLATFORM) && has_role(d, OWNER, "demo", IAM_ADMIN));
}

/* ---- the doors ---- */

static bool calls(struct doors *d, enum person p, const char *method, const char *request)
{
    return bed_call(&d->bed, &d->who[p], method, request) != NULL;
}

static bool is_refused(const struct doors *d)
{
    return status_is(&d->bed.rig.st, REASON_FORBIDDEN);
}

/* Nothing answers there, but that is found out behind the door. */
static bool join_by_name(struct doors *d, enum person p)
{
    (void)calls(d, p, "Cluster/JoinCluster", "{\"instance\":\"demo\",\"name\":\"foreign\"}");
    return !is_refused(d);
}

/* Whoever is Admin of one cluster is not of another. */
static bool join_strange(struct doors *d, enum person p)
{
    (void)calls(d, p, "Cluster/JoinCluster", "{\"instance\":\"demo\",\"name\":\"strange\"}");
    return !is_refused(d);
}

static bool join_what_is_not(struct doors *d, enum person p)
{
    (void)calls(d, p, "Cluster/JoinCluster", "{\"instance\":\"demo\",\"name\":\"nowhere\"}");
    return !is_refused(d);
}

static bool see_what_could_join(struct doors *d, enum person p)
{
    const struct json *v = bed_call(&d->bed, &d->who[p], "Cluster/ListClusters",
                                    "{\"instance\":\"demo\",\"allCluster\":true}");

    CHECK(!v || !strstr(str_z(d->bed.rig.arena, json_text(d->bed.rig.arena, v)), "joined.fleet"));
    return v && strstr(bed_names(&d->bed, v), "foreign");
}

static bool read_what_is_claimed(struct doors *d, enum person p)
{
    return calls(d, p, "Core/ListSecretsForMemberCluster",
                 "{\"instance\":\"demo\",\"cluster\":\"claims\",\"namespace\":\"default\"}");
}

static bool promote(struct doors *d, enum person p)
{
    return calls(d, p, "Apps/PromoteMemberClusterDeployment",
                 "{\"instance\":\"demo\",\"cluster\":\"foreign\",\"namespace\":\"default\","
                 "\"name\":\"web\"}");
}

/* The member is not there, so the right is all that can be had. */
static bool promote_from_member(struct doors *d, enum person p)
{
    (void)calls(d, p, "Apps/PromoteMemberClusterDeployment",
                "{\"instance\":\"other\",\"cluster\":\"foreign\",\"namespace\":\"default\","
                "\"name\":\"web\"}");
    return d->bed.rig.st.reason != REASON_FORBIDDEN;
}

static bool bind_by_service(struct doors *d, enum person p)
{
    return calls(d, p, "Workspace/BindInstances",
                 "{\"instance\":\"other\",\"workspace\":{\"workspace\":\"of-other\"},"
                 "\"action\":\"BIND\"}");
}

/* With the native API; what is made is only tried. */
static bool writes(struct doors *d, enum person p, const char *method, const struct client_ref *ref,
                   const char *object)
{
    struct arena *a = d->bed.rig.arena;
    struct client_query q = { .dry_run = true };
    struct client_request req;
    const struct json *v;

    status_reset(&d->bed.rig.st);
    if (!CHECK(json_parse(a, str_of(object), NULL, &v, &d->bed.rig.st) == 0))
        return false;
    req = strcmp(method, "POST") == 0 ? client_request_create(a, ref, &q, v)
                                      : client_request_patch(a, ref, &q, CLIENT_PATCH_MERGE, v);
    req.as = &d->who[p];
    if (client_do(d->bed.rig.client, a, &req, &v, &d->bed.rig.st) == 0)
        return true;
    if (!CHECK(is_refused(d)))
        printf("# %.*s\n", STR_ARG(d->bed.rig.st.message));
    return false;
}

static struct client_ref root_ref(const char *group, const char *resource, const char *name)
{
    return (struct client_ref){ .group = str_of(group),
                                .version = STR("v1alpha1"),
                                .resource = str_of(resource),
                                .name = str_of(name) };
}

static bool attach(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("tenancy.kairship.io", "instances", "");

    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"attached\"},\"spec\":{\"attach\":{"
                  "\"kubeconfigSecretRef\":" CREDS "}}}");
}

static bool register_with(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("fleet.kairship.io", "clusters", "");

    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"new\"},\"spec\":{\"apiEndpoint\":\"https://h\","
                  "\"secretRef\":" CREDS "}}");
}

static bool register_later(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("fleet.kairship.io", "clusters", "foreign");

    return writes(d, p, "PATCH", &ref, "{\"spec\":{\"secretRef\":" CREDS "}}");
}

static bool join_with(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("cluster.karmada.io", "clusters", "");

    ref.instance = STR("demo");
    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"new\"},\"spec\":{\"syncMode\":\"Push\","
                  "\"apiEndpoint\":\"https://h\",\"secretRef\":" CREDS "}}");
}

static bool act_with(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("cluster.karmada.io", "clusters", "");

    ref.instance = STR("demo");
    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"new\"},\"spec\":{\"syncMode\":\"Push\","
                  "\"apiEndpoint\":\"https://h\",\"impersonatorSecretRef\":" CREDS "}}");
}

static bool bring_ones_own(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("cluster.karmada.io", "clusters", "");

    ref.instance = STR("demo");
    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"new\"},\"spec\":{\"syncMode\":\"Pull\"}}");
}

static bool share(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("iam.kairship.io", "workspaces", "of-foreign");

    return writes(
        d, p, "PATCH", &ref,
        "{\"spec\":{\"members\":[" MEMBER("owner", "Admin") "," MEMBER("clerk", "Admin") "]}}");
}

static bool share_an_instance(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("iam.kairship.io", "workspaces", "of-other");

    return writes(
        d, p, "PATCH", &ref,
        "{\"spec\":{\"members\":[" MEMBER("keeper", "Admin") "," MEMBER("clerk", "Admin") "]}}");
}

static bool join_a_group(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("iam.kairship.io", "groups", "");

    return writes(d, p, "POST", &ref,
                  "{\"metadata\":{\"name\":\"bosses\"},\"spec\":{\"members\":[\"clerk\"]}}");
}

static bool administer(struct doors *d, enum person p)
{
    struct client_ref ref = root_ref("iam.kairship.io", "platformroles", "admins");

    return writes(d, p, "PATCH", &ref,
                  "{\"spec\":{\"members\":[{\"kind\":\"User\",\"name\":\"clerk\"}]}}");
}

#define P(person) (1u << (person))

static const struct {
    const char *name;
    bool (*try)(struct doors *d, enum person p);
    unsigned open_to;
} doors[] = {
    { "join by name", join_by_name, P(OWNER) | P(KEEPER) | P(PLATFORM) },
    { "join another's by name", join_strange, P(PLATFORM) },
    { "join by a name that is none", join_what_is_not, P(PLATFORM) },
    { "see what could join", see_what_could_join, P(OWNER) | P(KEEPER) | P(PLATFORM) },
    { "read what a member claims to be", read_what_is_claimed, 0 },
    { "promote from what has not joined", promote, 0 },
    { "promote from a member", promote_from_member, P(OWNER) | P(KEEPER) | P(PLATFORM) },
    { "bind by the management API", bind_by_service, P(PLATFORM) },
    { "attach", attach, P(TELLER) | P(PLATFORM) },
    { "register", register_with, P(TELLER) | P(PLATFORM) },
    { "give credentials to what is registered", register_later, P(TELLER) | P(PLATFORM) },
    { "join with a Secret", join_with, P(ADMIN) | P(OWNER) | P(KEEPER) | P(PLATFORM) },
    { "act for others with a Secret", act_with, P(ADMIN) | P(OWNER) | P(KEEPER) | P(PLATFORM) },
    { "join with nothing of ours", bring_ones_own,
      P(ADMIN) | P(OWNER) | P(KEEPER) | P(HAND) | P(PLATFORM) },
    { "share a cluster", share, P(OWNER) | P(PLATFORM) },
    { "share an instance", share_an_instance, P(PLATFORM) },
    { "say who is in a group", join_a_group, P(PLATFORM) },
    { "say who administers the platform", administer, P(PLATFORM) },
};

TEST(everybody_tries_every_door)
{
    struct doors d;

    open_doors(&d);
    for (size_t i = 0; i < sizeof(doors) / sizeof(*doors); i++)
        for (enum person p = STRANGER; p < PEOPLE; p++) {
            bool open = doors[i].try(&d, p);

            if (!CHECK(open == ((doors[i].open_to & P(p)) != 0)))
                printf("# %s: %s is %s: %.*s\n", doors[i].name, names[p],
                       open ? "let in" : "kept out", STR_ARG(d.bed.rig.st.message));
        }
    bed_close(&d.bed);
}
