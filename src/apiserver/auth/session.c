/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/session.h"

#include <stdlib.h>

#include "apiserver/audit/audit_event.h"
#include "apiserver/auth/rbac_builtin.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/uuid.h"
#include "http/sign.h"
#include "rest/index.h"
#include "rest/lookup.h"
#include "rest/rows.h"

#define USER "system:kairship:login"

enum {
    AGENT_MAX = 256,
    ENDED_MAX = 32, /* by one login: there are more only after several at the same moment */
};

static const struct instance root = { .id = INSTANCE_ROOT };

static const struct kind *kind_of(const char *plural)
{
    return catalog_find(kinds_catalog_root(), STR("iam.kairship.io"), STR("v1alpha1"),
                        str_of(plural));
}

str session_secret_name(struct arena *a, str user)
{
    return str_printf(a, "kairship-password-%.*s", STR_ARG(user));
}

str session_fingerprint(struct arena *a, const struct json *kept)
{
    unsigned char hash[SHA256_SIZE];

    sign_sha256(json_get_str(kept, "data.hash"), hash);
    return base64_encode(a, BASE64_URL, (str){ (const char *)hash, sizeof(hash) });
}

int64_t session_times_disabled(const struct json *user)
{
    return json_int(json_path(user, "spec.timesDisabled"), 0);
}

/* ---- not too many ---- */

struct sessions { /* of one person */
    struct arena *arena;
    const struct kind *kind;
    str uid;
    struct store_op *ops; /* deletions, the oldest first */
    size_t n, cap;
};

static bool add_session(void *arg, const struct row *row)
{
    struct sessions *s = arg;
    scoped_arena a = arena_new();
    const struct json *tree;
    struct status st;

    status_init(&st, a);
    if (row_tree(a, s->kind, row, STR_NONE, &tree, &st) < 0 ||
        !str_eq(json_get_str(tree, "spec.user.uid"), s->uid))
        return true;
    if (s->n == s->cap) {
        struct store_op *more = arena_array(s->arena, struct store_op, 2 * s->cap + 16);

        if (s->n)
            memcpy(more, s->ops, s->n * sizeof(*more));
        s->cap = 2 * s->cap + 16;
        s->ops = more;
    }
    s->ops[s->n++] = (struct store_op){
        .kind = STORE_DELETE,
        .key = { .type = s->kind->type_id,
                 .instance = INSTANCE_ROOT,
                 .name = str_dup(s->arena, row->name) },
        .expect = row->stored_rev,
    };
    return true;
}

static int by_age(const void *a, const void *b)
{
    uint64_t x = ((const struct store_op *)a)->expect, y = ((const struct store_op *)b)->expect;

    return (x > y) - (x < y);
}

static int sessions_of(struct session_order *o, struct sessions *s, struct status *st)
{
    struct arena *a = o->call->arena;
    struct selector fields, labels = { 0 };
    struct rows_range range = { .instance = &root, .kind = kind_of("sessions") };

    *s = (struct sessions){ .arena = a, .kind = range.kind, .uid = o->uid };
    if (selector_parse_fields(a, str_printf(a, "spec.user.name=%.*s", STR_ARG(o->user)), &fields,
                              st) < 0)
        return -1;
    range.hash = index_pick(range.kind, &labels, &fields);
    if (rows_scan(o->call->server->rest, &range, add_session, s, st) < 0)
        return -1;
    if (s->n)
        qsort(s->ops, s->n, sizeof(*s->ops), by_age);
    return 0;
}

/* ---- the object ---- */

static struct json time_value(struct arena *a, int64_t s)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);

    return json_of_str((str){ text, time_format_seconds(text, s) });
}

static struct json user_value(struct arena *a, const struct session_order *o)
{
    struct json_object user = json_object_new(a);

    json_add(&user, STR("name"), json_of_str(o->user));
    json_add(&user, STR("uid"), json_of_str(o->uid));
    if (o->times_disabled)
        json_add(&user, STR("timesDisabled"), json_of_int(o->times_disabled));
    return json_object_value(&user);
}

static struct json spec_value(struct arena *a, const struct session_order *o)
{
    struct json_object spec = json_object_new(a);
    str agent = call_header(o->call, "user-agent");

    json_add(&spec, STR("user"), user_value(a, o));
    json_add(&spec, STR("passwordFingerprint"), json_of_str(o->fingerprint));
    json_add(&spec, STR("issued"), time_value(a, o->now_s));
    json_add(&spec, STR("expires"), time_value(a, o->expires_s));
    json_add(&spec, STR("remote"), json_of_str(audit_address(o->call->remote)));
    if (str_utf8_valid(agent))
        json_add(&spec, STR("userAgent"), json_of_str(str_sub(agent, 0, AGENT_MAX)));
    return json_object_value(&spec);
}

/* It goes with its user. */
static struct json meta_value(struct arena *a, const struct session_order *o)
{
    struct json_object meta = json_object_new(a), ref = json_object_new(a);
    struct json_array refs = json_array_new(a);
    char *name = arena_alloc(a, UUID_SIZE);

    uuid_v4(name);
    json_add(&ref, STR("apiVersion"), json_of_str(STR("iam.kairship.io/v1alpha1")));
    json_add(&ref, STR("kind"), json_of_str(STR("User")));
    json_add(&ref, STR("name"), json_of_str(o->user));
    json_add(&ref, STR("uid"), json_of_str(o->uid));
    json_push(&refs, json_object_value(&ref));
    json_add(&meta, STR("name"), json_of_str((str){ name, UUID_LEN }));
    json_add(&meta, STR("ownerReferences"), json_array_value(&refs));
    return json_object_value(&meta);
}

static str body_of(const struct session_order *o)
{
    struct arena *a = o->call->arena;
    struct json_object body = json_object_new(a);

    json_add(&body, STR("apiVersion"), json_of_str(STR("iam.kairship.io/v1alpha1")));
    json_add(&body, STR("kind"), json_of_str(STR("Session")));
    json_add(&body, STR("metadata"), meta_value(a, o));
    json_add(&body, STR("spec"), spec_value(a, o));
    return json_text(a, json_object_done(&body));
}

static void answered(struct rest_request *req, const struct rest_reply *reply)
{
    struct session_order *o = req->user;
    struct status *st = call_status(o->call);
    const struct json *session = NULL;
    scoped_buf text = { .max = 1 << 20 };

    if (reply->failure) {
        o->made(o, NULL, reply->failure);
        return;
    }
    for (size_t i = 0; i < reply->npieces; i++)
        buf_str_append(&text, reply->pieces[i]);
    if (json_parse(o->call->arena, str_dup(o->call->arena, buf_str(&text)), NULL, &session, st) < 0)
        o->made(o, NULL, st);
    else
        o->made(o, session, NULL);
}

static void create(struct session_order *o)
{
    struct call *c = o->call;
    struct identity *who = arena_new_of(c->arena, struct identity);

    *who = (struct identity){ .user = STR(USER),
                              .rights = rbac_builtins_find(c->server->builtins, STR(USER)) };
    o->req = (struct rest_request){ .rest = c->server->rest,
                                    .arena = c->arena,
                                    .loop = c->loop,
                                    .whose = c->rest.whose,
                                    .who = who,
                                    .admitter = c->server,
                                    .instance = c->rest.instance,
                                    .catalog = c->rest.catalog,
                                    .kind = kind_of("sessions"),
                                    .verb = VERB_CREATE,
                                    .write.field_manager = STR("kairship-login"),
                                    .body = body_of(o),
                                    .done = answered,
                                    .user = o };
    rest_serve(&o->req);
}

/* One that has changed meanwhile stays: the next login finds it. */
static void make_room(struct session_order *o)
{
    if (!o->too_many) {
        create(o);
        return;
    }
    o->too_many--;
    o->txn.ops = o->oldest++;
    store_commit(o->call->server->store, &o->txn);
}

static void made_room(struct store_txn *txn)
{
    make_room((struct session_order *)(void *)((char *)txn - offsetof(struct session_order, txn)));
}

/* Each in a transaction of its own: a watch that resumes between two misses none. */
void session_make(struct session_order *o)
{
    struct status *st = call_status(o->call);
    struct sessions all;
    size_t n;

    if (sessions_of(o, &all, st) < 0) {
        o->made(o, NULL, st);
        return;
    }
    n = all.n < SESSIONS_MAX ? 0 : all.n - SESSIONS_MAX + 1;
    o->too_many = n < ENDED_MAX ? n : ENDED_MAX;
    o->oldest = all.ops;
    o->txn = (struct store_txn){ .nops = 1, .loop = o->call->loop, .done = made_room };
    make_room(o);
}

/* ---- the end ---- */

int session_is_over(struct server *s, struct arena *a, const struct json *session, int64_t now_s,
                    struct status *st)
{
    str name = json_get_str(session, "spec.user.name");
    const struct kind *secrets = catalog_find_kind(kinds_catalog_root(), STR("v1"), STR("Secret"));
    const struct json *user, *kept;
    int64_t expires;
    int found;

    if (!time_parse_seconds(json_get_str(session, "spec.expires"), &expires) || expires <= now_s)
        return 1;
    found = lookup_plain(s->rest, a, &root, kind_of("users"), STR_NONE, name, &user, st);
    if (found <= 0)
        return found < 0 ? -1 : 1;
    if (!str_eq(json_get_str(user, "metadata.uid"), json_get_str(session, "spec.user.uid")) ||
        json_bool(json_path(user, "spec.disabled")) ||
        session_times_disabled(user) != json_int(json_path(session, "spec.user.timesDisabled"), 0))
        return 1;
    found = lookup_plain(s->rest, a, &root, secrets, STR("kube-system"),
                         session_secret_name(a, name), &kept, st);
    if (found <= 0)
        return found < 0 ? -1 : 1;
    return !str_eq(session_fingerprint(a, kept), json_get_str(session, "spec.passwordFingerprint"));
}
