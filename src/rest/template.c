/* SPDX-License-Identifier: Apache-2.0 */

/* What every instance has by default, written once as the rows of instance 0. */

#include "base/banned.h"
#include "base/epoch.h"
#include "rest/index.h"
#include "rest/rest_internal.h"
#include "rest/rows.h"

struct template
{
    struct store_txn txn;
    struct store_op op;
};

static void ignore(struct store_txn *txn)
{
    (void)txn; /* all are looked at when all are done */
}

/* 1 when the row must be written, 0 when it is there already. */
static int prepare(struct rest *r, struct arena *a, const struct catalog *c,
                   const struct json *object, struct template *t, struct status *st)
{
    const struct kind *k =
        catalog_find_kind(c, json_get_str(object, "apiVersion"), json_get_str(object, "kind"));
    struct store_row row;
    int found;

    if (!k)
        return status_set(st, REASON_INTERNAL, "no kind for the default %.*s",
                          STR_ARG(json_get_str(object, "metadata.name")));
    t->op = (struct store_op){
        .kind = STORE_PUT,
        .key = { .type = k->type_id,
                 .instance = INSTANCE_TEMPLATE,
                 .name = row_name(a, k, json_get_str(object, "metadata.namespace"),
                                  json_get_str(object, "metadata.name")) },
        .expect = STORE_ANY,
        .value = obj_encode(a, object, STR_NONE, OBJ_TEMPLATE),
    };
    t->txn = (struct store_txn){ .ops = &t->op, .nops = 1, .done = ignore };
    found = store_get(r->store, a, t->op.key, 0, &row, st);
    if (found < 0)
        return -1;
    t->op.nhashes = index_hashes(a, k, object, &t->op.hashes);
    return !found || !str_eq(row.value, t->op.value);
}

static int prepare_all(struct rest *r, struct arena *a, const struct catalog *c,
                       const struct json *objects, struct template *t, struct status *st)
{
    int n = 0;

    json_for_each (o, objects) {
        int rc = prepare(r, a, c, o, &t[n], st);

        if (rc < 0)
            return -1;
        n += rc;
    }
    return n;
}

int rest_write_templates(struct rest *r, const struct catalog *c, const struct json *objects,
                         struct status *st)
{
    scoped_arena a = arena_new();
    struct template *t = arena_array(a, struct template, json_len(objects) + 1);
    int n;

    epoch_enter();
    n = prepare_all(r, a, c, objects, t, st);
    epoch_exit();
    /* A transaction each, so that no revision has two objects of a type; one wait for all. */
    for (int i = 0; i < n; i++)
        store_commit(r->store, &t[i].txn);
    store_settle(r->store);
    for (int i = 0; i < n; i++)
        if (t[i].txn.rev == 0)
            return status_errno(st, t[i].txn.error, "cannot write the default %.*s",
                                STR_ARG(t[i].op.key.name));
    /* Watches of an instance do not hear of template rows: let them begin anew. */
    if (n > 0)
        store_compact(r->store, store_head(r->store));
    return n < 0 ? -1 : 0;
}
