/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One instance that asks for ten times of what it may have, beside quiet ones: how long they wait
 * for a GET, a renewed lease and /readyz, alone and beside it.  The loud load has a thread of its
 * own that yields to the others: it is the server that must keep them apart, not our own machine.
 * For how long the host took a core away is not counted, and told beside it: no server answers
 * then.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/slice.h"
#include "bench/away.h"
#include "bench/work.h"

#define LOUD  "bench-loud"
#define QUIET "bench-quiet-%u"
#define RULES                                                                       \
    "[{\"apiGroups\":[\"\",\"coordination.k8s.io\"],\"resources\":[\"configmaps\"," \
    "\"leases\"],\"verbs\":[\"get\",\"list\",\"create\",\"update\"]}]"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/%s/leases"

enum {
    QUIETS = 4,      /* instances */
    OBJECTS = 1000,  /* of each */
    PAGE = 500,      /* of a list, as kubectl asks */
    MIX = 50,        /* of so many of the loud one's requests … */
    MIX_LISTS = 1,   /* … such are lists, … */
    MIX_CREATES = 5, /* … such are creates, the others GETs */
};

enum { GET, LEASE, READY, KINDS };

static const unsigned rates[KINDS] = { [GET] = 200, [LEASE] = 40, [READY] = 40 };

struct sample {
    int64_t sent, answered;
};

/* What one thread does. */
struct actor {
    struct bench_load load;
    struct bench_result result;
    struct overload *all;
    pthread_t thread;
    bool yields;
    uint64_t refused;
    struct sample *samples; /* of a quiet one */
    size_t nsamples, cap;
    int rc;
    char error[BENCH_ERROR_MAX]; /* why it could not run */
};

struct overload {
    struct bench *b;
    struct bench loud, quiet[QUIETS]; /* each with its instance and its token */
    struct bench_target nobody;
    struct buf body; /* of a create */
    struct actor actors[KINDS + 1];
};

/* ---- requests ---- */

static void ask(struct bench_slot *s, const struct bench_target *t, str method, str body)
{
    s->call.headers = t->headers;
    s->call.nheaders = t->nheaders;
    s->call.method = method;
    s->call.path = buf_str(&s->path);
    s->call.body = body;
}

/* Each connection is one instance's. */
static struct bench *quiet_of(struct bench_load *l, const struct bench_slot *s)
{
    struct actor *x = l->user;

    return &x->all->quiet[(size_t)(s - l->slots) % l->connections % QUIETS];
}

static void get_path(struct bench *t, struct bench_slot *s)
{
    bench_configmaps_path(t, s);
    buf_printf(&s->path, "/o-%06u", bench_pick(t, OBJECTS));
}

static void take_sample(struct bench_load *l, const struct bench_slot *s)
{
    struct actor *x = l->user;

    if (!l->measuring)
        return;
    if (x->nsamples == x->cap) {
        x->cap = x->cap ? x->cap * 2 : 1024;
        x->samples = mem_realloc_n(x->samples, x->cap, sizeof(*x->samples));
    }
    x->samples[x->nsamples++] = (struct sample){ s->sent_ns, bench_now_ns() };
}

static bool check_quiet(struct bench_load *l, struct bench_slot *s)
{
    take_sample(l, s);
    return true;
}

static bool next_get(struct bench_load *l, struct bench_slot *s)
{
    struct bench *t = quiet_of(l, s);

    get_path(t, s);
    ask(s, &t->target, STR("GET"), STR_NONE);
    return true;
}

static bool next_ready(struct bench_load *l, struct bench_slot *s)
{
    struct actor *x = l->user;

    buf_lit(&s->path, "/readyz");
    ask(s, &x->all->nobody, STR("GET"), STR_NONE);
    return true;
}

/* A lease for each slot: made, then renewed with the version that the answer before it had. */
static bool next_lease(struct bench_load *l, struct bench_slot *s)
{
    struct bench *t = quiet_of(l, s);
    str memo = buf_str(&s->memo);
    ptrdiff_t mid = str_find(memo, '/', 0);

    buf_str_append(&s->path, t->target.prefix);
    buf_printf(&s->path, LEASES, t->o.namespace);
    if (mid < 0) {
        buf_lit(&s->body, "{\"metadata\":{\"generateName\":\"bench-\"},");
    } else {
        str name = str_sub(memo, 0, (size_t)mid), version = str_from(memo, (size_t)mid + 1);

        buf_printf(&s->path, "/%.*s", STR_ARG(name));
        buf_printf(&s->body, "{\"metadata\":{\"name\":\"%.*s\",\"resourceVersion\":\"%.*s\"},",
                   STR_ARG(name), STR_ARG(version));
    }
    buf_printf(&s->body,
               "\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"spec\":{"
               "\"holderIdentity\":\"bench-%llu\",\"leaseDurationSeconds\":15}}",
               (unsigned long long)s->number);
    ask(s, &t->target, mid < 0 ? STR("POST") : STR("PUT"), buf_str(&s->body));
    return true;
}

/* The value of a member that stands in the reply, by its key with quotes and colon. */
static str member(str reply, const char *key)
{
    const char *p = memmem(reply.p, reply.n, key, strlen(key));
    ptrdiff_t end;

    if (!p)
        return STR_NONE;
    reply = str_from(reply, (size_t)(p - reply.p) + strlen(key));
    end = str_find(reply, '"', 0);
    return end < 0 ? STR_NONE : str_sub(reply, 0, (size_t)end);
}

static bool check_lease(struct bench_load *l, struct bench_slot *s)
{
    str reply = buf_str(&s->reply), name = member(reply, "\"name\":\"");
    str version = member(reply, "\"resourceVersion\":\"");

    take_sample(l, s);
    if (!name.n || !version.n)
        return false;
    buf_clear(&s->memo);
    buf_printf(&s->memo, "%.*s/%.*s", STR_ARG(name), STR_ARG(version));
    return true;
}

static bool next_loud(struct bench_load *l, struct bench_slot *s)
{
    struct actor *x = l->user;
    struct bench *t = &x->all->loud;
    unsigned which = (unsigned)(s->number % MIX);

    if (which >= MIX_LISTS + MIX_CREATES) {
        get_path(t, s);
        ask(s, &t->target, STR("GET"), STR_NONE);
        return true;
    }
    bench_configmaps_path(t, s);
    if (which < MIX_LISTS)
        buf_printf(&s->path, "?limit=%d", PAGE);
    ask(s, &t->target, which < MIX_LISTS ? STR("GET") : STR("POST"),
        which < MIX_LISTS ? STR_NONE : buf_str(&x->all->body));
    return true;
}

static bool check_loud(struct bench_load *l, struct bench_slot *s)
{
    struct actor *x = l->user;

    if (l->measuring)
        x->refused += s->status == 429;
    return true;
}

/* ---- instances ---- */

/* 0: the server has no instances. */
static int make_tenant(struct overload *x, struct bench *t, const char *name, struct status *st)
{
    int rc;

    *t = *x->b;
    t->client = client_open(NULL, &t->k, st);
    if (!t->client)
        return -1;
    rc = bench_enter(t, name, st);
    if (rc > 0 && (bench_objects(t, OBJECTS, st) < 0 || bench_account(t, RULES, st) < 0))
        rc = -1;
    bench_disconnect(t);
    return rc;
}

static int make_tenants(struct overload *x, struct status *st)
{
    int rc = make_tenant(x, &x->loud, LOUD, st);

    for (unsigned i = 0; rc > 0 && i < QUIETS; i++)
        rc = make_tenant(x, &x->quiet[i], arena_printf(x->b->arena, QUIET, i), st);
    return rc;
}

static void leave_tenants(struct overload *x)
{
    bench_leave(x->b, LOUD);
    for (unsigned i = 0; i < QUIETS; i++)
        bench_leave(x->b, arena_printf(x->b->arena, QUIET, i));
}

/* ---- runs ---- */

/*
 * Of this thread alone.  The loud load has what nobody else wants.  The quiet one stands for
 * clients that have a machine of their own: it is run before all others where it may, and does
 * little; else it has short slices.
 */
static void set_priority(bool yields)
{
    if (yields) {
        (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){ 0 });
        return;
    }
    if (sched_getscheduler(0) != SCHED_OTHER)
        return; /* it was given more (chrt) */
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO,
                              &(struct sched_param){ .sched_priority = 1 }) != 0)
        slice_set(SLICE_SHORT_NS);
}

static void *act(void *arg)
{
    struct actor *x = arg;
    scoped_arena a = arena_new();
    struct status st;

    set_priority(x->yields);
    status_init(&st, a);
    x->load.loop = loop_new();
    x->rc = bench_load_run(&x->load, &x->result, &st);
    if (x->rc < 0)
        (void)snprintf(x->error, sizeof(x->error), "%.*s", STR_ARG(st.message));
    loop_free(x->load.loop);
    return NULL;
}

static void set_actor(struct overload *x, int kind)
{
    static bool (*const next[KINDS])(struct bench_load *, struct bench_slot *) = {
        [GET] = next_get, [LEASE] = next_lease, [READY] = next_ready
    };
    struct actor *a = &x->actors[kind];

    *a = (struct actor){ .all = x, .result.workload = "overload" };
    a->load = bench_load_of(x->b, 0, 0);
    a->load.user = a;
    if (kind == KINDS) { /* the loud one */
        a->yields = true;
        a->load.connections = bench_or(x->b->o.connections, 40);
        a->load.streams = bench_or(x->b->o.streams, 100);
        a->load.next = next_loud;
        a->load.check = check_loud;
        a->load.sample_every = 1;
        a->load.also_good = 429;
        return;
    }
    a->load.connections = kind == READY ? 1 : QUIETS;
    a->load.streams = 4;
    a->load.rate = rates[kind];
    a->load.next = next[kind];
    a->load.check = kind == LEASE ? check_lease : check_quiet;
    a->load.sample_every = 1;
    a->load.reply_max = 1024;
}

/* The quiet ones, or all, at once. */
static int run_actors(struct overload *x, bool loud, struct status *st)
{
    int n = 0, all = loud ? KINDS + 1 : KINDS, rc = 0;

    for (int i = 0; i < all; i++)
        set_actor(x, i);
    for (; n < all; n++) {
        int err = pthread_create(&x->actors[n].thread, NULL, act, &x->actors[n]);

        if (err) {
            rc = status_errno(st, err, "starting a thread");
            break;
        }
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(x->actors[i].thread, NULL);
        if (x->actors[i].rc < 0 && rc == 0)
            rc = status_set(st, REASON_INTERNAL, "%s", x->actors[i].error);
    }
    return rc;
}

/* ---- the report ---- */

/* How long the requests of a kind took, in ms: while the machine was there, and in all. */
struct times {
    double p99, longest, all_p99, all_longest;
    double met; /* part of them that met a core that was away */
};

static int by_length(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static struct times times_of(const struct actor *x, const struct bench_away *away)
{
    double *ms = mem_alloc((x->nsamples + 1) * sizeof(*ms));
    struct times t = { .all_p99 = (double)hist_quantile(&x->result.latency, 0.99) / 1e6,
                       .all_longest = (double)x->result.latency.max / 1e6 };
    size_t n = x->nsamples;

    for (size_t i = 0; i < n; i++) {
        const struct sample *s = &x->samples[i];
        int64_t away_ns = bench_away_ns(away, s->sent, s->answered);

        ms[i] = (double)(s->answered - s->sent - away_ns) / 1e6;
        t.met += away_ns ? 1.0 / (double)n : 0;
    }
    if (n) {
        qsort(ms, n, sizeof(*ms), by_length);
        t.p99 = ms[(n * 99 + 99) / 100 - 1];
        t.longest = ms[n - 1];
    }
    free(ms);
    return t;
}

static void add_errors(struct overload *x, struct bench_result *r, int n)
{
    for (int i = 0; i < n; i++) {
        const struct bench_result *part = &x->actors[i].result;

        r->errors += part->errors;
        if (!r->error[0])
            (void)snprintf(r->error, sizeof(r->error), "%s", part->error);
    }
}

static void report(const struct times alone[KINDS], const struct times beside[KINDS],
                   struct bench_result *r)
{
    static const char *const names[KINDS][6] = {
        { "GET p99 alone", "GET p99 beside it", "GET longest", "GET p99 alone, all",
          "GET p99 beside it, all", "GET longest, all" },
        { "lease p99 alone", "lease p99 beside it", "lease longest", "lease p99 alone, all",
          "lease p99 beside it, all", "lease longest, all" },
        { "readyz p99 alone", "readyz p99 beside it", "readyz longest", "readyz p99 alone, all",
          "readyz p99 beside it, all", "readyz longest, all" },
    };

    for (int i = 0; i < KINDS; i++) {
        bench_figure(r, names[i][0], alone[i].p99, "ms");
        bench_figure(r, names[i][1], beside[i].p99, "ms");
        bench_figure(r, names[i][2], beside[i].longest, "ms");
        bench_figure(r, names[i][3], alone[i].all_p99, "ms");
        bench_figure(r, names[i][4], beside[i].all_p99, "ms");
        bench_figure(r, names[i][5], beside[i].all_longest, "ms");
    }
    bench_figure(r, "GETs that met a core away", beside[GET].met * 100, "%");
}

/* One part of the measurement: the quiet ones, or all, and when the machine was away. */
static int run_part(struct overload *x, bool loud, struct times t[KINDS], struct bench_result *r,
                    struct status *st)
{
    struct bench_away *away = bench_away_start();
    int rc = run_actors(x, loud, st);

    bench_away_stop(away);
    for (int i = 0; i < KINDS; i++) {
        t[i] = times_of(&x->actors[i], away);
        free(x->actors[i].samples);
        x->actors[i].samples = NULL;
    }
    add_errors(x, r, loud ? KINDS + 1 : KINDS);
    if (loud)
        bench_figure(r, "core away, longest", (double)bench_away_longest_ns(away) / 1e6, "ms");
    bench_away_free(away);
    return rc;
}

static int measure(struct overload *x, struct bench_result *r, struct status *st)
{
    const struct actor *loud = &x->actors[KINDS];
    struct times alone[KINDS], beside[KINDS];

    if (run_part(x, false, alone, r, st) < 0 || run_part(x, true, beside, r, st) < 0)
        return -1;
    report(alone, beside, r);
    bench_figure(r, "loud requests answered",
                 (double)(loud->result.ops - loud->refused) / loud->result.seconds, "/s");
    bench_figure(r, "loud requests refused", (double)loud->refused / loud->result.seconds, "/s");
    r->latency = x->actors[GET].result.latency;
    r->ops = loud->result.ops;
    r->bytes = loud->result.bytes;
    r->seconds = loud->result.seconds;
    r->have_cpu = loud->result.have_cpu;
    r->cpu_s = loud->result.cpu_s;
    r->own_cpu_s = loud->result.own_cpu_s;
    r->before = loud->result.before;
    r->after = loud->result.after;
    r->rss_peak = loud->result.rss_peak;
    return 0;
}

int bench_overload(struct bench *b, struct bench_result *r, struct status *st)
{
    struct overload *x = arena_new_of(b->arena, struct overload);
    int rc;

    *x = (struct overload){ .b = b };
    (void)snprintf(r->setup, sizeof(r->setup),
                   "%u connections x %u in flight of one instance, %d quiet ones beside it",
                   bench_or(b->o.connections, 40), bench_or(b->o.streams, 100), QUIETS);
    bench_stranger(b, &x->nobody, SECRET_NONE);
    buf_init(&x->body, 1 << 20);
    bench_object_body(b, &x->body, STR("\"generateName\":\"c-\""), 0, STR("0"));
    rc = make_tenants(x, st);
    if (rc == 0)
        r->skipped = "this server has no instances";
    else if (rc > 0)
        rc = measure(x, r, st);
    leave_tenants(x);
    buf_release(&x->body);
    return rc < 0 ? -1 : 0;
}
