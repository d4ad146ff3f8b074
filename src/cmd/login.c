/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship login URL`: a name and a password for a token, and a context of the kubeconfig that
 * uses it in an instance.  All by the API, as docs/login.md shows with curl and kubectl.
 */

#include <signal.h>
#include <stdio.h>

#include "base/banned.h"
#include "client/kubeconfig_edit.h"
#include "cmd/commands.h"
#include "cmd/key_file.h"
#include "cmd/login_server.h"
#include "cmd/options.h"
#include "cmd/prompt.h"
#include "http/password.h"

enum { NAME_MAX_LEN = 253, SHOWN_MAX = 20, TRIES = 3 };

#define USUAL_PORT "6443" /* of kairship up: names of contexts leave it out */

struct login {
    const char *user, *instance, *password_file, *kubeconfig;
    struct arena *arena;
    struct login_server where;
    struct kubeconfig server;
    str name, wanted, chosen;
    str expires, session;
    const str *instances; /* that the person may use, by name */
    size_t ninstances;
    bool listed; /* they are known */
    struct status st;
};

static const struct client_ref logins = { .group = STR_INIT("iam.kairship.io"),
                                          .version = STR_INIT("v1alpha1"),
                                          .resource = STR_INIT("logins") };

/* ---- who ---- */

static int ask_name(struct login *l)
{
    l->name = str_of(l->user);
    if (!l->user && !prompt_on_terminal())
        return status_set(&l->st, REASON_BAD_REQUEST,
                          "who logs in? Say --user NAME, since nobody can be asked here");
    if (!l->user && !prompt_line(l->arena, "Name: ", NAME_MAX_LEN, &l->name))
        l->name = STR_NONE;
    l->name = str_trim(l->name);
    if (!l->name.n)
        return status_set(&l->st, REASON_BAD_REQUEST, "a name is needed to log in");
    return 0;
}

static int read_password(struct login *l, secret *out)
{
    str text, line;

    if (!l->password_file) {
        if (prompt_secret(l->arena, "Password: ", PASSWORD_MAX, out) && !secret_empty(*out))
            return 0;
        return status_set(&l->st, REASON_BAD_REQUEST,
                          "a password of 1 to %d bytes is read from the terminal, from standard "
                          "input or with --password-file",
                          PASSWORD_MAX);
    }
    if (key_file_read(l->arena, l->password_file, out, &l->st) < 0)
        return -1;
    text = secret_reveal(*out);
    (void)str_split(&text, '\n', &line);
    if (str_ends(line, STR("\r")))
        line = str_sub(line, 0, line.n - 1);
    *out = secret_of(line);
    return 0;
}

/* ---- the login ---- */

static const struct {
    enum reason reason;
    const char *text;
} refusals[] = {
    { REASON_UNAUTHORIZED, "the name or the password is wrong, or the user is disabled.\n"
                           "An administrator sets another password with: kairship passwd NAME" },
    { REASON_TOO_MANY_REQUESTS,
      "too many logins at once, or too many wrong passwords: wait a minute and try again" },
    { REASON_FORBIDDEN, "this server lets nobody log in with a password.\n"
                        "Has it lost the default role kairship:login?" },
};

static int explain_refusal(struct login *l)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
        if (status_is(&l->st, refusals[i].reason))
            return status_set(&l->st, refusals[i].reason, "%s", refusals[i].text);
    return -1;
}

static int log_in(struct login *l, secret password)
{
    struct json_object spec = json_object_new(l->arena), order = json_object_new(l->arena);
    struct client *c = client_open(NULL, &l->server, &l->st);
    const struct json *answer = NULL;
    int rc;

    arena_wipe(l->arena);
    json_add(&spec, STR("username"), json_of_str(l->name));
    json_add(&spec, STR("password"), json_of_str(secret_reveal(password)));
    json_add(&order, STR("spec"), json_object_value(&spec));
    rc = c ? client_create(c, l->arena, &logins, json_object_done(&order), &answer, &l->st) : -1;
    client_free(c);
    if (rc < 0)
        return explain_refusal(l);
    l->server.token = secret_of(json_get_str(answer, "status.token"));
    l->expires = json_get_str(answer, "status.expirationTimestamp");
    l->session = json_get_str(answer, "status.session");
    if (secret_empty(l->server.token) || !l->session.n)
        return status_set(&l->st, REASON_INTERNAL, "the server's answer to the login has no token");
    return 0;
}

/* A login that leads to nothing is over; if this fails, it ends by itself. */
static void take_back(struct login *l, struct client *c)
{
    struct client_ref session = logins;
    struct status st;

    status_init(&st, l->arena);
    session.resource = STR("sessions");
    session.name = l->session;
    if (client_delete(c, l->arena, &session, NULL, &st) < 0)
        status_reset(&st);
}

/* ---- which instance ---- */

/* A server without the management API (kairship apiserver) cannot say. */
static int list_instances(struct login *l, struct client *c)
{
    struct client_request req = { .method = STR("GET"),
                                  .path = STR("/apis/kairship.io/v1alpha1/instances"
                                              "?sortBy=field_name&sortDir=asc") };
    const struct json *list, *items;
    str *names;

    if (client_do(c, l->arena, &req, &list, &l->st) < 0) {
        if (!status_is(&l->st, REASON_NOT_FOUND))
            return -1;
        status_reset(&l->st);
        return 0;
    }
    items = json_get(list, STR("items"));
    names = arena_array(l->arena, str, json_len(items));
    json_for_each (i, items)
        names[l->ninstances++] = json_get_str(i, "metadata.name");
    l->instances = names;
    l->listed = true;
    return 0;
}

static bool may_use(const struct login *l, str name)
{
    for (size_t i = 0; i < l->ninstances; i++)
        if (str_eq(l->instances[i], name))
            return true;
    return str_is(name, "root") || !l->listed;
}

static str names_shown(const struct login *l)
{
    str all = STR_NONE;

    for (size_t i = 0; i < l->ninstances && i < SHOWN_MAX; i++)
        all = str_printf(l->arena, "%.*s%s%.*s", STR_ARG(all), i ? ", " : "",
                         STR_ARG(l->instances[i]));
    if (l->ninstances > SHOWN_MAX)
        all = str_printf(l->arena, "%.*s and %zu more", STR_ARG(all), l->ninstances - SHOWN_MAX);
    return all.n ? all : STR("no instance yet");
}

static int refuse_instance(struct login *l)
{
    return status_set(&l->st, REASON_FORBIDDEN,
                      "%.*s has no role in an instance %.*s, and may use %.*s.\n"
                      "A workspace gives roles; an administrator of the platform can add to one.",
                      STR_ARG(l->name), STR_ARG(l->wanted), STR_ARG(names_shown(l)));
}

/* By number or name; an empty line is the first. */
static bool understood(struct login *l, str answer)
{
    uint64_t number = 1;

    answer = str_trim(answer);
    if (answer.n && may_use(l, answer)) {
        l->chosen = answer;
        return true;
    }
    if (answer.n && (!str_to_u64(answer, &number) || number < 1 || number > l->ninstances))
        return false;
    l->chosen = l->instances[number - 1];
    return true;
}

static int ask_instance(struct login *l)
{
    str answer;

    if (!prompt_on_terminal())
        return status_set(&l->st, REASON_BAD_REQUEST,
                          "which instance? Say --instance NAME; %.*s may use %.*s, or root",
                          STR_ARG(l->name), STR_ARG(names_shown(l)));
    (void)fprintf(stderr, "Instances of %.*s:\n", STR_ARG(l->name));
    for (size_t i = 0; i < l->ninstances; i++)
        (void)fprintf(stderr, "  %zu  %.*s\n", i + 1, STR_ARG(l->instances[i]));
    for (int i = 0; i < TRIES; i++) {
        if (!prompt_line(l->arena, "Which one? [1] ", NAME_MAX_LEN, &answer))
            break;
        if (understood(l, answer))
            return 0;
        (void)fprintf(stderr, "There is no such number or name.\n");
    }
    return status_set(&l->st, REASON_BAD_REQUEST, "no instance was chosen");
}

static int choose(struct login *l, struct client *c)
{
    if (list_instances(l, c) < 0)
        return -1;
    if (l->wanted.n && !may_use(l, l->wanted))
        return refuse_instance(l);
    if (!l->wanted.n && l->ninstances > 1)
        return ask_instance(l);
    l->chosen = l->wanted.n ? l->wanted : l->ninstances ? l->instances[0] : STR("root");
    return 0;
}

/* ---- the kubeconfig ---- */

static str host_text(const struct login *l)
{
    const struct kubeconfig *k = &l->server;

    if (str_is(k->port, USUAL_PORT))
        return k->host;
    return str_printf(l->arena, "%.*s:%.*s", STR_ARG(k->host), STR_ARG(k->port));
}

static int write_context(struct login *l, struct kubeconfig_entry *e, str *file)
{
    const struct kubeconfig *k = &l->server;
    bool v6 = str_find(k->host, ':', 0) >= 0, root = str_is(l->chosen, "root");
    str host = host_text(l);

    e->context = str_printf(l->arena, "kairship-%.*s-%.*s", STR_ARG(host), STR_ARG(l->chosen));
    e->cluster = e->context;
    e->user = str_printf(l->arena, "kairship-%.*s-%.*s", STR_ARG(host), STR_ARG(l->name));
    e->server = str_printf(l->arena, "https://%s%.*s%s:%.*s%s%.*s", v6 ? "[" : "", STR_ARG(k->host),
                           v6 ? "]" : "", STR_ARG(k->port), root ? "" : "/clusters/",
                           STR_ARG(root ? STR_NONE : l->chosen));
    e->ca_pem = k->ca_pem;
    e->token = k->token;
    return kubeconfig_put(l->arena, l->kubeconfig, e, file, &l->st);
}

static void tell(const struct login *l, const struct kubeconfig_entry *e, str file)
{
    printf("Logged in as %.*s until %.*s. The context is %.*s in %.*s.\n", STR_ARG(l->name),
           STR_ARG(l->expires), STR_ARG(e->context), STR_ARG(file));
    if (l->listed && !l->ninstances)
        printf("%.*s has a role in no instance yet, so this is the root instance.\n",
               STR_ARG(l->name));
    if (l->kubeconfig)
        printf("Try: kubectl --kubeconfig %.*s auth can-i --list\n"
               "End it: kairship logout --kubeconfig %.*s\n",
               STR_ARG(file), STR_ARG(file));
    else
        printf("Try: kubectl auth can-i --list\nEnd it: kairship logout\n");
}

/* ---- all of it ---- */

static int use(struct login *l)
{
    struct client *c = client_open(NULL, &l->server, &l->st);
    struct kubeconfig_entry e = { 0 };
    str file;
    int rc = -1;

    if (c && choose(l, c) == 0)
        rc = write_context(l, &e, &file);
    if (c && rc < 0)
        take_back(l, c);
    client_free(c);
    if (rc == 0)
        tell(l, &e, file);
    return rc;
}

static int run(struct login *l)
{
    const str clusters = STR("/clusters/");
    secret password = SECRET_NONE;

    l->where.kubeconfig = l->kubeconfig;
    if (login_server_find(l->arena, &l->where, &l->server, &l->st) < 0)
        return -1;
    l->wanted = str_of(l->instance);
    if (!l->instance && l->server.prefix.n)
        l->wanted = str_from(l->server.prefix, clusters.n);
    l->server.prefix = STR_NONE; /* people log in at the root instance */
    if (ask_name(l) < 0 || read_password(l, &password) < 0 || log_in(l, password) < 0)
        return -1;
    return use(l);
}

int cmd_login(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship login [URL] [options]",
        "Log in with a name and a password, and write a context that uses an instance into the "
        "kubeconfig. The same command renews the token when it has expired. Without a URL: at the "
        "server of the kubeconfig's current context.",
        "  kairship login https://kairship.example.com:6443 --ca-hash sha256:1dc5...\n"
        "  kairship login https://kairship.example.com:6443 --user jane --instance demo\n"
        "  kairship login\n"
        "\n"
        "  # The same without this program; login.json is\n"
        "  # {\"spec\": {\"username\": \"jane\", \"password\": \"...\"}}\n"
        "  curl --cacert ca.crt -H 'content-type: application/json' -d @login.json \\\n"
        "      https://HOST:6443/apis/iam.kairship.io/v1alpha1/logins   # status.token\n"
        "  kubectl config set-cluster demo --server https://HOST:6443/clusters/demo \\\n"
        "      --certificate-authority ca.crt --embed-certs\n"
        "  kubectl config set-context demo --cluster demo --user jane\n"
        "  kubectl config use-context demo      # and users[].user.token in the file\n"
    };
    scoped_arena a = arena_new();
    struct login l = { .arena = a };
    const struct option_row rows[] = {
        { "--ca-hash", OPTION_STRING, &l.where.ca_hash, "HASH",
          "Trust the authority with this hash (sha256:...), which the server prints when it is "
          "ready. Without this option and --ca-file: the authorities of the system." },
        { "--ca-file", OPTION_STRING, &l.where.ca_file, "FILE",
          "Trust the authorities in this file." },
        { "--instance", OPTION_STRING, &l.instance, "NAME",
          "Use this instance (root: the root instance). Without this option: that of the URL, "
          "else the only one in which the user has a role, else one that is asked for." },
        { "--user", OPTION_STRING, &l.user, "NAME",
          "Log in as this user. Without this option: asked for on the terminal." },
        { "--password-file", OPTION_STRING, &l.password_file, "FILE",
          "Read the password from the first line of this file. Without this option: from the "
          "terminal, else from standard input." },
        { "--kubeconfig", OPTION_STRING, &l.kubeconfig, "FILE",
          "Write to this kubeconfig. Without this option: to $KUBECONFIG, else to "
          "~/.kube/config." },
    };
    size_t n = 0;
    int rc =
        options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, &l.where.url, 1, &n);

    if (rc != OPTIONS_OK)
        return rc;
    (void)signal(SIGPIPE, SIG_IGN);
    status_init(&l.st, a);
    rc = run(&l);
    if (rc < 0)
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(l.st.message));
    return rc < 0;
}
