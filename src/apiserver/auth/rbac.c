/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/rbac.h"

#include <pthread.h>
#include <stdlib.h>

#include "apiserver/auth/rbac_set.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/mem.h"

enum {
    WAYS = 4, /* places that an instance's set may be in */
    SLOTS = 1024 * WAYS,
    TRIES = 3,  /* of reading, while what is read is forgotten behind it */
    MANY = 200, /* rows that take long when all have to be read: some 3 µs each */
};

struct rbac {
    struct store *store;
    struct seal *seal;
    uint32_t types[RBAC_TYPES];
    _Atomic(struct rbac_set *) base; /* the template rows */
    _Atomic(struct rbac_set *) slots[SLOTS];
    atomic_uint tick;           /* moves when a set is put in: the age of the others */
    pthread_mutex_t prepare_mu; /* of whoever prepares, taken before mu */
    pthread_mutex_t mu;         /* of whoever puts a set in */
    size_t bytes;               /* guarded by mu */
    size_t max_bytes;
};

/* ---- the cache ---- */

static void unref_later(void *set)
{
    rbac_set_unref(set);
}

/* Nothing that is acknowledged by now is newer than the set. */
static bool is_fresh(struct rbac *r, const struct rbac_set *set)
{
    for (size_t i = 0; i < RBAC_TYPES; i++)
        if (store_touched(r->store, r->types[i], set->instance) > set->rev)
            return store_head(r->store) <= set->rev;
    return true;
}

uint64_t rbac_touched(struct rbac *r, uint32_t instance)
{
    uint64_t last = 0, rev;

    for (size_t i = 0; i < RBAC_TYPES; i++) {
        rev = store_touched(r->store, r->types[i], instance);
        last = rev > last ? rev : last;
    }
    return last;
}

static struct rbac_set *read_set(struct rbac *r, struct arena *a, uint32_t instance,
                                 struct rbac_set *base, const struct rbac_set *before)
{
    struct rbac_set *set = NULL;
    struct status st;

    for (int i = 0; !set && i < TRIES; i++) {
        status_init(&st, a);
        set = rbac_set_new(r->store, r->seal, r->types, instance, base, before, &st);
    }
    return set;
}

static struct rbac_set *get_base(struct rbac *r, struct arena *a)
{
    struct rbac_set *old = atomic_load_explicit(&r->base, memory_order_acquire), *set;

    if (old && is_fresh(r, old))
        return old;
    set = read_set(r, a, INSTANCE_TEMPLATE, NULL, old);
    if (!set)
        return NULL;
    if (atomic_compare_exchange_strong(&r->base, &old, set)) {
        if (old)
            epoch_retire(unref_later, old);
        return set;
    }
    /* Another thread was quicker, but perhaps with an older one: this one is ours for the turn. */
    epoch_retire(unref_later, set);
    return set;
}

/* The first request need not wait for the template rows. */
static void read_early(struct rbac *r)
{
    scoped_arena a = arena_new();

    epoch_enter();
    (void)get_base(r, a);
    epoch_exit();
}

static size_t slot_of(uint32_t instance)
{
    return (instance * (uint32_t)2654435761 >> 8) % (SLOTS / WAYS) * WAYS;
}

static void take_out_locked(struct rbac *r, size_t slot)
{
    struct rbac_set *old = atomic_load_explicit(&r->slots[slot], memory_order_relaxed);

    if (!old)
        return;
    atomic_store_explicit(&r->slots[slot], NULL, memory_order_release);
    r->bytes -= old->bytes;
    epoch_retire(unref_later, old);
}

/* Which of `n` slots to use: the instance's own, an empty one, or the one not used for longest. */
static size_t oldest(struct rbac *r, size_t first, size_t n, uint32_t instance)
{
    unsigned now = atomic_load_explicit(&r->tick, memory_order_relaxed), age = 0;
    size_t best = first;

    for (size_t i = first; i < first + n; i++) {
        struct rbac_set *set = atomic_load_explicit(&r->slots[i], memory_order_relaxed);
        unsigned its = set ? now - atomic_load_explicit(&set->used, memory_order_relaxed) + 1 : 0;

        if (set && set->instance == instance)
            return i;
        if (!set)
            its = n == WAYS ? UINT32_MAX : 0; /* to be filled, but not to be emptied */
        if (its > age) {
            age = its;
            best = i;
        }
    }
    return best;
}

static void put_in(struct rbac *r, struct rbac_set *set)
{
    size_t slot;

    (void)pthread_mutex_lock(&r->mu);
    slot = oldest(r, slot_of(set->instance), WAYS, set->instance);
    take_out_locked(r, slot);
    while (r->bytes && r->bytes + set->bytes > r->max_bytes)
        take_out_locked(r, oldest(r, 0, SLOTS, UINT32_MAX));
    atomic_store_explicit(&set->used, atomic_fetch_add(&r->tick, 1), memory_order_relaxed);
    r->bytes += set->bytes;
    atomic_store_explicit(&r->slots[slot], set, memory_order_release);
    (void)pthread_mutex_unlock(&r->mu);
}

static struct rbac_set *find(struct rbac *r, uint32_t instance)
{
    size_t first = slot_of(instance);

    for (size_t i = first; i < first + WAYS; i++) {
        struct rbac_set *set = atomic_load_explicit(&r->slots[i], memory_order_acquire);

        if (set && set->instance == instance)
            return set;
    }
    return NULL;
}

/* How many such rows the instance has of its own. */
static uint64_t count_rows(struct rbac *r, struct arena *a, uint32_t instance)
{
    uint64_t sum = 0;
    struct status st;

    status_init(&st, a);
    for (size_t i = 0; i < RBAC_TYPES; i++) {
        struct store_range own = { .type = r->types[i],
                                   .instance = instance,
                                   .start_instance = instance };
        uint64_t n = 0;

        if (store_count(r->store, &own, &n, &st) < 0)
            n = 1; /* look at them to be sure */
        sum += n;
    }
    return sum;
}

static void mark_used(struct rbac *r, struct rbac_set *set)
{
    unsigned now = atomic_load_explicit(&r->tick, memory_order_relaxed);

    if (atomic_load_explicit(&set->used, memory_order_relaxed) != now)
        atomic_store_explicit(&set->used, now, memory_order_relaxed);
}

/* What holds in the instance now; valid in this epoch.  NULL when it cannot be read. */
static struct rbac_set *get_set(struct rbac *r, struct arena *a, uint32_t instance)
{
    struct rbac_set *base = get_base(r, a), *set;

    if (!base || instance == INSTANCE_TEMPLATE)
        return base;
    set = find(r, instance);
    if (set && set->base == base && is_fresh(r, set)) {
        mark_used(r, set);
        return set;
    }
    if (!set && count_rows(r, a, instance) == 0)
        return base;
    set = read_set(r, a, instance, base, set);
    if (set)
        put_in(r, set);
    return set;
}

bool rbac_is_ready(struct rbac *r, struct arena *a, uint32_t instance)
{
    return instance == INSTANCE_TEMPLATE || find(r, instance) || count_rows(r, a, instance) <= MANY;
}

void rbac_prepare(struct rbac *r, uint32_t instance)
{
    scoped_arena a = arena_new();

    /* Who waits for the same finds it done. */
    (void)pthread_mutex_lock(&r->prepare_mu);
    epoch_enter();
    (void)get_set(r, a, instance);
    epoch_exit();
    (void)pthread_mutex_unlock(&r->prepare_mu);
}

/* ---- life ---- */

struct rbac *rbac_new(struct store *s, struct seal *seal, size_t cache_bytes, struct status *st)
{
    static const char *const plurals[RBAC_TYPES] = {
        [RBAC_CLUSTER_ROLES] = "clusterroles",
        [RBAC_ROLES] = "roles",
        [RBAC_CLUSTER_BINDINGS] = "clusterrolebindings",
        [RBAC_BINDINGS] = "rolebindings",
    };
    struct rbac *r = mem_zalloc(sizeof(*r));

    r->store = s;
    r->seal = seal;
    r->max_bytes = cache_bytes;
    (void)pthread_mutex_init(&r->mu, NULL);
    (void)pthread_mutex_init(&r->prepare_mu, NULL);
    for (size_t i = 0; i < RBAC_TYPES; i++)
        if (type_id(s, STR(RBAC_GROUP), str_of(plurals[i]), &r->types[i], st) < 0) {
            rbac_free(r);
            return NULL;
        }
    read_early(r);
    return r;
}

void rbac_free(struct rbac *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        rbac_set_unref(atomic_load(&r->slots[i]));
    rbac_set_unref(atomic_load(&r->base));
    (void)pthread_mutex_destroy(&r->mu);
    (void)pthread_mutex_destroy(&r->prepare_mu);
    free(r);
}

/* ---- answers ---- */

struct decision {
    struct rbac_query query;
    const struct rbac_binding *binding; /* the one that allows it */
    const struct rbac_subject *subject;
};

static bool decide(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                   const struct rbac_role *role)
{
    struct decision *d = arg;

    if (!role || !rbac_role_allows(role, &d->query))
        return true;
    d->binding = b;
    d->subject = s;
    return false;
}

/* k8s: registry/rbac/validation/rule.go, the String of a binding's describer */
static str describe(struct arena *a, const struct decision *d)
{
    const struct rbac_binding *b = d->binding;
    bool in_namespace = b->row.namespace_.n > 0;

    return str_printf(a, "RBAC: allowed by %s \"%.*s%s%.*s\" of %s \"%.*s\" to %.*s \"%.*s\"",
                      in_namespace ? "RoleBinding" : "ClusterRoleBinding", STR_ARG(b->row.name),
                      in_namespace ? "/" : "", STR_ARG(b->row.namespace_),
                      b->to_cluster_role ? "ClusterRole" : "Role", STR_ARG(b->role),
                      STR_ARG(d->subject->kind), STR_ARG(d->subject->shown));
}

/* Bound roles that are not there. */
struct faults {
    struct arena *arena;
    str list;
    size_t n;
};

enum { FAULTS_MAX = 16 };

static bool find_faults(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                        const struct rbac_role *role)
{
    struct faults *f = arg;
    str one;

    (void)s;
    if (role)
        return true;
    one = str_printf(f->arena, "%s." RBAC_GROUP " \"%.*s\" not found",
                     b->to_cluster_role ? "clusterrole" : "role", STR_ARG(b->role));
    if (f->n && str_contains(f->list, one))
        return true;
    f->list = f->n ? str_printf(f->arena, "%.*s, %.*s", STR_ARG(f->list), STR_ARG(one)) : one;
    return ++f->n < FAULTS_MAX;
}

/* k8s: an aggregate of errors: one as it is, several in brackets */
static str faults_of(const struct rbac_set *set, struct arena *a, const struct identity *who,
                     str namespace_)
{
    struct faults f = { .arena = a };

    rbac_set_visit(set, who, namespace_, find_faults, &f);
    return f.n > 1 ? str_printf(a, "[%.*s]", STR_ARG(f.list)) : f.list;
}

bool rbac_allowed(struct rbac *r, struct arena *a, const struct access *x, str *reason)
{
    struct rbac_set *set = get_set(r, a, x->instance->id);
    str namespace_ = x->is_resource ? x->namespace_ : STR_NONE;
    struct decision d = { .query = rbac_query_of(a, x) };

    if (reason)
        *reason = STR_NONE;
    if (!set)
        return false;
    rbac_set_visit(set, x->who, namespace_, decide, &d);
    if (!reason)
        return d.binding;
    if (d.binding) {
        *reason = describe(a, &d);
    } else {
        str faults = faults_of(set, a, x->who, namespace_);

        if (faults.n)
            *reason = str_printf(a, "RBAC: %.*s", STR_ARG(faults));
    }
    return d.binding;
}

/* ---- rules ---- */

struct collection {
    struct arena *arena;
    const struct rbac_binding **seen; /* a binding may apply for two reasons */
    size_t nseen, cap;
    struct json_array resource, other;
};

static bool is_new(struct collection *c, const struct rbac_binding *b)
{
    for (size_t i = 0; i < c->nseen; i++)
        if (c->seen[i] == b)
            return false;
    if (c->nseen == c->cap) {
        const struct rbac_binding **more;

        c->cap = c->cap ? c->cap * 2 : 16;
        more = arena_array(c->arena, const struct rbac_binding *, c->cap);
        if (c->nseen)
            memcpy(more, c->seen, c->nseen * sizeof(*more));
        c->seen = more;
    }
    c->seen[c->nseen++] = b;
    return true;
}

static bool collect(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                    const struct rbac_role *role)
{
    struct collection *c = arg;

    (void)s;
    if (!role || !is_new(c, b))
        return true;
    for (size_t i = 0; i < role->nrules; i++) {
        const struct rbac_rule *rule = &role->rules[i];
        struct json tree = rbac_rule_json(c->arena, rule);

        if (rule->resources.n)
            json_push(&c->resource, tree);
        if (rule->urls.n)
            json_push(&c->other, tree);
    }
    return true;
}

static int unreadable(struct status *st)
{
    return status_set(st, REASON_INTERNAL, "roles and bindings cannot be read");
}

int rbac_rules(struct rbac *r, struct arena *a, const struct identity *who,
               const struct instance *i, str namespace_, struct rbac_rules *out, struct status *st)
{
    struct collection c = { .arena = a };
    struct rbac_set *set = get_set(r, a, i->id);

    if (!set)
        return unreadable(st);
    c.resource = json_array_new(a);
    c.other = json_array_new(a);
    rbac_set_visit(set, who, namespace_, collect, &c);
    *out = (struct rbac_rules){ .resource_rules = json_array_done(&c.resource),
                                .non_resource_rules = json_array_done(&c.other),
                                .error = faults_of(set, a, who, namespace_) };
    return 0;
}

/* ---- what may be listed ---- */

struct collecting {
    struct arena *arena;
    struct listable_rule *rules;
    size_t n, cap;
};

static bool push_rule(struct collecting *l, const struct listable_rule *rule)
{
    if (l->n == RBAC_LISTABLE_MAX)
        return false;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct listable_rule *more = arena_array(l->arena, struct listable_rule, cap);

        if (l->n)
            memcpy(more, l->rules, l->n * sizeof(*more));
        l->rules = more;
        l->cap = cap;
    }
    l->rules[l->n++] = *rule;
    return true;
}

static bool lists(const struct rbac_rule *rule)
{
    if (rule->names.n)
        return false;
    for (size_t i = 0; i < rule->verbs.n; i++)
        if (str_is(rule->verbs.at[i].s, "list") || str_is(rule->verbs.at[i].s, "*"))
            return true;
    return false;
}

static bool push_pairs(struct collecting *l, const struct rbac_rule *rule, str namespace_)
{
    struct listable_rule pair = { .namespace_ = namespace_ };

    for (size_t i = 0; i < rule->groups.n; i++) {
        pair.group = str_dup(l->arena, rule->groups.at[i].s);
        for (size_t j = 0; j < rule->resources.n; j++) {
            pair.resource = str_dup(l->arena, rule->resources.at[j].s);
            if (!push_rule(l, &pair))
                return false;
        }
    }
    return true;
}

static bool collect_listable(void *arg, const struct rbac_binding *b, const struct rbac_subject *s,
                             const struct rbac_role *role)
{
    struct collecting *l = arg;
    str namespace_ = str_dup(l->arena, b->row.namespace_);

    (void)s;
    for (size_t i = 0; role && i < role->nrules; i++)
        if (lists(&role->rules[i]) && !push_pairs(l, &role->rules[i], namespace_))
            return false;
    return true;
}

int rbac_listable(struct rbac *r, struct arena *a, const struct identity *who,
                  const struct instance *i, struct listable *out, struct status *st)
{
    struct collecting l = { .arena = a };
    struct rbac_set *set = get_set(r, a, i->id);

    if (!set)
        return unreadable(st);
    rbac_set_visit_all(set, who, collect_listable, &l);
    *out = (struct listable){ l.rules, l.n };
    return 0;
}

int rbac_role_rules(struct rbac *r, struct arena *a, const struct instance *i, str namespace_,
                    str name, const struct json **out, struct status *st)
{
    struct rbac_set *set = get_set(r, a, i->id);
    struct json_array rules = json_array_new(a);
    const struct rbac_role *role;

    if (!set)
        return unreadable(st);
    role = rbac_set_role(set, namespace_, name);
    if (!role)
        return status_not_found(st, STR(RBAC_GROUP),
                                namespace_.n ? STR("roles") : STR("clusterroles"), name);
    for (size_t k = 0; k < role->nrules; k++)
        json_push(&rules, rbac_rule_json(a, &role->rules[k]));
    *out = json_array_done(&rules);
    return 0;
}
