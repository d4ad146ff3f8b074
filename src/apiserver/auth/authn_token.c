/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_token.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/auth/jwt.h"
#include "apiserver/auth/session.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "rest/lookup.h"

enum {
    SETS = 1024,     /* of the cache, */
    WAYS = 4,        /* four tokens each, */
    KEPT_MAX = 4096, /* none of more claims than that: memory is bounded by us, not by audiences */
    EXTRAS = 5,
    OBJECTS = 3,
    FIELDS = 3 + EXTRAS + 4 * OBJECTS,
    LEEWAY_S = 60, /* k8s: jwt.DefaultLeeway, for clocks that were set back */
};

#define EXTRA_PREFIX "authentication.kubernetes.io/"
#define USER_PREFIX  "system:serviceaccount:"

enum role {
    ROLE_BOUND,    /* may be on its way out for a moment */
    ROLE_ACCOUNT,  /* a service account, a login's session */
    ROLE_PERSON,   /* may be disabled, or was since */
    ROLE_PASSWORD, /* may be another by now */
};

struct object { /* that must exist for the token to hold */
    const struct kind *kind;
    str namespace_, name, uid;
    str fingerprint;        /* of a password */
    int64_t times_disabled; /* of a person */
    enum role role;
};

struct facts { /* what a good signature vouches for */
    uint32_t instance;
    int64_t not_before, issued, expires;
    bool for_api, person;
    struct identity who; /* groups and extra are the arrays below */
    str groups[3];
    struct identity_extra extra[EXTRAS];
    str values[EXTRAS];
    struct object objects[OBJECTS];
    size_t nobjects;
    const str *audiences;
    size_t naudiences;
};

struct token_entry {
    atomic_uint refs;
    atomic_uint_least64_t seen; /* when the objects were all right; 0: look each time */
    uint64_t generation;        /* of the keys */
    unsigned char hash[SHA256_SIZE];
    struct facts facts;
    str audiences[]; /* then the text of all strings */
};

struct authn_token {
    struct authn_token_options o;
    const struct kind *accounts, *users, *sessions, *secrets;
    const struct kind *pods, *nodes; /* may be NULL */
    char *issuer;
    _Atomic(struct token_entry *) cache[SETS][WAYS];
};

/* ---- entries ---- */

static void entry_unref(void *arg)
{
    struct token_entry *e = arg;

    if (e && atomic_fetch_sub(&e->refs, 1) == 1)
        free(e);
}

/* The pointers to strings, those of the audiences apart. */
static void fields_of(struct facts *f, str *fields[FIELDS])
{
    size_t n = 0;

    fields[n++] = &f->who.user;
    fields[n++] = &f->who.uid;
    fields[n++] = &f->groups[1]; /* the others are literals */
    for (size_t i = 0; i < EXTRAS; i++)
        fields[n++] = &f->values[i];
    for (size_t i = 0; i < OBJECTS; i++) {
        fields[n++] = &f->objects[i].namespace_;
        fields[n++] = &f->objects[i].name;
        fields[n++] = &f->objects[i].uid;
        fields[n++] = &f->objects[i].fingerprint;
    }
    assert(n == FIELDS);
}

static char *move(str *s, char *to)
{
    if (s->n)
        memcpy(to, s->p, s->n);
    s->p = to;
    return to + s->n;
}

/* One block for all, so that a token costs what it says and no more. */
static struct token_entry *entry_new(const struct facts *facts,
                                     const unsigned char hash[SHA256_SIZE], uint64_t generation)
{
    struct facts f = *facts;
    str *fields[FIELDS];
    size_t bytes = f.naudiences * sizeof(str);
    struct token_entry *e;
    char *at;

    fields_of(&f, fields);
    for (size_t i = 0; i < FIELDS; i++)
        bytes += fields[i]->n;
    for (size_t i = 0; i < f.naudiences; i++)
        bytes += f.audiences[i].n;
    e = mem_alloc(sizeof(*e) + bytes);
    at = (char *)&e->audiences[f.naudiences];
    for (size_t i = 0; i < FIELDS; i++)
        at = move(fields[i], at);
    for (size_t i = 0; i < f.naudiences; i++) {
        e->audiences[i] = f.audiences[i];
        at = move(&e->audiences[i], at);
    }
    assert(at == (char *)e->audiences + bytes);
    atomic_init(&e->refs, 1);
    atomic_init(&e->seen, 0);
    e->generation = generation;
    memcpy(e->hash, hash, SHA256_SIZE);
    e->facts = f;
    e->facts.audiences = e->audiences;
    e->facts.who.groups = e->facts.groups;
    e->facts.who.extra = e->facts.extra;
    for (size_t i = 0; i < f.who.nextra; i++)
        e->facts.extra[i].values = &e->facts.values[i];
    return e;
}

static _Atomic(struct token_entry *) *set_of(struct authn_token *t, const unsigned char *hash)
{
    return t->cache[((size_t)hash[0] << 8 | hash[1]) % SETS];
}

/* A reference of the caller's: what the cache drops lives on until the epoch is over. */
static struct token_entry *cache_get(struct authn_token *t, const unsigned char hash[SHA256_SIZE])
{
    _Atomic(struct token_entry *) *set = set_of(t, hash);
    uint64_t generation = keys_generation(t->o.keys);

    for (size_t i = 0; i < WAYS; i++) {
        struct token_entry *e = atomic_load_explicit(&set[i], memory_order_acquire);

        if (e && e->generation == generation && memcmp(e->hash, hash, SHA256_SIZE) == 0) {
            (void)atomic_fetch_add(&e->refs, 1);
            return e;
        }
    }
    return NULL;
}

/* In place of one that holds no more, else of any. */
static void cache_put(struct authn_token *t, struct token_entry *e, int64_t now_s)
{
    _Atomic(struct token_entry *) *set = set_of(t, e->hash);
    size_t way = e->hash[2] % WAYS;

    for (size_t i = 0; i < WAYS; i++) {
        const struct token_entry *old = atomic_load(&set[i]);

        if (!old || old->facts.expires <= now_s || old->generation != e->generation) {
            way = i;
            break;
        }
    }
    (void)atomic_fetch_add(&e->refs, 1);
    e = atomic_exchange(&set[way], e);
    if (e)
        epoch_retire(entry_unref, e);
}

/* ---- from claims to facts ---- */

static int refuse(struct status *st, const char *why)
{
    return status_set(st, REASON_UNAUTHORIZED,
                      *why ? "[invalid bearer token, %s]" : "invalid bearer token%s", why);
}

static void add_extra(struct facts *f, str key, str value)
{
    if (value.n == 0)
        return;
    f->values[f->who.nextra] = value;
    f->extra[f->who.nextra] =
        (struct identity_extra){ .key = key, .values = &f->values[f->who.nextra], .nvalues = 1 };
    f->who.nextra++;
}

/* An object the token is bound to; a kind that is not served has none. */
static bool add_object(struct facts *f, const struct kind *k, str namespace_,
                       const struct json *ref, enum role role)
{
    struct object o = { .kind = k,
                        .namespace_ = namespace_,
                        .name = json_get_str(ref, "name"),
                        .uid = json_get_str(ref, "uid"),
                        .fingerprint = json_get_str(ref, "fingerprint"),
                        .times_disabled =
                            json_int(json_get(ref, STR(AUTHN_TOKEN_TIMES_DISABLED)), 0),
                        .role = role };

    if (!k || o.name.n == 0 || o.uid.n == 0 || f->nobjects == OBJECTS)
        return false;
    f->objects[f->nobjects++] = o;
    return true;
}

/* k8s: serviceaccount/claims.go: a pod's node is only told of, a node by itself must be there */
static bool read_bound(const struct authn_token *t, const struct json *k8s, struct facts *f)
{
    str ns = json_get_str(k8s, "namespace");
    const struct json *pod = json_get(k8s, STR("pod")), *node = json_get(k8s, STR("node"));
    const struct json *kept = json_get(k8s, STR("secret"));

    if ((pod != NULL) + (kept != NULL) + (node && !pod) > 1)
        return false;
    if (pod) {
        add_extra(f, STR(EXTRA_PREFIX "pod-name"), json_get_str(pod, "name"));
        add_extra(f, STR(EXTRA_PREFIX "pod-uid"), json_get_str(pod, "uid"));
    }
    if (node) {
        add_extra(f, STR(EXTRA_PREFIX "node-name"), json_get_str(node, "name"));
        add_extra(f, STR(EXTRA_PREFIX "node-uid"), json_get_str(node, "uid"));
    }
    if (pod)
        return add_object(f, t->pods, ns, pod, ROLE_BOUND);
    if (kept)
        return add_object(f, t->secrets, ns, kept, ROLE_BOUND);
    return !node || add_object(f, t->nodes, STR_NONE, node, ROLE_BOUND);
}

static bool read_audiences(struct arena *a, const struct json *aud, str issuer, struct facts *f)
{
    str *all = arena_array(a, str, json_len(aud) + 1);

    json_for_each (v, aud) {
        if (v->type != JSON_STRING)
            return false;
        all[f->naudiences++] = json_str(v);
        f->for_api = f->for_api || str_eq(json_str(v), issuer);
    }
    f->audiences = all;
    return f->naudiences > 0;
}

static bool read_times(const struct json *claims, struct facts *f)
{
    f->expires = json_int(json_get(claims, STR("exp")), 0);
    f->not_before = json_int(json_get(claims, STR("nbf")), INT64_MAX);
    f->issued = json_int(json_get(claims, STR("iat")), INT64_MAX);
    return f->expires > 0 && f->not_before != INT64_MAX && f->issued != INT64_MAX;
}

static bool read_user(struct arena *a, const struct json *claims, const struct json *k8s,
                      struct facts *f)
{
    str ns = json_get_str(k8s, "namespace"), name = json_get_str(k8s, "serviceaccount.name");
    str jti = json_get_str(claims, "jti");

    if (ns.n == 0 || name.n == 0)
        return false;
    f->groups[0] = STR("system:serviceaccounts");
    f->groups[1] = str_printf(a, "system:serviceaccounts:%.*s", STR_ARG(ns));
    f->groups[2] = STR("system:authenticated");
    f->who.user = str_printf(a, USER_PREFIX "%.*s:%.*s", STR_ARG(ns), STR_ARG(name));
    f->who.uid = json_get_str(k8s, "serviceaccount.uid");
    f->who.groups = f->groups;
    f->who.ngroups = 3;
    f->who.extra = f->extra;
    if (jti.n)
        add_extra(f, STR(EXTRA_PREFIX "credential-id"), str_printf(a, "JTI=%.*s", STR_ARG(jti)));
    return str_eq(f->who.user, json_get_str(claims, "sub"));
}

/* Of a person, by their login (apiserver/auth/login.c); of the root instance only. */
static bool read_person(struct arena *a, const struct json *claims, const struct json *person,
                        struct facts *f)
{
    str jti = json_get_str(claims, "jti");

    f->groups[0] = STR("system:authenticated");
    f->who.user = json_get_str(person, "name");
    f->who.uid = json_get_str(person, "uid");
    f->who.groups = f->groups;
    f->who.ngroups = 1;
    f->who.extra = f->extra;
    if (jti.n)
        add_extra(f, STR(EXTRA_PREFIX "credential-id"), str_printf(a, "JTI=%.*s", STR_ARG(jti)));
    f->person = true;
    return str_eq(f->who.user, json_get_str(claims, "sub"));
}

/* The session of the login, its user, and the password that was used. */
static bool add_login(const struct authn_token *t, struct arena *a, const struct json *ours,
                      struct facts *f)
{
    const struct json *person = json_get(ours, STR("user"));
    const struct json *password = json_get(ours, STR("password"));
    struct json name = json_of_str(session_secret_name(a, json_get_str(person, "name")));

    return json_get_str(password, "fingerprint").n &&
           add_object(f, t->sessions, STR_NONE, json_get(ours, STR("session")), ROLE_ACCOUNT) &&
           add_object(f, t->users, STR_NONE, person, ROLE_PERSON) &&
           add_object(f, t->secrets, STR("kube-system"), json_set(a, password, "name", &name),
                      ROLE_PASSWORD);
}

static int read_facts(const struct authn_token *t, struct arena *a, const struct instance *i,
                      const struct json *claims, struct facts *f, struct status *st)
{
    const struct json *k8s = json_get(claims, STR(AUTHN_TOKEN_PRIVATE));
    const struct json *ours = json_get(claims, STR(AUTHN_TOKEN_INSTANCE));
    const struct json *person = json_get(ours, STR("user"));
    str issuer = authn_token_issuer(t, a, i);

    *f = (struct facts){ .instance = i->id };
    if (!str_eq(json_get_str(claims, "iss"), issuer) ||
        !str_eq(json_get_str(ours, "instance"), i->uid))
        return refuse(st, "the token was issued for another instance");
    if (!read_times(claims, f) || !read_audiences(a, json_get(claims, STR("aud")), issuer, f))
        return refuse(st, "token claims could not be validated");
    if (person)
        return read_person(a, claims, person, f) && add_login(t, a, ours, f)
                   ? 0
                   : refuse(st, "token claims could not be validated");
    if (!read_user(a, claims, k8s, f) ||
        !add_object(f, t->accounts, json_get_str(k8s, "namespace"),
                    json_get(k8s, STR("serviceaccount")), ROLE_ACCOUNT) ||
        !read_bound(t, k8s, f))
        return refuse(st, "service account token claims could not be validated");
    return 0;
}

/* ---- on every request ---- */

static int check_times(const struct facts *f, int64_t now_s, struct status *st)
{
    if (f->expires <= now_s)
        return refuse(st,
                      f->person ? "the session has expired" : "service account token has expired");
    if (f->not_before > now_s + LEEWAY_S || f->issued > now_s + LEEWAY_S)
        return refuse(st, "service account token is not valid yet");
    return 0;
}

/* As it was when the token was issued. */
static bool holds(struct arena *a, const struct object *o, const struct json *obj)
{
    if (!str_eq(json_get_str(obj, "metadata.uid"), o->uid))
        return false;
    if (o->role == ROLE_PERSON)
        return !json_bool(json_path(obj, "spec.disabled")) &&
               session_times_disabled(obj) == o->times_disabled;
    return o->role != ROLE_PASSWORD || str_eq(session_fingerprint(a, obj), o->fingerprint);
}

/*
 * k8s: serviceaccount/claims.go.  What a token is bound to may be on its way out for a minute, a
 * pod ends its work then; an account that is being deleted is as good as gone.  1: look again.
 */
static int check_object(const struct authn_token *t, struct arena *a, const struct instance *i,
                        const struct facts *f, const struct object *o, int64_t now_s,
                        struct status *st)
{
    const char *gone =
        f->person ? "the session has ended" : "service account token has been invalidated";
    const struct json *obj;
    int64_t deleted = INT64_MAX;
    str when;
    int found = lookup_plain(t->o.rest, a, i, o->kind, o->namespace_, o->name, &obj, st);

    if (found < 0)
        return -1;
    if (!found || !holds(a, o, obj))
        return refuse(st, gone);
    when = json_get_str(obj, "metadata.deletionTimestamp");
    if (when.n == 0)
        return 0;
    if (o->role != ROLE_BOUND || !time_parse_seconds(when, &deleted) || deleted + LEEWAY_S < now_s)
        return refuse(st, gone);
    return 1;
}

static bool untouched(const struct authn_token *t, const struct facts *f, uint64_t since)
{
    for (size_t n = 0; n < f->nobjects; n++)
        if (store_touched(t->o.store, f->objects[n].kind->type_id, f->instance) > since)
            return false;
    return true;
}

/* The revision first: what changes while we look makes the next request look again. */
static int check_objects(const struct authn_token *t, struct arena *a, const struct instance *i,
                         struct token_entry *e, int64_t now_s, struct status *st)
{
    uint64_t seen = atomic_load_explicit(&e->seen, memory_order_relaxed);
    uint64_t head;

    if (seen && untouched(t, &e->facts, seen))
        return 0;
    head = store_head(t->o.store);
    for (size_t n = 0; n < e->facts.nobjects; n++) {
        int again = check_object(t, a, i, &e->facts, &e->facts.objects[n], now_s, st);

        if (again < 0)
            return -1;
        if (again)
            head = 0;
    }
    atomic_store_explicit(&e->seen, head, memory_order_relaxed);
    return 0;
}

/* A reference, from the cache or after all that cryptography; or NULL, and *person is whether it
 * was a person's. */
static struct token_entry *verified(struct authn_token *t, struct arena *a,
                                    const struct instance *i, secret token, int64_t now_s,
                                    bool *person, struct status *st)
{
    unsigned char hash[SHA256_SIZE];
    uint64_t generation = keys_generation(t->o.keys);
    const struct json *claims;
    struct token_entry *e;
    struct facts f;
    struct jwt jwt;

    sign_sha256(secret_reveal(token), hash);
    e = cache_get(t, hash);
    if (e)
        return e;
    claims = jwt_parse(a, token, &jwt) && jwt_verify(&jwt, t->o.keys) ? jwt_claims(a, &jwt) : NULL;
    if (!claims) {
        (void)refuse(st, "");
        return NULL;
    }
    if (read_facts(t, a, i, claims, &f, st) < 0) {
        *person = f.person;
        return NULL;
    }
    e = entry_new(&f, hash, generation);
    if (f.expires > now_s && jwt.claims.n <= KEPT_MAX)
        cache_put(t, e, now_s);
    return e;
}

static int check_audiences(struct arena *a, const struct facts *f, const str *wanted, size_t n,
                           struct authn_token_answer *out, struct status *st)
{
    str *both = arena_array(a, str, n + 1);

    out->naudiences = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < f->naudiences; j++)
            if (str_eq(wanted[i], f->audiences[j])) {
                both[out->naudiences++] = wanted[i];
                break;
            }
    out->audiences = both;
    return out->naudiences ? 0 : refuse(st, "token audiences are invalid for the target audiences");
}

static str session_name(const struct facts *f)
{
    return f->person ? f->objects[0].name : STR_NONE;
}

static int check_entry(struct authn_token *t, struct arena *a, const struct instance *i,
                       struct token_entry *e, struct status *st)
{
    int64_t now_s = clock_wall_s(t->o.clock);

    if (e->facts.instance != i->id)
        return refuse(st, "the token was issued for another instance");
    if (check_times(&e->facts, now_s, st) < 0)
        return -1;
    return check_objects(t, a, i, e, now_s, st);
}

static int check_account(struct authn_token *t, struct arena *a, const struct instance *i,
                         secret token, const str *audiences, size_t naudiences,
                         struct authn_token_answer *out, struct status *st)
{
    struct token_entry *e =
        verified(t, a, i, token, clock_wall_s(t->o.clock), &out->was_session, st);

    if (!e)
        return -1;
    arena_defer(a, entry_unref, e);
    out->was_session = e->facts.person && e->facts.instance == i->id;
    if (check_entry(t, a, i, e, st) < 0)
        return -1;
    if (naudiences && check_audiences(a, &e->facts, audiences, naudiences, out, st) < 0)
        return -1;
    if (!naudiences && !e->facts.for_api)
        return refuse(st, "token audiences are invalid for the target audiences");
    out->who = e->facts.who;
    out->session = session_name(&e->facts);
    out->entry = e;
    return 0;
}

/* With other keys only the token itself can tell whether one of them has signed it. */
int authn_token_again(struct authn_token *t, struct arena *a, const struct instance *i,
                      struct token_entry *e, struct status *st)
{
    if (e->generation != keys_generation(t->o.keys))
        return refuse(st, "the keys have changed");
    return check_entry(t, a, i, e, st);
}

bool authn_token_untouched(const struct authn_token *t, const struct token_entry *e, uint64_t since)
{
    return e->generation == keys_generation(t->o.keys) && untouched(t, &e->facts, since);
}

uint64_t authn_token_touched(const struct authn_token *t, uint32_t instance)
{
    const struct kind *const kinds[] = { t->accounts, t->users, t->sessions,
                                         t->secrets,  t->pods,  t->nodes };
    uint64_t last = 0, rev;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        rev = kinds[i] ? store_touched(t->o.store, kinds[i]->type_id, instance) : 0;
        last = rev > last ? rev : last;
    }
    return last;
}

uint32_t authn_token_home(const struct token_entry *e)
{
    return e->facts.instance;
}

int64_t authn_token_expires_s(const struct token_entry *e)
{
    return e->facts.expires;
}

bool authn_bootstrap_untouched(const struct authn_token *t, uint32_t instance, uint64_t since)
{
    return store_touched(t->o.store, t->secrets->type_id, instance) <= since;
}

int authn_token_check(struct authn_token *t, struct arena *a, const struct instance *i,
                      secret token, const str *audiences, size_t naudiences,
                      struct authn_token_answer *out, struct status *st)
{
    *out = (struct authn_token_answer){ .audiences = audiences, .naudiences = naudiences };
    /* A token is for one instance: not for all, and not for one that is not there. */
    if (i->id == STORE_ALL || i->id == INSTANCE_TEMPLATE)
        return refuse(st, "");
    if (authn_bootstrap_is(token))
        return authn_bootstrap_check(t->o.rest, a, i, t->secrets, token, clock_wall_s(t->o.clock),
                                     &out->who, st);
    return check_account(t, a, i, token, audiences, naudiences, out, st);
}

/* ---- the rest ---- */

struct authn_token *authn_token_new(const struct authn_token_options *o)
{
    struct authn_token *t = mem_zalloc(sizeof(*t));

    t->o = *o;
    t->issuer = mem_dup(o->issuer.p, o->issuer.n);
    t->o.issuer.p = t->issuer;
    t->accounts = catalog_find_kind(o->catalog, STR("v1"), STR("ServiceAccount"));
    t->users = catalog_find(o->catalog, STR("iam.kairship.io"), STR("v1alpha1"), STR("users"));
    t->sessions =
        catalog_find(o->catalog, STR("iam.kairship.io"), STR("v1alpha1"), STR("sessions"));
    t->secrets = catalog_find_kind(o->catalog, STR("v1"), STR("Secret"));
    t->pods = catalog_find_kind(o->catalog, STR("v1"), STR("Pod"));
    t->nodes = catalog_find_kind(o->catalog, STR("v1"), STR("Node"));
    assert(t->accounts && t->secrets);
    return t;
}

void authn_token_free(struct authn_token *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < SETS; i++)
        for (size_t j = 0; j < WAYS; j++)
            entry_unref(atomic_load(&t->cache[i][j]));
    free(t->issuer);
    free(t);
}

str authn_token_issuer(const struct authn_token *t, struct arena *a, const struct instance *i)
{
    if (i->id == INSTANCE_ROOT)
        return t->o.issuer;
    return str_printf(a, "%.*s/clusters/%.*s", STR_ARG(t->o.issuer), STR_ARG(i->name));
}
