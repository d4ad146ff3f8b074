/* SPDX-License-Identifier: Apache-2.0 */

/* `kairship kubeconfig INSTANCE`: a way into one instance, for one user, for some time. */

#include <stdio.h>

#include "base/banned.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/instance_kubeconfig.h"
#include "cmd/options.h"

enum {
    GROUPS_MAX = 64,
    TTL_MIN_S = 600,
    TTL_MAX_S = 365 * 86400,
};

struct order {
    const char *instance, *user, *groups, *ttl, *kubeconfig, *context, *server, *output;
    struct instance_kubeconfig of;
};

static int complain(const struct status *st, const char *hint)
{
    (void)fprintf(stderr, "kairship: %.*s%s%s\n", STR_ARG(st->message), *hint ? "\n" : "", hint);
    return 1;
}

/* ---- the command line ---- */

/* "90m", "24h", "30d"; seconds without a letter. */
static bool parse_ttl(str text, int64_t *out)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    int64_t n, each = 1;

    for (size_t i = 0; text.n && i < sizeof(units) / sizeof(*units); i++)
        if (text.p[text.n - 1] == units[i].unit) {
            each = units[i].seconds;
            text = str_sub(text, 0, text.n - 1);
            break;
        }
    if (!str_to_i64(text, &n) || n <= 0 || n > TTL_MAX_S)
        return false;
    *out = n * each;
    return *out >= TTL_MIN_S && *out <= TTL_MAX_S;
}

static void split_groups(struct order *o, str list)
{
    str *groups = arena_array(o->of.arena, str, GROUPS_MAX), part;

    for (str rest = list; o->of.who.norgs < GROUPS_MAX && str_split(&rest, ',', &part);)
        if (part.n)
            groups[o->of.who.norgs++] = part;
    o->of.who.orgs = groups;
}

/* Without a user and groups: the instance's admin. */
static int understand(struct order *o)
{
    bool anybody = !o->user && !o->groups;

    if (!parse_ttl(str_of(o->ttl), &o->of.ttl_s)) {
        (void)fprintf(stderr, "kairship: --ttl is 10m to 365d (s, m, h and d are known), not %s\n",
                      o->ttl);
        return USAGE;
    }
    o->of.who.cn = str_of(o->user ? o->user : "admin");
    split_groups(o, str_of(anybody ? "system:masters" : o->groups ? o->groups : ""));
    if (o->server && !str_starts(str_of(o->server), STR("https://"))) {
        (void)fprintf(stderr,
                      "kairship: --server is a URL, as https://kairship.example.com:6443, not %s\n",
                      o->server);
        return USAGE;
    }
    if (o->of.who.cn.n == 0) {
        (void)fprintf(stderr, "kairship: --user must not be empty\n");
        return USAGE;
    }
    return OPTIONS_OK;
}

/* ---- the file ---- */

static int give(const struct order *o, secret text, struct status *st)
{
    if (!o->output) {
        (void)fwrite(secret_reveal(text).p, 1, secret_reveal(text).n, stdout);
        return fflush(stdout) == 0 ? 0 : status_set(st, REASON_INTERNAL, "cannot write");
    }
    if (kubeconfig_save(o->output, text, st) < 0)
        return -1;
    (void)fprintf(stderr, "%s is good for %s; try: kubectl --kubeconfig %s %s\n", o->output, o->ttl,
                  o->output, o->user || o->groups ? "auth can-i --list" : "get namespaces");
    return 0;
}

static const char *hint_for(const struct status *st)
{
    if (status_is(st, REASON_NOT_FOUND))
        return "List them with: kubectl get instances";
    if (status_is(st, REASON_UNAUTHORIZED))
        return "The kubeconfig used does not open this instance; the admin's of the server does.";
    if (status_is(st, REASON_FORBIDDEN))
        return "It takes the rights to create and approve certificatesigningrequests there; "
               "system:masters is given by system:masters only.";
    if (status_is(st, REASON_BAD_REQUEST))
        return "A User with a role in it (a Workspace) enters by: kairship login --instance NAME";
    if (status_is(st, REASON_UNAVAILABLE))
        return "Is the server running, and is it the one of the kubeconfig?";
    return "";
}

/* What an attached instance signs is good there, not at this server.  Who may not look goes on. */
static int refuse_attached(struct order *o, struct status *st)
{
    const struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                                    .version = STR("v1alpha1"),
                                    .resource = STR("instances"),
                                    .name = o->of.instance };
    const struct json *found;

    if (client_get(o->of.client, o->of.arena, &ref, &found, st) < 0) {
        status_reset(st);
        return 0;
    }
    if (!json_path(found, "spec.attach"))
        return 0;
    return status_set(
        st, REASON_BAD_REQUEST,
        "instance %s is attached: this server does not know the certificates that are "
        "signed there",
        o->instance);
}

static int issue(struct order *o, const struct kubeconfig *k, struct kubeconfig *out,
                 struct status *st)
{
    bool root = str_is(o->of.instance, "root");

    if (!o->server &&
        admin_kubeconfig_elsewhere(o->of.arena, o->of.client, k, root ? STR_NONE : o->of.instance,
                                   &o->of.server, st) < 0)
        return -1;
    return instance_kubeconfig_issue(&o->of, k, out, st);
}

static int run(struct order *o)
{
    struct kubeconfig k, out;
    struct status st;
    int rc;

    status_init(&st, o->of.arena);
    if (admin_kubeconfig(o->of.arena, o->kubeconfig, o->context, &k, &st) < 0)
        return complain(&st, "");
    k.prefix = STR_NONE; /* instances are named from the top */
    o->of.instance = str_of(o->instance);
    o->of.server = str_of(o->server ? o->server : "");
    o->of.client = client_open(NULL, &k, &st);
    if (!o->of.client)
        return complain(&st, "");
    rc = refuse_attached(o, &st);
    if (rc == 0)
        rc = issue(o, &k, &out, &st);
    client_free(o->of.client);
    if (rc < 0)
        return complain(&st, hint_for(&st));
    if (give(o, kubeconfig_write(o->of.arena, &out, 1), &st) < 0)
        return complain(&st, "");
    return 0;
}

int cmd_kubeconfig(int argc, char **argv)
{
    static const struct command_help help = {
        "kairship kubeconfig INSTANCE [options]",
        "Issue a kubeconfig that is valid in one instance only (root: the root instance). Without "
        "--user and --group it is for an admin of the instance; otherwise the user has the rights "
        "that RBAC of the instance grants.",
        "  kairship kubeconfig team-a > team-a.kubeconfig\n"
        "  kairship kubeconfig team-a --user alice --group devs --ttl 8h \\\n"
        "      --output alice.kubeconfig\n"
        "  kairship kubeconfig team-a --server https://kairship.example.com:6443\n"
    };
    scoped_arena a = arena_new();
    struct order o = { .of.arena = a, .ttl = "24h" };
    const struct option_row rows[] = {
        { "--user", OPTION_STRING, &o.user, "NAME", "Issue it for this user." },
        { "--group", OPTION_STRING, &o.groups, "NAMES",
          "Make the user a member of these groups, separated by commas." },
        { "--ttl", OPTION_STRING, &o.ttl, "TIME",
          "Make it valid for this time, from 10m to 365d (units: s, m, h, d)." },
        { "--output", OPTION_STRING, &o.output, "FILE",
          "Write it to this file, which only its owner can read. Without this option: to standard "
          "output." },
        { "--server", OPTION_STRING, &o.server, "URL",
          "Clients reach the server at this URL. Without this option: at that of --kubeconfig, or, "
          "if that is of this machine only, at the address that the server advertises (kairship up "
          "--advertise)." },
        { "--kubeconfig", OPTION_STRING, &o.kubeconfig, "FILE", ADMIN_KUBECONFIG_HELP },
        { "--context", OPTION_STRING, &o.context, "NAME", ADMIN_CONTEXT_HELP },
    };
    size_t n = 0;
    int rc =
        options_parse(&help, rows, sizeof(rows) / sizeof(*rows), argc, argv, &o.instance, 1, &n);

    if (rc != OPTIONS_OK)
        return rc;
    if (n != 1) {
        (void)fprintf(stderr, "kairship: which instance?  root is the root instance.\nUsage: %s\n",
                      help.usage);
        return USAGE;
    }
    rc = understand(&o);
    return rc == OPTIONS_OK ? run(&o) : rc;
}
