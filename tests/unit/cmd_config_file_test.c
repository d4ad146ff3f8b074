/* SPDX-License-Identifier: Apache-2.0 */

/* Where options come from, and in which order. */

#include "cmd/config_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "cmd/commands.h"
#include "tap.h"

struct told {
    const char *dir, *level, *config_user, *output;
    long ttl, members;
    bool demo;
    struct option_list claims;
    struct arena *arena;
    char home[64];
};

static const char *file_of(const struct told *t, const char *name, const char *text)
{
    const char *path = arena_printf(t->arena, "%s/%s", t->home, name);
    FILE *f = fopen(path, "we");

    if (CHECK(f)) {
        (void)fputs(text, f);
        (void)fclose(f);
    }
    return path;
}

/* A home with this configuration, if it is one, and no other that counts. */
static bool begin(struct told *t, const char *in_home)
{
    *t = (struct told){ .dir = "default", .level = "info", .arena = arena_new() };
    (void)snprintf(t->home, sizeof(t->home), "/tmp/config-test-XXXXXX");
    if (!CHECK(mkdtemp(t->home)))
        return false;
    (void)setenv("HOME", t->home, 1);
    (void)setenv("XDG_CONFIG_HOME", t->home, 1);
    (void)unsetenv("KAIRSHIP_CONFIG");
    if (in_home)
        (void)file_of(t, "kairship.yaml", in_home);
    return true;
}

static void end(struct told *t)
{
    (void)unlink(arena_printf(t->arena, "%s/kairship.yaml", t->home));
    (void)unlink(arena_printf(t->arena, "%s/named.yaml", t->home));
    CHECK(rmdir(t->home) == 0);
    arena_free(t->arena);
}

/* As the subcommand of that name would ask; what was wrong, or "". */
static const char *ask(struct told *t, const char *command, const char *file)
{
    const struct option_row rows[] = {
        OPTIONS_GROUP("These"),
        { "--data-dir", OPTION_STRING, &t->dir, "DIR", "" },
        { "--log-level", OPTION_STRING, &t->level, "LEVEL", "" },
        { "--event-ttl", OPTION_NUMBER, &t->ttl, "N", "" },
        { "--demo", OPTION_FLAG, &t->demo, NULL, "" },
        { "--oidc-required-claim", OPTION_LIST, &t->claims, "CLAIM", "" },
        { "--members", OPTION_NUMBER, &t->members, "N", "" },
        { "--user", OPTION_STRING, &t->config_user, "NAME", "" },
    };
    bool set[sizeof(rows) / sizeof(*rows)] = { false };
    struct status st;

    status_init(&st, t->arena);
    if (config_fill(t->arena, file, command, rows, sizeof(rows) / sizeof(*rows), set, &st) < 0)
        return str_z(t->arena, st.message);
    return "";
}

TEST(every_type_is_read)
{
    struct told t;

    REQUIRE(begin(&t, "data-dir: /d\nevent-ttl: 60\ndemo: true\n"
                      "oidc-required-claim: [a=1, b=2]\nlog-level: debug\n"));
    CHECK_STR(ask(&t, "up", NULL), "");
    CHECK_STR(t.dir, "/d");
    CHECK_STR(t.level, "debug");
    CHECK(t.ttl == 60 && t.demo && t.claims.n == 2);
    CHECK_STR(t.claims.items[1], "b=2");
    end(&t);
}

TEST(words_of_yaml_stay_words)
{
    struct told t;

    REQUIRE(begin(&t, "data-dir: 0640\nlog-level: off\n"));
    CHECK_STR(ask(&t, "up", NULL), "");
    CHECK_STR(t.dir, "0640");
    CHECK_STR(t.level, "off");
    end(&t);
}

TEST(the_first_who_says_it_counts)
{
    const char *named;
    struct told t;

    REQUIRE(begin(&t, "data-dir: home\nlog-level: home\noidc-required-claim: [home=1]\n"));
    (void)setenv("KAIRSHIP_LOG_LEVEL", "environment", 1);
    (void)setenv("KAIRSHIP_OIDC_REQUIRED_CLAIM", "a=1,b=2", 1);
    CHECK_STR(ask(&t, "up", NULL), "");
    CHECK_STR(t.dir, "home");
    CHECK_STR(t.level, "environment");
    CHECK(t.claims.n == 2); /* lists of two places are not put together */

    named = file_of(&t, "named.yaml", "event-ttl: 7\n");
    t.dir = "default";
    CHECK_STR(ask(&t, "up", named), "");
    CHECK(t.ttl == 7);
    CHECK_STR(t.dir, "default"); /* a file that is named stands for the two others */
    (void)setenv("KAIRSHIP_CONFIG", named, 1);
    t.ttl = 0;
    CHECK_STR(ask(&t, "up", NULL), "");
    CHECK(t.ttl == 7);
    (void)unsetenv("KAIRSHIP_LOG_LEVEL");
    (void)unsetenv("KAIRSHIP_OIDC_REQUIRED_CLAIM");
    end(&t);
}

TEST(what_the_command_line_says_stays)
{
    const char *dir = "said";
    const struct option_row row = { "--data-dir", OPTION_STRING, &dir, "DIR", "" };
    bool set = true;
    struct status st;
    struct told t;

    REQUIRE(begin(&t, "data-dir: home\n"));
    status_init(&st, t.arena);
    CHECK(config_fill(t.arena, NULL, "up", &row, 1, &set, &st) == 0);
    CHECK_STR(dir, "said");
    CHECK_STR(options_server.data_dir, "home");
    options_server.data_dir = "./kairship-data";
    end(&t);
}

TEST(a_section_is_of_its_subcommand)
{
    struct told t;

    REQUIRE(begin(&t, "data-dir: server\nlog-level: warn\nuser: kairship\n"
                      "simulate:\n  members: 4\n  log-level: debug\n"
                      "kubeconfig:\n  ttl: 8h\n"));
    CHECK_STR(ask(&t, "simulate", NULL), "");
    CHECK(t.members == 4);
    CHECK_STR(t.level, "debug");
    CHECK_STR(t.dir, "default"); /* its folder is another one */
    CHECK_STR(t.config_user, "kairship");
    t.config_user = "default";
    CHECK_STR(ask(&t, "kubeconfig", NULL), "");
    CHECK_STR(t.config_user, "default"); /* for whom it is, not who runs it */
    CHECK_STR(t.level, "warn");
    end(&t);
}

TEST(variables_of_a_subcommand)
{
    struct told t;

    REQUIRE(begin(&t, NULL));
    (void)setenv("KAIRSHIP_DATA_DIR", "server", 1);
    (void)setenv("KAIRSHIP_SIMULATE_DATA_DIR", "members", 1);
    CHECK_STR(ask(&t, "simulate", NULL), "");
    CHECK_STR(t.dir, "members");
    CHECK_STR(ask(&t, "restore", NULL), "");
    CHECK_STR(t.dir, "server");
    CHECK_STR(options_server.data_dir, "server");
    (void)unsetenv("KAIRSHIP_SIMULATE_DATA_DIR");
    t.dir = "default";
    CHECK_STR(ask(&t, "simulate", NULL), "");
    CHECK_STR(t.dir, "default");
    (void)setenv("KAIRSHIP_EVENT_TTL", "soon", 1);
    CHECK_STR(ask(&t, "up", NULL), "$KAIRSHIP_EVENT_TTL needs a number");
    (void)setenv("KAIRSHIP_EVENT_TTL", "", 1); /* as if it were not set */
    CHECK_STR(ask(&t, "up", NULL), "");
    (void)unsetenv("KAIRSHIP_EVENT_TTL");
    (void)unsetenv("KAIRSHIP_DATA_DIR");
    options_server.data_dir = "./kairship-data";
    end(&t);
}

TEST(mistakes_name_file_and_line)
{
    static const char *const rows[][2] = {
        { "listen: :1\nlisten-on: :2\n", "line 2: listen-on is no option of kairship up" },
        { "members: 4\n", "line 1: members is no option of kairship up, but of kairship simulate: "
                          "write it into a section simulate:" },
        { "simulate: {listen: x}\n", "line 1: listen is no option of kairship simulate" },
        { "fly: {x: 1}\n", "line 1: fly is no subcommand of kairship" },
        { "a: 1\n", "line 1: a is no option of kairship up" },
        { "listen: [a]\n", "line 1: listen needs one value" },
        { "listen:\n", "line 1: listen has no value" },
        { "\n\nevent-ttl: 1h\n", "line 3: event-ttl needs a number" },
        { "demo: maybe\n", "line 1: demo takes no value but true or false" },
        { "oidc-required-claim: a=b\n", NULL },
        { "oidc-required-claim: [[a]]\n", "line 1: oidc-required-claim needs a list of words" },
        { "oidc-required-claim: [1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]\n",
          "line 1: oidc-required-claim has more than 16 items" },
        { "listen: a\nlisten: b\n", "line 2: the same key stands in line 1: listen" },
        { "- listen\n", "line 1: this is no mapping of options" },
        { "log-level: \"\\a", "line 1: found unexpected end of stream" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got, *want, *named;
        struct told t;

        REQUIRE(begin(&t, NULL));
        named = file_of(&t, "named.yaml", rows[i][0]);
        got = ask(&t, "simulate", named);
        want = rows[i][1] ? arena_printf(t.arena, "%s: %s", named, rows[i][1]) : "";
        CHECK(strstr(got, want) == got);
        if (strstr(got, want) != got)
            printf("#  got: %s\n# want: %s\n", got, want);
        end(&t);
    }
}

TEST(a_home_file_is_of_the_user)
{
    struct told t;
    const char *path;

    REQUIRE(begin(&t, "data-dir: x\n"));
    path = arena_printf(t.arena, "%s/kairship.yaml", t.home);
    CHECK(chmod(path, 0666) == 0);
    CHECK(strstr(ask(&t, "up", NULL), "everybody may write this file"));
    CHECK_STR(ask(&t, "up", path), ""); /* it was named */
    CHECK(chmod(path, 0600) == 0);
    if (geteuid() == 0) {
        CHECK(chown(path, 4711, 4711) == 0);
        CHECK(strstr(ask(&t, "up", NULL), "belongs to user 4711"));
        CHECK(chmod(t.home, 0700) == 0 && seteuid(4711) == 0);
        CHECK_STR(ask(&t, "up", NULL), ""); /* a home that is closed to it is not this user's */
        CHECK(seteuid(0) == 0);
    }
    CHECK(strstr(ask(&t, "up", "/nowhere"), "cannot open /nowhere"));
    end(&t);
}

/* ---- of the tables themselves ---- */

struct table {
    str names[1024]; /* of the server */
    const char *shared;
    struct arena *arena;
    size_t n;
};

static void learn_server(void *arg, const char *command, const struct command_help *help,
                         const struct option_row *rows, size_t n)
{
    struct table *t = arg;

    (void)help;
    for (size_t i = 0; i < n && strcmp(command, "up") == 0; i++)
        if (rows[i].type != OPTION_GROUP)
            t->names[t->n++] = str_of(rows[i].name);
}

static void learn_shared(void *arg, const char *command, const struct command_help *help,
                         const struct option_row *rows, size_t n)
{
    static const char *const processes[] = { "up",     "apiserver", "controller-manager",
                                             "syncer", "simulate",  NULL };
    struct table *t = arg;

    (void)help;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->n; k++)
            if (rows[i].type != OPTION_GROUP && str_is(t->names[k], rows[i].name) &&
                !(str_is_any(str_of(command), processes) &&
                  strcmp(rows[i].name, "--data-dir") != 0))
                t->shared = arena_printf(t->arena, "%s%s %s, ", t->shared, command, rows[i].name);
}

/*
 * Whoever adds one here says in config_file.c whether it means what the server's option does.  What
 * all processes that stay running share comes from the same macros.
 */
TEST(names_that_the_server_and_others_have)
{
    struct table *t = calloc(1, sizeof(*t));
    scoped_arena a = arena_new();

    REQUIRE(t);
    t->arena = a;
    t->shared = "";
    commands_visit(learn_server, t);
    commands_visit(learn_shared, t);
    CHECK_STR(t->shared, "up --data-dir, kubeconfig --user, login --user, join --syncer-image, "
                         "join --syncer-server, doctor --data-dir, restore --data-dir, "
                         "apiserver --data-dir, simulate --data-dir, ");
    free(t);
}

/* A Service `kairship` sets these in every pod of its namespace, and the tests use the others. */
static void look_for_clash(void *arg, const char *command, const struct command_help *help,
                           const struct option_row *rows, size_t n)
{
    static const char *const taken[] = { "--port",    "--service-host",        "--service-port",
                                         "--release", "--service-account-dir", "--config",
                                         NULL };
    (void)arg;
    (void)help;
    for (size_t i = 0; i < n; i++)
        if (!CHECK(!str_is_any(str_of(rows[i].name), taken) &&
                   strncmp(rows[i].name, "--port-", 7) != 0))
            printf("# %s %s\n", command, rows[i].name);
}

TEST(no_variable_is_taken)
{
    commands_visit(look_for_clash, NULL);
}
