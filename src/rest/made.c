/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/made.h"

#include "base/banned.h"
#include "base/uuid.h"
#include "rest/index.h"
#include "rest/rest_internal.h"

static const struct json *stamped(struct rest *r, struct arena *a, const struct json *obj)
{
    char *uid = arena_alloc(a, UUID_SIZE), *now = arena_alloc(a, TIME_TEXT_SIZE);
    size_t n = time_format_seconds(now, clock_wall_s(r->clock));

    uuid_v4(uid);
    obj = json_set(a, obj, "metadata.uid", json_box(a, json_of_str((str){ uid, UUID_LEN })));
    return json_set(a, obj, "metadata.creationTimestamp",
                    json_box(a, json_of_str((str){ now, n })));
}

static void prepare(struct rest *r, struct arena *a, const struct kind *k, const struct json *obj,
                    struct store_op *op)
{
    obj = stamped(r, a, obj);
    *op = (struct store_op){ .kind = STORE_PUT,
                             .key = { .type = k->type_id,
                                      .instance = INSTANCE_ROOT,
                                      .name = json_get_str(obj, "metadata.name") },
                             .expect = 0 };
    op->value = obj_encode(a, obj, STR_NONE, 0);
    obj_stamp(op->value, k->schema_id);
    op->nhashes = index_hashes(a, k, obj, &op->hashes);
}

int rest_make(struct rest *r, const struct kind *k, const struct json *const *objects, size_t n,
              size_t *made, struct status *st)
{
    scoped_arena a = arena_new();
    struct store_op *ops = arena_array(a, struct store_op, n);
    struct store_txn *txns = arena_array(a, struct store_txn, n);
    size_t i = 0;

    for (; i < n; i++) {
        prepare(r, a, k, objects[i], &ops[i]);
        txns[i] = (struct store_txn){ .ops = &ops[i], .nops = 1 };
    }
    store_commit_all(r->store, txns, n);
    /* One whose name is taken was stored by a try before, of which others failed. */
    for (i = 0; i < n && (txns[i].rev || txns[i].failed_op >= 0); i++)
        ;
    *made = i;
    return i == n ? 0
                  : status_errno(st, txns[i].error, "cannot store %.*s", STR_ARG(ops[i].key.name));
}
