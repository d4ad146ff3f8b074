/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

/* An Instance with members is deleted only when somebody said what becomes of what runs there. */

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"

#define KCP_SPEC                                                                                \
    "{\"kubeconfig\":\"{current-context: c, contexts: [{name: c, context: {cluster: c, user: "  \
    "u}}], "                                                                                    \
    "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: " \
    "{token: t}}]}\"}"

static const struct door {
    const char *name, *spec, *members; /* path of its members, or NULL: it has none */
    const char *member;                /* spec of one */
    int code;                          /* of a DELETE that says nothing */
} doors[] = {
    { "empty", "{}", NULL, NULL, 200 },
    { "push", "{}", "/apis/cluster.karmada.io/v1alpha1/clusters", "{\"syncMode\":\"Push\"}", 409 },
    { "minimal", "{\"profile\":\"minimal\"}", "/apis/workload.kcp.dev/v1alpha1/clusters", KCP_SPEC,
      409 },
};
enum { DOORS = sizeof(doors) / sizeof(*doors) };

static void make(struct rig *r, const struct door *d)
{
    struct arena *a = r->arena;

    CHECK(ask_api(r, "POST", INSTANCES,
                  arena_printf(a, "{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", d->name, d->spec),
                  NULL) == 200);
    if (d->members &&
        !CHECK(ask_api(r, "POST", arena_printf(a, "/clusters/%s%s", d->name, d->members),
                       arena_printf(a, "{\"metadata\":{\"name\":\"m1\"},\"spec\":%s}", d->member),
                       NULL) == 200))
        printf("# %.*s\n", STR_ARG(r->st.message));
}

static int delete (struct rig *r, const char *name, const char *query)
{
    return ask_api(r, "DELETE", arena_printf(r->arena, INSTANCES "/%s%s", name, query), "", NULL);
}

static void say(struct rig *r, const char *name, const char *patch)
{
    CHECK(ask_api(r, "PATCH", arena_printf(r->arena, INSTANCES "/%s", name), patch, NULL) == 200);
}

TEST(without_a_word_what_has_members_stays)
{
    struct rig r;

    rig_open(&r);
    for (size_t i = 0; i < DOORS; i++) {
        make(&r, &doors[i]);
        CHECK(delete (&r, doors[i].name, "?dryRun=All") == doors[i].code);
        CHECK(delete (&r, doors[i].name, "") == doors[i].code);
    }
    CHECK(str_contains(r.st.message, STR("has 1 member cluster (m1) and 0 workloads")));
    CHECK(str_contains(r.st.message,
                       STR("kubectl annotate instance minimal kairship.io/release=Orphan")));
    /* All at once is no way round. */
    CHECK(ask_api(&r, "DELETE", INSTANCES, "", NULL) == 409);
    for (size_t i = 1; i < DOORS; i++)
        CHECK(ask_api(&r, "GET", arena_printf(r.arena, INSTANCES "/%s", doors[i].name), "", NULL) ==
              200);
    rig_close(&r);
}

TEST(each_way_to_say_it_is_heard)
{
    static const char *const words[] = {
        "{\"metadata\":{\"annotations\":{\"kairship.io/release\":\"Orphan\"}}}",
        "{\"metadata\":{\"annotations\":{\"kairship.io/release\":\"Destroy\"}}}",
        "{\"spec\":{\"release\":\"Orphan\"}}",
        "{\"spec\":{\"release\":\"Destroy\"}}",
        "{\"metadata\":{\"labels\":{\"karmada.install.io/disable-cascading-deletion\":\"true\"}}}",
    };
    static const char operators[] =
        "{\"metadata\":{\"labels\":{\"karmada.install.io/disable-cascading-deletion\":\"false\"}}}";
    struct rig r;

    rig_open(&r);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        make(&r, &doors[1]);
        say(&r, "push", operators); /* what the product writes by itself is no wish */
        CHECK(delete (&r, "push", "") == 409);
        say(&r, "push", words[i]);
        CHECK(delete (&r, "push", "?dryRun=All") == 200);
        CHECK(delete (&r, "push", "") == 200);
    }
    rig_close(&r);
}

/* What a member has is not deleted in the meantime; the instance may go without it. */
TEST(a_suspended_one_is_let_go_only)
{
    struct rig r;

    rig_open(&r);
    make(&r, &doors[1]);
    say(&r, "push", "{\"spec\":{\"suspended\":true}}");
    CHECK(delete (&r, "push", "") == 409);
    say(&r, "push", "{\"spec\":{\"release\":\"Destroy\"}}");
    CHECK(delete (&r, "push", "") == 409);
    CHECK(str_contains(r.st.message, STR("it is suspended and has 1 member cluster")));
    CHECK(delete (&r, "push", "?dryRun=All") == 409);
    say(&r, "push", "{\"metadata\":{\"annotations\":{\"kairship.io/release\":\"Orphan\"}}}");
    CHECK(delete (&r, "push", "") == 200);
    make(&r, &doors[1]);
    say(&r, "push", "{\"spec\":{\"suspended\":true,\"release\":\"Destroy\"}}");
    CHECK(delete (&r, "push", "") == 409);
    say(&r, "push", "{\"spec\":{\"suspended\":false}}");
    CHECK(delete (&r, "push", "") == 200);
    rig_close(&r);
}
