/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/oidc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/auth/answer_cache.h"
#include "apiserver/auth/authn_claims.h"
#include "apiserver/auth/issuer_keys.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/verify.h"

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))
#define WELL_KNOWN                 "/.well-known/openid-configuration"

/* Where an issuer's keys are from, and the keys.  Outlives configurations that name it. */
struct source {
    atomic_uint refs;
    struct arena *arena;
    str issuer, document, ca_pem;
    _Atomic(struct issuer_keys *) keys; /* NULL: none yet */
    atomic_llong fetched_ms;
    pthread_mutex_t mu; /* of all below */
    bool fetching;
    int64_t next_ms; /* not before */
    unsigned failures;
    unsigned char hash[SHA256_SIZE]; /* of the set that was read last */
    struct oidc_wait *waiting;
    size_t nwaiting;
};

/* Frozen: what was loaded last. */
struct setup {
    struct authn_config *config;
    struct source *sources[AUTHN_ISSUERS_MAX]; /* as the issuers */
};

struct oidc {
    struct oidc_options o;
    char *own_issuer;
    _Atomic(struct setup *) setup;    /* never NULL */
    atomic_uint_least64_t generation; /* of what is remembered: keys or setup have changed */
    struct answer_cache *remembered;
};

/* ---- sources ---- */

static void source_unref(struct source *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    issuer_keys_free(atomic_load(&s->keys));
    (void)pthread_mutex_destroy(&s->mu);
    arena_free(s->arena);
    free(s);
}

static str document_of(struct arena *a, const struct authn_issuer *i)
{
    str url = i->url;

    if (i->discovery_url.n)
        return str_dup(a, i->discovery_url);
    if (str_ends(url, STR("/")))
        url.n--;
    return str_printf(a, "%.*s" WELL_KNOWN, STR_ARG(url));
}

static struct source *source_new(const struct authn_issuer *i)
{
    struct source *s = mem_zalloc(sizeof(*s));

    atomic_init(&s->refs, 1);
    (void)pthread_mutex_init(&s->mu, NULL);
    s->arena = arena_new();
    s->issuer = str_dup(s->arena, i->url);
    s->document = document_of(s->arena, i);
    s->ca_pem = str_dup(s->arena, i->ca_pem);
    s->next_ms = INT64_MIN;
    return s;
}

static bool is_source_of(const struct source *s, struct arena *a, const struct authn_issuer *i)
{
    return str_eq(s->issuer, i->url) && str_eq(s->ca_pem, i->ca_pem) &&
           str_eq(s->document, document_of(a, i));
}

/* ---- the setup ---- */

static void setup_free(void *arg)
{
    struct setup *u = arg;

    for (size_t i = 0; u->config && i < u->config->nissuers; i++)
        source_unref(u->sources[i]);
    authn_config_free(u->config);
    free(u);
}

static struct source *source_for(const struct setup *old, const struct authn_issuer *i)
{
    scoped_arena a = arena_new();

    for (size_t k = 0; old->config && k < old->config->nissuers; k++)
        if (is_source_of(old->sources[k], a, i)) {
            (void)atomic_fetch_add(&old->sources[k]->refs, 1);
            return old->sources[k];
        }
    return source_new(i);
}

int oidc_load(struct oidc *o, str text, struct status *st)
{
    struct authn_config *config = authn_config_read(text, o->o.own_issuer, st);
    struct setup *u;

    if (!config)
        return -1;
    u = mem_zalloc(sizeof(*u));
    u->config = config;
    for (size_t i = 0; i < config->nissuers; i++)
        u->sources[i] = source_for(atomic_load(&o->setup), &config->issuers[i]);
    u = atomic_exchange(&o->setup, u);
    (void)atomic_fetch_add(&o->generation, 1);
    epoch_retire(setup_free, u);
    return 0;
}

bool oidc_open(const struct oidc *o, str path)
{
    const struct setup *u = atomic_load_explicit(&o->setup, memory_order_acquire);

    return !u->config || authn_config_open(u->config, path);
}

struct oidc *oidc_new(const struct oidc_options *options)
{
    struct oidc *o = mem_zalloc(sizeof(*o));

    o->o = *options;
    o->own_issuer = mem_dup(options->own_issuer.p, options->own_issuer.n);
    o->o.own_issuer.p = o->own_issuer;
    if (!o->o.algs)
        o->o.algs = ~0U;
    o->remembered = answer_cache_new();
    atomic_store(&o->setup, mem_zalloc(sizeof(struct setup)));
    return o;
}

void oidc_free(struct oidc *o)
{
    if (!o)
        return;
    setup_free(atomic_load(&o->setup));
    answer_cache_free(o->remembered);
    free(o->own_issuer);
    free(o);
}

/* ---- fetching: the discovery document, then the key set ---- */

struct fetch {
    struct callout callout; /* first */
    struct oidc *oidc;
    struct source *source;
    struct arena *arena; /* its own */
};

static void ready(struct loop_msg *msg)
{
    struct oidc_wait *w = CONTAINER(msg, struct oidc_wait, msg);

    w->ready(w);
}

static int64_t backoff_ms(unsigned failures)
{
    int64_t ms = OIDC_BACKOFF_MS;

    while (--failures && ms < OIDC_BACKOFF_MAX_MS)
        ms *= 2;
    return ms < OIDC_BACKOFF_MAX_MS ? ms : OIDC_BACKOFF_MAX_MS;
}

static void fetch_end(struct fetch *f, const struct status *why)
{
    struct source *s = f->source;
    int64_t now = clock_now_ms(f->oidc->o.clock);
    struct oidc_wait *waiting;

    if (why)
        log_warn("an issuer's keys cannot be read", log_str("issuer", s->issuer),
                 log_str("why", why->message));
    (void)pthread_mutex_lock(&s->mu);
    s->failures = why ? s->failures + 1 : 0;
    s->next_ms = now + (why ? backoff_ms(s->failures) : OIDC_GAP_MS);
    s->fetching = false;
    waiting = s->waiting;
    s->waiting = NULL;
    s->nwaiting = 0;
    (void)pthread_mutex_unlock(&s->mu);
    while (waiting) {
        struct oidc_wait *w = waiting;

        waiting = w->next;
        w->msg.fn = ready;
        loop_post(w->loop, &w->msg);
    }
    source_unref(s);
    arena_free(f->arena);
}

/* The same set again changes nothing, so what is remembered stays. */
static void take_keys(struct oidc *o, struct source *s, str text, struct issuer_keys *keys)
{
    unsigned char hash[SHA256_SIZE];
    bool same;

    sign_sha256(text, hash);
    (void)pthread_mutex_lock(&s->mu);
    same = atomic_load(&s->keys) && memcmp(hash, s->hash, SHA256_SIZE) == 0;
    memcpy(s->hash, hash, SHA256_SIZE);
    (void)pthread_mutex_unlock(&s->mu);
    atomic_store(&s->fetched_ms, clock_now_ms(o->o.clock));
    if (same) {
        issuer_keys_free(keys);
        return;
    }
    log_info("an issuer's keys are read", log_str("issuer", s->issuer),
             log_int("keys", (int64_t)issuer_keys_count(keys)));
    keys = atomic_exchange(&s->keys, keys);
    (void)atomic_fetch_add(&o->generation, 1);
    if (keys)
        epoch_retire(issuer_keys_free, keys);
}

static void ask(struct fetch *f, str url,
                void (*done)(struct callout *c, str reply, const struct status *why))
{
    static const struct http_header headers[] = {
        { STR_INIT("accept"), STR_INIT("application/json") },
        { STR_INIT("user-agent"), STR_INIT("kairship") },
    };

    f->callout = (struct callout){ .url = url,
                                   .headers = headers,
                                   .nheaders = sizeof(headers) / sizeof(*headers),
                                   .ca_pem = f->source->ca_pem,
                                   .timeout_ms = OIDC_FETCH_MS,
                                   .get = true,
                                   .operators = true,
                                   .reply_max = ISSUER_DOCUMENT_MAX,
                                   .done = done };
    f->oidc->o.get(f->oidc->o.arg, &f->callout);
}

static void on_keys(struct callout *c, str reply, const struct status *why)
{
    struct fetch *f = (struct fetch *)(void *)c;
    struct issuer_keys *keys;
    struct status st;

    status_init(&st, f->arena);
    keys = why ? NULL : issuer_keys_read(reply, &st);
    if (keys)
        take_keys(f->oidc, f->source, reply, keys);
    fetch_end(f, why ? why : keys ? NULL : &st);
}

static void on_discovery(struct callout *c, str reply, const struct status *why)
{
    struct fetch *f = (struct fetch *)(void *)c;
    struct status st;
    str uri;

    status_init(&st, f->arena);
    if (why || issuer_discovery_read(f->arena, reply, f->source->issuer, &uri, &st) < 0)
        fetch_end(f, why ? why : &st);
    else
        ask(f, str_dup(f->arena, uri), on_keys);
}

static void fetch_start(struct oidc *o, struct source *s)
{
    struct arena *a = arena_new();
    struct fetch *f = arena_new_of(a, struct fetch);

    *f = (struct fetch){ .oidc = o, .source = s, .arena = a };
    (void)atomic_fetch_add(&s->refs, 1);
    ask(f, s->document, on_discovery);
}

/* Looks for keys if it is time to.  True: some are on their way, and `wait` will hear of it. */
static bool want_keys(struct oidc *o, struct source *s, struct oidc_wait *wait)
{
    bool start, waits = false;

    (void)pthread_mutex_lock(&s->mu);
    start = !s->fetching && clock_now_ms(o->o.clock) >= s->next_ms;
    s->fetching = s->fetching || start;
    if (s->fetching && wait && s->nwaiting < OIDC_WAITING_MAX) {
        wait->next = s->waiting;
        s->waiting = wait;
        s->nwaiting++;
        waits = true;
    }
    (void)pthread_mutex_unlock(&s->mu);
    if (start)
        fetch_start(o, s);
    return waits;
}

/* ---- tokens ---- */

static int refuse(struct status *st, const char *why)
{
    return status_set(st, REASON_UNAUTHORIZED, "oidc: verify token: %s", why);
}

/* OIDC_YES: the signature is good. */
static enum oidc_answer check_signature(struct oidc *o, struct source *s, const struct jwt *t,
                                        struct oidc_wait *wait, struct status *st)
{
    for (;;) {
        struct issuer_keys *keys = atomic_load_explicit(&s->keys, memory_order_acquire);
        enum issuer_verdict verdict = keys ? issuer_keys_check(keys, t) : ISSUER_UNKNOWN;

        if (verdict == ISSUER_GOOD)
            return OIDC_YES;
        if (verdict == ISSUER_UNKNOWN && want_keys(o, s, wait))
            return OIDC_LATER;
        if (verdict == ISSUER_BAD || atomic_load(&s->keys) == keys) {
            (void)refuse(st, keys ? "failed to verify id token signature"
                                  : "the keys of the issuer are not known");
            return OIDC_NO;
        }
    }
}

static void refresh(struct oidc *o, struct source *s)
{
    if (clock_now_ms(o->o.clock) - atomic_load(&s->fetched_ms) > OIDC_REFRESH_MS)
        (void)want_keys(o, s, NULL);
}

/* Whose token it says to be decides whose keys are asked; nothing else is read before they are. */
static bool find_issuer(const struct setup *u, const struct json *claims, size_t *at)
{
    str iss = json_get_str(claims, "iss");

    for (*at = 0; iss.n && u->config && *at < u->config->nissuers; ++*at)
        if (str_eq(u->config->issuers[*at].url, iss))
            return true;
    return false;
}

static void remember(struct oidc *o, const unsigned char hash[SHA256_SIZE], uint64_t generation,
                     const struct identity *who, int64_t expires)
{
    struct answer_cache_answer answer = { .yes = true, .who = *who };
    int64_t now = clock_now_ms(o->o.clock), wall = clock_wall_us(o->o.clock) / 1000;
    int64_t ms = OIDC_REMEMBER_MS;

    if (expires < wall / 1000 + OIDC_REMEMBER_MS / 1000)
        ms = expires * 1000 - wall;
    answer_cache_put(o->remembered, hash, generation, now, now + ms, &answer);
}

static enum oidc_answer check_new(struct oidc *o, struct arena *a, secret token,
                                  const unsigned char hash[SHA256_SIZE], struct oidc_wait *wait,
                                  struct identity *who, struct status *st)
{
    const struct setup *u = atomic_load_explicit(&o->setup, memory_order_acquire);
    uint64_t generation = atomic_load(&o->generation);
    int64_t now_s = clock_wall_s(o->o.clock), expires;
    const struct json *claims;
    enum oidc_answer answer;
    struct jwt jwt;
    size_t at;

    if (!u->config || !u->config->nissuers || !jwt_parse(a, token, &jwt))
        return OIDC_OTHER;
    claims = jwt_claims(a, &jwt);
    if (!find_issuer(u, claims, &at))
        return OIDC_OTHER;
    if (!(verify_alg(jwt.alg) & o->o.algs)) {
        (void)refuse(st, "the token is signed with an algorithm that is not taken");
        return OIDC_NO;
    }
    answer = check_signature(o, u->sources[at], &jwt, wait, st);
    if (answer != OIDC_YES)
        return answer;
    refresh(o, u->sources[at]);
    if (authn_claims_map(a, &u->config->issuers[at], claims, now_s, who, &expires, st) < 0)
        return OIDC_NO;
    remember(o, hash, generation, who, expires);
    return OIDC_YES;
}

enum oidc_answer oidc_check(struct oidc *o, struct arena *a, secret token, struct oidc_wait *wait,
                            struct identity *who, struct status *st)
{
    unsigned char hash[SHA256_SIZE];
    const struct answer_cache_answer *known;

    sign_sha256(secret_reveal(token), hash);
    known = answer_cache_get(o->remembered, a, hash, atomic_load(&o->generation),
                             clock_now_ms(o->o.clock));
    if (!known)
        return check_new(o, a, token, hash, wait, who, st);
    *who = known->who;
    return OIDC_YES;
}
