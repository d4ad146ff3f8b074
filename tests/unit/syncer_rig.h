/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNCER_RIG_H
#define SYNCER_RIG_H

/*
 * A control plane (instance "plane") and a member (instance "m1", a plain cluster) on one server,
 * and a way from one to the other that can break: what tests of the syncer share.
 */

#include <semaphore.h>
#include <stdatomic.h>

#include "base/rand.h"
#include "federation/interp/interp.h"
#include "fleet/syncer.h"
#include "server_rig.h"

#define PLANE  "/clusters/plane"
#define MEMBER "/clusters/m1"
#define WORKS  PLANE "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"

#define PAIR_OWNER "kairship:0011223344556677:plane:89abcdef"

enum { HELD_MAX = 256, SLOW_MS = 10 };

/* The way to the member. */
struct road {
    struct client_transport base;
    struct client_transport *inner;
    struct arena *arena;   /* of paths */
    atomic_bool cut;       /* calls fail */
    atomic_bool stuck;     /* calls are not answered */
    atomic_bool forgetful; /* watches are too old */
    atomic_bool slow;      /* calls take a while */
    atomic_size_t calls;
    struct held {
        struct http_call *call; /* NULL: free */
        struct road *road;
        struct loop_timer timer;
    } held[HELD_MAX];
};

static inline void road_answer(struct loop_timer *t)
{
    struct held *h = (struct held *)(void *)((char *)t - __builtin_offsetof(struct held, timer));
    struct http_call *call = h->call;
    scoped_arena a = arena_new();
    struct status st;

    h->call = NULL;
    status_init(&st, a);
    if (h->road->forgetful && !h->road->cut) {
        call->head(call, 410, NULL, 0);
        call->data(call, STR("{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}"));
        call->end(call, NULL);
        return;
    }
    (void)status_set(&st, REASON_UNAVAILABLE, "the road is cut");
    call->end(call, &st);
}

static inline void road_hold(struct road *r, struct http_call *call)
{
    for (size_t i = 0; i < HELD_MAX; i++) {
        struct held *h = &r->held[i];

        if (h->call)
            continue;
        *h = (struct held){ .call = call, .road = r, .timer.fn = road_answer };
        if (!r->stuck)
            loop_timer_set(r->base.loop, &h->timer, 0);
        return;
    }
    abort();
}

static inline void road_pass(struct road *r, struct http_call *call)
{
    call->path = str_printf(r->arena, MEMBER "%.*s", STR_ARG(call->path));
    r->inner->call(r->inner, call);
}

static inline void road_arrive(struct loop_timer *t)
{
    struct held *h = (struct held *)(void *)((char *)t - __builtin_offsetof(struct held, timer));
    struct http_call *call = h->call;

    h->call = NULL;
    road_pass(h->road, call);
}

static inline void road_delay(struct road *r, struct http_call *call)
{
    size_t i = 0;

    while (r->held[i].call)
        i++;
    r->held[i] = (struct held){ .call = call, .road = r, .timer.fn = road_arrive };
    loop_timer_set(r->base.loop, &r->held[i].timer, SLOW_MS);
}

static inline void road_call(struct client_transport *t, struct http_call *call)
{
    struct road *r = (struct road *)(void *)t;
    bool watch = str_contains(call->path, STR("watch="));

    r->calls++;
    if (r->cut || r->stuck || (r->forgetful && watch)) {
        road_hold(r, call);
        return;
    }
    if (r->slow && !watch)
        road_delay(r, call);
    else
        road_pass(r, call);
}

static inline void road_cancel(struct client_transport *t, struct http_call *call)
{
    struct road *r = (struct road *)(void *)t;

    for (size_t i = 0; i < HELD_MAX; i++)
        if (r->held[i].call == call) {
            loop_timer_cancel(r->base.loop, &r->held[i].timer);
            r->held[i].call = NULL;
            return;
        }
    r->inner->cancel(r->inner, call);
}

static inline void road_free(struct client_transport *t)
{
    struct road *r = (struct road *)(void *)t;

    r->inner->free(r->inner);
    arena_free(r->arena);
    free(r);
}

struct pair {
    struct rig rig;
    struct road *road;
    struct client *source, *target;
    struct syncer *syncer;
    struct syncer_options options;
    struct syncer_stats stats; /* see pair_stats */
    sem_t sem;
    void (*fn)(struct pair *p);
};

static inline int pair_retain(void *arg, struct arena *a, str instance, const struct json *desired,
                              const struct json *observed, const struct json **out,
                              struct status *st)
{
    (void)arg, (void)instance, (void)st;
    *out = interp_retain(a, desired, observed);
    return 0;
}

static inline const struct json *pair_reflect(void *arg, struct arena *a, str instance,
                                              const struct json *observed)
{
    (void)arg, (void)instance;
    return interp_reflect(a, observed);
}

static inline const char *pair_health(void *arg, struct arena *a, str instance,
                                      const struct json *observed)
{
    (void)arg, (void)a, (void)instance;
    return interp_health_name(interp_health(observed));
}

static const struct syncer_ops pair_ops = { pair_retain, pair_reflect, pair_health };

static inline void pair_run(void *arg)
{
    struct pair *p = arg;

    p->fn(p);
    (void)sem_post(&p->sem);
}

/* On the loop, and waits. */
static inline void pair_do(struct pair *p, void (*fn)(struct pair *p))
{
    p->fn = fn;
    loop_call(p->rig.host->loop, pair_run, p);
    while (sem_wait(&p->sem) < 0)
        ;
}

static inline void pair_read_stats(struct pair *p)
{
    p->stats = syncer_stats(p->syncer);
}

static inline struct syncer_stats pair_stats(struct pair *p)
{
    pair_do(p, pair_read_stats);
    return p->stats;
}

static inline void pair_start(struct pair *p)
{
    p->syncer = syncer_new(&p->options);
    syncer_start(p->syncer);
}

static inline void pair_stop(struct pair *p)
{
    syncer_free(p->syncer);
    p->syncer = NULL;
}

static inline void pair_make(struct pair *p, const char *path, const char *body)
{
    int code = ask_api(&p->rig, "POST", path, body, NULL);

    if (!CHECK(code == 200))
        printf("# POST %s: %.*s\n", path, STR_ARG(p->rig.st.message));
}

static inline void pair_open_roads(struct pair *p)
{
    static const struct identity admin = { .user = STR_INIT("admin"),
                                           .groups = ask_masters,
                                           .ngroups = 1 };
    struct host *h = p->rig.host;

    p->source = client_new(server_local_as(h->server, h->loop, &admin));
    p->road = mem_zalloc(sizeof(*p->road));
    p->road->inner = server_local_as(h->server, h->loop, &admin);
    p->road->arena = arena_new();
    p->road->base = (struct client_transport){
        .loop = h->loop, .call = road_call, .cancel = road_cancel, .free = road_free
    };
    p->target = client_new(&p->road->base);
}

/* Two instances, and namespace "d" in both; the syncer is not started. */
static inline void pair_open(struct pair *p)
{
    const char *instances = "/apis/tenancy.kairship.io/v1alpha1/instances";

    *p = (struct pair){ 0 };
    (void)sem_init(&p->sem, 0, 0);
    rig_open(&p->rig);
    pair_do(p, pair_open_roads);
    p->options = (struct syncer_options){ .source = p->source,
                                          .target = p->target,
                                          .instance = STR("plane"),
                                          .cluster = STR("m1"),
                                          .owner = { .name = STR(PAIR_OWNER),
                                                     .installation = STR("0011223344556677") },
                                          .feeds = SYNCER_WORKS,
                                          .ops = &pair_ops,
                                          .retry_ms = 20 };
    pair_make(p, instances, "{\"metadata\":{\"name\":\"plane\"}}");
    pair_make(p, instances,
              "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"profile\":\"kubernetes\"}}");
    pair_make(p, PLANE "/api/v1/namespaces", "{\"metadata\":{\"name\":\"karmada-es-m1\"}}");
    pair_make(p, PLANE "/api/v1/namespaces", "{\"metadata\":{\"name\":\"d\"}}");
    pair_make(p, MEMBER "/api/v1/namespaces", "{\"metadata\":{\"name\":\"d\"}}");
}

static inline void pair_close_roads(struct pair *p)
{
    pair_stop(p);
    client_free(p->target);
    client_free(p->source);
}

static inline void pair_close(struct pair *p)
{
    pair_do(p, pair_close_roads);
    rig_close(&p->rig);
    (void)sem_destroy(&p->sem);
}

/* The text at a path of an object, or "-" when there is none; "{}" and the like for trees. */
static inline const char *pair_at(struct pair *p, const char *path, const char *field)
{
    const struct json *v = NULL;

    if (ask_api(&p->rig, "GET", path, "", &v) != 200)
        return "-";
    v = json_path(v, field);
    if (!v)
        return "-";
    return str_z(p->rig.arena, v->type == JSON_STRING ? json_str(v) : json_text(p->rig.arena, v));
}

static inline bool pair_comes(struct pair *p, const char *path, const char *field, const char *want)
{
    const char *got = "";

    for (int i = 0; i < 1500; i++) {
        got = pair_at(p, path, field);
        if (strcmp(got, want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# %s %s\n#  got: %s\n# want: %s\n", path, field, got, want);
    return false;
}

#endif
