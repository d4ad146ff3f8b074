/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/aggregator.h"

#include <pthread.h>
#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "apiserver/call/local.h"
#include "apiserver/outbound/apiservices.h"
#include "apiserver/outbound/backends.h"
#include "apiserver/outbound/callout.h"
#include "apiserver/outbound/front_proxy.h"
#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/client.h"
#include "client/workqueue.h"
#include "rest/lookup.h"

#define AGGREGATOR_USER "system:kairship:aggregator"

enum {
    AGAIN_MS = 30000,  /* k8s: resync */
    TIMEOUT_MS = 5000, /* k8s: of the question */
    CHECKS_MAX = 256,  /* at once, and of one instance: */
    INSTANCE_MAX = 8,
    FULL_MS = 200, /* then later */
};

/* One look at one APIService: what it answers for its group version, then its OpenAPI. */
struct check {
    struct check *next; /* of all there are, guarded by the aggregator's mu */
    struct aggregator *all;
    struct arena *arena;
    str key;
    struct instance instance;
    struct apiservice service;
    struct callout callout;
    struct http_header headers[8];
    bool asked_openapi, over; /* over: guarded by mu */
    str discovery, openapi;
    str failure; /* empty: it answered */
};

/* The queue's keys are "<instance>/<name>". */
struct aggregator {
    struct server *server;
    struct workqueue *queue;
    struct client *client;
    struct loop *loop;
    uint32_t services, endpoints, slices; /* types that say where a backend is */
    pthread_t thread;
    bool running;
    pthread_mutex_t mu;
    pthread_cond_t idle;  /* nothing is asked any more */
    struct check *checks; /* guarded by mu, as all below */
    size_t open;          /* those on their way */
};

static uint32_t type_of(const char *group, const char *version, const char *plural)
{
    const struct kind *k =
        catalog_find(kinds_catalog_root(), str_of(group), str_of(version), str_of(plural));

    return k ? k->type_id : 0;
}

struct aggregator *aggregator_new(struct server *s)
{
    struct aggregator *g = mem_zalloc(sizeof(*g));
    struct workqueue_options o = { .base_ms = 250, .cap_ms = AGAIN_MS };

    g->server = s;
    g->queue = workqueue_new(&o);
    g->services = type_of("", "v1", "services");
    g->endpoints = type_of("", "v1", "endpoints");
    g->slices = type_of("discovery.k8s.io", "v1", "endpointslices");
    (void)pthread_mutex_init(&g->mu, NULL);
    (void)pthread_cond_init(&g->idle, NULL);
    return g;
}

void aggregator_free(struct aggregator *g)
{
    if (!g)
        return;
    client_free(g->client);
    workqueue_free(g->queue);
    while (g->checks) {
        struct check *c = g->checks;

        g->checks = c->next;
        arena_free(c->arena);
    }
    (void)pthread_cond_destroy(&g->idle);
    (void)pthread_mutex_destroy(&g->mu);
    free(g);
}

/* ---- noting ---- */

static str key_of(struct arena *a, uint32_t instance, str name)
{
    return str_printf(a, "%u/%.*s", instance, STR_ARG(name));
}

/* Those whose address may have changed. */
static void wake_users(struct aggregator *g, const struct rest_request *req, const struct json *obj)
{
    struct status *st = arena_new_of(req->arena, struct status);
    const struct apiservice_set *set;
    str name = json_get_str(obj, "metadata.name");

    if (req->kind->type_id == g->slices)
        name = json_str(
            json_get(json_path(obj, "metadata.labels"), STR("kubernetes.io/service-name")));
    status_init(st, req->arena);
    set = apiservices_of(g->server->apiservices, req->instance.id, st);
    for (size_t i = 0; set && i < set->n; i++)
        if (str_eq(set->at[i].service.name, name) &&
            str_eq(set->at[i].service.namespace_, req->namespace_))
            workqueue_add(g->queue, key_of(req->arena, req->instance.id, set->at[i].name));
}

void aggregator_note(struct aggregator *g, const struct rest_request *req, const struct json *obj)
{
    uint32_t type = req->kind->type_id;

    if (req->kind->transient || !type ||
        (req->who->rights && str_is(req->who->user, AGGREGATOR_USER)))
        return;
    if (type == apiservices_type(g->server->apiservices))
        workqueue_add(g->queue,
                      key_of(req->arena, req->instance.id, json_get_str(obj, "metadata.name")));
    else if (type == g->services || type == g->endpoints || type == g->slices)
        wake_users(g, req, obj);
}

/* ---- asking, on the loop ---- */

static void finish(struct check *c)
{
    struct aggregator *g = c->all;

    (void)pthread_mutex_lock(&g->mu);
    c->over = true;
    if (--g->open == 0)
        (void)pthread_cond_signal(&g->idle);
    (void)workqueue_add(g->queue, c->key); /* under the lock: the check may go with the next look */
    (void)pthread_mutex_unlock(&g->mu);
}

static void ask_openapi(struct check *c);

static void on_answer(struct callout *callout, str reply, const struct status *why)
{
    struct check *c = callout->user;

    if (c->asked_openapi) {
        if (!why)
            c->openapi = str_dup(c->arena, reply);
        finish(c);
    } else if (why) {
        c->failure = callout->code && callout->code != 200
                         ? str_printf(c->arena, "bad status from %.*s: %d", STR_ARG(callout->url),
                                      callout->code)
                         : str_dup(c->arena, why->message);
        finish(c);
    } else {
        c->discovery = str_dup(c->arena, reply);
        ask_openapi(c);
    }
}

static void ask(struct check *c, str path)
{
    const struct apiservice *x = &c->service;

    c->callout = (struct callout){
        .get = true,
        .url = str_printf(c->arena, "https://%.*s:%d%.*s",
                          STR_ARG(service_host(c->arena, x->service.namespace_, x->service.name)),
                          x->service.port, STR_ARG(path)),
        .service = &x->service,
        .ca_pem = x->ca_pem,
        .insecure = x->insecure,
        .front_proxy = c->instance.uid,
        .headers = c->headers,
        .timeout_ms = TIMEOUT_MS,
        .reply_max = BACKEND_DOC_MAX,
        .done = on_answer,
        .user = c,
    };
    for (size_t n = 0; n < sizeof(c->headers) / sizeof(*c->headers) && c->headers[n].name.n; n++)
        c->callout.nheaders = n + 1;
    callout_start(c->all->server, c->all->loop, &c->callout);
}

static void ask_openapi(struct check *c)
{
    c->asked_openapi = true;
    ask(c, STR("/openapi/v3"));
}

static void start(void *arg)
{
    struct check *c = arg;

    ask(c, str_printf(c->arena, "/apis/%.*s/%.*s", STR_ARG(c->service.group),
                      STR_ARG(c->service.version)));
}

static void cancel_all(void *arg)
{
    struct aggregator *g = arg;
    struct check *c;

    (void)pthread_mutex_lock(&g->mu);
    c = g->checks;
    (void)pthread_mutex_unlock(&g->mu); /* nobody adds any more, and the thread has ended */
    for (; c; c = c->next)
        if (!c->over)
            callout_cancel(&c->callout);
}

/* ---- conditions ---- */

/* What was found out of an APIService. */
struct service_state {
    bool available, insecure;
    const char *reason;
    str message;
};

struct service_condition {
    const char *type, *reason;
    bool is;
    str message;
};

static const struct json *find(const struct json *conditions, const char *type)
{
    json_for_each (c, conditions)
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

/* Its time changes only with its status. */
static struct json condition(struct arena *a, const struct json *was,
                             const struct service_condition *c)
{
    str status = c->is ? STR("True") : STR("False");
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    str time = { now, time_format_seconds(now, clock_wall_s(clock_real())) };
    struct json_object o = json_object_new(a);

    if (was && str_eq(json_get_str(was, "status"), status))
        time = json_get_str(was, "lastTransitionTime");
    json_add(&o, STR("lastTransitionTime"), json_of_str(time));
    json_add(&o, STR("message"), json_of_str(c->message));
    json_add(&o, STR("reason"), json_of_str(str_of(c->reason)));
    json_add(&o, STR("status"), json_of_str(status));
    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    return json_object_value(&o);
}

static bool is_ours(const struct json *c)
{
    return str_is(json_get_str(c, "type"), "Available") ||
           str_is(json_get_str(c, "type"), "InsecureSkipTLSVerify");
}

static const struct json *conditions_of(struct arena *a, const struct json *was,
                                        const struct service_state *f)
{
    struct service_condition available = { "Available", f->reason, f->available, f->message };
    struct service_condition insecure = {
        "InsecureSkipTLSVerify", "NotVerified", true,
        STR("nobody checks that it is this server which answers")
    };
    struct json_array all = json_array_new(a);

    json_for_each (c, was)
        if (!is_ours(c))
            json_push(&all, *c);
    json_push(&all, condition(a, find(was, available.type), &available));
    if (f->insecure)
        json_push(&all, condition(a, find(was, insecure.type), &insecure));
    return json_array_done(&all);
}

/* Its conditions, if they are others.  instance: its name, empty for root.  Blocks. */
static int write_conditions(struct client *client, struct arena *a, str instance, str name,
                            const struct service_state *f, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("apiregistration.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("apiservices"),
                              .name = name };
    const struct json *obj, *was, *now;

    if (client_get(client, a, &ref, &obj, st) < 0)
        return -1;
    was = json_path(obj, "status.conditions");
    now = conditions_of(a, was, f);
    if (was && json_equal(was, now))
        return 0;
    ref.subresource = STR("status");
    return client_update(client, a, &ref, json_set(a, obj, "status.conditions", now), NULL, st);
}

/* ---- the ConfigMap ---- */

static const struct json *config_map(struct arena *a, struct json data)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(STR("extension-apiserver-authentication")));
    json_add(&meta, STR("namespace"), json_of_str(STR("kube-system")));
    json_add(&o, STR("kind"), json_of_str(STR("ConfigMap")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("data"), data);
    return json_object_done(&o);
}

/* The ConfigMap with this data among its own.  Blocks. */
static int publish(struct client *client, struct arena *a, str instance, struct json data,
                   struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = STR("kube-system"),
                              .name = STR("extension-apiserver-authentication") };
    const struct json *obj;
    struct json_object all;

    if (client_get(client, a, &ref, &obj, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        ref.name = STR_NONE;
        return client_create(client, a, &ref, config_map(a, data), NULL, st);
    }
    all = json_object_from(a, json_get(obj, STR("data")));
    json_for_each_member (m, &data)
        json_put(&all, m->name, m->value);
    if (json_equal(json_object_done(&all), json_get(obj, STR("data"))))
        return 0;
    return client_update(client, a, &ref, json_set(a, obj, "data", json_object_done(&all)), NULL,
                         st);
}

/* ---- looking, on the thread ---- */

/* Who asks must be let in.  k8s: system:kube-aggregator of system:masters */
static void set_headers(struct check *c)
{
    c->headers[0] = (struct http_header){ STR("accept"), STR("application/json") };
    c->headers[1] = (struct http_header){ STR("user-agent"), STR("kairship") };
    c->headers[2] = (struct http_header){ STR("x-remote-user"), STR("system:kube-aggregator") };
    c->headers[3] = (struct http_header){ STR("x-remote-group"), STR("system:masters") };
}

/* Takes the one that is over off the list; NULL: there is none.  *busy: one is on its way. */
static struct check *take_check(struct aggregator *g, str key, bool *busy)
{
    struct check **at, *c;

    (void)pthread_mutex_lock(&g->mu);
    for (at = &g->checks; *at && !str_eq((*at)->key, key);)
        at = &(*at)->next;
    c = *at;
    *busy = c && !c->over;
    if (c && c->over)
        *at = c->next;
    (void)pthread_mutex_unlock(&g->mu);
    return *busy ? NULL : c;
}

/* False: there are too many at once. */
static bool add_check(struct aggregator *g, struct check *c)
{
    unsigned same = 0;
    bool room;

    (void)pthread_mutex_lock(&g->mu);
    for (const struct check *o = g->checks; o; o = o->next)
        same += !o->over && o->instance.id == c->instance.id;
    room = g->open < CHECKS_MAX && same < INSTANCE_MAX;
    if (room) {
        c->next = g->checks;
        g->checks = c;
        g->open++;
    }
    (void)pthread_mutex_unlock(&g->mu);
    return room;
}

struct look {
    struct aggregator *all;
    struct arena *arena;
    struct instance instance;
    str key, name;
    struct apiservice service;
    bool local; /* it names no Service, and does not say so yet */
    enum service_fault fault;
};

/* k8s: controllers/status/local */
static bool is_untold(const struct json *tree)
{
    if (json_path(tree, "spec.service"))
        return false;
    json_for_each (c, json_path(tree, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Available"))
            return !str_is(json_get_str(c, "reason"), "Local");
    return true;
}

/* 1 when there is something to ask, or to tell (fault); 0: it is no APIService of ours any more. */
static int open_look(struct look *l, uint32_t id, struct status *st)
{
    struct server *s = l->all->server;
    struct instances *in = rest_instances(s->rest);
    const struct kind *k = catalog_find(kinds_catalog_root(), STR("apiregistration.k8s.io"),
                                        STR("v1"), STR("apiservices"));
    const struct json *tree;
    struct service_place unused;
    str name;
    int rc;

    if (instance_name(in, l->arena, id, 0, &name, st) < 0 ||
        instance_find(in, l->arena, id == INSTANCE_ROOT ? STR_NONE : name, &l->instance, st) < 0)
        return 0;
    rc = lookup_get(s->rest, l->arena, &l->instance, k, STR_NONE, l->name, &tree, st);
    if (rc <= 0)
        return rc;
    if (!apiservice_read(l->arena, tree, &l->service)) {
        l->local = is_untold(tree);
        return 0;
    }
    l->service.service.instance = l->instance;
    l->fault = service_resolve(s, l->arena, &l->service.service, &unused, st);
    return 1;
}

/* The name by which clients ask for it. */
static str asked_name(const struct look *l)
{
    return l->instance.id == INSTANCE_ROOT ? STR_NONE : l->instance.name;
}

static int tell(struct look *l, bool available, const char *reason, str message, struct status *st)
{
    struct service_state f = { .available = available,
                               .insecure = l->service.insecure,
                               .reason = reason,
                               .message = message };

    status_reset(st);
    if (write_conditions(l->all->client, l->arena, asked_name(l), l->name, &f, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st); /* gone meanwhile */
    return 0;
}

static struct apiservice copy_service(struct arena *a, const struct apiservice *x,
                                      const struct instance *i)
{
    struct apiservice out = *x;

    out.name = str_dup(a, x->name);
    out.group = str_dup(a, x->group);
    out.version = str_dup(a, x->version);
    out.ca_pem = str_dup(a, x->ca_pem);
    out.service = (struct service_ref){ .instance = *i,
                                        .namespace_ = str_dup(a, x->service.namespace_),
                                        .name = str_dup(a, x->service.name),
                                        .port = x->service.port };
    return out;
}

static int begin(struct look *l, struct status *st)
{
    struct aggregator *g = l->all;
    struct arena *a;
    struct check *c;

    if (publish(g->client, l->arena, asked_name(l),
                front_proxy_config(g->server, l->arena, l->instance.uid), st) < 0)
        return -1;
    a = arena_new();
    c = arena_new_of(a, struct check);
    *c = (struct check){ .all = g, .arena = a, .key = str_dup(a, l->key) };
    c->instance = l->instance;
    c->instance.name = str_dup(a, l->instance.name);
    c->instance.uid = str_dup(a, l->instance.uid);
    c->instance.created = str_dup(a, l->instance.created);
    c->service = copy_service(a, &l->service, &c->instance);
    set_headers(c);
    if (add_check(g, c)) {
        loop_call(g->loop, start, c);
        return 0;
    }
    arena_free(a);
    workqueue_add_after(g->queue, l->key, FULL_MS);
    return 0;
}

/* What the check has brought. */
static int conclude(struct look *l, struct check *c, struct status *st)
{
    struct backends *backends = l->all->server->backends;
    struct backend doc = { 0 };

    if (!c->failure.n && backend_read_resources(l->arena, c->discovery, c->service.group,
                                                c->service.version, &doc.resources, st) < 0)
        c->failure = str_dup(c->arena, st->message);
    if (c->failure.n) {
        str text = str_printf(
            l->arena, "failing or missing response from https://%.*s:%d/apis/%.*s/%.*s: %.*s",
            STR_ARG(service_host(l->arena, c->service.service.namespace_, c->service.service.name)),
            c->service.service.port, STR_ARG(c->service.group), STR_ARG(c->service.version),
            STR_ARG(c->failure));

        if (tell(l, false, "FailedDiscoveryCheck", text, st) < 0)
            return -1;
        return status_set(st, REASON_UNAVAILABLE, "%.*s", STR_ARG(text)); /* again, soon */
    }
    doc.openapi = backend_read_openapi(l->arena, c->openapi, c->service.group, c->service.version);
    backends_put(backends, l->instance.id, l->name, &doc);
    return tell(l, true, "Passed", STR("all checks passed"), st);
}

/* Asked for this very server. */
static bool is_about(const struct check *c, const struct apiservice *x)
{
    return str_eq(c->service.service.name, x->service.name) &&
           str_eq(c->service.service.namespace_, x->service.namespace_) &&
           c->service.service.port == x->service.port && str_eq(c->service.ca_pem, x->ca_pem) &&
           c->service.insecure == x->insecure;
}

static int look(struct look *l, struct check *done, struct status *st)
{
    struct aggregator *g = l->all;
    str rest = l->key, id;
    uint64_t instance;
    int rc;

    if (!str_split(&rest, '/', &id) || !str_to_u64(id, &instance))
        return 0;
    l->name = rest;
    epoch_enter();
    rc = open_look(l, (uint32_t)instance, st);
    epoch_exit();
    if (rc <= 0) {
        backends_forget(g->server->backends, (uint32_t)instance, l->name);
        return l->local ? tell(l, true, "Local", STR("Local APIServices are always available"), st)
                        : rc;
    }
    if (l->fault != SERVICE_FOUND) {
        workqueue_add_after(g->queue, l->key, AGAIN_MS);
        return tell(l, false, service_fault_name(l->fault), str_dup(l->arena, st->message), st);
    }
    if (!done || !is_about(done, &l->service))
        return begin(l, st);
    workqueue_add_after(g->queue, l->key, AGAIN_MS);
    return conclude(l, done, st);
}

static void handle(struct aggregator *g, str key)
{
    scoped_arena a = arena_new();
    struct look l = { .all = g, .arena = a, .key = key };
    struct check *done;
    struct status st;
    bool busy;

    status_init(&st, a);
    done = take_check(g, key, &busy);
    if (busy)
        return; /* its end comes as this key again */
    if (look(&l, done, &st) == 0) {
        if (done || l.fault != SERVICE_FOUND)
            workqueue_forget(g->queue, key);
    } else {
        log_debug("an aggregated API server is not there", log_str("key", key), log_status(&st));
        workqueue_add_failed(g->queue, key);
    }
    if (done)
        arena_free(done->arena);
}

/* ---- the thread ---- */

struct all_rows {
    struct aggregator *all;
    struct arena *arena;
};

static bool add_row(void *arg, const struct store_row *row)
{
    struct all_rows *r = arg;
    str name = row->key.name;
    ptrdiff_t slash = str_find(name, '/', 0);

    if (row->key.instance != INSTANCE_TEMPLATE)
        workqueue_add(r->all->queue, key_of(r->arena, row->key.instance,
                                            str_from(name, slash < 0 ? 0 : (size_t)slash + 1)));
    return true;
}

static void find_all(struct aggregator *g)
{
    scoped_arena a = arena_new();
    struct all_rows r = { .all = g, .arena = a };
    struct store_range range = { .type = apiservices_type(g->server->apiservices),
                                 .instance = STORE_ALL };
    struct status st;

    status_init(&st, a);
    epoch_enter();
    if (store_scan(g->server->store, &range, add_row, &r, &st) < 0)
        log_warn("APIServices cannot be looked at", log_status(&st));
    epoch_exit();
}

static void *work(void *arg)
{
    struct aggregator *g = arg;
    str key;

    find_all(g);
    while (workqueue_take(g->queue, &key)) {
        handle(g, key);
        workqueue_done(g->queue, key);
    }
    return NULL;
}

void aggregator_start(struct aggregator *g, struct loop *l)
{
    g->loop = l;
    g->client = client_new(server_local_transport(g->server, l, STR(AGGREGATOR_USER)));
    if (pthread_create(&g->thread, NULL, work, g) != 0)
        abort(); /* no thread at the start is no machine to run on */
    g->running = true;
}

void aggregator_stop(struct aggregator *g)
{
    if (!g || !g->running)
        return;
    workqueue_shutdown(g->queue);
    (void)pthread_join(g->thread, NULL);
    loop_call_wait(g->loop, cancel_all, g);
    (void)pthread_mutex_lock(&g->mu);
    while (g->open)
        (void)pthread_cond_wait(&g->idle, &g->mu);
    (void)pthread_mutex_unlock(&g->mu);
    g->running = false;
}
