/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/apiservices.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "rest/seal.h"

#define GROUP "apiregistration.k8s.io"

enum {
    SLOTS = 4096,
    TRIES = 3,            /* of reading, while what is read is forgotten behind it */
    ROWS_MAX = 1000,      /* of one instance */
    CACHE_MAX = 64 << 20, /* bytes of all sets; beyond it the slots are emptied */
};

struct apiservices {
    struct store *store;
    struct seal *seal;
    uint32_t type;
    _Atomic(struct apiservice_set *) slots[SLOTS];
    _Atomic size_t bytes;
};

static size_t bytes_of(const struct apiservice_set *s)
{
    return sizeof(*s) + (s->arena ? arena_size(s->arena) : 0);
}

static void set_free(void *arg)
{
    struct apiservice_set *s = arg;

    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

/* ---- reading ---- */

static bool is_available(const struct json *tree)
{
    json_for_each (c, json_path(tree, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Available"))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

bool apiservice_read(struct arena *a, const struct json *tree, struct apiservice *out)
{
    const struct json *spec = json_get(tree, STR("spec"));
    const struct json *service = json_get(spec, STR("service"));
    str group = json_get_str(spec, "group"), pem = STR_NONE;

    if (!json_is(service, JSON_OBJECT) || !group.n || str_is(group, GROUP))
        return false;
    (void)base64_decode(a, BASE64_GO, json_get_str(spec, "caBundle"), &pem);
    *out = (struct apiservice){
        .name = str_dup(a, json_get_str(tree, "metadata.name")),
        .group = str_dup(a, group),
        .version = str_dup(a, json_get_str(spec, "version")),
        .group_priority = (int)json_int(json_get(spec, STR("groupPriorityMinimum")), 0),
        .version_priority = (int)json_int(json_get(spec, STR("versionPriority")), 0),
        .service = service_ref_read(a, &(struct instance){ 0 }, service),
        .ca_pem = pem,
        .insecure = json_bool(json_get(spec, STR("insecureSkipTLSVerify"))),
        .available = is_available(tree),
    };
    return true;
}

struct reading {
    struct seal *seal;
    struct apiservice_set *set;
    struct arena *scratch;
    size_t cap;
    bool failed;
};

static bool read_row(void *arg, const struct store_row *row)
{
    struct reading *r = arg;
    struct apiservice_set *s = r->set;
    struct obj_frame frame = { .rev = row->rev };
    const struct json *tree;
    struct apiservice one;
    struct status st;
    struct obj obj;

    if (!r->scratch)
        r->scratch = arena_new();
    status_init(&st, r->scratch);
    r->failed = s->n == ROWS_MAX ||
                seal_view(r->seal, r->scratch, &row->key, row->value, &obj, &st) < 0 ||
                obj_tree(r->scratch, &obj, &frame, &tree, &st) < 0;
    if (r->failed)
        return false;
    if (!s->arena)
        s->arena = arena_new();
    if (!apiservice_read(s->arena, tree, &one))
        return true;
    if (s->n == r->cap) {
        struct apiservice *more = arena_array(s->arena, struct apiservice, 2 * r->cap + 4);

        if (s->n)
            memcpy(more, s->at, s->n * sizeof(*more));
        s->at = more;
        r->cap = 2 * r->cap + 4;
    }
    s->at[s->n++] = one;
    return true;
}

static struct apiservice_set *set_new(struct apiservices *x, uint32_t instance, struct status *st)
{
    struct store_range range = { .type = x->type,
                                 .instance = instance,
                                 .start_instance = instance,
                                 .rev = store_head(x->store) };
    struct apiservice_set *s = mem_zalloc(sizeof(*s));
    struct reading r = { .seal = x->seal, .set = s };
    bool failed;

    s->instance = instance;
    s->rev = range.rev;
    failed = range.rev && store_scan(x->store, &range, read_row, &r, st) < 0;
    if (!failed && r.failed)
        failed = status_set(st, REASON_INTERNAL, "an APIService is damaged, or there are too many");
    arena_free(r.scratch);
    if (!failed)
        return s;
    set_free(s);
    return NULL;
}

/* ---- the cache ---- */

static bool is_fresh(struct apiservices *x, const struct apiservice_set *s)
{
    return store_touched(x->store, x->type, s->instance) <= s->rev ||
           store_head(x->store) <= s->rev;
}

static void put(struct apiservices *x, size_t slot, struct apiservice_set *s)
{
    struct apiservice_set *old = atomic_exchange(&x->slots[slot], s);

    if (s)
        atomic_fetch_add(&x->bytes, bytes_of(s));
    if (!old)
        return;
    atomic_fetch_sub(&x->bytes, bytes_of(old));
    epoch_retire(set_free, old);
}

const struct apiservice_set *apiservices_of(struct apiservices *x, uint32_t instance,
                                            struct status *st)
{
    size_t slot = (instance * (uint32_t)2654435761 >> 8) % SLOTS;
    struct apiservice_set *s = atomic_load_explicit(&x->slots[slot], memory_order_acquire);

    if (s && s->instance == instance && is_fresh(x, s))
        return s;
    s = NULL;
    for (int i = 0; !s && i < TRIES; i++) {
        status_reset(st);
        s = set_new(x, instance, st);
    }
    if (!s)
        return NULL;
    if (atomic_load_explicit(&x->bytes, memory_order_relaxed) + bytes_of(s) > CACHE_MAX)
        for (size_t i = 0; i < SLOTS; i++)
            put(x, i, NULL);
    put(x, slot, s);
    return s;
}

const struct apiservice *apiservice_find(const struct apiservice_set *s, str group, str version)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->at[i].group, group) && str_eq(s->at[i].version, version))
            return &s->at[i];
    return NULL;
}

uint32_t apiservices_type(const struct apiservices *x)
{
    return x->type;
}

struct apiservices *apiservices_new(struct store *store, struct seal *seal, struct status *st)
{
    struct apiservices *x = mem_zalloc(sizeof(*x));

    x->store = store;
    x->seal = seal;
    if (type_id(store, STR(GROUP), STR("apiservices"), &x->type, st) == 0)
        return x;
    free(x);
    return NULL;
}

void apiservices_free(struct apiservices *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        set_free(atomic_load(&x->slots[i]));
    free(x);
}
