/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"
#include "rest/convert.h"
#include "rest/form.h"
#include "rest/read.h"
#include "rest/select.h"

enum {
    FRAME_MAX = 16 << 20,
    AROUND = 2048,             /* that a frame usually has beside the stored text */
    FRAMES = 8,                /* forms of one event that are asked for at the same time */
    INITIAL_ROWS = 500,        /* rows looked at in one turn of the loop */
    QUEUE_HIGH = 512 << 10,    /* objects and history pause while this much waits for the client */
    RETRY_MS = 5,              /* and look again */
    BOOKMARK_MS = 60000,       /* k8s: about one a minute */
    TURN_MAX = 4 << 20,        /* bytes that wait for a webhook: more, and the watch ends */
    BOOKMARK_BEFORE_MS = 2000, /* and one shortly before the end */
    TIMEOUT_MIN_S = 1800,      /* without timeoutSeconds: 30 to 60 minutes, at random */
    TIMEOUT_MAX_S = 1 << 30,   /* more is for ever, too */
};

struct frame {
    const struct kind *kind;
    uint64_t serial; /* the kind's: it may be gone, and another where it was */
    const char *type;
    bool plain; /* made for a watch without a selector: all of them get the same */
    /* Both together name one event of a type: a revision changes one object of it, or drops an
     * instance, and then each object has been written by another. */
    uint64_t rev, prev_rev;
    enum rest_form form;
    enum table_include include;
    bool wildcard, redacted;
    struct bytes *bytes;
};

struct frame_cache {
    struct frame frames[FRAMES];
    unsigned next;
};

/* An event in its turn: a frame, or a row that a webhook converts first. */
struct turn_event {
    struct turn_event *next;
    struct bytes *frame; /* NULL: of this */
    const char *type;
    struct row row; /* name, revision and schema of it */
    bool columns;
    /* The selector looks at both states of the object when they are there: row, and this one. */
    bool picks, has_row, has_was;
    struct row was;
    uint64_t rev;
};

/*
 * Events that are converted together, with a request of their own: a watch lives long.  One turn is
 * asked for while the next one fills, so the order stays and nothing is skipped.
 */
struct turn {
    struct rest_request req; /* first: conversion gives it back */
    struct rest_watch *watch;
    struct turn_event *first, **end;
    size_t bytes;
};

struct rest_watch {
    struct hub_watch hub; /* first: callbacks get this */
    /* What an event needs lies together: there may be thousands of us. */
    uint64_t skip; /* if it was asked to begin in the future: events up to here are not wanted */
    uint64_t born; /* the head of that moment */
    struct rest_sink *sink;
    struct rest_loop *loop;
    struct form form;
    bool plain;    /* no selector */
    bool converts; /* rows may be of a version that only a webhook makes this one of, */
    bool picks;    /* and what is selected is known then */
    struct turn *asked, *filling;
    bool doomed; /* ends in the next turn of the loop, and tells nothing any more */
    bool sends_initial, in_initial, live, columns_sent, stopped;
    struct rest_request *req;
    struct selection selection;
    struct rows_range initial;
    struct buf last;     /* the initial row that was sent last */
    uint64_t after;      /* where it was asked to begin */
    uint64_t bookmarked; /* the client knows that it has all up to here */
    struct loop_timer resume, timeout, bookmark;
    int64_t ends_ms;
};

struct frame_cache *frame_cache_new(void)
{
    return mem_zalloc(sizeof(struct frame_cache));
}

void frame_cache_free(struct frame_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < FRAMES; i++)
        bytes_unref(c->frames[i].bytes);
    free(c);
}

static struct rest_watch *of_timer(struct loop_timer *t, size_t offset)
{
    return (struct rest_watch *)(void *)((char *)t - offset);
}

static struct bytes *to_bytes(const struct buf *b)
{
    struct bytes *out = bytes_new(b->n);

    memcpy(out->p, b->p, b->n);
    return out;
}

static struct bytes *encode(struct rest_watch *w, const char *type, const struct row *row)
{
    scoped_buf b = { .max = FRAME_MAX };

    (void)buf_reserve(&b, row->obj.text.n + AROUND);
    w->form.now_s = clock_wall_s(w->req->rest->clock); /* ages in tables */
    form_event(&w->form, &b, type, row, !w->columns_sent);
    return to_bytes(&b);
}

/* type may be NULL: any. */
static bool frame_fits(const struct frame *f, const struct rest_watch *w, const char *type,
                       const struct store_event *ev)
{
    return f->bytes && f->rev == ev->rev && f->prev_rev == ev->prev_rev &&
           (!type || f->type == type) && f->kind == w->form.kind &&
           f->serial == w->form.kind->serial && f->form == w->form.form &&
           f->include == w->form.include && f->wildcard == w->form.wildcard &&
           f->redacted == w->form.redacted;
}

/* A new reference. */
static struct bytes *frame_get(struct rest_watch *w, const char *type, const struct store_event *ev,
                               const struct row *row)
{
    struct frame_cache *c = w->loop->frames;
    struct frame *f;

    if (w->form.form == FORM_TABLE && !w->columns_sent)
        return encode(w, type, row);
    for (unsigned i = 1; i <= FRAMES; i++) {
        f = &c->frames[(c->next - i) % FRAMES];
        if (!frame_fits(f, w, type, ev))
            continue;
        f->plain |= w->plain;
        return bytes_ref(f->bytes);
    }
    f = &c->frames[c->next++ % FRAMES];
    bytes_unref(f->bytes);
    *f = (struct frame){ .kind = w->form.kind,
                         .serial = w->form.kind->serial,
                         .type = type,
                         .plain = w->plain,
                         .rev = ev->rev,
                         .prev_rev = ev->prev_rev,
                         .form = w->form.form,
                         .include = w->form.include,
                         .wildcard = w->form.wildcard,
                         .redacted = w->form.redacted,
                         .bytes = encode(w, type, row) };
    return bytes_ref(f->bytes);
}

/* ---- turns ---- */

static void turn_free(struct turn *t)
{
    if (!t)
        return;
    for (struct turn_event *e = t->first; e; e = e->next)
        bytes_unref(e->frame);
    arena_free(t->req.arena);
}

/* The one that fills. */
static struct turn *turn_of(struct rest_watch *w)
{
    struct arena *a;
    struct turn *t = w->filling;

    if (t)
        return t;
    a = arena_new();
    t = w->filling = arena_new_of(a, struct turn);
    t->req = *w->req;
    t->req.arena = a;
    t->req.converted = NULL;
    t->req.deadline_ms = 0;
    t->watch = w;
    t->end = &t->first;
    return t;
}

static struct turn_event *turn_add(struct turn *t, size_t bytes)
{
    struct turn_event *e = arena_new_of(t->req.arena, struct turn_event);

    *t->end = e;
    t->end = &e->next;
    t->bytes += bytes;
    return e;
}

static size_t turn_bytes(const struct rest_watch *w)
{
    return (w->asked ? w->asked->bytes : 0) + (w->filling ? w->filling->bytes : 0);
}

static bool is_held_up(const struct rest_watch *w)
{
    return w->sink->queued(w->sink) + turn_bytes(w) >= QUEUE_HIGH;
}

static void push(struct rest_watch *w, struct bytes *b)
{
    if (w->doomed)
        ; /* who resumes gets it */
    else if (w->asked)
        turn_add(turn_of(w), b->n)->frame = bytes_ref(b);
    else
        (void)w->sink->push(w->sink, b);
    bytes_unref(b);
}

static void push_buf(struct rest_watch *w, const struct buf *b)
{
    push(w, to_bytes(b));
}

static void finish(struct rest_watch *w)
{
    struct rest_sink *sink = w->sink;

    rest_watch_stop(w);
    sink->end(sink);
}

/* k8s: the stream is fine, the error is an event, and then it ends. */
static void fail(struct rest_watch *w, const struct status *st)
{
    scoped_buf b = { .max = FRAME_MAX };

    buf_lit(&b, "{\"type\":\"ERROR\",\"object\":");
    rest_status_print(&b, st);
    buf_lit(&b, "}\n");
    turn_free(w->filling); /* what was not told comes again to who resumes */
    w->filling = NULL;
    if (w->asked)
        convert_cancel(&w->asked->req);
    turn_free(w->asked);
    w->asked = NULL;
    push_buf(w, &b);
    finish(w);
}

static void next_turn(struct rest_watch *w);

static const char ADDED[] = "ADDED", MODIFIED[] = "MODIFIED", DELETED[] = "DELETED";

/* Both states are there in the version that is asked for: what this watch sees of the change. */
static void push_picked(struct rest_watch *w, const struct turn *t, const struct form *form,
                        const struct turn_event *e)
{
    const struct json *now = convert_find(form->converted, e->row.name, e->row.rev);
    const struct json *was = convert_find(form->converted, e->was.name, e->was.rev);
    struct arena *a = t->req.arena;
    bool is = e->has_row && selection_sees(&w->selection, a, &e->row, now);
    bool had = e->has_was && selection_sees(&w->selection, a, &e->was, was);
    scoped_buf b = { .max = FRAME_MAX };
    struct json rev;
    struct row gone;

    if (!is && !had)
        return;
    if (is) {
        form_event(form, &b, had ? MODIFIED : ADDED, &e->row, !w->columns_sent);
    } else if (was) { /* its last state, with the revision of the change */
        rev = json_of_str(str_printf(a, "%llu", (unsigned long long)e->rev));
        was = json_set(a, was, "metadata.resourceVersion", &rev);
        form_event_tree(form, &b, DELETED, was, e->rev, !w->columns_sent);
    } else {
        gone = e->was;
        gone.rev = e->rev;
        form_event(form, &b, DELETED, &gone, !w->columns_sent);
    }
    w->columns_sent = true;
    push_buf(w, &b);
}

static void push_turn(struct rest_watch *w, const struct turn *t)
{
    struct form form = w->form;

    form.converted = t->req.converted;
    form.now_s = clock_wall_s(w->req->rest->clock);
    for (const struct turn_event *e = t->first; e && !w->stopped; e = e->next) {
        scoped_buf b = { .max = FRAME_MAX };

        if (e->frame) {
            (void)w->sink->push(w->sink, e->frame);
            continue;
        }
        if (e->picks) {
            push_picked(w, t, &form, e);
            continue;
        }
        form_event(&form, &b, e->type, &e->row, e->columns);
        push_buf(w, &b);
    }
}

static void turn_done(struct rest_request *req)
{
    struct turn *t = (struct turn *)(void *)req;
    struct rest_watch *w = t->watch;

    w->asked = NULL;
    if (convert_failure(req))
        fail(w, convert_failure(req)); /* w may be gone */
    else
        push_turn(w, t);
    if (!convert_failure(req) && !w->stopped)
        next_turn(w);
    turn_free(t);
}

static void next_turn(struct rest_watch *w)
{
    w->asked = w->filling;
    w->filling = NULL;
    if (w->asked)
        convert_begin(&w->asked->req, turn_done);
}

/* A turn that nothing has to be asked for would never come. */
static void drop_empty_turn(struct rest_watch *w)
{
    if (w->asked || !w->filling || w->filling->first)
        return;
    turn_free(w->filling);
    w->filling = NULL;
}

static void doom(struct rest_watch *w)
{
    w->doomed = true;
    loop_timer_set(w->req->loop, &w->timeout, 0);
}

/* The row as it is, kept for the turn. */
static int keep(struct turn *t, const struct row *row, struct row *out)
{
    struct arena *a = t->req.arena;

    *out = *row;
    out->name = str_dup(a, row->name);
    out->uid = str_dup(a, row->uid);
    out->created = str_dup(a, row->created);
    out->sealed = STR_NONE;
    out->obj.managed = str_dup(a, row->obj.managed);
    out->obj.text = str_dup(a, row->obj.text);
    out->obj.uid = str_dup(a, row->obj.uid);
    out->obj.labels = str_dup(a, row->obj.labels);
    if (!convert_concerns(&t->req, row))
        return 0;
    return convert_add(&t->req, row, rest_status(&t->req));
}

/* True: whether and how it is told is known when its states are converted.  Either may be NULL. */
static bool picked_later(struct rest_watch *w, uint64_t rev, const struct row *now,
                         const struct row *was)
{
    struct turn_event *e;
    struct turn *t;

    if (!w->picks || w->doomed)
        return w->doomed;
    t = turn_of(w);
    if (!(now && convert_concerns(&t->req, now)) && !(was && convert_concerns(&t->req, was))) {
        drop_empty_turn(w);
        return false;
    }
    e = turn_add(t, (now ? now->obj.text.n : 0) + (was ? was->obj.text.n : 0));
    e->picks = true;
    e->rev = rev;
    e->has_row = now != NULL;
    e->has_was = was != NULL;
    if (t->bytes > TURN_MAX || (now && keep(t, now, &e->row) < 0) ||
        (was && keep(t, was, &e->was) < 0))
        doom(w);
    else if (!w->asked)
        next_turn(w);
    return true;
}

/* True: a webhook has to convert it first, and it will be told in its turn. */
static bool converted_first(struct rest_watch *w, const char *type, const struct row *row)
{
    struct turn_event *e;
    struct turn *t;

    if (!w->converts || w->doomed)
        return w->doomed;
    t = turn_of(w);
    if (!convert_concerns(&t->req, row)) {
        drop_empty_turn(w);
        return false;
    }
    if (t->bytes > TURN_MAX || convert_add(&t->req, row, rest_status(&t->req)) < 0) {
        doom(w);
        return true;
    }
    e = turn_add(t, row->obj.text.n);
    e->type = type;
    e->row = (struct row){ .instance = row->instance,
                           .name = str_dup(t->req.arena, row->name),
                           .rev = row->rev,
                           .obj.schema = row->obj.schema };
    e->columns = !w->columns_sent;
    w->columns_sent = true;
    if (!w->asked)
        next_turn(w);
    return true;
}

static void send_bookmark(struct rest_watch *w, uint64_t rev, bool initial_end)
{
    scoped_buf b = { .max = FRAME_MAX };

    form_bookmark(&w->form, &b, rev, initial_end, !w->columns_sent);
    w->columns_sent = true;
    push_buf(w, &b);
}

static void send(struct rest_watch *w, const char *type, const struct store_event *ev,
                 const struct row *row)
{
    struct bytes *b;

    if (converted_first(w, type, row))
        return;
    w->form.at = ev->rev - 1; /* the event may be the end of its instance */
    /* Before it is pushed: a client too slow for it closes the watch from inside. */
    b = frame_get(w, type, ev, row);
    w->columns_sent = true;
    push(w, b);
}

static int view(struct rest_watch *w, struct arena *a, const struct store_event *ev, str value,
                struct row *out, struct status *st)
{
    if (seal_view(w->req->rest->seal, a, &ev->key, value, &out->obj, st) < 0)
        return -1;
    return !(out->obj.flags & OBJ_HIDDEN);
}

/*
 * 1 with the object before the event: its own row, or the template's that it now covers.  Only that
 * it was there counts when `whole` is not wanted.  0 when there was none, or -1.
 */
static int previous(struct rest_watch *w, struct arena *a, const struct store_event *ev, bool whole,
                    struct row *out, struct status *st)
{
    *out = (struct row){ .instance = ev->key.instance, .name = ev->key.name, .rev = ev->prev_rev };
    if (ev->prev_rev && !whole && obj_is_sealed(ev->prev_value))
        return 1;
    if (ev->prev_rev)
        return view(w, a, ev, ev->prev_value, out, st);
    if (w->req->instance.id == STORE_ALL || !rows_have_templates(w->req->rest, ev->key.type))
        return 0;
    return rows_template(w->req->rest, a, &w->req->instance, w->form.kind, ev->key.name,
                         ev->rev - 1, out, st);
}

static bool matches(struct rest_watch *w, struct arena *a, const struct row *row)
{
    return selection_matches(&w->selection, a, row);
}

/* What another watch without a selector got last, if it was for this event. */
static struct bytes *frame_again(const struct rest_watch *w, const struct store_event *ev)
{
    const struct frame_cache *c = w->loop->frames;
    const struct frame *f = &c->frames[(c->next - 1) % FRAMES];

    if (!w->plain || !f->plain || !ev->prev_rev || !frame_fits(f, w, NULL, ev) ||
        (w->form.form == FORM_TABLE && !w->columns_sent))
        return NULL;
    return f->bytes;
}

/*
 * k8s: customresource_handler.go: with a CRD that changes the watches of what it describes end, so
 * that clients see everything by the new schema.  What was written since by another one tells.
 */
static bool is_outdated(const struct rest_watch *w, const struct row *now)
{
    const struct kind *k = w->form.kind;

    return k->schema_id && !k->any && w->req->instance.id != STORE_ALL && now->rev > w->born &&
           now->obj.schema != k->storage->schema_id;
}

static bool is_sealed(const struct store_event *ev)
{
    return obj_is_sealed(ev->prev_value) ||
           (ev->kind == STORE_EVENT_PUT && obj_is_sealed(ev->value));
}

static void tell(struct rest_watch *w, const struct store_event *ev)
{
    struct row now = { .instance = ev->key.instance, .name = ev->key.name, .rev = ev->rev }, was;
    int is = 0, had;
    /* Most watches look at nothing but the event itself, and there may be thousands of them. */
    scoped_arena a = w->plain && ev->prev_rev && !is_sealed(ev) ? NULL : arena_new();
    struct status st;

    status_init(&st, w->req->arena); /* used once: it ends the watch */
    if (ev->kind == STORE_EVENT_PUT)
        is = view(w, a, ev, ev->value, &now, &st);
    is = is > 0 && !w->picks ? matches(w, a, &now) : is;
    if (is > 0 && is_outdated(w, &now)) {
        finish(w);
        return;
    }
    had = is < 0 ? is : previous(w, a, ev, !w->plain || !is, &was, &st);
    if (had < 0) { /* nothing may be left out in silence */
        fail(w, &st);
        return;
    }
    if (picked_later(w, ev->rev, is ? &now : NULL, had ? &was : NULL))
        return;
    is = is && (!w->picks || matches(w, a, &now));
    had = had && matches(w, a, &was);
    was.rev = ev->rev; /* a DELETED event shows the last state with the deletion's revision */
    if (is)
        send(w, had ? MODIFIED : ADDED, ev, &now);
    else if (had)
        send(w, DELETED, ev, &was);
}

static void on_event(struct hub_watch *hub, const struct store_event *ev)
{
    struct rest_watch *w = (struct rest_watch *)(void *)hub;
    struct bytes *again = frame_again(w, ev);

    if (ev->rev <= w->skip || ev->key.instance == INSTANCE_TEMPLATE ||
        (w->selection.but_root && ev->key.instance == INSTANCE_ROOT))
        return;
    if (again)
        push(w, bytes_ref(again));
    else
        tell(w, ev);
}

static void on_closed(struct hub_watch *hub, const struct status *why)
{
    struct rest_watch *w = (struct rest_watch *)(void *)hub;
    struct status *st = rest_status(w->req);

    w->live = false;
    if (!status_is(why, REASON_EXPIRED)) {
        fail(w, why);
        return;
    }
    (void)status_expired(st, "too old resource version: %llu (%llu)", (unsigned long long)w->after,
                         (unsigned long long)store_floor(w->req->rest->store));
    fail(w, st);
}

/* Who resumes far behind is fed as fast as it takes it. */
static bool is_full(struct hub_watch *hub)
{
    struct rest_watch *w = (struct rest_watch *)(void *)hub;

    return is_held_up(w);
}

static void go_live(struct rest_watch *w, uint64_t after)
{
    uint64_t head = store_head(w->req->rest->store);

    w->after = w->bookmarked = after;
    w->skip = after > head ? after : 0;
    w->plain = w->selection.all;
    w->born = head;
    w->live = true;
    w->hub = (struct hub_watch){ .type = w->form.kind->type_id,
                                 .instance = w->req->instance.id,
                                 .prefix = w->selection.prefix,
                                 .event = on_event,
                                 .closed = on_closed,
                                 .full = is_full };
    hub_watch_start(w->loop->hub, &w->hub, after < head ? after : head);
}

struct portion {
    struct rest_watch *w;
    unsigned looked;
    uint32_t last_instance;
};

static bool send_initial(void *arg, const struct row *row)
{
    struct portion *p = arg;
    struct rest_watch *w = p->w;
    scoped_arena a = arena_new();

    if (!picked_later(w, row->rev, row, NULL) && matches(w, a, row) &&
        !converted_first(w, ADDED, row)) {
        struct bytes *b = encode(w, ADDED, row);

        w->columns_sent = true;
        push(w, b);
    }
    if (w->stopped)
        return false;
    buf_clear(&w->last);
    buf_str_append(&w->last, row->name);
    p->last_instance = row->instance;
    return ++p->looked < INITIAL_ROWS && !is_held_up(w);
}

void rest_watch_resume(struct rest_watch *w)
{
    struct portion p = { .w = w };
    struct status *st;
    int stopped;

    if (w->stopped || !w->in_initial)
        return;
    if (is_held_up(w)) {
        loop_timer_set(w->req->loop, &w->resume, RETRY_MS);
        return;
    }
    st = rest_status(w->req);
    stopped = rows_scan(w->req->rest, &w->initial, send_initial, &p, st);
    if (w->stopped)
        return;
    if (stopped < 0) {
        fail(w, st);
        return;
    }
    if (stopped) {
        w->initial.after = str_dup(w->req->arena, buf_str(&w->last));
        w->initial.after_instance = p.last_instance;
        loop_timer_set(w->req->loop, &w->resume, p.looked < INITIAL_ROWS ? RETRY_MS : 0);
        return;
    }
    w->in_initial = false;
    buf_release(&w->last);
    store_unpin(w->req->rest->store, w->initial.rev);
    if (w->req->list.send_initial_events && w->req->list.allow_bookmarks)
        send_bookmark(w, w->initial.rev, true);
    if (!w->stopped)
        go_live(w, w->initial.rev);
}

static void on_resume(struct loop_timer *t)
{
    rest_watch_resume(of_timer(t, offsetof(struct rest_watch, resume)));
}

static void on_timeout(struct loop_timer *t)
{
    finish(of_timer(t, offsetof(struct rest_watch, timeout)));
}

static void next_bookmark(struct rest_watch *w)
{
    int64_t left = w->ends_ms - loop_now_ms(w->req->loop);

    if (left > BOOKMARK_BEFORE_MS)
        loop_timer_set(w->req->loop, &w->bookmark,
                       left - BOOKMARK_BEFORE_MS < BOOKMARK_MS ? left - BOOKMARK_BEFORE_MS
                                                               : BOOKMARK_MS);
}

static void on_bookmark(struct loop_timer *t)
{
    struct rest_watch *w = of_timer(t, offsetof(struct rest_watch, bookmark));
    uint64_t rev = w->live ? hub_watch_revision(w->loop->hub, &w->hub) : 0;

    if (rev > w->bookmarked) {
        w->bookmarked = rev;
        send_bookmark(w, rev, false);
    }
    if (!w->stopped)
        next_bookmark(w);
}

static void arm(struct rest_watch *w)
{
    int64_t s = w->req->list.timeout_s;

    if (s <= 0)
        s = TIMEOUT_MIN_S + rand_below(TIMEOUT_MIN_S);
    if (s > TIMEOUT_MAX_S)
        s = TIMEOUT_MAX_S;
    w->ends_ms = loop_now_ms(w->req->loop) + s * 1000;
    w->timeout.fn = on_timeout;
    w->resume.fn = on_resume;
    w->bookmark.fn = on_bookmark;
    loop_timer_set(w->req->loop, &w->timeout, s * 1000);
    if (w->req->list.allow_bookmarks)
        next_bookmark(w);
}

void rest_watch_start(struct rest_watch *w, struct rest_sink *sink)
{
    struct store *s = w->req->rest->store;

    w->sink = sink;
    if (w->stopped) /* while its answer was opened */
        return;
    arm(w);
    if (!w->sends_initial) {
        go_live(w, w->after);
        return;
    }
    w->initial = (struct rows_range){ .instance = &w->req->instance,
                                      .kind = w->form.kind,
                                      .prefix = w->selection.prefix,
                                      .hash = w->picks ? 0 : w->selection.hash,
                                      .rev = store_head(s) };
    while (!store_pin(s, w->initial.rev)) /* the floor has passed it already */
        w->initial.rev = store_head(s);
    w->form.at = w->initial.rev;
    w->in_initial = true;
    buf_init(&w->last, STORE_KEY_MAX);
    rest_watch_resume(w);
}

void rest_watch_stop(struct rest_watch *w)
{
    if (w->stopped)
        return;
    w->stopped = true;
    loop_timer_cancel(w->req->loop, &w->timeout);
    loop_timer_cancel(w->req->loop, &w->resume);
    loop_timer_cancel(w->req->loop, &w->bookmark);
    if (w->asked)
        convert_cancel(&w->asked->req);
    turn_free(w->asked);
    turn_free(w->filling);
    w->asked = w->filling = NULL;
    if (w->in_initial) {
        buf_release(&w->last);
        store_unpin(w->req->rest->store, w->initial.rev);
    }
    if (w->live)
        hub_watch_stop(w->loop->hub, &w->hub);
}

static void watch(struct rest_request *req)
{
    struct rest_watch *w = arena_new_of(req->arena, struct rest_watch);
    struct rest_reply reply = { .code = 200, .watch = w };
    struct status *st = rest_status(req);

    w->req = req;
    w->loop = rest_loop_of(req->rest, req->loop);
    w->form = form_of(req);
    w->converts = req->kind->conversion && req->rest->convert && req->form != FORM_PARTIAL;
    if (read_revision(req, &w->after, st) < 0 || selection_init(&w->selection, req, st) < 0) {
        rest_fail(req, st);
        return;
    }
    w->picks = req->kind->conversion && req->rest->convert && !w->selection.all;
    w->sends_initial =
        req->list.send_initial_events_given ? req->list.send_initial_events : w->after == 0;
    if (w->after == 0 && !w->sends_initial)
        w->after = store_head(req->rest->store);
    req->done(req, &reply);
}

void serve_watch(struct rest_request *req)
{
    struct status *st = rest_status(req);
    uint64_t rev;

    if (list_options_check(&req->list, st) < 0 || read_revision(req, &rev, st) < 0)
        rest_fail(req, st);
    else if (req->list.send_initial_events)
        read_after(req, rev, watch);
    else
        watch(req);
}
