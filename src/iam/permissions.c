/* SPDX-License-Identifier: Apache-2.0 */
#include "iam/permissions.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/epoch.h"
#include "base/map.h"
#include "base/mem.h"

/* What counts of an object, for as long as it is as it is. */
struct permission_entry {
    struct arena *arena;
    str name;
    const struct json *spec;
};

/* What can be bound to a workspace; spec.resources[].resourceType. */
enum bound { BOUND_INSTANCE, BOUND_CLUSTER, BOUND };
static const char *const bound_types[BOUND] = { "Kairship", "Cluster" };

struct grants {
    struct iam_grant *p; /* each name once */
    size_t n, cap;
};

/* Of one subject, "u/jane" or "g/devs". */
struct subject {
    struct grants grants[BOUND];
    bool platform;
    str *groups; /* of a user: which Groups say that they are in */
    size_t ngroups, groups_cap;
    bool known, disabled; /* a User object says so */
};

struct snapshot {
    struct arena *arena;
    struct map subjects;
};

struct permissions {
    struct map entries[IAM_KINDS];
    _Atomic(struct snapshot *) now;
};

const char *iam_role_name(enum iam_role role)
{
    static const char *const names[] = { [IAM_NONE] = "",
                                         [IAM_VIEWER] = "Viewer",
                                         [IAM_EDITOR] = "Editor",
                                         [IAM_ADMIN] = "Admin",
                                         [IAM_PLATFORM] = "Platform Admin" };

    return names[role];
}

static enum iam_role role_of(str name)
{
    for (enum iam_role r = IAM_VIEWER; r <= IAM_ADMIN; r++)
        if (str_is(name, iam_role_name(r)))
            return r;
    return IAM_NONE;
}

/* ---- objects ---- */

static void entry_free(struct permission_entry *e)
{
    if (e)
        arena_free(e->arena); /* with the entry */
}

void permissions_set(struct permissions *p, enum iam_kind kind, str name, const struct json *object)
{
    struct arena *a;
    struct permission_entry *e;

    if (!object) {
        entry_free(map_remove(&p->entries[kind], name));
        return;
    }
    a = arena_new();
    e = arena_new_of(a, struct permission_entry);
    *e = (struct permission_entry){ .arena = a,
                                    .name = str_dup(a, name),
                                    .spec = json_dup(a, json_get(object, STR("spec"))) };
    entry_free(map_put(&p->entries[kind], e->name, e));
}

/* ---- the snapshot ---- */

static struct subject *subject_of(struct snapshot *s, const char *kind, str name)
{
    str key = str_printf(s->arena, "%s/%.*s", kind, STR_ARG(name));
    struct subject *it = map_get(&s->subjects, key);

    if (!it) {
        it = arena_new_of(s->arena, struct subject);
        (void)map_put(&s->subjects, key, it);
    }
    return it;
}

static struct subject *member(struct snapshot *s, const struct json *m)
{
    bool group = str_is(json_get_str(m, "kind"), "Group");

    return subject_of(s, group ? "g" : "u", json_get_str(m, "name"));
}

static void grant(struct snapshot *s, struct grants *to, str instance, enum iam_role role)
{
    for (size_t i = 0; i < to->n; i++)
        if (str_eq(to->p[i].instance, instance)) {
            if (to->p[i].role < role)
                to->p[i].role = role;
            return;
        }
    if (to->n == to->cap) {
        struct iam_grant *more = arena_array(s->arena, struct iam_grant, to->cap * 2 + 4);

        if (to->n)
            memcpy(more, to->p, to->n * sizeof(*more));
        to->cap = to->cap * 2 + 4;
        to->p = more;
    }
    to->p[to->n++] = (struct iam_grant){ str_dup(s->arena, instance), role };
}

static void add_workspace(struct snapshot *s, const struct json *spec)
{
    json_for_each (m, json_get(spec, STR("members"))) {
        struct subject *to = member(s, m);
        enum iam_role role = role_of(json_get_str(m, "role"));

        if (role == IAM_NONE)
            continue;
        json_for_each (r, json_get(spec, STR("resources")))
            for (enum bound b = 0; b < BOUND; b++)
                if (str_is(json_get_str(r, "resourceType"), bound_types[b]))
                    grant(s, &to->grants[b], json_get_str(r, "resourceName"), role);
    }
}

static void add_group(struct snapshot *s, str name, const struct json *spec)
{
    str copy = str_dup(s->arena, name);

    json_for_each (m, json_get(spec, STR("members"))) {
        struct subject *to = subject_of(s, "u", json_str(m));

        if (to->ngroups == to->groups_cap) {
            str *more = arena_array(s->arena, str, to->groups_cap * 2 + 4);

            if (to->ngroups)
                memcpy(more, to->groups, to->ngroups * sizeof(*more));
            to->groups_cap = to->groups_cap * 2 + 4;
            to->groups = more;
        }
        to->groups[to->ngroups++] = copy;
    }
}

static void add(struct snapshot *s, enum iam_kind kind, const struct permission_entry *e)
{
    struct subject *user;

    switch (kind) {
    case IAM_USERS:
        user = subject_of(s, "u", e->name);
        user->known = true;
        user->disabled = json_bool(json_get(e->spec, STR("disabled")));
        break;
    case IAM_GROUPS:
        add_group(s, e->name, e->spec);
        break;
    case IAM_WORKSPACES:
        add_workspace(s, e->spec);
        break;
    case IAM_PLATFORM_ROLES:
        json_for_each (m, json_get(e->spec, STR("members")))
            member(s, m)->platform = true;
        break;
    case IAM_KINDS:
        break;
    }
}

static void snapshot_free(void *arg)
{
    struct snapshot *s = arg;

    if (!s)
        return;
    map_release(&s->subjects);
    arena_free(s->arena);
    free(s);
}

void permissions_publish(struct permissions *p)
{
    struct snapshot *s = mem_zalloc(sizeof(*s)), *was;

    s->arena = arena_new();
    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        size_t at = 0;
        void *e;
        str name;

        while (map_each(&p->entries[k], &at, &name, &e))
            add(s, k, e);
    }
    was = atomic_exchange_explicit(&p->now, s, memory_order_acq_rel);
    if (was)
        epoch_retire(snapshot_free, was);
}

/* ---- questions ---- */

static const struct subject *find(const struct snapshot *s, struct arena *a, const char *kind,
                                  str name)
{
    return map_get(&s->subjects, str_printf(a, "%s/%.*s", kind, STR_ARG(name)));
}

/* All that an identity is: itself, its groups here, and those it came with. */
struct walk {
    const struct subject **at;
    size_t n;
    bool disabled;
};

static struct walk subjects_of(const struct snapshot *s, struct arena *a,
                               const struct identity *who)
{
    const struct subject *user = find(s, a, "u", who->user);
    size_t groups = user ? user->ngroups : 0;
    struct walk w = { .at = arena_array(a, const struct subject *, 1 + groups + who->ngroups) };

    if (user) {
        w.at[w.n++] = user;
        w.disabled = user->disabled;
    }
    for (size_t i = 0; i < groups + who->ngroups; i++) {
        str name = i < groups ? user->groups[i] : who->groups[i - groups];
        const struct subject *g = find(s, a, "g", name);

        if (g)
            w.at[w.n++] = g;
    }
    return w;
}

bool permissions_filled(const struct permissions *p)
{
    return atomic_load_explicit(&p->now, memory_order_acquire) != NULL;
}

static enum iam_role higher(const struct grants *g, str instance, enum iam_role best)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->p[i].role > best && str_eq(g->p[i].instance, instance))
            best = g->p[i].role;
    return best;
}

enum iam_role permissions_role(const struct permissions *p, const struct identity *who,
                               str instance)
{
    const struct snapshot *s = atomic_load_explicit(&p->now, memory_order_acquire);
    scoped_arena a = NULL;
    enum iam_role best = IAM_NONE;
    struct walk w;

    if (!s || !map_size(&s->subjects))
        return IAM_NONE;
    a = arena_new();
    w = subjects_of(s, a, who);
    for (size_t i = 0; !w.disabled && i < w.n; i++) {
        if (w.at[i]->platform)
            return IAM_PLATFORM;
        best = higher(&w.at[i]->grants[BOUND_INSTANCE], instance, best);
    }
    return best;
}

static void collect(struct arena *a, struct iam_grant **list, size_t *n, const struct grants *s)
{
    struct iam_grant *more = arena_array(a, struct iam_grant, *n + s->n);

    if (*n)
        memcpy(more, *list, *n * sizeof(*more));
    *list = more;
    for (size_t j = 0; j < s->n; j++) {
        size_t at = 0;

        while (at < *n && !str_eq(more[at].instance, s->p[j].instance))
            at++;
        if (at == *n)
            more[(*n)++] = (struct iam_grant){ str_dup(a, s->p[j].instance), IAM_NONE };
        if (more[at].role < s->p[j].role)
            more[at].role = s->p[j].role;
    }
}

static enum iam_role grants_of(const struct permissions *p, enum bound b, struct arena *a,
                               const struct identity *who, const struct iam_grant **out, size_t *n)
{
    const struct snapshot *s = atomic_load_explicit(&p->now, memory_order_acquire);
    enum iam_role best = IAM_NONE;
    struct iam_grant *list = NULL;
    struct walk w;

    *out = NULL;
    *n = 0;
    if (!s)
        return IAM_NONE;
    w = subjects_of(s, a, who);
    for (size_t i = 0; !w.disabled && i < w.n; i++) {
        if (w.at[i]->platform) {
            *n = 0;
            return IAM_PLATFORM;
        }
        collect(a, &list, n, &w.at[i]->grants[b]);
    }
    for (size_t i = 0; i < *n; i++)
        if (list[i].role > best)
            best = list[i].role;
    *out = list;
    return best;
}

enum iam_role permissions_grants(const struct permissions *p, struct arena *a,
                                 const struct identity *who, const struct iam_grant **out,
                                 size_t *n)
{
    return grants_of(p, BOUND_INSTANCE, a, who, out, n);
}

enum iam_role permissions_cluster_grants(const struct permissions *p, struct arena *a,
                                         const struct identity *who, const struct iam_grant **out,
                                         size_t *n)
{
    return grants_of(p, BOUND_CLUSTER, a, who, out, n);
}

bool permissions_is_disabled(const struct permissions *p, str name)
{
    const struct snapshot *s = atomic_load_explicit(&p->now, memory_order_acquire);
    scoped_arena a = arena_new();
    const struct subject *user = s ? find(s, a, "u", name) : NULL;

    return user && user->disabled;
}

/* ---- life ---- */

struct permissions *permissions_new(void)
{
    return mem_zalloc(sizeof(struct permissions));
}

void permissions_free(struct permissions *p)
{
    if (!p)
        return;
    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        size_t at = 0;
        void *e;
        str name;

        while (map_each(&p->entries[k], &at, &name, &e))
            entry_free(e);
        map_release(&p->entries[k]);
    }
    snapshot_free(atomic_load(&p->now));
    free(p);
}
