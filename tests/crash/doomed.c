/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/doomed.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum { FILL_MAX = 10, SETTLE_MS = 20000, LOOK_MS = 10 };

enum sort { NAMESPACE, INSTANCE, SORTS };

enum stage { UNKNOWN, MADE, ENDING, ENDED }; /* as far as answers tell */

struct doomed {
    struct doomed *next;
    enum sort sort;
    str instance;  /* it is in, or is */
    str namespace; /* it is, or "default" */
    uint64_t uid;  /* 0: not yet known */
    enum stage stage;
    bool end_sent;
};

struct maker {               /* of one sort */
    struct client_call call; /* first: callbacks get this */
    struct dooms *all;
    enum sort sort;
    struct arena *arena; /* of the request */
    struct rand_seq rand;
    struct doomed *now;
    unsigned left; /* objects to put into it */
    uint64_t op;
};

struct dooms {
    struct world *world;
    struct arena *arena; /* of this cycle's */
    struct doomed *list;
    uint64_t count;
    struct maker makers[SORTS];
};

struct dooms *dooms_new(struct world *w)
{
    struct dooms *d = mem_zalloc(sizeof(*d));

    d->world = w;
    d->arena = arena_new();
    for (unsigned s = 0; s < SORTS; s++)
        d->makers[s] = (struct maker){ .all = d, .sort = (enum sort)s };
    return d;
}

void dooms_free(struct dooms *d)
{
    if (!d)
        return;
    for (unsigned s = 0; s < SORTS; s++)
        arena_free(d->makers[s].arena);
    arena_free(d->arena);
    free(d);
}

/* The object that is the namespace or instance. */
static struct client_ref ref_of(const struct doomed *d)
{
    if (d->sort == NAMESPACE)
        return (struct client_ref){ .instance =
                                        str_is(d->instance, "root") ? STR_NONE : d->instance,
                                    .version = STR("v1"),
                                    .resource = STR("namespaces"),
                                    .name = d->namespace };
    return (struct client_ref){ .group = STR("tenancy.kairship.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("instances"),
                                .name = d->instance };
}

static const struct json *object_of(struct arena *a, const struct doomed *d)
{
    struct client_ref ref = ref_of(d);
    struct json_object o = json_object_new(a), meta = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(ref.name));
    json_add(&o, STR("apiVersion"),
             json_of_str(d->sort == NAMESPACE ? STR("v1") : STR("tenancy.kairship.io/v1alpha1")));
    json_add(&o, STR("kind"),
             json_of_str(d->sort == NAMESPACE ? STR("Namespace") : STR("Instance")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_object_done(&o);
}

static uint64_t uid_of(const struct json *object)
{
    return str_hash(json_get_str(object, "metadata.uid"), 1, 2);
}

/* ---- under load ---- */

static void make(struct maker *m);
static void fill(struct maker *m);

static void send_request(struct maker *m, struct client_request req,
                         void (*done)(struct client_call *, const struct json *,
                                      const struct status *))
{
    m->call.req = req;
    m->call.arena = m->arena;
    m->call.done = done;
    m->all->world->calls++;
    client_call(m->all->world->clients[m->sort], &m->call);
}

/* Makes room for the next request. */
static void fresh(struct maker *m)
{
    arena_free(m->arena);
    m->arena = arena_new();
}

static bool unanswered(struct maker *m, const struct status *why)
{
    struct world *w = m->all->world;

    w->calls--;
    if (why && !(why->reason == REASON_UNAVAILABLE && w->ending))
        ledger_fail(&w->ledger, "%.*s/%.*s: %.*s", STR_ARG(m->now->instance),
                    STR_ARG(m->now->namespace), STR_ARG(why->message));
    return why != NULL;
}

static void on_end(struct client_call *call, const struct json *object, const struct status *why)
{
    struct maker *m = (struct maker *)(void *)call;

    (void)object;
    if (unanswered(m, why))
        return;
    m->now->stage = ENDING;
    if (m->all->world->loaded)
        make(m);
}

/* All that is in it may go from now on. */
static void let_go(struct dooms *d, const struct doomed *which)
{
    size_t at = 0;
    void *value;
    str key;

    while (map_each(&d->world->ledger.objects, &at, &key, &value)) {
        struct object *o = value;

        if (str_eq(o->at.instance, which->instance) && str_eq(o->at.namespace, which->namespace))
            o->may_go = true;
    }
}

static void end(struct maker *m)
{
    struct client_ref ref = ref_of(m->now);

    fresh(m);
    let_go(m->all, m->now);
    m->now->end_sent = true;
    send_request(m, client_request_delete(m->arena, &ref, NULL, NULL), on_end);
}

static void on_filled(struct client_call *call, const struct json *object, const struct status *why)
{
    struct maker *m = (struct maker *)(void *)call;
    struct ledger *l = &m->all->world->ledger;

    if (unanswered(m, why)) {
        if (m->all->world->ending)
            ledger_doubt(l, m->op);
        else
            ledger_refuse(l, m->op, why);
        return;
    }
    ledger_answer(l, m->op, object);
    if (!m->all->world->loaded)
        return;
    if (m->left > 0)
        fill(m);
    else
        end(m);
}

static void fill(struct maker *m)
{
    struct target t = { .kind = rand_seq_below(&m->rand, KINDS),
                        .instance = m->now->instance,
                        .namespace = m->now->namespace };
    struct ledger *l = &m->all->world->ledger;
    struct client_ref ref = content_ref(&t);
    struct op *op;

    fresh(m);
    t.name = str_printf(m->arena, "d%u", m->left--);
    op = ledger_op(l, OP_CREATE, &t, false);
    m->op = op->id;
    send_request(m,
                 client_request_create(m->arena, &ref, NULL,
                                       content_object(m->arena, &t, l->seed, op->id, 0)),
                 on_filled);
}

static void on_made(struct client_call *call, const struct json *object, const struct status *why)
{
    struct maker *m = (struct maker *)(void *)call;

    if (unanswered(m, why))
        return;
    m->now->stage = MADE;
    m->now->uid = uid_of(object);
    if (m->all->world->loaded)
        fill(m);
}

static void make(struct maker *m)
{
    struct dooms *all = m->all;
    struct doomed *d = arena_new_of(all->arena, struct doomed);
    unsigned long long n = ++all->count;
    struct client_ref ref;

    d->sort = m->sort;
    d->instance = m->sort == INSTANCE ? str_printf(all->arena, "fleeting-%llu", n)
                                      : str_of(homes[rand_seq_below(&m->rand, HOMES)]);
    d->namespace =
        m->sort == NAMESPACE ? str_printf(all->arena, "fleeting-%llu", n) : str_of(spaces[0]);
    d->next = all->list;
    all->list = d;
    m->now = d;
    m->left = 1 + rand_seq_below(&m->rand, FILL_MAX);
    fresh(m);
    ref = ref_of(d);
    ref.name = STR_NONE;
    send_request(m, client_request_create(m->arena, &ref, NULL, object_of(m->arena, d)), on_made);
}

void dooms_start(struct dooms *d)
{
    for (unsigned s = 0; s < SORTS; s++) {
        d->makers[s].rand.state = rand_seq_u64(&d->world->rand);
        make(&d->makers[s]);
    }
}

/* ---- afterwards ---- */

/* What became of it: 1 it is there, 0 it is gone, -1 told. */
static int look(struct dooms *all, struct doomed *d, bool *ending)
{
    struct ledger *l = &all->world->ledger;
    scoped_arena a = arena_new();
    struct client_ref ref = ref_of(d);
    struct client_request req = client_request_get(a, &ref);
    const struct json *object;
    struct status st;

    status_init(&st, a);
    if (world_ask(all->world, a, &req, &object, &st) < 0) {
        if (st.reason == REASON_NOT_FOUND)
            return 0;
        ledger_fail(l, "%.*s: %.*s", STR_ARG(ref.name), STR_ARG(st.message));
        return -1;
    }
    if (!d->uid) /* its making was in doubt */
        d->uid = uid_of(object);
    if (uid_of(object) != d->uid) {
        ledger_fail(l, "%.*s: has another uid than it was made with", STR_ARG(ref.name));
        return -1;
    }
    *ending = json_path(object, "metadata.deletionTimestamp") != NULL;
    return 1;
}

static int delete_again(struct dooms *all, struct doomed *d)
{
    scoped_arena a = arena_new();
    struct client_ref ref = ref_of(d);
    struct client_request req = client_request_delete(a, &ref, NULL, NULL);
    struct status st;

    status_init(&st, a);
    let_go(all, d);
    d->end_sent = true;
    d->stage = ENDING;
    if (world_ask(all->world, a, &req, NULL, &st) == 0)
        return 0;
    ledger_fail(&all->world->ledger, "%.*s: delete: %.*s", STR_ARG(ref.name), STR_ARG(st.message));
    return -1;
}

static void settle(struct dooms *all, struct doomed *d)
{
    struct ledger *l = &all->world->ledger;
    int64_t until = now_us() + SETTLE_MS * 1000LL;
    bool ending = false;
    int there = look(all, d, &ending);
    str name = ref_of(d).name;

    if (there == 0 && d->stage == MADE && !d->end_sent)
        ledger_fail(l, "%.*s: was made and not deleted, and is gone", STR_ARG(name));
    if (there == 1 && d->stage == ENDING && !ending)
        ledger_fail(l, "%.*s: was deleted, and is there again", STR_ARG(name));
    if (there == 1 && !ending && delete_again(all, d) < 0)
        return;
    while (there == 1 && now_us() < until && world_pause(all->world, LOOK_MS))
        there = look(all, d, &ending);
    if (there == 1)
        ledger_fail(l, "%.*s: does not come to its end", STR_ARG(name));
    d->stage = ENDED;
}

void dooms_settle(struct dooms *d)
{
    for (struct doomed *one = d->list; one; one = one->next)
        settle(d, one);
    d->list = NULL;
    arena_free(d->arena);
    d->arena = arena_new();
    for (unsigned s = 0; s < SORTS; s++) {
        arena_free(d->makers[s].arena);
        d->makers[s].arena = NULL;
    }
}
