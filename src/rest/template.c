/* SPDX-License-Identifier: Apache-2.0 */

/* What every instance has by default, written once as the rows of instance 0. */

#include "base/banned.h"
#include "base/epoch.h"
#include "rest/index.h"
#include "rest/internal.h"

/* Kind, name and the object without what instances add. */
static const struct {
    const char *group, *version, *plural, *name, *json;
} defaults[] = {
#define NAMESPACE(n)                                                                             \
    {                                                                                            \
        "", "v1", "namespaces", n,                                                               \
            "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" n          \
            "\",\"labels\":{\"kubernetes.io/metadata.name\":\"" n                                \
            "\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}" \
    }
    NAMESPACE("default"),
    NAMESPACE("kube-node-lease"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-system"),
#undef NAMESPACE
};

/* 1 when it was written, 0 when it was there. */
static int write_one(struct rest *r, struct arena *a, const struct kind *k, size_t i,
                     struct status *st)
{
    const struct json *tree;
    struct store_op op = { .kind = STORE_PUT,
                           .key = { .type = k->type_id,
                                    .instance = INSTANCE_TEMPLATE,
                                    .name = str_of(defaults[i].name) } };
    struct store_txn txn = { .ops = &op, .nops = 1 };
    struct store_row row;
    int found = store_get(r->store, a, op.key, 0, &row, st);

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (json_parse(a, str_of(defaults[i].json), NULL, &tree, st) < 0)
        return -1;
    op.value = obj_encode(a, tree, OBJ_TEMPLATE);
    op.nhashes = index_hashes(a, k, tree, &op.hashes);
    if (store_commit_wait(r->store, &txn) < 0)
        return status_errno(st, txn.error, "cannot write the default %s", defaults[i].name);
    return 1;
}

int rest_write_templates(struct rest *r, const struct catalog *c, struct status *st)
{
    scoped_arena a = arena_new();
    bool written = false;
    int rc = 0;

    epoch_enter();
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults) && rc >= 0; i++) {
        const struct kind *k = catalog_find(
            c, str_of(defaults[i].group), str_of(defaults[i].version), str_of(defaults[i].plural));

        rc = write_one(r, a, k, i, st);
        written = written || rc > 0;
    }
    epoch_exit();
    /* Watches of an instance do not hear of template rows: let them begin anew. */
    if (written)
        store_compact(r->store, store_head(r->store));
    return rc < 0 ? -1 : 0;
}
