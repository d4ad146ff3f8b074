/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/schemas.h"

#include "base/banned.h"
#include "base/epoch.h"
#include "rest/instance.h"

static struct store_key key_of(str name)
{
    return (struct store_key){ .type = TYPE_SCHEMAS, .instance = INSTANCE_TEMPLATE, .name = name };
}

static str name_of(struct arena *a, uint32_t type, uint32_t schema)
{
    return str_printf(a, "%u/%08x", type, schema);
}

/* The value: 'n' or 'c' for the scope, then the prefix. */
static bool read_value(struct arena *a, str value, struct schema_record *out)
{
    if (value.n < 2)
        return false;
    out->namespaced = value.p[0] == 'n';
    out->type_prefix = str_dup(a, str_from(value, 1));
    return true;
}

int schema_record_put(struct store *s, const struct kind *k, struct status *st)
{
    scoped_arena a = arena_new();
    struct store_op op = { .kind = STORE_PUT,
                           .key = key_of(name_of(a, k->type_id, k->schema_id)),
                           .expect = 0 };
    struct store_txn txn = { .ops = &op, .nops = 1 };
    struct store_row row;
    int found;

    epoch_enter();
    found = store_get(s, a, op.key, 0, &row, st);
    epoch_exit();
    if (found != 0)
        return found < 0 ? -1 : 0;
    op.value = str_printf(a, "%c%.*s", k->namespaced ? 'n' : 'c', STR_ARG(k->type_prefix));
    if (store_commit_wait(s, &txn) == 0 || (txn.failed_op >= 0 && txn.error == 0))
        return 0; /* or another was quicker */
    return status_errno(st, txn.error, "cannot write down a schema");
}

struct search {
    struct arena *arena;
    struct schema_record *out;
    bool found;
};

static bool take_first(void *arg, const struct store_row *row)
{
    struct search *s = arg;

    s->found = read_value(s->arena, row->value, s->out);
    return !s->found;
}

int schema_record_get(struct store *s, struct arena *a, uint32_t type, uint32_t schema,
                      struct schema_record *out, struct status *st)
{
    struct search search = { .arena = a, .out = out };
    struct store_range all = { .type = TYPE_SCHEMAS,
                               .instance = INSTANCE_TEMPLATE,
                               .prefix = str_printf(a, "%u/", type) };
    struct store_row row;
    int found;

    if (schema) {
        found = store_get(s, a, key_of(name_of(a, type, schema)), 0, &row, st);
        return found == 1 ? read_value(a, row.value, out) : found;
    }
    if (store_scan(s, &all, take_first, &search, st) < 0)
        return -1;
    return search.found;
}

/* "Widget" of `{"kind":"Widget",…` */
static str kind_of(str prefix)
{
    str rest = str_from(prefix, sizeof("{\"kind\":\"") - 1);
    ptrdiff_t end = str_find(rest, '"', 0);

    return end < 0 ? STR_NONE : str_sub(rest, 0, (size_t)end);
}

int schema_any_kind(struct store *s, struct arena *a, str group, str version, str plural,
                    const struct kind **out, struct status *st)
{
    struct kind *k = arena_new_of(a, struct kind);
    struct schema_record record;
    int found = type_find(s, a, group, plural, &k->type_id, st);

    if (found == 1)
        found = schema_record_get(s, a, k->type_id, 0, &record, st);
    if (found != 1)
        return found;
    k->group = group;
    k->version = version;
    k->plural = plural;
    k->kind = kind_of(record.type_prefix);
    k->list_kind = str_printf(a, "%.*sList", STR_ARG(k->kind));
    k->api_version =
        group.n ? str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(version)) : version;
    k->type_prefix = record.type_prefix;
    k->namespaced = record.namespaced;
    k->verbs = VERB_LIST | VERB_WATCH;
    k->any = true;
    k->serial = kind_serial();
    k->storage = k;
    *out = k;
    return 1;
}
