/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/member.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/http_transport.h"
#include "fleet/member_config.h"

enum {
    TIMEOUT_MS = 30000,
    CONNECT_MS = 5000,
    REPLY_MAX = 64 << 20, /* a page of a list is some MiB */
    IDLE_MS = 120000,     /* nobody has asked for so long: the connection is closed */
    SWEEP_MS = 30000,     /* how often that is looked at, when somebody asks */
};

static const struct {
    const char *group, *version;
} doors[MEMBER_DOORS] = {
    [MEMBER_KARMADA] = { "cluster.karmada.io", "v1alpha1" },
    [MEMBER_KCP] = { "workload.kcp.dev", "v1alpha1" },
    [MEMBER_REGISTRY] = { "fleet.kairship.io", "v1alpha1" },
};

struct fleet { /* touched on its loop's thread only */
    struct client *control;
    struct loop *loop;
    struct fleet_options o;
    struct map members; /* key -> struct member, of which the map holds a reference */
    uint64_t k0, k1;    /* of fingerprints */
    int64_t swept_ms;
};

struct member {
    atomic_uint refs;
    struct fleet *fleet;
    struct loop *loop;
    str key;
    uint64_t print[2]; /* of all that the connection was made of */
    int64_t used_ms;
    struct client_transport *transport; /* the client's */
    struct client *client;
};

/* ---- members ---- */

struct member *member_ref(struct member *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

static void destroy(void *arg)
{
    struct member *m = arg;

    client_free(m->client);
    free(m);
}

void member_unref(struct member *m)
{
    /* A callback of the connection may be our caller: so it goes in a turn of its own. */
    if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        loop_call(m->loop, destroy, m);
}

struct client *member_client(const struct member *m)
{
    return m->client;
}

struct client_transport *member_transport(const struct member *m)
{
    return m->transport;
}

/* ---- the fleet ---- */

struct fleet *fleet_new(struct client *control, const struct fleet_options *o)
{
    struct fleet *f = mem_zalloc(sizeof(*f));

    f->control = control;
    f->loop = client_loop(control);
    if (o)
        f->o = *o;
    if (!f->o.egress)
        f->o.egress = &egress_default;
    if (!f->o.timeout_ms)
        f->o.timeout_ms = TIMEOUT_MS;
    if (!f->o.connect_ms)
        f->o.connect_ms = CONNECT_MS;
    if (!f->o.reply_max)
        f->o.reply_max = REPLY_MAX;
    f->k0 = rand_u64();
    f->k1 = rand_u64();
    return f;
}

void fleet_free(struct fleet *f)
{
    size_t at = 0;
    void *m;
    str key;

    if (!f)
        return;
    while (map_each(&f->members, &at, &key, &m)) {
        assert(atomic_load(&((struct member *)m)->refs) == 1);
        destroy(m);
    }
    map_release(&f->members);
    free(f);
}

struct loop *fleet_loop(const struct fleet *f)
{
    return f->loop;
}

static void drop(struct fleet *f, struct member *m)
{
    (void)map_remove(&f->members, m->key);
    member_unref(m);
}

/* Connections that nobody uses any more; in turns of few, so that the loop is not held up. */
static void sweep(struct fleet *f)
{
    enum { TURN = 64 };
    int64_t now = loop_now_ms(f->loop);
    struct member *idle[TURN];
    size_t at = 0, n = 0;
    void *m;
    str key;

    if (now - f->swept_ms < SWEEP_MS)
        return;
    f->swept_ms = now;
    while (n < TURN && map_each(&f->members, &at, &key, &m)) {
        struct member *mm = m;

        if (atomic_load(&mm->refs) == 1 && now - mm->used_ms > IDLE_MS)
            idle[n++] = mm;
    }
    for (size_t i = 0; i < n; i++)
        drop(f, idle[i]);
}

static str key_text(struct arena *a, const struct member_name *n)
{
    return str_printf(a, "%d%c/%.*s/%.*s", (int)n->door, n->impersonator ? 'i' : 'm',
                      STR_ARG(n->instance), STR_ARG(n->cluster));
}

static void fingerprint(const struct fleet *f, struct arena *a, const struct kubeconfig *k,
                        uint64_t out[2])
{
    str groups = STR_NONE, all;

    for (size_t i = 0; i < k->nas_groups; i++)
        groups = str_printf(a, "%.*s\n%.*s", STR_ARG(groups), STR_ARG(k->as_groups[i]));
    all = str_printf(a, "%.*s\n%.*s\n%d\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s",
                     STR_ARG(k->server), STR_ARG(k->server_name), k->insecure, STR_ARG(k->ca_pem),
                     STR_ARG(k->cert_pem), STR_ARG(secret_reveal(k->key_pem)),
                     STR_ARG(secret_reveal(k->token)), STR_ARG(k->username),
                     STR_ARG(secret_reveal(k->password)), STR_ARG(k->as), STR_ARG(k->as_uid),
                     STR_ARG(groups));
    out[0] = str_hash(all, f->k0, f->k1);
    out[1] = str_hash(all, ~f->k1, f->k0);
}

static struct member *connect_member(struct fleet *f, str key, const struct kubeconfig *k,
                                     const uint64_t print[2], struct status *st)
{
    const struct http_transport_bounds bounds = { .guard = egress_guard(f->o.egress),
                                                  .connect_ms = f->o.connect_ms,
                                                  .window = f->o.window };
    struct client_transport *t = http_transport_guarded(f->loop, k, &bounds, st);
    struct member *m;
    char *text;

    if (!t) {
        st->reason = REASON_INVALID; /* a certificate or a key that is none */
        return NULL;
    }
    m = mem_zalloc(sizeof(*m) + key.n);
    text = (char *)(m + 1);
    memcpy(text, key.p, key.n);
    m->key = (str){ text, key.n };
    m->refs = 1;
    m->fleet = f;
    m->loop = f->loop;
    memcpy(m->print, print, sizeof(m->print));
    m->transport = t;
    m->client = client_new(t);
    client_set_name(m->client, str_from(m->key, strlen("0m/")));
    client_limit(m->client, f->o.timeout_ms, f->o.reply_max);
    (void)map_put(&f->members, m->key, m);
    return m;
}

/* The one of before if nothing has changed.  A reference for the caller, or NULL and why. */
static struct member *member_for(struct fleet *f, struct arena *a, str key,
                                 const struct kubeconfig *k, struct status *st)
{
    struct member *m = map_get(&f->members, key);
    uint64_t print[2];

    fingerprint(f, a, k, print);
    if (m && memcmp(m->print, print, sizeof(print)) != 0) {
        drop(f, m);
        m = NULL;
    }
    if (!m)
        m = connect_member(f, key, k, print, st);
    if (!m)
        return NULL;
    m->used_ms = loop_now_ms(f->loop);
    return member_ref(m);
}

/* ---- questions ---- */

enum step { READ_CLUSTER, READ_SECRET, READ_CA };

struct question {
    struct fleet *fleet;
    struct fleet_lookup *user;
    struct arena *arena;
    struct member_name name;
    struct member_config_options o;
    enum step step;
    const struct json *cluster, *secret, *ca;
    struct client_call call;
};

static void question_free(struct question *q)
{
    q->user->impl = NULL;
    arena_free(q->arena);
    free(q);
}

static void finish(struct question *q, struct member *m, const struct status *why)
{
    struct fleet_lookup *l = q->user;
    struct member *old = m ? NULL : map_get(&q->fleet->members, key_text(q->arena, &q->name));
    struct status st;

    /* The Cluster or what makes it usable has gone: so does the connection. */
    if (old && (status_is(why, REASON_NOT_FOUND) || status_is(why, REASON_INVALID)))
        drop(q->fleet, old);
    status_init(&st, l->arena);
    if (!m)
        status_copy(&st, why);
    question_free(q);
    l->done(l, m, m ? NULL : &st);
}

static void connect_now(struct question *q)
{
    struct kubeconfig k;
    struct member *m = NULL;
    struct status st;

    status_init(&st, q->arena);
    if (member_config_read(q->arena, q->cluster, q->secret, q->ca, &q->o, &k, &st) == 0)
        m = member_for(q->fleet, q->arena, key_text(q->arena, &q->name), &k, &st);
    finish(q, m, &st);
}

static void ask(struct question *q, const struct client_ref *ref)
{
    q->call.req = client_request_get(q->arena, ref);
    client_call(q->fleet->control, &q->call);
}

static bool ask_secret(struct question *q, enum step step)
{
    struct member_config_options o = q->o;
    struct client_ref ref = { .instance = q->name.instance,
                              .version = STR("v1"),
                              .resource = STR("secrets") };

    if (step == READ_CA)
        o.impersonator = false;
    if (!member_config_secret(q->cluster, &o, &ref.namespace, &ref.name))
        return false;
    q->step = step;
    ask(q, &ref);
    return true;
}

static void answered(struct client_call *call, const struct json *object, const struct status *why)
{
    struct question *q = call->user;

    if (why && (q->step == READ_CLUSTER || !status_is(why, REASON_NOT_FOUND))) {
        finish(q, NULL, why);
        return;
    }
    switch (q->step) {
    case READ_CLUSTER:
        q->cluster = object;
        if (ask_secret(q, READ_SECRET))
            return;
        break;
    case READ_SECRET:
        q->secret = object;
        if (q->o.impersonator && ask_secret(q, READ_CA))
            return;
        break;
    case READ_CA:
        q->ca = object;
        break;
    }
    connect_now(q);
}

void fleet_lookup(struct fleet *f, const struct member_name *name, struct fleet_lookup *l)
{
    struct question *q = mem_zalloc(sizeof(*q));
    struct client_ref ref = { .group = str_of(doors[name->door].group),
                              .version = str_of(doors[name->door].version),
                              .resource = STR("clusters") };

    assert(loop_is_current(f->loop));
    sweep(f);
    q->fleet = f;
    q->user = l;
    q->arena = arena_new();
    q->name = *name;
    q->name.instance = str_dup(q->arena, name->instance);
    q->name.cluster = str_dup(q->arena, name->cluster);
    q->o = (struct member_config_options){ .impersonator = name->impersonator,
                                           .insecure = f->o.insecure };
    q->call.arena = q->arena;
    q->call.done = answered;
    q->call.user = q;
    l->impl = q;
    ref.instance = q->name.instance;
    ref.name = q->name.cluster;
    ask(q, &ref);
}

void fleet_lookup_cancel(struct fleet_lookup *l)
{
    struct question *q = l->impl;

    if (!q)
        return;
    client_call_cancel(&q->call);
    question_free(q);
}

/* ---- blocking ---- */

struct waiting {
    struct loop_msg msg;
    struct fleet_lookup lookup;
    struct fleet *fleet;
    const struct member_name *name;
    struct member *member;
    struct status *st;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool over; /* guarded by mu */
};

static void wait_done(struct fleet_lookup *l, struct member *m, const struct status *why)
{
    struct waiting *w = l->user;

    w->member = m;
    if (!m)
        status_copy(w->st, why);
    (void)pthread_mutex_lock(&w->mu);
    w->over = true;
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->mu);
}

static void wait_start(struct loop_msg *msg)
{
    struct waiting *w = (struct waiting *)msg;

    fleet_lookup(w->fleet, w->name, &w->lookup);
}

int fleet_member(struct fleet *f, struct arena *a, const struct member_name *name,
                 struct member **out, struct status *st)
{
    struct waiting w = { .msg.fn = wait_start, .fleet = f, .name = name, .st = st };

    assert(!loop_is_current(f->loop)); /* it would wait for itself */
    w.lookup = (struct fleet_lookup){ .arena = a, .done = wait_done, .user = &w };
    (void)pthread_mutex_init(&w.mu, NULL);
    (void)pthread_cond_init(&w.cond, NULL);
    loop_post(f->loop, &w.msg);
    (void)pthread_mutex_lock(&w.mu);
    while (!w.over)
        (void)pthread_cond_wait(&w.cond, &w.mu);
    (void)pthread_mutex_unlock(&w.mu);
    (void)pthread_cond_destroy(&w.cond);
    (void)pthread_mutex_destroy(&w.mu);
    if (!w.member)
        return -1;
    *out = w.member;
    return 0;
}
