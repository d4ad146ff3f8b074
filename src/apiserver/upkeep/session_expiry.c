/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/session.h"
#include "apiserver/upkeep/upkeep_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "rest/rows.h"

enum {
    AGAIN_MS = 10 * 60 * 1000,
    LOOKED = 500, /* rows looked at in one go */
};

struct look {
    struct server *server;
    struct arena *arena; /* of what is deleted */
    const struct kind *kind;
    int64_t now_s;
    struct store_op *ops;
    size_t n, looked;
    str last;
};

static bool look(void *arg, const struct row *row)
{
    struct look *l = arg;
    scoped_arena a = arena_new();
    const struct json *session;
    struct status st;

    status_init(&st, a);
    if (++l->looked == LOOKED)
        l->last = str_dup(l->arena, row->name);
    if (row_tree(a, l->kind, row, STR_NONE, &session, &st) == 0 &&
        session_is_over(l->server, a, session, l->now_s, &st) == 1)
        l->ops[l->n++] = (struct store_op){
            .kind = STORE_DELETE,
            .key = { .type = l->kind->type_id,
                     .instance = row->instance,
                     .name = str_dup(l->arena, row->name) },
            .expect = row->stored_rev,
        };
    return l->looked < LOOKED;
}

/* Each in a transaction of its own: a watch that resumes between two misses none.  What was written
 * to meanwhile, or cannot be deleted now, is looked at again the next time. */
static void delete_all(struct look *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct store_txn txn = { .ops = &l->ops[i], .nops = 1 };

        (void)store_commit_wait(l->server->store, &txn);
    }
}

/* A portion behind that row; returns the last one, or nothing at the end. */
static str portion(struct server *s, struct arena *a, str after)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    struct look l = { .server = s,
                      .arena = a,
                      .kind = catalog_find(kinds_catalog_root(), STR("iam.kairship.io"),
                                           STR("v1alpha1"), STR("sessions")),
                      .now_s = clock_wall_s(s->clock),
                      .ops = arena_array(a, struct store_op, LOOKED) };
    struct rows_range range = { .instance = &root, .kind = l.kind, .after = after };
    struct status st;

    status_init(&st, a);
    epoch_enter();
    if (rows_scan(s->rest, &range, look, &l, &st) < 0)
        log_warn("sessions that are over cannot be looked for", log_status(&st));
    epoch_exit();
    delete_all(&l);
    return l.last;
}

int64_t session_expiry_run(struct server *s)
{
    scoped_arena a = arena_new();
    str after = STR_NONE;

    do
        after = portion(s, a, after);
    while (after.n);
    return AGAIN_MS;
}
