/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_claims.h"

#include <stdarg.h>

#include "apiserver/call/userinfo.h"
#include "base/banned.h"

#define RESERVED "system:"

static int refuse(struct status *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct status *st, const char *fmt, ...)
{
    va_list args;
    char *why;

    va_start(args, fmt);
    why = arena_vprintf(st->arena, fmt, args);
    va_end(args);
    return status_set(st, REASON_UNAUTHORIZED, "oidc: %s", why);
}

/* ---- is it for us, and now? ---- */

/* NumericDate: seconds, which may have a fraction. */
static bool read_time(const struct json *claims, str name, int64_t *out)
{
    const struct json *v = json_get(claims, name);

    if (json_is(v, JSON_INT))
        *out = v->i;
    else if (json_is(v, JSON_FLOAT) && v->f > -9e15 && v->f < 9e15)
        *out = (int64_t)v->f;
    else
        return false;
    return true;
}

static int check_times(const struct json *claims, int64_t now_s, int64_t *expires,
                       struct status *st)
{
    static const str starts[] = { STR_INIT("nbf"), STR_INIT("iat") };

    if (!read_time(claims, STR("exp"), expires))
        return refuse(st, "verify token: the token has no exp claim");
    if (*expires <= now_s)
        return refuse(st, "verify token: oidc: token is expired");
    for (size_t i = 0; i < 2; i++) {
        int64_t from = now_s;

        if (json_get(claims, starts[i]) && !read_time(claims, starts[i], &from))
            return refuse(st, "parse %.*s claim: it is no time", STR_ARG(starts[i]));
        if (from > now_s + CLAIMS_LEEWAY_S)
            return refuse(st, "verify token: current time is before the %.*s time",
                          STR_ARG(starts[i]));
    }
    return 0;
}

static bool is_audience(const struct authn_issuer *issuer, const struct json *v)
{
    for (size_t i = 0; i < issuer->naudiences; i++)
        if (json_is(v, JSON_STRING) && str_eq(json_str(v), issuer->audiences[i]))
            return true;
    return false;
}

/* One, or a list of which one is ours. */
static int check_audience(const struct authn_issuer *issuer, const struct json *claims,
                          struct status *st)
{
    const struct json *aud = json_get(claims, STR("aud"));
    bool ours = is_audience(issuer, aud);

    json_for_each (v, aud)
        ours = ours || is_audience(issuer, v);
    return ours ? 0 : refuse(st, "verify token: the token is for another audience");
}

/* ---- values ---- */

struct values {
    str *p;
    size_t n;
};

struct mapper {
    struct arena *arena;
    const struct json *claims;
    struct status *st;
};

static struct cel_value run(const struct mapper *m, const struct cel_program *program,
                            const struct json *over)
{
    struct cel_run r = { .arena = m->arena, .limit = AUTHN_COST_MAX };
    struct cel_value var = cel_of_json(&r, over, NULL);

    return cel_eval(program, &var, &r);
}

static int fail_expression(const struct mapper *m, const char *of, str text,
                           const struct cel_value *v, const char *wanted)
{
    if (v->kind == CEL_ERROR)
        return refuse(m->st,
                      "error evaluating %s expression: expression '%.*s' resulted in error: "
                      "%.*s",
                      of, STR_ARG(text), STR_ARG(v->s));
    return refuse(m->st, "error evaluating %s expression: %s expression must return %s", of, of,
                  wanted);
}

static int one_string(const struct mapper *m, const struct authn_mapping *by, const char *of,
                      str *out)
{
    const struct json *claim;
    struct cel_value v;

    if (by->program) {
        v = run(m, by->program, m->claims);
        if (v.kind != CEL_STRING)
            return fail_expression(m, of, by->expression, &v, "a string");
        *out = v.s;
        return 0;
    }
    claim = json_get(m->claims, by->claim);
    if (!claim)
        return refuse(m->st, "parse %s claims \"%.*s\": claim not present", of, STR_ARG(by->claim));
    if (!json_is(claim, JSON_STRING))
        return refuse(m->st, "parse %s claims \"%.*s\": it is no string", of, STR_ARG(by->claim));
    *out = json_str(claim);
    return 0;
}

static bool add_value(const struct mapper *m, struct values *to, str s)
{
    if (to->n == CLAIMS_GROUPS_MAX)
        return false;
    if (!to->p)
        to->p = arena_array(m->arena, str, CLAIMS_GROUPS_MAX);
    to->p[to->n++] = s;
    return true;
}

/* k8s: convertCELValueToStringList: a string that is empty and null are nothing */
static bool strings_of_cel(const struct mapper *m, const struct cel_value *v, struct values *out)
{
    struct cel_run r = { .arena = m->arena, .limit = AUTHN_COST_MAX };

    if (v->kind == CEL_NULL || (v->kind == CEL_STRING && !v->s.n))
        return true;
    if (v->kind == CEL_STRING)
        return add_value(m, out, v->s);
    if (v->kind != CEL_LIST)
        return false;
    for (uint32_t i = 0; i < v->n; i++) {
        struct cel_value item = v->json ? cel_of_json(&r, &v->items[i], NULL) : v->values[i];

        if (item.kind != CEL_STRING || !add_value(m, out, item.s))
            return false;
    }
    return true;
}

static bool strings_of_json(const struct mapper *m, const struct json *v, struct values *out)
{
    if (json_is(v, JSON_STRING))
        return add_value(m, out, json_str(v));
    if (!json_is(v, JSON_ARRAY) && !json_is(v, JSON_NULL))
        return false;
    json_for_each (one, v)
        if (!json_is(one, JSON_STRING) || !add_value(m, out, json_str(one)))
            return false;
    return true;
}

static str prefixed(const struct mapper *m, str prefix, str s)
{
    return prefix.n ? str_printf(m->arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(s)) : s;
}

/* ---- who it is ---- */

static int map_user(const struct mapper *m, const struct authn_issuer *issuer, struct identity *who)
{
    const struct json *verified = json_get(m->claims, STR("email_verified"));

    if (one_string(m, &issuer->username, "username", &who->user) < 0)
        return -1;
    if (str_is(issuer->username.claim, "email") && verified && !json_is(verified, JSON_BOOL))
        return refuse(m->st, "parse 'email_verified' claim: it is no bool");
    if (str_is(issuer->username.claim, "email") && verified && !json_bool(verified))
        return refuse(m->st, "email not verified");
    who->user = prefixed(m, issuer->username.prefix, who->user);
    if (!who->user.n)
        return refuse(m->st, "the username is empty");
    if (issuer->uid.claim.n || issuer->uid.program)
        return one_string(m, &issuer->uid, "uid", &who->uid);
    return 0;
}

static int map_groups(const struct mapper *m, const struct authn_issuer *issuer,
                      struct identity *who)
{
    const struct authn_mapping *by = &issuer->groups;
    const struct json *claim = by->claim.n ? json_get(m->claims, by->claim) : NULL;
    struct values found = { 0 };
    str *groups;

    if (by->program) {
        struct cel_value v = run(m, by->program, m->claims);

        if (!strings_of_cel(m, &v, &found))
            return fail_expression(m, "group claim", by->expression, &v,
                                   "a string or a list of strings");
    } else if (claim && !strings_of_json(m, claim, &found)) {
        return refuse(m->st, "parse groups claim \"%.*s\": it is no list of strings",
                      STR_ARG(by->claim));
    }
    groups = arena_array(m->arena, str, found.n + 1);
    for (size_t i = 0; i < found.n; i++)
        groups[i] = prefixed(m, by->prefix, found.p[i]);
    who->groups = groups;
    who->ngroups = found.n;
    return 0;
}

static int map_extra(const struct mapper *m, const struct authn_issuer *issuer,
                     struct identity *who)
{
    struct identity_extra *all = arena_array(m->arena, struct identity_extra, issuer->nextra + 1);

    who->extra = all;
    for (size_t i = 0; i < issuer->nextra; i++) {
        const struct authn_extra *x = &issuer->extra[i];
        struct cel_value v = run(m, x->program, m->claims);
        struct values found = { 0 };

        if (!strings_of_cel(m, &v, &found))
            return fail_expression(m, "extra claim", x->expression, &v,
                                   "a string or a list of strings");
        if (found.n)
            all[who->nextra++] = (struct identity_extra){ x->key, found.p, found.n };
    }
    return 0;
}

/* k8s: authentication.kubernetes.io/credential-id, for audits */
static void add_credential(const struct mapper *m, struct identity *who)
{
    struct identity_extra *all = arena_array(m->arena, struct identity_extra, who->nextra + 1);
    str jti = json_get_str(m->claims, "jti"), *value = arena_new_of(m->arena, str);

    if (!jti.n)
        return;
    if (who->nextra)
        memcpy(all, who->extra, who->nextra * sizeof(*all));
    *value = str_printf(m->arena, "JTI=%.*s", STR_ARG(jti));
    all[who->nextra++] =
        (struct identity_extra){ STR("authentication.kubernetes.io/credential-id"), value, 1 };
    who->extra = all;
}

/* ---- rules ---- */

static int check_claim(const struct mapper *m, const struct authn_rule *rule)
{
    const struct json *v = json_get(m->claims, rule->claim);

    if (!v)
        return refuse(m->st, "required claim %.*s not present in ID token", STR_ARG(rule->claim));
    if (!json_is(v, JSON_STRING))
        return refuse(m->st, "parse claim %.*s: it is no string", STR_ARG(rule->claim));
    if (!str_eq(json_str(v), rule->required))
        return refuse(m->st, "required claim %.*s value does not match", STR_ARG(rule->claim));
    return 0;
}

static int check_rules(const struct mapper *m, const struct authn_rule *rules, size_t n,
                       const struct json *over, const char *of)
{
    for (size_t i = 0; i < n; i++) {
        const struct authn_rule *rule = &rules[i];
        struct cel_value v;

        if (!rule->program) {
            if (check_claim(m, rule) < 0)
                return -1;
            continue;
        }
        v = run(m, rule->program, over);
        if (v.kind != CEL_BOOL)
            return fail_expression(m, of, rule->expression, &v, "a bool");
        if (!v.b)
            return refuse(m->st, "error evaluating %s: validation expression '%.*s' failed%s%.*s",
                          of, STR_ARG(rule->expression), rule->message.n ? ": " : "",
                          STR_ARG(rule->message));
    }
    return 0;
}

/* With every field, so that an expression may say user.groups of who has none. */
static const struct json *user_json(const struct mapper *m, const struct identity *who)
{
    struct json_object o = json_object_from(m->arena, userinfo_json(m->arena, who));

    if (!who->ngroups)
        json_put(&o, STR("groups"), json_empty_array);
    if (!who->uid.n)
        json_put(&o, STR("uid"), json_of_str(STR("")));
    if (!who->nextra)
        json_put(&o, STR("extra"), json_empty_object);
    return json_object_done(&o);
}

int authn_names_check(const struct identity *who, struct status *st)
{
    if (str_starts(who->user, STR(RESERVED)))
        return status_set(st, REASON_UNAUTHORIZED,
                          "the username begins with " RESERVED ", which nobody else may give");
    for (size_t i = 0; i < who->ngroups; i++)
        if (str_starts(who->groups[i], STR(RESERVED)))
            return status_set(st, REASON_UNAUTHORIZED,
                              "a group begins with " RESERVED ", which nobody else may give");
    return 0;
}

/* k8s: group/authenticated_group_adder.go */
static void add_authenticated(const struct mapper *m, struct identity *who)
{
    str *groups = arena_array(m->arena, str, who->ngroups + 1);

    if (who->ngroups)
        memcpy(groups, who->groups, who->ngroups * sizeof(*groups));
    groups[who->ngroups++] = STR("system:authenticated");
    who->groups = groups;
}

int authn_claims_map(struct arena *a, const struct authn_issuer *issuer, const struct json *claims,
                     int64_t now_s, struct identity *who, int64_t *expires, struct status *st)
{
    struct mapper m = { .arena = a, .claims = claims, .st = st };

    *who = (struct identity){ 0 };
    if (!str_eq(json_get_str(claims, "iss"), issuer->url))
        return refuse(st, "verify token: the token was issued by another");
    if (check_audience(issuer, claims, st) < 0 || check_times(claims, now_s, expires, st) < 0 ||
        map_user(&m, issuer, who) < 0 || map_groups(&m, issuer, who) < 0 ||
        map_extra(&m, issuer, who) < 0 ||
        check_rules(&m, issuer->rules, issuer->nrules, claims, "claim validation expression") < 0)
        return -1;
    add_credential(&m, who);
    if (check_rules(&m, issuer->user_rules, issuer->nuser_rules, user_json(&m, who),
                    "user info validation rule") < 0 ||
        authn_names_check(who, st) < 0)
        return -1;
    add_authenticated(&m, who);
    return 0;
}
