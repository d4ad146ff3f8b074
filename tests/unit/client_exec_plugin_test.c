/* SPDX-License-Identifier: Apache-2.0 */
#include "client/exec_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "client/kubeconfig.h"
#include "tap.h"
#include "json/json.h"

#define V1 "client.authentication.k8s.io/v1"

static const char *parse(struct arena *a, const char *text)
{
    struct exec_credential c;
    struct status st;

    status_init(&st, a);
    if (exec_credential_parse(a, secret_of(str_of(text)), STR(V1), &c, &st) < 0)
        return str_z(a, st.message);
    return arena_printf(a, "%.*s|%.*s|%.*s|%lld", STR_ARG(secret_reveal(c.token)),
                        STR_ARG(c.cert_pem), STR_ARG(secret_reveal(c.key_pem)),
                        (long long)c.expires_s);
}

#define ANSWER(status) \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

TEST(what_a_plugin_says)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { ANSWER("\"token\":\"t\""), "t|||0" },
        { ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:01:00Z\""), "t|||60" },
        { ANSWER("\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\""), "|c|k|0" },
        { ANSWER("\"clientCertificateData\":\"c\""),
          "the answer has a certificate or a key without the other" },
        { ANSWER(""), "the answer has neither a token nor a certificate" },
        { ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"soon\""),
          "the answer's expirationTimestamp is no time" },
        { "{\"kind\":\"ExecCredential\",\"apiVersion\":\"x/v1\",\"status\":{\"token\":\"t\"}}",
          "the answer has another apiVersion than the kubeconfig asks for" },
        { "{\"kind\":\"Pod\"}", "the answer is no ExecCredential" },
        { "t", "the answer is not JSON" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(parse(a, rows[i].text), rows[i].want);
}

/* A folder with a kubeconfig, and a script beside it that is named by ./plugin. */
struct files {
    char dir[32];
    struct arena *arena;
    struct status st;
    struct kubeconfig k;
};

static void write_file(struct files *f, const char *name, const char *text, int mode)
{
    const char *path = arena_printf(f->arena, "%s/%s", f->dir, name);
    FILE *file = fopen(path, "we");

    REQUIRE(file);
    (void)fputs(text, file);
    (void)fclose(file);
    (void)chmod(path, (mode_t)mode);
}

static int load(struct files *f, const char *script, const char *more)
{
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/exec_plugin.XXXXXX");
    f->arena = arena_new();
    status_init(&f->st, f->arena);
    CHECK(mkdtemp(f->dir));
    write_file(f, "plugin", script, 0700);
    write_file(f, "config",
               arena_printf(f->arena,
                            "current-context: c\n"
                            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
                            "users:\n- name: u\n  user:\n    exec:\n      apiVersion: " V1 "\n"
                            "      interactiveMode: Never\n%s",
                            more),
               0600);
    return kubeconfig_load(f->arena, arena_printf(f->arena, "%s/config", f->dir), STR_NONE, &f->k,
                           &f->st);
}

static void end(struct files *f)
{
    (void)unlink(arena_printf(f->arena, "%s/plugin", f->dir));
    (void)unlink(arena_printf(f->arena, "%s/config", f->dir));
    (void)rmdir(f->dir);
    arena_free(f->arena);
}

#define COMMAND "      command: ./plugin\n"

TEST(a_plugin_is_run_and_believed)
{
    struct files f;

    /* It is told for which server, by its own environment. */
    REQUIRE(load(&f,
                 "#!/bin/sh\n[ \"$1-$X\" = 'a b-yy' ] || exit 3\n"
                 "case $KUBERNETES_EXEC_INFO in *'\"server\":\"https://127.0.0.1:1\"'*) ;; *) exit "
                 "4 ;; esac\n"
                 "printf '%s' '" ANSWER(
                     "\"token\":\"tok\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"") "'\n",
                 COMMAND "      args: [a b]\n      env: [{name: X, value: yy}]\n"
                         "      provideClusterInfo: true\n") == 0);
    CHECK_STR(str_z(f.arena, secret_reveal(f.k.token)), "tok");
    CHECK(kubeconfig_check_lasting(&f.k, &f.st) < 0);
    CHECK(str_contains(f.st.message, STR("2030-01-01T00:00:00Z")));
    end(&f);
}

/* GO-2024-2817: there is no shell, words stay words. */
TEST(class_commands_run_by_helpers_words_are_not_read_again)
{
    struct files f;

    REQUIRE(load(&f,
                 "#!/bin/sh\n[ $# = 3 ] && [ \"$1\" = '; touch config2' ] || exit 3\n"
                 "[ \"$2\" = '$(touch config2)' ] && [ \"$3\" = '*' ] || exit 4\n"
                 "[ \"$X\" = '`touch config2`' ] || exit 5\n"
                 "printf '%s' '" ANSWER("\"token\":\"tok\"") "'\n",
                 COMMAND "      args: ['; touch config2', '$(touch config2)', '*']\n"
                         "      env: [{name: X, value: '`touch config2`'}]\n") == 0);
    CHECK(access(arena_printf(f.arena, "%s/config2", f.dir), F_OK) < 0);
    end(&f);
    CHECK(load(&f, "#!/bin/sh\nexit 0\n", "      command: ./plugin;./plugin\n") < 0);
    end(&f);
    CHECK(load(&f, "#!/bin/sh\nexit 0\n", "      command: $(echo ./plugin)\n") < 0);
    end(&f);
}

TEST(plugins_that_fail_are_told_of)
{
    static const struct {
        const char *script, *more, *says;
    } rows[] = {
        { "#!/bin/sh\nexit 7\n", COMMAND, "failed with exit code 7" },
        { "#!/bin/sh\nkill -9 $$\n", COMMAND, "was ended by signal 9" },
        { "#!/bin/sh\necho hello\n", COMMAND, "the answer is not JSON" },
        { "#!/bin/sh\nyes\n", COMMAND, "File too large" },
        { "", "      command: ./none\n      installHint: get it there\n", "get it there" },
        { "", "      args: [x]\n", "command is missing" },
        { "", COMMAND "      env: [{name: 'A=B', value: x}]\n", "pairs of name and value" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct files f;

        CHECK(load(&f, rows[i].script, rows[i].more) < 0);
        if (!str_contains(f.st.message, str_of(rows[i].says)))
            CHECK_STR(str_z(f.arena, f.st.message), rows[i].says);
        end(&f);
    }
}

TEST(a_token_in_the_file_goes_before)
{
    struct files f;

    REQUIRE(load(&f, "#!/bin/sh\nexit 1\n", COMMAND "    token: own\n") == 0);
    CHECK_STR(str_z(f.arena, secret_reveal(f.k.token)), "own");
    CHECK(kubeconfig_check_lasting(&f.k, &f.st) == 0);
    end(&f);
}
