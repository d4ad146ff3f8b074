/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"
#include "unit/kinds_fixture.h"

#include "kinds/defaults.h"

#define FACTS "reference/kubernetes-1.35/"

/* The objects of a text, one a line; or what is wrong with it. */
static const char *read_policy(struct arena *a, const char *text)
{
    struct json_array out = json_array_new(a);
    struct status st;
    str lines = STR_NONE;

    status_init(&st, a);
    if (default_roles_read(str_of(text), &out, &st) < 0)
        return str_z(a, st.message);
    for (size_t i = 0; i < out.n; i++) {
        const struct json *o = &out.items[i];

        o = json_set(a, json_set(a, o, "apiVersion", NULL), "metadata.annotations", NULL);
        lines = str_printf(a, "%.*s%.*s\n", STR_ARG(lines), STR_ARG(json_text(a, o)));
    }
    return str_z(a, lines);
}

#define LABEL "\"kubernetes.io/bootstrapping\":\"rbac-defaults\""
#define RBAC  "rbac.authorization.k8s.io"

TEST(a_role_with_rules_and_its_binding)
{
    scoped_arena a = arena_new();

    CHECK_STR(read_policy(a, "# none of this\n\nrole r\n  get,list pods,pods/log\n"
                             "  create x in core,g named n,m\n  get at /a,/b/*\n"
                             "  to group g\n  to account ns/s\n"),
              "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\",\"labels\":{" LABEL
              "}},\"rules\":["
              "{\"verbs\":[\"get\",\"list\"],\"resources\":[\"pods\",\"pods/log\"],"
              "\"apiGroups\":[\"\"]},"
              "{\"verbs\":[\"create\"],\"resources\":[\"x\"],\"resourceNames\":[\"n\",\"m\"],"
              "\"apiGroups\":[\"\",\"g\"]},"
              "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/a\",\"/b/*\"]}]}\n"
              "{\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"r\",\"labels\":{" LABEL
              "}},\"roleRef\":{\"apiGroup\":\"" RBAC "\",\"kind\":\"ClusterRole\",\"name\":\"r\"},"
              "\"subjects\":[{\"kind\":\"Group\",\"apiGroup\":\"" RBAC "\",\"name\":\"g\"},"
              "{\"kind\":\"ServiceAccount\",\"namespace\":\"ns\",\"name\":\"s\"}]}\n");
}

TEST(roles_of_namespaces_and_bindings_with_other_names)
{
    scoped_arena a = arena_new();

    CHECK_STR(
        read_policy(a, "role n/r\n  get x\n  to user u as b\nrole s\n  to nobody\n"),
        "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"s\",\"labels\":{" LABEL
        "}},\"rules\":[]}\n"
        "{\"kind\":\"Role\",\"metadata\":{\"name\":\"r\",\"namespace\":\"n\",\"labels\":{" LABEL
        "}},\"rules\":[{\"verbs\":[\"get\"],\"resources\":[\"x\"],\"apiGroups\":"
        "[\"\"]}]}\n"
        "{\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"b\",\"namespace\":\"n\","
        "\"labels\":{" LABEL "}},\"roleRef\":{\"apiGroup\":\"" RBAC
        "\",\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\","
        "\"apiGroup\":\"" RBAC "\",\"name\":\"u\"}]}\n"
        "{\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"s\",\"labels\":{" LABEL
        "}},\"roleRef\":{\"apiGroup\":\"" RBAC "\",\"kind\":\"ClusterRole\",\"name\":\"s\"}}\n");
}

TEST(roles_collect_from_roles_that_collect)
{
    scoped_arena a = arena_new();
    struct json_array out = json_array_new(a);
    struct status st;

    status_init(&st, a);
    REQUIRE(default_roles_read(STR("role a\n  collects one\nrole b\n  gives one\n  collects two\n"
                                   "role c\n  gives two\n  get x\n  get y\nrole d\n  gives one\n"
                                   "  get y\n  get z\n"),
                               &out, &st) == 0);
    REQUIRE(out.n == 4);
    CHECK(json_len(json_get(&out.items[0], STR("rules"))) == 3); /* y once */
    CHECK(json_len(json_get(&out.items[1], STR("rules"))) == 2);
    CHECK_STR(str_z(a, json_text(a, json_get(&out.items[0], STR("aggregationRule")))),
              "{\"clusterRoleSelectors\":[{\"matchLabels\":{\"" RBAC "/one\":\"true\"}}]}");
}

TEST(lines_that_cannot_be_read_are_named)
{
    static const char *const rows[][2] = {
        { "role a b\n", "line 1: role a b" },
        { "rolle a\n", "line 1: rolle a" },
        { "  get x\n", "line 1:   get x" },
        { "role a\n  get\n", "line 2:   get" },
        { "role a\n  get x in\n", "line 2:   get x in" },
        { "role a\n  get x of y\n", "line 2:   get x of y" },
        { "role a\n  get at\n", "line 2:   get at" },
        { "role a\n  to account s\n", "line 2:   to account s" },
        { "role a\n  to user\n", "line 2:   to user" },
        { "role a\n  to alien x\n", "line 2:   to alien x" },
        { "role a\n  1 2 3 4 5 6 7 8 9\n", "line 2:   1 2 3 4 5 6 7 8 9" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();

        CHECK_STR(read_policy(a, rows[i][0]), rows[i][1]);
    }
}

/* ---- what every instance has ---- */

static const struct json *find(const struct json *objects, const char *kind, const char *ns,
                               const char *name)
{
    json_for_each (o, objects)
        if (str_is(json_get_str(o, "kind"), kind) &&
            str_is(json_get_str(o, "metadata.name"), name) &&
            str_is(json_get_str(o, "metadata.namespace"), ns))
            return o;
    return NULL;
}

static const struct json *make(struct arena *a, const char *ca)
{
    static const struct installation here = { "0123456789abcdef", INSTALLATION_NEW };
    const struct json *objects = NULL;
    struct status st;

    status_init(&st, a);
    if (!CHECK(defaults_make(a, str_of(ca), &here, &objects, &st) == 0))
        printf("# %.*s\n", STR_ARG(st.message));
    return objects;
}

/* As strict as what clients write: known fields only, nothing to complain about. */
TEST(defaults_are_valid_objects)
{
    struct fixture f = fixture_new("", "v1", "namespaces");

    json_for_each (o, make(f.c.arena, "PEM")) {
        const struct kind *k = catalog_find_kind(
            kinds_catalog_instance(), json_get_str(o, "apiVersion"), json_get_str(o, "kind"));
        struct schema_faults faults = { 0 };
        const struct json *read;

        REQUIRE(k != NULL);
        REQUIRE(schema_decode(f.c.arena, k->schema, o, &faults, &read, &f.st) == 0);
        CHECK(faults.n == 0);
        f.kind = k;
        CHECK_STR(fixture_faults(&f, read, NULL), "");
        CHECK(json_equal(o, read) || json_len(json_get(o, STR("rules"))) == 0);
    }
    fixture_release(&f);
}

TEST(every_instance_shows_the_installation)
{
    scoped_arena a = arena_new();
    const struct json *cm = find(make(a, ""), "ConfigMap", "kube-public", "kairship-installation");

    CHECK_STR(str_z(a, json_get_str(cm, "data.id")), "0123456789abcdef");
    CHECK_STR(str_z(a, json_get_str(cm, "data.origin")), "new");
    CHECK(json_bool(json_path(cm, "immutable")));
}

TEST(namespaces_have_an_account_and_the_ca)
{
    static const char *const names[] = { "default", "kube-node-lease", "kube-public",
                                         "kube-system" };
    scoped_arena a = arena_new();
    const struct json *objects = make(a, "PEM"), *bare = make(a, "");

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct json *cm = find(objects, "ConfigMap", names[i], "kube-root-ca.crt");

        CHECK(find(objects, "Namespace", "", names[i]) != NULL);
        CHECK(find(objects, "ServiceAccount", names[i], "default") != NULL);
        CHECK(str_is(json_str(json_get(json_get(cm, STR("data")), STR("ca.crt"))), "PEM"));
        CHECK(json_str(
                  json_get(json_path(cm, "metadata.annotations"), STR("kubernetes.io/description")))
                  .n > 0);
        CHECK(find(bare, "ServiceAccount", names[i], "default") != NULL);
        CHECK(!find(bare, "ConfigMap", names[i], "kube-root-ca.crt"));
    }
}

TEST(programs_with_ports_know_whom_to_let_in)
{
    static const char *const members[] = { "client-ca-file", "requestheader-client-ca-file" };
    scoped_arena a = arena_new();
    const struct json *cm =
        find(make(a, "PEM"), "ConfigMap", "kube-system", "extension-apiserver-authentication");
    const struct json *data = json_get(cm, STR("data"));

    for (size_t i = 0; i < 2; i++)
        CHECK(str_is(json_str(json_get(data, str_of(members[i]))), "PEM"));
    CHECK(str_is(json_str(json_get(data, STR("requestheader-username-headers"))),
                 "[\"X-Remote-User\"]"));
    CHECK(!find(make(a, ""), "ConfigMap", "kube-system", "extension-apiserver-authentication"));
}

TEST(the_pool_of_addresses_of_services_can_be_seen)
{
    scoped_arena a = arena_new();
    const struct json *objects = make(a, ""), *pool, *api;

    pool = find(objects, "ServiceCIDR", "", "kubernetes");
    api = find(objects, "Service", "default", "kubernetes");
    CHECK_STR(str_z(a, json_text(a, json_path(pool, "spec.cidrs"))), "[\"10.96.0.0/12\"]");
    CHECK(str_is(json_get_str(api, "spec.clusterIP"), "10.96.0.1"));
}

/* Aggregated roles are recorded without their rules. */
static void compare(const struct json *objects, const char *kind, const struct json *facts)
{
    static const char *const members[] = {
        "aggregationRule", "roleRef", "subjects", "metadata.labels", "metadata.annotations", "rules"
    };
    size_t n = 0;

    json_for_each (o, objects)
        n += str_is(json_get_str(o, "kind"), kind) &&
             !str_starts(json_get_str(o, "metadata.name"), STR("kairship:")); /* ours */
    CHECK(n == json_len(json_get(facts, STR("items"))));
    json_for_each (fact, json_get(facts, STR("items"))) {
        str name = json_get_str(fact, "metadata.name");
        const struct json *o = NULL;

        json_for_each (it, objects)
            if (str_is(json_get_str(it, "kind"), kind) &&
                str_eq(json_get_str(it, "metadata.name"), name))
                o = it;
        REQUIRE(o != NULL);
        for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
            const struct json *want = json_path(fact, members[i]), *got = json_path(o, members[i]);

            if (want && want->type != JSON_NULL && !CHECK(got && json_equal(want, got)))
                printf("# %s %.*s: %s\n", kind, STR_ARG(name), members[i]);
        }
    }
}

TEST(roles_and_bindings_are_those_of_kubernetes)
{
    scoped_arena a = arena_new();
    const struct json *objects = make(a, "");
    const struct json *roles = facts_read(a, FACTS "bootstrap-clusterroles.json");
    const struct json *bindings = facts_read(a, FACTS "bootstrap-clusterrolebindings.json");

    REQUIRE(roles && bindings);
    compare(objects, "ClusterRole", roles);
    compare(objects, "ClusterRoleBinding", bindings);
    CHECK(json_len(json_get(find(objects, "ClusterRole", "", "view"), STR("rules"))) == 12);
    CHECK(json_len(json_get(find(objects, "ClusterRole", "", "edit"), STR("rules"))) == 27);
    CHECK(json_len(json_get(find(objects, "ClusterRole", "", "admin"), STR("rules"))) == 29);
}
