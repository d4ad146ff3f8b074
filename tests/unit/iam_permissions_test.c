/* SPDX-License-Identifier: Apache-2.0 */
#include "iam/permissions.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "tap.h"

struct bed {
    struct permissions *p;
    struct arena *a;
};

static void bed_open(struct bed *b)
{
    *b = (struct bed){ .p = permissions_new(), .a = arena_new() };
}

static void bed_close(struct bed *b)
{
    permissions_free(b->p);
    arena_free(b->a);
    epoch_drain();
}

/* spec NULL: it is gone. */
static void set(struct bed *b, enum iam_kind kind, const char *name, const char *spec)
{
    const struct json *object = NULL;
    struct status st;

    status_init(&st, b->a);
    if (spec &&
        json_parse(b->a, str_of(arena_printf(b->a, "{\"spec\":%s}", spec)), NULL, &object, &st) < 0)
        abort();
    permissions_set(b->p, kind, str_of(name), object);
    permissions_publish(b->p);
}

/* "Viewer", or "" */
static const char *role(struct bed *b, const char *user, const char *group, const char *instance)
{
    str groups[] = { str_of(group) };
    struct identity who = { .user = str_of(user), .groups = groups, .ngroups = *group ? 1 : 0 };
    const char *name;

    epoch_enter();
    name = iam_role_name(permissions_role(b->p, &who, str_of(instance)));
    epoch_exit();
    return name;
}

#define MEMBER(kind, name, role) \
    "{\"kind\":\"" kind "\",\"name\":\"" name "\",\"role\":\"" role "\"}"
#define BOUND(name) "{\"resourceType\":\"Kairship\",\"resourceName\":\"" name "\"}"

TEST(nobody_has_anything_at_first)
{
    struct bed b;

    bed_open(&b);
    CHECK(!permissions_filled(b.p));
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    permissions_publish(b.p);
    CHECK(permissions_filled(b.p));
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    CHECK_STR(role(&b, "", "", ""), "");
    bed_close(&b);
}

TEST(a_role_holds_where_the_workspace_has_the_instance)
{
    struct bed b;

    bed_open(&b);
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("demo") "],\"members\":[" MEMBER("User", "jane", "Viewer") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Viewer");
    CHECK_STR(role(&b, "jane", "", "other"), "");
    CHECK_STR(role(&b, "joe", "", "demo"), "");
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("demo") "],\"members\":[" MEMBER("User", "jane", "Editor") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Editor");
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("x") "],\"members\":[" MEMBER("User", "jane", "Editor") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    set(&b, IAM_WORKSPACES, "w", NULL);
    CHECK_STR(role(&b, "jane", "", "x"), "");
    bed_close(&b);
}

TEST(of_several_roles_the_highest_counts)
{
    struct bed b;

    bed_open(&b);
    set(&b, IAM_GROUPS, "devs", "{\"members\":[\"jane\"]}");
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("demo") "],\"members\":[" MEMBER(
            "User", "jane", "Viewer") "," MEMBER("Group", "devs", "Admin") "]}");
    set(&b, IAM_WORKSPACES, "v",
        "{\"resources\":[" BOUND("demo") "," BOUND("b") "],\"members\":[" MEMBER("User", "jane",
                                                                                 "Editor") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Admin");
    CHECK_STR(role(&b, "jane", "", "b"), "Editor");
    CHECK_STR(role(&b, "joe", "devs", "demo"), "Admin"); /* a group that the login brought */
    CHECK_STR(role(&b, "devs", "", "demo"), "");         /* a group's name is no user's */
    CHECK_STR(role(&b, "joe", "jane", "demo"), "");
    set(&b, IAM_GROUPS, "devs", "{\"members\":[]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Editor");
    bed_close(&b);
}

TEST(the_platform_is_everywhere_and_who_is_disabled_nowhere)
{
    struct bed b;
    str groups[1];
    struct identity who = { .user = STR("root-jane"), .groups = groups };
    const struct iam_grant *grants;
    size_t n;

    bed_open(&b);
    set(&b, IAM_PLATFORM_ROLES, "admins",
        "{\"role\":\"Admin\",\"members\":[{\"kind\":\"User\",\"name\":\"root-jane\"}]}");
    set(&b, IAM_USERS, "root-jane", "{}");
    CHECK_STR(role(&b, "root-jane", "", "any"), "Platform Admin");
    CHECK_STR(role(&b, "root-jane", "", ""), "Platform Admin");
    epoch_enter();
    CHECK(permissions_grants(b.p, b.a, &who, &grants, &n) == IAM_PLATFORM && n == 0);
    epoch_exit();
    set(&b, IAM_USERS, "root-jane", "{\"disabled\":true}");
    CHECK_STR(role(&b, "root-jane", "", "any"), "");
    bed_close(&b);
}

TEST(what_somebody_has_is_listed_once)
{
    struct bed b;
    struct identity who = { .user = STR("jane") };
    const struct iam_grant *grants;
    size_t n;

    bed_open(&b);
    set(&b, IAM_GROUPS, "devs", "{\"members\":[\"jane\",\"joe\"]}");
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("a") "," BOUND("b") "],\"members\":[" MEMBER("User", "jane",
                                                                              "Viewer") "]}");
    set(&b, IAM_WORKSPACES, "v",
        "{\"resources\":[" BOUND("b") "," BOUND("c") "],\"members\":[" MEMBER("Group", "devs",
                                                                              "Editor") "]}");
    epoch_enter();
    CHECK(permissions_grants(b.p, b.a, &who, &grants, &n) == IAM_EDITOR);
    epoch_exit();
    CHECK(n == 3);
    for (size_t i = 0; i < n; i++)
        CHECK(grants[i].role == (str_is(grants[i].instance, "a") ? IAM_VIEWER : IAM_EDITOR));
    bed_close(&b);
}

TEST(a_role_on_a_cluster_is_no_role_in_an_instance_of_that_name)
{
    struct bed b;
    struct identity who = { .user = STR("jane") };
    const struct iam_grant *grants;
    size_t n;

    bed_open(&b);
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[{\"resourceType\":\"Cluster\",\"resourceName\":\"demo\"}],"
        "\"members\":[" MEMBER("User", "jane", "Editor") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    epoch_enter();
    CHECK(permissions_grants(b.p, b.a, &who, &grants, &n) == IAM_NONE && n == 0);
    CHECK(permissions_cluster_grants(b.p, b.a, &who, &grants, &n) == IAM_EDITOR && n == 1);
    epoch_exit();
    CHECK(str_is(grants[0].instance, "demo") && grants[0].role == IAM_EDITOR);
    bed_close(&b);
}
