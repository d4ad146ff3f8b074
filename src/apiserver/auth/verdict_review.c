/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/verdict_review.h"

#include "apiserver/auth/authn_claims.h"
#include "base/banned.h"

#define AUTHN          "authentication.k8s.io/v1"
#define AUTHZ          "authorization.k8s.io/v1"
#define AUTHENTICATED  "system:authenticated"
#define INSTANCE_EXTRA "kairship.io/instance"

enum { WORDS_MAX = 1024 }; /* bytes of a reason that are kept */

/* ---- both ---- */

static str question(struct arena *a, const char *version, const char *kind,
                    struct json_object *spec)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("kind"), json_of_str(str_of(kind)));
    json_add(&o, STR("apiVersion"), json_of_str(str_of(version)));
    json_add(&o, STR("metadata"), json_empty_object);
    json_add(&o, STR("spec"), json_object_value(spec));
    return json_text(a, json_object_done(&o));
}

static const struct json *read_status(struct arena *a, str text, const char *version,
                                      const char *kind, struct status *st)
{
    const struct json *review, *status;

    if (json_parse(a, text, NULL, &review, st) < 0) {
        (void)status_set(st, REASON_UNAVAILABLE, "the webhook's answer is not JSON");
        return NULL;
    }
    status = json_get(review, STR("status"));
    if (str_is(json_get_str(review, "apiVersion"), version) &&
        str_is(json_get_str(review, "kind"), kind) && json_is(status, JSON_OBJECT))
        return status;
    (void)status_set(st, REASON_UNAVAILABLE, "the webhook's answer is no %s of %s with a status",
                     kind, version);
    return NULL;
}

/* A field that is not what it should be is no answer at all. */
static int read_bool(const struct json *status, const char *name, bool *out, struct status *st)
{
    const struct json *v = json_get(status, str_of(name));

    *out = v && json_bool(v);
    if (!v || json_is(v, JSON_BOOL))
        return 0;
    return status_set(st, REASON_UNAVAILABLE,
                      "the webhook's answer has a status.%s that is no bool", name);
}

static str words(const struct json *status, const char *name)
{
    str s = json_get_str(status, name);

    return str_sub(s, 0, s.n < WORDS_MAX ? s.n : WORDS_MAX);
}

static struct json strings(struct arena *a, const str *items, size_t n)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(items[i]));
    return json_array_value(&r);
}

/* ---- tokens ---- */

str token_review_question(struct arena *a, secret token, str audience)
{
    struct json_object spec = json_object_new(a);

    json_add(&spec, STR("token"), json_of_str(secret_reveal(token)));
    json_add(&spec, STR("audiences"), strings(a, &audience, 1));
    return question(a, AUTHN, "TokenReview", &spec);
}

/* Strings only, and not what all have; *out has a place more than it needs. */
static bool read_strings(struct arena *a, const struct json *list, const str **out, size_t *n)
{
    str *all = arena_array(a, str, json_len(list) + 1);

    *n = 0;
    *out = all;
    if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
        return false;
    json_for_each (v, list) {
        if (!json_is(v, JSON_STRING))
            return false;
        if (!str_is(json_str(v), AUTHENTICATED))
            all[(*n)++] = json_str(v);
    }
    return true;
}

static bool read_extra(struct arena *a, const struct json *extra, struct identity *who)
{
    struct identity_extra *all = arena_array(a, struct identity_extra, json_len(extra) + 1);

    who->extra = all;
    if (extra && !json_is(extra, JSON_OBJECT) && !json_is(extra, JSON_NULL))
        return false;
    json_for_each_member (m, extra) {
        struct identity_extra *e = &all[who->nextra++];

        e->key = str_lower(a, m->name);
        if (!m->name.n || !read_strings(a, &m->value, &e->values, &e->nvalues))
            return false;
    }
    return true;
}

static int read_user(struct arena *a, const struct json *user, struct identity *who,
                     struct status *st)
{
    *who = (struct identity){ .user = json_get_str(user, "username"),
                              .uid = json_get_str(user, "uid") };
    if (who->user.n &&
        read_strings(a, json_get(user, STR("groups")), &who->groups, &who->ngroups) &&
        read_extra(a, json_get(user, STR("extra")), who))
        return 0;
    return status_set(st, REASON_UNAVAILABLE,
                      "the webhook's answer has a status.user that is none");
}

/* k8s: plugin/pkg/authenticator/token/webhook: none said means ours */
static bool is_for(const struct json *audiences, str audience)
{
    json_for_each (v, audiences)
        if (str_eq(json_str(v), audience))
            return true;
    return json_len(audiences) == 0;
}

int token_review_read(struct arena *a, str text, str audience, struct answer_cache_answer *out,
                      struct status *st)
{
    const struct json *status = read_status(a, text, AUTHN, "TokenReview", st);
    str *all_groups, error = words(status, "error");
    struct identity *who = &out->who;
    struct status names;

    *out = (struct answer_cache_answer){ 0 };
    if (!status || read_bool(status, "authenticated", &out->yes, st) < 0)
        return -1;
    if (!out->yes)
        return error.n ? status_set(st, REASON_UNAUTHORIZED, "%.*s", STR_ARG(error)) : 0;
    out->yes = false;
    if (!is_for(json_get(status, STR("audiences")), audience)) {
        out->reason = STR("the token is for another audience");
        return 0;
    }
    if (read_user(a, json_get(status, STR("user")), who, st) < 0)
        return -1;
    status_init(&names, a);
    if (authn_names_check(who, &names) < 0) {
        out->reason = names.message;
        *who = (struct identity){ 0 };
        return 0;
    }
    all_groups = arena_array(a, str, who->ngroups + 1);
    if (who->ngroups)
        memcpy(all_groups, who->groups, who->ngroups * sizeof(*all_groups));
    all_groups[who->ngroups++] = STR(AUTHENTICATED);
    who->groups = all_groups;
    out->yes = true;
    return 0;
}

/* ---- rights ---- */

static void add(struct json_object *o, const char *name, str value)
{
    if (value.n)
        json_add(o, str_of(name), json_of_str(value));
}

static struct json attributes(struct arena *a, const struct access *x, str version)
{
    struct json_object o = json_object_new(a);

    if (!x->is_resource) {
        add(&o, "path", x->path);
        add(&o, "verb", x->verb);
        return json_object_value(&o);
    }
    add(&o, "namespace", x->namespace_);
    add(&o, "verb", x->verb);
    add(&o, "group", x->group);
    add(&o, "version", version);
    add(&o, "resource", x->resource);
    add(&o, "subresource", x->subresource);
    add(&o, "name", x->name);
    return json_object_value(&o);
}

str access_review_question(struct arena *a, const struct access *x, str version)
{
    struct json_object spec = json_object_new(a), extra = json_object_new(a);
    const struct identity *who = x->who;

    json_add(&spec, x->is_resource ? STR("resourceAttributes") : STR("nonResourceAttributes"),
             attributes(a, x, version));
    add(&spec, "user", who->user);
    if (who->ngroups)
        json_add(&spec, STR("groups"), strings(a, who->groups, who->ngroups));
    for (size_t i = 0; i < who->nextra; i++)
        if (!str_is(who->extra[i].key, INSTANCE_EXTRA)) /* which is ours to say */
            json_add(&extra, who->extra[i].key,
                     strings(a, who->extra[i].values, who->extra[i].nvalues));
    if (x->instance->name.n)
        json_add(&extra, STR(INSTANCE_EXTRA), strings(a, &x->instance->name, 1));
    if (extra.n)
        json_add(&spec, STR("extra"), json_object_value(&extra));
    add(&spec, "uid", who->uid);
    return question(a, AUTHZ, "SubjectAccessReview", &spec);
}

/* k8s: plugin/pkg/authorizer/webhook; behind RBAC a denial and no opinion are the same */
int access_review_read(struct arena *a, str text, str audience, struct answer_cache_answer *out,
                       struct status *st)
{
    const struct json *status = read_status(a, text, AUTHZ, "SubjectAccessReview", st);
    bool allowed, denied;

    (void)audience;
    *out = (struct answer_cache_answer){ 0 };
    if (!status || read_bool(status, "allowed", &allowed, st) < 0 ||
        read_bool(status, "denied", &denied, st) < 0)
        return -1;
    if (allowed && denied)
        return status_set(st, REASON_UNAVAILABLE,
                          "the webhook's answer is both allowed and denied");
    out->yes = allowed;
    out->reason = words(status, "reason");
    return 0;
}
