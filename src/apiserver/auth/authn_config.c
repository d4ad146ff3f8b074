/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_config.h"

#include <stdlib.h>

#include "apiserver/call/config_document.h"
#include "apiserver/outbound/callout.h"
#include "base/banned.h"
#include "base/mem.h"
#include "http/pki.h"
#include "object/meta/names.h"

#define GROUP "apiserver.config.k8s.io"

static const char table[] = "table io.k8s.apiserver.config.v1\n"
                            "root AuthenticationConfiguration\n"
                            "  jwt - []JWTAuthenticator\n"
                            "  anonymous - *AnonymousAuthConfig\n"
                            "type JWTAuthenticator\n"
                            "  issuer - Issuer always\n"
                            "  claimValidationRules - []ClaimValidationRule\n"
                            "  claimMappings - ClaimMappings always\n"
                            "  userValidationRules - []UserValidationRule\n"
                            "type Issuer\n"
                            "  url - string\n"
                            "  discoveryURL - string\n"
                            "  certificateAuthority - string\n"
                            "  audiences - []string\n"
                            "  audienceMatchPolicy - string\n"
                            "  egressSelectorType - string\n"
                            "type ClaimValidationRule\n"
                            "  claim - string\n"
                            "  requiredValue - string\n"
                            "  expression - string\n"
                            "  message - string\n"
                            "type ClaimMappings\n"
                            "  username - PrefixedClaimOrExpression always\n"
                            "  groups - PrefixedClaimOrExpression always\n"
                            "  uid - ClaimOrExpression always\n"
                            "  extra - []ExtraMapping\n"
                            "type PrefixedClaimOrExpression\n"
                            "  claim - string\n"
                            "  prefix - *string\n"
                            "  expression - string\n"
                            "type ClaimOrExpression\n"
                            "  claim - string\n"
                            "  expression - string\n"
                            "type ExtraMapping\n"
                            "  key - string\n"
                            "  valueExpression - string\n"
                            "type UserValidationRule\n"
                            "  expression - string\n"
                            "  message - string\n"
                            "type AnonymousAuthConfig\n"
                            "  enabled - bool\n"
                            "  conditions - []AnonymousAuthCondition\n"
                            "type AnonymousAuthCondition\n"
                            "  path - string\n";

/* ---- what an expression sees ---- */

static const struct cel_type strings = { .kind = CEL_LIST, .item = &cel_types[CEL_STRING] };
static const struct cel_type extra_type = { .kind = CEL_MAP,
                                            .key = &cel_types[CEL_STRING],
                                            .item = &strings };
static const struct cel_type claims_type = { .kind = CEL_MAP,
                                             .key = &cel_types[CEL_STRING],
                                             .item = &cel_types[CEL_DYN] };
static const struct cel_var user_fields[] = {
    { STR_INIT("username"), &cel_types[CEL_STRING] },
    { STR_INIT("uid"), &cel_types[CEL_STRING] },
    { STR_INIT("groups"), &strings },
    { STR_INIT("extra"), &extra_type },
};
static const struct cel_type user_type = {
    .kind = CEL_OBJECT,
    .fields = user_fields,
    .nfields = sizeof(user_fields) / sizeof(*user_fields),
};
static const struct cel_var claims_var = { STR_INIT("claims"), &claims_type };
static const struct cel_var user_var = { STR_INIT("user"), &user_type };

enum result { GIVES_STRING, GIVES_STRINGS, GIVES_BOOL };

static bool gives(const struct cel_type *t, enum result result)
{
    if (t->kind == CEL_DYN || t->kind == CEL_PARAM)
        return true;
    if (result == GIVES_BOOL)
        return t->kind == CEL_BOOL;
    if (t->kind == CEL_STRING)
        return true;
    return result == GIVES_STRINGS &&
           (t->kind == CEL_NULL ||
            (t->kind == CEL_LIST && (t->item->kind == CEL_STRING || t->item->kind == CEL_DYN ||
                                     t->item->kind == CEL_PARAM)));
}

struct config_reader {
    struct arena *arena; /* the document's */
    struct status *st;
    const char *own_issuer;
};

static str path(const struct config_reader *r, str at, const char *name)
{
    return str_printf(r->arena, "%.*s.%s", STR_ARG(at), name);
}

static str path_at(const struct config_reader *r, str at, const char *name, size_t i)
{
    return str_printf(r->arena, "%.*s.%s[%zu]", STR_ARG(at), name, i);
}

static void invalid(const struct config_reader *r, str at, str value, const char *why)
{
    struct json v = json_of_str(value);

    status_cause(r->st, CAUSE_INVALID, at, json_text(r->arena, &v), "%s", why);
}

static void duplicate(const struct config_reader *r, str at, str value)
{
    struct json v = json_of_str(value);

    status_cause(r->st, CAUSE_DUPLICATE, at, json_text(r->arena, &v), "%s", "");
}

static void required(const struct config_reader *r, str at, const char *why)
{
    status_cause(r->st, CAUSE_REQUIRED, at, STR_NONE, "%s", why);
}

/* k8s: authentication/cel/compile.go */
static const struct cel_program *compile(const struct config_reader *r, str at, str text,
                                         const struct cel_var *var, enum result result)
{
    static const char *const wanted[] = { [GIVES_STRING] = "string",
                                          [GIVES_STRINGS] = "string or list of strings",
                                          [GIVES_BOOL] = "bool" };
    const struct cel_program *p;
    str why = STR_NONE;

    p = cel_compile(r->arena, text, var, 1, &why);
    if (p && gives(cel_result(p), result))
        return p;
    invalid(r, at, text,
            str_z(r->arena, p ? str_printf(r->arena, "must evaluate to %s", wanted[result])
                              : str_printf(r->arena, "compilation failed: %.*s", STR_ARG(why))));
    return NULL;
}

/* ---- the issuer ---- */

/* The parts that a URL may not have are those that callout_url refuses; which one, is said. */
static void check_url(const struct config_reader *r, str at, str url)
{
    str host, port, rest;

    if (!str_starts(url, STR("https://"))) {
        invalid(r, at, url, "URL scheme must be https");
        return;
    }
    if (str_find(url, '@', 0) >= 0)
        invalid(r, at, url, "URL must not contain a username or password");
    else if (str_find(url, '?', 0) >= 0)
        invalid(r, at, url, "URL must not contain a query");
    else if (str_find(url, '#', 0) >= 0)
        invalid(r, at, url, "URL must not contain a fragment");
    else if (!callout_url(r->arena, url, &host, &port, &rest))
        invalid(r, at, url, "must be https://host[:port][/path]");
}

static str without_slash(str url)
{
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    return url;
}

static void read_audiences(const struct config_reader *r, str at, const struct json *v,
                           struct authn_issuer *out)
{
    const struct json *list = json_get(v, STR("audiences"));
    str *all = arena_array(r->arena, str, json_len(list) + 1);
    str policy = json_get_str(v, "audienceMatchPolicy");
    size_t n = 0;

    if (json_len(list) == 0)
        required(r, path(r, at, "audiences"),
                 arena_printf(r->arena, "at least one %.*s.audiences is required", STR_ARG(at)));
    json_for_each (a, list) {
        str here = path_at(r, at, "audiences", n);

        if (!json_str(a).n)
            required(r, here, "");
        for (size_t i = 0; i < n; i++)
            if (str_eq(all[i], json_str(a)))
                duplicate(r, here, json_str(a));
        all[n++] = json_str(a);
    }
    if (n > 1 && !str_is(policy, "MatchAny"))
        invalid(r, path(r, at, "audienceMatchPolicy"), policy,
                "audienceMatchPolicy must be MatchAny for multiple audiences");
    if (n == 1 && policy.n && !str_is(policy, "MatchAny"))
        invalid(r, path(r, at, "audienceMatchPolicy"), policy,
                "audienceMatchPolicy must be empty or MatchAny for single audience");
    out->audiences = all;
    out->naudiences = n;
}

static void read_issuer(const struct config_reader *r, str at, const struct json *v,
                        struct authn_issuer *out)
{
    str egress = json_get_str(v, "egressSelectorType");
    int64_t from, to;

    out->url = json_get_str(v, "url");
    out->discovery_url = json_get_str(v, "discoveryURL");
    out->ca_pem = json_get_str(v, "certificateAuthority");
    if (!out->url.n)
        required(r, path(r, at, "url"), "");
    else
        check_url(r, path(r, at, "url"), out->url);
    if (out->url.n && str_is(out->url, r->own_issuer))
        invalid(r, path(r, at, "url"), out->url,
                arena_printf(r->arena, "URL must not overlap with disallowed issuers: [%s]",
                             r->own_issuer));
    if (out->discovery_url.n) {
        if (str_eq(without_slash(out->url), without_slash(out->discovery_url)))
            invalid(r, path(r, at, "discoveryURL"), out->discovery_url,
                    "discoveryURL must be different from URL");
        check_url(r, path(r, at, "discoveryURL"), out->discovery_url);
    }
    read_audiences(r, at, v, out);
    if (out->ca_pem.n && !pki_cert_times(out->ca_pem, &from, &to))
        status_cause(r->st, CAUSE_INVALID, path(r, at, "certificateAuthority"),
                     STR("\"<omitted>\""),
                     "data does not contain any valid RSA or ECDSA "
                     "certificates");
    if (egress.n)
        invalid(r, path(r, at, "egressSelectorType"), egress, "egress selectors are not supported");
}

/* ---- claims ---- */

static struct authn_mapping read_mapping(const struct config_reader *r, str at,
                                         const struct json *v, enum result result, bool prefixed,
                                         bool needed)
{
    const struct json *prefix = json_get(v, STR("prefix"));
    struct authn_mapping m = { .claim = json_get_str(v, "claim"),
                               .prefix = json_str(prefix),
                               .expression = json_get_str(v, "expression") };

    if (m.claim.n && m.expression.n)
        invalid(r, at, STR_NONE, "claim and expression can't both be set");
    else if (!m.claim.n && !m.expression.n && needed)
        required(r, at, "claim or expression is required");
    else if (m.claim.n && prefixed && !prefix)
        required(
            r, path(r, at, "prefix"),
            "prefix is required when claim is set. It can be set to an empty string to disable "
            "prefixing");
    else if (m.expression.n && prefix)
        invalid(r, path(r, at, "prefix"), m.prefix, "prefix can't be set when expression is set");
    else if (m.expression.n)
        m.program = compile(r, path(r, at, "expression"), m.expression, &claims_var, result);
    return m;
}

static void check_extra_key(const struct config_reader *r, str at, str key)
{
    ptrdiff_t slash = str_find(key, '/', 0);
    str domain = str_sub(key, 0, slash < 0 ? 0 : (size_t)slash);
    static const str reserved[] = { STR_INIT("k8s.io"), STR_INIT("kubernetes.io") };

    if (slash <= 0 || (size_t)slash + 1 == key.n || !qualified_name_is_valid(key)) {
        invalid(r, at, key, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] >= 'A' && key.p[i] <= 'Z') {
            invalid(r, at, key, "must be lowercase");
            return;
        }
    for (size_t i = 0; i < 2; i++)
        if (str_eq(domain, reserved[i]) ||
            str_ends(domain, str_printf(r->arena, ".%.*s", STR_ARG(reserved[i]))))
            invalid(r, at, key,
                    "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
}

static void read_extra(const struct config_reader *r, str at, const struct json *list,
                       struct authn_issuer *out)
{
    struct authn_extra *all = arena_array(r->arena, struct authn_extra, json_len(list) + 1);
    size_t n = 0;

    json_for_each (v, list) {
        str here = path_at(r, at, "extra", n);
        struct authn_extra x = { .key = json_get_str(v, "key"),
                                 .expression = json_get_str(v, "valueExpression") };

        check_extra_key(r, path(r, here, "key"), x.key);
        for (size_t i = 0; i < n; i++)
            if (str_eq(all[i].key, x.key))
                duplicate(r, path(r, here, "key"), x.key);
        if (x.expression.n)
            x.program = compile(r, path(r, here, "valueExpression"), x.expression, &claims_var,
                                GIVES_STRINGS);
        else
            required(r, path(r, here, "valueExpression"), "");
        all[n++] = x;
    }
    out->extra = all;
    out->nextra = n;
}

static struct authn_rule read_rule(const struct config_reader *r, str at, const struct json *v,
                                   bool of_user)
{
    struct authn_rule rule = { .claim = json_get_str(v, "claim"),
                               .required = json_get_str(v, "requiredValue"),
                               .expression = json_get_str(v, "expression"),
                               .message = json_get_str(v, "message") };

    if (of_user && !rule.expression.n)
        required(r, path(r, at, "expression"), "expression is required");
    else if (rule.claim.n && rule.expression.n)
        invalid(r, at, rule.claim, "claim and expression can't both be set");
    else if (!rule.claim.n && !rule.expression.n)
        required(r, at, "claim or expression is required");
    else if (rule.claim.n && rule.message.n)
        invalid(r, path(r, at, "message"), rule.message, "may not be specified when claim is set");
    else if (rule.expression.n && rule.required.n)
        invalid(r, path(r, at, "requiredValue"), rule.required,
                "may not be specified when expression is set");
    else if (rule.expression.n)
        rule.program = compile(r, path(r, at, "expression"), rule.expression,
                               of_user ? &user_var : &claims_var, GIVES_BOOL);
    return rule;
}

static const struct authn_rule *read_rules(const struct config_reader *r, str at, const char *name,
                                           const struct json *list, size_t *n)
{
    struct authn_rule *all = arena_array(r->arena, struct authn_rule, json_len(list) + 1);
    bool of_user = strcmp(name, "userValidationRules") == 0;

    *n = 0;
    json_for_each (v, list) {
        str here = path_at(r, at, name, *n);
        struct authn_rule rule = read_rule(r, here, v, of_user);

        for (size_t i = 0; i < *n; i++) {
            if (rule.claim.n && str_eq(all[i].claim, rule.claim))
                duplicate(r, path(r, here, "claim"), rule.claim);
            if (rule.expression.n && str_eq(all[i].expression, rule.expression))
                duplicate(r, path(r, here, "expression"), rule.expression);
        }
        all[(*n)++] = rule;
    }
    return all;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether an expression says claims.NAME, claims.?NAME or claims["NAME"]. */
static bool uses(str text, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i + n <= text.n; i++) {
        char before = i ? text.p[i - 1] : ' ', behind = i + n < text.n ? text.p[i + n] : ' ';

        if (memcmp(text.p + i, name, n) == 0 && !is_word(before) && !is_word(behind) &&
            strchr(".?\"'` ", before))
            return true;
    }
    return false;
}

/* k8s: an unverified e-mail address must not become a user name */
static void check_email(const struct config_reader *r, str at, const struct authn_issuer *issuer)
{
    bool verified = uses(issuer->username.expression, "email_verified");

    if (!issuer->username.expression.n || !uses(issuer->username.expression, "email"))
        return;
    for (size_t i = 0; i < issuer->nextra; i++)
        verified = verified || uses(issuer->extra[i].expression, "email_verified");
    for (size_t i = 0; i < issuer->nrules; i++)
        verified = verified || uses(issuer->rules[i].expression, "email_verified");
    if (!verified)
        invalid(r, path(r, at, "claimMappings.username.expression"), issuer->username.expression,
                "claims.email_verified must be used in claimMappings.username.expression or "
                "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
                "claims.email is used in claimMappings.username.expression");
}

static void read_authenticator(const struct config_reader *r, str at, const struct json *v,
                               struct authn_issuer *out)
{
    const struct json *m = json_get(v, STR("claimMappings"));
    str in = path(r, at, "claimMappings");

    read_issuer(r, path(r, at, "issuer"), json_get(v, STR("issuer")), out);
    out->rules = read_rules(r, at, "claimValidationRules", json_get(v, STR("claimValidationRules")),
                            &out->nrules);
    out->username = read_mapping(r, path(r, in, "username"), json_get(m, STR("username")),
                                 GIVES_STRING, true, true);
    out->groups = read_mapping(r, path(r, in, "groups"), json_get(m, STR("groups")), GIVES_STRINGS,
                               true, false);
    out->uid =
        read_mapping(r, path(r, in, "uid"), json_get(m, STR("uid")), GIVES_STRING, false, false);
    read_extra(r, in, json_get(m, STR("extra")), out);
    out->user_rules = read_rules(r, at, "userValidationRules",
                                 json_get(v, STR("userValidationRules")), &out->nuser_rules);
    check_email(r, at, out);
}

/* ---- the document ---- */

static void read_issuers(const struct config_reader *r, const struct json *list,
                         struct authn_config *c)
{
    struct authn_issuer *all = arena_array(r->arena, struct authn_issuer, json_len(list) + 1);

    if (json_len(list) > AUTHN_ISSUERS_MAX) {
        status_cause(r->st, CAUSE_TOO_MANY, STR("jwt"), STR_NONE, "must have at most %d items",
                     AUTHN_ISSUERS_MAX);
        return;
    }
    json_for_each (v, list) {
        str at = str_printf(r->arena, "jwt[%zu]", c->nissuers);
        struct authn_issuer *one = &all[c->nissuers];

        read_authenticator(r, at, v, one);
        for (size_t i = 0; i < c->nissuers; i++) {
            if (one->url.n && str_eq(all[i].url, one->url))
                duplicate(r, path(r, at, "issuer.url"), one->url);
            if (one->discovery_url.n && str_eq(all[i].discovery_url, one->discovery_url))
                duplicate(r, path(r, at, "issuer.discoveryURL"), one->discovery_url);
        }
        c->nissuers++;
    }
    c->issuers = all;
}

static void read_anonymous(const struct config_reader *r, const struct json *v,
                           struct authn_config *c)
{
    const struct json *list = json_get(v, STR("conditions"));
    str *paths = arena_array(r->arena, str, json_len(list) + 1);

    c->anonymous = !v || json_bool(json_get(v, STR("enabled")));
    if (!c->anonymous && json_len(list))
        status_cause(r->st, CAUSE_INVALID, STR("anonymous.conditions"), json_text(r->arena, list),
                     "enabled should be set to true when conditions are defined");
    json_for_each (one, list)
        paths[c->nopen_paths++] = json_get_str(one, "path");
    c->open_paths = paths;
}

static int read_document(struct authn_config *c, str text, str own_issuer, struct status *st)
{
    struct config_reader r = { .arena = c->arena,
                               .st = st,
                               .own_issuer = str_z(c->arena, own_issuer) };
    const struct json *v;
    str version, kind;

    if (config_parse(c->arena, text, &v, st) < 0 ||
        config_decode(c->arena, table, "io.k8s.apiserver.config.v1.AuthenticationConfiguration", v,
                      &v, st) < 0)
        return -1;
    version = json_get_str(v, "apiVersion");
    kind = json_get_str(v, "kind");
    if (!str_is(kind, "AuthenticationConfiguration") ||
        (!str_is(version, GROUP "/v1") && !str_is(version, GROUP "/v1beta1")))
        return status_set(st, REASON_BAD_REQUEST,
                          "no kind \"%.*s\" is registered for version \"%.*s\"", STR_ARG(kind),
                          STR_ARG(version));
    read_issuers(&r, json_get(v, STR("jwt")), c);
    read_anonymous(&r, json_get(v, STR("anonymous")), c);
    return status_invalid(st, STR(GROUP), kind, STR_NONE);
}

struct authn_config *authn_config_read(str text, str own_issuer, struct status *st)
{
    struct authn_config *c = mem_zalloc(sizeof(*c));

    c->arena = arena_new();
    if (read_document(c, text, own_issuer, st) == 0)
        return c;
    authn_config_free(c);
    return NULL;
}

void authn_config_free(void *config)
{
    struct authn_config *c = config;

    if (!c)
        return;
    arena_free(c->arena);
    free(c);
}

bool authn_config_open(const struct authn_config *c, str asked)
{
    if (!c->anonymous)
        return false;
    for (size_t i = 0; i < c->nopen_paths; i++)
        if (str_eq(c->open_paths[i], asked))
            return true;
    return c->nopen_paths == 0;
}
