/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_IDENTITY_H
#define CMD_IDENTITY_H

/*
 * Who may vouch for people beside us: kube-apiserver's flags for OpenID issuers, as flags of one
 * issuer or as an AuthenticationConfiguration, which is read again when the file changes; and for
 * webhooks that know tokens and rights, by kubeconfigs that are read once.  One thread, the one
 * that waits for signals.
 */

#include <sys/stat.h>

#include "cmd/options.h"
#include "server/server.h"
#include "server/verdicts.h"

struct webhook_flags {
    const char *file, *yes_ttl, *no_ttl;
    struct verdict_source source;
};

struct identity_flags {
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
    { "--authentication-config", OPTION_STRING, &(f).config_file, "FILE",                         \
      "AuthenticationConfiguration: issuers whose tokens are taken; reloaded when it changes" },  \
        { "--oidc-issuer-url", OPTION_STRING, &(f).issuer, "URL",                                 \
          "or one issuer by flags: tokens of it are taken," },                                    \
        { "--oidc-client-id", OPTION_STRING, &(f).client_id, "ID",                                \
          "if they are for this client" },                                                        \
        { "--oidc-username-claim", OPTION_STRING, &(f).username_claim, "CLAIM",                   \
          "what of a token is the name" },                                                        \
        { "--oidc-username-prefix", OPTION_STRING, &(f).username_prefix, "TEXT",                  \
          "before names; -: nothing; not said: the issuer and #, before email nothing" },         \
        { "--oidc-groups-claim", OPTION_STRING, &(f).groups_claim, "CLAIM",                       \
          "what of a token are the groups" },                                                     \
        { "--oidc-groups-prefix", OPTION_STRING, &(f).groups_prefix, "TEXT", "before groups" },   \
        { "--oidc-required-claim", OPTION_LIST, &(f).required_claims, "CLAIM=VALUE",              \
          "what a token must say; may be repeated" },                                             \
        { "--oidc-ca-file", OPTION_STRING, &(f).ca_file, "FILE",                                  \
          "who vouches for the issuer's certificate; not said: the system's" },                   \
        { "--authentication-token-webhook-config-file", OPTION_STRING, &(f).tokens.file, "FILE",  \
          "kubeconfig of a webhook that is asked (TokenReview v1) whose other tokens are" },      \
        { "--authentication-token-webhook-cache-ttl", OPTION_STRING, &(f).tokens.yes_ttl, "TIME", \
          "how long its answers hold" },                                                          \
        { "--authorization-webhook-config-file", OPTION_STRING, &(f).rights.file, "FILE",         \
          "kubeconfig of a webhook (SubjectAccessReview v1) that may add to roles, in root" },    \
        { "--authorization-webhook-instances", OPTION_FLAG, &(f).rights.source.instances, NULL,   \
          "and in all instances; it is told in which" },                                          \
        { "--authorization-webhook-cache-authorized-ttl", OPTION_STRING, &(f).rights.yes_ttl,     \
          "TIME", "how long a yes of it holds" },                                                 \
        { "--authorization-webhook-cache-unauthorized-ttl", OPTION_STRING, &(f).rights.no_ttl,    \
          "TIME", "and a no" },                                                                   \
    {                                                                                             \
        "--oidc-signing-algs", OPTION_STRING, &(f).signing_algs, "LIST",                          \
            "of RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512, with commas"               \
    }

/* Reads the webhooks' kubeconfigs and what they name; before files are out of reach. */
int identity_read_webhooks(struct identity_flags *f, struct arena *a, struct status *st)
    __attribute__((warn_unused_result));

/* What the server is to be given, in the arena. */
int identity_open(struct identity_flags *f, struct arena *a, struct server_options *o,
                  struct status *st) __attribute__((warn_unused_result));

/* Now and then, and at once when `forced`.  What fails is logged, and all stays. */
void identity_refresh(struct identity_flags *f, struct server *s, bool forced);

#endif
