/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship doctor`: is this server as safe as it should be?  The frame; the checks are in
 * doctor_cis.c and doctor_host.c. */

#include "cmd/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/banned.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "http/dial.h"
#include "json/yaml_text.h"

enum { CMDLINE_MAX = 1 << 16, REPLY_MAX = 64 << 20 };

static const char *const words[] = { "holds", "does not apply", "not looked at", "FAILS" };

static struct doctor_finding found(struct doctor *d, enum doctor_verdict v, const char *fmt,
                                   va_list args)
{
    char text[1024];

    (void)vsnprintf(text, sizeof(text), fmt, args);
    return (struct doctor_finding){ v, str_dup(d->arena, str_of(text)) };
}

struct doctor_finding doctor_holds(struct doctor *d, const char *fmt, ...)
{
    struct doctor_finding f;
    va_list args;

    va_start(args, fmt);
    f = found(d, DOCTOR_HOLDS, fmt, args);
    va_end(args);
    return f;
}

struct doctor_finding doctor_fails(struct doctor *d, const char *fmt, ...)
{
    struct doctor_finding f;
    va_list args;

    va_start(args, fmt);
    f = found(d, DOCTOR_FAILS, fmt, args);
    va_end(args);
    return f;
}

struct doctor_finding doctor_not_for_us(const char *why)
{
    return (struct doctor_finding){ DOCTOR_NOT_APPLICABLE, str_of(why) };
}

struct doctor_finding doctor_unseen(const char *why)
{
    return (struct doctor_finding){ DOCTOR_UNSEEN, str_of(why) };
}

struct doctor_finding doctor_no_process(const struct doctor *d)
{
    return doctor_unseen(d->dir ? "no process has the data folder" : "say --data-dir");
}

/* ---- the process ---- */

static str slurp(struct arena *a, const char *path)
{
    char *text = arena_array(a, char, CMDLINE_MAX);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, CMDLINE_MAX, f) : 0;

    if (f)
        (void)fclose(f);
    return (str){ text, n };
}

/* Who holds the lock of the data folder: "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF". */
static int holder_of(struct doctor *d)
{
    const char *path = arena_printf(d->arena, "%s/LOCK", d->dir);
    char line[256];
    struct stat sb;
    int pid = 0;
    FILE *f;

    if (stat(path, &sb) < 0 || !(f = fopen("/proc/locks", "re")))
        return 0;
    while (pid == 0 && fgets(line, sizeof(line), f)) {
        unsigned major, minor;
        unsigned long long inode;
        int p;

        if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &p, &major, &minor, &inode) == 4 &&
            inode == sb.st_ino && makedev(major, minor) == sb.st_dev)
            pid = p;
    }
    (void)fclose(f);
    return pid;
}

str doctor_proc_status(struct doctor *d, const char *name)
{
    str text = slurp(d->arena, arena_printf(d->arena, "/proc/%d/status", d->pid)), line;

    while (str_split(&text, '\n', &line))
        if (str_starts(line, str_of(name)) && line.n > strlen(name) && line.p[strlen(name)] == ':')
            return str_trim(str_from(line, strlen(name) + 1));
    return STR_NONE;
}

/* The server has written down what it was told, wherever it was said. */
static const struct yaml_text *options_of(struct doctor *d)
{
    static const struct yaml_text none = { .type = YAML_TEXT_NOTHING };
    str text = slurp(d->arena, arena_printf(d->arena, "%s/" OPTIONS_FILE, d->dir));
    struct status st;

    status_init(&st, d->arena);
    if (!d->options && yaml_text_parse(d->arena, text, &d->options, &st) < 0)
        d->options = &none;
    return d->options;
}

bool doctor_option(struct doctor *d, const char *name, str *value)
{
    yaml_text_each (option, options_of(d))
        if (str_is(option->name, name + 2)) {
            *value = option->text;
            return true;
        }
    return false;
}

/* ---- all of it ---- */

static void print_rows(struct doctor *d, const char *title, const struct doctor_check *checks,
                       size_t n, struct json_array *out, bool json, size_t *bad)
{
    if (!json)
        printf("%s\n", title);
    for (size_t i = 0; i < n; i++) {
        struct doctor_finding f = checks == doctor_cis && d->silent
                                      ? doctor_unseen("the server does not answer")
                                      : checks[i].look(d);
        struct json_object o = json_object_new(d->arena);

        *bad += f.verdict == DOCTOR_FAILS;
        if (!json) {
            printf("  %-8s %-14s %s: %.*s\n", checks[i].id, words[f.verdict], checks[i].what,
                   STR_ARG(f.why));
            continue;
        }
        json_add(&o, STR("id"), json_of_str(str_of(checks[i].id)));
        json_add(&o, STR("what"), json_of_str(str_of(checks[i].what)));
        json_add(&o, STR("verdict"), json_of_str(str_of(words[f.verdict])));
        json_add(&o, STR("why"), json_of_str(f.why));
        json_push(out, json_object_value(&o));
    }
}

static int open_clients(struct doctor *d, struct status *st)
{
    struct kubeconfig nobody = d->to;

    nobody.cert_pem = STR_NONE;
    nobody.key_pem = nobody.token = nobody.password = SECRET_NONE;
    nobody.token_file = nobody.username = nobody.as = STR_NONE;
    nobody.exec = NULL;
    d->admin = client_open(NULL, &d->to, st);
    d->anonymous = d->admin ? client_open(NULL, &nobody, st) : NULL;
    if (!d->anonymous)
        return -1;
    client_limit(d->admin, DOCTOR_CALL_MS, REPLY_MAX);
    client_limit(d->anonymous, DOCTOR_CALL_MS, REPLY_MAX);
    return 0;
}

/* What no server answers says nothing of its security. */
static void knock(struct doctor *d)
{
    const struct kubeconfig *k = &d->to;
    struct status st;
    int fd;

    status_init(&st, d->arena);
    fd = k->proxy_host.n ? dial(d->arena, k->proxy_host, k->proxy_port, DOCTOR_CALL_MS / 1000, &st)
                         : dial(d->arena, k->host, k->port, DOCTOR_CALL_MS / 1000, &st);
    d->silent = fd < 0;
    if (fd >= 0)
        (void)close(fd);
    else
        (void)fprintf(stderr,
                      "kairship: the server does not answer: %.*s\n"
                      "Does it run? Its log tells why not: journalctl -u kairship\n",
                      STR_ARG(st.message));
}

static int examine(struct doctor *d, const char *kubeconfig, bool json, struct status *st)
{
    struct json_array out = json_array_new(d->arena);
    size_t bad = 0;

    int rc = kubeconfig || !d->dir ? admin_kubeconfig(d->arena, kubeconfig, NULL, &d->to, st)
                                   : admin_kubeconfig_of(d->arena, d->dir, NULL, &d->to, st);

    if (rc < 0 || open_clients(d, st) < 0)
        return -1;
    knock(d);
    if (d->dir)
        d->pid = holder_of(d);
    print_rows(d, "CIS Kubernetes Benchmark, API server", doctor_cis, doctor_ncis, &out, json,
               &bad);
    print_rows(d, "This machine", doctor_host, doctor_nhost, &out, json, &bad);
    if (json)
        printf("%s\n", str_z(d->arena, json_text(d->arena, json_array_done(&out))));
    else
        printf("%zu of %zu fail%s\n", bad, doctor_ncis + doctor_nhost,
               d->silent ? ", and the server does not answer" : "");
    return bad || d->silent ? 1 : 0;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship doctor [options]",
        "Check how secure a running server is: its configuration, its process and its files by "
        "every item of the CIS benchmark for API servers, and this machine. The exit status is 1 "
        "when a check fails or the server does not answer.",
        "  kairship doctor --data-dir /var/lib/kairship\n"
        "  kairship doctor --kubeconfig admin.kubeconfig -o json\n"
    };
    scoped_arena a = arena_new();
    struct doctor d = { .arena = a };
    const char *kubeconfig = NULL, *output = "table";
    const struct option_row rows[] = {
        { "--data-dir", OPTION_STRING, &d.dir, "DIR",
          "The data folder of a server on this machine. Without this option and --kubeconfig: "
          "the one that the configuration names, else ./kairship-data." },
        { "--kubeconfig", OPTION_STRING, &kubeconfig, "FILE",
          "Connect to the server with this kubeconfig. Without this option: with admin.kubeconfig "
          "of the data folder." },
        { "--output", OPTION_STRING, &output, "FORM", "Print a table or json." },
        { "-o", OPTION_STRING, &output, "FORM", "The same as --output." },
    };
    struct status st;
    bool json;
    int rc = options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    json = strcmp(output, "json") == 0;
    if (!json && strcmp(output, "table") != 0) {
        (void)fprintf(stderr, "kairship: --output is table or json\n");
        return USAGE;
    }
    if (!d.dir && !kubeconfig)
        d.dir = options_server.data_dir;
    status_init(&st, a);
    rc = examine(&d, kubeconfig, json, &st);
    if (rc < 0)
        (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    client_free(d.anonymous);
    client_free(d.admin);
    return rc < 0 ? 1 : rc;
}
