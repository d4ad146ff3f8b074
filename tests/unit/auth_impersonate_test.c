/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/impersonate.h"
#include "server_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define RBAC       "/apis/rbac.authorization.k8s.io/v1"

/* ---- headers ---- */

/* "user=u groups=a,b named=1 uid=x k=v,w", or what was wrong. */
static const char *read_headers(struct arena *a, const char *text)
{
    struct http_header headers[16];
    struct identity who;
    struct status st;
    size_t n = 0, named = 0;
    struct buf b = { .max = 4096 };
    const char *out;
    int rc;

    for (str rest = str_of(text), line; rest.n && str_split(&rest, '\n', &line); n++) {
        (void)str_split(&line, '=', &headers[n].name);
        headers[n].value = line;
    }
    status_init(&st, a);
    rc = impersonation_read(a, headers, n, &who, &named, &st);
    if (rc <= 0)
        return rc ? status_reason(&st) : "";
    buf_printf(&b, "user=%.*s groups=", STR_ARG(who.user));
    for (size_t i = 0; i < who.ngroups; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(who.groups[i]));
    buf_printf(&b, " named=%zu", named);
    if (who.uid.n)
        buf_printf(&b, " uid=%.*s", STR_ARG(who.uid));
    for (size_t i = 0; i < who.nextra; i++) {
        buf_printf(&b, " %.*s=", STR_ARG(who.extra[i].key));
        for (size_t j = 0; j < who.extra[i].nvalues; j++)
            buf_printf(&b, "%s%.*s", j ? "," : "", STR_ARG(who.extra[i].values[j]));
    }
    out = str_z(a, buf_str(&b));
    buf_release(&b);
    return out;
}

TEST(the_headers)
{
    static const struct {
        const char *headers, *want;
    } rows[] = {
        { "", "" },
        { "accept=x", "" },
        { "impersonate-user=", "" },
        { "impersonate-other=x", "" },
        { "impersonate-user=u", "user=u groups=system:authenticated named=0" },
        { "impersonate-user=u\nimpersonate-user=v", "user=u groups=system:authenticated named=0" },
        { "impersonate-user=u\nimpersonate-group=a\nimpersonate-group=b",
          "user=u groups=a,b,system:authenticated named=2" },
        { "impersonate-user=u\nimpersonate-group=system:authenticated",
          "user=u groups=system:authenticated named=1" },
        { "impersonate-user=u\nimpersonate-group=system:unauthenticated",
          "user=u groups=system:unauthenticated named=1" },
        { "impersonate-user=system:anonymous",
          "user=system:anonymous groups=system:unauthenticated named=0" },
        { "impersonate-user=system:serviceaccount:n:s",
          "user=system:serviceaccount:n:s groups=system:serviceaccounts,"
          "system:serviceaccounts:n,system:authenticated named=0" },
        { "impersonate-user=system:serviceaccount:n:s\nimpersonate-group=a",
          "user=system:serviceaccount:n:s groups=a,system:authenticated named=1" },
        { "impersonate-user=system:serviceaccount:n:s:t",
          "user=system:serviceaccount:n:s:t groups=system:authenticated named=0" },
        { "impersonate-user=u\nimpersonate-uid=7",
          "user=u groups=system:authenticated named=0 uid=7" },
        { "impersonate-user=u\nimpersonate-extra-scopes=a\nimpersonate-extra-x=y\n"
          "impersonate-extra-scopes=b",
          "user=u groups=system:authenticated named=0 scopes=a,b x=y" },
        { "impersonate-user=u\nimpersonate-extra-acme.com%2fproject=p\n"
          "impersonate-extra-acme.com%2Fproject=q\nimpersonate-extra-bad%zz=r",
          "user=u groups=system:authenticated named=0 acme.com/project=p,q bad%zz=r" },
        { "impersonate-group=g", "BadRequest" },
        { "impersonate-uid=g", "BadRequest" },
        { "impersonate-extra-x=g", "BadRequest" },
        { "impersonate-user=\nimpersonate-group=g", "BadRequest" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(read_headers(a, rows[i].headers), rows[i].want);
}

TEST(which_users_are_service_accounts)
{
    static const struct {
        const char *user;
        bool want;
    } rows[] = {
        { "system:serviceaccount:n:s", true },    { "system:serviceaccount:n:s.t", true },
        { "system:serviceaccount:n:", false },    { "system:serviceaccount::s", false },
        { "system:serviceaccount:n", false },     { "system:serviceaccount:n:s:t", false },
        { "system:serviceaccount:N:s", false },   { "system:serviceaccount:a/b:s", false },
        { "system:serviceaccounts:n:s", false },  { "", false },
        { "x:system:serviceaccount:n:s", false },
    };
    str namespace_, name;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK(impersonation_account(str_of(rows[i].user), &namespace_, &name) == rows[i].want);
}

/* ---- rights ---- */

static const str teams[] = { STR_INIT("team") };
static const struct http_peer agent = {
    .cn = STR_INIT("agent"), .orgs = teams, .norgs = 1, .not_after = INT64_MAX
};

static const char *make(struct host *h, const char *path, const char *body)
{
    return code_of(ask_body(ask(h, "POST", path), body));
}

/* The agent may be these, and whoever he is may read. */
static void give_rights(struct host *h)
{
    CHECK_STR(make(h, RBAC "/clusterroles",
                   "{\"metadata\":{\"name\":\"agent\"},\"rules\":["
                   "{\"apiGroups\":[\"\"],\"resources\":[\"users\"],\"verbs\":[\"impersonate\"],"
                   "\"resourceNames\":[\"bob\"]},"
                   "{\"apiGroups\":[\"\"],\"resources\":[\"groups\"],\"verbs\":[\"*\"]},"
                   "{\"apiGroups\":[\"authentication.k8s.io\"],\"resources\":[\"uids\","
                   "\"userextras/scopes\"],\"verbs\":[\"impersonate\"]}]}"),
              "201");
    CHECK_STR(make(h, RBAC "/clusterrolebindings",
                   "{\"metadata\":{\"name\":\"agent\"},\"roleRef\":{\"apiGroup\":\"rbac."
                   "authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"agent\"},"
                   "\"subjects\":[{\"kind\":\"User\",\"name\":\"agent\"}]}"),
              "201");
    CHECK_STR(make(h, RBAC "/namespaces/default/roles",
                   "{\"metadata\":{\"name\":\"accounts\"},\"rules\":[{\"apiGroups\":[\"\"],"
                   "\"resources\":[\"serviceaccounts\"],\"verbs\":[\"impersonate\"]}]}"),
              "201");
    CHECK_STR(make(h, RBAC "/namespaces/default/rolebindings",
                   "{\"metadata\":{\"name\":\"accounts\"},\"roleRef\":{\"apiGroup\":\"rbac."
                   "authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"accounts\"},"
                   "\"subjects\":[{\"kind\":\"User\",\"name\":\"agent\"}]}"),
              "201");
    CHECK_STR(make(h, RBAC "/clusterrolebindings",
                   "{\"metadata\":{\"name\":\"view\"},\"roleRef\":{\"apiGroup\":\"rbac."
                   "authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"view\"},"
                   "\"subjects\":[{\"kind\":\"Group\",\"name\":\"readers\"},"
                   "{\"kind\":\"User\",\"name\":\"bob\"},"
                   "{\"kind\":\"Group\",\"name\":\"system:serviceaccounts:default\"}]}"),
              "201");
}

TEST(who_may_be_whom)
{
    static const struct {
        const char *user, *group, *extra, *uid, *want;
        const char *message; /* the beginning */
    } rows[] = {
        { "bob", NULL, NULL, NULL, "200", "" },
        { "bob", "readers", NULL, NULL, "200", "" },
        { "bob", NULL, "scopes", "7", "200", "" },
        { "eve", "readers", NULL, NULL, "403 Forbidden",
          "users \"eve\" is forbidden: User \"agent\" cannot impersonate resource \"users\" in API "
          "group \"\" at the cluster scope" },
        { "bob", NULL, "other", NULL, "403 Forbidden",
          "userextras.authentication.k8s.io \"v\" is forbidden: User \"agent\" cannot impersonate "
          "resource \"userextras/other\" in API group \"authentication.k8s.io\" at the cluster "
          "scope" },
        /* All groups, but none of the system's. */
        { "bob", "system:masters", NULL, NULL, "403 Forbidden",
          "groups \"system:masters\" is forbidden: User \"agent\" cannot impersonate resource "
          "\"groups\" in API group \"\" at the cluster scope" },
        { "bob", "system:nodes", NULL, NULL, "403 Forbidden", "groups \"system:nodes\"" },
        { "system:serviceaccount:default:x", NULL, NULL, NULL, "200", "" },
        { "system:serviceaccount:kube-system:x", NULL, NULL, NULL, "403 Forbidden",
          "serviceaccounts \"x\" is forbidden: User \"agent\" cannot impersonate resource "
          "\"serviceaccounts\" in API group \"\" in the namespace \"kube-system\"" },
        { "", "readers", NULL, NULL, "400 BadRequest", "requested groups" },
    };
    struct host *h = host_new(0, 0);

    give_rights(h);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ask *a = ask(h, "GET", CONFIGMAPS);

        a->call->peer = &agent;
        ask_header(a, "impersonate-user", rows[i].user);
        if (rows[i].group)
            ask_header(a, "impersonate-group", rows[i].group);
        if (rows[i].extra)
            ask_header(a, arena_printf(h->arena, "impersonate-extra-%s", rows[i].extra), "v");
        if (rows[i].uid)
            ask_header(a, "impersonate-uid", rows[i].uid);
        CHECK_STR(answer(a), rows[i].want);
        if (!CHECK(strncmp(answer_field(a, "message"), rows[i].message, strlen(rows[i].message)) ==
                   0))
            printf("# row %zu: %s\n", i, answer_field(a, "message"));
        ask_free(a);
    }
    host_free(h);
}

/* Whoever may do everything by a role is still not of the system. */
TEST(rights_to_all_are_not_the_masters)
{
    struct host *h = host_new(0, 0);
    struct ask *a;

    CHECK_STR(make(h, RBAC "/clusterrolebindings",
                   "{\"metadata\":{\"name\":\"all\"},\"roleRef\":{\"apiGroup\":\"rbac."
                   "authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},"
                   "\"subjects\":[{\"kind\":\"User\",\"name\":\"agent\"}]}"),
              "201");
    a = ask(h, "GET", CONFIGMAPS);
    a->call->peer = &agent;
    CHECK_STR(code_of(ask_header(a, "impersonate-user", "x")), "403 Forbidden"); /* x may not */
    a = ask_header(ask(h, "GET", CONFIGMAPS), "impersonate-user", "x");
    a->call->peer = &agent;
    CHECK_STR(code_of(ask_header(a, "impersonate-group", "system:masters")), "403 Forbidden");
    a = ask(h, "GET", "/clusters/*/api/v1/configmaps");
    a->call->peer = &agent;
    CHECK_STR(code_of(a), "401 Unauthorized"); /* root's door is not that of all */
    host_free(h);
}

TEST(who_is_asked_for_in_no_instance)
{
    struct host *h = host_new(0, 0);
    struct ask *a = ask(h, "GET", "/clusters/none" CONFIGMAPS);

    CHECK_STR(code_of(ask_header(a, "impersonate-user", "x")), "404 NotFound");
    a = ask(h, "GET", "/clusters/none" CONFIGMAPS);
    a->call->peer = NULL;
    CHECK_STR(code_of(ask_header(a, "impersonate-user", "x")), "403 Forbidden");
    host_free(h);
}
