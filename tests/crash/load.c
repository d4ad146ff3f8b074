/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/load.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum {
    WRITERS = 4,   /* on each connection */
    NAMES = 6,     /* in each namespace, of each kind; the first is hot */
    DRAWN_MAX = 60 /* objects with names of the server */
};

struct writer {
    struct client_call call; /* first: callbacks get this */
    struct load *load;
    struct client *client;
    struct arena *arena;
    struct rand_seq rand;
    uint64_t op; /* the write under way; 0: it reads */
    /* of a get: */
    struct object *object;
    struct version known;
    unsigned deletions;
    bool existed;
    /* of a list: */
    struct listed list;
    struct client_ref ref;
    uint32_t limit;
};

struct load {
    struct world *world;
    struct writer writers[CONNECTIONS * WRITERS];
};

struct load *load_new(struct world *w)
{
    struct load *l = mem_zalloc(sizeof(*l));

    l->world = w;
    for (unsigned i = 0; i < CONNECTIONS * WRITERS; i++)
        l->writers[i].load = l;
    return l;
}

void load_free(struct load *l)
{
    free(l);
}

static void next(struct writer *w);

static void send_request(struct writer *w, struct client_request req,
                         void (*done)(struct client_call *, const struct json *,
                                      const struct status *))
{
    w->call.req = req;
    w->call.arena = w->arena;
    w->call.done = done;
    w->load->world->calls++;
    client_call(w->client, &w->call);
}

/* At the end of a call: true when there is no answer, the server having ended; so does the writer.
 */
static bool unanswered(struct writer *w, const struct status *why)
{
    struct world *world = w->load->world;

    world->calls--;
    if (!why || why->reason != REASON_UNAVAILABLE || !world->ending)
        return false;
    arena_free(w->arena);
    w->arena = NULL;
    return true;
}

/* ---- writing ---- */

static void on_written(struct client_call *call, const struct json *object,
                       const struct status *why)
{
    struct writer *w = (struct writer *)(void *)call;
    struct ledger *l = &w->load->world->ledger;

    if (unanswered(w, why)) {
        ledger_doubt(l, w->op);
        return;
    }
    if (why)
        ledger_refuse(l, w->op, why);
    else
        ledger_answer(l, w->op, object);
    next(w);
}

static struct op *begin(struct writer *w, enum op_kind kind, const struct target *t)
{
    struct op *op = ledger_op(&w->load->world->ledger, kind, t, false);

    w->op = op->id;
    op->may_fail = op->object && op->object->hot;
    return op;
}

static void write_create(struct writer *w, const struct target *t, bool exists)
{
    struct op *op = begin(w, OP_CREATE, t);
    struct client_ref ref = content_ref(t);

    op->may_fail |= exists;
    ref.name = STR_NONE;
    send_request(
        w,
        client_request_create(w->arena, &ref, NULL,
                              content_object(w->arena, t, w->load->world->ledger.seed, op->id, 0)),
        on_written);
}

/* stale: on top of a version that is gone. */
static void write_update(struct writer *w, struct object *o, bool stale)
{
    struct op *op = begin(w, OP_UPDATE, &o->at);
    struct client_ref ref = content_ref(&o->at);

    op->prev = o->known.rv - stale;
    op->may_fail |= stale;
    send_request(w,
                 client_request_update(w->arena, &ref, NULL,
                                       content_object(w->arena, &o->at, w->load->world->ledger.seed,
                                                      op->id, op->prev)),
                 on_written);
}

static void write_patch(struct writer *w, struct object *o)
{
    static const enum client_patch_type types[] = { CLIENT_PATCH_JSON, CLIENT_PATCH_MERGE,
                                                    CLIENT_PATCH_STRATEGIC };
    enum client_patch_type type = types[rand_seq_below(&w->rand, 3)];
    struct op *op = begin(w, OP_PATCH, &o->at);
    struct client_ref ref = content_ref(&o->at);

    op->prev = rand_seq_below(&w->rand, 2) ? o->known.rv : 0;
    send_request(w,
                 client_request_patch(
                     w->arena, &ref, NULL, type,
                     content_patch(w->arena, type, w->load->world->ledger.seed, op->id, op->prev)),
                 on_written);
}

static void write_delete(struct writer *w, struct object *o)
{
    struct op *op = begin(w, OP_DELETE, &o->at);
    struct client_ref ref = content_ref(&o->at);
    struct json_object options = json_object_new(w->arena), pre = json_object_new(w->arena);

    op->prev = o->known.rv;
    json_add(&pre, STR("resourceVersion"),
             json_of_str(str_printf(w->arena, "%llu", (unsigned long long)op->prev)));
    json_add(&options, STR("kind"), json_of_str(STR("DeleteOptions")));
    json_add(&options, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&options, STR("preconditions"), json_object_value(&pre));
    send_request(w, client_request_delete(w->arena, &ref, NULL, json_object_done(&options)),
                 on_written);
}

/* ---- reading ---- */

static void on_got(struct client_call *call, const struct json *object, const struct status *why)
{
    struct writer *w = (struct writer *)(void *)call;
    struct ledger *l = &w->load->world->ledger;
    struct object *o = w->object;
    struct version v;

    if (unanswered(w, why))
        return;
    if (why && why->reason != REASON_NOT_FOUND)
        ledger_fail(l, "%.*s: get: %.*s", STR_ARG(o->key), STR_ARG(why->message));
    else if (why && w->existed && w->deletions == o->deletions && !o->hot)
        ledger_fail(l, "%.*s: not found, though it was written at %llu", STR_ARG(o->key),
                    (unsigned long long)w->known.rv);
    if (!why && ledger_read(l, o->at.kind, o->at.instance, object, &o, &v) == 1 &&
        v.rv < w->known.rv)
        ledger_fail(l, "%.*s: a get shows %llu, though %llu was acknowledged before it",
                    STR_ARG(o->key), (unsigned long long)v.rv, (unsigned long long)w->known.rv);
    next(w);
}

static void read_get(struct writer *w, struct object *o)
{
    struct client_ref ref = content_ref(&o->at);

    w->op = 0;
    w->object = o;
    w->known = o->known;
    w->existed = o->exists;
    w->deletions = o->deletions;
    send_request(w, client_request_get(w->arena, &ref), on_got);
}

static void on_listed(struct client_call *call, const struct json *page, const struct status *why)
{
    struct writer *w = (struct writer *)(void *)call;
    struct ledger *l = &w->load->world->ledger;
    struct client_query q = { .limit = w->limit };

    if (unanswered(w, why))
        return;
    if (why) {
        ledger_fail(l, "a list of %s: %.*s", content_plural(w->list.kind), STR_ARG(why->message));
        next(w);
        return;
    }
    ledger_list(l, &w->list, w->list.home < 0 ? STR("*") : str_of(homes[w->list.home]), page);
    q.continue_token = json_get_str(page, "metadata.continue");
    if (q.continue_token.n && w->load->world->loaded) {
        send_request(w, client_request_list(w->arena, &w->ref, &q), on_listed);
        return;
    }
    if (!q.continue_token.n)
        ledger_list_done(l, &w->list);
    next(w);
}

static void read_list(struct writer *w, unsigned kind)
{
    int home = (int)rand_seq_below(&w->rand, HOMES + 1) - 1;
    struct target t = { .kind = kind, .instance = home < 0 ? STR("*") : str_of(homes[home]) };
    struct client_query q = { .limit = rand_seq_below(&w->rand, 3) ? 0 : 7 };

    w->op = 0;
    w->list = (struct listed){ .kind = kind, .home = home, .when = "under load" };
    w->limit = q.limit;
    w->ref = content_ref(&t);
    send_request(w, client_request_list(w->arena, &w->ref, &q), on_listed);
}

/* ---- choosing ---- */

static void choose_for(struct writer *w, struct object *o)
{
    uint32_t chance = rand_seq_below(&w->rand, 100);

    if (!o->exists)
        write_create(w, &o->at, false);
    else if (chance < 40)
        write_update(w, o, false);
    else if (chance < 65)
        write_patch(w, o);
    else if (chance < 80)
        write_delete(w, o);
    else if (chance < 85)
        write_update(w, o, true);
    else if (chance < 90)
        write_create(w, &o->at, true);
    else
        read_get(w, o);
}

/* Of those with names of the server: another one, or a change of one. */
static void choose_drawn(struct writer *w, const struct target *t)
{
    struct ledger *l = &w->load->world->ledger;
    uint32_t any = rand_seq_below(&w->rand, DRAWN_MAX);
    struct object *o = any < l->ndrawn ? l->drawn[any] : NULL;

    if (o && !o->in_flight && o->exists)
        choose_for(w, o);
    else
        write_create(w, t, false);
}

static void next(struct writer *w)
{
    struct world *world = w->load->world;
    struct target t = { .kind = rand_seq_below(&w->rand, KINDS),
                        .instance = str_of(homes[rand_seq_below(&w->rand, HOMES)]),
                        .namespace = str_of(spaces[rand_seq_below(&w->rand, SPACES)]) };
    uint32_t chance = rand_seq_below(&w->rand, 100), name = rand_seq_below(&w->rand, NAMES);
    struct object *o;

    arena_free(w->arena);
    w->arena = NULL;
    if (!world->loaded)
        return;
    w->arena = arena_new();
    if (chance < 3) {
        read_list(w, t.kind);
        return;
    }
    if (chance < 15) {
        choose_drawn(w, &t);
        return;
    }
    t.name = str_printf(w->arena, "o%u", name);
    o = ledger_object(&world->ledger, &t);
    o->hot = name == 0;
    if (o->in_flight && !o->hot)
        choose_drawn(w, &(struct target){
                            .kind = t.kind, .instance = t.instance, .namespace = t.namespace });
    else
        choose_for(w, o);
}

void load_start(struct load *l)
{
    for (unsigned i = 0; i < CONNECTIONS * WRITERS; i++) {
        struct writer *w = &l->writers[i];

        w->client = l->world->clients[i % CONNECTIONS];
        w->rand.state = content_mix(rand_seq_u64(&l->world->rand), i);
        next(w);
    }
}
