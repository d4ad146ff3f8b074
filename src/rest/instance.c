/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/instance.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/uuid.h"

/*
 * Ids are reserved in blocks, the upper end of which is a row: so none is ever given twice, and
 * creating an instance needs no second transaction.  What is left of a block is lost at the end of
 * the program: with blocks of 4096 the ids last for a million starts.
 */
enum { ID_BLOCK = 4096, ID_LOW = 1024 };

#define ROOT_ROW    STR("/") /* no instance can be named so */
#define COUNTER_ROW STR("instance-ids")

struct name_record { /* value of a name's row; the uid's 36 characters follow, then limits if any
                   are said */
    uint32_t id;
    uint8_t profile, terminating, attached, suspended;
    int64_t created_s;
};

struct reservation {
    struct store_txn txn;
    struct store_op op;
    struct instances *in;
    uint64_t upto;
};

struct instances {
    struct store *store;
    pthread_mutex_t mu;
    pthread_cond_t reserved;
    uint64_t next, limit; /* guarded by mu: ids next … limit - 1 may be given */
    bool reserving;       /* guarded by mu */
    struct reservation reservation;
    struct instance root; /* never changes, asked for most */
    struct arena *arena;  /* of its strings */
};

static struct store_key key_of(uint32_t type, str name)
{
    return (struct store_key){ .type = type, .instance = INSTANCE_TEMPLATE, .name = name };
}

static str id_name(struct arena *a, uint32_t id)
{
    uint32_t *be = arena_new_of(a, uint32_t);

    *be = htonl(id);
    return (str){ (const char *)be, sizeof(*be) };
}

static bool says_limits(const struct instance_limits *l)
{
    return l->objects || l->bytes || l->in_flight || l->watches;
}

static str encode(struct arena *a, const struct instance *i)
{
    int64_t created = 0;
    size_t limits = says_limits(&i->limits) ? sizeof(i->limits) : 0;
    struct name_record r = { .id = i->id,
                             .profile = (uint8_t)i->profile,
                             .terminating = i->terminating,
                             .attached = i->attached,
                             .suspended = i->suspended };
    char *p = arena_alloc(a, sizeof(r) + i->uid.n + limits);

    (void)time_parse_seconds(i->created, &created);
    r.created_s = created;
    memcpy(p, &r, sizeof(r));
    memcpy(p + sizeof(r), i->uid.p, i->uid.n);
    memcpy(p + sizeof(r) + i->uid.n, &i->limits, limits);
    return (str){ p, sizeof(r) + i->uid.n + limits };
}

static int decode(struct arena *a, const struct store_row *row, str name, struct instance *out,
                  struct status *st)
{
    char *created = arena_alloc(a, TIME_TEXT_SIZE);
    const size_t plain = sizeof(struct name_record) + UUID_LEN;
    struct name_record r;

    if (row->value.n != plain && row->value.n != plain + sizeof(out->limits))
        return status_set(st, REASON_INTERNAL, "the row of instance %.*s is damaged",
                          STR_ARG(name));
    memcpy(&r, row->value.p, sizeof(r));
    *out = (struct instance){
        .id = r.id,
        .name = name,
        .uid = str_dup(a, str_sub(row->value, sizeof(r), UUID_LEN)),
        .created_rev = row->created,
        .created = (str){ created, time_format_seconds(created, r.created_s) },
        .profile = r.profile,
        .terminating = r.terminating,
        .attached = r.attached,
        .suspended = r.suspended,
    };
    memcpy(&out->limits, row->value.p + plain, row->value.n - plain);
    return 0;
}

static int load(struct instances *in, struct arena *a, str row_name, str name, struct instance *out,
                struct status *st)
{
    struct store_row row;
    int found = store_get(in->store, a, key_of(TYPE_INSTANCES, row_name), 0, &row, st);

    if (found < 0)
        return -1;
    if (found == 0)
        return status_not_found(st, STR("tenancy.kairship.io"), STR("instances"), name);
    return decode(a, &row, name, out, st);
}

int instance_find(struct instances *in, struct arena *a, str name, struct instance *out,
                  struct status *st)
{
    if (name.n == 0) {
        *out = in->root;
        return 0;
    }
    return load(in, a, name, name, out, st);
}

int instance_name(struct instances *in, struct arena *a, uint32_t id, uint64_t rev, str *out,
                  struct status *st)
{
    struct store_row row;
    int found = 1;

    row.value = STR(INSTANCE_ROOT_NAME);
    if (id != INSTANCE_ROOT)
        found = store_get(in->store, a, key_of(TYPE_INSTANCE_IDS, id_name(a, id)), rev, &row, st);
    if (found == 0)
        return status_set(st, REASON_NOT_FOUND, "no instance has id %u", id);
    if (found == 1)
        *out = row.value;
    return found < 0 ? -1 : 0;
}

static void reserved(struct store_txn *txn)
{
    struct reservation *r = (struct reservation *)(void *)txn;
    struct instances *in = r->in;

    (void)pthread_mutex_lock(&in->mu);
    if (txn->rev)
        in->limit = r->upto;
    in->reserving = false;
    (void)pthread_cond_signal(&in->reserved);
    (void)pthread_mutex_unlock(&in->mu);
}

/* Blocks are adjoining, so what is left of the last one is still good. */
static void reserve(struct instances *in, uint64_t from)
{
    struct reservation *r = &in->reservation;

    r->in = in;
    r->upto = from + ID_BLOCK;
    r->op = (struct store_op){ .kind = STORE_PUT,
                               .key = key_of(TYPE_COUNTERS, COUNTER_ROW),
                               .expect = STORE_ANY,
                               .value = { (const char *)&r->upto, sizeof(r->upto) } };
    r->txn = (struct store_txn){ .ops = &r->op, .nops = 1, .done = reserved };
}

int instance_new_id(struct instances *in, uint32_t *out, struct status *st)
{
    uint64_t id = 0;
    bool low;

    (void)pthread_mutex_lock(&in->mu);
    if (in->next < in->limit)
        id = in->next++;
    low = in->limit - in->next < ID_LOW && !in->reserving;
    if (low) {
        in->reserving = true;
        reserve(in, in->limit);
    }
    (void)pthread_mutex_unlock(&in->mu);
    if (low)
        store_commit(in->store, &in->reservation.txn);
    if (id == 0) {
        st->retry_after_s = 1;
        return status_set(st, REASON_UNAVAILABLE, "instance ids are being reserved, try again");
    }
    if (id >= STORE_ALL)
        return status_set(st, REASON_INTERNAL, "all 4294967294 instance ids have been used");
    *out = (uint32_t)id;
    return 0;
}

size_t instance_create_ops(struct arena *a, const struct instance *i, struct store_op ops[3])
{
    str twin = instance_twin(a, i->name);

    ops[0] = (struct store_op){ .kind = STORE_PUT,
                                .key = key_of(TYPE_INSTANCES, i->name),
                                .expect = 0,
                                .value = encode(a, i) };
    ops[1] = (struct store_op){ .kind = STORE_PUT,
                                .key = key_of(TYPE_INSTANCE_IDS, id_name(a, i->id)),
                                .expect = 0,
                                .value = i->name };
    ops[2] =
        (struct store_op){ .kind = STORE_CHECK, .key = key_of(TYPE_INSTANCES, twin), .expect = 0 };
    return twin.n ? 3 : 2;
}

str instance_twin(struct arena *a, str name)
{
    if (!str_starts(name, STR("k-")))
        return str_printf(a, "k-%.*s", STR_ARG(name));
    return str_starts(name, STR("k-k-")) ? STR_NONE : str_from(name, 2);
}

size_t instance_update_ops(struct arena *a, const struct instance *i, struct store_op ops[3])
{
    ops[0] = (struct store_op){ .kind = STORE_PUT,
                                .key = key_of(TYPE_INSTANCES, i->name),
                                .expect = STORE_ANY,
                                .value = encode(a, i) };
    return 1;
}

size_t instance_delete_ops(struct arena *a, const struct instance *i, struct store_op ops[3])
{
    ops[0] = (struct store_op){ .kind = STORE_DELETE,
                                .key = key_of(TYPE_INSTANCES, i->name),
                                .expect = STORE_ANY };
    ops[1] = (struct store_op){ .kind = STORE_DELETE,
                                .key = key_of(TYPE_INSTANCE_IDS, id_name(a, i->id)),
                                .expect = STORE_ANY };
    ops[2] =
        (struct store_op){ .kind = STORE_DROP, .key = { .instance = i->id, .name = STR("/") } };
    return 3;
}

static int commit(struct store *s, struct store_op *ops, size_t n, const char *what,
                  struct status *st)
{
    struct store_txn txn = { .ops = ops, .nops = n };

    if (store_commit_wait(s, &txn) == 0)
        return 0;
    if (txn.error)
        return status_errno(st, txn.error, "cannot write %s", what);
    return status_set(st, REASON_INTERNAL, "cannot write %s: it is there already", what);
}

static int make_root(struct instances *in, struct arena *a, int64_t now_s, struct status *st)
{
    char uid[UUID_SIZE], created[TIME_TEXT_SIZE];
    struct instance root = { .id = INSTANCE_ROOT, .name = ROOT_ROW };
    struct store_op ops[3];

    uuid_v4(uid);
    root.uid = str_of(uid);
    root.created = (str){ created, time_format_seconds(created, now_s) };
    (void)instance_create_ops(a, &root, ops);
    return commit(in->store, &ops[0], 1, "the root instance", st);
}

static int open_rows(struct instances *in, struct arena *a, int64_t now_s, struct status *st)
{
    struct store_row row;
    uint64_t from = INSTANCE_FIRST;
    int found = store_get(in->store, a, key_of(TYPE_INSTANCES, ROOT_ROW), 0, &row, st);

    if (found < 0 || (found == 0 && make_root(in, a, now_s, st) < 0))
        return -1;
    found = store_get(in->store, a, key_of(TYPE_COUNTERS, COUNTER_ROW), 0, &row, st);
    if (found < 0)
        return -1;
    if (found && row.value.n == sizeof(from))
        memcpy(&from, row.value.p, sizeof(from));
    reserve(in, from);
    if (commit(in->store, &in->reservation.op, 1, "the instance counter", st) < 0)
        return -1;
    in->next = from;
    in->limit = from + ID_BLOCK;
    found = store_get(in->store, a, key_of(TYPE_INSTANCES, ROOT_ROW), 0, &row, st);
    return found < 0 ? -1 : decode(in->arena, &row, STR_NONE, &in->root, st);
}

struct instances *instances_open(struct store *s, int64_t now_s, struct status *st)
{
    struct instances *in = mem_zalloc(sizeof(*in));
    scoped_arena a = arena_new();
    int failed;

    in->store = s;
    in->arena = arena_new();
    (void)pthread_mutex_init(&in->mu, NULL);
    (void)pthread_cond_init(&in->reserved, NULL);
    epoch_enter();
    failed = open_rows(in, a, now_s, st);
    epoch_exit();
    if (failed) {
        instances_free(in);
        return NULL;
    }
    return in;
}

void instances_free(struct instances *in)
{
    if (!in)
        return;
    (void)pthread_mutex_lock(&in->mu);
    while (in->reserving) /* the store still writes into us */
        (void)pthread_cond_wait(&in->reserved, &in->mu);
    (void)pthread_mutex_unlock(&in->mu);
    (void)pthread_mutex_destroy(&in->mu);
    (void)pthread_cond_destroy(&in->reserved);
    arena_free(in->arena);
    free(in);
}

static bool highest(void *arg, const struct store_row *row)
{
    uint32_t id, *max = arg;

    if (row->value.n == sizeof(id)) {
        memcpy(&id, row->value.p, sizeof(id));
        if (id > *max)
            *max = id;
    }
    return true;
}

int type_find(struct store *s, struct arena *a, str group, str plural, uint32_t *out,
              struct status *st)
{
    str name = str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(plural));
    struct store_row row;
    int found = store_get(s, a, key_of(TYPE_TYPES, name), 0, &row, st);

    return found == 1 ? type_of_row(&row, out) : found;
}

static int find_type(struct store *s, struct arena *a, str group, str plural, uint32_t *out,
                     struct status *st)
{
    int found;

    epoch_enter();
    found = type_find(s, a, group, plural, out, st);
    epoch_exit();
    return found;
}

static int last_type(struct store *s, uint32_t *out, struct status *st)
{
    struct store_range all = { .type = TYPE_TYPES, .instance = INSTANCE_TEMPLATE };
    int rc;

    *out = TYPE_FIRST - 1;
    epoch_enter();
    rc = store_scan(s, &all, highest, out, st);
    epoch_exit();
    return rc;
}

static int new_type(struct store *s, str name, uint32_t *out, struct status *st)
{
    struct store_op op = { .kind = STORE_PUT, .key = key_of(TYPE_TYPES, name), .expect = 0 };
    uint32_t id;

    if (last_type(s, &id, st) < 0)
        return -1;
    id++;
    op.value = (str){ (const char *)&id, sizeof(id) };
    if (commit(s, &op, 1, "a type", st) < 0)
        return -1;
    *out = id;
    return 0;
}

bool type_of_row(const struct store_row *row, uint32_t *out)
{
    if (row->value.n != sizeof(*out))
        return false;
    memcpy(out, row->value.p, sizeof(*out));
    return true;
}

int type_id(struct store *s, str group, str plural, uint32_t *out, struct status *st)
{
    static pthread_mutex_t mu =
        PTHREAD_MUTEX_INITIALIZER; /* two must not find the same number free */
    scoped_arena a = arena_new();
    str name = str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(plural));
    int found = find_type(s, a, group, plural, out, st);

    if (found != 0)
        return found < 0 ? -1 : 0;
    (void)pthread_mutex_lock(&mu);
    found = find_type(s, a, group, plural, out, st);
    if (found == 0)
        found = new_type(s, name, out, st);
    (void)pthread_mutex_unlock(&mu);
    return found < 0 ? -1 : 0;
}

static struct store_op *batch_op(struct type_batch *b)
{
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : STORE_TXN_OPS_MAX;
        struct store_op *more = arena_array(b->arena, struct store_op, cap);

        if (b->n)
            memcpy(more, b->ops, b->n * sizeof(*more));
        b->ops = more;
        b->cap = cap;
    }
    return &b->ops[b->n++];
}

int type_batch_id(struct type_batch *b, str group, str plural, uint32_t *out, struct status *st)
{
    str name = str_printf(b->arena, "%.*s/%.*s", STR_ARG(group), STR_ARG(plural));
    int found = find_type(b->store, b->arena, group, plural, out, st);
    uint32_t *id;

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (b->last == 0 && last_type(b->store, &b->last, st) < 0)
        return -1;
    id = arena_new_of(b->arena, uint32_t);
    *id = ++b->last;
    *batch_op(b) = (struct store_op){ .kind = STORE_PUT,
                                      .key = key_of(TYPE_TYPES, name),
                                      .expect = 0,
                                      .value = { (const char *)id, sizeof(*id) } };
    *out = *id;
    return 0;
}

int type_batch_commit(struct type_batch *b, struct status *st)
{
    for (size_t i = 0; i < b->n; i += STORE_TXN_OPS_MAX) {
        size_t n = b->n - i < STORE_TXN_OPS_MAX ? b->n - i : STORE_TXN_OPS_MAX;

        if (commit(b->store, b->ops + i, n, "types", st) < 0)
            return -1;
    }
    b->n = 0;
    return 0;
}
