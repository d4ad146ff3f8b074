/* SPDX-License-Identifier: Apache-2.0 */

/* Whose token is this?  k8s: registry/authentication/tokenreview */

#include "apiserver/auth/authn_external.h"
#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/review.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/userinfo.h"
#include "base/banned.h"

enum { AUDIENCES_MAX = 64 };

static struct json strings(struct arena *a, const str *items, size_t n)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(items[i]));
    return json_array_value(&r);
}

static struct json good(struct arena *a, const struct authn_token_answer *answer)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("authenticated"), json_true);
    json_add(&o, STR("user"), *userinfo_json(a, &answer->who));
    json_add(&o, STR("audiences"), strings(a, answer->audiences, answer->naudiences));
    return json_object_value(&o);
}

static struct json bad(struct arena *a, str why)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("user"), json_empty_object);
    json_add(&o, STR("error"), json_of_str(why));
    return json_object_value(&o);
}

static int read_audiences(struct call *c, const struct json *spec, str *out, size_t *n,
                          struct status *st)
{
    const struct json *asked = json_get(spec, STR("audiences"));

    if (json_len(asked) > AUDIENCES_MAX)
        return status_set(st, REASON_BAD_REQUEST, "at most %d audiences can be asked for",
                          AUDIENCES_MAX);
    *n = 0;
    json_for_each (v, asked)
        out[(*n)++] = json_str(v);
    if (*n == 0)
        out[(*n)++] = authn_token_issuer(c->server->tokens, c->arena, &c->rest.instance);
    return 0;
}

struct review {                     /* of a token that this server did not issue */
    struct authn_external external; /* first */
    const struct json *body;
    str why; /* why it is not one of this server's tokens */
};

static void answer(struct call *c, const struct json *body, struct json status)
{
    struct json_object o = json_object_new(c->arena);

    json_add(&o, STR("kind"), json_of_str(c->rest.kind->kind));
    json_add(&o, STR("apiVersion"), json_of_str(c->rest.kind->api_version));
    json_add(&o, STR("metadata"), *json_get(body, STR("metadata")));
    json_add(&o, STR("spec"), *json_get(body, STR("spec")));
    json_add(&o, STR("status"), status);
    call_answer_json(c, 201, json_object_done(&o));
}

/* k8s: WrapAudienceAgnosticToken: what an issuer elsewhere vouches for is for the API alone */
static void external_known(struct authn_external *x)
{
    struct call *c = x->call;
    str api = authn_token_issuer(c->server->tokens, c->arena, &c->rest.instance);
    struct authn_token_answer got = { .who = x->who, .audiences = &api, .naudiences = 1 };
    struct review *r = (struct review *)(void *)x;

    if (x->why.n)
        r->why = str_printf(c->arena, "[invalid bearer token, %.*s]", STR_ARG(x->why));
    answer(c, r->body, x->good ? good(c->arena, &got) : bad(c->arena, r->why));
}

static bool asks_for_api(struct call *c, const str *audiences, size_t n)
{
    str api = authn_token_issuer(c->server->tokens, c->arena, &c->rest.instance);

    for (size_t i = 0; i < n; i++)
        if (str_eq(audiences[i], api))
            return true;
    return false;
}

/* Answers, now or later, unless it fails. */
static int review(struct call *c, const struct json *body, struct status *st)
{
    const struct json *spec = json_get(body, STR("spec"));
    secret token = secret_of(json_get_str(spec, "token"));
    str *audiences = arena_array(c->arena, str, AUDIENCES_MAX);
    struct authn_token_answer got;
    struct review *r;
    size_t n = 0;

    arena_wipe(c->arena);
    if (secret_empty(token))
        return status_set(st, REASON_BAD_REQUEST,
                          "token is required for TokenReview in authentication");
    if (read_audiences(c, spec, audiences, &n, st) < 0)
        return -1;
    if (authn_token_check(c->server->tokens, c->arena, &c->rest.instance, token, audiences, n, &got,
                          st) == 0) {
        answer(c, body, good(c->arena, &got));
        return 0;
    }
    if (!status_is(st, REASON_UNAUTHORIZED))
        return -1;
    r = arena_new_of(c->arena, struct review);
    *r = (struct review){ .external = { .call = c, .token = token, .done = external_known },
                          .body = body,
                          .why = st->message };
    if (!asks_for_api(c, audiences, n) || authn_external_check(&r->external))
        external_known(&r->external);
    return 0;
}

void token_review(struct call *c)
{
    struct rest_body_type type = { .schema = c->rest.kind->schema,
                                   .kind = c->rest.kind->kind,
                                   .api_version = c->rest.kind->api_version };
    struct status *st = call_status(c);
    const struct json *body;

    if (rest_read_body(&c->rest, &type, &body, st) < 0 || review(c, body, st) < 0)
        call_fail(c, st);
}
