/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUTHN_CONFIG_H
#define SERVER_AUTHN_CONFIG_H

/*
 * AuthenticationConfiguration (apiserver.config.k8s.io): which issuers' tokens are taken, how their
 * claims become an identity, and where one may come without any credential.  The flags --oidc-… say
 * the same in other words, and become such a document (cmd/identity.c).
 *
 * Frozen once read; all of it lives in its arena, programs included.
 *
 * k8s: apiserver/pkg/apis/apiserver/validation/validation.go; the wording is theirs
 */

#include "meta/cel.h"

enum {
    AUTHN_ISSUERS_MAX = 64,
    AUTHN_COST_MAX = 1000000, /* of one run of an expression */
};

/* Of a claim, or of an expression over `claims`. */
struct authn_mapping {
    str claim, prefix;
    str expression;
    const struct cel_program *program; /* NULL: a claim, or nothing at all */
};

struct authn_rule {
    str claim, required;
    str expression, message;
    const struct cel_program *program; /* NULL: the claim must have that value */
};

struct authn_extra {
    str key, expression;
    const struct cel_program *program;
};

struct authn_issuer {
    str url, discovery_url, ca_pem; /* the last two may be empty */
    const str *audiences;           /* one of them must be the token's */
    size_t naudiences;
    struct authn_mapping username, groups, uid;
    const struct authn_extra *extra;
    size_t nextra;
    const struct authn_rule *rules, *user_rules; /* the latter over `user` */
    size_t nrules, nuser_rules;
};

struct authn_config {
    struct arena *arena;
    const struct authn_issuer *issuers;
    size_t nissuers;
    bool anonymous;        /* nobody may come, */
    const str *open_paths; /* and if any are said only there */
    size_t nopen_paths;
};

/*
 * YAML or JSON.  own_issuer is ours, which nobody else's tokens may name.  INVALID with all wrong
 * fields, or BAD_REQUEST when it is no such document.
 */
struct authn_config *authn_config_read(str text, str own_issuer, struct status *st);
void authn_config_free(void *config); /* NULL is fine */

/* Whether nobody may ask for this path (without the instance's part). */
bool authn_config_open(const struct authn_config *c, str path);

#endif
