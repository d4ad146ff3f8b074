/* SPDX-License-Identifier: Apache-2.0 */

/* POST serviceaccounts/NAME/token.  k8s: registry/core/serviceaccount/storage/token.go */

#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "apiserver/auth/review.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/shape.h"
#include "base/banned.h"
#include "base/uuid.h"
#include "rest/lookup.h"

enum { DEFAULT_S = 3600, MIN_S = 600 };
static const int64_t MAX_S = (int64_t)1 << 32;

#define GROUP "authentication.k8s.io"

/* What a token may be bound to. */
static const struct bindable {
    const char *kind, *resource, *claim;
} bindables[] = {
    { "Pod", "pods", "pod" },
    { "Secret", "secrets", "secret" },
    { "Node", "nodes", "node" },
};

struct request {
    struct call *call;
    struct arena *arena;
    const struct json *body, *account;
    const struct bindable *bound; /* or NULL */
    const struct json *object;    /* that it is bound to */
    int64_t now_s, seconds;
};

static str meta_of(const struct json *obj, const char *field)
{
    return json_str(json_get(json_get(obj, STR("metadata")), str_of(field)));
}

static int read_body(struct request *r, struct status *st)
{
    struct rest_request *req = &r->call->rest;
    struct rest_body_type type = shape_of_special(req);

    return rest_read_body(req, &type, &r->body, st);
}

static void check_same(const char *field, const char *what, str got, str want, struct status *st)
{
    if (got.n && !str_eq(got, want))
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "metadata.%s", field),
                     json_text(st->arena, json_box(st->arena, json_of_str(got))),
                     "must match the service account %s if specified", what);
}

static int check_meta(const struct request *r, struct status *st)
{
    const struct rest_request *req = &r->call->rest;

    check_same("name", "name", meta_of(r->body, "name"), req->name, st);
    if (!st->ncauses)
        check_same("namespace", "namespace", meta_of(r->body, "namespace"), req->namespace_, st);
    return status_invalid(st, STR(GROUP), STR("TokenRequest"), req->name);
}

static int find_account(struct request *r, struct status *st)
{
    const struct rest_request *req = &r->call->rest;
    int found = lookup_get(req->rest, r->arena, &req->instance, req->kind, req->namespace_,
                           req->name, &r->account, st);

    if (found == 0)
        return status_not_found(st, STR_NONE, STR("serviceaccounts"), req->name);
    return found < 0 ? -1 : 0;
}

/* k8s: apis/authentication/validation */
static int check_duration(const struct request *r, struct status *st)
{
    str value = str_printf(r->arena, "%lld", (long long)r->seconds);

    if (r->seconds < MIN_S)
        status_cause(st, CAUSE_INVALID, STR("spec.expirationSeconds"), value,
                     "may not specify a duration less than 10 minutes");
    if (r->seconds > MAX_S)
        status_cause(st, CAUSE_INVALID, STR("spec.expirationSeconds"), value,
                     "may not specify a duration larger than 2^32 seconds");
    return status_invalid(st, STR(GROUP), STR("TokenRequest"), STR_NONE);
}

static const struct bindable *bindable_find(str api_version, str kind)
{
    for (size_t i = 0; i < sizeof(bindables) / sizeof(*bindables); i++)
        if (str_is(kind, bindables[i].kind) && str_is(api_version, "v1"))
            return &bindables[i];
    return NULL;
}

/* k8s: schema.GroupVersionKind.String */
static int unknown_type(struct request *r, str api_version, str kind, struct status *st)
{
    ptrdiff_t slash = str_find(api_version, '/', 0);
    str group = slash < 0 ? STR_NONE : str_sub(api_version, 0, (size_t)slash);
    str version = str_from(api_version, (size_t)(slash + 1));

    (void)r;
    return status_set(st, REASON_BAD_REQUEST,
                      "cannot bind token to object of type %.*s/%.*s, Kind=%.*s", STR_ARG(group),
                      STR_ARG(version), STR_ARG(kind));
}

static int find_bound(struct request *r, str name, struct status *st)
{
    const struct rest_request *req = &r->call->rest;
    const struct kind *k = catalog_find_kind(req->catalog, STR("v1"), str_of(r->bound->kind));
    int found = k && name.n
                    ? lookup_get(req->rest, r->arena, &req->instance, k,
                                 k->namespaced ? req->namespace_ : STR_NONE, name, &r->object, st)
                    : 0;

    if (found == 0)
        return status_not_found(st, STR_NONE, str_of(r->bound->resource), name);
    return found < 0 ? -1 : 0;
}

static int check_bound(struct request *r, struct status *st)
{
    const struct json *ref = json_path(r->body, "spec.boundObjectRef");
    str name = json_get_str(ref, "name"), uid = json_get_str(ref, "uid");

    if (!ref)
        return 0;
    r->bound = bindable_find(json_get_str(ref, "apiVersion"), json_get_str(ref, "kind"));
    if (!r->bound)
        return unknown_type(r, json_get_str(ref, "apiVersion"), json_get_str(ref, "kind"), st);
    if (find_bound(r, name, st) < 0)
        return -1;
    if (str_is(str_of(r->bound->claim), "pod") &&
        !str_eq(json_get_str(r->object, "spec.serviceAccountName"), r->call->rest.name))
        return status_set(st, REASON_BAD_REQUEST,
                          "cannot bind token for serviceaccount \"%.*s\" to pod running with "
                          "different serviceaccount name.",
                          STR_ARG(r->call->rest.name));
    if (uid.n && !str_eq(uid, meta_of(r->object, "uid")))
        return status_conflict(
            st, STR_NONE, str_of(r->bound->kind), name,
            "the UID in the bound object reference (%.*s) does not match the UID "
            "in record. The object might have been deleted and then recreated",
            STR_ARG(uid));
    return 0;
}

/* ---- the token ---- */

static struct json name_and_uid(struct arena *a, const struct json *obj)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(meta_of(obj, "name")));
    json_add(&o, STR("uid"), json_of_str(meta_of(obj, "uid")));
    return json_object_value(&o);
}

/* A pod's token tells its node, if that is there. */
static void add_node(const struct request *r, struct json_object *o)
{
    const struct rest_request *req = &r->call->rest;
    const struct kind *k = catalog_find_kind(req->catalog, STR("v1"), STR("Node"));
    str name = json_get_str(r->object, "spec.nodeName");
    const struct json *node;
    struct status st;

    status_init(&st, r->arena);
    if (str_is(str_of(r->bound->claim), "pod") && k && name.n &&
        lookup_get(req->rest, r->arena, &req->instance, k, STR_NONE, name, &node, &st) > 0)
        json_add(o, STR("node"), name_and_uid(r->arena, node));
}

static str new_uid(struct arena *a)
{
    char *uid = arena_alloc(a, UUID_SIZE);

    uuid_v4(uid);
    return (str){ uid, UUID_LEN };
}

static const struct json *claims(const struct request *r, str issuer)
{
    struct json_object o = json_object_new(r->arena), k8s = json_object_new(r->arena);
    struct json_object ours = json_object_new(r->arena);
    const struct rest_request *req = &r->call->rest;

    json_add(&k8s, STR("namespace"), json_of_str(req->namespace_));
    if (r->bound) {
        add_node(r, &k8s);
        json_add(&k8s, str_of(r->bound->claim), name_and_uid(r->arena, r->object));
    }
    json_add(&k8s, STR("serviceaccount"), name_and_uid(r->arena, r->account));
    json_add(&ours, STR("instance"), json_of_str(req->instance.uid));
    json_add(&o, STR("aud"), *json_path(r->body, "spec.audiences"));
    json_add(&o, STR("exp"), json_of_int(r->now_s + r->seconds));
    json_add(&o, STR("iat"), json_of_int(r->now_s));
    json_add(&o, STR("iss"), json_of_str(issuer));
    json_add(&o, STR("jti"), json_of_str(new_uid(r->arena)));
    json_add(&o, STR(AUTHN_TOKEN_INSTANCE), json_object_value(&ours));
    json_add(&o, STR(AUTHN_TOKEN_PRIVATE), json_object_value(&k8s));
    json_add(&o, STR("nbf"), json_of_int(r->now_s));
    json_add(&o, STR("sub"),
             json_of_str(str_printf(r->arena, "system:serviceaccount:%.*s:%.*s",
                                    STR_ARG(req->namespace_), STR_ARG(req->name))));
    return json_object_done(&o);
}

static struct json time_value(struct arena *a, int64_t at_s)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);

    return json_of_str((str){ text, time_format_seconds(text, at_s) });
}

static struct json status_value(const struct request *r, secret token)
{
    struct json_object o = json_object_new(r->arena);

    json_add(&o, STR("token"), json_of_str(secret_reveal(token)));
    json_add(&o, STR("expirationTimestamp"), time_value(r->arena, r->now_s + r->seconds));
    return json_object_value(&o);
}

/* The request with what was not said: audiences, duration, name. */
static void complete(struct request *r, str issuer)
{
    struct arena *a = r->arena;
    const struct rest_request *req = &r->call->rest;
    const struct json *seconds = json_path(r->body, "spec.expirationSeconds");
    struct json_array audiences = json_array_new(a);

    r->seconds = json_int(seconds, DEFAULT_S);
    json_push(&audiences, json_of_str(issuer));
    if (json_len(json_path(r->body, "spec.audiences")) == 0)
        r->body = json_set(a, r->body, "spec.audiences", json_array_done(&audiences));
    r->body = json_set(a, r->body, "spec.expirationSeconds", json_box(a, json_of_int(r->seconds)));
    r->body = json_set(a, r->body, "metadata.uid", json_box(a, json_of_str(new_uid(a))));
    r->body = json_set(a, r->body, "metadata.name", json_box(a, json_of_str(req->name)));
    r->body = json_set(a, r->body, "metadata.namespace", json_box(a, json_of_str(req->namespace_)));
    r->body =
        json_set(a, r->body, "metadata.creationTimestamp", json_box(a, time_value(a, r->now_s)));
}

static int make(struct request *r, const struct json **out, struct status *st)
{
    struct server *s = r->call->server;
    str issuer = authn_token_issuer(s->tokens, r->arena, &r->call->rest.instance);
    struct json_object o;
    secret token;

    if (read_body(r, st) < 0 || check_meta(r, st) < 0 || find_account(r, st) < 0)
        return -1;
    complete(r, issuer);
    if (check_duration(r, st) < 0 || check_bound(r, st) < 0 ||
        jwt_make(r->arena, s->keys, claims(r, issuer), &token, st) < 0)
        return -1;
    if (secret_reveal(token).n > JWT_MAX)
        return status_set(st, REASON_BAD_REQUEST, "the token would be longer than %d bytes",
                          JWT_MAX);
    if (!r->bound)
        r->body = json_set(r->arena, r->body, "spec.boundObjectRef", &json_null);
    o = json_object_new(r->arena);
    json_add(&o, STR("kind"), json_of_str(STR("TokenRequest")));
    json_add(&o, STR("apiVersion"), json_of_str(STR(GROUP "/v1")));
    json_add(&o, STR("metadata"), *json_get(r->body, STR("metadata")));
    json_add(&o, STR("spec"), *json_get(r->body, STR("spec")));
    json_add(&o, STR("status"), status_value(r, token));
    *out = json_object_done(&o);
    return 0;
}

void token_request(struct call *c)
{
    struct request r = { .call = c, .arena = c->arena, .now_s = clock_wall_s(c->server->clock) };
    struct status *st = call_status(c);
    const struct json *answer = NULL;

    if (make(&r, &answer, st) < 0)
        call_fail(c, st);
    else
        call_answer_json(c, 201, answer);
}
