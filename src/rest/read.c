/* SPDX-License-Identifier: Apache-2.0 */

/* get, and what get and list share: reading not older than a given revision. */

#include "rest/read.h"

#include "base/banned.h"
#include "rest/convert.h"
#include "rest/form.h"

/* How long a read waits for a revision that is not there yet; k8s: 3 s in the watch cache. */
enum { FUTURE_WAIT_MS = 3000, FUTURE_POLL_MS = 20 };

struct waiting {
    struct loop_timer timer;
    struct rest_request *req;
    uint64_t rev;
    int64_t deadline;
    void (*then)(struct rest_request *req);
};

int read_revision(const struct rest_request *req, uint64_t *out, struct status *st)
{
    str rv = req->list.resource_version;

    *out = 0;
    if (rv.n == 0 || str_to_u64(rv, out))
        return 0;
    /* k8s: apiserver/pkg/storage/api_object_versioner.go; a watch does not wrap it */
    return status_set(st, req->verb == VERB_WATCH ? REASON_UNKNOWN : REASON_BAD_REQUEST,
                      "%sresourceVersion: Invalid value: \"%.*s\": must be a revision",
                      req->verb == VERB_WATCH ? "" : "invalid resource version: ", STR_ARG(rv));
}

static void too_large(struct waiting *w)
{
    struct status *st = rest_status(w->req);

    status_cause(st, CAUSE_TOO_LARGE_VERSION, STR_NONE, STR_NONE, "Too large resource version");
    st->retry_after_s = 1;
    (void)status_set(st, REASON_TIMEOUT, "Timeout: Too large resource version: %llu, current: %llu",
                     (unsigned long long)w->rev,
                     (unsigned long long)store_head(w->req->rest->store));
    rest_fail(w->req, st);
}

static void look_again(struct loop_timer *t)
{
    struct waiting *w = (struct waiting *)(void *)t;
    struct rest_request *req = w->req;

    if (store_head(req->rest->store) >= w->rev)
        w->then(req);
    else if (loop_now_ms(req->loop) >= w->deadline)
        too_large(w);
    else
        loop_timer_set(req->loop, t, FUTURE_POLL_MS);
}

void read_after(struct rest_request *req, uint64_t rev, void (*then)(struct rest_request *req))
{
    struct waiting *w;

    if (store_head(req->rest->store) >= rev) {
        then(req);
        return;
    }
    w = arena_new_of(req->arena, struct waiting);
    *w = (struct waiting){ .timer.fn = look_again,
                           .req = req,
                           .rev = rev,
                           .deadline = loop_now_ms(req->loop) + FUTURE_WAIT_MS,
                           .then = then };
    if (req->deadline_ms && w->deadline > req->deadline_ms)
        w->deadline = req->deadline_ms;
    loop_timer_set(req->loop, &w->timer, FUTURE_POLL_MS);
}

static void get(struct rest_request *req);

static void get_converted(struct rest_request *req, const struct row *row)
{
    struct status *st = rest_status(req);

    if (convert_add(req, row, st) < 0)
        rest_fail(req, st);
    else
        convert_begin(req, get);
}

static void get(struct rest_request *req)
{
    struct status *st = rest_status(req);
    struct form f = form_of(req);
    str *pieces = arena_array(req->arena, str, OBJ_PIECES);
    struct row row;
    int found = rows_get(req->rest, req->arena, &req->instance, req->kind,
                         row_name(req->arena, req->kind, req->namespace_, req->name), 0, &row, st);

    if (found == 0)
        (void)status_not_found(st, req->kind->group, req->kind->plural, req->name);
    if (convert_failure(req))
        rest_fail(req, convert_failure(req));
    else if (found <= 0)
        rest_fail(req, st);
    else if (convert_concerns(req, &row) && !convert_find(req->converted, row.name, row.rev))
        get_converted(req, &row);
    else
        rest_answer(req, 200, pieces, form_pieces(&f, req->arena, &row, pieces));
}

void serve_get(struct rest_request *req)
{
    struct status *st = rest_status(req);
    uint64_t rev;

    if (read_revision(req, &rev, st) < 0)
        rest_fail(req, st);
    else
        read_after(req, rev, get);
}
