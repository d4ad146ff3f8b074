/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_AUTHN_FLAGS_H
#define CMD_AUTHN_FLAGS_H

/*
 * Who may vouch for people beside us: kube-apiserver's flags for OpenID issuers, as flags of one
 * issuer or as an AuthenticationConfiguration, which is read again when the file changes; and for
 * webhooks that know tokens and rights, by kubeconfigs that are read once.  One thread, the one
 * that waits for signals.
 */

#include <sys/stat.h>

#include "apiserver/auth/verdicts.h"
#include "apiserver/server/server.h"
#include "cmd/options.h"

struct webhook_flags {
    const char *file, *yes_ttl, *no_ttl;
    struct verdict_source source;
};

struct authn_flags {
    const char *config_file;
    const char *issuer, *client_id, *username_claim, *username_prefix, *groups_claim,
        *groups_prefix, *ca_file, *signing_algs;
    struct option_list required_claims;
    struct webhook_flags tokens, rights;
    struct stat seen; /* the configuration, as it was when it was read */
};

#define IDENTITY_DEFAULTS                                                                \
    {                                                                                    \
        .username_claim = "sub", .signing_algs = "RS256", .tokens = { .yes_ttl = "2m" }, \
        .rights = {                                                                      \
            .yes_ttl = "5m",                                                             \
            .no_ttl = "30s"                                                              \
        }                                                                                \
    }

/* Rows for a table of options. */
#define IDENTITY_OPTIONS(f)                                                                       \
    OPTIONS_GROUP("OpenID Connect"),                                                              \
        { "--authentication-config", OPTION_STRING, &(f).config_file, "FILE",                     \
          "Accept tokens of the issuers in this AuthenticationConfiguration "                     \
          "(apiserver.config.k8s.io). It is reloaded when it changes. It cannot be combined "     \
          "with --oidc-issuer-url." },                                                            \
        { "--oidc-issuer-url", OPTION_STRING, &(f).issuer, "URL",                                 \
          "Accept tokens of this issuer. It needs --oidc-client-id." },                           \
        { "--oidc-client-id", OPTION_STRING, &(f).client_id, "ID",                                \
          "Accept only tokens with this audience." },                                             \
        { "--oidc-username-claim", OPTION_STRING, &(f).username_claim, "CLAIM",                   \
          "Take the user name from this claim." },                                                \
        { "--oidc-username-prefix", OPTION_STRING, &(f).username_prefix, "TEXT",                  \
          "Prefix user names with this text; - is no prefix. Without this option: the issuer's "  \
          "URL and #, but no prefix if the claim is email." },                                    \
        { "--oidc-groups-claim", OPTION_STRING, &(f).groups_claim, "CLAIM",                       \
          "Take the groups from this claim. Without this option: no groups." },                   \
        { "--oidc-groups-prefix", OPTION_STRING, &(f).groups_prefix, "TEXT",                      \
          "Prefix groups with this text." },                                                      \
        { "--oidc-required-claim", OPTION_LIST, &(f).required_claims, "CLAIM=VALUE",              \
          "Accept only tokens with this claim. The option may be repeated." },                    \
        { "--oidc-ca-file", OPTION_STRING, &(f).ca_file, "FILE",                                  \
          "Verify the issuer's certificate with these CAs instead of the system's." },            \
        { "--oidc-signing-algs", OPTION_STRING, &(f).signing_algs, "LIST",                        \
          "Accept these algorithms, separated by commas: RS256, RS384, RS512, ES256, ES384, "     \
          "ES512, PS256, PS384 or PS512." },                                                      \
        OPTIONS_GROUP("Authentication and authorization webhooks"),                               \
        { "--authentication-token-webhook-config-file", OPTION_STRING, &(f).tokens.file, "FILE",  \
          "Ask the webhook of this kubeconfig (TokenReview v1) about tokens that neither this "   \
          "server nor a configured issuer has issued." },                                         \
        { "--authentication-token-webhook-cache-ttl", OPTION_STRING, &(f).tokens.yes_ttl, "TIME", \
          "Cache its answers for this time." },                                                   \
        { "--authorization-webhook-config-file", OPTION_STRING, &(f).rights.file, "FILE",         \
          "Ask the webhook of this kubeconfig (SubjectAccessReview v1) about requests that RBAC " \
          "does not allow, in the root instance." },                                              \
        { "--authorization-webhook-instances", OPTION_FLAG, &(f).rights.source.instances, NULL,   \
          "Ask it about requests to all instances; each question names the instance." },          \
        { "--authorization-webhook-cache-authorized-ttl", OPTION_STRING, &(f).rights.yes_ttl,     \
          "TIME", "Cache its answers that allow a request for this time." },                      \
    {                                                                                             \
        "--authorization-webhook-cache-unauthorized-ttl", OPTION_STRING, &(f).rights.no_ttl,      \
            "TIME", "Cache its other answers for this time."                                      \
    }

/* Reads the webhooks' kubeconfigs and what they name; before files are out of reach. */
int authn_flags_read_webhooks(struct authn_flags *f, struct arena *a, struct status *st)
    __attribute__((warn_unused_result));

/* What the server is to be given, in the arena. */
int authn_flags_open(struct authn_flags *f, struct arena *a, struct server_options *o,
                     struct status *st) __attribute__((warn_unused_result));

/* Now and then, and at once when `forced`.  What fails is logged, and all stays. */
void authn_flags_refresh(struct authn_flags *f, struct server *s, bool forced);

#endif
