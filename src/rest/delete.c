/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "rest/body.h"
#include "rest/convert.h"
#include "rest/read.h"
#include "rest/select.h"
#include "rest/token.h"
#include "rest/write.h"

enum {
    COLLECTION_WINDOW = 64,       /* objects of a deletecollection on their way at once */
    COLLECTION_STARTED = 8,       /* that begin in one turn of the loop, even if others wait */
    COLLECTION_LOOKED = 500,      /* rows looked at in one go, matching or not */
    COLLECTION_ANSWER = 64 << 20, /* bytes of deleted objects in the answer; the rest is left out */
};

static const str ORPHAN = STR_INIT("orphan"), FOREGROUND = STR_INIT("foregroundDeletion");

static bool is_about_dependents(str finalizer)
{
    return str_eq(finalizer, ORPHAN) || str_eq(finalizer, FOREGROUND);
}

/* k8s: shouldOrphanDependents: what the object says of itself goes before what its kind does */
static enum propagation propagation_of(const struct rest_op *op, const struct json *finalizers)
{
    enum propagation p = op->req->delete.propagation;
    const struct kind *k = op->req->kind;

    if (k->no_dependents)
        return PROPAGATION_BACKGROUND;
    if (p != PROPAGATION_DEFAULT || !k->orphans)
        return p;
    json_for_each (f, finalizers)
        if (is_about_dependents(json_str(f)))
            return p;
    return PROPAGATION_ORPHAN;
}

/* k8s: registry/generic/registry/store.go deletionFinalizersForGarbageCollection */
static const struct json *new_finalizers(struct rest_op *op, const struct json *obj)
{
    const struct json *old = json_path(obj, "metadata.finalizers");
    enum propagation p = propagation_of(op, old);
    struct json_array list = json_array_new(op->req->arena);

    if (p == PROPAGATION_DEFAULT)
        return old ? old : &json_empty_array;
    json_for_each (f, old)
        if (!is_about_dependents(json_str(f)))
            json_push(&list, *f);
    if (p == PROPAGATION_ORPHAN)
        json_push(&list, json_of_str(ORPHAN));
    if (p == PROPAGATION_FOREGROUND)
        json_push(&list, json_of_str(FOREGROUND));
    return json_array_done(&list);
}

/* k8s: pkg/registry/core/namespace/storage/storage.go Delete, which looks before the others do */
static int refuse_plainly(const struct rest_op *op, const char *what, str said, str is,
                          struct status *st)
{
    const struct kind *k = op->req->kind;

    return status_conflict(st, k->group, k->plural, op->name,
                           "Precondition failed: %s in precondition: %.*s, %s in object meta: %.*s",
                           what, STR_ARG(said), what, STR_ARG(is));
}

/* k8s: apiserver/pkg/registry/rest/delete.go BeforeDelete, which names the stored Kind */
static int check_preconditions(const struct rest_op *op, struct status *st)
{
    const struct delete_options *o = &op->req->delete;
    const struct kind *k = op->req->kind;
    str uid = json_get_str(op->old, "metadata.uid");
    str rv = json_get_str(op->old, "metadata.resourceVersion");
    bool other_uid = o->has_uid && !str_eq(o->precondition_uid, uid);
    bool other_rv = o->has_rv && !str_eq(o->precondition_rv, rv);

    if (k->plain_conflicts && other_uid)
        return refuse_plainly(op, "UID", o->precondition_uid, uid, st);
    if (k->plain_conflicts && other_rv)
        return refuse_plainly(op, "ResourceVersion", o->precondition_rv, rv, st);
    if (other_uid)
        return status_conflict(
            st, k->storage->group, k->kind, op->name,
            "the UID in the precondition (%.*s) does not match the UID in record (%.*s). The "
            "object might have been deleted and then recreated",
            STR_ARG(o->precondition_uid), STR_ARG(uid));
    if (other_rv)
        return status_conflict(
            st, k->storage->group, k->kind, op->name,
            "the ResourceVersion in the precondition (%.*s) does not match the ResourceVersion in "
            "record (%.*s). The object might have been modified",
            STR_ARG(o->precondition_rv), STR_ARG(rv));
    return 0;
}

static struct json seconds(struct arena *a, int64_t s)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);

    return json_of_str((str){ text, time_format_seconds(text, s) });
}

/*
 * Marks the object as being deleted, which counts as a change of it the first time.  Who still had
 * time has none from then on: it is counted from when it was given.
 */
static const struct json *mark(struct rest_op *op, const struct json *obj, bool grace)
{
    struct arena *a = op->req->arena;
    struct json_object meta = json_object_from(a, json_get(obj, STR("metadata")));
    int64_t left = json_int(json_path(obj, "metadata.deletionGracePeriodSeconds"), 0), until;
    int64_t generation = json_int(json_path(obj, "metadata.generation"), 0);
    str when = json_get_str(obj, "metadata.deletionTimestamp");

    json_remove(&meta, STR("resourceVersion"));
    if (when.n == 0) {
        json_put(&meta, STR("deletionTimestamp"), seconds(a, clock_wall_s(op->req->rest->clock)));
        if (generation > 0)
            json_put(&meta, STR("generation"), json_of_int(generation + 1));
    } else if (grace && left > 0 && time_parse_seconds(when, &until)) {
        json_put(&meta, STR("deletionTimestamp"), seconds(a, until - left));
    }
    if (grace && (when.n == 0 || left > 0))
        json_put(&meta, STR("deletionGracePeriodSeconds"), json_of_int(0));
    return json_set(a, obj, "metadata", json_object_done(&meta));
}

static void set_pending(struct rest_op *op)
{
    const struct kind_ops *ops = op->req->kind->ops;
    struct kind_context c = write_context(op);
    const struct json *held = ops && ops->begin_delete ? ops->begin_delete(&c, op->old) : NULL;
    const struct json *obj = held ? held : op->old, *finalizers = new_finalizers(op, obj);

    obj = json_set(op->req->arena, obj, "metadata.finalizers",
                   json_len(finalizers) ? finalizers : NULL);
    op->what = held || json_len(finalizers) ? WRITE_PUT : WRITE_REMOVE;
    if (!held && op->what == WRITE_PUT && ops && ops->held)
        obj = ops->held(&c, obj);
    op->obj = mark(op, obj, !held);
}

static int make_delete(struct rest_op *op, struct status *st)
{
    const struct kind *k = op->req->kind;
    struct kind_context c = write_context(op);

    if (!op->found)
        return status_not_found(st, k->group, k->plural, op->name);
    if (check_preconditions(op, st) < 0)
        return -1;
    if (k->ops && k->ops->check_delete && k->ops->check_delete(&c, op->old, st) < 0)
        return -1;
    if (write_validate(op, NULL, st) < 0)
        return -1;
    set_pending(op);
    /* k8s: what may be given time is marked first, even if it has none */
    if (op->what == WRITE_REMOVE && !(k->ops && k->ops->begin_delete))
        op->obj = op->old;
    op->answers_status = op->what == WRITE_REMOVE && !k->delete_returns_object;
    op->insists = op->req->delete.has_rv;
    /* k8s: handlers/delete.go: told to who asked so, for others it would break what works */
    op->code = op->what == WRITE_PUT && op->req->delete.cascades ? 202 : 200;
    return 0;
}

static void warn_of_orphans(struct rest_request *req)
{
    const struct kind *k = req->kind;

    if (k->orphans_warning.n && req->delete.propagation == PROPAGATION_DEFAULT)
        rest_warn(req, k->orphans_warning);
}

static void fill(struct rest_op *op, struct rest_request *req, str name)
{
    op->req = req;
    op->make = make_delete;
    op->code = 200;
    op->name = name;
    op->row = row_name(req->arena, req->kind, req->namespace_, name);
}

void serve_delete(struct rest_request *req)
{
    struct rest_op *op = arena_new_of(req->arena, struct rest_op);
    struct status *st = rest_status(req);

    if (body_delete_options(req, st) < 0) {
        rest_fail(req, st);
        return;
    }
    warn_of_orphans(req);
    fill(op, req, req->name);
    write_run(op);
}

/* ---- deletecollection ---- */

/*
 * Rows are picked portion by portion at one revision, and a window of them is on its way at a time;
 * each has an arena of its own, so that a collection of any size needs little more memory than its
 * answer.
 */
struct sight;

struct collection {
    struct loop_msg msg; /* first: to go on in the next turn */
    struct sight *sight; /* NULL: rows are selected as they are stored */
    struct rest_request *req;
    struct selection selection;
    struct rows_range range;
    struct arena *names; /* of the portion */
    str *portion;
    size_t picked, next, looked;
    uint64_t left;                        /* that may still be picked */
    bool scanned, more, starting, posted; /* more: behind the limit */
    bool pinned;                          /* the revision, while there is more to read */
    unsigned running;
    struct status *failure; /* the first one */
    struct buf items, last;
    struct status *st;
};

/* Rows in the version by which the selector looks: a request of its own, for victims have others.
 */
struct sight {
    struct rest_request req; /* first: conversion gives it back */
    struct collection *collection;
};

struct victim {
    struct rest_op op; /* first: callbacks get this */
    struct rest_request req;
    struct collection *collection;
};

static bool pick(void *arg, const struct row *row)
{
    struct collection *c = arg;
    str namespace_, name;
    scoped_arena a = c->selection.all ? NULL : arena_new();

    buf_clear(&c->last);
    buf_str_append(&c->last, row->name);
    if (selection_sees(&c->selection, a, row,
                       c->sight ? convert_find(c->sight->req.converted, row->name, row->rev)
                                : NULL)) {
        row_split(c->req->kind, row->name, &namespace_, &name);
        c->portion[c->picked++] = str_dup(c->names, name);
        c->left--;
    }
    return c->left && c->picked < COLLECTION_WINDOW && ++c->looked < COLLECTION_LOOKED;
}

/* Of thousands that go the floor follows close behind: each portion holds it back anew. */
static bool pin(struct collection *c)
{
    struct store *s = c->req->rest->store;

    if (!store_pin(s, c->range.rev))
        return false;
    if (c->pinned)
        store_unpin(s, c->range.rev);
    c->pinned = true;
    return true;
}

static int next_portion(struct collection *c)
{
    int stopped;

    arena_free(c->names);
    c->names = arena_new();
    c->portion = arena_array(c->names, str, COLLECTION_WINDOW);
    c->picked = c->next = c->looked = 0;
    stopped = rows_scan(c->req->rest, &c->range, pick, c, c->st);
    c->range.after = str_dup(c->req->arena, buf_str(&c->last));
    c->more = stopped > 0 && !c->left;
    c->scanned = stopped <= 0 || c->more;
    if (!c->scanned && !pin(c))
        return status_expired(c->st, "The resourceVersion for the provided list is too old.");
    return stopped < 0 ? -1 : 0;
}

static void answer(struct collection *c)
{
    struct rest_request *req = c->req;
    struct form f = form_of(req);
    struct form_list meta = { .rev = store_head(req->rest->store) };
    struct token next = { .rev = c->range.rev, .after = c->range.after };
    str *pieces = arena_array(req->arena, str, 3);
    scoped_buf head = { .max = 1 << 16 };
    scoped_buf tail = { .max = 1 << 16 };

    if (c->more)
        meta.continue_token = token_print(req->arena, &next);
    form_list_begin(&f, &head, &meta);
    form_list_end(&f, &tail, NULL);
    pieces[0] = str_dup(req->arena, buf_str(&head));
    pieces[1] = buf_str(&c->items);
    pieces[2] = str_dup(req->arena, buf_str(&tail));
    rest_answer(req, 200, pieces, 3);
}

static void advance(struct collection *c);

static void one_done(struct rest_op *op, const struct status *failure)
{
    struct victim *v = (struct victim *)(void *)op;
    struct collection *c = v->collection;
    struct form f = form_of(c->req);

    c->running--;
    /* Gone meanwhile is as good; the first other failure is the answer, once all have ended. */
    if (failure && failure->reason != REASON_NOT_FOUND && !c->failure) {
        c->failure = rest_status(c->req);
        status_copy(c->failure, failure);
    }
    if (!failure) {
        size_t end = c->items.n;

        if (end)
            buf_byte(&c->items, ',');
        form_item(&f, &c->items, &op->current);
        if (buf_overflown(&c->items))
            c->items.n = end; /* and so it stays */
    }
    arena_free(v->req.arena); /* v is in it */
    if (!c->starting)
        advance(c);
}

static void start(struct collection *c, str name)
{
    struct arena *a = arena_new();
    struct victim *v = arena_new_of(a, struct victim);

    v->req = *c->req;
    v->req.arena = a;
    v->collection = c;
    fill(&v->op, &v->req, str_dup(a, name));
    v->op.then = one_done;
    c->running++;
    write_run(&v->op);
}

static void on_turn(struct loop_msg *msg)
{
    struct collection *c = (struct collection *)(void *)msg;

    c->posted = false;
    advance(c);
}

static bool may_start(const struct collection *c, unsigned started)
{
    return c->running < COLLECTION_WINDOW &&
           (started < COLLECTION_STARTED || loop_has_turn(c->req->loop, c->req->whose));
}

/* Starts what fits into the window.  At most one portion is looked for in a turn of the loop. */
static void advance(struct collection *c)
{
    bool looked = false;
    unsigned started = 0;

    c->starting = true;
    while (!c->failure && may_start(c, started)) {
        if (c->next < c->picked) {
            start(c, c->portion[c->next++]);
            started++;
            continue;
        }
        if (c->scanned || looked)
            break;
        looked = true;
        if (next_portion(c) < 0)
            c->failure = c->st;
    }
    c->starting = false;
    if (c->posted ||
        (c->running && (c->failure || c->next == c->picked || c->running == COLLECTION_WINDOW)))
        return;
    if (c->failure) {
        rest_fail(c->req, c->failure);
    } else if (c->scanned && c->next == c->picked) {
        answer(c);
    } else {
        c->posted = true;
        loop_post(c->req->loop, &c->msg);
    }
}

static void release(void *arg)
{
    struct collection *c = arg;

    if (c->pinned)
        store_unpin(c->req->rest->store, c->range.rev);
    buf_release(&c->items);
    buf_release(&c->last);
    arena_free(c->names);
}

static int collection_init(struct collection *c)
{
    struct rest_request *req = c->req;
    uint64_t left, rev;

    if (list_options_check(&req->list, c->st) < 0 || read_revision(req, &rev, c->st) < 0 ||
        body_delete_options(req, c->st) < 0 || selection_init(&c->selection, req, c->st) < 0)
        return -1;
    if (req->kind->conversion && req->rest->convert && !c->selection.all) {
        c->sight = arena_new_of(req->arena, struct sight);
        *c->sight = (struct sight){ .req = *req, .collection = c };
    }
    c->range = (struct rows_range){ .instance = &req->instance,
                                    .kind = req->kind,
                                    .prefix = c->selection.prefix,
                                    .hash = c->sight ? 0 : c->selection.hash };
    return req->list.continue_token.n ? read_token(req, &c->range, &left, c->st) : 0;
}

static bool see(void *arg, const struct row *row)
{
    struct collection *c = arg;
    struct rest_request *req = &c->sight->req;

    if (convert_concerns(req, row) && convert_add(req, row, c->st) < 0)
        c->failure = c->st;
    return !c->failure;
}

static void seen(struct rest_request *req)
{
    struct collection *c = ((struct sight *)(void *)req)->collection;

    if (convert_failure(req))
        rest_fail(c->req, convert_failure(req));
    else
        advance(c);
}

static void look(struct collection *c)
{
    if (rows_scan(c->req->rest, &c->range, see, c, c->st) < 0 || c->failure) {
        rest_fail(c->req, c->st);
        return;
    }
    if (!pin(c)) {
        (void)status_expired(c->st, "The resourceVersion for the provided list is too old.");
        rest_fail(c->req, c->st);
        return;
    }
    convert_begin(&c->sight->req, seen);
}

void serve_delete_collection(struct rest_request *req)
{
    struct collection *c = arena_new_of(req->arena, struct collection);

    c->req = req;
    c->msg = (struct loop_msg){ .fn = on_turn, .whose = req->whose };
    c->left = req->list.limit ? req->list.limit : UINT64_MAX;
    c->st = rest_status(req);
    buf_init(&c->items, COLLECTION_ANSWER);
    buf_init(&c->last, STORE_KEY_MAX);
    arena_defer(req->arena, release, c);
    if (collection_init(c) < 0) {
        rest_fail(req, c->st);
        return;
    }
    warn_of_orphans(req);
    if (c->sight)
        look(c);
    else
        advance(c);
}
