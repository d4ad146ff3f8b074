/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_AUTH_AUTHN_CONFIG_H
#define APISERVER_AUTH_AUTHN_CONFIG_H

/*
 * AuthenticationConfiguration (apiserver.config.k8s.io): which issuers' tokens are accepted, how
 * their claims are mapped to an identity, and which paths anonymous requests may use.  The flags
 * --oidc-… are translated into such a document (cmd/authn_flags.c).
 *
 * Frozen once read; all of it, programs included, lives in its arena.
 *
 * k8s: apiserver/pkg/apis/apiserver/validation/validation.go; the wording is theirs
 */

#include "object/cel/cel.h"

enum {
    AUTHN_ISSUERS_MAX = 64,
    AUTHN_COST_MAX = 1000000, /* limit for one run of an expression */
};

/* Takes a value from a claim, or from an expression over `claims`. */
struct authn_mapping {
    str claim, prefix;
    str expression;
    const struct cel_program *program; /* NULL: the claim is used; if that is empty, too, nothing */
};

struct authn_rule {
    str claim, required;
    str expression, message;
    const struct cel_program *program; /* NULL: the claim must have the required value */
};

struct authn_extra {
    str key, expression;
    const struct cel_program *program;
};

struct authn_issuer {
    str url, discovery_url, ca_pem; /* the last two may be empty */
    const str *audiences;           /* the token must be for one of them */
    size_t naudiences;
    struct authn_mapping username, groups, uid;
    const struct authn_extra *extra;
    size_t nextra;
    const struct authn_rule *rules, *user_rules; /* user_rules are over `user` */
    size_t nrules, nuser_rules;
};

struct authn_config {
    struct arena *arena;
    const struct authn_issuer *issuers;
    size_t nissuers;
    bool anonymous;        /* anonymous requests are allowed */
    const str *open_paths; /* if there are any: anonymous requests are allowed on these only */
    size_t nopen_paths;
};

/*
 * Reads a configuration from YAML or JSON.  own_issuer is the server's own issuer URL, which no
 * configured issuer may use.  Fails with INVALID, which lists every invalid field, or BAD_REQUEST
 * when the text is not such a document.
 */
struct authn_config *authn_config_read(str text, str own_issuer, struct status *st);
void authn_config_free(void *config); /* NULL is fine */

/* Returns whether anonymous callers may request this path (given without the instance's prefix). */
bool authn_config_open(const struct authn_config *c, str path);

#endif
