/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST logins: a name and a password for a token of the root instance, and a session for which it
 * is good (apiserver/auth/session.h).
 *
 * What is kept of a password is in the Secret kube-system/kairship-password-<user> (`kairship
 * passwd` writes it).  Checking takes a tenth of a second on a worker, the same for names that do
 * not exist, and only a few at once; who is wrong too often has to wait.
 */

#include <stdlib.h>

#include "apiserver/audit/audit.h"
#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/jwt.h"
#include "apiserver/auth/review.h"
#include "apiserver/auth/session.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/log.h"
#include "http/password.h"
#include "rest/lookup.h"

enum { DAY_S = 86400, MIN_S = 600, MAX_S = 7 * DAY_S, AT_ONCE = 4 };
enum { WRONG_SLOTS = 256, WRONG_MAX = 10, WRONG_S = 60 };

/* How often a name was wrong lately; names that share a slot wait together. */
static struct {
    _Atomic int64_t since_s;
    atomic_uint n;
} wrong[WRONG_SLOTS];
static atomic_uint running;

struct attempt {
    struct worker_job job; /* first */
    struct call *call;
    struct arena *arena; /* of what the worker reads */
    str name, uid, hash;
    str secret_uid, fingerprint; /* of what the password is compared with */
    secret password;
    size_t slot;
    int64_t now_s, seconds, times_disabled;
    const struct json *meta;
    bool known; /* there is such a user */
    bool good;
    struct session_order session;
};

static int find(struct call *c, const struct kind *k, str namespace_, str name,
                const struct json **out, struct status *st)
{
    static const struct instance root = { .id = INSTANCE_ROOT };

    return lookup_get(c->server->rest, c->arena, &root, k, namespace_, name, out, st);
}

/* Returns whether the hash belongs to this User and not to an earlier one of that name: the
 * Secret's owner is the User (`kairship passwd` sets it), or it has no owner and is not older than
 * the User. */
static bool is_of(const struct json *kept, const struct json *user)
{
    int64_t written = 0, made = 0;

    json_for_each (o, json_path(kept, "metadata.ownerReferences"))
        if (str_is(json_get_str(o, "kind"), "User"))
            return str_eq(json_get_str(o, "uid"), json_get_str(user, "metadata.uid"));
    return time_parse_seconds(json_get_str(kept, "metadata.creationTimestamp"), &written) &&
           time_parse_seconds(json_get_str(user, "metadata.creationTimestamp"), &made) &&
           written >= made;
}

/* Only of a user that there is: a password that was typed for a name is not written down. */
static void note_user(const struct attempt *t)
{
    struct rest_request *req = &t->call->rest;
    struct rest_note *note = arena_new_of(req->arena, struct rest_note);

    *note = (struct rest_note){ req->notes, STR(AUDIT_LOGIN), str_dup(req->arena, t->name) };
    req->notes = note;
}

/* Finds the hash to compare the password with; for a user who cannot log in, one that never
 * matches. */
static int find_hash(struct attempt *t, struct status *st)
{
    const struct catalog *catalog = t->call->rest.catalog;
    const struct kind *users =
        catalog_find(catalog, STR("iam.kairship.io"), STR("v1alpha1"), STR("users"));
    const struct kind *secrets = catalog_find_kind(catalog, STR("v1"), STR("Secret"));
    str secret_name = session_secret_name(t->call->arena, t->name);
    const struct json *user, *kept;
    str hash;
    int found = find(t->call, users, STR_NONE, t->name, &user, st);

    t->hash = password_nobody;
    t->known = found > 0;
    if (t->known)
        note_user(t);
    if (found <= 0 || json_bool(json_path(user, "spec.disabled")))
        return found < 0 ? -1 : 0;
    found = find(t->call, secrets, STR("kube-system"), secret_name, &kept, st);
    if (found <= 0 || !is_of(kept, user))
        return found < 0 ? -1 : 0;
    if (base64_decode(t->arena, BASE64_STD, json_get_str(kept, "data.hash"), &hash)) {
        t->hash = hash;
        t->uid = str_dup(t->arena, json_get_str(user, "metadata.uid"));
        t->times_disabled = session_times_disabled(user);
        t->secret_uid = str_dup(t->arena, json_get_str(kept, "metadata.uid"));
        t->fingerprint = str_dup(t->arena, session_fingerprint(t->arena, kept));
    }
    return 0;
}

static void check(struct worker_job *job)
{
    struct attempt *t = (struct attempt *)job;

    t->good = password_is(t->hash, t->password) && t->uid.n > 0;
}

/* ---- the token ---- */

static struct json_object named(struct arena *a, str name, str uid)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(name));
    json_add(&o, STR("uid"), json_of_str(uid));
    return o;
}

/* What must stay as it is for the token to be good (apiserver/auth/authn_token.c). */
static struct json bound(const struct attempt *t, const struct json *session)
{
    struct call *c = t->call;
    struct arena *a = c->arena;
    struct json_object o = json_object_new(a), password = json_object_new(a);
    struct json_object user = named(a, t->name, t->uid);
    struct json_object kept =
        named(a, json_get_str(session, "metadata.name"), json_get_str(session, "metadata.uid"));

    if (t->times_disabled)
        json_add(&user, STR(AUTHN_TOKEN_TIMES_DISABLED), json_of_int(t->times_disabled));
    json_add(&password, STR("uid"), json_of_str(t->secret_uid));
    json_add(&password, STR("fingerprint"), json_of_str(t->fingerprint));
    json_add(&o, STR("instance"), json_of_str(c->rest.instance.uid));
    json_add(&o, STR("user"), json_object_value(&user));
    json_add(&o, STR("session"), json_object_value(&kept));
    json_add(&o, STR("password"), json_object_value(&password));
    return json_object_value(&o);
}

static const struct json *claims(const struct attempt *t, const struct json *session, str issuer)
{
    struct arena *a = t->call->arena;
    struct json_object o = json_object_new(a);
    struct json_array audience = json_array_new(a);

    json_push(&audience, json_of_str(issuer));
    json_add(&o, STR("aud"), json_array_value(&audience));
    json_add(&o, STR("exp"), json_of_int(t->now_s + t->seconds));
    json_add(&o, STR("iat"), json_of_int(t->now_s));
    json_add(&o, STR("iss"), json_of_str(issuer));
    json_add(&o, STR("jti"), json_of_str(json_get_str(session, "metadata.name")));
    json_add(&o, STR(AUTHN_TOKEN_INSTANCE), bound(t, session));
    json_add(&o, STR("nbf"), json_of_int(t->now_s));
    json_add(&o, STR("sub"), json_of_str(t->name));
    return json_object_done(&o);
}

static void give(struct attempt *t, const struct json *session, struct status *st)
{
    struct call *c = t->call;
    struct arena *a = c->arena;
    str issuer = authn_token_issuer(c->server->tokens, a, &c->rest.instance);
    struct json_object o = json_object_new(a), spec = json_object_new(a),
                       status = json_object_new(a);
    char *time = arena_alloc(a, TIME_TEXT_SIZE);
    secret token;

    if (jwt_make(a, c->server->keys, claims(t, session, issuer), &token, st) < 0) {
        call_fail(c, st);
        return;
    }
    json_add(&spec, STR("username"), json_of_str(t->name));
    json_add(&spec, STR("expirationSeconds"), json_of_int(t->seconds));
    json_add(&status, STR("token"), json_of_str(secret_reveal(token)));
    json_add(&status, STR("expirationTimestamp"),
             json_of_str((str){ time, time_format_seconds(time, t->now_s + t->seconds) }));
    json_add(&status, STR("session"), json_of_str(json_get_str(session, "metadata.name")));
    json_add(&o, STR("kind"), json_of_str(c->rest.kind->kind));
    json_add(&o, STR("apiVersion"), json_of_str(c->rest.kind->api_version));
    json_add(&o, STR("metadata"), *t->meta);
    json_add(&o, STR("spec"), json_object_value(&spec));
    json_add(&o, STR("status"), json_object_value(&status));
    call_answer_json(c, 201, json_object_done(&o));
}

static void refuse(struct attempt *t, struct status *st)
{
    if (t->now_s - atomic_load(&wrong[t->slot].since_s) > WRONG_S) {
        atomic_store(&wrong[t->slot].since_s, t->now_s);
        atomic_store(&wrong[t->slot].n, 0);
    }
    (void)atomic_fetch_add(&wrong[t->slot].n, 1);
    /* People type passwords for names. */
    log_warn("login refused", log_str("user", t->known ? t->name : STR("(there is no such user)")),
             log_str("remote", t->call->remote));
    (void)status_set(st, REASON_UNAUTHORIZED, "the name or the password is wrong");
    call_fail(t->call, st);
}

static void attempt_free(struct attempt *t)
{
    arena_free(t->arena); /* with the attempt */
}

static void session_made(struct session_order *o, const struct json *session,
                         const struct status *why)
{
    struct attempt *t = (struct attempt *)(void *)((char *)o - offsetof(struct attempt, session));
    struct call *c = t->call;

    if (c->timed_out) /* it was told so; this lets go of it */
        call_answer_rest(c, &(struct rest_reply){ 0 });
    else if (session)
        give(t, session, call_status(c));
    else
        call_fail(c, why);
    attempt_free(t);
}

static void checked(struct worker_job *job)
{
    struct attempt *t = (struct attempt *)job;

    (void)atomic_fetch_sub(&running, 1);
    if (!t->good) {
        refuse(t, call_status(t->call));
        attempt_free(t);
        return;
    }
    t->session = (struct session_order){ .call = t->call,
                                         .user = t->name,
                                         .uid = t->uid,
                                         .fingerprint = t->fingerprint,
                                         .now_s = t->now_s,
                                         .expires_s = t->now_s + t->seconds,
                                         .times_disabled = t->times_disabled,
                                         .made = session_made };
    session_make(&t->session);
}

/* ---- the request ---- */

static int read_request(struct attempt *t, struct status *st)
{
    struct call *c = t->call;
    struct rest_body_type type = { .schema = c->rest.kind->schema,
                                   .kind = c->rest.kind->kind,
                                   .api_version = c->rest.kind->api_version };
    const struct json *body;
    secret password;
    size_t n;

    arena_wipe(c->arena);
    if (rest_read_body(&c->rest, &type, &body, st) < 0)
        return -1;
    t->meta = json_get(body, STR("metadata"));
    t->name = str_dup(t->arena, json_get_str(body, "spec.username"));
    t->seconds = json_int(json_path(body, "spec.expirationSeconds"), DAY_S);
    password = secret_of(json_get_str(body, "spec.password"));
    n = secret_reveal(password).n;
    if (!t->name.n)
        status_cause(st, CAUSE_REQUIRED, STR("spec.username"), STR_NONE, "who logs in?");
    if (!n || n > PASSWORD_MAX)
        status_cause(st, CAUSE_REQUIRED, STR("spec.password"), STR_NONE, "must have 1 to %d bytes",
                     PASSWORD_MAX);
    if (t->seconds < MIN_S || t->seconds > MAX_S)
        status_cause(st, CAUSE_INVALID, STR("spec.expirationSeconds"),
                     str_printf(c->arena, "%lld", (long long)t->seconds),
                     "must be between %d and %d", MIN_S, MAX_S);
    t->password = secret_dup(t->arena, password);
    return status_invalid(st, STR("iam.kairship.io"), STR("Login"), STR_NONE);
}

/* Too many of this name were wrong lately, or too many are being looked at. */
static bool must_wait(const struct attempt *t)
{
    return atomic_load(&wrong[t->slot].n) >= WRONG_MAX &&
           t->now_s - atomic_load(&wrong[t->slot].since_s) <= WRONG_S;
}

void login(struct call *c)
{
    struct status *st = call_status(c);
    struct arena *a = arena_new();
    struct attempt *t = arena_new_of(a, struct attempt);

    *t = (struct attempt){ .job = { .run = check, .done = checked, .loop = c->loop },
                           .call = c,
                           .arena = a,
                           .now_s = clock_wall_s(c->server->clock) };
    if (read_request(t, st) < 0 || find_hash(t, st) < 0) {
        call_fail(c, st);
        attempt_free(t);
        return;
    }
    t->slot = str_hash(t->name, 1, 2) % WRONG_SLOTS;
    if (!must_wait(t)) {
        if (atomic_fetch_add(&running, 1) < AT_ONCE && workers_submit(c->server->workers, &t->job))
            return;
        (void)atomic_fetch_sub(&running, 1);
    }
    (void)status_set(st, REASON_TOO_MANY_REQUESTS, "too many logins: wait a minute");
    call_fail(c, st);
    attempt_free(t);
}
