/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/reqinfo.h"
#include "base/banned.h"
#include "client/kubeconfig.h"
#include "cmd/authn_flags.h"
#include "cmd/text_file.h"

static int read_ttl(const char *option, const char *text, int64_t *ms, struct status *st)
{
    if (parse_duration(str_of(text), ms))
        return 0;
    return status_set(st, REASON_BAD_REQUEST, "%s: \"%s\" is no duration (for example 2m or 30s)",
                      option, text);
}

/* What would not be used, or would end some day while we stay, is refused and not passed over. */
static int check(const struct kubeconfig *k, struct status *st)
{
    const struct {
        bool wrong;
        const char *what;
    } rows[] = {
        { !k->tls, "a server that is not https" },
        { k->insecure, "insecure-skip-tls-verify" },
        { k->exec, "exec" },
        { k->token_file.n, "tokenFile" },
        { k->username.n || !secret_empty(k->password), "username and password" },
        { k->proxy_host.n, "proxy-url" },
        { k->as.n || k->nas_groups, "impersonation" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].wrong)
            return status_set(st, REASON_BAD_REQUEST, "%s cannot be used for a webhook",
                              rows[i].what);
    return 0;
}

static str folder_of(str path)
{
    for (size_t i = path.n; i > 0; i--)
        if (path.p[i - 1] == '/')
            return str_sub(path, 0, i);
    return STR(".");
}

static int read_kubeconfig(struct webhook_flags *f, struct arena *a, struct status *st)
{
    struct verdict_source *s = &f->source;
    struct kubeconfig k;
    str text, host;

    if (text_file_read(a, f->file, &text, st) < 0 ||
        kubeconfig_parse(a, secret_of(text), KUBECONFIG_PERSON, folder_of(str_of(f->file)),
                         STR_NONE, &k, st) < 0 ||
        check(&k, st) < 0)
        return -1;
    host = str_find(k.host, ':', 0) < 0 ? k.host : str_printf(a, "[%.*s]", STR_ARG(k.host));
    s->url =
        str_printf(a, "https://%.*s:%.*s%.*s", STR_ARG(host), STR_ARG(k.port), STR_ARG(k.prefix));
    s->ca_pem = k.ca_pem;
    s->as = (struct callout_as){
        .server_name = k.server_name, .cert_pem = k.cert_pem, .key_pem = k.key_pem, .token = k.token
    };
    return 0;
}

static int read_one(struct webhook_flags *f, const char *option, struct arena *a, struct status *st)
{
    if (f->file && read_kubeconfig(f, a, st) < 0)
        return status_wrap(st, "%s", option);
    return 0;
}

int authn_flags_read_webhooks(struct authn_flags *f, struct arena *a, struct status *st)
{
    struct verdict_source *tokens = &f->tokens.source, *rights = &f->rights.source;

    if (read_one(&f->tokens, "--authentication-token-webhook-config-file", a, st) < 0 ||
        read_one(&f->rights, "--authorization-webhook-config-file", a, st) < 0 ||
        read_ttl("--authentication-token-webhook-cache-ttl", f->tokens.yes_ttl, &tokens->yes_ms,
                 st) < 0 ||
        read_ttl("--authorization-webhook-cache-authorized-ttl", f->rights.yes_ttl, &rights->yes_ms,
                 st) < 0 ||
        read_ttl("--authorization-webhook-cache-unauthorized-ttl", f->rights.no_ttl, &rights->no_ms,
                 st) < 0)
        return -1;
    tokens->no_ms = tokens->yes_ms;
    return 0;
}
