/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kubeconfig_edit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "tap.h"

static const char two[] = "# mine\n"
                          "apiVersion: v1\n"
                          "kind: Config\n"
                          "current-context: one\n"
                          "preferences: {colors: true}\n"
                          "clusters:\n"
                          "- name: c1\n"
                          "  cluster: {server: 'https://10.0.0.1', certificate-authority: ca.pem}\n"
                          "- name: c2\n"
                          "  cluster: {server: 'https://[::1]', insecure-skip-tls-verify: true}\n"
                          "users:\n"
                          "- name: u1\n"
                          "  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}\n"
                          "- name: u2\n"
                          "  user: {token: abc, as: bob, as-groups: [g1, g2]}\n"
                          "contexts:\n"
                          "- name: one\n"
                          "  context: {cluster: c1, user: u1, namespace: n1}\n"
                          "- name: two\n"
                          "  context: {cluster: c2, user: u2}\n";

static const struct kubeconfig_entry demo = { .cluster = STR_INIT("k-demo"),
                                              .user = STR_INIT("k-jane"),
                                              .context = STR_INIT("k-demo"),
                                              .server = STR_INIT("https://h/clusters/demo"),
                                              .ca_pem = STR_INIT("CA"),
                                              .token = { STR_INIT("t1") } };

static bool eq(str s, const char *z)
{
    return str_is(s, z);
}

/* A folder for one test. */
struct folder {
    struct arena *arena;
    char dir[32];
    struct status st;
};

static struct folder folder_new(void)
{
    struct folder f = { .arena = arena_new(), .dir = "/tmp/kubeconfig.XXXXXX" };

    if (!mkdtemp(f.dir))
        abort();
    status_init(&f.st, f.arena);
    (void)unsetenv("KUBECONFIG");
    (void)setenv("HOME", f.dir, 1);
    return f;
}

static const char *in(const struct folder *f, const char *name)
{
    return arena_printf(f->arena, "%s/%s", f->dir, name);
}

static const char *put(const struct folder *f, const char *name, const char *text)
{
    const char *path = in(f, name);
    FILE *to = fopen(path, "we");

    if (!to || fputs(text, to) < 0 || fclose(to) != 0)
        abort();
    return path;
}

/* Nothing else was left in it. */
static void folder_end(struct folder *f, const char *names)
{
    for (str rest = str_of(names), name; str_split(&rest, ' ', &name);)
        CHECK(remove(in(f, str_z(f->arena, name))) == 0);
    CHECK(rmdir(f->dir) == 0);
    arena_free(f->arena);
}

static int mode_of(const char *path)
{
    struct stat info;

    return stat(path, &info) < 0 ? -1 : (int)(info.st_mode & 07777);
}

TEST(an_entry_is_put_beside_the_others)
{
    struct folder f = folder_new();
    const char *path = put(&f, "config", two);
    struct kubeconfig_entry system = demo;
    struct kubeconfig k;
    str file;

    (void)put(&f, "ca.pem", "THE CA");
    REQUIRE(kubeconfig_put(f.arena, path, &demo, &file, &f.st) == 0);
    CHECK(eq(file, path) && mode_of(path) == 0600);
    REQUIRE(kubeconfig_load(f.arena, path, STR_NONE, &k, &f.st) == 0);
    CHECK(eq(k.context, "k-demo") && eq(k.prefix, "/clusters/demo") && eq(k.ca_pem, "CA"));
    CHECK(eq(secret_reveal(k.token), "t1"));
    REQUIRE(kubeconfig_load(f.arena, path, STR("one"), &k, &f.st) == 0);
    CHECK(eq(k.namespace, "n1") && eq(k.cert_pem, "CERT") && eq(k.ca_pem, "THE CA"));
    REQUIRE(kubeconfig_load(f.arena, path, STR("two"), &k, &f.st) == 0);
    CHECK(k.insecure && eq(secret_reveal(k.token), "abc") && k.nas_groups == 2);

    system.ca_pem = STR_NONE;
    REQUIRE(kubeconfig_put(f.arena, path, &system, &file, &f.st) == 0);
    REQUIRE(kubeconfig_load(f.arena, path, STR_NONE, &k, &f.st) == 0);
    CHECK(!k.ca_pem.n);
    folder_end(&f, "config ca.pem");
}

/* What the person has added to it, and what leads to it, stays. */
TEST(the_same_entry_again_is_another_token)
{
    struct folder f = folder_new();
    const char *path = in(&f, "config"), *link = in(&f, "link");
    struct kubeconfig_entry again = demo;
    struct kubeconfig k;
    char to[64];
    str file;

    (void)put(
        &f, "config",
        "clusters:\n- {name: k-demo, cluster: {server: 'https://old', tls-server-name: other,\n"
        "   insecure-skip-tls-verify: true}}\n"
        "users:\n- {name: k-jane, user: {client-certificate-data: Q0VSVA==,\n"
        "   client-key-data: S0VZ}}\n"
        "contexts:\n- {name: k-demo, context: {cluster: x, user: y, namespace: mine}}\n");
    again.token = secret_of(STR("t2"));
    REQUIRE(symlink("config", link) == 0);
    REQUIRE(kubeconfig_put(f.arena, link, &again, &file, &f.st) == 0);
    CHECK(readlink(link, to, sizeof(to)) == 6);
    REQUIRE(kubeconfig_load(f.arena, path, STR_NONE, &k, &f.st) == 0);
    CHECK(eq(k.host, "h") && eq(k.server_name, "other") && !k.insecure && eq(k.namespace, "mine"));
    CHECK(eq(secret_reveal(k.token), "t2") && !k.cert_pem.n);
    folder_end(&f, "config link");
}

TEST(a_file_that_is_not_there_is_made_where_kubectl_would)
{
    struct folder f = folder_new();
    const char *one = put(&f, "one", ""), *link = in(&f, "link");
    struct kubeconfig k;
    str file;

    REQUIRE(kubeconfig_put(f.arena, NULL, &demo, &file, &f.st) == 0); /* HOME */
    CHECK(eq(file, in(&f, ".kube/config")) && mode_of(in(&f, ".kube")) == 0700);
    (void)setenv("KUBECONFIG", arena_printf(f.arena, ":%s/no:%s/last", f.dir, f.dir), 1);
    REQUIRE(kubeconfig_put(f.arena, "", &demo, &file, &f.st) == 0); /* none is there: the last */
    CHECK(eq(file, in(&f, "last")) && access(in(&f, "no"), F_OK) < 0);
    REQUIRE(symlink("far", link) == 0);
    REQUIRE(kubeconfig_put(f.arena, link, &demo, &file, &f.st) == 0); /* a link to nothing yet */
    CHECK(mode_of(in(&f, "far")) == 0600);

    /* The first that is there gets what is new; the rest goes where it is already. */
    (void)setenv("KUBECONFIG", arena_printf(f.arena, "%s:%s/last", one, f.dir), 1);
    REQUIRE(kubeconfig_put(f.arena, NULL, &demo, &file, &f.st) == 0);
    CHECK(eq(file, in(&f, "last")));
    REQUIRE(kubeconfig_load(f.arena, NULL, STR_NONE, &k, &f.st) == 0);
    CHECK(eq(k.context, "k-demo"));
    CHECK(kubeconfig_load(f.arena, one, STR_NONE, &k, &f.st) < 0); /* the current context alone */
    folder_end(&f, "one last far link .kube/config .kube");
}

TEST(what_is_no_kubeconfig_stays_as_it_is)
{
    static const char *const texts[] = { "[]", "clusters: {}", "users: 1", "{", "contexts: x" };
    struct folder f = folder_new();

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *path = put(&f, "config", texts[i]);
        secret text = SECRET_NONE;
        str file;

        CHECK(kubeconfig_put(f.arena, path, &demo, &file, &f.st) < 0);
        CHECK(str_contains(f.st.message, str_of(path)));
        status_reset(&f.st);
        CHECK(kubeconfig_read(f.arena, path, &text, &f.st) == 0);
        CHECK_STR(str_z(f.arena, secret_reveal(text)), texts[i]);
    }
    folder_end(&f, "config");
}

/* ---- the lock ---- */

static void *unlock_later(void *path)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
    (void)unlink(path);
    return NULL;
}

TEST(a_lock_of_kubectl_is_waited_for)
{
    struct folder f = folder_new();
    char *lock = arena_printf(f.arena, "%s/config.lock", f.dir);
    pthread_t other;
    str file;

    (void)put(&f, "config.lock", "");
    REQUIRE(pthread_create(&other, NULL, unlock_later, lock) == 0);
    CHECK(kubeconfig_put(f.arena, in(&f, "config"), &demo, &file, &f.st) == 0);
    (void)pthread_join(other, NULL);
    folder_end(&f, "config");
}

enum { WRITERS = 4, ROUNDS = 20 };

struct writer {
    const char *path;
    int id;
};

static void *write_often(void *arg)
{
    const struct writer *w = arg;

    for (int i = 0; i < ROUNDS; i++) {
        scoped_arena a = arena_new();
        struct kubeconfig_entry e = demo;
        struct status st;
        str file;

        status_init(&st, a);
        e.user = str_printf(a, "u-%d-%d", w->id, i);
        while (kubeconfig_put(a, w->path, &e, &file, &st) < 0)
            status_reset(&st); /* a second of waiting was not enough */
    }
    return NULL;
}

TEST(of_many_at_once_none_loses_what_another_wrote)
{
    struct folder f = folder_new();
    struct writer all[WRITERS];
    pthread_t threads[WRITERS];
    secret text = SECRET_NONE;
    int missing = 0;

    for (int i = 0; i < WRITERS; i++) {
        all[i] = (struct writer){ in(&f, "config"), i };
        REQUIRE(pthread_create(&threads[i], NULL, write_often, &all[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(kubeconfig_read(f.arena, in(&f, "config"), &text, &f.st) == 0);
    for (int i = 0; i < WRITERS * ROUNDS; i++)
        missing += !str_contains(secret_reveal(text),
                                 str_printf(f.arena, "name: u-%d-%d\n", i / ROUNDS, i % ROUNDS));
    CHECK(missing == 0);
    folder_end(&f, "config");
}

/* ---- without a token ---- */

TEST(a_token_is_taken_out_of_the_files_that_have_it)
{
    static const char other[] = "users:\n- name: u3\n  user: {token: another, as: bob}\n";
    struct folder f = folder_new();
    const char *one = put(&f, "one", two), *second = put(&f, "second", other);
    const char *link = in(&f, "link");
    struct kubeconfig k;

    (void)put(&f, "ca.pem", "CA");
    REQUIRE(symlink(one, link) == 0);
    CHECK(setenv("KUBECONFIG", arena_printf(f.arena, "%s:%s:/nowhere", second, link), 1) == 0);
    CHECK(kubeconfig_forget_token(f.arena, NULL, secret_of(STR("abc")), &f.st) == 0);
    CHECK(unsetenv("KUBECONFIG") == 0);
    REQUIRE(kubeconfig_load(f.arena, one, STR("two"), &k, &f.st) == 0);
    CHECK(secret_empty(k.token) && eq(k.as, "bob") && k.nas_groups == 2);
    REQUIRE(kubeconfig_load(f.arena, one, STR("one"), &k, &f.st) == 0);
    CHECK(eq(k.cert_pem, "CERT"));
    CHECK(access(link, F_OK) == 0 && readlink(link, (char[2]){ 0 }, 1) == 1);
    CHECK(kubeconfig_forget_token(f.arena, second, secret_of(STR("abc")), &f.st) < 0);
    CHECK(status_is(&f.st, REASON_NOT_FOUND));
    status_reset(&f.st);
    CHECK(kubeconfig_forget_token(f.arena, "/nowhere/at/all", secret_of(STR("abc")), &f.st) < 0);
    folder_end(&f, "link one second ca.pem");
}
