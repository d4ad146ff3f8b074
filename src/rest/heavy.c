/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/heavy.h"

#include "base/banned.h"
#include "loop/workers.h"
#include "rest/body.h"

struct heavy {
    struct worker_job job; /* first: callbacks get this */
    struct rest_request *req;
    struct arena *arena; /* the worker's, until it is done */
    struct status st;
    bool done;

    struct rest_request own; /* of a body: the request with this arena */
    const struct json *tree;
    int rc;

    struct kind_context context; /* of a check */
    const struct json *obj, *old;
};

static void free_arena(void *arg)
{
    arena_free(arg);
}

static struct heavy *heavy_new(struct rest_request *req, void (*run)(struct worker_job *job),
                               void (*done)(struct worker_job *job))
{
    struct heavy *h = arena_new_of(req->arena, struct heavy);

    *h = (struct heavy){ .job = { .run = run, .done = done }, .req = req, .arena = arena_new() };
    status_init(&h->st, h->arena);
    arena_defer(req->arena, free_arena, h->arena);
    return h;
}

static bool submit(struct heavy *h)
{
    struct workers *w = h->req->rest->workers;

    return w && workers_submit(w, &h->job);
}

/* ---- bodies ---- */

static int read_body(struct rest_request *req, const struct json **out, struct status *st)
{
    if (req->verb != VERB_PATCH)
        return body_object(req, out, st);
    if (req->patch_type == PATCH_APPLY)
        return apply_read(req, req->kind, out, st);
    return patch_read(req, out, st);
}

static void run_read(struct worker_job *job)
{
    struct heavy *h = (struct heavy *)(void *)job;

    h->rc = read_body(&h->own, &h->tree, &h->st);
}

static void read_done(struct worker_job *job)
{
    struct heavy *h = (struct heavy *)(void *)job;

    h->done = true;
    h->req->sent = h->own.sent;
    h->req->twice = h->own.twice;
    h->req->gated = h->own.gated;
    h->req->resets_managers = h->own.resets_managers;
    rest_serve(h->req);
}

bool heavy_read(struct rest_request *req)
{
    unsigned verbs = VERB_CREATE | VERB_UPDATE | VERB_PATCH;
    struct heavy *h;

    if (req->body.n < HEAVY_BYTES || !(req->verb & verbs) || req->heavy)
        return false;
    h = heavy_new(req, run_read, read_done);
    h->own = *req;
    h->own.arena = h->arena;
    h->own.warnings = NULL;
    h->own.body = str_dup(h->arena, req->body); /* goes with the answer, which may come first */
    req->heavy = h;
    if (submit(h))
        return true;
    req->heavy = NULL;
    return false;
}

bool heavy_was_read(struct rest_request *req, const struct json **out, struct status *st, int *rc)
{
    struct heavy *h = req->heavy;
    struct rest_warning **tail = &req->warnings;

    if (!h || !h->done)
        return false;
    while (*tail)
        tail = &(*tail)->next;
    *tail = h->own.warnings;
    *out = h->tree;
    *rc = h->rc;
    if (h->rc < 0)
        status_copy(st, &h->st);
    return true;
}

/* ---- rules ---- */

static void check(const struct kind_context *c, const struct json *obj, const struct json *old,
                  struct status *st)
{
    const struct kind_ops *ops = c->kind->ops;

    if (ops && ops->validate)
        ops->validate(c, obj, st);
    if (old && ops && ops->validate_update)
        ops->validate_update(c, obj, old, st);
}

static void run_check(struct worker_job *job)
{
    struct heavy *h = (struct heavy *)(void *)job;

    check(&h->context, h->obj, h->old, &h->st);
}

static void check_done(struct worker_job *job)
{
    struct heavy *h = (struct heavy *)(void *)job;

    h->done = true;
    rest_write_again(h->req);
}

static void add_causes(struct status *st, struct status *more)
{
    if (!more->causes)
        return;
    if (st->causes)
        st->last_cause->next = more->causes;
    else
        st->causes = more->causes;
    st->last_cause = more->last_cause;
    st->ncauses += more->ncauses;
}

/* k8s: schema/cel/validation.go: faults that are tolerated are told, also with a refusal. */
static void warn_of(struct rest_request *req, const struct status *st)
{
    for (const struct cause *c = st->tolerated; c; c = c->next)
        body_warn(req, cause_text(req->arena, c));
}

int heavy_check(struct rest_op *op, const struct kind_context *c, const struct json *obj,
                struct status *st)
{
    const struct json *old = c->create ? NULL : op->old;
    struct heavy *h = op->checked;

    op->checked = NULL;
    if (h && h->done && h->obj == obj) {
        add_causes(st, &h->st);
        warn_of(op->req, &h->st);
        return 0;
    }
    if (op->req->body.n >= HEAVY_BYTES || op->current.obj.text.n >= HEAVY_BYTES) {
        h = heavy_new(op->req, run_check, check_done);
        h->context = *c;
        h->context.arena = h->arena;
        h->obj = obj;
        h->old = old;
        op->checked = h;
        if (submit(h))
            return REST_WAIT;
        op->checked = NULL;
    }
    check(c, obj, old, st);
    warn_of(op->req, st);
    return 0;
}
