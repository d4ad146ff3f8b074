/* SPDX-License-Identifier: Apache-2.0 */
#include "crash/ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

enum { FAILURES_SHOWN = 20 };

const char *const homes[HOMES] = { "root", "one", "two" };
const char *const spaces[SPACES] = { "default", "work" };

void events_add(struct events *e, const struct event *ev)
{
    if (e->n == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 256;
        e->p = mem_realloc_n(e->p, e->cap, sizeof(*e->p));
    }
    e->p[e->n++] = *ev;
}

void events_release(struct events *e)
{
    free(e->p);
    *e = (struct events){ 0 };
}

void ledger_init(struct ledger *l, uint64_t seed)
{
    *l = (struct ledger){ .seed = seed, .next_op = 1, .arena = arena_new() };
}

void ledger_release(struct ledger *l)
{
    map_release(&l->objects);
    map64_release(&l->op_index);
    for (unsigned k = 0; k < KINDS; k++)
        events_release(&l->story[k]);
    free(l->drawn);
    free(l->ops);
    free(l->lists);
    arena_free(l->arena);
}

void ledger_fail(struct ledger *l, const char *fmt, ...)
{
    va_list ap;

    if (l->failures++ >= FAILURES_SHOWN)
        return;
    va_start(ap, fmt);
    printf("# ");
    (void)vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

static int home_of(str instance)
{
    for (int i = 0; i < HOMES; i++)
        if (str_is(instance, homes[i]))
            return i;
    return -1;
}

struct object *ledger_object(struct ledger *l, const struct target *t)
{
    scoped_arena a = arena_new();
    str key = str_printf(a, "%s/%.*s/%.*s/%.*s", content_plural(t->kind), STR_ARG(t->instance),
                         STR_ARG(t->namespace), STR_ARG(t->name));
    struct object *o = map_get(&l->objects, key);

    if (o)
        return o;
    o = arena_new_of(l->arena, struct object);
    o->key = str_dup(l->arena, key);
    o->at = (struct target){ .kind = t->kind,
                             .instance = str_dup(l->arena, t->instance),
                             .namespace = str_dup(l->arena, t->namespace),
                             .name = str_dup(l->arena, t->name) };
    o->home = home_of(o->at.instance);
    o->hash = str_hash(o->key, l->seed, 1);
    (void)map_put(&l->objects, o->key, o);
    return o;
}

void ledger_saw(struct ledger *l, uint64_t rv)
{
    if (rv > l->seen_rv)
        l->seen_rv = rv;
}

/* ---- writes ---- */

struct op *ledger_op(struct ledger *l, enum op_kind kind, const struct target *t, bool red)
{
    struct op *op;

    if (l->nops == l->ops_cap) {
        l->ops_cap = l->ops_cap ? l->ops_cap * 2 : 256;
        l->ops = mem_realloc_n(l->ops, l->ops_cap, sizeof(*l->ops));
    }
    while (red && !content_is_red(l->seed, l->next_op))
        l->next_op++;
    op = &l->ops[l->nops++];
    *op = (struct op){ .id = l->next_op++, .kind = kind, .at = *t };
    (void)map64_put(&l->op_index, op->id, (void *)(uintptr_t)l->nops);
    if (t->name.n) {
        op->object = ledger_object(l, t);
        op->at = op->object->at;
        op->object->in_flight++;
        op->object->deletions += kind == OP_DELETE;
    }
    return op;
}

struct op *ledger_find(struct ledger *l, uint64_t id)
{
    uintptr_t place = (uintptr_t)map64_get(&l->op_index, id);

    return place ? &l->ops[place - 1] : NULL;
}

static struct op *end(struct ledger *l, uint64_t id, enum op_state state)
{
    struct op *op = ledger_find(l, id);

    op->state = state;
    if (op->object)
        op->object->in_flight--;
    return op;
}

static void draw(struct ledger *l, struct object *o)
{
    if (o->generated)
        return;
    o->generated = true;
    if (l->ndrawn == l->drawn_cap) {
        l->drawn_cap = l->drawn_cap ? l->drawn_cap * 2 : 64;
        l->drawn = mem_realloc_n(l->drawn, l->drawn_cap, sizeof(struct object *));
    }
    l->drawn[l->ndrawn++] = o;
}

void ledger_answer(struct ledger *l, uint64_t id, const struct json *object)
{
    struct op *op = end(l, id, OP_ACKNOWLEDGED);
    struct object *o = op->object;
    struct version v;

    l->acknowledged++;
    if (op->kind == OP_DELETE) {
        if (o->known.rv == op->prev)
            o->exists = false;
        return;
    }
    if (ledger_read(l, op->at.kind, op->at.instance, object, &o, &v) != 1) {
        ledger_fail(l, "write %llu: the answer does not show what was written",
                    (unsigned long long)id);
        return;
    }
    if ((op->object && o != op->object) || v.op != id)
        ledger_fail(l, "%.*s: the answer to write %llu shows another", STR_ARG(o->key),
                    (unsigned long long)id);
    if (v.rv <= l->restart_rv)
        ledger_fail(l, "%.*s: a new write has revision %llu, but %llu was seen before the restart",
                    STR_ARG(o->key), (unsigned long long)v.rv, (unsigned long long)l->restart_rv);
    op->rv = v.rv;
    if (!op->object) {
        op->object = o;
        draw(l, o);
    }
    if (v.rv > o->known.rv) {
        o->known = v;
        o->exists = true;
    }
}

void ledger_refuse(struct ledger *l, uint64_t id, const struct status *why)
{
    struct op *op = end(l, id, OP_REFUSED);

    l->refused++;
    if (op->may_fail && (why->reason == REASON_CONFLICT || why->reason == REASON_ALREADY_EXISTS ||
                         why->reason == REASON_NOT_FOUND))
        return;
    ledger_fail(l, "%s/%.*s/%.*s/%.*s: write %llu was refused: %.*s", content_plural(op->at.kind),
                STR_ARG(op->at.instance), STR_ARG(op->at.namespace), STR_ARG(op->at.name),
                (unsigned long long)id, STR_ARG(why->message));
}

void ledger_doubt(struct ledger *l, uint64_t id)
{
    (void)end(l, id, OP_DOUBT);
    l->doubtful++;
}

/* ---- what is read ---- */

int ledger_read(struct ledger *l, unsigned kind, str instance, const struct json *object,
                struct object **out, struct version *v)
{
    struct target t = { .kind = kind,
                        .instance = instance,
                        .namespace = json_get_str(object, "metadata.namespace"),
                        .name = json_get_str(object, "metadata.name") };
    const struct json *annotations = json_path(object, "metadata.annotations");
    const char *wrong;
    int rc = content_read(object, l->seed, v, &wrong);

    if (rc == 0)
        return 0;
    if (str_is(instance, "*"))
        t.instance = json_str(json_get(annotations, STR("kairship.io/instance")));
    if (rc > 0 && !t.instance.n)
        wrong = "a wildcard answer does not say of which instance it is";
    if (wrong) {
        ledger_fail(l, "%s/%.*s/%.*s/%.*s at %llu, write %llu: %s", content_plural(kind),
                    STR_ARG(t.instance), STR_ARG(t.namespace), STR_ARG(t.name),
                    (unsigned long long)v->rv, (unsigned long long)v->op, wrong);
        return -1;
    }
    ledger_saw(l, v->rv);
    *out = ledger_object(l, &t);
    return 1;
}

static uint64_t sum_of(const struct object *o, const struct version *v)
{
    return content_mix(o->hash ^ v->rv, v->op);
}

void ledger_list(struct ledger *l, struct listed *to, str instance, const struct json *page)
{
    uint64_t rv = content_rv(page);

    if (to->rv && rv != to->rv)
        ledger_fail(l, "a list of %s began at %llu and goes on at %llu", content_plural(to->kind),
                    (unsigned long long)to->rv, (unsigned long long)rv);
    to->rv = rv;
    json_for_each (item, json_get(page, STR("items"))) {
        struct object *o;
        struct version v;

        if (ledger_read(l, to->kind, instance, item, &o, &v) != 1 || o->home < 0)
            continue;
        to->sum ^= sum_of(o, &v);
        to->n++;
        o->listed_at = rv;
        o->listed_rv = v.rv;
        if (v.rv > rv)
            ledger_fail(l, "%.*s: a list at %llu shows %llu", STR_ARG(o->key),
                        (unsigned long long)rv, (unsigned long long)v.rv);
    }
}

void ledger_list_done(struct ledger *l, const struct listed *list)
{
    ledger_saw(l, list->rv);
    if (l->nlists == l->lists_cap) {
        l->lists_cap = l->lists_cap ? l->lists_cap * 2 : 64;
        l->lists = mem_realloc_n(l->lists, l->lists_cap, sizeof(*l->lists));
    }
    l->lists[l->nlists++] = *list;
}

/* ---- the end of a cycle ---- */

/* Names the objects in which the last list of that revision differs. */
static void list_explain(struct ledger *l, const struct listed *list)
{
    size_t at = 0;
    void *value;
    str key;

    while (map_each(&l->objects, &at, &key, &value)) {
        const struct object *o = value;
        uint64_t watched = o->there ? o->now.rv : 0;
        uint64_t listed = o->listed_at == list->rv ? o->listed_rv : 0;

        if (o->at.kind == list->kind && o->home >= 0 && (list->home < 0 || o->home == list->home) &&
            watched != listed)
            ledger_fail(l, "%.*s: %llu in the list, %llu by the watch (0: none)", STR_ARG(key),
                        (unsigned long long)listed, (unsigned long long)watched);
    }
}

static void list_check(struct ledger *l, const struct listed *list)
{
    uint64_t sum = 0;
    size_t n = 0;

    for (int h = 0; h < HOMES; h++)
        if (list->home < 0 || list->home == h) {
            sum ^= l->sum[list->kind][h];
            n += l->count[list->kind][h];
        }
    if (sum == list->sum && n == list->n)
        return;
    ledger_fail(l, "%s: the list of %s of %s at %llu shows %zu objects, the watch %zu%s",
                list->when, content_plural(list->kind),
                list->home < 0 ? "all instances" : homes[list->home], (unsigned long long)list->rv,
                list->n, n, n == list->n ? ", not the same" : "");
    if (list->last)
        list_explain(l, list);
}

static int by_rv(const void *a, const void *b)
{
    uint64_t x = ((const struct listed *)a)->rv, y = ((const struct listed *)b)->rv;

    return (x > y) - (x < y);
}

static void set_there(struct ledger *l, struct object *o, bool there, const struct version *v)
{
    if (o->home >= 0 && o->there) {
        l->sum[o->at.kind][o->home] ^= sum_of(o, &o->now);
        l->count[o->at.kind][o->home]--;
    }
    o->there = there;
    if (there)
        o->now = *v;
    if (o->home >= 0 && there) {
        l->sum[o->at.kind][o->home] ^= sum_of(o, &o->now);
        l->count[o->at.kind][o->home]++;
    }
}

static void odd(struct ledger *l, const struct event *ev, const char *what)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK" };

    ledger_fail(l, "%.*s: %s at %llu by write %llu: %s", STR_ARG(ev->object->key), names[ev->type],
                (unsigned long long)ev->v.rv, (unsigned long long)ev->v.op, what);
}

/* Which deletion was it?  Those that were acknowledged count first. */
static struct op *deletion_of(struct ledger *l, const struct object *o)
{
    struct op *found = NULL;

    for (size_t i = 0; i < l->nops; i++) {
        struct op *op = &l->ops[i];

        if (op->kind != OP_DELETE || op->object != o || op->prev != o->now.rv || op->seen ||
            op->state == OP_REFUSED)
            continue;
        if (op->state == OP_ACKNOWLEDGED)
            return op;
        found = op;
    }
    return found;
}

static void story_deleted(struct ledger *l, const struct event *ev)
{
    struct object *o = ev->object;
    struct op *op;

    if (!o->there) {
        /* The end of an instance is told in portions; who is cut off in between hears it again. */
        if (o->home >= 0 || o->gone_session == ev->session)
            odd(l, ev, "it was not there");
        return;
    }
    op = deletion_of(l, o);
    if (ev->v.op != o->now.op || ev->v.base != o->now.base || ev->v.uid != o->now.uid)
        odd(l, ev, "that is not its last state");
    if (!op && !o->may_go)
        odd(l, ev, "nobody has deleted it");
    if (op)
        op->seen++;
    if (o->home >= 0 && ev->v.rv <= o->now.rv)
        odd(l, ev, "the deletion has no revision of its own");
}

static void story_written(struct ledger *l, const struct event *ev)
{
    struct object *o = ev->object;
    struct op *op = ledger_find(l, ev->v.op);
    bool added = ev->type == CLIENT_ADDED;

    if (added == o->there)
        odd(l, ev, added ? "it was there already" : "it was not there");
    if (!op || op->kind == OP_DELETE) {
        odd(l, ev, "no such write was under way");
        return;
    }
    if (op->state == OP_REFUSED)
        odd(l, ev, "the write had been refused");
    if (op->seen++)
        odd(l, ev, "it is told twice, or was done twice");
    if (op->state == OP_ACKNOWLEDGED && op->rv != ev->v.rv)
        odd(l, ev, "the answer had another revision");
    if ((op->object && op->object != o) || op->at.kind != o->at.kind)
        odd(l, ev, "the write was for another object");
    if ((op->kind == OP_CREATE) != added)
        odd(l, ev, "the write was of another sort");
    if (op->kind != OP_CREATE && op->prev && op->prev != o->now.rv)
        odd(l, ev, "it is not on top of the version that it demanded");
    if (!added && ev->v.uid != o->now.uid)
        odd(l, ev, "another uid");
    if (added && ev->v.uid == o->now.uid)
        odd(l, ev, "the uid of the one before");
    if (op->kind == OP_PATCH && ev->v.base != o->now.base)
        odd(l, ev, "the patch is not on top of what was there");
    if (!op->object) { /* in doubt, and only now it is known how the server has called it */
        op->object = o;
        draw(l, o);
    }
}

static void story_event(struct ledger *l, unsigned kind, const struct event *ev,
                        ledger_story_fn *fn, void *arg)
{
    struct object *o = ev->object;
    struct version was = o->now;
    bool was_there = o->there;

    if (o->home >= 0 && ev->v.rv <= l->last_rv[kind])
        odd(l, ev, "its revision is not above that of the event before");
    if (ev->v.rv > l->last_rv[kind])
        l->last_rv[kind] = ev->v.rv;
    if (ev->type == CLIENT_DELETED) {
        story_deleted(l, ev);
        o->gone_session = ev->session;
    } else {
        story_written(l, ev);
    }
    set_there(l, o, ev->type != CLIENT_DELETED, &ev->v);
    fn(arg, kind, ev, was_there, &was);
}

static void ops_check(struct ledger *l)
{
    for (size_t i = 0; i < l->nops; i++) {
        const struct op *op = &l->ops[i];
        str key = op->object ? op->object->key : STR("(a generated name)");

        l->doubtful_seen += op->state == OP_DOUBT && op->seen;
        if (op->state == OP_SENT)
            ledger_fail(l, "%.*s: write %llu has no end", STR_ARG(key), (unsigned long long)op->id);
        if (op->state == OP_ACKNOWLEDGED && op->seen != 1)
            ledger_fail(l,
                        "%.*s: write %llu (%s) was acknowledged at %llu; the watch told it %u "
                        "times",
                        STR_ARG(key), (unsigned long long)op->id,
                        op->kind == OP_DELETE ? "a deletion" : "revision",
                        (unsigned long long)(op->kind == OP_DELETE ? op->prev : op->rv), op->seen);
    }
}

/* What is known now is what the story says; generated names that are gone are forgotten. */
static void turn_page(struct ledger *l)
{
    size_t at = 0, kept = 0;
    void *value;
    str key;

    while (map_each(&l->objects, &at, &key, &value)) {
        struct object *o = value;

        if (o->home < 0 && o->there)
            ledger_fail(l, "%.*s: its instance is gone, the watch has not told", STR_ARG(o->key));
        o->known = o->now;
        o->exists = o->there;
        o->in_flight = 0;
    }
    for (size_t i = 0; i < l->ndrawn; i++)
        if (l->drawn[i]->there)
            l->drawn[kept++] = l->drawn[i];
        else
            l->drawn[i]->generated = false;
    l->ndrawn = kept;
    l->nops = l->nlists = 0;
    map64_release(&l->op_index);
    for (unsigned k = 0; k < KINDS; k++)
        l->story[k].n = 0;
}

void ledger_verify(struct ledger *l, ledger_story_fn *fn, void *arg)
{
    if (l->nlists)
        qsort(l->lists, l->nlists, sizeof(*l->lists), by_rv);
    for (unsigned k = 0; k < KINDS; k++) {
        size_t next = 0;

        for (size_t i = 0; i < l->story[k].n; i++) {
            const struct event *ev = &l->story[k].p[i];

            for (; next < l->nlists && l->lists[next].rv < ev->v.rv; next++)
                if (l->lists[next].kind == k)
                    list_check(l, &l->lists[next]);
            story_event(l, k, ev, fn, arg);
        }
        for (; next < l->nlists; next++)
            if (l->lists[next].kind == k)
                list_check(l, &l->lists[next]);
    }
    ops_check(l);
    turn_page(l);
}
