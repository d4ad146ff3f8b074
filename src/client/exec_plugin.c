/* SPDX-License-Identifier: Apache-2.0 */
#include "client/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/mem.h"
#include "client/kubeconfig.h"
#include "json/json.h"

extern char **environ;

/* ---- what the kubeconfig says ---- */

static int wrong(struct status *st, const char *what)
{
    return status_set(st, REASON_BAD_REQUEST, "exec: %s", what);
}

static bool is_version(str v)
{
    return str_is(v, "client.authentication.k8s.io/v1") ||
           str_is(v, "client.authentication.k8s.io/v1beta1");
}

/* A string without NUL in it, or NULL. */
static const char *word(struct arena *a, const struct json *v)
{
    str s = json_str(v);

    return json_is(v, JSON_STRING) && str_find(s, '\0', 0) < 0 ? str_z(a, s) : NULL;
}

static int read_args(struct arena *a, const struct json *list, struct exec_plugin *p,
                     struct status *st)
{
    const char **args = arena_array(a, const char *, EXEC_ARGS_MAX);

    json_for_each (v, list) {
        if (p->nargs == EXEC_ARGS_MAX || !(args[p->nargs] = word(a, v)))
            return wrong(st, "args are strings, and not too many");
        p->nargs++;
    }
    p->args = args;
    return 0;
}

static int read_env(struct arena *a, const struct json *list, struct exec_plugin *p,
                    struct status *st)
{
    const char **env = arena_array(a, const char *, EXEC_ARGS_MAX);

    json_for_each (v, list) {
        const char *name = word(a, json_get(v, STR("name")));
        const char *value = word(a, json_get(v, STR("value")));

        if (!name || !*name || strchr(name, '=') || !value || p->nenv == EXEC_ARGS_MAX)
            return wrong(st, "env are pairs of name and value, and not too many");
        env[p->nenv++] = arena_printf(a, "%s=%s", name, value);
    }
    p->env = env;
    return 0;
}

/* k8s: a name with a slash in it is a path, and begins where the kubeconfig is. */
static const char *command_of(struct arena *a, const char *command, str dir)
{
    if (*command == '/' || !strchr(command, '/') || dir.n == 0)
        return command;
    return arena_printf(a, "%.*s/%s", STR_ARG(dir), command);
}

static int read_mode(str mode, struct exec_plugin *p, struct status *st)
{
    bool terminal = isatty(STDIN_FILENO);

    if (mode.n == 0 && str_is(p->api_version, "client.authentication.k8s.io/v1"))
        return wrong(st, "interactiveMode must be Never, IfAvailable or Always");
    p->may_interact = terminal && !str_is(mode, "Never");
    if (str_is(mode, "Always") && !terminal)
        return wrong(st, "the plugin wants to ask a person, and standard input is no terminal");
    if (mode.n && !str_is(mode, "Never") && !str_is(mode, "IfAvailable") && !str_is(mode, "Always"))
        return wrong(st, "interactiveMode must be Never, IfAvailable or Always");
    return 0;
}

int exec_plugin_parse(struct arena *a, const struct json *exec, str dir, struct exec_plugin *out,
                      struct status *st)
{
    struct exec_plugin p = { .api_version = str_dup(a, json_get_str(exec, "apiVersion")),
                             .hint = str_dup(a, json_get_str(exec, "installHint")),
                             .cluster_info = json_bool(json_get(exec, STR("provideClusterInfo"))) };
    const char *command = word(a, json_get(exec, STR("command")));

    if (!command || !*command)
        return wrong(st, "command is missing");
    if (!is_version(p.api_version))
        return wrong(st, "apiVersion must be client.authentication.k8s.io/v1 or v1beta1");
    if (read_args(a, json_get(exec, STR("args")), &p, st) < 0 ||
        read_env(a, json_get(exec, STR("env")), &p, st) < 0 ||
        read_mode(json_get_str(exec, "interactiveMode"), &p, st) < 0)
        return -1;
    p.command = command_of(a, command, dir);
    *out = p;
    return 0;
}

/* ---- what the program is told ---- */

static struct json cluster_info(struct arena *a, const struct kubeconfig *k)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("server"), json_of_str(k->server));
    if (k->server_name.n)
        json_add(&o, STR("tls-server-name"), json_of_str(k->server_name));
    if (k->insecure)
        json_add(&o, STR("insecure-skip-tls-verify"), json_of_bool(true));
    if (k->ca_pem.n)
        json_add(&o, STR("certificate-authority-data"),
                 json_of_str(base64_encode(a, BASE64_STD, k->ca_pem)));
    return json_object_value(&o);
}

static const char *exec_info(struct arena *a, const struct exec_plugin *p,
                             const struct kubeconfig *k)
{
    struct json_object o = json_object_new(a), spec = json_object_new(a);

    if (p->cluster_info)
        json_add(&spec, STR("cluster"), cluster_info(a, k));
    json_add(&spec, STR("interactive"), json_of_bool(p->may_interact));
    json_add(&o, STR("kind"), json_of_str(STR("ExecCredential")));
    json_add(&o, STR("apiVersion"), json_of_str(p->api_version));
    json_add(&o, STR("spec"), json_object_value(&spec));
    return arena_printf(a, "KUBERNETES_EXEC_INFO=%.*s",
                        STR_ARG(json_text(a, json_object_done(&o))));
}

static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return strncmp(a, b, n + 1) == 0;
}

/* Ours, without those that the kubeconfig sets otherwise. */
static const char **environment(struct arena *a, const struct exec_plugin *p,
                                const struct kubeconfig *k)
{
    size_t own = 0, n = 0;
    const char **env;

    while (environ[own])
        own++;
    env = arena_array(a, const char *, own + p->nenv + 2);
    for (size_t i = 0; i < own; i++) {
        bool set = same_variable("KUBERNETES_EXEC_INFO=", environ[i]);

        for (size_t j = 0; j < p->nenv; j++)
            set = set || same_variable(p->env[j], environ[i]);
        if (!set)
            env[n++] = environ[i];
    }
    for (size_t j = 0; j < p->nenv; j++)
        env[n++] = p->env[j];
    env[n++] = exec_info(a, p, k);
    env[n] = NULL;
    return env;
}

/* ---- running it ---- */

static int start(struct arena *a, const struct exec_plugin *p, const struct kubeconfig *k, int out,
                 pid_t *pid)
{
    const char **argv = arena_array(a, const char *, p->nargs + 2);
    posix_spawn_file_actions_t files;
    int err;

    argv[0] = p->command;
    for (size_t i = 0; i < p->nargs; i++)
        argv[i + 1] = p->args[i];
    argv[p->nargs + 1] = NULL;
    if (posix_spawn_file_actions_init(&files) != 0)
        mem_exhausted();
    err = p->may_interact
              ? 0
              : posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!err)
        err = posix_spawnp(pid, p->command, &files, NULL, (char *const *)(const void *)argv,
                           (char *const *)(const void *)environment(a, p, k));
    (void)posix_spawn_file_actions_destroy(&files);
    return err;
}

/* Until its end; -1 with errno. */
static int read_output(int fd, struct buf *b)
{
    int64_t end = clock_now_ms(clock_real()) + EXEC_TIMEOUT_MS;
    char chunk[4096];

    for (;;) {
        int64_t left = end - clock_now_ms(clock_real());
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n;

        if (left <= 0 || poll(&p, 1, (int)left) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (b->n + (size_t)n > EXEC_OUTPUT_MAX) {
            errno = EFBIG;
            return -1;
        }
        buf_append(b, chunk, (size_t)n);
    }
}

static int not_started(const struct exec_plugin *p, int err, struct status *st)
{
    (void)status_errno(st, err, "exec: cannot run %s", p->command);
    st->reason = REASON_BAD_REQUEST;
    if (err == ENOENT && p->hint.n)
        st->message = str_printf(st->arena, "%.*s\n%.*s", STR_ARG(st->message), STR_ARG(p->hint));
    return -1;
}

static int ended(const struct exec_plugin *p, int how, struct status *st)
{
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
        return 0;
    if (WIFEXITED(how))
        return status_set(st, REASON_UNAUTHORIZED, "exec: %s failed with exit code %d", p->command,
                          WEXITSTATUS(how));
    return status_set(st, REASON_UNAUTHORIZED, "exec: %s was ended by signal %d", p->command,
                      WTERMSIG(how));
}

/* What it printed. */
static int run(struct arena *a, const struct exec_plugin *p, const struct kubeconfig *k,
               struct buf *b, struct status *st)
{
    int fds[2], err, how = 0, rc;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return status_errno(st, errno, "exec");
    err = start(a, p, k, fds[1], &pid);
    (void)close(fds[1]);
    if (err) {
        (void)close(fds[0]);
        return not_started(p, err, st);
    }
    rc = read_output(fds[0], b);
    err = errno;
    (void)close(fds[0]);
    if (rc < 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        return status_errno(st, err, "exec: what %s says cannot be read", p->command);
    return ended(p, how, st);
}

int exec_plugin_run(struct arena *a, const struct exec_plugin *p, const struct kubeconfig *k,
                    struct exec_credential *out, struct status *st)
{
    scoped_buf b = { .max = EXEC_OUTPUT_MAX + 1, .wipe = true };
    int rc;

    arena_wipe(a);
    rc = run(a, p, k, &b, st);
    if (rc == 0 && exec_credential_parse(a, secret_of(buf_str(&b)), p->api_version, out, st) < 0)
        rc = status_wrap(st, "exec: %s", p->command);
    return rc;
}

/* ---- what it says ---- */

static int bad_answer(struct status *st, const char *what)
{
    return status_set(st, REASON_UNAUTHORIZED, "%s", what);
}

int exec_credential_parse(struct arena *a, secret text, str api_version,
                          struct exec_credential *out, struct status *st)
{
    struct exec_credential c = { 0 };
    const struct json *v, *status;
    str end;

    if (json_parse(a, secret_reveal(text), NULL, &v, st) < 0)
        return bad_answer(st, "the answer is not JSON");
    if (!str_is(json_get_str(v, "kind"), "ExecCredential"))
        return bad_answer(st, "the answer is no ExecCredential");
    if (!str_eq(json_get_str(v, "apiVersion"), api_version))
        return bad_answer(st, "the answer has another apiVersion than the kubeconfig asks for");
    status = json_get(v, STR("status"));
    c.token = secret_trim(secret_of(json_get_str(status, "token")));
    c.cert_pem = json_get_str(status, "clientCertificateData");
    c.key_pem = secret_of(json_get_str(status, "clientKeyData"));
    end = json_get_str(status, "expirationTimestamp");
    if (secret_empty(c.token) && !c.cert_pem.n)
        return bad_answer(st, "the answer has neither a token nor a certificate");
    if (!c.cert_pem.n != secret_empty(c.key_pem))
        return bad_answer(st, "the answer has a certificate or a key without the other");
    if (end.n && !time_parse_seconds(end, &c.expires_s))
        return bad_answer(st, "the answer's expirationTimestamp is no time");
    *out = c;
    return 0;
}
