/* SPDX-License-Identifier: Apache-2.0 */

/* Whose token is this?  k8s: registry/authentication/tokenreview */

#include "base/banned.h"
#include "server/authn_token.h"
#include "server/internal.h"
#include "server/special.h"

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
    json_add(&o, STR("user"), *identity_json(a, &answer->who));
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

static int review(struct call *c, const struct json *body, struct json *out, struct status *st)
{
    const struct json *spec = json_get(body, STR("spec"));
    str token = json_get_str(spec, "token"), *audiences = arena_array(c->arena, str, AUDIENCES_MAX);
    struct authn_token_answer answer;
    size_t n = 0;

    if (token.n == 0)
        return status_set(st, REASON_BAD_REQUEST,
                          "token is required for TokenReview in authentication");
    if (read_audiences(c, spec, audiences, &n, st) < 0)
        return -1;
    if (authn_token_check(c->server->tokens, c->arena, &c->rest.instance, secret_of(token),
                          audiences, n, &answer, st) == 0)
        *out = good(c->arena, &answer);
    else if (status_is(st, REASON_UNAUTHORIZED))
        *out = bad(c->arena, st->message);
    else
        return -1;
    return 0;
}

void token_review(struct call *c)
{
    const struct kind *k = c->rest.kind;
    struct rest_body_type type = { .schema = k->schema,
                                   .kind = k->kind,
                                   .api_version = k->api_version };
    struct status *st = call_status(c);
    struct json_object o = json_object_new(c->arena);
    const struct json *body;
    struct json answer = json_null;

    if (rest_read_body(&c->rest, &type, &body, st) < 0 || review(c, body, &answer, st) < 0) {
        call_fail(c, st);
        return;
    }
    json_add(&o, STR("kind"), json_of_str(k->kind));
    json_add(&o, STR("apiVersion"), json_of_str(k->api_version));
    json_add(&o, STR("metadata"), *json_get(body, STR("metadata")));
    json_add(&o, STR("spec"), *json_get(body, STR("spec")));
    json_add(&o, STR("status"), answer);
    call_answer_json(c, 201, json_object_done(&o));
}
