/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/rbac_set.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "rest/seal.h"

const struct rbac_role rbac_gone;

struct rbac_link {
    uint64_t hash;
    uint32_t binding, subject;
    uint32_t next; /* 1 + the next link of the bucket */
};

static const bool namespaced[RBAC_TYPES] = { [RBAC_ROLES] = true, [RBAC_BINDINGS] = true };

/* ---- rows ---- */

static void run_push(struct rbac_run *run, struct rbac_row *row)
{
    if (run->n == run->cap) {
        run->cap = run->cap ? run->cap * 2 : 8;
        run->at = mem_realloc_n(run->at, run->cap, sizeof(struct rbac_row *));
    }
    run->at[run->n++] = row;
}

static const struct rbac_row *run_find(const struct rbac_run *run, str key)
{
    size_t low = 0, high = run->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(run->at[mid]->key, key);

        if (c == 0)
            return run->at[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

struct reading {
    struct seal *seal;
    const struct rbac_set *before;
    struct rbac_set *set;
    enum rbac_type type;
    size_t at; /* of before's run */
    struct status *st;
    bool failed;
};

/* The block of the same row at the same revision, if there was one. */
static struct rbac_row *known(struct reading *r, const struct store_row *row)
{
    const struct rbac_run *run = r->before ? &r->before->runs[r->type] : NULL;

    for (; run && r->at < run->n; r->at++) {
        int c = str_cmp(run->at[r->at]->key, row->key.name);

        if (c >= 0)
            return c == 0 && run->at[r->at]->rev == row->rev ? run->at[r->at] : NULL;
    }
    return NULL;
}

static bool read_row(void *arg, const struct store_row *row)
{
    struct reading *r = arg;
    struct rbac_row *same = known(r, row);
    struct obj_frame frame = { .rev = row->rev };
    const struct json *tree = NULL;
    struct obj obj;
    scoped_arena a = NULL;

    if (same) {
        run_push(&r->set->runs[r->type], rbac_row_ref(same));
        return true;
    }
    a = arena_new();
    if (seal_view(r->seal, a, &row->key, row->value, &obj, r->st) < 0 ||
        (!(obj.flags & OBJ_HIDDEN) && obj_tree(a, &obj, &frame, &tree, r->st) < 0)) {
        r->failed = true;
        return false;
    }
    same = r->type < RBAC_CLUSTER_BINDINGS
               ? rbac_role_new(row->key.name, namespaced[r->type], row->rev, tree)
               : rbac_binding_new(row->key.name, namespaced[r->type], row->rev, tree);
    run_push(&r->set->runs[r->type], same);
    return true;
}

static int read_rows(struct store *s, struct seal *seal, const uint32_t types[RBAC_TYPES],
                     struct rbac_set *set, const struct rbac_set *before, struct status *st)
{
    struct store_range range = { .instance = set->instance,
                                 .start_instance = set->instance,
                                 .rev = set->rev };
    struct reading r = { .seal = seal, .before = before, .set = set, .st = st };

    for (r.type = 0; r.type < RBAC_TYPES; r.type++) {
        r.at = 0;
        range.type = types[r.type];
        if (set->rev && store_scan(s, &range, read_row, &r, st) < 0)
            return -1;
        if (r.failed)
            return status_wrap(st, "roles and bindings cannot be read");
    }
    return 0;
}

/* ---- links ---- */

static size_t nbindings(const struct rbac_set *set)
{
    return set->runs[RBAC_CLUSTER_BINDINGS].n + set->runs[RBAC_BINDINGS].n;
}

static const struct rbac_binding *binding_at(const struct rbac_set *set, size_t i)
{
    const struct rbac_run *first = &set->runs[RBAC_CLUSTER_BINDINGS];
    struct rbac_row *row = i < first->n ? first->at[i] : set->runs[RBAC_BINDINGS].at[i - first->n];

    return (const struct rbac_binding *)(void *)row;
}

/* The row of the set or of its base; a hidden one counts here. */
static const struct rbac_row *find_row(const struct rbac_set *set, enum rbac_type type, str key)
{
    const struct rbac_row *row = run_find(&set->runs[type], key);

    return row || !set->base ? row : run_find(&set->base->runs[type], key);
}

const struct rbac_role *rbac_set_role(const struct rbac_set *set, str namespace_, str name)
{
    char buf[STORE_KEY_MAX];
    str key = name;
    const struct rbac_row *row;

    if (namespace_.n) {
        key = (str){ buf, namespace_.n + 1 + name.n };
        if (key.n > sizeof(buf) || name.n > sizeof(buf))
            return NULL;
        memcpy(buf, namespace_.p, namespace_.n);
        buf[namespace_.n] = '/';
        if (name.n)
            memcpy(buf + namespace_.n + 1, name.p, name.n);
    }
    row = find_row(set, namespace_.n ? RBAC_ROLES : RBAC_CLUSTER_ROLES, key);
    return row && !row->hidden ? (const struct rbac_role *)(const void *)row : NULL;
}

static const struct rbac_role *role_of(const struct rbac_set *set, const struct rbac_binding *b)
{
    return rbac_set_role(set, b->to_cluster_role ? STR_NONE : b->row.namespace_, b->role);
}

/* One key for a subject in a namespace (or cluster-wide): what the index is by. */
static uint64_t link_hash(uint64_t subject, bool group, uint64_t namespace_)
{
    uint64_t h = subject ^ (group ? 0x9e3779b97f4a7c15 : 0);

    return (h ^ h >> 32) + namespace_ * 0xff51afd7ed558ccd;
}

static uint64_t namespace_hash(str namespace_)
{
    return namespace_.n ? rbac_hash(namespace_) : 0;
}

static void add_links(struct rbac_set *set, uint32_t binding)
{
    const struct rbac_binding *b = binding_at(set, binding);
    uint64_t ns = namespace_hash(b->row.namespace_);

    for (uint32_t i = 0; i < b->nsubjects; i++) {
        const struct rbac_subject *s = &b->subjects[i];
        struct rbac_link *l = &set->links[set->nlinks];
        uint32_t *bucket;

        if (!s->who.n)
            continue;
        *l = (struct rbac_link){ .hash = link_hash(s->hash, s->group, ns),
                                 .binding = binding,
                                 .subject = i };
        bucket = &set->buckets[l->hash & (set->nbuckets - 1)];
        l->next = *bucket;
        *bucket = (uint32_t)++set->nlinks;
    }
}

static void make_index(struct rbac_set *set)
{
    size_t n = nbindings(set), subjects = 0;

    set->role_of = mem_alloc((n + 1) * sizeof(*set->role_of));
    for (size_t i = 0; i < n; i++) {
        const struct rbac_binding *b = binding_at(set, i);

        set->role_of[i] = role_of(set, b);
        subjects += b->nsubjects;
    }
    for (set->nbuckets = 4; set->nbuckets < subjects + subjects / 2;)
        set->nbuckets *= 2;
    set->buckets = mem_zalloc(set->nbuckets * sizeof(*set->buckets));
    set->links = mem_alloc((subjects + 1) * sizeof(*set->links));
    /* Last first: so a bucket gives them in the order of the bindings. */
    for (size_t i = n; i > 0; i--)
        add_links(set, (uint32_t)(i - 1));
    set->bytes += n * sizeof(*set->role_of) + set->nbuckets * sizeof(*set->buckets) +
                  subjects * sizeof(*set->links);
}

/* How the base's bindings look from here: most instances leave them alone. */
static void look_at_base(struct rbac_set *set)
{
    const struct rbac_set *base = set->base;
    size_t n = base ? nbindings(base) : 0, changed = 0;
    const struct rbac_role **roles = mem_alloc((n + 1) * sizeof(*roles));

    for (size_t i = 0; i < n; i++) {
        const struct rbac_binding *b = binding_at(base, i);
        enum rbac_type type =
            i < base->runs[RBAC_CLUSTER_BINDINGS].n ? RBAC_CLUSTER_BINDINGS : RBAC_BINDINGS;

        roles[i] = run_find(&set->runs[type], b->row.key) ? RBAC_GONE : role_of(set, b);
        changed += roles[i] != base->role_of[i];
    }
    if (changed) {
        set->base_role_of = roles;
        set->bytes += n * sizeof(*roles);
    } else {
        free(roles);
    }
}

struct rbac_set *rbac_set_new(struct store *s, struct seal *seal, const uint32_t types[RBAC_TYPES],
                              uint32_t instance, struct rbac_set *base,
                              const struct rbac_set *before, struct status *st)
{
    struct rbac_set *set = mem_zalloc(sizeof(*set));

    atomic_init(&set->refs, 1);
    set->instance = instance;
    set->base = base ? rbac_set_ref(base) : NULL;
    set->rev = store_head(s);
    if (read_rows(s, seal, types, set, before, st) < 0) {
        rbac_set_unref(set);
        return NULL;
    }
    set->bytes = sizeof(*set);
    for (size_t t = 0; t < RBAC_TYPES; t++)
        for (size_t i = 0; i < set->runs[t].n; i++)
            set->bytes += sizeof(struct rbac_row *) + set->runs[t].at[i]->bytes;
    make_index(set);
    look_at_base(set);
    return set;
}

struct rbac_set *rbac_set_ref(struct rbac_set *set)
{
    atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void rbac_set_unref(struct rbac_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t t = 0; t < RBAC_TYPES; t++) {
        for (size_t i = 0; i < set->runs[t].n; i++)
            rbac_row_unref(set->runs[t].at[i]);
        free(set->runs[t].at);
    }
    free(set->role_of);
    free(set->base_role_of);
    free(set->links);
    free(set->buckets);
    rbac_set_unref(set->base);
    free(set);
}

/* ---- asking ---- */

struct visit {
    const struct rbac_set *set;
    const struct identity *who;
    str namespace_;
    uint64_t namespace_hash, user_hash;
    uint64_t *group_hashes;
    rbac_visit_fn *fn;
    void *arg;
};

/* The bindings of `part` (the set or its base) that name this subject. */
static bool visit_subject(const struct visit *v, const struct rbac_set *part, str name,
                          uint64_t name_hash, bool group, bool in_namespace)
{
    str namespace_ = in_namespace ? v->namespace_ : STR_NONE;
    uint64_t hash = link_hash(name_hash, group, in_namespace ? v->namespace_hash : 0);
    const struct rbac_role **roles =
        part != v->set && v->set->base_role_of ? v->set->base_role_of : part->role_of;

    for (uint32_t at = part->buckets[hash & (part->nbuckets - 1)]; at;) {
        const struct rbac_link *l = &part->links[at - 1];
        const struct rbac_binding *b;
        const struct rbac_subject *s;

        at = l->next;
        if (l->hash != hash || roles[l->binding] == RBAC_GONE)
            continue;
        b = binding_at(part, l->binding);
        s = &b->subjects[l->subject];
        if (s->group == group && str_eq(s->who, name) && str_eq(b->row.namespace_, namespace_) &&
            !v->fn(v->arg, b, s, roles[l->binding]))
            return false;
    }
    return true;
}

static bool visit_scope(const struct visit *v, const struct rbac_set *part, bool in_namespace)
{
    if (v->who->user.n && !visit_subject(v, part, v->who->user, v->user_hash, false, in_namespace))
        return false;
    for (size_t i = 0; i < v->who->ngroups; i++)
        if (!visit_subject(v, part, v->who->groups[i], v->group_hashes[i], true, in_namespace))
            return false;
    return true;
}

static bool visit_parts(const struct visit *v, bool in_namespace)
{
    return visit_scope(v, v->set, in_namespace) &&
           (!v->set->base || visit_scope(v, v->set->base, in_namespace));
}

void rbac_set_visit(const struct rbac_set *set, const struct identity *who, str namespace_,
                    rbac_visit_fn *fn, void *arg)
{
    uint64_t few[16];
    struct visit v = { .set = set,
                       .who = who,
                       .namespace_ = namespace_,
                       .namespace_hash = namespace_hash(namespace_),
                       .user_hash = rbac_hash(who->user),
                       .group_hashes = few,
                       .fn = fn,
                       .arg = arg };

    if (who->ngroups > sizeof(few) / sizeof(*few))
        v.group_hashes = mem_alloc(who->ngroups * sizeof(*v.group_hashes));
    for (size_t i = 0; i < who->ngroups; i++)
        v.group_hashes[i] = rbac_hash(who->groups[i]);
    if (visit_parts(&v, false) && namespace_.n)
        (void)visit_parts(&v, true);
    if (v.group_hashes != few)
        free(v.group_hashes);
}

static bool is_subject(const struct rbac_subject *s, const struct identity *who)
{
    if (!s->group)
        return str_eq(s->who, who->user);
    for (size_t i = 0; i < who->ngroups; i++)
        if (str_eq(s->who, who->groups[i]))
            return true;
    return false;
}

/* The last links are those of the first bindings. */
void rbac_set_visit_all(const struct rbac_set *set, const struct identity *who, rbac_visit_fn *fn,
                        void *arg)
{
    for (const struct rbac_set *part = set; part; part = part->base) {
        const struct rbac_role **roles =
            part != set && set->base_role_of ? set->base_role_of : part->role_of;

        for (size_t i = part->nlinks; i > 0; i--) {
            const struct rbac_link *l = &part->links[i - 1];
            const struct rbac_binding *b = binding_at(part, l->binding);
            const struct rbac_subject *s = &b->subjects[l->subject];

            if (roles[l->binding] != RBAC_GONE && is_subject(s, who) &&
                !fn(arg, b, s, roles[l->binding]))
                return;
        }
    }
}
