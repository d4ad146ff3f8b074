/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/rest.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "rest/body.h"
#include "rest/heavy.h"
#include "rest/rest_internal.h"
#include "rest/scale.h"
#include "rest/watch.h"

static const struct {
    enum verb verb;
    void (*serve)(struct rest_request *req);
    bool writes;
} verbs[] = {
    { VERB_GET, serve_get, false },      { VERB_LIST, serve_list, false },
    { VERB_WATCH, serve_watch, false },  { VERB_CREATE, serve_create, true },
    { VERB_UPDATE, serve_update, true }, { VERB_PATCH, serve_patch, true },
    { VERB_DELETE, serve_delete, true }, { VERB_DELETE_COLLECTION, serve_delete_collection, true },
};

struct rest *rest_new(const struct rest_setup *o, struct status *st)
{
    struct rest *r = mem_zalloc(sizeof(*r));

    r->store = o->store;
    r->seal = o->seal;
    r->clock = o->clock;
    r->workers = o->workers;
    r->admission = o->admission;
    r->convert = o->convert;
    r->convert_cancel = o->convert_cancel;
    r->instances = instances_open(o->store, clock_wall_s(o->clock), st);
    if (!r->instances) {
        free(r);
        return NULL;
    }
    r->nloops = o->nloops;
    r->loops = mem_zalloc(o->nloops * sizeof(*r->loops));
    for (size_t i = 0; i < o->nloops; i++) {
        r->loops[i].loop = o->loops[i];
        r->loops[i].hub = hub_new(o->store, o->loops[i]);
        r->loops[i].frames = frame_cache_new();
    }
    return r;
}

void rest_free(struct rest *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->nloops; i++) {
        hub_free(r->loops[i].hub);
        frame_cache_free(r->loops[i].frames);
    }
    instances_free(r->instances);
    free(r->loops);
    free(r);
}

uint64_t rest_watched(struct rest *r, struct loop *l)
{
    return hub_revision(rest_loop_of(r, l)->hub);
}

struct instances *rest_instances(struct rest *r)
{
    return r->instances;
}

struct rest_loop *rest_loop_of(struct rest *r, struct loop *l)
{
    for (size_t i = 0; i < r->nloops; i++)
        if (r->loops[i].loop == l)
            return &r->loops[i];
    assert(!"a request on a loop that is not the server's");
    return NULL;
}

struct status *rest_status(struct rest_request *req)
{
    struct status *st = arena_new_of(req->arena, struct status);

    status_init(st, req->arena);
    return st;
}

void rest_fail(struct rest_request *req, const struct status *st)
{
    struct rest_reply reply = { .code = status_http(st), .failure = st };

    req->done(req, &reply);
}

void rest_answer(struct rest_request *req, int code, const str *pieces, size_t npieces)
{
    struct rest_reply reply = { .code = code, .pieces = pieces, .npieces = npieces };

    req->done(req, &reply);
}

/* What is left of an instance that is being deleted is for our own parts to clear away. */
static bool may_write(const struct rest_request *req)
{
    return !req->instance.terminating || (req->who && req->who->rights);
}

void rest_serve(struct rest_request *req)
{
    struct status *st;

    if (req->kind->deprecated.n)
        body_warn(req, req->kind->deprecated);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        if (verbs[i].verb != req->verb)
            continue;
        if (!verbs[i].writes || may_write(req)) {
            if (str_is(req->subresource, "scale"))
                serve_scale(req);
            else if (!heavy_read(req))
                verbs[i].serve(req);
            return;
        }
        st = rest_status(req);
        (void)status_forbidden(st, req->kind->group, req->kind->plural, req->name,
                               "instance %.*s is being deleted", STR_ARG(req->instance.name));
        rest_fail(req, st);
        return;
    }
    assert(!"a verb without a handler");
}

static void print_member(struct buf *b, const char *name, str value, bool *first)
{
    if (value.n == 0)
        return;
    buf_printf(b, "%s\"%s\":", *first ? "" : ",", name);
    json_print_string(b, value);
    *first = false;
}

static void print_causes(struct buf *b, const struct status *st, bool *first)
{
    if (!st->causes)
        return;
    buf_printf(b, "%s\"causes\":[", *first ? "" : ",");
    *first = false;
    for (const struct cause *c = st->causes; c; c = c->next) {
        bool none = true;

        buf_lit(b, "{");
        print_member(b, "reason", str_of(cause_reason(c->type)), &none);
        print_member(b, "message", c->message, &none);
        print_member(b, "field", c->field, &none);
        buf_printf(b, "}%s", c->next ? "," : "");
    }
    buf_byte(b, ']');
}

static void print_details(struct buf *b, const struct status *st)
{
    bool first = true;

    if (!st->name.n && !st->group.n && !st->kind.n && !st->uid.n && !st->causes &&
        !st->retry_after_s && !st->empty_details)
        return;
    buf_lit(b, "\"details\":{");
    print_member(b, "name", st->name, &first);
    print_member(b, "group", st->group, &first);
    print_member(b, "kind", st->kind, &first);
    print_member(b, "uid", st->uid, &first);
    print_causes(b, st, &first);
    if (st->retry_after_s)
        buf_printf(b, "%s\"retryAfterSeconds\":%u", first ? "" : ",", st->retry_after_s);
    buf_lit(b, "},");
}

void rest_status_print(struct buf *b, const struct status *st)
{
    bool first = true;

    buf_lit(b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    print_member(b, "continue", st->continue_token, &first);
    buf_printf(b, "},\"status\":\"%s\",", st->reason == REASON_OK ? "Success" : "Failure");
    first = true;
    print_member(b, "message", st->message, &first);
    print_member(b, "reason", str_of(status_reason(st)), &first);
    if (!first)
        buf_byte(b, ',');
    print_details(b, st);
    if (st->reason == REASON_OK) {
        b->n--; /* the comma behind details: a success has no code */
        buf_byte(b, '}');
        return;
    }
    buf_printf(b, "\"code\":%d}", status_http(st));
}
