/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/convert.h"
#include "rest/form.h"
#include "rest/ranked.h"
#include "rest/read.h"
#include "rest/select.h"
#include "rest/token.h"

#include "base/banned.h"

enum {
    SCAN_ROWS = 500,     /* looked at in one go, matching or not: keeps a turn of the loop short */
    COUNT_ROWS = 100000, /* counted for remainingItemCount, which is left out beyond */
    HELD_BYTES =
        64 << 10, /* of a page that is held until its metadata, which goes first, is known */
    HELD_MAX = 1 << 30,
    HEAD_USUAL = 512,
};

struct rest_list {
    struct rest_request *req;
    struct store *store;
    struct form form;
    struct selection selection;
    struct rows_range range;
    uint64_t limit, given;
    uint64_t left; /* rows of this list when it began, 0 if not counted */
    bool newest;   /* it began at the head */
    bool begun, more, pinned;
    struct buf held; /* items of a page whose metadata is not yet known, or that are to be sorted */
    bool ranks;
    struct ranked ranked;
    bool let_go; /* they were too many: the metadata goes last */
    struct status *st;
    struct rest_reply *reply;
    uint64_t collected; /* rows of the page that were asked about, if they must be */
    bool failed;
    /* of the current portion: */
    struct buf *out;
    size_t until;
    unsigned looked;
    struct buf last; /* name of the last row looked at: where to go on */
    uint32_t last_instance;
    struct buf last_given; /* and of the last row given: what a token says */
    uint32_t last_given_instance;
};

#define MATCH STR("resourceVersionMatch")

static void check_watch(const struct list_options *o, struct status *st)
{
    bool newer = str_is(o->resource_version_match, "NotOlderThan");
    bool match = o->resource_version_match.n > 0, given = o->send_initial_events_given;

    if (given && !newer)
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (match && !given)
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                     "provided");
    if (match && !newer)
        status_cause(st, CAUSE_NOT_SUPPORTED, MATCH,
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(o->resource_version_match)),
                     "supported values: \"NotOlderThan\"");
    if (match && o->continue_token.n)
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "resourceVersionMatch is forbidden when continue is provided");
}

/* k8s: apimachinery/pkg/apis/internalversion/validation/validation.go */
static void check_match(const struct list_options *o, struct status *st)
{
    str match = o->resource_version_match;

    if (match.n == 0)
        return;
    if (o->resource_version.n == 0)
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (o->continue_token.n)
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "resourceVersionMatch is forbidden when continue is provided");
    if (!str_is(match, "Exact") && !str_is(match, "NotOlderThan"))
        status_cause(st, CAUSE_NOT_SUPPORTED, MATCH,
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(match)),
                     "supported values: \"Exact\", \"NotOlderThan\", \"\"");
    if (str_is(match, "Exact") && str_is(o->resource_version, "0"))
        status_cause(st, CAUSE_FORBIDDEN, MATCH, STR_NONE,
                     "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static void check_list(const struct list_options *o, struct status *st)
{
    check_match(o, st);
    if (o->send_initial_events_given)
        status_cause(st, CAUSE_FORBIDDEN, STR("sendInitialEvents"), STR_NONE,
                     "sendInitialEvents is forbidden for list");
}

int list_options_check(const struct list_options *o, struct status *st)
{
    if (o->watch)
        check_watch(o, st);
    else
        check_list(o, st);
    return status_invalid(st, STR("meta.k8s.io"), STR("ListOptions"), STR_NONE);
}

/* The token that goes on at the head, for a client that would rather have that than nothing. */
static int expired(struct token *t, struct status *st)
{
    t->rev = 0;
    t->left = 0;
    st->continue_token = token_print(st->arena, t);
    return status_expired(
        st, "The continue token is too old for a consistent list. Start a new list, or use the "
            "token in this answer to go on with what is there now: objects that came, changed or "
            "went since the first page may then be seen or missed.");
}

int read_token(struct rest_request *req, struct rows_range *range, uint64_t *left,
               struct status *st)
{
    struct store *s = req->rest->store;
    struct token t;

    if (token_parse(req->arena, req->list.continue_token, &t, st) < 0)
        return -1;
    if (t.rev > store_head(s))
        return status_set(st, REASON_BAD_REQUEST, "invalid continue token: it is of the future");
    if (t.rev && t.rev < store_floor(s))
        return expired(&t, st);
    range->rev = t.rev;
    range->after = t.after;
    range->after_instance = t.instance;
    *left = t.left;
    return 0;
}

/* Rows may have to be converted: to be shown, and to know whether they are selected. */
static bool converts(const struct rest_list *l)
{
    const struct rest_request *req = l->req;

    return req->kind->conversion && req->rest->convert && req->instance.id != STORE_ALL &&
           (req->form != FORM_PARTIAL || !l->selection.all);
}

static int begin(struct rest_list *l)
{
    struct rest_request *req = l->req;
    uint64_t asked;

    if (read_revision(req, &asked, l->st) < 0 || selection_init(&l->selection, req, l->st) < 0)
        return -1;
    l->range.prefix = l->selection.prefix;
    l->range.hash = converts(l) ? 0 : l->selection.hash; /* the index has what was stored */
    if (req->list.continue_token.n && asked)
        return status_set(l->st, REASON_BAD_REQUEST,
                          "specifying resource version is not allowed when using continue");
    if (req->list.continue_token.n)
        return read_token(req, &l->range, &l->left, l->st);
    if (str_is(req->list.resource_version_match, "Exact"))
        l->range.rev = asked;
    if (l->range.rev && l->range.rev < store_floor(l->store))
        return status_expired(l->st, "The resourceVersion for the provided list is too old.");
    return 0;
}

static void unpin(void *arg)
{
    struct rest_list *l = arg;

    if (l->pinned)
        store_unpin(l->store, l->range.rev);
    buf_release(&l->held);
    buf_release(&l->last);
    buf_release(&l->last_given);
}

/* ---- rows in another version ---- */

static bool collect(void *arg, const struct row *row)
{
    struct rest_list *l = arg;

    /* With a selector, how many of them make a page is not known before they are converted. */
    if (l->limit && l->selection.all && l->collected++ == l->limit)
        return false;
    if (!convert_concerns(l->req, row))
        return true;
    l->failed = convert_add(l->req, row, l->st) < 0;
    return !l->failed;
}

static void page_converted(struct rest_request *req)
{
    struct rest_list *l = req->list_state;

    if (convert_failure(req)) {
        rest_fail(req, convert_failure(req));
        return;
    }
    l->form.converted = req->converted;
    *l->reply = (struct rest_reply){ .code = 200, .list = l };
    req->done(req, l->reply);
}

/* All of the page is asked about before its first byte goes out. */
static void convert_page(struct rest_list *l)
{
    l->req->list_state = l;
    if (!store_pin(l->store, l->range.rev)) {
        (void)status_expired(l->st, "The resourceVersion for the provided list is too old.");
        rest_fail(l->req, l->st);
        return;
    }
    l->pinned = true;
    if (rows_scan(l->req->rest, &l->range, collect, l, l->st) < 0 || l->failed)
        rest_fail(l->req, l->st);
    else
        convert_begin(l->req, page_converted);
}

static void list(struct rest_request *req)
{
    struct rest_list *l = arena_new_of(req->arena, struct rest_list);
    struct rest_reply *reply = arena_new_of(req->arena, struct rest_reply);

    l->req = req;
    l->store = req->rest->store;
    l->st = rest_status(req);
    l->form = form_of(req);
    /* k8s: what any state will do for comes from the watch cache, which has no pages. */
    l->limit = str_is(req->list.resource_version, "0") ? 0 : req->list.limit;
    l->range = (struct rows_range){ .instance = &req->instance, .kind = req->kind };
    buf_init(&l->last, STORE_KEY_MAX);
    buf_init(&l->last_given, STORE_KEY_MAX);
    buf_init(&l->held, HELD_MAX);
    l->ranks = req->form == FORM_TABLE && req->kind->row_rank;
    l->ranked.arena = req->arena;
    arena_defer(req->arena, unpin, l);
    if (begin(l) < 0) {
        rest_fail(req, l->st);
        return;
    }
    l->newest = l->range.rev == 0;
    if (l->newest)
        l->range.rev = store_head(l->store);
    l->form.at = l->range.rev;
    l->reply = reply;
    if (converts(l)) {
        convert_page(l);
        return;
    }
    *reply = (struct rest_reply){ .code = 200, .list = l };
    req->done(req, reply);
}

void serve_list(struct rest_request *req)
{
    struct status *st = rest_status(req);
    uint64_t rev = 0;

    if (list_options_check(&req->list, st) < 0 || read_revision(req, &rev, st) < 0)
        rest_fail(req, st);
    else
        read_after(req, rev, list);
}

static void remember(struct buf *to, str name)
{
    buf_clear(to);
    buf_str_append(to, name);
}

/* What a page will take, if all of it is as long as its first. */
static size_t page_bytes(const struct rest_list *l)
{
    uint64_t items = l->left && l->left < l->limit ? l->left : l->limit;

    return l->out->n < HELD_BYTES / items ? l->out->n * items : HELD_BYTES;
}

static bool give(void *arg, const struct row *row)
{
    struct rest_list *l = arg;
    scoped_arena a = l->selection.all ? NULL : arena_new();
    size_t start;

    remember(&l->last, row->name);
    l->last_instance = row->instance;
    if (++l->looked >= SCAN_ROWS && l->out->n < l->until)
        l->until = 0; /* enough for this turn, whatever was found */
    if (!selection_sees(&l->selection, a, row,
                        convert_find(l->form.converted, row->name, row->rev)))
        return l->until > 0;
    if (l->limit && l->given == l->limit) {
        l->more = true;
        return false;
    }
    if (l->given++)
        buf_byte(l->out, ',');
    start = l->out->n;
    form_item(&l->form, l->out, row);
    if (l->ranks && !l->let_go)
        ranked_add(&l->ranked, form_rank(&l->form, row), start, l->out->n - start);
    if (l->given == 1 && l->limit)
        (void)buf_reserve(l->out, page_bytes(l));
    if (l->limit) {
        remember(&l->last_given, row->name);
        l->last_given_instance = row->instance;
    }
    return l->out->n < l->until;
}

/*
 * k8s: no count with a selector.  The first page counts, the token carries what is left.  Of
 * the head the store knows it at once; later it would have to look at every row.
 */
static int count_left(struct rest_list *l)
{
    l->range.about = l->newest;
    if (!l->selection.all || l->req->list.continue_token.n || l->req->instance.id == STORE_ALL)
        return 0;
    return rows_count(l->req->rest, &l->range, COUNT_ROWS, &l->left, l->st);
}

static void let_go(struct rest_list *l, struct buf *out, const struct form_list *meta)
{
    ranked_sort(&l->ranked, &l->held);
    (void)buf_reserve(out, HEAD_USUAL + l->held.n);
    if (l->limit)
        form_list_begin(&l->form, out, meta);
    buf_str_append(out, buf_str(&l->held));
    buf_release(&l->held);
    l->let_go = true;
}

static int finish(struct rest_list *l, struct buf *out)
{
    struct form_list meta = { .rev = l->range.rev };
    bool last = l->let_go;

    if (l->more) {
        struct token t = { .rev = l->range.rev,
                           .instance = l->last_given_instance,
                           .after = buf_str(&l->last_given) };

        if (!l->newest && count_left(l) < 0)
            return -1;
        if (l->left > l->given)
            meta.remaining = t.left = l->left - l->given;
        meta.continue_token = token_print(l->req->arena, &t);
    }
    if ((l->limit || l->ranks) && !last)
        let_go(l, out, &meta);
    form_list_end(&l->form, out, l->limit && last ? &meta : NULL);
    return 0;
}

int rest_list_pull(struct rest_list *l, struct buf *out, size_t want)
{
    struct form_list meta = { .rev = l->range.rev };
    int stopped;

    if (!l->limit && !l->begun)
        form_list_begin(&l->form, out, &meta);
    if (l->limit && !l->begun && l->newest && count_left(l) < 0)
        return -1;
    l->begun = true;
    l->out = (l->limit || l->ranks) && !l->let_go ? &l->held : out;
    l->until = l->out->n + want;
    l->looked = 0;
    stopped = rows_scan(l->req->rest, &l->range, give, l, l->st);
    if (stopped < 0)
        return -1;
    if (!stopped || l->more)
        return finish(l, out);
    if (l->held.n > HELD_BYTES)
        let_go(l, out, NULL);
    /* More to come: keep the revision readable, and go on behind the last row looked at. */
    if (!l->pinned && !store_pin(l->store, l->range.rev))
        return status_expired(l->st, "The resourceVersion for the provided list is too old.");
    l->pinned = true;
    l->range.after = str_dup(l->req->arena, buf_str(&l->last));
    l->range.after_instance = l->last_instance;
    return 1;
}

const struct status *rest_list_failure(const struct rest_list *l)
{
    return l->st;
}
