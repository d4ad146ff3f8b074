/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/server.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/event_rate.h"
#include "apiserver/admission/hooks.h"
#include "apiserver/admission/quota_gate.h"
#include "apiserver/audit/audit.h"
#include "apiserver/audit/audit_records.h"
#include "apiserver/auth/authn_token.h"
#include "apiserver/auth/keys.h"
#include "apiserver/auth/oidc.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/auth/rbac_builtin.h"
#include "apiserver/auth/verdict_review.h"
#include "apiserver/call/catalogs.h"
#include "apiserver/call/health.h"
#include "apiserver/call/instance_limits.h"
#include "apiserver/call/internal.h"
#include "apiserver/discovery/docs.h"
#include "apiserver/flow/flow.h"
#include "apiserver/outbound/apiservices.h"
#include "apiserver/outbound/backends.h"
#include "apiserver/outbound/callout.h"
#include "apiserver/outbound/convert.h"
#include "apiserver/server/dispatch_check.h"
#include "apiserver/server/encryption.h"
#include "apiserver/server/http_entry.h"
#include "apiserver/server/mount_requests.h"
#include "apiserver/upkeep/aggregator.h"
#include "apiserver/upkeep/garbage.h"
#include "apiserver/upkeep/upkeep.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "kinds/defaults.h"

enum {
    MAX_READS = 400,
    MAX_WRITES = 200,
    DOCS_MAX = 16 << 20,
    RBAC_MAX = 16 << 20, /* roles and bindings of instances that have some of their own */
    WORKERS = 4,
    JOBS_MAX = 256,
    FRONT_CA_DAYS = 3650,
    IDLE_POLL_MS = 5
};

/* What others look at after a write. */
static void committed(struct rest_request *req, const struct json *obj, bool removed)
{
    struct server *s = req->admitter;

    garbage_note(s->garbage, req, obj, removed);
    upkeep_note(s->upkeep, req);
    aggregator_note(s->aggregator, req, obj);
}

static const struct rest_admission admission = { .mutate = admission_mutate,
                                                 .mutate_far = admission_mutate_far,
                                                 .validate = admission_validate,
                                                 .charge = admission_charge,
                                                 .charged = admission_charged,
                                                 .committed = committed };

struct type_ids {
    struct type_batch batch;
    struct status *st;
    bool failed;
};

static uint32_t ask_type_id(void *arg, str group, str plural)
{
    struct type_ids *t = arg;
    uint32_t id = 0;

    if (!t->failed && type_batch_id(&t->batch, group, plural, &id, t->st) < 0)
        t->failed = true;
    return id;
}

static int store_is_well(void *arg, struct status *st)
{
    struct store_stats stats;

    store_stats(arg, &stats);
    if (!stats.read_only)
        return 0;
    return status_errno(st, stats.last_error, "the store does not take writes");
}

static int open_kinds(struct server *s, str ca_pem, struct status *st)
{
    scoped_arena a = arena_new();
    struct type_ids ids = { .batch = { .store = s->store, .arena = a }, .st = st };
    struct installation here;
    const struct json *defaults;

    if (kinds_init(ask_type_id, &ids, st) < 0 || ids.failed ||
        type_batch_commit(&ids.batch, st) < 0 || dispatch_check(a, kinds_catalog_root(), st) < 0 ||
        mounts_check(a, s->mounts, s->nmounts, kinds_catalog_root(), st) < 0)
        return -1;
    s->catalogs = catalogs_new(s);
    s->garbage = garbage_new(s);
    s->aggregator = aggregator_new(s);
    if (installation_open(s->store, s->rest, a, &here, st) < 0 ||
        defaults_make(a, ca_pem, &here, &defaults, st) < 0 ||
        rest_write_templates(s->rest, kinds_catalog_root(), defaults, st) < 0 ||
        installation_opened(s->store, st) < 0)
        return -1;
    return kinds_upgrade(s->rest, st);
}

/* Without keys of the caller's, one that no other process knows. */
static int open_keys(struct server *s, const struct server_options *o, struct status *st)
{
    secret own;

    s->keys = keys_new();
    if (o->ntoken_keys)
        return keys_load(s->keys, o->token_keys, o->ntoken_keys, st);
    if (sign_key_make(s->arena, &own, st) < 0)
        return -1;
    return keys_load(s->keys, &own, 1, st);
}

static void start_callout(void *arg, struct callout *c)
{
    callout_start(arg, loop_current(), c);
}

/* Issuers elsewhere. */
static int open_issuers(struct server *s, const struct server_options *o, str own,
                        struct status *st)
{
    s->oidc = oidc_new(&(struct oidc_options){ .clock = s->clock,
                                               .own_issuer = own,
                                               .algs = o->oidc_algs,
                                               .get = start_callout,
                                               .arg = s });
    return o->authentication.n ? oidc_load(s->oidc, o->authentication, st) : 0;
}

static struct verdicts *open_webhook(struct server *s, const struct verdict_source *source,
                                     str audience, verdict_read *read)
{
    if (!source)
        return NULL;
    return verdicts_new(&(struct verdicts_options){ .clock = s->clock,
                                                    .source = source,
                                                    .audience = str_dup(s->arena, audience),
                                                    .read = read,
                                                    .ask = start_callout,
                                                    .arg = s });
}

/* Behind the kinds: who a token is for is looked up among them. */
static int open_tokens(struct server *s, const struct server_options *o, struct status *st)
{
    struct authn_token_options tokens = {
        .rest = s->rest,
        .store = s->store,
        .catalog = kinds_catalog_root(),
        .clock = s->clock,
        .issuer = o->issuer.n ? o->issuer : STR("https://kubernetes.default.svc"),
    };
    struct instance root;
    int rc;

    if (open_keys(s, o, st) < 0)
        return -1;
    epoch_enter();
    rc = instance_find(rest_instances(s->rest), s->arena, STR_NONE, &root, st);
    epoch_exit();
    if (rc < 0)
        return -1;
    s->root_uid = str_dup(s->arena, root.uid);
    s->signer = (struct pki_pair){ .cert = str_dup(s->arena, o->signer_cert_pem),
                                   .key_pem = secret_dup(s->arena, o->signer_key_pem) };
    tokens.keys = s->keys;
    s->tokens = authn_token_new(&tokens);
    s->token_verdicts = open_webhook(s, o->token_webhook, tokens.issuer, token_review_read);
    s->access_verdicts = open_webhook(s, o->access_webhook, tokens.issuer, access_review_read);
    return open_issuers(s, o, tokens.issuer, st);
}

static int open_front_proxy(struct server *s, const struct server_options *o, struct status *st)
{
    s->front_ca = (struct pki_pair){ .cert = str_dup(s->arena, o->front_cert_pem),
                                     .key_pem = secret_dup(s->arena, o->front_key_pem) };
    if (!secret_empty(s->front_ca.key_pem))
        return 0;
    return pki_make_ca(s->arena, STR("kairship-front-proxy"), clock_wall_s(clock_real()),
                       FRONT_CA_DAYS, &s->front_ca, st);
}

static int open_records(struct server *s, const struct server_options *o, struct status *st)
{
    const struct kind *k = catalog_find(kinds_catalog_root(), STR("audit.kairship.io"),
                                        STR("v1alpha1"), STR("records"));

    return o->audit && o->record_bytes ? audit_open_records(o->audit, s->rest, k, st) : 0;
}

/* Of the first certificate of the text. */
static int64_t end_of(str cert_pem)
{
    int64_t from, to;

    return pki_cert_times(cert_pem, &from, &to) ? to : 0;
}

int server_reload_certificate(struct server *s, str cert_pem, secret key_pem, struct status *st)
{
    if (http_server_reload(s->http, cert_pem, key_pem, st) < 0)
        return -1;
    s->serving_end = end_of(cert_pem);
    return 0;
}

int server_reload_keys(struct server *s, const secret *keys, size_t n, struct status *st)
{
    return keys_load(s->keys, keys, n, st);
}

int server_reload_authentication(struct server *s, str text, struct status *st)
{
    return oidc_load(s->oidc, text, st);
}

static int listen_on(struct server *s, const struct server_options *o, struct status *st)
{
    struct http_server_options http = {
        .listen = o->listen,
        .listener = o->listener,
        .loops = o->loops,
        .nloops = o->nloops,
        .limits = o->http,
        .cert_pem = o->cert_pem,
        .key_pem = o->key_pem,
        .client_ca_pem = o->client_ca_pem,
        .handler = http_entry_serve,
        .early = http_entry_early,
        .whose = http_entry_whose,
        .arg = s,
    };

    s->serving_end = end_of(o->cert_pem);
    s->ca_end = end_of(o->client_ca_pem);
    s->signer_end = end_of(o->signer_cert_pem);
    s->http = http_server_new(&http, st);
    if (s->http)
        egress_deny(&s->egress, http_server_address(s->http));
    return s->http ? 0 : -1;
}

static void set_admission(struct server *s, const struct admission_config *c)
{
    s->event_rate = event_rate_new(c ? c->limits : NULL, c ? c->nlimits : 0);
    s->limited = c ? c->limited : NULL;
    s->quota_gates = quota_gates_new();
}

static void set_upkeep(struct server *s, const struct server_options *o)
{
    s->upkeep =
        upkeep_new(s, &(struct upkeep_options){ .event_ttl_s = o->event_ttl_s,
                                                .record_ttl_s = o->record_ttl_s,
                                                .record_bytes = o->audit ? o->record_bytes : 0,
                                                .person_at = AUDIT_RECORD_PERSON_AT,
                                                .person_size = AUDIT_RECORD_PERSON_SIZE });
}

static void set_loops(struct server *s, const struct server_options *o)
{
    s->nloops = o->nloops;
    s->loops = mem_zalloc(o->nloops * sizeof(*s->loops));
    for (size_t i = 0; i < o->nloops; i++)
        s->loops[i] = (struct server_loop){ .sweep.fn = timeout_sweep, .loop = o->loops[i] };
}

struct server *server_new(const struct server_options *o, struct status *st)
{
    struct server *s = mem_zalloc(sizeof(*s));
    struct seal *seal = encryption_seal(o->encryption);
    struct rest_setup rest = { .store = o->store,
                               .seal = seal,
                               .loops = o->loops,
                               .nloops = o->nloops,
                               .clock = o->clock,
                               .admission = &admission,
                               .convert = server_convert,
                               .convert_cancel = server_convert_cancel };

    s->chain = &server_chain;
    s->store = o->store;
    s->clock = o->clock;
    s->egress.loopback = o->loopback_members;
    s->check_scripts = o->check_scripts;
    set_loops(s, o);
    s->max_reads = o->max_reads ? o->max_reads : MAX_READS;
    s->max_writes = o->max_writes ? o->max_writes : MAX_WRITES;
    s->limits = limits_new(&(struct instance_limits){ .objects = o->instance_objects,
                                                      .bytes = o->instance_bytes,
                                                      .in_flight = o->instance_in_flight,
                                                      .watches = o->instance_watches });
    set_admission(s, o->admission);
    set_upkeep(s, o);
    s->dir = o->dir;
    s->audit = o->audit;
    s->mounts = o->mounts;
    s->nmounts = o->nmounts;
    s->arena = arena_new();
    s->root_ca = str_dup(s->arena, o->root_ca_pem);
    s->workers = rest.workers = workers_new(WORKERS, JOBS_MAX);
    s->health = health_new();
    s->metrics = metrics_new();
    s->docs = docs_new(DOCS_MAX);
    s->backends = backends_new();
    s->builtins = rbac_builtins_new();
    health_add(s->health, (struct health_check){ .name = STR("store"),
                                                 .endpoints = HEALTH_HEALTHZ | HEALTH_READYZ,
                                                 .fn = store_is_well,
                                                 .arg = o->store });
    s->rest = rest_new(&rest, st);
    if (!s->rest ||
        admission_choose(o->admission_on, o->admission_off, &s->admission_off, st) < 0 ||
        open_kinds(s, o->root_ca_pem, st) < 0 || !(s->people = people_new(s, st)) ||
        !(s->flow = flow_new(o->store, seal, s->max_reads + s->max_writes, st)) ||
        !(s->rbac = rbac_new(o->store, seal, RBAC_MAX, st)) ||
        !(s->hooks = hooks_new(o->store, seal, st)) ||
        !(s->apiservices = apiservices_new(o->store, seal, st)) || open_tokens(s, o, st) < 0 ||
        open_front_proxy(s, o, st) < 0 || open_records(s, o, st) < 0 ||
        (o->listen.n && listen_on(s, o, st) < 0)) {
        server_free(s);
        return NULL;
    }
    return s;
}

const struct egress *server_egress(const struct server *s)
{
    return &s->egress;
}

str server_address(const struct server *s)
{
    return http_server_address(s->http);
}

static void unref_bytes(void *b)
{
    bytes_unref(b);
}

void server_advertise(struct server *s, str address)
{
    struct bytes *b = bytes_new(address.n);

    memcpy(b->p, address.p, address.n);
    epoch_retire(unref_bytes, atomic_exchange(&s->advertised, b));
}

str server_advertised(const struct server *s, struct arena *a)
{
    const struct bytes *b;
    str address;

    epoch_enter();
    b = atomic_load_explicit(&s->advertised, memory_order_acquire);
    address = b ? str_dup(a, bytes_str(b)) : STR_NONE;
    epoch_exit();
    return address;
}

/* What the store or a worker still holds must not end in a loop that is gone. */
static void wait_until_idle(struct loop_timer *t)
{
    struct server *s = (struct server *)(void *)((char *)t - offsetof(struct server, idle));

    if (atomic_load(&s->reads) || atomic_load(&s->writes) || atomic_load(&s->mounted))
        loop_timer_set(s->loops[0].loop, t, IDLE_POLL_MS);
    else
        s->stopped(s->stopped_arg);
}

static void http_stopped(void *arg)
{
    struct server *s = arg;

    s->idle.fn = wait_until_idle;
    wait_until_idle(&s->idle);
}

void server_start_collecting(struct server *s)
{
    garbage_start(s->garbage, s->loops[0].loop);
    upkeep_start(s->upkeep, s->loops[0].loop);
    aggregator_start(s->aggregator, s->loops[0].loop);
}

void server_stop_collecting(struct server *s)
{
    garbage_stop(s->garbage);
    aggregator_stop(s->aggregator);
    upkeep_stop(s->upkeep);
}

const struct permissions *server_permissions(const struct server *s)
{
    return people_permissions(s->people);
}

void server_drain(struct server *s)
{
    health_drain(s->health);
}

void server_stop(struct server *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
    s->stopped = done;
    s->stopped_arg = arg;
    health_drain(s->health);
    if (!s->http) { /* nobody is waited for: the loops may end before they look again */
        http_stopped(s);
        return;
    }
    for (size_t i = 0; i < s->nloops; i++) {
        loop_call(s->loops[i].loop, proxies_stop, &s->loops[i]);
        loop_call(s->loops[i].loop, callouts_stop, &s->loops[i]);
    }
    http_server_stop(s->http, grace_ms, http_stopped, s);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    if (s->audit)
        audit_close_records(s->audit);
    for (size_t i = 0; i < s->nloops; i++) {
        proxies_free(s->loops[i].proxies);
        callouts_free(s->loops[i].callouts);
        peers_free(s->loops[i].peers);
    }
    workers_free(s->workers);
    http_server_free(s->http);
    authn_token_free(s->tokens);
    oidc_free(s->oidc);
    verdicts_free(s->token_verdicts);
    verdicts_free(s->access_verdicts);
    keys_free(s->keys);
    rbac_free(s->rbac);
    hooks_free(s->hooks);
    apiservices_free(s->apiservices);
    people_free(s->people);
    rbac_builtins_free(s->builtins);
    rest_free(s->rest);
    garbage_free(s->garbage);
    upkeep_free(s->upkeep);
    aggregator_free(s->aggregator);
    backends_free(s->backends);
    limits_free(s->limits);
    event_rate_free(s->event_rate);
    flow_free(s->flow);
    quota_gates_free(s->quota_gates);
    catalogs_free(s->catalogs);
    kinds_free();
    docs_free(s->docs);
    bytes_unref(atomic_load(&s->advertised));
    metrics_free(s->metrics);
    health_free(s->health);
    arena_free(s->arena);
    free(s->loops);
    free(s);
}
