/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow_set.h"

#include "kinds/defaults.h"
#include "tap.h"

/* Which schema a request matches, and how many seats its level has. */

static struct arena *arena;

static struct flow_rows rows_of(const struct json *objects, const char *kind)
{
    struct flow_rows out = { .at = arena_array(arena, struct flow_row, json_len(objects) + 1) };

    json_for_each (o, objects)
        if (str_is(json_get_str(o, "kind"), kind))
            out.at[out.n++] =
                (struct flow_row){ .name = json_get_str(o, "metadata.name"), .tree = o };
    return out;
}

/* The defaults, and what the text holds beside them. */
static struct flow_set *set_with(const char *text, unsigned seats)
{
    struct json_array all = json_array_new(arena);
    struct flow_rows schemas, levels;
    const struct json *more, *objects;
    struct status st;

    status_init(&st, arena);
    CHECK(system_defaults(&all, &st) == 0);
    CHECK(json_parse(arena, str_of(text), NULL, &more, &st) == 0);
    json_for_each (o, more)
        json_push(&all, *o);
    objects = json_array_done(&all);
    schemas = rows_of(objects, "FlowSchema");
    levels = rows_of(objects, "PriorityLevelConfiguration");
    return flow_set_new(&schemas, &levels, seats, STR("6ba7b810-9dad-11d1-80b4-00c04fd430c8"));
}

static const char *match(const struct flow_set *s, const char *method, const char *path,
                         const char *user, const char *group)
{
    str groups[] = { str_of(group), STR("system:authenticated") };
    struct identity who = { .user = str_of(user), .groups = groups, .ngroups = 2 };
    struct reqinfo info;
    struct status st;

    status_init(&st, arena);
    CHECK(reqinfo_parse(arena, str_of(method), str_of(path), STR_NONE, &info, &st) == 0);
    return str_z(arena, flow_set_match(s, &info, &who)->name);
}

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
#define POD   "/api/v1/namespaces/d/pods/x"
#define ROBOT "system:serviceaccount:d:robot"

TEST(the_default_schemas_take_whom_they_are_for)
{
    struct flow_set *s;

    arena = arena_new();
    s = set_with("[]", 600);
    CHECK_STR(match(s, "GET", POD, "admin", "system:masters"), "exempt");
    CHECK_STR(match(s, "GET", "/readyz", "x", "y"), "probes");
    CHECK_STR(match(s, "GET", "/readyz/store", "x", "y"), "probes");
    CHECK_STR(match(s, "GET", "/readyzz", "x", "y"), "global-default");
    CHECK_STR(match(s, "PUT", LEASE, "system:kube-scheduler", "y"), "system-leader-election");
    CHECK_STR(match(s, "DELETE", LEASE, "system:kube-scheduler", "y"), "kube-scheduler");
    CHECK_STR(match(s, "PUT", LEASE, "system:serviceaccount:kube-system:a", "y"),
              "system-leader-election");
    CHECK_STR(match(s, "GET", POD, "system:serviceaccount:kube-system:a", "y"),
              "kube-system-service-accounts");
    CHECK_STR(match(s, "GET", POD, "system:serviceaccount:kube-systemx:a", "y"), "global-default");
    CHECK_STR(match(s, "GET", POD, ROBOT, "system:serviceaccounts"), "service-accounts");
    CHECK_STR(match(s, "PATCH", "/api/v1/nodes/n/status", "system:node:n", "system:nodes"),
              "system-node-high");
    CHECK_STR(match(s, "GET", "/api/v1/nodes/n/proxy", "system:node:n", "system:nodes"),
              "system-nodes");
    CHECK_STR(match(s, "GET", POD, "jane", "people"), "global-default");
    flow_set_free(s);
    arena_free(arena);
}

#define SCHEMA(name, precedence, level, rules)                            \
    "{\"kind\":\"FlowSchema\",\"metadata\":{\"name\":\"" name             \
    "\"},\"spec\":{\"matchingPrecedence\":" precedence                    \
    ",\"priorityLevelConfiguration\":{\"name\":\"" level                  \
    "\"},\"distinguisherMethod\":{\"type\":\"ByNamespace\"},\"rules\":[{" \
    "\"subjects\":[{\"kind\":\"User\",\"user\":{\"name\":\"jane\"}}]," rules "}]}}"
#define PODS                                                                       \
    "\"resourceRules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[" \
    "\"pods\",\"pods/log\"],\"namespaces\":[\"d\"]}]"

TEST(precedence_decides_then_the_name_and_a_missing_level_counts_for_nothing)
{
    struct flow_set *s;

    arena = arena_new();
    s = set_with(
        "[" SCHEMA("b", "300", "system", PODS) "," SCHEMA("a", "300", "system", PODS) "," //
        SCHEMA("first", "2", "not-there", PODS) "]",
        600);
    CHECK_STR(match(s, "GET", POD, "jane", "y"), "a");
    CHECK_STR(match(s, "GET", POD "/log", "jane", "y"), "a");
    CHECK_STR(match(s, "GET", POD "/status", "jane", "y"), "global-default");
    CHECK_STR(match(s, "GET", "/api/v1/namespaces/e/pods/x", "jane", "y"), "global-default");
    CHECK_STR(match(s, "GET", "/api/v1/pods", "jane", "y"), "global-default"); /* not namespaced */
    CHECK_STR(match(s, "DELETE", POD, "jane", "y"), "global-default");
    CHECK_STR(match(s, "GET", POD, "john", "y"), "global-default");
    flow_set_free(s);
    arena_free(arena);
}

static const struct flow_level *level(const struct flow_set *s, const char *name)
{
    for (size_t i = 0; i < s->nschemas; i++)
        if (str_is(s->schemas[i].level->name, name))
            return s->schemas[i].level;
    return NULL;
}

/* k8s: shares 5 + 0 + 20 + 10 + 40 + 30 + 40 + 100 = 245 */
TEST(levels_have_the_seats_that_kubernetes_gives_them)
{
    const struct flow_level *l;
    struct flow_set *s;

    arena = arena_new();
    s = set_with("[]", 600);
    CHECK(level(s, "exempt")->exempt);
    l = level(s, "workload-low");
    CHECK(l->limits.nominal == 245 && l->limits.lendable == 221 && l->limits.max == 600);
    CHECK(l->limits.queues == 128 && l->limits.hand == 6 && l->limits.length == 50);
    l = level(s, "catch-all");
    CHECK(l->limits.nominal == 13 && l->limits.lendable == 0 && l->limits.queues == 0);
    CHECK(level(s, "leader-election")->limits.nominal == 25);
    CHECK(level(s, "system")->limits.lendable == 24);
    flow_set_free(s);

    s = set_with(
        "[" SCHEMA(
            "a", "300", "jail",
            PODS) "," //
                  "{\"kind\":\"PriorityLevelConfiguration\",\"metadata\":{\"name\":\"jail\"},"
                  "\"spec\":{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":0,"
                  "\"borrowingLimitPercent\":0,\"limitResponse\":{\"type\":\"Reject\"}}}}]",
        600);
    l = level(s, "jail");
    CHECK(l->limits.nominal == 0 && l->limits.max == 0 && l->limits.queues == 0);
    flow_set_free(s);
    arena_free(arena);
}

static uint64_t flow_of(const struct flow_set *s, const char *path, const char *user)
{
    str groups[] = { STR("system:authenticated") };
    struct identity who = { .user = str_of(user), .groups = groups, .ngroups = 1 };
    struct reqinfo info;
    struct status st;

    status_init(&st, arena);
    CHECK(reqinfo_parse(arena, STR("GET"), str_of(path), STR_NONE, &info, &st) == 0);
    return flow_schema_hash(flow_set_match(s, &info, &who), &info, &who);
}

TEST(a_flow_is_a_user_or_a_namespace)
{
    struct flow_set *s;

    arena = arena_new();
    s = set_with("[]", 600);
    CHECK(flow_of(s, POD, "a") == flow_of(s, "/api/v1/nodes", "a"));
    CHECK(flow_of(s, POD, "a") != flow_of(s, POD, "b"));
    CHECK(flow_of(s, POD, "system:kube-scheduler") !=
          flow_of(s, "/api/v1/namespaces/e/pods/x", "system:kube-scheduler"));
    flow_set_free(s);
    arena_free(arena);
}
