/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/probe.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/reply.h"
#include "fleet/capacity.h"
#include "fleet/enablements.h"

enum {
    HEALTH_MS = 5000,
    TOTAL_MS = 20000,
    BODY_MAX = 4 << 20, /* parsed on the loop, so a page is small: */
    PAGE = 50,
    PAGES_MAX = 4000, /* a member that always says "continue" ends there */
};

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

struct probe {
    struct loop *loop;
    struct client_transport *transport; /* the member's, or one that was given */
    struct probe_options o;
    void (*done)(void *arg, struct probe_report *r);
    void *arg;

    struct fleet_lookup lookup;
    struct member *member;
    struct loop_timer timer; /* of the whole */
    struct probe_report report;
    struct arena *arena; /* of the look */

    struct http_call call;
    struct http_header headers[2];
    bool calling;
    int status;
    struct buf body;
    void (*next)(struct probe *p, const struct status *why); /* with the answer, or why none came */

    struct enablements apis;
    size_t api; /* the next group and version to ask for */
    struct capacity *room;
    unsigned pages;
};

/* ---- the end ---- */

static void probe_free(struct probe *p)
{
    loop_timer_cancel(p->loop, &p->timer);
    fleet_lookup_cancel(&p->lookup);
    if (p->calling) {
        p->transport->cancel(p->transport, &p->call);
    }
    member_unref(p->member);
    capacity_free(p->room);
    buf_release(&p->body);
    arena_free(p->arena);
    free(p);
}

static void finish(struct probe *p)
{
    void (*done)(void *, struct probe_report *) = p->done;
    struct probe_report report = p->report;
    void *arg = p->arg;

    probe_free(p);
    done(arg, &report);
}

static void finish_with(struct probe *p, enum probe_health health, const char *what,
                        const struct status *why)
{
    p->report.health = health;
    p->report.why = why ? str_printf(p->report.arena, "%s: %.*s", what, STR_ARG(why->message))
                        : str_dup(p->report.arena, str_of(what));
    finish(p);
}

static void trouble(struct probe *p, const char *what, str why)
{
    if (!p->report.trouble.n)
        p->report.trouble = str_printf(p->report.arena, "%s: %.*s", what, STR_ARG(why));
}

void probe_cancel(struct probe *p)
{
    if (!p)
        return;
    arena_free(p->report.arena);
    probe_free(p);
}

/* ---- one request ---- */

static void on_head(struct http_call *call, int status, const struct http_header *h, size_t n)
{
    struct probe *p = call->user;

    (void)h;
    (void)n;
    p->status = status;
}

static void on_data(struct http_call *call, str bytes)
{
    buf_str_append(&((struct probe *)call->user)->body, bytes);
}

static void on_end(struct http_call *call, const struct status *why)
{
    struct probe *p = call->user;
    scoped_arena a = arena_new();
    struct status st;

    p->calling = false;
    status_init(&st, a);
    if (!why && buf_overflown(&p->body)) {
        (void)status_set(&st, REASON_TOO_LARGE, "the answer is larger than %d bytes", BODY_MAX);
        why = &st;
    }
    p->next(p, why);
}

static void get(struct probe *p, str path, const char *accept, int64_t timeout_ms,
                void (*next)(struct probe *p, const struct status *why))
{
    struct client_transport *t = p->transport;

    buf_clear(&p->body);
    p->status = 0;
    p->next = next;
    p->headers[0] = (struct http_header){ STR("accept"), str_of(accept) };
    p->headers[1] = (struct http_header){ STR("user-agent"), STR("kairship") };
    p->call = (struct http_call){ .method = STR("GET"),
                                  .path = path,
                                  .headers = p->headers,
                                  .nheaders = 2,
                                  .timeout_ms = timeout_ms,
                                  .head = on_head,
                                  .data = on_data,
                                  .end = on_end,
                                  .user = p };
    p->calling = true;
    t->call(t, &p->call);
}

/* The tree of a good answer, or NULL after having noted what is wrong with it. */
static const struct json *tree(struct probe *p, struct arena *a, const char *what,
                               const struct status *why)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, a);
    if (!why && client_reply(a, p->status, buf_str(&p->body), &v, &st) < 0)
        why = &st;
    if (!why && json_is(v, JSON_OBJECT))
        return v;
    trouble(p, what, why ? why->message : STR("the answer is no object"));
    return NULL;
}

/* ---- nodes and pods ---- */

static const char json_type[] = "application/json";

static void on_nodes(struct probe *p, const struct status *why);
static void on_pods(struct probe *p, const struct status *why);

static void list(struct probe *p, const char *resource, str token,
                 void (*next)(struct probe *, const struct status *))
{
    struct client_ref ref = { .version = STR("v1"), .resource = str_of(resource) };
    struct client_query q = { .limit = PAGE, .continue_token = token };

    get(p, client_path(p->arena, &ref, &q), json_type, p->o.health_ms, next);
}

/* Takes a page in; 1: and asked for the next, 0: that was the last, -1: it could not be read. */
static int take_page(struct probe *p, const char *resource, const struct status *why,
                     void (*add)(struct capacity *, const struct json *),
                     void (*next)(struct probe *, const struct status *))
{
    scoped_arena a = arena_new();
    const struct json *page = tree(p, a, resource, why);
    str token;

    if (!page)
        return -1;
    json_for_each (item, json_get(page, STR("items")))
        add(p->room, item);
    token = json_get_str(page, "metadata.continue");
    if (!token.n)
        return 0;
    if (++p->pages == PAGES_MAX) {
        trouble(p, resource, STR("the list does not end"));
        return -1;
    }
    list(p, resource, str_dup(p->arena, token), next);
    return 1;
}

static void on_pods(struct probe *p, const struct status *why)
{
    int rc = take_page(p, "pods", why, capacity_add_pod, on_pods);

    if (rc > 0)
        return;
    if (rc == 0)
        p->report.resources = capacity_summary(p->room, p->report.arena);
    finish(p);
}

static void on_nodes(struct probe *p, const struct status *why)
{
    int rc = take_page(p, "nodes", why, capacity_add_node, on_nodes);

    if (rc > 0)
        return;
    if (rc < 0) {
        finish(p);
        return;
    }
    p->report.nodes = capacity_nodes(p->room, p->report.arena);
    list(p, "pods", STR_NONE, on_pods);
}

static void look_at_room(struct probe *p)
{
    p->report.enablements = enablements_json(&p->apis, p->report.arena);
    p->report.complete = p->apis.complete;
    p->room = capacity_new(p->o.models);
    list(p, "nodes", STR_NONE, on_nodes);
}

/* ---- APIs ---- */

static const char discovery_type[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

static void on_version_of_group(struct probe *p, const struct status *why);

/* Members before 1.26 list groups only, and each version is asked for by itself. */
static void ask_versions(struct probe *p)
{
    if (p->api == p->apis.nasked) {
        look_at_room(p);
        return;
    }
    get(p, p->apis.asked[p->api], json_type, p->o.health_ms, on_version_of_group);
}

static void on_version_of_group(struct probe *p, const struct status *why)
{
    scoped_arena a = arena_new();
    const struct json *v = tree(p, a, "discovery", why);

    p->api++;
    if (v)
        enablements_add_list(&p->apis, v);
    else
        p->apis.complete = false;
    ask_versions(p);
}

static void on_apis(struct probe *p, const struct status *why)
{
    scoped_arena a = arena_new();
    const struct json *v = tree(p, a, "discovery", why);

    if (v)
        enablements_add(&p->apis, v);
    else
        p->apis.complete = false;
    ask_versions(p);
}

static void on_api(struct probe *p, const struct status *why)
{
    scoped_arena a = arena_new();
    const struct json *v = tree(p, a, "discovery", why);

    if (v)
        enablements_add(&p->apis, v);
    else
        p->apis.complete = false;
    get(p, STR("/apis"), discovery_type, p->o.health_ms, on_apis);
}

static void on_version(struct probe *p, const struct status *why)
{
    enum { VERSION_MAX = 128 };
    scoped_arena a = arena_new();
    const struct json *v = tree(p, a, "version", why);
    str text = json_get_str(v, "gitVersion");

    if (text.n <= VERSION_MAX)
        p->report.version = str_dup(p->report.arena, text);
    enablements_init(&p->apis, p->arena);
    get(p, STR("/api"), discovery_type, p->o.health_ms, on_api);
}

/* ---- health ---- */

static void on_health(struct probe *p, const struct status *why)
{
    static const char not_ok[] = "cluster is reachable but health endpoint responded without ok";
    bool first = str_is(p->call.path, "/readyz");
    struct status st;

    if (why) {
        finish_with(p, PROBE_NOT_REACHED, "cluster is not reachable", why);
    } else if (first && p->status == 404) { /* before 1.16 */
        get(p, STR("/healthz"), "*/*", p->o.health_ms, on_health);
    } else if (p->status != 200) {
        status_init(&st, p->arena);
        (void)status_set(&st, REASON_UNAVAILABLE, "%.*s: HTTP status %d", STR_ARG(p->call.path),
                         p->status);
        finish_with(p, PROBE_NOT_READY, not_ok, &st);
    } else {
        p->report.health = PROBE_READY;
        get(p, STR("/version"), json_type, p->o.health_ms, on_version);
    }
}

static void on_member(struct fleet_lookup *l, struct member *m, const struct status *why)
{
    struct probe *p = l->user;

    if (!m && status_is(why, REASON_NOT_FOUND)) {
        finish_with(p, PROBE_GONE, "there is no such Cluster", NULL);
    } else if (!m) {
        finish_with(p, PROBE_UNUSABLE, "failed to make a client of the cluster", why);
    } else {
        p->member = m;
        p->transport = member_transport(m);
        get(p, STR("/readyz"), "*/*", p->o.health_ms, on_health);
    }
}

/* What has been learned by then counts. */
static void on_time(struct loop_timer *t)
{
    struct probe *p = CONTAINER(t, struct probe, timer);

    if (p->report.health == PROBE_READY) {
        trouble(p, "status", STR("it took too long"));
        if (!p->report.enablements)
            p->report.complete = false;
        finish(p);
        return;
    }
    finish_with(p, PROBE_NOT_REACHED, "cluster is not reachable: it took too long", NULL);
}

static struct probe *probe_new(struct loop *l, const struct probe_options *o,
                               void (*done)(void *arg, struct probe_report *r), void *arg)
{
    struct probe *p = mem_zalloc(sizeof(*p));

    p->loop = l;
    if (o)
        p->o = *o;
    if (!p->o.health_ms)
        p->o.health_ms = HEALTH_MS;
    if (!p->o.total_ms)
        p->o.total_ms = TOTAL_MS;
    p->done = done;
    p->arg = arg;
    p->arena = arena_new();
    p->report.arena = arena_new();
    p->report.health = PROBE_NOT_REACHED;
    buf_init(&p->body, BODY_MAX);
    p->timer.fn = on_time;
    loop_timer_set(l, &p->timer, p->o.total_ms);
    return p;
}

struct probe *probe_start(struct fleet *f, const struct member_name *name,
                          const struct probe_options *o,
                          void (*done)(void *arg, struct probe_report *r), void *arg)
{
    struct probe *p = probe_new(fleet_loop(f), o, done, arg);

    p->lookup = (struct fleet_lookup){ .arena = p->report.arena, .done = on_member, .user = p };
    fleet_lookup(f, name, &p->lookup);
    return p;
}

struct probe *probe_start_at(struct client *member, const struct probe_options *o,
                             void (*done)(void *arg, struct probe_report *r), void *arg)
{
    struct probe *p = probe_new(client_loop(member), o, done, arg);

    p->transport = client_transport(member);
    get(p, STR("/readyz"), "*/*", p->o.health_ms, on_health);
    return p;
}

/* ---- waited for ---- */

struct probe_waiter {
    struct client *member;
    const struct probe_options *o;
    pthread_mutex_t mu;
    pthread_cond_t wake;
    bool done; /* guarded by mu */
    struct probe_report report;
};

static void seen(void *arg, struct probe_report *r)
{
    struct probe_waiter *g = arg;

    (void)pthread_mutex_lock(&g->mu);
    g->report = *r;
    g->done = true;
    (void)pthread_cond_signal(&g->wake);
    (void)pthread_mutex_unlock(&g->mu);
}

static void look_on_loop(void *arg)
{
    struct probe_waiter *g = arg;

    (void)probe_start_at(g->member, g->o, seen, g);
}

struct probe_report probe_wait(struct client *member, const struct probe_options *o)
{
    struct probe_waiter g = { .member = member, .o = o };

    (void)pthread_mutex_init(&g.mu, NULL);
    (void)pthread_cond_init(&g.wake, NULL);
    loop_call(client_loop(member), look_on_loop, &g);
    (void)pthread_mutex_lock(&g.mu);
    while (!g.done) /* a look has an end */
        (void)pthread_cond_wait(&g.wake, &g.mu);
    (void)pthread_mutex_unlock(&g.mu);
    (void)pthread_mutex_destroy(&g.mu);
    (void)pthread_cond_destroy(&g.wake);
    return g.report;
}
