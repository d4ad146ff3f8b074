/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/authn_flags.h"

#include <string.h>

#include "base/banned.h"
#include "base/log.h"
#include "cmd/text_file.h"
#include "http/verify.h"
#include "json/json.h"

/* ---- flags as a configuration; k8s: pkg/kubeapiserver/options/authentication.go ---- */

static int read_algs(const struct authn_flags *f, unsigned *out, struct status *st)
{
    for (str rest = str_of(f->signing_algs), name; str_split(&rest, ',', &name);) {
        unsigned bit = verify_alg(str_trim(name));

        if (!bit)
            return status_set(st, REASON_BAD_REQUEST,
                              "--oidc-signing-algs: there is no algorithm \"%.*s\"", STR_ARG(name));
        *out |= bit;
    }
    return 0;
}

static struct json mapping(struct arena *a, const char *claim, str prefix)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("claim"), json_of_str(str_of(claim)));
    json_add(&o, STR("prefix"), json_of_str(prefix));
    return json_object_value(&o);
}

static str username_prefix(const struct authn_flags *f, struct arena *a)
{
    str said = str_of(f->username_prefix);

    if (str_is(said, "-"))
        return STR("");
    if (!said.n && strcmp(f->username_claim, "email") != 0)
        return str_printf(a, "%s#", f->issuer);
    return said;
}

static int add_rules(const struct authn_flags *f, struct json_object *o, struct status *st)
{
    struct json_array rules = json_array_new(o->arena);

    for (size_t i = 0; i < f->required_claims.n; i++) {
        struct json_object rule = json_object_new(o->arena);
        str text = str_of(f->required_claims.items[i]);
        ptrdiff_t equals = str_find(text, '=', 0);

        if (equals <= 0)
            return status_set(st, REASON_BAD_REQUEST,
                              "--oidc-required-claim: \"%.*s\" is not CLAIM=VALUE", STR_ARG(text));
        json_add(&rule, STR("claim"), json_of_str(str_sub(text, 0, (size_t)equals)));
        json_add(&rule, STR("requiredValue"), json_of_str(str_from(text, (size_t)equals + 1)));
        json_push(&rules, json_object_value(&rule));
    }
    json_add(o, STR("claimValidationRules"), json_array_value(&rules));
    return 0;
}

static int one_issuer(const struct authn_flags *f, struct arena *a, str *out, struct status *st)
{
    struct json_object o = json_object_new(a), jwt = json_object_new(a), issuer = jwt, claims = jwt;
    struct json_array audiences = json_array_new(a), all = json_array_new(a);
    str ca = STR_NONE;

    if (f->ca_file && text_file_read(a, f->ca_file, &ca, st) < 0)
        return -1;
    json_push(&audiences, json_of_str(str_of(f->client_id)));
    json_add(&issuer, STR("url"), json_of_str(str_of(f->issuer)));
    json_add(&issuer, STR("audiences"), json_array_value(&audiences));
    json_add(&issuer, STR("certificateAuthority"), json_of_str(ca));
    json_add(&claims, STR("username"), mapping(a, f->username_claim, username_prefix(f, a)));
    if (f->groups_claim)
        json_add(&claims, STR("groups"), mapping(a, f->groups_claim, str_of(f->groups_prefix)));
    json_add(&jwt, STR("issuer"), json_object_value(&issuer));
    json_add(&jwt, STR("claimMappings"), json_object_value(&claims));
    if (add_rules(f, &jwt, st) < 0)
        return -1;
    json_push(&all, json_object_value(&jwt));
    json_add(&o, STR("apiVersion"), json_of_str(STR("apiserver.config.k8s.io/v1")));
    json_add(&o, STR("kind"), json_of_str(STR("AuthenticationConfiguration")));
    json_add(&o, STR("jwt"), json_array_value(&all));
    *out = json_text(a, json_object_done(&o));
    return 0;
}

/* ---- the file ---- */

/* Before it is read, so that a change while we read is seen the next time. */
static bool remember(struct authn_flags *f)
{
    struct stat now;
    bool changed;

    if (stat(f->config_file, &now) < 0)
        memset(&now, 0, sizeof(now));
    changed = now.st_ino != f->seen.st_ino || now.st_size != f->seen.st_size ||
              now.st_mtim.tv_sec != f->seen.st_mtim.tv_sec ||
              now.st_mtim.tv_nsec != f->seen.st_mtim.tv_nsec;
    f->seen = now;
    return changed;
}

int authn_flags_open(struct authn_flags *f, struct arena *a, struct server_options *o,
                     struct status *st)
{
    o->token_webhook = f->tokens.file ? &f->tokens.source : NULL;
    o->access_webhook = f->rights.file ? &f->rights.source : NULL;
    if (!f->issuer != !f->client_id)
        return status_set(st, REASON_BAD_REQUEST,
                          "--oidc-issuer-url and --oidc-client-id go together");
    if (f->config_file && f->issuer)
        return status_set(st, REASON_BAD_REQUEST,
                          "--authentication-config and --oidc-issuer-url say the same: give one");
    if (f->config_file) {
        (void)remember(f);
        return text_file_read(a, f->config_file, &o->authentication, st);
    }
    if (!f->issuer)
        return 0;
    if (read_algs(f, &o->oidc_algs, st) < 0)
        return -1;
    return one_issuer(f, a, &o->authentication, st);
}

void authn_flags_refresh(struct authn_flags *f, struct server *s, bool forced)
{
    scoped_arena a = NULL;
    struct status st;
    str text;

    if (!f->config_file || (!remember(f) && !forced))
        return;
    a = arena_new();
    status_init(&st, a);
    if (text_file_read(a, f->config_file, &text, &st) < 0 ||
        server_reload_authentication(s, text, &st) < 0)
        log_error("the authentication configuration stays as it was", log_str("why", st.message));
    else
        log_info("the authentication configuration is loaded");
}
