/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kubeconfig.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/in_cluster.h"
#include "memory_scan.h"
#include "tap.h"

static const char two[] = "apiVersion: v1\n"
                          "kind: Config\n"
                          "current-context: one\n"
                          "clusters:\n"
                          "- name: c1\n"
                          "  cluster:\n"
                          "    server: https://10.0.0.1:6443/clusters/t1/\n"
                          "    certificate-authority-data: Q0E=\n"
                          "    tls-server-name: kubernetes\n"
                          "- name: c2\n"
                          "  cluster: {server: 'https://[::1]', insecure-skip-tls-verify: true}\n"
                          "users:\n"
                          "- name: u1\n"
                          "  user:\n"
                          "    client-certificate-data: Q0VSVA==\n"
                          "    client-key-data: S0VZ\n"
                          "- name: u2\n"
                          "  user: {token: abc, as: bob, as-groups: [g1, g2]}\n"
                          "contexts:\n"
                          "- name: one\n"
                          "  context: {cluster: c1, user: u1, namespace: n1}\n"
                          "- name: two\n"
                          "  context: {cluster: c2, user: u2}\n";

static bool eq(str s, const char *z)
{
    return str_is(s, z);
}

static int parse(struct arena *a, const char *text, enum kubeconfig_origin origin,
                 const char *context, struct kubeconfig *k, struct status *st)
{
    status_init(st, a);
    return kubeconfig_parse(a, secret_of(str_of(text)), origin, STR("/nowhere"), str_of(context), k,
                            st);
}

TEST(the_current_context)
{
    scoped_arena a = arena_new();
    struct kubeconfig k;
    struct status st;

    REQUIRE(parse(a, two, KUBECONFIG_PERSON, "", &k, &st) == 0);
    CHECK(eq(k.context, "one") && eq(k.namespace, "n1"));
    CHECK(k.tls && eq(k.host, "10.0.0.1") && eq(k.port, "6443"));
    CHECK(eq(k.prefix, "/clusters/t1"));
    CHECK(eq(k.server_name, "kubernetes"));
    CHECK(eq(k.ca_pem, "CA") && eq(k.cert_pem, "CERT") && eq(secret_reveal(k.key_pem), "KEY"));
    CHECK(!k.insecure && !secret_reveal(k.token).n);
}

TEST(a_named_context)
{
    scoped_arena a = arena_new();
    struct kubeconfig k;
    struct status st;

    REQUIRE(parse(a, two, KUBECONFIG_PERSON, "two", &k, &st) == 0);
    CHECK(eq(k.host, "::1") && eq(k.port, "443") && eq(k.prefix, ""));
    CHECK(k.insecure && eq(secret_reveal(k.token), "abc"));
    CHECK(eq(k.as, "bob"));
    REQUIRE(k.nas_groups == 2);
    CHECK(eq(k.as_groups[1], "g2"));
    CHECK(parse(a, two, KUBECONFIG_PERSON, "three", &k, &st) < 0);
    CHECK(str_contains(st.message, STR("\"three\"")));
}

/* One cluster, one user. */
static const char *config(struct arena *a, const char *cluster, const char *user)
{
    return arena_printf(a,
                        "current-context: x\nclusters: [{name: c, cluster: {%s}}]\n"
                        "users: [{name: u, user: {%s}}]\n"
                        "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
                        cluster, user);
}

TEST(what_a_person_may_not_say)
{
    static const struct {
        const char *cluster, *user, *message;
    } table[] = {
        { "server: 'https://h'", "exec: {command: x}", "users[0].user: exec: apiVersion" },
        { "server: 'https://h'", "auth-provider: {name: gcp}", "users[0].user.auth-provider" },
        { "server: 'https://h', proxy-url: 'socks5://p'", "token: x",
          "clusters[0].cluster.proxy-url" },
        { "server: 'https://h', proxy-url: 'http://u:p@p'", "token: x",
          "clusters[0].cluster.proxy-url" },
        { "server: 'ftp://h'", "", "clusters[0].cluster.server" },
        { "server: 'https://h:99999'", "", "clusters[0].cluster.server" },
        { "server: 'https://'", "", "clusters[0].cluster.server" },
        { "server: 'https://u@h'", "", "clusters[0].cluster.server" },
        { "server: 'https://[::1'", "", "clusters[0].cluster.server" },
        { "server: 'https://h/?x'", "", "clusters[0].cluster.server" },
        { "server: 1", "", "clusters[0].cluster.server" },
        { "tls-server-name: x", "", "clusters[0].cluster.server" },
        { "server: 'https://h', certificate-authority-data: '%'", "", "base64" },
        { "server: 'https://h', certificate-authority: missing.pem", "", "/nowhere/missing.pem" },
        { "server: 'https://h', certificate-authority-data: Q0E=, insecure-skip-tls-verify: true",
          "", "insecure-skip-tls-verify" },
        { "server: 'https://h'", "token: a, username: b", "users[0].user.username" },
        { "server: 'https://h'", "client-certificate-data: Q0E=", "client-key-data" },
        { "server: 'https://h'", "client-key-data: Q0E=", "client-certificate-data" },
        { "server: 'https://h'", "as-groups: x", "as-groups" },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        scoped_arena a = arena_new();
        struct kubeconfig k;
        struct status st;

        if (!CHECK(parse(a, config(a, table[i].cluster, table[i].user), KUBECONFIG_PERSON, "", &k,
                         &st) < 0))
            continue;
        if (!CHECK(str_contains(st.message, str_of(table[i].message))))
            printf("# %zu: %.*s\n", i, STR_ARG(st.message));
    }
}

TEST(a_person_may_name_a_proxy)
{
    scoped_arena a = arena_new();
    struct kubeconfig k = { 0 };
    struct status st;

    REQUIRE(parse(a, config(a, "server: 'https://h', proxy-url: 'http://p:3128/'", "token: x"),
                  KUBECONFIG_PERSON, "", &k, &st) == 0);
    CHECK_STR(str_z(a, k.proxy_host), "p");
    CHECK_STR(str_z(a, k.proxy_port), "3128");
}

TEST(an_object_may_hold_inline_data_only)
{
    static const char *const fields[] = {
        "clusters[0].cluster.certificate-authority",
        "clusters[0].cluster.insecure-skip-tls-verify",
        "clusters[0].cluster.proxy-url",
        "clusters[0].cluster.server",
        "users[0].user.client-certificate",
        "users[0].user.client-key",
        "users[0].user.tokenFile",
        "users[0].user.exec",
        "users[0].user.auth-provider",
        "users[0].user.surprise",
    };
    scoped_arena a = arena_new();
    const char *text = config(a,
                              "server: 'http://h', certificate-authority: /etc/passwd, "
                              "insecure-skip-tls-verify: true, proxy-url: 'http://p'",
                              "client-certificate: a, client-key: b, tokenFile: c, exec: {}, "
                              "auth-provider: {}, surprise: 1");
    struct kubeconfig k;
    struct status st;

    CHECK(parse(a, text, KUBECONFIG_OBJECT, "", &k, &st) < 0);
    CHECK(st.reason == REASON_INVALID);
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const struct cause *c = st.causes;

        while (c && !str_is(c->field, fields[i]))
            c = c->next;
        if (!CHECK(c))
            printf("# %s\n", fields[i]);
    }
    CHECK(st.ncauses == sizeof(fields) / sizeof(*fields));
    CHECK(parse(a, "{", KUBECONFIG_OBJECT, "", &k, &st) < 0);
    CHECK(st.reason == REASON_INVALID);
    CHECK(parse(a, "[]", KUBECONFIG_OBJECT, "", &k, &st) < 0);
    CHECK(st.reason == REASON_INVALID);
    CHECK(parse(a, two, KUBECONFIG_OBJECT, "one", &k, &st) == 0);
    CHECK(eq(k.cert_pem, "CERT"));
}

/* ---- files ---- */

static char dir[64];

static const char *put(struct arena *a, const char *name, const char *text)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    FILE *f = fopen(path, "we");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
    return path;
}

TEST(files_beside_the_file_and_lists_of_files)
{
    scoped_arena a = arena_new();
    const char *first, *second;
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    (void)snprintf(dir, sizeof(dir), "/tmp/kubeconfig-test.XXXXXX");
    REQUIRE(mkdtemp(dir));
    (void)put(a, "ca.pem", "THE CA");
    (void)put(a, "token", " secret \n");
    first =
        put(a, "first",
            config(a, "server: 'https://h', certificate-authority: ca.pem", "tokenFile: ./token"));
    second = put(a, "second", two);
    REQUIRE(kubeconfig_load(a, first, STR_NONE, &k, &st) == 0);
    CHECK(eq(k.ca_pem, "THE CA"));
    CHECK(eq(secret_reveal(k.token), "secret"));
    CHECK(str_ends(k.token_file, STR("/token")) && k.token_file.p[0] == '/');

    CHECK(setenv("KUBECONFIG", arena_printf(a, "/no/such:%s:%s", first, second), 1) == 0);
    REQUIRE(kubeconfig_load(a, NULL, STR_NONE, &k, &st) == 0);
    CHECK(eq(k.context, "x")); /* the first file's */
    REQUIRE(kubeconfig_load(a, NULL, STR("two"), &k, &st) == 0);
    CHECK(eq(secret_reveal(k.token), "abc"));
    CHECK(kubeconfig_load(a, "/no/such", STR_NONE, &k, &st) < 0);
    CHECK(str_contains(st.message, STR("/no/such")));
    (void)unsetenv("KUBECONFIG");
}

/* Of two files that name the same thing the first says all of it; names of either may be mixed. */
TEST(the_first_file_that_names_a_thing_wins)
{
    scoped_arena a = arena_new();
    const char *one = put(a, "one",
                          "clusters: [{name: c1, cluster: {server: 'https://first'}}]\n"
                          "contexts: [{name: mixed, context: {cluster: c1, user: u2}}]\n"),
               *other = put(a, "other", two);
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    CHECK(setenv("KUBECONFIG", arena_printf(a, "%s::%s", one, other), 1) == 0);
    REQUIRE(kubeconfig_load(a, NULL, STR_NONE, &k, &st) == 0);
    CHECK(eq(k.context, "one")); /* current in the second: the first has none */
    CHECK(eq(k.server, "https://first") && !k.ca_pem.n && !k.server_name.n);
    CHECK(eq(k.cert_pem, "CERT"));
    REQUIRE(kubeconfig_load(a, NULL, STR("mixed"), &k, &st) == 0);
    CHECK(eq(k.server, "https://first") && eq(secret_reveal(k.token), "abc"));
    CHECK(kubeconfig_load(a, NULL, STR("none"), &k, &st) < 0);
    CHECK(setenv("KUBECONFIG", "/no/such:/nor/such", 1) == 0);
    CHECK(kubeconfig_load(a, NULL, STR_NONE, &k, &st) < 0 && st.reason == REASON_NOT_FOUND);
    (void)unsetenv("KUBECONFIG");
}

TEST(a_pod_finds_its_cluster)
{
    scoped_arena a = arena_new();
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    CHECK(!in_cluster());
    CHECK(in_cluster_config(a, dir, &k, &st) < 0 && st.reason == REASON_NOT_FOUND);
    CHECK(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1) == 0);
    CHECK(setenv("KUBERNETES_SERVICE_PORT", "443", 1) == 0);
    CHECK(in_cluster());
    CHECK(in_cluster_config(a, dir, &k, &st) < 0); /* no CA */
    CHECK(str_contains(st.message, STR("ca.crt")));
    (void)put(a, "ca.crt", "THE CA");
    REQUIRE(in_cluster_config(a, dir, &k, &st) == 0);
    CHECK(eq(k.host, "fd00::1") && eq(k.port, "443") && k.tls);
    CHECK(eq(k.ca_pem, "THE CA") && eq(secret_reveal(k.token), "secret"));
    CHECK(str_ends(k.token_file, STR("/token")) && !k.namespace.n);
    (void)put(a, "namespace", "mine\n");
    REQUIRE(in_cluster_config(a, dir, &k, &st) == 0);
    CHECK(eq(k.namespace, "mine"));
    CHECK(setenv("KUBERNETES_SERVICE_PORT", "x", 1) == 0);
    CHECK(in_cluster_config(a, dir, &k, &st) < 0);
    /* Without any file it is what is tried last. */
    CHECK(setenv("HOME", "/no/such", 1) == 0);
    CHECK(kubeconfig_load(a, NULL, STR_NONE, &k, &st) < 0);
    CHECK(str_contains(st.message, STR("in-cluster")));
    (void)unsetenv("KUBERNETES_SERVICE_PORT");
    CHECK(kubeconfig_load(a, NULL, STR_NONE, &k, &st) < 0);
    CHECK(str_contains(st.message, STR("/no/such/.kube/config")));
}

TEST(what_is_written_reads_back)
{
    scoped_arena a = arena_new();
    struct kubeconfig in[2] = {
        { .context = STR("root"),
          .server = STR("https://127.0.0.1:6443"),
          .ca_pem = STR("CA\n"),
          .cert_pem = STR("CERT\n"),
          .key_pem = { STR("KEY\n") },
          .namespace = STR("default") },
        { .context = STR("it's: \"odd\""),
          .server = STR("https://h/clusters/x"),
          .token = { STR("t") } },
    };
    const char *path = arena_printf(a, "%s/admin.kubeconfig", dir);
    struct kubeconfig k;
    struct status st;
    struct stat info;

    status_init(&st, a);
    REQUIRE(kubeconfig_save(path, kubeconfig_write(a, in, 2), &st) == 0);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    REQUIRE(kubeconfig_load(a, path, STR_NONE, &k, &st) == 0);
    CHECK(eq(k.context, "root") && eq(k.server, "https://127.0.0.1:6443"));
    CHECK(eq(k.ca_pem, "CA\n") && eq(k.cert_pem, "CERT\n"));
    CHECK(eq(secret_reveal(k.key_pem), "KEY\n") && eq(k.namespace, "default"));
    REQUIRE(kubeconfig_load(a, path, in[1].context, &k, &st) == 0);
    CHECK(eq(k.prefix, "/clusters/x") && eq(secret_reveal(k.token), "t"));
    CHECK(kubeconfig_save("/no/such/folder/x", secret_of(STR("x")), &st) < 0);
}

/* As JSON, which is YAML too: libyaml would keep copies of its own. */
static void load_and_forget(const char *path, const char *word)
{
    struct arena *a = arena_new();
    secret text =
        secret_printf(a,
                      "{\"current-context\":\"x\",\"clusters\":[{\"name\":\"x\",\"cluster\":{"
                      "\"server\":\"https://h\"}}],\"users\":[{\"name\":\"x\",\"user\":{\"token\":"
                      "\"%s\"}}],\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"x\","
                      "\"user\":\"x\"}}]}",
                      word);
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    CHECK(kubeconfig_save(path, text, &st) == 0);
    CHECK(kubeconfig_load(a, path, STR_NONE, &k, &st) == 0);
    CHECK(eq(secret_reveal(k.token), word) && !secret_empty(kubeconfig_write(a, &k, 1)));
    arena_free(a);
}

TEST(nothing_of_a_token_is_left_when_its_arena_is_gone)
{
    enum { N = 40 };
    scoped_arena a = arena_new();
    char word[N + 1], disguised[N];

    rand_bytes(disguised, N);
    for (size_t i = 0; i < N; i++)
        word[i] = (char)('a' + (unsigned char)disguised[i] % 26);
    word[N] = '\0';
    scan_disguise(disguised, word, N);
    load_and_forget(arena_printf(a, "%s/one", dir), word);
    mem_wipe(word, N);
    CHECK(scan_memory(disguised, N) == 0);
}

TEST(the_folder_goes)
{
    static const char *const names[] = { "ca.pem", "token",  "first",     "second",          "one",
                                         "other",  "ca.crt", "namespace", "admin.kubeconfig" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK(unlink(arena_printf(a, "%s/%s", dir, names[i])) == 0);
    CHECK(rmdir(dir) == 0); /* nothing else was left in it */
}
