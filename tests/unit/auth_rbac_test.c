/* SPDX-License-Identifier: Apache-2.0 */

/* Roles and bindings as rows of a store, and what they allow to whom. */

#include <pthread.h>
#include <stdatomic.h>

#include "apiserver/auth/rbac.h"
#include "base/epoch.h"
#include "object/meta/obj.h"
#include "store_model.h"
#include "tap.h"

struct world {
    struct store *store;
    struct rbac *rbac;
    struct arena *arena;
    struct status st;
    uint32_t types[4];
};

enum { CLUSTER_ROLES, ROLES, CLUSTER_BINDINGS, BINDINGS };
enum { TEMPLATE = INSTANCE_TEMPLATE, ONE = 16, TWO = 17 };

static void world_init(struct world *w, size_t cache)
{
    static const char *const plurals[] = { "clusterroles", "roles", "clusterrolebindings",
                                           "rolebindings" };

    w->store = model_open();
    w->arena = arena_new();
    status_init(&w->st, w->arena);
    w->rbac = rbac_new(w->store, NULL, cache, &w->st);
    for (size_t i = 0; i < 4; i++)
        CHECK(type_id(w->store, STR(RBAC_GROUP), str_of(plurals[i]), &w->types[i], &w->st) == 0);
    epoch_enter();
}

static void world_free(struct world *w)
{
    epoch_exit();
    rbac_free(w->rbac);
    epoch_drain();
    store_close(w->store);
    arena_free(w->arena);
}

/* Writes, replaces or (NULL) hides a row. */
static void put(struct world *w, int type, uint32_t instance, const char *key, const char *json)
{
    struct store_op op = { .kind = STORE_PUT,
                           .key = { w->types[type], instance, str_of(key) },
                           .expect = STORE_ANY };
    struct store_txn txn = { .ops = &op, .nops = 1 };
    const struct json *tree;
    scoped_arena a = arena_new();

    if (json) {
        const char *text = arena_printf(a, "{\"metadata\":{\"name\":\"x\"},%s}", json);

        if (!CHECK(json_parse(a, str_of(text), NULL, &tree, &w->st) == 0)) {
            printf("# %s\n", text);
            return;
        }
        op.value = obj_encode(a, tree, STR_NONE, 0);
    } else {
        op.value = obj_encode_hidden(a);
    }
    CHECK(store_commit_wait(w->store, &txn) == 0);
}

static void remove_row(struct world *w, int type, uint32_t instance, const char *key)
{
    struct store_op op = { .kind = STORE_DELETE,
                           .key = { w->types[type], instance, str_of(key) },
                           .expect = STORE_ANY };
    struct store_txn txn = { .ops = &op, .nops = 1 };

    CHECK(store_commit_wait(w->store, &txn) == 0);
}

#define RULES(text)   "\"rules\":[" text "]"
#define RULE(g, r, v) "{\"apiGroups\":[" g "],\"resources\":[" r "],\"verbs\":[" v "]}"
#define NAMED(g, r, v, n) \
    "{\"apiGroups\":[" g "],\"resources\":[" r "],\"verbs\":[" v "],\"resourceNames\":[" n "]}"
#define URLS(u, v) "{\"nonResourceURLs\":[" u "],\"verbs\":[" v "]}"
#define BIND(kind, role, s) \
    "\"roleRef\":{\"kind\":\"" kind "\",\"name\":\"" role "\"},\"subjects\":[" s "]"
#define USER(n)        "{\"kind\":\"User\",\"name\":\"" n "\"}"
#define GROUP(n)       "{\"kind\":\"Group\",\"name\":\"" n "\"}"
#define ACCOUNT(ns, n) "{\"kind\":\"ServiceAccount\",\"namespace\":\"" ns "\",\"name\":\"" n "\"}"

struct question {
    const char *user, *groups, *verb;
    const char *what; /* "pods/log.apps", or a path */
    const char *namespace_, *name;
};

static struct identity identity_of(struct arena *a, const struct question *q)
{
    str *groups = arena_array(a, str, 8);
    struct identity who = { .user = str_of(q->user), .groups = groups };

    for (str rest = str_of(q->groups), part; rest.p && str_split(&rest, ' ', &part);)
        groups[who.ngroups++] = part;
    return who;
}

static bool ask_reason(struct world *w, uint32_t instance, const struct question *q, str *reason)
{
    struct instance i = { .id = instance };
    struct identity who = identity_of(w->arena, q);
    struct access x = { .who = &who,
                        .instance = &i,
                        .verb = str_of(q->verb),
                        .is_resource = q->what[0] != '/',
                        .namespace_ = str_of(q->namespace_),
                        .name = str_of(q->name) };
    str what = str_of(q->what);

    if (x.is_resource) {
        (void)str_split(&what, '.', &x.subresource);
        x.group = what;
        what = x.subresource;
        (void)str_split(&what, '/', &x.resource);
        x.subresource = what;
    } else {
        x.path = what;
    }
    return rbac_allowed(w->rbac, w->arena, &x, reason);
}

static bool ask(struct world *w, uint32_t instance, const char *user, const char *verb,
                const char *what, const char *namespace_, const char *name)
{
    struct question q = { user, "system:authenticated", verb, what, namespace_, name };

    return ask_reason(w, instance, &q, NULL);
}

TEST(who_may_what)
{
    static const struct {
        struct question q;
        bool want;
    } rows[] = {
        /* names and namespaces */
        { { "alice", "", "get", "pods", "a", "x" }, true },
        { { "alice", "", "list", "pods", "a", "" }, true },
        { { "alice", "", "delete", "pods", "a", "x" }, false },
        { { "alice", "", "get", "pods", "b", "x" }, false },
        { { "alice", "", "list", "pods", "", "" }, false },
        { { "alice", "", "get", "secrets", "a", "x" }, false },
        { { "alice", "", "get", "pods.apps", "a", "x" }, false },
        { { "Alice", "", "get", "pods", "a", "x" }, false },
        { { "alice2", "", "get", "pods", "a", "x" }, false },
        { { "", "", "get", "pods", "a", "x" }, false },
        /* a user is no group, a group is no user */
        { { "team", "", "update", "pods", "a", "x" }, false },
        { { "x", "team", "update", "pods", "a", "x" }, true },
        { { "x", "other team", "update", "pods", "a", "x" }, true },
        { { "x", "alice", "get", "pods", "a", "x" }, false },
        /* service accounts */
        { { "system:serviceaccount:a:bot", "", "watch", "pods", "a", "" }, true },
        { { "system:serviceaccount:b:bot", "", "watch", "pods", "a", "" }, false },
        { { "system:serviceaccount:a:home", "", "watch", "pods", "a", "" }, true },
        { { "bot", "", "watch", "pods", "a", "" }, false },
        { { "x", "system:serviceaccounts:a", "patch", "pods", "a", "x" }, true },
        { { "x", "system:serviceaccounts:b", "patch", "pods", "a", "x" }, false },
        /* names of resources */
        { { "carl", "", "get", "configmaps", "a", "one" }, true },
        { { "carl", "", "get", "configmaps", "a", "two" }, false },
        { { "carl", "", "list", "configmaps", "a", "" }, false },
        { { "carl", "", "list", "configmaps", "a", "one" }, true }, /* by a field selector */
        { { "carl", "", "create", "configmaps", "a", "" }, false },
        { { "carl", "", "deletecollection", "configmaps", "a", "" }, false },
        /* subresources */
        { { "dora", "", "get", "pods/log", "a", "x" }, true },
        { { "dora", "", "get", "pods", "a", "x" }, false },
        { { "dora", "", "get", "pods/exec", "a", "x" }, false },
        { { "dora", "", "update", "deployments/scale.apps", "a", "x" }, true },
        { { "dora", "", "update", "statefulsets/scale.apps", "a", "x" }, true },
        { { "dora", "", "update", "deployments.apps", "a", "x" }, false },
        { { "dora", "", "update", "deployments/scale", "a", "x" }, false },
        { { "emil", "", "get", "pods/log", "", "x" }, true },
        { { "emil", "", "get", "things.example.com", "any", "x" }, false },
        { { "emil", "", "create", "pods", "", "" }, false },
        /* everything */
        { { "root", "", "whatever", "things/sub.example.com", "any", "x" }, true },
        { { "root", "", "get", "/metrics", "", "" }, true },
        { { "root", "", "post", "/", "", "" }, true },
        /* paths */
        { { "fred", "", "get", "/metrics", "", "" }, true },
        { { "fred", "", "get", "/metrics/cadvisor", "", "" }, false },
        { { "fred", "", "get", "/logs/a/b", "", "" }, true },
        { { "fred", "", "get", "/logs", "", "" }, false },
        { { "fred", "", "get", "/logsa", "", "" }, false },
        { { "fred", "", "post", "/metrics", "", "" }, false },
        { { "fred", "", "get", "/", "", "" }, false },
        { { "fred", "", "get", "metrics", "", "" }, false },   /* a resource of that name */
        { { "greg", "", "get", "/metrics", "a", "" }, false }, /* roles give no paths */
        /* a cluster role within a namespace, and everywhere */
        { { "hans", "", "get", "nodes", "a", "x" }, true },
        { { "hans", "", "get", "nodes", "", "x" }, false },
        { { "hans", "", "get", "nodes", "b", "x" }, false },
        { { "iris", "", "get", "nodes", "", "x" }, true },
        { { "iris", "", "get", "nodes", "b", "x" }, true },
        /* a role that is not there, a subject that is nobody */
        { { "judy", "", "get", "pods", "a", "x" }, false },
        { { "kate", "", "get", "pods", "a", "x" }, false },
    };
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, ROLES, ONE, "a/reader", RULES(RULE("\"\"", "\"pods\"", "\"get\",\"list\"")));
    put(&w, BINDINGS, ONE, "a/reader", BIND("Role", "reader", USER("alice")));
    put(&w, ROLES, ONE, "a/updater", RULES(RULE("\"\"", "\"pods\"", "\"update\"")));
    put(&w, BINDINGS, ONE, "a/updater", BIND("Role", "updater", USER("nobody") "," GROUP("team")));
    put(&w, ROLES, ONE, "a/watcher", RULES(RULE("\"\"", "\"pods\"", "\"watch\"")));
    put(&w, BINDINGS, ONE, "a/watcher",
        BIND("Role", "watcher", ACCOUNT("a", "bot") "," ACCOUNT("", "home")));
    put(&w, ROLES, ONE, "a/patcher", RULES(RULE("\"\"", "\"pods\"", "\"patch\"")));
    put(&w, BINDINGS, ONE, "a/patcher", BIND("Role", "patcher", GROUP("system:serviceaccounts:a")));
    put(&w, ROLES, ONE, "a/one",
        RULES(NAMED("\"\"", "\"configmaps\"", "\"get\",\"list\",\"create\",\"deletecollection\"",
                    "\"one\"")));
    put(&w, BINDINGS, ONE, "a/one", BIND("Role", "one", USER("carl")));
    put(&w, ROLES, ONE, "a/subs",
        RULES(RULE("\"\"", "\"pods/log\"", "\"get\"") "," RULE("\"apps\"", "\"*/scale\"",
                                                               "\"update\"")));
    put(&w, BINDINGS, ONE, "a/subs", BIND("Role", "subs", USER("dora")));
    put(&w, CLUSTER_ROLES, ONE, "core", RULES(RULE("\"\"", "\"*\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "core", BIND("ClusterRole", "core", USER("emil")));
    put(&w, CLUSTER_ROLES, ONE, "all",
        RULES(RULE("\"*\"", "\"*\"", "\"*\"") "," URLS("\"*\"", "\"*\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "all", BIND("ClusterRole", "all", USER("root")));
    put(&w, CLUSTER_ROLES, ONE, "paths", RULES(URLS("\"/metrics\",\"/logs/*\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "paths", BIND("ClusterRole", "paths", USER("fred")));
    put(&w, BINDINGS, ONE, "a/paths", BIND("ClusterRole", "paths", USER("greg")));
    put(&w, CLUSTER_ROLES, ONE, "nodes", RULES(RULE("\"\"", "\"nodes\"", "\"get\"")));
    put(&w, BINDINGS, ONE, "a/nodes", BIND("ClusterRole", "nodes", USER("hans")));
    put(&w, CLUSTER_BINDINGS, ONE, "nodes", BIND("ClusterRole", "nodes", USER("iris")));
    put(&w, BINDINGS, ONE, "a/none", BIND("Role", "none", USER("judy")));
    put(&w, BINDINGS, ONE, "a/robot",
        BIND("Role", "reader", "{\"kind\":\"Robot\",\"name\":\"kate\"}"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct question *q = &rows[i].q;

        if (!CHECK(ask_reason(&w, ONE, q, NULL) == rows[i].want))
            printf("# row %zu: %s (%s) %s %s in %s, %s\n", i, q->user, q->groups, q->verb, q->what,
                   q->namespace_, q->name);
        CHECK(!ask_reason(&w, TWO, q, NULL)); /* all this is of one instance */
    }
    world_free(&w);
}

TEST(the_reason_is_told)
{
    struct question team = { "x", "g", "get", "pods", "", "x" };
    struct question bot = { "system:serviceaccount:n:bot", "", "get", "pods", "a", "x" };
    struct question gone = { "y", "", "get", "pods", "a", "x" };
    struct world w;
    str why;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, ONE, "r", RULES(RULE("\"\"", "\"pods\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "cb", BIND("ClusterRole", "r", GROUP("g")));
    put(&w, BINDINGS, ONE, "a/b", BIND("ClusterRole", "r", ACCOUNT("n", "bot")));
    put(&w, BINDINGS, ONE, "a/c", BIND("Role", "lost", USER("y")));
    CHECK(ask_reason(&w, ONE, &team, &why));
    CHECK_STR(str_z(w.arena, why), "RBAC: allowed by ClusterRoleBinding \"cb\" of ClusterRole "
                                   "\"r\" to Group \"g\"");
    CHECK(ask_reason(&w, ONE, &bot, &why));
    CHECK_STR(str_z(w.arena, why), "RBAC: allowed by RoleBinding \"b/a\" of ClusterRole \"r\" to "
                                   "ServiceAccount \"bot/n\"");
    CHECK(!ask_reason(&w, ONE, &gone, &why));
    CHECK_STR(str_z(w.arena, why), "RBAC: role.rbac.authorization.k8s.io \"lost\" not found");
    put(&w, CLUSTER_BINDINGS, ONE, "lost", BIND("ClusterRole", "gone", USER("y")));
    CHECK(!ask_reason(&w, ONE, &gone, &why));
    CHECK_STR(str_z(w.arena, why), "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not "
                                   "found, role.rbac.authorization.k8s.io \"lost\" not found]");
    gone.user = "z";
    CHECK(!ask_reason(&w, ONE, &gone, &why));
    CHECK(why.n == 0);
    world_free(&w);
}

/* The very next question knows of every change. */
TEST(changes_count_at_once)
{
    struct world w;

    world_init(&w, 1 << 20);
    for (int i = 0; i < 3; i++) {
        put(&w, ROLES, ONE, "a/r", RULES(RULE("\"\"", "\"pods\"", "\"get\"")));
        CHECK(!ask(&w, ONE, "u", "get", "pods", "a", "x"));
        put(&w, BINDINGS, ONE, "a/b", BIND("Role", "r", USER("u")));
        CHECK(ask(&w, ONE, "u", "get", "pods", "a", "x"));
        CHECK(!ask(&w, ONE, "u", "list", "pods", "a", ""));
        put(&w, ROLES, ONE, "a/r", RULES(RULE("\"\"", "\"pods\"", "\"list\"")));
        CHECK(!ask(&w, ONE, "u", "get", "pods", "a", "x"));
        CHECK(ask(&w, ONE, "u", "list", "pods", "a", ""));
        remove_row(&w, ROLES, ONE, "a/r");
        CHECK(!ask(&w, ONE, "u", "list", "pods", "a", ""));
        put(&w, ROLES, ONE, "a/r", RULES(RULE("\"\"", "\"pods\"", "\"list\"")));
        CHECK(ask(&w, ONE, "u", "list", "pods", "a", ""));
        remove_row(&w, BINDINGS, ONE, "a/b");
        CHECK(!ask(&w, ONE, "u", "list", "pods", "a", ""));
        CHECK(!ask(&w, TWO, "u", "list", "pods", "a", ""));
        remove_row(&w, ROLES, ONE, "a/r");
    }
    world_free(&w);
}

TEST(template_rows_count_in_every_instance)
{
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, TEMPLATE, "info", RULES(URLS("\"/version\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, TEMPLATE, "info",
        BIND("ClusterRole", "info", GROUP("system:authenticated")));
    CHECK(ask(&w, ONE, "u", "get", "/version", "", ""));
    CHECK(ask(&w, TWO, "u", "get", "/version", "", ""));
    /* Own rows beside them change nothing. */
    put(&w, CLUSTER_ROLES, ONE, "own", RULES(URLS("\"/own\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "own", BIND("ClusterRole", "own", USER("u")));
    CHECK(ask(&w, ONE, "u", "get", "/version", "", ""));
    CHECK(ask(&w, ONE, "u", "get", "/own", "", ""));
    CHECK(!ask(&w, TWO, "u", "get", "/own", "", ""));
    /* A row of the same name takes the template's place, */
    put(&w, CLUSTER_ROLES, ONE, "info", RULES(URLS("\"/other\"", "\"get\"")));
    CHECK(!ask(&w, ONE, "u", "get", "/version", "", ""));
    CHECK(ask(&w, ONE, "u", "get", "/other", "", ""));
    CHECK(ask(&w, TWO, "u", "get", "/version", "", ""));
    remove_row(&w, CLUSTER_ROLES, ONE, "info");
    CHECK(ask(&w, ONE, "u", "get", "/version", "", ""));
    put(&w, CLUSTER_BINDINGS, ONE, "info", BIND("ClusterRole", "info", USER("v")));
    CHECK(!ask(&w, ONE, "u", "get", "/version", "", ""));
    CHECK(ask(&w, ONE, "v", "get", "/version", "", ""));
    /* and a hidden one leaves it empty. */
    put(&w, CLUSTER_BINDINGS, ONE, "info", NULL);
    CHECK(!ask(&w, ONE, "v", "get", "/version", "", ""));
    CHECK(ask(&w, TWO, "u", "get", "/version", "", ""));
    remove_row(&w, CLUSTER_BINDINGS, ONE, "info");
    put(&w, CLUSTER_ROLES, ONE, "info", NULL);
    CHECK(!ask(&w, ONE, "u", "get", "/version", "", ""));
    put(&w, CLUSTER_BINDINGS, ONE, "own", BIND("ClusterRole", "info", USER("u")));
    CHECK(!ask(&w, ONE, "u", "get", "/version", "", ""));
    remove_row(&w, CLUSTER_ROLES, ONE, "info");
    CHECK(ask(&w, ONE, "u", "get", "/version", "", ""));
    /* When the templates change all hear of it. */
    put(&w, CLUSTER_ROLES, TEMPLATE, "info", RULES(URLS("\"/new\"", "\"get\"")));
    CHECK(!ask(&w, ONE, "u", "get", "/version", "", ""));
    CHECK(ask(&w, ONE, "u", "get", "/new", "", ""));
    CHECK(ask(&w, TWO, "u", "get", "/new", "", ""));
    world_free(&w);
}

/* More instances than fit: what is put out is read again. */
TEST(the_cache_is_bounded_and_right)
{
    struct world w;

    world_init(&w, 4000);
    for (uint32_t i = 0; i < 200; i++) {
        put(&w, CLUSTER_ROLES, 100 + i, "r", RULES(RULE("\"\"", "\"pods\"", "\"get\"")));
        put(&w, CLUSTER_BINDINGS, 100 + i, "b",
            arena_printf(w.arena, BIND("ClusterRole", "r", USER("u%u")), i));
    }
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 200; i++) {
            const char *user = arena_printf(w.arena, "u%u", i);

            CHECK(ask(&w, 100 + i, user, "get", "pods", "", "x"));
            CHECK(!ask(&w, 100 + (i + 1) % 200, user, "get", "pods", "", "x"));
        }
    world_free(&w);
}

static struct rbac_rules rules_of(struct world *w, const char *user, const char *namespace_)
{
    struct question q = { .user = user, .groups = "g" };
    struct identity who = identity_of(w->arena, &q);
    struct instance i = { .id = ONE };
    struct rbac_rules out = { .error = STR_NONE };

    CHECK(rbac_rules(w->rbac, w->arena, &who, &i, str_of(namespace_), &out, &w->st) == 0);
    return out;
}

TEST(the_rules_of_somebody)
{
    struct rbac_rules r;
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, ONE, "c",
        RULES(RULE("\"\",\"apps\"", "\"a\",\"b\"", "\"get\"") "," URLS("\"/x\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "c", BIND("ClusterRole", "c", USER("u") "," GROUP("g")));
    put(&w, ROLES, ONE, "n/r", RULES(NAMED("\"\"", "\"c\"", "\"list\"", "\"one\"")));
    put(&w, BINDINGS, ONE, "n/r", BIND("Role", "r", USER("u")));
    r = rules_of(&w, "u", "n");
    CHECK_STR(str_z(w.arena, json_text(w.arena, r.resource_rules)),
              "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\",\"apps\"],\"resources\":[\"a\",\"b\"]},"
              "{\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"c\"],"
              "\"resourceNames\":[\"one\"]}]");
    CHECK_STR(str_z(w.arena, json_text(w.arena, r.non_resource_rules)),
              "[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/x\"]}]");
    CHECK(r.error.n == 0);
    CHECK(json_len(rules_of(&w, "v", "n").resource_rules) == 1);
    CHECK(json_len(rules_of(&w, "u", "m").resource_rules) == 1);
    put(&w, BINDINGS, ONE, "n/s", BIND("Role", "s", USER("u")));
    CHECK_STR(str_z(w.arena, rules_of(&w, "u", "n").error),
              "role.rbac.authorization.k8s.io \"s\" not found");
    world_free(&w);
}

/* ---- giving rights away ---- */

static const char *excess(struct world *w, const char *user, const char *rules)
{
    struct question q = { .user = user, .groups = "" };
    struct identity who = identity_of(w->arena, &q);
    struct instance i = { .id = ONE };
    const struct json *tree;
    str out = STR_NONE;

    status_reset(&w->st);
    if (!CHECK(json_parse(w->arena, str_of(arena_printf(w->arena, "[%s]", rules)), NULL, &tree,
                          &w->st) == 0))
        return "";
    if (rbac_excess(w->rbac, w->arena, &who, &i, STR("n"), tree, &out, &w->st) < 0)
        return status_reason(&w->st);
    return str_z(w->arena, out);
}

TEST(only_what_one_holds_can_be_given)
{
    static const struct {
        const char *rules, *want;
    } rows[] = {
        { "", "" },
        { RULE("\"\"", "\"pods\"", "\"get\""), "" },
        { RULE("\"\"", "\"pods\"", "\"get\",\"list\""), "" }, /* from two rules */
        { RULE("\"\"", "\"pods\"", "\"delete\",\"get\",\"watch\""),
          "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"watch\"]}" },
        { RULE("\"\"", "\"pods\"", "\"*\""),
          "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}" },
        { RULE("\"*\"", "\"pods\"", "\"get\""),
          "{APIGroups:[\"*\"], Resources:[\"pods\"], Verbs:[\"get\"]}" },
        { RULE("\"\",\"apps\"", "\"pods\",\"nodes\"", "\"get\""),
          "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}\n"
          "{APIGroups:[\"apps\"], Resources:[\"nodes\"], Verbs:[\"get\"]}\n"
          "{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\"]}" },
        { NAMED("\"\"", "\"pods\"", "\"get\"", "\"x\""), "" },
        { NAMED("\"\"", "\"secrets\"", "\"get\"", "\"a\""), "" },
        { NAMED("\"\"", "\"secrets\"", "\"get\"", "\"a\",\"b\""),
          "{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}" },
        { RULE("\"\"", "\"secrets\"", "\"get\""),
          "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}" },
        { RULE("\"apps\"", "\"deployments/scale\"", "\"update\""), "" },
        { RULE("\"apps\"", "\"deployments/status\"", "\"update\""),
          "{APIGroups:[\"apps\"], Resources:[\"deployments/status\"], Verbs:[\"update\"]}" },
        { RULE("\"apps\"", "\"deployments\"", "\"update\""),
          "{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"update\"]}" },
        { RULE("\"all\"", "\"x/y\",\"z\"", "\"a\",\"b\""), "" },
        { URLS("\"/logs/a\",\"/logs/*\"", "\"get\""), "" },
        { URLS("\"/logs\",\"/x\"", "\"get\",\"post\""),
          "{NonResourceURLs:[\"/logs\"], Verbs:[\"get\"]}\n"
          "{NonResourceURLs:[\"/logs\"], Verbs:[\"post\"]}\n"
          "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}\n"
          "{NonResourceURLs:[\"/x\"], Verbs:[\"post\"]}" },
    };
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, ONE, "c",
        RULES(RULE("\"\"", "\"pods\"", "\"get\"") "," RULE("\"all\"", "\"*\"", "\"*\"") "," URLS(
            "\"/logs/*\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "c", BIND("ClusterRole", "c", USER("u")));
    put(&w, ROLES, ONE, "n/r",
        RULES(RULE("\"\"", "\"pods\"", "\"list\"") "," NAMED(
            "\"\"", "\"secrets\"", "\"get\"", "\"a\"") "," RULE("\"apps\"", "\"*/scale\"",
                                                                "\"update\"")));
    put(&w, BINDINGS, ONE, "n/r", BIND("Role", "r", USER("u")));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(excess(&w, "u", rows[i].rules), rows[i].want);
    world_free(&w);
}

/* A short text that stands for more than anyone wants to compare. */
TEST(a_bomb_of_rules_is_refused)
{
    struct world w;
    struct buf b;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, ONE, "c", RULES(RULE("\"*\"", "\"*\"", "\"*\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "c", BIND("ClusterRole", "c", USER("u")));
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_printf(&b, "%s\"n%d\"", i ? "," : "", i);
    CHECK_STR(excess(&w, "u",
                     arena_printf(w.arena,
                                  "{\"apiGroups\":[%.*s],\"resources\":[%.*s],\"verbs\":[%.*s],"
                                  "\"resourceNames\":[%.*s]}",
                                  STR_ARG(buf_str(&b)), STR_ARG(buf_str(&b)), STR_ARG(buf_str(&b)),
                                  STR_ARG(buf_str(&b)))),
              "RequestEntityTooLarge");
    buf_release(&b);
    world_free(&w);
}

/* ---- threads ---- */

struct race {
    struct world *w;
    atomic_bool stop;
    atomic_uint asked;
};

/* What never changes is always allowed, what never was never; the rest is one or the other. */
static void *ask_on(void *arg)
{
    struct race *r = arg;
    struct identity who = { .user = STR("u") };
    struct instance i = { .id = ONE };

    while (!atomic_load(&r->stop)) {
        scoped_arena a = arena_new();
        struct access x = { .who = &who, .instance = &i, .is_resource = true };
        str reason;

        x.resource = STR("pods");
        epoch_enter();
        x.verb = STR("get");
        CHECK(rbac_allowed(r->w->rbac, a, &x, &reason));
        x.verb = STR("never");
        CHECK(!rbac_allowed(r->w->rbac, a, &x, &reason));
        x.verb = STR("sometimes");
        (void)rbac_allowed(r->w->rbac, a, &x, &reason);
        epoch_exit();
        atomic_fetch_add(&r->asked, 1);
    }
    return NULL;
}

TEST(many_ask_while_rows_change)
{
    enum { THREADS = 3, CHANGES = 300 };
    struct world w;
    struct race r = { .w = &w };
    pthread_t threads[THREADS];

    world_init(&w, 2000);
    put(&w, CLUSTER_ROLES, TEMPLATE, "base", RULES(RULE("\"\"", "\"pods\"", "\"get\"")));
    put(&w, CLUSTER_BINDINGS, TEMPLATE, "base", BIND("ClusterRole", "base", USER("u")));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask_on, &r) == 0);
    epoch_exit();
    while (atomic_load(&r.asked) == 0) /* else all changes may be over before anybody asks */
        (void)sched_yield();
    for (int i = 0; i < CHANGES; i++) {
        put(&w, CLUSTER_ROLES, ONE, "own", RULES(RULE("\"\"", "\"pods\"", "\"sometimes\"")));
        put(&w, CLUSTER_BINDINGS, ONE, "own", BIND("ClusterRole", "own", USER("u")));
        put(&w, CLUSTER_ROLES, TEMPLATE, "other", RULES(RULE("\"\"", "\"x\"", "\"y\"")));
        epoch_enter();
        CHECK(ask(&w, ONE, "u", "sometimes", "pods", "", ""));
        epoch_exit();
        remove_row(&w, CLUSTER_BINDINGS, ONE, "own");
        epoch_enter();
        CHECK(!ask(&w, ONE, "u", "sometimes", "pods", "", ""));
        epoch_exit();
        (void)epoch_reclaim();
    }
    atomic_store(&r.stop, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    epoch_enter();
    world_free(&w);
}

/* "[namespace/]resource.group …", in their order. */
static const char *listing(struct world *w, uint32_t instance, const char *user, const char *groups)
{
    struct question q = { user, groups, "list", "/", "", "" };
    struct identity who = identity_of(w->arena, &q);
    struct instance i = { .id = instance };
    struct listable l;
    str out = STR_NONE;

    if (!CHECK(rbac_listable(w->rbac, w->arena, &who, &i, &l, &w->st) == 0))
        return "";
    for (size_t k = 0; k < l.n; k++)
        out = str_printf(w->arena, "%.*s%s%.*s/%.*s.%.*s", STR_ARG(out), k ? " " : "",
                         STR_ARG(l.rules[k].namespace_), STR_ARG(l.rules[k].resource),
                         STR_ARG(l.rules[k].group));
    return str_z(w->arena, out);
}

TEST(what_may_be_listed)
{
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, TEMPLATE, "view", RULES(RULE("\"\"", "\"pods\"", "\"get\",\"list\"")));
    put(&w, CLUSTER_BINDINGS, TEMPLATE, "view", BIND("ClusterRole", "view", GROUP("viewers")));
    put(&w, ROLES, ONE, "a/keys",
        RULES(RULE("\"\",\"apps\"", "\"secrets\",\"x/log\"", "\"*\"") "," NAMED(
            "\"\"", "\"nodes\"", "\"list\"",
            "\"n\"") "," RULE("\"\"", "\"maps\"", "\"get\"") "," URLS("\"/metrics\"", "\"list\"")));
    put(&w, BINDINGS, ONE, "a/keys", BIND("Role", "keys", USER("jane")));
    put(&w, BINDINGS, ONE, "b/view", BIND("ClusterRole", "view", USER("jane") "," GROUP("devs")));
    put(&w, BINDINGS, ONE, "c/gone", BIND("Role", "none", USER("jane")));
    put(&w, CLUSTER_BINDINGS, ONE, "all", BIND("ClusterRole", "all", GROUP("admins")));
    put(&w, CLUSTER_ROLES, ONE, "all", RULES(RULE("\"*\"", "\"*\"", "\"*\"")));
    CHECK_STR(listing(&w, ONE, "jane", ""),
              "a/secrets. a/x/log. a/secrets.apps a/x/log.apps b/pods.");
    CHECK_STR(listing(&w, ONE, "bob", "devs viewers"), "b/pods. /pods.");
    CHECK_STR(listing(&w, ONE, "bob", "admins"), "/*.*");
    CHECK_STR(listing(&w, TWO, "jane", "viewers"), "/pods.");
    CHECK_STR(listing(&w, ONE, "viewers", ""), ""); /* a user is no group */
    remove_row(&w, BINDINGS, ONE, "a/keys");
    CHECK_STR(listing(&w, ONE, "jane", ""), "b/pods.");
    put(&w, CLUSTER_BINDINGS, ONE, "view", NULL);
    CHECK_STR(listing(&w, ONE, "bob", "viewers"), "");
    world_free(&w);
}

TEST(a_listing_is_bounded)
{
    struct world w;

    world_init(&w, 1 << 20);
    put(&w, CLUSTER_ROLES, ONE, "all", RULES(RULE("\"g\"", "\"r\"", "\"list\"")));
    put(&w, CLUSTER_BINDINGS, ONE, "wide", BIND("ClusterRole", "all", USER("jane")));
    for (int i = 0; i < RBAC_LISTABLE_MAX + 10; i++)
        put(&w, BINDINGS, ONE, arena_printf(w.arena, "n%d/b", i),
            BIND("ClusterRole", "all", USER("jane")));
    {
        static const struct identity jane = { .user = STR_INIT("jane") };
        struct instance i = { .id = ONE };
        struct listable l;

        CHECK(rbac_listable(w.rbac, w.arena, &jane, &i, &l, &w.st) == 0);
        CHECK(l.n == RBAC_LISTABLE_MAX && l.rules[0].namespace_.n == 0); /* wide ones first */
    }
    world_free(&w);
}
