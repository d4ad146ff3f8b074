/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several objects at once, all or nothing: everything is tried first, without effect, so that what
 * can be wrong is known before anything is made; if something fails nevertheless, what was made is
 * taken back, with the caller's rights.
 */

#include "base/banned.h"
#include "mgmt/resource.h"

enum { UNDO_MS = 10000 };

static int try_all(struct resource_call *c, const struct batch_item *items, size_t n,
                   struct status *st)
{
    for (size_t i = 0; i < n; i++) {
        if (resource_make(c, &items[i].ref, items[i].obj, true, NULL, st) == 0)
            continue;
        /* What is missing may be one of the others. */
        if (!status_is(st, REASON_NOT_FOUND) &&
            (!items[i].existing || !status_is(st, REASON_ALREADY_EXISTS)))
            return status_wrap(st, "%s: nothing was created", items[i].field);
        status_reset(st);
    }
    return 0;
}

/* The very object that was made, not one of its name. */
static int take_back(struct resource_call *c, const struct batch_item *item, struct status *st)
{
    struct client_ref ref = item->ref;
    const struct json *options = json_set(c->arena, &json_empty_object, "preconditions.uid",
                                          json_path(item->made, "metadata.uid"));
    struct client_request req;

    ref.name = json_get_str(item->made, "metadata.name");
    req = client_request_delete(c->arena, &ref, NULL, options);
    if (mgmt_do(c->p, c->ctx, &req, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    return 0;
}

static int undo(struct resource_call *c, struct batch_item *items, size_t failed, struct status *st)
{
    c->ctx->deadline_ms += UNDO_MS; /* also when the call's own time is over */
    for (size_t i = failed; i-- > 0;) {
        struct status ignored;

        status_init(&ignored, c->arena);
        if (items[i].made && take_back(c, &items[i], &ignored) < 0)
            (void)status_wrap(st, "%s was created and could not be taken back (%.*s)",
                              items[i].field, STR_ARG(ignored.message));
    }
    return status_wrap(st, "%s: nothing was kept", items[failed].field);
}

int batch_make(struct resource_call *c, struct batch_item *items, size_t n, struct status *st)
{
    if (try_all(c, items, n, st) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        items[i].made = NULL;
        if (resource_make(c, &items[i].ref, items[i].obj, false, &items[i].made, st) == 0)
            continue;
        items[i].made = NULL;
        if (!items[i].existing || !status_is(st, REASON_ALREADY_EXISTS))
            return undo(c, items, i, st);
        status_reset(st);
    }
    return 0;
}
