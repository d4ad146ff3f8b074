/* SPDX-License-Identifier: Apache-2.0 */
#include "iam/permissions.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "tap.h"

struct bed {
    struct permissions *p;
    struct arena *a;
    const char *demo; /* the uid that demo has; that of x is uid-x */
};

static bool live_uid(void *arg, struct arena *a, bool cluster, str name, str *out)
{
    const struct bed *b = arg;

    *out = str_printf(a, "%suid-%.*s", cluster ? "c" : "", STR_ARG(name));
    if (str_is(name, "demo") && b->demo)
        *out = str_of(b->demo);
    return out->n > 0;
}

static void bed_open(struct bed *b)
{
    struct permissions_live live = { .uid = live_uid, .arg = b };

    *b = (struct bed){ .p = permissions_new(&live), .a = arena_new() };
}

static void bed_close(struct bed *b)
{
    permissions_free(b->p);
    arena_free(b->a);
    epoch_drain();
}

/* spec NULL: it is gone. */
static void set_as(struct bed *b, enum iam_kind kind, const char *name, const char *meta,
                   const char *spec)
{
    const char *text = arena_printf(b->a, "{\"metadata\":{%s},\"spec\":%s}", meta, spec);
    const struct json *object = NULL;
    struct status st;

    status_init(&st, b->a);
    if (spec && json_parse(b->a, str_of(text), NULL, &object, &st) < 0)
        abort();
    permissions_set(b->p, kind, str_of(name), object);
    permissions_publish(b->p, 1);
}

/* Its uid is uid-NAME. */
static void set(struct bed *b, enum iam_kind kind, const char *name, const char *spec)
{
    set_as(b, kind, name, arena_printf(b->a, "\"uid\":\"uid-%s\"", name), spec);
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
/* Of the User or Group uid-NAME. */
#define HOLDER(kind, name, role) \
    "{\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"uid-" name "\",\"role\":\"" role "\"}"
#define BOUND(name) \
    "{\"resourceType\":\"Kairship\",\"resourceName\":\"" name "\",\"uid\":\"uid-" name "\"}"

TEST(nobody_has_anything_at_first)
{
    struct bed b;

    bed_open(&b);
    epoch_enter();
    CHECK(permissions_revision(b.p) == 0);
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    permissions_publish(b.p, 7);
    CHECK(permissions_revision(b.p) == 7);
    epoch_exit();
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
            "User", "jane", "Viewer") "," HOLDER("Group", "devs", "Admin") "]}");
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
        "{\"resources\":[" BOUND("b") "," BOUND("c") "],\"members\":[" HOLDER("Group", "devs",
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
        "{\"resources\":[{\"resourceType\":\"Cluster\",\"resourceName\":\"demo\",\"uid\":\"cuid-"
        "demo\"}],"
        "\"members\":[" MEMBER("User", "jane", "Editor") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    epoch_enter();
    CHECK(permissions_grants(b.p, b.a, &who, &grants, &n) == IAM_NONE && n == 0);
    CHECK(permissions_cluster_grants(b.p, b.a, &who, &grants, &n) == IAM_EDITOR && n == 1);
    epoch_exit();
    CHECK(str_is(grants[0].instance, "demo") && grants[0].role == IAM_EDITOR);
    bed_close(&b);
}

/* ---- names that pass from one to another ---- */

#define DEMO_OF(member) "{\"resources\":[" BOUND("demo") "],\"members\":[" member "]}"

TEST(a_role_ends_with_the_instance)
{
    struct bed b;

    bed_open(&b);
    set(&b, IAM_WORKSPACES, "w", DEMO_OF(MEMBER("User", "jane", "Admin")));
    CHECK_STR(role(&b, "jane", "", "demo"), "Admin");
    b.demo = "uid-of-another";
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    b.demo = ""; /* there is none */
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}],"
        "\"members\":[" MEMBER("User", "jane", "Admin") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), ""); /* the entry does not say of which */
    b.demo = NULL;
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    bed_close(&b);
}

TEST(what_a_list_has_is_there)
{
    struct identity who = { .user = STR("jane") };
    const struct iam_grant *grants;
    struct bed b;
    size_t n;

    bed_open(&b);
    b.demo = "uid-of-another";
    set(&b, IAM_WORKSPACES, "w",
        "{\"resources\":[" BOUND("demo") "," BOUND("x") "],\"members\":[" MEMBER("User", "jane",
                                                                                 "Viewer") "]}");
    epoch_enter();
    CHECK(permissions_grants(b.p, b.a, &who, &grants, &n) == IAM_VIEWER && n == 1);
    epoch_exit();
    CHECK(str_is(grants[0].instance, "x") && str_is(grants[0].uid, "uid-x"));
    bed_close(&b);
}

TEST(a_role_ends_with_its_user_and_its_group)
{
    struct bed b;

    bed_open(&b);
    set(&b, IAM_USERS, "jane", "{}");
    set(&b, IAM_GROUPS, "devs", "{\"members\":[\"jane\"],\"memberUids\":{\"jane\":\"uid-jane\"}}");
    set(&b, IAM_WORKSPACES, "w", DEMO_OF(HOLDER("User", "jane", "Viewer")));
    set(&b, IAM_WORKSPACES, "v", DEMO_OF(HOLDER("Group", "devs", "Editor")));
    set(&b, IAM_PLATFORM_ROLES, "p", "{\"members\":[" HOLDER("User", "joe", "") "]}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Editor");
    CHECK_STR(role(&b, "joe", "", "demo"), "");
    set(&b, IAM_USERS, "joe", "{}");
    CHECK_STR(role(&b, "joe", "", "demo"), "Platform Admin");
    set_as(&b, IAM_USERS, "joe", "\"uid\":\"2\"", "{}");
    CHECK_STR(role(&b, "joe", "", "demo"), "");
    set_as(&b, IAM_GROUPS, "devs", "\"uid\":\"2\"",
           "{\"members\":[\"jane\"],\"memberUids\":{\"jane\":\"uid-jane\"}}");
    CHECK_STR(role(&b, "jane", "", "demo"), "Viewer");
    CHECK_STR(role(&b, "x", "devs", "demo"), ""); /* who claims the group, too */
    set(&b, IAM_GROUPS, "devs", "{\"members\":[\"jane\"],\"memberUids\":{\"jane\":\"uid-jane\"}}");
    set_as(&b, IAM_USERS, "jane", "\"uid\":\"2\"", "{}");
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    set(&b, IAM_USERS, "jane", NULL);
    CHECK_STR(role(&b, "jane", "", "demo"), "");
    bed_close(&b);
}

static const char *role_of_login(struct bed *b, const char *user, const char *uid)
{
    struct identity who = { .user = str_of(user), .uid = str_of(uid) };
    const char *name;

    epoch_enter();
    name = iam_role_name(permissions_role(b->p, &who, STR("demo")));
    epoch_exit();
    return name;
}

TEST(an_entry_for_people_from_elsewhere_is_not_for_the_user_who_gets_the_name)
{
    struct bed b;

    bed_open(&b);
    set(&b, IAM_GROUPS, "devs", "{\"members\":[\"jane\"]}");
    set(&b, IAM_GROUPS, "ops", "{\"members\":[\"joe\"],\"memberUids\":{\"joe\":\"uid-joe\"}}");
    set(&b, IAM_USERS, "joe", "{}");
    set(&b, IAM_WORKSPACES, "w", DEMO_OF(MEMBER("User", "jane", "Viewer")));
    set(&b, IAM_WORKSPACES, "v", DEMO_OF(HOLDER("Group", "devs", "Editor")));
    set(&b, IAM_WORKSPACES, "u", DEMO_OF(MEMBER("Group", "ops", "Admin")));
    CHECK_STR(role_of_login(&b, "jane", "of the issuer"), "Editor");
    set(&b, IAM_USERS, "jane", "{}");
    CHECK_STR(role_of_login(&b, "jane", "of the issuer"), "Editor");
    CHECK_STR(role_of_login(&b, "jane", ""), "Editor");
    CHECK_STR(role_of_login(&b, "jane", "uid-jane"), "");
    /* Of a group: who claims it, not whom a Group object has. */
    CHECK_STR(role_of_login(&b, "joe", "uid-joe"), "");
    CHECK_STR(role(&b, "x", "ops", "demo"), "Admin");
    bed_close(&b);
}

TEST(a_certificate_is_not_of_somebody_who_came_later)
{
    str devs[] = { STR("devs") };
    struct identity jane = { .user = STR("jane") },
                    dev = { .user = STR("x"), .groups = devs, .ngroups = 1 };
    struct bed b;

    bed_open(&b);
    set_as(&b, IAM_USERS, "jane",
           "\"uid\":\"uid-jane\",\"creationTimestamp\":\"1970-01-01T00:16:40Z\"", "{}");
    set_as(&b, IAM_GROUPS, "devs",
           "\"uid\":\"uid-devs\",\"creationTimestamp\":\"1970-01-01T00:16:40Z\"", "{}");
    set(&b, IAM_WORKSPACES, "w", DEMO_OF(HOLDER("User", "jane", "Viewer")));
    set(&b, IAM_WORKSPACES, "v", DEMO_OF(HOLDER("Group", "devs", "Editor")));
    epoch_enter();
    for (int64_t since = 998; since < 1003; since++) {
        jane.since_s = dev.since_s = since;
        CHECK(permissions_role(b.p, &jane, STR("demo")) == (since < 1000 ? IAM_NONE : IAM_VIEWER));
        CHECK(permissions_role(b.p, &dev, STR("demo")) == (since < 1000 ? IAM_NONE : IAM_EDITOR));
    }
    epoch_exit();
    jane.since_s = 999;
    set_as(&b, IAM_USERS, "jane",
           "\"uid\":\"uid-jane\",\"creationTimestamp\":\"1970-01-01T00:16:40Z\",\"annotations\":{"
           "\"kairship.io/older-certificates\":\"accepted\"}",
           "{}");
    epoch_enter();
    CHECK(permissions_role(b.p, &jane, STR("demo")) == IAM_VIEWER);
    epoch_exit();
    bed_close(&b);
}
