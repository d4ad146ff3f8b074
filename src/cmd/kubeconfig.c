/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `kairship kubeconfig INSTANCE`: a way into one instance, for one user, for some time.  All by the
 * API, as anybody could do it: the key is made here and stays here, the certificate is what the
 * instance signs.
 */

#include <stdio.h>
#include <time.h>

#include "apiserver/auth/signer.h"
#include "base/banned.h"
#include "base/encode.h"
#include "client/client.h"
#include "cmd/admin_kubeconfig.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "http/csr.h"

enum {
    GROUPS_MAX = 64,
    TTL_MIN_S = 600,
    TTL_MAX_S = 365 * 86400,
    WAIT_MS = 30000, /* for the certificate */
    POLL_MS = 20,
};

struct order {
    const char *instance, *user, *groups, *ttl, *kubeconfig, *context, *server, *output;
    struct arena *arena;
    struct client *client;
    int64_t ttl_s;
    struct csr_subject who;
    struct client_ref ref;
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
    str *groups = arena_array(o->arena, str, GROUPS_MAX), part;

    for (str rest = list; o->who.norgs < GROUPS_MAX && str_split(&rest, ',', &part);)
        if (part.n)
            groups[o->who.norgs++] = part;
    o->who.orgs = groups;
}

static bool asks_for_masters(const struct order *o)
{
    for (size_t i = 0; i < o->who.norgs; i++)
        if (str_is(o->who.orgs[i], "system:masters"))
            return true;
    return false;
}

/* Without a user and groups: the instance's admin. */
static int understand(struct order *o)
{
    bool anybody = !o->user && !o->groups;

    if (!parse_ttl(str_of(o->ttl), &o->ttl_s)) {
        (void)fprintf(stderr, "kairship: --ttl is 10m to 365d (s, m, h and d are known), not %s\n",
                      o->ttl);
        return USAGE;
    }
    o->who.cn = str_of(o->user ? o->user : "admin");
    split_groups(o, str_of(anybody ? "system:masters" : o->groups ? o->groups : ""));
    if (o->who.cn.n == 0) {
        (void)fprintf(stderr, "kairship: --user must not be empty\n");
        return USAGE;
    }
    return OPTIONS_OK;
}

/* ---- the request ---- */

static struct json words(struct arena *a, const char *first, const char *second)
{
    struct json_array r = json_array_new(a);

    json_push(&r, json_of_str(str_of(first)));
    json_push(&r, json_of_str(str_of(second)));
    return json_array_value(&r);
}

static const struct json *request_of(const struct order *o, str pem)
{
    struct json_object spec = json_object_new(o->arena), obj = json_object_new(o->arena);
    struct json name = json_of_str(STR("kubeconfig-"));

    json_add(&spec, STR("request"), json_of_str(base64_encode(o->arena, BASE64_STD, pem)));
    json_add(&spec, STR("signerName"),
             json_of_str(asks_for_masters(o) ? STR(SIGNER_ADMIN_CLIENT) : STR(SIGNER_API_CLIENT)));
    json_add(&spec, STR("expirationSeconds"), json_of_int(o->ttl_s));
    json_add(&spec, STR("usages"), words(o->arena, "digital signature", "client auth"));
    json_add(&obj, STR("apiVersion"), json_of_str(STR("certificates.k8s.io/v1")));
    json_add(&obj, STR("kind"), json_of_str(STR("CertificateSigningRequest")));
    json_add(&obj, STR("spec"), json_object_value(&spec));
    return json_set(o->arena, json_object_done(&obj), "metadata.generateName",
                    json_box(o->arena, name));
}

static int approve(struct order *o, const struct json *csr, struct status *st)
{
    struct json_object c = json_object_new(o->arena);
    struct json_array all = json_array_new(o->arena);
    struct client_ref ref = o->ref;

    json_add(&c, STR("type"), json_of_str(STR("Approved")));
    json_add(&c, STR("status"), json_of_str(STR("True")));
    json_add(&c, STR("reason"), json_of_str(STR("KairshipKubeconfig")));
    json_add(&c, STR("message"), json_of_str(STR("Asked for and approved by kairship kubeconfig")));
    json_push(&all, json_object_value(&c));
    ref.subresource = STR("approval");
    return client_update(o->client, o->arena, &ref,
                         json_set(o->arena, csr, "status.conditions", json_array_done(&all)), NULL,
                         st);
}

static str failure_of(const struct json *csr)
{
    json_for_each (c, json_path(csr, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Failed") || str_is(json_get_str(c, "type"), "Denied"))
            return json_get_str(c, "message");
    return STR_NONE;
}

static int wait_for_certificate(struct order *o, str *cert, struct status *st)
{
    const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
    const struct json *csr;

    for (int waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        if (client_get(o->client, o->arena, &o->ref, &csr, st) < 0)
            return -1;
        if (base64_decode(o->arena, BASE64_GO, json_get_str(csr, "status.certificate"), cert) &&
            cert->n)
            return 0;
        if (failure_of(csr).n)
            return status_set(st, REASON_FORBIDDEN, "the certificate was refused: %.*s",
                              STR_ARG(failure_of(csr)));
        (void)nanosleep(&pause, NULL);
    }
    return status_set(st, REASON_TIMEOUT,
                      "no certificate came within %d s; see kubectl describe csr %.*s",
                      WAIT_MS / 1000, STR_ARG(o->ref.name));
}

static int obtain(struct order *o, str *cert, secret *key_pem, struct status *st)
{
    const struct json *csr;
    str pem;

    if (csr_make(o->arena, &o->who, &pem, key_pem, st) < 0 ||
        client_create(o->client, o->arena, &o->ref, request_of(o, pem), &csr, st) < 0)
        return -1;
    o->ref.name = json_get_str(csr, "metadata.name");
    if (approve(o, csr, st) < 0)
        return -1;
    return wait_for_certificate(o, cert, st);
}

/* ---- the file ---- */

static bool is_root(const struct order *o)
{
    return str_is(str_of(o->instance), "root");
}

static str server_of(const struct order *o, const struct kubeconfig *k)
{
    bool v6 = str_find(k->host, ':', 0) >= 0;
    str base = o->server
                   ? str_of(o->server)
                   : str_printf(o->arena, "%s://%s%.*s%s:%.*s", k->tls ? "https" : "http",
                                v6 ? "[" : "", STR_ARG(k->host), v6 ? "]" : "", STR_ARG(k->port));

    while (str_ends(base, STR("/")))
        base = str_sub(base, 0, base.n - 1);
    return is_root(o) ? base : str_printf(o->arena, "%.*s/clusters/%s", STR_ARG(base), o->instance);
}

static int give(const struct order *o, secret text, struct status *st)
{
    if (!o->output) {
        (void)fwrite(secret_reveal(text).p, 1, secret_reveal(text).n, stdout);
        return fflush(stdout) == 0 ? 0 : status_set(st, REASON_INTERNAL, "cannot write");
    }
    if (kubeconfig_save(o->output, text, st) < 0)
        return -1;
    (void)fprintf(stderr, "%s is good for %s; try: kubectl --kubeconfig %s get namespaces\n",
                  o->output, o->ttl, o->output);
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
    if (status_is(st, REASON_UNAVAILABLE))
        return "Is the server running, and is it the one of the kubeconfig?";
    return "";
}

static int run(struct order *o)
{
    struct kubeconfig k, out;
    struct status st;
    secret key_pem;
    str cert;
    int rc;

    status_init(&st, o->arena);
    if (admin_kubeconfig(o->arena, o->kubeconfig, o->context, &k, &st) < 0)
        return complain(&st, "");
    k.prefix = STR_NONE; /* instances are named from the top */
    o->ref = (struct client_ref){ .instance = is_root(o) ? STR_NONE : str_of(o->instance),
                                  .group = STR("certificates.k8s.io"),
                                  .version = STR("v1"),
                                  .resource = STR("certificatesigningrequests") };
    o->client = client_open(NULL, &k, &st);
    if (!o->client)
        return complain(&st, "");
    rc = obtain(o, &cert, &key_pem, &st);
    client_free(o->client);
    if (rc < 0)
        return complain(&st, hint_for(&st));
    out = (struct kubeconfig){ .context = str_of(o->instance),
                               .server = server_of(o, &k),
                               .server_name = o->server ? STR_NONE : k.server_name,
                               .ca_pem = k.ca_pem,
                               .insecure = k.insecure,
                               .cert_pem = cert,
                               .key_pem = key_pem };
    if (give(o, kubeconfig_write(o->arena, &out, 1), &st) < 0)
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
    struct order o = { .arena = a, .ttl = "24h" };
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
          "Clients reach the server at this URL. Without this option: at that of --kubeconfig." },
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
