/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/convert.h"

#include "base/banned.h"
#include "base/map.h"
#include "object/crdschema/structural.h"
#include "rest/schemas.h"

struct converted_item {
    struct converted_item *next;
    str key, from; /* the version it was written in */
    const struct json *in, *out;
    size_t bytes;
};

struct note { /* an object wanted in another version */
    struct note *next;
    const struct kind *from, *to;
    const struct json *in, *out;
    const struct status *why; /* it cannot be had, or NULL */
    bool asked;
};

struct conversions {
    struct rest_question question; /* first: its callback gets this */
    struct converted_item *first, **end, *asked;
    size_t nasked, bytes;
    bool waits; /* for an answer */
    struct map by_key;
    struct converted_item stored; /* the last object on its way into the store */
    unsigned tries, rounds;
    struct note *notes;
    struct status *failure;
    void (*then)(struct rest_request *req);
};

static void release(void *arg)
{
    struct conversions *c = arg;

    map_release(&c->by_key);
}

static struct conversions *conversions_of(struct rest_request *req)
{
    struct conversions *c = req->converted;

    if (c)
        return c;
    c = req->converted = arena_new_of(req->arena, struct conversions);
    c->question.req = req;
    c->end = &c->first;
    arena_defer(req->arena, release, c);
    return c;
}

static str key_of(struct arena *a, str name, uint64_t rev)
{
    return str_printf(a, "%llu/%.*s", (unsigned long long)rev, STR_ARG(name));
}

const struct json *convert_find(const struct conversions *c, str name, uint64_t rev)
{
    scoped_arena a = c ? arena_new() : NULL;
    const struct converted_item *i = c ? map_get(&c->by_key, key_of(a, name, rev)) : NULL;

    return i ? i->out : NULL;
}

const struct status *convert_failure(const struct rest_request *req)
{
    const struct conversions *c = req->converted;

    return c ? c->failure : NULL;
}

/* ---- versions ---- */

/* `"apiVersion":"g/v1"` of what stands before an object. */
static str version_in(str prefix)
{
    static const str word = STR_INIT("\"apiVersion\":\"");

    for (size_t i = 0; i + word.n < prefix.n; i++) {
        str rest = str_from(prefix, i);
        ptrdiff_t end;

        if (!str_starts(rest, word))
            continue;
        rest = str_from(rest, word.n);
        end = str_find(rest, '"', 0);
        return end < 0 ? STR_NONE : str_sub(rest, 0, (size_t)end);
    }
    return STR_NONE;
}

static str written_in(struct rest_request *req, const struct row *row)
{
    const struct kind *k = req->kind;
    struct schema_record record;
    struct status st;

    if (row->obj.schema == k->storage->schema_id)
        return k->storage->api_version;
    status_init(&st, req->arena);
    if (schema_record_get(req->rest->store, req->arena, k->type_id, row->obj.schema, &record,
                          &st) == 1)
        return version_in(record.type_prefix);
    return k->storage->api_version;
}

bool convert_concerns(struct rest_request *req, const struct row *row)
{
    const struct kind *k = req->kind;

    return k->conversion && !k->any && req->instance.id != STORE_ALL && req->rest->convert &&
           row->obj.schema != k->schema_id && !str_eq(written_in(req, row), k->api_version);
}

/* ---- asking ---- */

int convert_add(struct rest_request *req, const struct row *row, struct status *st)
{
    struct conversions *c = conversions_of(req);
    struct converted_item *i = arena_new_of(req->arena, struct converted_item);
    struct obj_frame frame = { .rev = row->rev, .uid = row->uid, .created = row->created };
    struct row own = *row;

    i->bytes = row->obj.text.n;
    c->bytes += i->bytes;
    if (c->bytes > CONVERT_TOTAL)
        return status_set(st, REASON_TOO_LARGE,
                          "too much has to be converted for this list: ask for pages (limit)");
    i->key = key_of(req->arena, row->name, row->rev);
    i->from = str_dup(req->arena, written_in(req, row));
    frame.type = str_printf(req->arena, "\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
                            STR_ARG(req->kind->kind), STR_ARG(i->from));
    if (obj_tree(req->arena, &own.obj, &frame, &i->in, st) < 0)
        return -1;
    i->in = json_dup(req->arena, i->in);
    *c->end = i;
    c->end = &i->next;
    return 0;
}

static void next_batch(struct conversions *c);

static void fail(struct conversions *c, const struct status *why)
{
    c->failure = rest_status(c->question.req);
    status_copy(c->failure, why);
    c->then(c->question.req);
}

static void on_batch(struct rest_question *q, const struct json *converted,
                     const struct status *why)
{
    struct conversions *c = (struct conversions *)(void *)q;
    const struct kind *k = q->req->kind;
    struct status *st = rest_status(q->req);
    struct converted_item *i = c->asked;

    c->waits = false;
    if (why) {
        fail(c, why);
        return;
    }
    for (size_t n = 0; n < c->nasked; n++, i = i->next) {
        if (structural_convert(q->req->arena, k->schema, json_at(converted, n), &i->out, st) < 0) {
            fail(c, st);
            return;
        }
        map_put(&c->by_key, i->key, i);
    }
    c->asked = i;
    next_batch(c);
}

/* Neighbours of one version, as many as one question may hold. */
static void next_batch(struct conversions *c)
{
    struct rest_request *req = c->question.req;
    struct json_array objects = json_array_new(req->arena);
    struct converted_item *i = c->asked;
    size_t bytes = 0;

    if (!i) {
        c->then(req);
        return;
    }
    for (c->nasked = 0;
         i && c->nasked < CONVERT_BATCH && bytes < CONVERT_BYTES && str_eq(i->from, c->asked->from);
         i = i->next, c->nasked++) {
        json_push(&objects, *i->in);
        bytes += i->bytes;
    }
    c->question.kind = req->kind;
    c->question.from = c->asked->from;
    c->question.to = req->kind->api_version;
    c->question.objects = json_array_done(&objects);
    c->question.done = on_batch;
    c->waits = true;
    req->rest->convert(&c->question);
}

void convert_cancel(struct rest_request *req)
{
    struct conversions *c = req->converted;

    if (c && c->waits)
        req->rest->convert_cancel(&c->question);
}

void convert_begin(struct rest_request *req, void (*then)(struct rest_request *req))
{
    struct conversions *c = conversions_of(req);

    c->then = then;
    c->asked = c->first;
    c->first = NULL;
    c->end = &c->first;
    next_batch(c);
}

/* ---- on the way into the store ---- */

static void on_stored(struct rest_question *q, const struct json *converted,
                      const struct status *why)
{
    struct conversions *c = (struct conversions *)(void *)q;
    struct status *st = rest_status(q->req);

    if (why)
        fail(c, why);
    else if (schema_decode(q->req->arena, q->req->kind->storage->schema, json_at(converted, 0),
                           NULL, &c->stored.out, st) < 0)
        fail(c, st);
    else
        c->then(q->req);
}

int convert_to_stored(struct rest_request *req, const struct json *obj, const struct json **out,
                      void (*then)(struct rest_request *req), struct status *st)
{
    const struct kind *k = req->kind;
    struct json_array objects = json_array_new(req->arena);
    struct conversions *c;

    *out = NULL;
    if (!k->conversion || k == k->storage || !req->rest->convert)
        return 0;
    c = conversions_of(req);
    if (c->stored.out && json_equal(c->stored.in, obj)) {
        *out = c->stored.out;
        return 0;
    }
    if (++c->tries > CONVERT_TRIES)
        return status_set(st, REASON_INTERNAL, "the object changes each time it is converted");
    c->stored = (struct converted_item){ .in = obj };
    c->then = then;
    json_push(&objects, *obj);
    c->question.kind = k;
    c->question.from = k->api_version;
    c->question.to = k->storage->api_version;
    c->question.objects = json_array_done(&objects);
    c->question.done = on_stored;
    req->rest->convert(&c->question);
    return REST_WAIT;
}

/* ---- for who owns fields ---- */

int convert_between(struct rest_request *req, const struct kind *from, const struct kind *to,
                    const struct json *obj, const struct json **out, struct status *st)
{
    struct conversions *c = conversions_of(req);
    struct note *n = c->notes;

    while (n && (n->from != from || n->to != to || !json_equal(n->in, obj)))
        n = n->next;
    if (n && n->why) {
        status_copy(st, n->why);
        return -1;
    }
    if (n && n->out) {
        *out = n->out;
        return 0;
    }
    if (c->rounds >= CONVERT_ROUNDS)
        return status_set(st, REASON_INTERNAL, "the object changes each time it is converted");
    if (!n) {
        n = arena_new_of(req->arena, struct note);
        *n = (struct note){
            .next = c->notes, .from = from, .to = to, .in = json_dup(req->arena, obj)
        };
        c->notes = n;
    }
    return REST_WAIT;
}

static void ask_noted(struct conversions *c);

static void on_noted(struct rest_question *q, const struct json *converted,
                     const struct status *why)
{
    struct conversions *c = (struct conversions *)(void *)q;
    struct status *failure = why ? rest_status(q->req) : NULL;
    size_t i = 0;

    if (why)
        status_copy(failure, why);
    for (struct note *n = c->notes; n; n = n->next) {
        if (why && !n->out && !n->why) /* one is enough to fail */
            n->why = failure;
        else if (n->asked)
            n->out = json_at(converted, i++);
        n->asked = false;
    }
    ask_noted(c);
}

/* Those between the same versions as the first, at once. */
static void ask_noted(struct conversions *c)
{
    struct rest_request *req = c->question.req;
    struct json_array objects = json_array_new(req->arena);
    const struct note *first = NULL;

    for (struct note *n = c->notes; n; n = n->next) {
        if (n->out || n->why)
            continue;
        first = first ? first : n;
        n->asked = n->from == first->from && n->to == first->to;
        if (n->asked)
            json_push(&objects, *n->in);
    }
    if (!first) {
        c->then(req);
        return;
    }
    c->question.kind = req->kind;
    c->question.from = first->from->api_version;
    c->question.to = first->to->api_version;
    c->question.objects = json_array_done(&objects);
    c->question.done = on_noted;
    req->rest->convert(&c->question);
}

void convert_noted(struct rest_request *req, void (*then)(struct rest_request *req))
{
    struct conversions *c = conversions_of(req);

    c->then = then;
    c->rounds++;
    ask_noted(c);
}
