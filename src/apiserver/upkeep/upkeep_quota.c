/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/quota.h"
#include "apiserver/upkeep/upkeep_internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/map.h"
#include "rest/rows.h"

/* The quotas of a namespace while all that they limit is counted. */
struct counting {
    const struct quota_look *look;
    const struct json *quotas;
    struct amounts *used; /* of each quota */
    uint64_t rev;         /* at which everything is looked at */
    const struct kind *kind;
    struct status *st;
    uint64_t rows; /* of the kind, where all are the same */
    bool failed;
};

/* What the arena of a row holds goes with it. */
static void add_use(struct counting *c, size_t i, const struct amounts *use)
{
    for (size_t k = 0; k < use->n; k++) {
        struct quantity *q = &amounts_find(&c->used[i], use->at[k].name)->q;

        if (q->nanos == 0)
            q->format = use->at[k].q.format;
        q->nanos += use->at[k].q.nanos;
    }
}

static bool add_row(void *arg, const struct row *row)
{
    struct counting *c = arg;
    scoped_arena a = arena_new();
    const struct json *obj;
    size_t i = 0;

    if (row_tree(a, c->kind, row, STR_NONE, &obj, c->st) < 0) {
        c->failed = true;
        return false;
    }
    json_for_each (q, c->quotas) {
        struct amounts use = quota_use(a, q, c->kind, obj);

        add_use(c, i++, &use);
    }
    return true;
}

static bool count_row(void *arg, const struct row *row)
{
    (void)row;
    ((struct counting *)arg)->rows++;
    return true;
}

/* All rows count the same: as one of them, so many times. */
static void add_rows(struct counting *c)
{
    struct arena *a = c->look->arena;
    size_t i = 0;

    json_for_each (q, c->quotas) {
        struct amounts use = quota_use(a, q, c->kind, &json_empty_object);

        for (size_t k = 0; k < use.n; k++)
            use.at[k].q.nanos *= (__int128)c->rows;
        add_use(c, i++, &use);
    }
}

static int count_kind(struct counting *c)
{
    const struct quota_look *l = c->look;
    struct rows_range range = { .instance = &l->instance, .kind = c->kind, .rev = c->rev };
    bool concerned = false, only_counts = true;
    int rc;

    json_for_each (q, c->quotas) {
        concerned = concerned || quota_concerns(q, c->kind);
        only_counts = only_counts && quota_only_counts(q, c->kind);
    }
    if (!concerned)
        return 0;
    range.prefix = str_printf(l->arena, "%.*s/", STR_ARG(l->namespace_));
    c->rows = 0;
    epoch_enter();
    rc = rows_scan(l->server->rest, &range, only_counts ? count_row : add_row, c, c->st);
    epoch_exit();
    if (rc < 0 || c->failed)
        return -1;
    if (only_counts)
        add_rows(c);
    return 0;
}

/* Each kind once, in whatever versions it is served: by the version that is stored. */
static int count_kinds(struct counting *c)
{
    const struct catalog *catalog = c->look->catalog;
    struct map64 seen = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < catalog->nkinds; i++) {
        const struct kind *k = catalog->kinds[i];

        c->kind = k->storage ? k->storage : k;
        if (k->namespaced && !k->transient && !map64_put(&seen, k->type_id, c))
            rc = count_kind(c);
    }
    map64_release(&seen);
    return rc;
}

static struct amounts zeros(struct arena *a, const struct json *quota)
{
    struct amounts m = amounts_of(a, json_path(quota, "spec.hard"));

    for (size_t i = 0; i < m.n; i++)
        m.at[i].q = (struct quantity){ 0 };
    return m;
}

static int read_ledger(const struct quota_look *l, uint64_t rev, struct store_row *row,
                       const struct json **out, struct status *st)
{
    int found;

    *row = (struct store_row){ 0 };
    epoch_enter();
    found = store_get(l->server->store, l->arena, quota_ledger_key(l->instance.id, l->namespace_),
                      rev, row, st);
    epoch_exit();
    *out = NULL;
    if (found <= 0)
        return found;
    return json_parse(l->arena, row->value, NULL, out, st);
}

static int list(const struct quota_look *l, const struct json **out, struct status *st)
{
    int rc;

    epoch_enter();
    rc = quota_list(l->server->rest, l->arena, &l->instance, l->catalog, l->namespace_, out, st);
    epoch_exit();
    return rc;
}

/* Unless somebody has charged it since. */
static int write_ledger(struct counting *c, uint64_t expect)
{
    const struct quota_look *l = c->look;
    struct json_object ledger = json_object_new(l->arena);
    struct store_op op = { .kind = STORE_PUT,
                           .key = quota_ledger_key(l->instance.id, l->namespace_),
                           .expect = expect };
    struct store_txn txn = { .ops = &op, .nops = 1 };
    size_t i = 0;

    json_for_each (q, c->quotas)
        quota_ledger_put(&ledger, q, &c->used[i++]);
    op.value = json_text(l->arena, json_object_done(&ledger));
    if (i == 0)
        op.kind = STORE_DELETE;
    if ((i == 0 && expect == 0) || store_commit_wait(l->server->store, &txn) == 0)
        return 0;
    if (txn.error)
        return status_errno(c->st, txn.error, "the ledger cannot be written");
    return status_set(c->st, REASON_CONFLICT, "the namespace changed while it was counted");
}

int upkeep_count(const struct quota_look *l, struct status *st)
{
    struct counting c = { .look = l, .rev = store_head(l->server->store), .st = st };
    const struct json *ledger;
    struct store_row row;
    size_t i = 0;

    if (list(l, &c.quotas, st) < 0 || read_ledger(l, c.rev, &row, &ledger, st) < 0)
        return -1;
    c.used = arena_array(l->arena, struct amounts, json_len(c.quotas) + 1);
    json_for_each (q, c.quotas)
        c.used[i++] = zeros(l->arena, q);
    if (i && count_kinds(&c) < 0)
        return -1;
    return write_ledger(&c, row.rev);
}

/* ---- status ---- */

/* What is used of what the quota limits now; NULL when something of it was never counted. */
static const struct json *used_of(struct arena *a, const struct json *ledger,
                                  const struct json *quota)
{
    const struct json *known = quota_ledger_used(ledger, quota);
    struct json_object used = json_object_new(a);

    if (!known)
        return NULL;
    json_for_each_member (m, json_path(quota, "spec.hard")) {
        const struct json *v = json_get(known, m->name);

        if (!v)
            return NULL;
        json_add(&used, m->name, *v);
    }
    return json_object_done(&used);
}

static bool is_counted(struct arena *a, const struct json *ledger, const struct json *quotas)
{
    json_for_each (q, quotas)
        if (!used_of(a, ledger, q))
            return false;
    return true;
}

static int show_one(const struct quota_look *l, const struct json *ledger, const struct json *quota,
                    struct status *st)
{
    const struct json *hard = json_path(quota, "spec.hard");
    const struct json *used = used_of(l->arena, ledger, quota);
    struct json_object status = json_object_new(l->arena);
    struct client_ref ref = { .instance = l->instance.name,
                              .version = STR("v1"),
                              .resource = STR("resourcequotas"),
                              .namespace = l->namespace_,
                              .name = json_get_str(quota, "metadata.name"),
                              .subresource = STR("status") };

    if (hard)
        json_add(&status, STR("hard"), *hard);
    if (used && hard)
        json_add(&status, STR("used"), *used);
    if (!used || json_equal(json_object_done(&status), json_get(quota, STR("status"))))
        return 0;
    quota = json_set(l->arena, quota, "status", json_object_done(&status));
    if (client_update(l->client, l->arena, &ref, quota, NULL, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return 0;
}

int upkeep_show(const struct quota_look *l, struct status *st)
{
    const struct json *quotas, *ledger;
    struct store_row row;

    if (list(l, &quotas, st) < 0 || read_ledger(l, 0, &row, &ledger, st) < 0)
        return -1;
    if (!is_counted(l->arena, ledger, quotas)) {
        if (upkeep_count(l, st) < 0 || read_ledger(l, 0, &row, &ledger, st) < 0)
            return -1;
    }
    json_for_each (q, quotas)
        if (show_one(l, ledger, q, st) < 0)
            return -1;
    return 0;
}
