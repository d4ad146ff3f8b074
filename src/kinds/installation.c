/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/installation.h"

#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "base/rand.h"
#include "kinds/kinds.h"
#include "object/meta/obj.h"
#include "rest/instance.h"
#include "rest/rows.h"

enum { ORIGINS = sizeof(installation_origins) / sizeof(*installation_origins) };

/* A row that is there until the new id is in the store. */
static struct store_key renew_key(void)
{
    return (struct store_key){ .type = TYPE_COUNTERS,
                               .instance = INSTANCE_TEMPLATE,
                               .name = STR("installation/renew") };
}

static int template_of(struct rest *r, struct arena *a, const char *namespace, const char *name,
                       const struct json **out, struct status *st)
{
    static const struct instance templates = { .id = INSTANCE_TEMPLATE };
    const struct kind *k =
        catalog_find(kinds_catalog_root(), STR_NONE, STR("v1"), STR("configmaps"));
    struct row row;
    int found =
        rows_get(r, a, &templates, k, row_name(a, k, str_of(namespace), str_of(name)), 0, &row, st);

    return found > 0 && row_tree(a, k, &row, STR_NONE, out, st) < 0 ? -1 : found;
}

static int read_stored(const struct json *object, struct installation *out, struct status *st)
{
    str id = json_get_str(object, "data." INSTALLATION_ID);
    str origin = json_get_str(object, "data." INSTALLATION_ORIGIN);

    if (id.n != sizeof(out->id) - 1)
        return status_set(st, REASON_INTERNAL, "the id of this installation cannot be read");
    memcpy(out->id, id.p, id.n);
    for (size_t i = 0; i < ORIGINS; i++)
        if (str_is(origin, installation_origins[i]))
            out->origin = (enum installation_origin)i;
    return 0;
}

static void make(struct installation *out, enum installation_origin origin)
{
    unsigned char bytes[(INSTALLATION_ID_SIZE - 1) / 2];

    rand_bytes(bytes, sizeof(bytes));
    hex_encode(out->id, bytes, sizeof(bytes));
    out->origin = origin;
}

static int look(struct store *s, struct rest *r, struct arena *a, struct installation *out,
                struct status *st)
{
    const struct json *object;
    struct store_row row;
    int found = store_get(s, a, renew_key(), 0, &row, st);

    if (found > 0) {
        make(out, INSTALLATION_COPIED);
        return 0;
    }
    if (found == 0)
        found = template_of(r, a, INSTALLATION_NAMESPACE, INSTALLATION_NAME, &object, st);
    if (found > 0)
        return read_stored(object, out, st);
    /* What every program before this one has put there at its first start. */
    if (found == 0)
        found = template_of(r, a, "kube-system", "extension-apiserver-authentication", &object, st);
    if (found >= 0)
        make(out, found ? INSTALLATION_UPGRADED : INSTALLATION_NEW);
    return found < 0 ? -1 : 0;
}

int installation_open(struct store *s, struct rest *r, struct arena *a, struct installation *out,
                      struct status *st)
{
    int rc;

    *out = (struct installation){ .origin = INSTALLATION_COPIED };
    epoch_enter();
    rc = look(s, r, a, out, st);
    epoch_exit();
    return rc;
}

const struct json *installation_object(struct arena *a, const struct installation *i)
{
    const struct json *v = &json_empty_object;

    v = json_set(a, v, "kind", json_box(a, json_of_str(STR("ConfigMap"))));
    v = json_set(a, v, "apiVersion", json_box(a, json_of_str(STR("v1"))));
    v = json_set(a, v, "metadata.name", json_box(a, json_of_str(STR(INSTALLATION_NAME))));
    v = json_set(a, v, "metadata.namespace", json_box(a, json_of_str(STR(INSTALLATION_NAMESPACE))));
    v = json_set(a, v, "immutable", json_box(a, json_of_bool(true)));
    v = json_set(a, v, "data." INSTALLATION_ID,
                 json_box(a, json_of_str(str_dup(a, str_of(i->id)))));
    return json_set(a, v, "data." INSTALLATION_ORIGIN,
                    json_box(a, json_of_str(str_of(installation_origins[i->origin]))));
}

static void ignore(struct store_txn *txn)
{
    (void)txn; /* looked at when it is done */
}

static int commit(struct store *s, struct store_op *op, struct status *st)
{
    struct store_txn txn = { .ops = op, .nops = 1, .done = ignore };

    store_commit(s, &txn);
    store_settle(s);
    return txn.rev ? 0 : status_errno(st, txn.error, "cannot note the id of this installation");
}

/* Killed before this is done, the next start makes another id: none was used yet. */
int installation_opened(struct store *s, struct status *st)
{
    struct store_op op = { .kind = STORE_DELETE, .key = renew_key(), .expect = STORE_ANY };
    scoped_arena a = arena_new();
    struct store_row row;
    int found;

    epoch_enter();
    found = store_get(s, a, op.key, 0, &row, st);
    epoch_exit();
    return found > 0 ? commit(s, &op, st) : found;
}

int installation_renew(struct store *s, struct status *st)
{
    struct store_op op = {
        .kind = STORE_PUT, .key = renew_key(), .expect = STORE_ANY, .value = STR("once")
    };

    return commit(s, &op, st);
}
