/* SPDX-License-Identifier: Apache-2.0 */

/* k8s: pkg/routes/openidmetadata.go, pkg/serviceaccount/openidmetadata.go */

#include "apiserver/auth/openid.h"

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/keys.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

#define JWKS_PATH "/openid/v1/jwks"

static struct json one(struct arena *a, str item)
{
    struct json_array r = json_array_new(a);

    json_push(&r, json_of_str(item));
    return json_array_value(&r);
}

static int configuration(struct call *c, str *out, struct status *st)
{
    struct arena *a = c->arena;
    struct json_object o = json_object_new(a);
    str issuer = authn_token_issuer(c->server->tokens, a, &c->rest.instance);
    const struct sign_key *signer = keys_peek_signer(c->server->keys);

    if (!signer)
        return status_set(st, REASON_INTERNAL, "there is no key to sign tokens with");
    json_add(&o, STR("issuer"), json_of_str(issuer));
    json_add(&o, STR("jwks_uri"), json_of_str(str_printf(a, "%.*s" JWKS_PATH, STR_ARG(issuer))));
    json_add(&o, STR("response_types_supported"), one(a, STR("id_token")));
    json_add(&o, STR("subject_types_supported"), one(a, STR("public")));
    json_add(&o, STR("id_token_signing_alg_values_supported"),
             one(a, str_of(sign_key_alg(signer))));
    *out = json_text(a, json_object_done(&o));
    return 0;
}

static int jwks(struct call *c, str *out, struct status *st)
{
    return keys_jwks(c->server->keys, c->arena, out, st);
}

static const struct {
    const char *path, *type;
    int (*make)(struct call *c, str *out, struct status *st);
} documents[] = {
    { "/.well-known/openid-configuration", "application/json", configuration },
    { JWKS_PATH, "application/jwk-set+json", jwks },
};

/* k8s: go-restful compares the names, and knows the two wildcards */
static bool accepts(str accept, const char *type)
{
    str part;

    if (accept.n == 0)
        return true;
    for (str rest = accept; str_split(&rest, ',', &part);) {
        str name;

        (void)str_split(&part, ';', &name);
        name = str_trim(name);
        if (str_is(name, type) || str_is(name, "*/*") || str_is(name, "application/*"))
            return true;
    }
    return false;
}

static void answer(struct call *c, size_t i)
{
    struct status *st = call_status(c);
    str *piece = arena_array(c->arena, str, 1);

    if (!accepts(call_header(c, "accept"), documents[i].type)) {
        call_answer_text(c, 406, STR("406: Not Acceptable"));
        return;
    }
    if (documents[i].make(c, piece, st) < 0) {
        call_fail(c, st);
        return;
    }
    call_header_add(c, STR("cache-control"), STR("public, max-age=3600"));
    call_answer(c, 200, str_of(documents[i].type), piece, 1);
}

bool openid_serve(struct call *c)
{
    /* Over all instances there is no issuer. */
    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        if (c->rest.instance.id == STORE_ALL || !str_is(c->info.path, documents[i].path))
            continue;
        answer(c, i);
        return true;
    }
    return false;
}
