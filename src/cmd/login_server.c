/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/login_server.h"

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "cmd/text_file.h"
#include "http/pki.h"
#include "http/presented.h"

#define HASH_DIGITS 64

struct finder {
    struct arena *arena;
    const struct login_server *asked;
    struct kubeconfig *to;
    struct status *st;
    struct presented presented;
};

/* ---- where it is ---- */

static int from_url(struct finder *f)
{
    struct kubeconfig k = { .context = STR("login"), .server = str_trim(str_of(f->asked->url)) };

    if (!str_contains(k.server, STR("://")))
        k.server = str_printf(f->arena, "https://%.*s", STR_ARG(k.server));
    if (kubeconfig_parse(f->arena, kubeconfig_write(f->arena, &k, 1), KUBECONFIG_PERSON, STR_NONE,
                         STR_NONE, f->to, f->st) < 0)
        return status_set(f->st, REASON_BAD_REQUEST,
                          "%s is no address of a server; one is https://HOST:PORT", f->asked->url);
    return 0;
}

static int from_context(struct finder *f)
{
    struct kubeconfig k;

    if (kubeconfig_load(f->arena, f->asked->kubeconfig, STR_NONE, &k, f->st) < 0)
        return status_wrap(f->st, "no URL was given, and no kubeconfig has one");
    *f->to = (struct kubeconfig){ .context = k.context,
                                  .server = k.server,
                                  .tls = k.tls,
                                  .host = k.host,
                                  .port = k.port,
                                  .prefix = k.prefix,
                                  .server_name = k.server_name,
                                  .ca_pem = k.ca_pem,
                                  .proxy_host = k.proxy_host,
                                  .proxy_port = k.proxy_port };
    if (k.insecure)
        return status_set(
            f->st, REASON_BAD_REQUEST,
            "the context %.*s does not verify its server, and so it gets no password: "
            "say kairship login URL with --ca-hash or --ca-file",
            STR_ARG(k.context));
    return 0;
}

static int find_address(struct finder *f)
{
    if ((f->asked->url ? from_url(f) : from_context(f)) < 0)
        return -1;
    if (!f->to->tls)
        return status_set(f->st, REASON_BAD_REQUEST,
                          "passwords are sent to https:// only; say https://%.*s:%.*s",
                          STR_ARG(f->to->host), STR_ARG(f->to->port));
    if (f->to->prefix.n && !str_starts(f->to->prefix, STR("/clusters/")))
        return status_set(f->st, REASON_BAD_REQUEST,
                          "a server is https://HOST:PORT, and an instance of it "
                          "https://HOST:PORT/clusters/NAME; %.*s is neither",
                          STR_ARG(f->to->server));
    return 0;
}

/* ---- whom it is to be known by ---- */

static bool is_hash(str s)
{
    unsigned char bytes[HASH_DIGITS / 2];
    str prefix = STR(PKI_KEY_HASH);

    return str_starts(s, prefix) && s.n == prefix.n + HASH_DIGITS &&
           hex_decode(str_from(s, prefix.n), bytes);
}

static int read_trust(struct finder *f)
{
    if (f->asked->ca_file && f->asked->ca_hash)
        return status_set(f->st, REASON_BAD_REQUEST, "--ca-file and --ca-hash exclude each other");
    if (f->asked->ca_hash && !is_hash(str_of(f->asked->ca_hash)))
        return status_set(f->st, REASON_BAD_REQUEST,
                          "--ca-hash is " PKI_KEY_HASH " and %d hexadecimal digits, as the server "
                          "prints it when it is ready",
                          HASH_DIGITS);
    if (f->asked->ca_file && text_file_read(f->arena, f->asked->ca_file, &f->to->ca_pem, f->st) < 0)
        return -1;
    return 0;
}

/* ---- what it presents ---- */

static str when(struct arena *a, int64_t s)
{
    char text[TIME_TEXT_SIZE] = "";

    return str_dup(a, (str){ text, time_format_seconds(text, s) });
}

#define AT "%.*s port %.*s"

typedef void sentence_fn(struct finder *f, str host, str port);

static void other_key(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "no certificate that " AT " presents has the key %s.\n"
                     "Either this is another server, its authority is new, or somebody is between. "
                     "Ask who runs it for the hash as it is now.",
                     STR_ARG(host), STR_ARG(port), f->asked->ca_hash);
}

static void unknown(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "the authority that signed the certificate of " AT " is not known here.\n"
                     "It presents %.*s. That proves nothing by itself, since whoever is between "
                     "can present another.\n"
                     "Compare it with the hash that the server printed when it was ready, or ask "
                     "who runs it; if both are the same, log in with\n"
                     "  --ca-hash %.*s",
                     STR_ARG(host), STR_ARG(port), STR_ARG(f->presented.top_hash),
                     STR_ARG(f->presented.top_hash));
}

static void other_name(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "the certificate of " AT " is for %.*s and not for that name.\n"
                     "Use one of these, or ask who runs the server to start it with --advertise "
                     "https://%.*s:%.*s",
                     STR_ARG(host), STR_ARG(port),
                     STR_ARG(f->presented.names.n ? f->presented.names : STR("no name")),
                     STR_ARG(host), STR_ARG(port));
}

static void expired(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "the certificate of " AT " was valid until %.*s.\n"
                     "Ask who runs the server to renew it; if that time is not over, the clock of "
                     "this machine is wrong.",
                     STR_ARG(host), STR_ARG(port), STR_ARG(when(f->arena, f->presented.not_after)));
}

static void early(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "the certificate of " AT " is valid from %.*s on.\n"
                     "If that time is over, the clock of this machine is wrong.",
                     STR_ARG(host), STR_ARG(port),
                     STR_ARG(when(f->arena, f->presented.not_before)));
}

static void bad(struct finder *f, str host, str port)
{
    (void)status_set(f->st, REASON_UNAVAILABLE,
                     "the certificate of " AT " cannot be used: %.*s.\n"
                     "Ask who runs the server for another one.",
                     STR_ARG(host), STR_ARG(port), STR_ARG(f->presented.why));
}

static sentence_fn *const sentences[] = {
    [PRESENTED_OTHER_KEY] = other_key,   [PRESENTED_UNKNOWN] = unknown,
    [PRESENTED_OTHER_NAME] = other_name, [PRESENTED_EXPIRED] = expired,
    [PRESENTED_EARLY] = early,           [PRESENTED_BAD] = bad,
};

static int look_at_certificate(struct finder *f)
{
    const struct presented_order o = { .host = f->to->host,
                                       .port = f->to->port,
                                       .server_name = f->to->server_name,
                                       .ca_pem = f->to->ca_pem,
                                       .key_hash = str_of(f->asked->ca_hash) };

    if (f->to->proxy_host.n && !o.key_hash.n) /* the connection by the proxy verifies, too */
        return 0;
    if (presented_look(f->arena, &o, &f->presented, f->st) < 0)
        return status_is(f->st, REASON_UNAVAILABLE)
                   ? status_set(f->st, REASON_UNAVAILABLE,
                                "%.*s\n"
                                "Does the server run, does it listen on an address that this "
                                "machine reaches (--listen), and is the port right?",
                                STR_ARG(f->st->message))
                   : -1;
    if (f->presented.verdict != PRESENTED_GOOD) {
        sentences[f->presented.verdict](f, f->to->host, f->to->port);
        return -1;
    }
    if (o.key_hash.n)
        f->to->ca_pem = f->presented.authority;
    return 0;
}

/* ---- what it is ---- */

static int ask_version(struct finder *f)
{
    struct client_request req = { .method = STR("GET"), .path = STR("/version") };
    struct kubeconfig top = *f->to;
    const struct json *version = NULL;
    struct client *c;
    int rc;

    top.prefix = STR_NONE;
    c = client_open(NULL, &top, f->st);
    rc = c ? client_do(c, f->arena, &req, &version, f->st) : -1;
    client_free(c);
    if (rc < 0 && (!c || status_is(f->st, REASON_UNAVAILABLE) || status_is(f->st, REASON_TIMEOUT)))
        return -1;
    if (rc == 0 && str_contains(json_get_str(version, "gitVersion"), STR("+kairship")))
        return 0;
    return status_set(f->st, REASON_BAD_REQUEST,
                      "what answers at %.*s port %.*s is no Kairship; is this the right address?",
                      STR_ARG(f->to->host), STR_ARG(f->to->port));
}

int login_server_find(struct arena *a, const struct login_server *s, struct kubeconfig *out,
                      struct status *st)
{
    struct finder f = { .arena = a, .asked = s, .to = out, .st = st };

    *out = (struct kubeconfig){ 0 };
    if (find_address(&f) < 0 || read_trust(&f) < 0 || look_at_certificate(&f) < 0)
        return -1;
    return ask_version(&f);
}
