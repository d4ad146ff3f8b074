/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/upgrade.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "rest/index.h"
#include "rest/rest_internal.h"
#include "rest/rows.h"
#include "rest/seal.h"

struct rewrite {
    struct store_txn txn;
    struct store_op op;
    struct rewrite *next;
};

struct upgrade {
    struct rest *rest;
    struct arena *arena;
    const struct kind *kind;
    rest_upgrade_fn *fix;
    struct rewrite *first;
    struct status *st;
    bool failed;
};

static void ignore(struct store_txn *txn)
{
    (void)txn; /* all are looked at when all are done */
}

static struct store_key mark_key(struct arena *a, str name)
{
    return (struct store_key){ .type = TYPE_COUNTERS,
                               .instance = INSTANCE_TEMPLATE,
                               .name = str_printf(a, "upgrade/%.*s", STR_ARG(name)) };
}

static bool look(void *arg, const struct row *row)
{
    struct upgrade *u = arg;
    struct arena *a = u->arena;
    const struct json *obj, *now;
    struct rewrite *w;
    str value;

    now = row_tree(a, u->kind, row, STR_NONE, &obj, u->st) < 0 ? NULL
                                                               : u->fix(u->rest, a, obj, u->st);
    if (!now) {
        u->failed = true;
        return false;
    }
    if (now == obj)
        return true;
    w = arena_new_of(a, struct rewrite);
    value = obj_encode(a, now, row->obj.managed, 0);
    obj_stamp(value, u->kind->schema_id);
    w->op = (struct store_op){ .kind = STORE_PUT,
                               .key = { .type = u->kind->type_id,
                                        .instance = INSTANCE_ROOT,
                                        .name = str_dup(a, row->name) },
                               .expect = row->stored_rev };
    w->op.value = seal_value(u->rest->seal, a, u->kind, &w->op.key, value);
    w->op.nhashes = index_hashes(a, u->kind, now, &w->op.hashes);
    w->txn = (struct store_txn){ .ops = &w->op, .nops = 1, .done = ignore };
    w->next = u->first;
    u->first = w;
    return true;
}

/* 1: it was done before. */
static int prepare(struct upgrade *u, str name)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    struct rows_range all = { .instance = &root, .kind = u->kind };
    struct store_row row;
    int found = store_get(u->rest->store, u->arena, mark_key(u->arena, name), 0, &row, u->st);

    if (found)
        return found;
    return rows_scan(u->rest, &all, look, u, u->st) < 0 || u->failed ? -1 : 0;
}

int rest_upgrade(struct rest *r, const struct kind *k, str name, rest_upgrade_fn *fix,
                 struct status *st)
{
    scoped_arena a = arena_new();
    struct upgrade u = { .rest = r, .arena = a, .kind = k, .fix = fix, .st = st };
    struct store_op mark = {
        .kind = STORE_PUT, .key = mark_key(a, name), .expect = STORE_ANY, .value = STR("done")
    };
    struct store_txn last = { .ops = &mark, .nops = 1, .done = ignore };
    int rc;

    epoch_enter();
    rc = prepare(&u, name);
    epoch_exit();
    if (rc)
        return rc < 0 ? -1 : 0;
    /* A transaction each, so that no revision has two objects of a type; one wait for all. */
    for (struct rewrite *w = u.first; w; w = w->next)
        store_commit(r->store, &w->txn);
    store_settle(r->store);
    for (struct rewrite *w = u.first; w; w = w->next)
        if (w->txn.rev == 0)
            return status_errno(st, w->txn.error, "cannot upgrade %.*s", STR_ARG(w->op.key.name));
    store_commit(r->store, &last);
    store_settle(r->store);
    return last.rev ? 0 : status_errno(st, last.error, "cannot note an upgrade");
}
