/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/call/internal.h"
#include "apiserver/flow/flow_set.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/metric.h"
#include "rest/seal.h"

#define GROUP "flowcontrol.apiserver.k8s.io"

enum {
    SLOTS = 1024,
    CACHE_MAX = 16 << 20, /* bytes of all sets; beyond it the slots are emptied */
    ROWS_MAX = 250,       /* of one kind that count: more would keep the loop from others */
    TRIES = 3,            /* of reading, while what is read is forgotten behind it */
    WAIT_MS = 15000,      /* a quarter of a minute, which a request has */
    WAIT_PART = 4,
    CALL_BYTES = 4096, /* that a call holds beside its body */
};

enum { SCHEMAS, LEVELS, TYPES };

enum refusal { REFUSED_FULL, REFUSED_LIMIT, REFUSED_TIME, REFUSED_GONE, REFUSALS };

typedef _Atomic uint64_t counter;

struct counts {
    counter dispatched, refused[REFUSALS], waits, waited_us;
    _Atomic int64_t running, waiting;
};

/* A set in the cache. */
struct kept {
    struct flow_set *set;
    uint32_t instance;
    _Atomic uint64_t rev;
    uint64_t print; /* of the instance's own rows */
    size_t bytes;
};

struct flow {
    struct store *store;
    struct seal *seal;
    unsigned seats;
    struct flow_gate *gate;
    uint32_t types[TYPES];
    struct arena *arena; /* of the template rows, which do not change while we run */
    struct flow_rows rows[TYPES];
    struct flow_set *base;
    _Atomic(struct kept *) slots[SLOTS];
    _Atomic size_t bytes;
    struct counts counts[FLOW_NLEVELS];
};

/* Of a call that is not exempt. */
struct flow_pass {
    struct flow_ticket ticket; /* first */
    struct loop_msg msg;
    struct loop_timer timer;
    struct call *call;
    unsigned metric;
    int64_t since_us;
};

/* ---- reading ---- */

struct reading {
    struct seal *seal;
    struct arena *arena;
    struct flow_rows rows;
    size_t seen;
    uint64_t print;
    bool trees; /* else only the print is wanted */
    bool failed;
};

static bool read_row(void *arg, const struct store_row *row)
{
    struct reading *r = arg;
    struct obj_frame frame = { .rev = row->rev };
    struct flow_row *out;
    struct status st;
    struct obj obj = { 0 };

    r->print = str_hash(row->key.name, r->print, row->rev);
    if (!r->trees)
        return ++r->seen < ROWS_MAX;
    if (!r->rows.at)
        r->rows.at = arena_array(r->arena, struct flow_row, ROWS_MAX);
    out = &r->rows.at[r->rows.n++];
    *out = (struct flow_row){ .name = str_dup(r->arena, row->key.name) };
    status_init(&st, r->arena);
    r->failed =
        seal_view(r->seal, r->arena, &row->key, row->value, &obj, &st) < 0 ||
        (!(obj.flags & OBJ_HIDDEN) && obj_tree(r->arena, &obj, &frame, &out->tree, &st) < 0);
    out->uid = str_dup(r->arena, obj.uid);
    return !r->failed && ++r->seen < ROWS_MAX;
}

static int read_rows(struct flow *f, uint32_t instance, uint64_t rev, struct reading r[TYPES],
                     struct status *st)
{
    for (size_t i = 0; i < TYPES; i++) {
        struct store_range range = {
            .type = f->types[i], .instance = instance, .start_instance = instance, .rev = rev
        };

        r[i].seal = f->seal;
        if (rev && store_scan(f->store, &range, read_row, &r[i], st) < 0)
            return -1;
        if (r[i].failed)
            return status_set(st, REASON_INTERNAL, "a stored flow schema or level is damaged");
    }
    return 0;
}

/* What is always there, and always as it is by default. */
static bool is_mandatory(str name)
{
    return str_is(name, "exempt") || str_is(name, "catch-all");
}

static struct flow_row *find_row(const struct flow_rows *rows, str name)
{
    for (size_t i = 0; i < rows->n; i++)
        if (str_eq(rows->at[i].name, name))
            return &rows->at[i];
    return NULL;
}

/* The instance's own rows over the template rows; hidden ones have no tree. */
static struct flow_rows merge(struct arena *a, const struct flow_rows *base,
                              const struct flow_rows *own)
{
    struct flow_rows out = { .at = arena_array(a, struct flow_row, base->n + own->n + 1) };

    for (size_t i = 0; i < base->n; i++) {
        const struct flow_row *mine = find_row(own, base->at[i].name);

        if (mine && !mine->tree && !is_mandatory(mine->name))
            continue;
        out.at[out.n] = mine && mine->tree ? *mine : base->at[i];
        if (is_mandatory(base->at[i].name))
            out.at[out.n].tree = base->at[i].tree;
        out.n++;
    }
    for (size_t i = 0; i < own->n; i++)
        if (own->at[i].tree && !find_row(base, own->at[i].name))
            out.at[out.n++] = own->at[i];
    return out;
}

/* ---- the cache ---- */

static void kept_free(void *arg)
{
    struct kept *k = arg;

    if (!k)
        return;
    flow_set_free(k->set);
    free(k);
}

static struct kept *kept_new(struct flow *f, const struct instance *i, uint64_t rev,
                             struct status *st)
{
    scoped_arena a = arena_new();
    struct reading own[TYPES] = { { .arena = a, .trees = true }, { .arena = a, .trees = true } };
    struct kept *k;

    if (read_rows(f, i->id, rev, own, st) < 0)
        return NULL;
    k = mem_zalloc(sizeof(*k));
    k->instance = i->id;
    k->rev = rev;
    k->print = own[SCHEMAS].print ^ own[LEVELS].print * 3;
    if (own[SCHEMAS].rows.n || own[LEVELS].rows.n) {
        struct flow_rows schemas = merge(a, &f->rows[SCHEMAS], &own[SCHEMAS].rows);
        struct flow_rows levels = merge(a, &f->rows[LEVELS], &own[LEVELS].rows);

        k->set = flow_set_new(&schemas, &levels, f->seats, i->uid);
    } else {
        k->set = flow_set_share(f->base, &f->rows[SCHEMAS], &f->rows[LEVELS], i->uid);
    }
    k->bytes = sizeof(*k) + arena_size(k->set->arena);
    return k;
}

/* Others share the number that says whether a row was touched: often it was none of these. */
static bool is_fresh(struct flow *f, struct kept *k, struct status *st)
{
    struct reading own[TYPES] = { 0 };
    uint64_t head = store_head(f->store), rev = atomic_load(&k->rev);
    bool touched = false;

    for (size_t i = 0; i < TYPES; i++)
        touched = touched || store_touched(f->store, f->types[i], k->instance) > rev;
    if (!touched || head <= rev)
        return true;
    if (read_rows(f, k->instance, head, own, st) < 0 ||
        k->print != (own[SCHEMAS].print ^ own[LEVELS].print * 3))
        return false;
    atomic_store(&k->rev, head);
    return true;
}

static void put(struct flow *f, size_t slot, struct kept *k)
{
    struct kept *old = atomic_exchange(&f->slots[slot], k);

    if (k)
        atomic_fetch_add(&f->bytes, k->bytes);
    if (!old)
        return;
    atomic_fetch_sub(&f->bytes, old->bytes);
    epoch_retire(kept_free, old);
}

/* Valid in this epoch.  What cannot be read is as it is by default. */
static const struct flow_set *set_of(struct flow *f, const struct instance *i, struct status *st)
{
    size_t slot = (i->id * (uint32_t)2654435761 >> 8) % SLOTS;
    struct kept *k = atomic_load_explicit(&f->slots[slot], memory_order_acquire);

    if (!i->uid.n || i->id == STORE_ALL)
        return f->base;
    if (k && k->instance == i->id && is_fresh(f, k, st))
        return k->set;
    k = NULL;
    for (int n = 0; !k && n < TRIES; n++)
        k = kept_new(f, i, store_head(f->store), st);
    if (!k)
        return f->base;
    if (atomic_load_explicit(&f->bytes, memory_order_relaxed) + k->bytes > CACHE_MAX)
        for (size_t n = 0; n < SLOTS; n++)
            put(f, n, NULL);
    put(f, slot, k);
    return k->set;
}

/* ---- life ---- */

static int read_base(struct flow *f, struct status *st)
{
    struct reading base[TYPES] = { { .arena = f->arena, .trees = true },
                                   { .arena = f->arena, .trees = true } };
    int rc;

    epoch_enter();
    rc = read_rows(f, INSTANCE_TEMPLATE, store_head(f->store), base, st);
    epoch_exit();
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < TYPES; i++)
        f->rows[i] = base[i].rows;
    f->base = flow_set_new(&f->rows[SCHEMAS], &f->rows[LEVELS], f->seats, STR_NONE);
    if (!f->base->nschemas)
        return status_set(st, REASON_INTERNAL, "there is no flow schema by default");
    return 0;
}

struct flow *flow_new(struct store *s, struct seal *seal, unsigned seats, struct status *st)
{
    static const char *const plurals[TYPES] = {
        [SCHEMAS] = "flowschemas", [LEVELS] = "prioritylevelconfigurations"
    };
    struct flow *f = mem_zalloc(sizeof(*f));

    f->store = s;
    f->seal = seal;
    f->seats = seats;
    f->gate = flow_gate_new(seats);
    f->arena = arena_new();
    for (size_t i = 0; i < TYPES; i++)
        if (type_id(s, STR(GROUP), str_of(plurals[i]), &f->types[i], st) < 0)
            goto failed;
    if (read_base(f, st) == 0)
        return f;
failed:
    flow_free(f);
    return NULL;
}

void flow_free(struct flow *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        kept_free(atomic_load(&f->slots[i]));
    flow_set_free(f->base);
    flow_gate_free(f->gate);
    arena_free(f->arena);
    free(f);
}

/* ---- counting ---- */

static void add(counter *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static void move(_Atomic int64_t *g, int64_t n)
{
    atomic_fetch_add_explicit(g, n, memory_order_relaxed);
}

static void count_run(struct counts *n)
{
    add(&n->dispatched, 1);
    move(&n->running, 1);
}

/* ---- in ---- */

void flow_refuse(struct call *c)
{
    struct status *st = call_status(c);

    metrics_rejected(c->server->metrics, c->mutating);
    call_header_add(c, STR("retry-after"), STR("1"));
    (void)status_set(st, REASON_TOO_MANY_REQUESTS, "Too many requests, please try again later.");
    if (!c->server->chain->refuse(c, st))
        call_answer_text(c, 429, str_printf(c->arena, "%.*s\n", STR_ARG(st->message)));
}

static struct counts *counts_of(const struct flow_pass *p)
{
    return &p->call->server->flow->counts[p->metric];
}

static void stop_waiting(struct flow_pass *p)
{
    struct counts *n = counts_of(p);
    int64_t us = clock_wall_us(p->call->server->clock) - p->since_us;

    loop_timer_cancel(p->call->loop, &p->timer);
    move(&n->waiting, -1);
    add(&n->waits, 1);
    add(&n->waited_us, us > 0 ? (uint64_t)us : 0);
}

/* On the call's loop: it has a seat. */
static void go_on(struct loop_msg *msg)
{
    struct flow_pass *p =
        (struct flow_pass *)(void *)((char *)msg - offsetof(struct flow_pass, msg));

    stop_waiting(p);
    count_run(counts_of(p));
    call_continue(p->call);
}

static void granted(struct flow_ticket *t)
{
    struct flow_pass *p = (struct flow_pass *)(void *)t;

    loop_post(p->call->loop, &p->msg);
}

/* False when it has a seat already and is on its way. */
static bool give_up(struct flow_pass *p, enum refusal why)
{
    struct call *c = p->call;

    if (!flow_gate_cancel(c->server->flow->gate, &p->ticket))
        return false;
    add(&counts_of(p)->refused[why], 1);
    stop_waiting(p);
    return true;
}

static void waited_enough(struct loop_timer *t)
{
    struct flow_pass *p =
        (struct flow_pass *)(void *)((char *)t - offsetof(struct flow_pass, timer));

    if (give_up(p, REFUSED_TIME))
        flow_refuse(p->call);
}

void flow_gone(struct call *c)
{
    if (c->pass && give_up(c->pass, REFUSED_GONE))
        flow_refuse(c);
}

static int64_t wait_ms(struct call *c)
{
    struct status *st = call_status(c);
    int64_t ms = 0;

    if (c->query.n && query_timeout(c->arena, c->query, &ms, st) < 0)
        ms = 0; /* which is said later */
    ms /= WAIT_PART;
    return ms > 0 && ms < WAIT_MS ? ms : WAIT_MS;
}

static bool enter(struct call *c, const struct flow_schema *schema)
{
    struct flow *f = c->server->flow;
    const struct flow_level *level = schema->level;
    struct flow_pass *p = arena_new_of(c->arena, struct flow_pass);

    *p = (struct flow_pass){
        .ticket = { .instance = c->rest.instance.id,
                    .level = level->id,
                    .flow = flow_schema_hash(schema, &c->info, &c->who),
                    .bytes = c->body.n + CALL_BYTES,
                    .granted = granted },
        .msg = { .fn = go_on, .whose = c->rest.whose },
        .timer.fn = waited_enough,
        .call = c,
        .metric = level->metric,
        .since_us = c->began_us,
    };
    c->pass = p;
    switch (flow_gate_enter(f->gate, &level->limits, &p->ticket)) {
    case FLOW_RUNS:
        count_run(counts_of(p));
        return true;
    case FLOW_WAITS:
        move(&counts_of(p)->waiting, 1);
        loop_timer_set(c->loop, &p->timer, wait_ms(c));
        return false;
    case FLOW_OUT:
        break;
    }
    add(&counts_of(p)->refused[level->limits.queues ? REFUSED_FULL : REFUSED_LIMIT], 1);
    flow_refuse(c);
    return false;
}

/* Returns whether the caller may learn that the instance exists: anonymous callers may not. */
static bool may_learn(const struct call *c)
{
    return c->rest.instance.id == INSTANCE_ROOT || !str_is(c->who.user, "system:anonymous");
}

bool flow_admit(struct call *c)
{
    struct flow *f = c->server->flow;
    struct status *st;
    const struct flow_set *set;
    const struct flow_schema *schema;

    if (c->local)
        return true;
    st = call_status(c);
    set = set_of(f, &c->rest.instance, st);
    schema = flow_set_match(set, &c->info, &c->who);
    if (may_learn(c) && set->uids) { /* copied: the set may be gone when it has waited */
        call_header_add(c, STR("x-kubernetes-pf-flowschema-uid"),
                        str_dup(c->arena, set->uids[schema->place]));
        call_header_add(c, STR("x-kubernetes-pf-prioritylevel-uid"),
                        str_dup(c->arena, set->uids[schema->level_place]));
    }
    if (!schema->level->exempt)
        return enter(c, schema);
    add(&f->counts[schema->level->metric].dispatched, 1);
    return true;
}

void flow_done(struct call *c)
{
    struct flow_pass *p = c->pass;

    c->pass = NULL;
    if (!p || p->ticket.state != FLOW_RUNS)
        return;
    move(&counts_of(p)->running, -1);
    flow_gate_leave(c->server->flow->gate, &p->ticket);
}

/* ---- metrics ---- */

static const char *const levels[] = {
#define X(name) name,
    FLOW_LEVELS(X)
#undef X
};

#define LEVEL_LABEL                            \
    {                                          \
        "priority_level", levels, FLOW_NLEVELS \
    }

/* The number at that place of each level's counts. */
static void print_rows(const struct flow *f, struct buf *b, const struct metric_spec *s,
                       size_t offset)
{
    int64_t values[FLOW_NLEVELS];

    for (size_t i = 0; i < FLOW_NLEVELS; i++) {
        const char *p = (const char *)&f->counts[i] + offset;
        const counter *n = (const counter *)(const void *)p;

        values[i] = (int64_t)atomic_load_explicit(n, memory_order_relaxed);
    }
    metric_rows(b, s, values);
}

static void print_levels(const struct flow *f, struct buf *b)
{
    static const struct {
        struct metric_spec spec;
        size_t offset;
    } rows[] = {
        { { "apiserver_flowcontrol_dispatched_requests_total", "Requests that were let through.",
            METRIC_COUNTER, .labels = { LEVEL_LABEL } },
          offsetof(struct counts, dispatched) },
        { { "apiserver_flowcontrol_current_executing_requests", "Requests that have a seat.",
            METRIC_GAUGE, .labels = { LEVEL_LABEL } },
          offsetof(struct counts, running) },
        { { "apiserver_flowcontrol_current_inqueue_requests", "Requests that wait for one.",
            METRIC_GAUGE, .labels = { LEVEL_LABEL } },
          offsetof(struct counts, waiting) },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        print_rows(f, b, &rows[i].spec, rows[i].offset);
}

static void print_waits(const struct flow *f, struct buf *b)
{
    static const struct metric_spec spec = { "apiserver_flowcontrol_request_wait_duration_seconds",
                                             "How long requests have waited for a seat.",
                                             METRIC_SUMMARY, .labels = { LEVEL_LABEL },
                                             .per = 1000000 };
    int64_t values[FLOW_NLEVELS][2];

    for (size_t i = 0; i < FLOW_NLEVELS; i++) {
        values[i][0] = (int64_t)atomic_load(&f->counts[i].waits);
        values[i][1] = (int64_t)atomic_load(&f->counts[i].waited_us);
    }
    metric_rows(b, &spec, values[0]);
}

void flow_print(const struct flow *f, struct buf *b)
{
    static const char *const reasons[REFUSALS] = { [REFUSED_FULL] = "queue-full",
                                                   [REFUSED_LIMIT] = "concurrency-limit",
                                                   [REFUSED_TIME] = "time-out",
                                                   [REFUSED_GONE] = "cancelled" };
    static const struct metric_spec rejected = {
        "apiserver_flowcontrol_rejected_requests_total", "Requests sent away.", METRIC_COUNTER,
        .labels = { LEVEL_LABEL, { "reason", reasons, REFUSALS } }, .sparse = true
    };
    int64_t refused[FLOW_NLEVELS][REFUSALS];

    print_levels(f, b);
    print_waits(f, b);
    for (size_t i = 0; i < FLOW_NLEVELS; i++)
        for (size_t r = 0; r < REFUSALS; r++)
            refused[i][r] = (int64_t)atomic_load(&f->counts[i].refused[r]);
    metric_rows(b, &rejected, refused[0]);
}
