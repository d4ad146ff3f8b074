/* SPDX-License-Identifier: Apache-2.0 */
#include "iam/permissions.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/map.h"
#include "base/mem.h"

/* What counts of an object, for as long as it is as it is. */
struct permission_entry {
    struct arena *arena;
    str name, uid;
    int64_t created_s;
    const struct json *spec;
};

/* What can be bound to a workspace; spec.resources[].resourceType. */
enum bound { BOUND_INSTANCE, BOUND_CLUSTER, BOUND };
static const char *const bound_types[BOUND] = { "Kairship", "Cluster" };

struct grants {
    struct iam_grant *p; /* each name and uid once */
    size_t n, cap;
};

/* Of one subject: the User "u/jane", the Group "g/devs", or who comes with that name from
 * elsewhere, "U/jane" and "G/devs". */
struct subject {
    struct grants grants[BOUND];
    bool platform;
    str *groups; /* of a user: which Groups say that they are in */
    size_t ngroups, groups_cap;
    str uid; /* of the object, with: */
    int64_t created_s;
    bool disabled;
};

struct snapshot {
    struct arena *arena;
    uint64_t rev;
    struct map subjects;
    bool elsewhere; /* it has some from elsewhere */
};

struct permissions {
    struct permissions_live live;
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

/* When certificates began to be theirs; 0: all are. */
static int64_t created_s(const struct json *object)
{
    const struct json *notes = json_path(object, "metadata.annotations");
    int64_t s = 0;

    if (str_is(json_str(json_get(notes, STR(IDENTITY_OLDER_CERTIFICATES))), IDENTITY_ACCEPTED))
        return 0;
    (void)time_parse_seconds(json_get_str(object, "metadata.creationTimestamp"), &s);
    return s;
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
                                    .uid = str_dup(a, json_get_str(object, "metadata.uid")),
                                    .created_s = created_s(object),
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

/* Whom an entry is for; NULL: that User or Group is gone. */
static struct subject *holder(const struct permissions *p, struct snapshot *s, bool group, str name,
                              str uid)
{
    const struct permission_entry *now = map_get(&p->entries[group ? IAM_GROUPS : IAM_USERS], name);

    if (!uid.n) {
        s->elsewhere = true;
        return subject_of(s, group ? "G" : "U", name);
    }
    return now && str_eq(now->uid, uid) ? subject_of(s, group ? "g" : "u", name) : NULL;
}

static struct subject *member(const struct permissions *p, struct snapshot *s, const struct json *m)
{
    return holder(p, s, str_is(json_get_str(m, "kind"), "Group"), json_get_str(m, "name"),
                  json_get_str(m, "uid"));
}

static void grant(struct snapshot *s, struct grants *to, str instance, str uid, enum iam_role role)
{
    for (size_t i = 0; i < to->n; i++)
        if (str_eq(to->p[i].instance, instance) && str_eq(to->p[i].uid, uid)) {
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
    to->p[to->n++] =
        (struct iam_grant){ str_dup(s->arena, instance), str_dup(s->arena, uid), role };
}

static void add_workspace(const struct permissions *p, struct snapshot *s, const struct json *spec)
{
    json_for_each (m, json_get(spec, STR("members"))) {
        struct subject *to = member(p, s, m);
        enum iam_role role = role_of(json_get_str(m, "role"));

        if (!to || role == IAM_NONE)
            continue;
        json_for_each (r, json_get(spec, STR("resources")))
            for (enum bound b = 0; b < BOUND; b++)
                if (str_is(json_get_str(r, "resourceType"), bound_types[b]))
                    grant(s, &to->grants[b], json_get_str(r, "resourceName"),
                          json_get_str(r, "uid"), role);
    }
}

static void add_group(const struct permissions *p, struct snapshot *s,
                      const struct permission_entry *e)
{
    const struct json *uids = json_get(e->spec, STR("memberUids"));
    str copy = str_dup(s->arena, e->name);

    subject_of(s, "g", e->name)->created_s = e->created_s;
    json_for_each (m, json_get(e->spec, STR("members"))) {
        struct subject *to =
            holder(p, s, false, json_str(m), json_str(json_get(uids, json_str(m))));

        if (!to)
            continue;
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

static void add(const struct permissions *p, struct snapshot *s, enum iam_kind kind,
                const struct permission_entry *e)
{
    struct subject *user;

    switch (kind) {
    case IAM_USERS:
        user = subject_of(s, "u", e->name);
        user->uid = str_dup(s->arena, e->uid);
        user->created_s = e->created_s;
        user->disabled = json_bool(json_get(e->spec, STR("disabled")));
        break;
    case IAM_GROUPS:
        add_group(p, s, e);
        break;
    case IAM_WORKSPACES:
        add_workspace(p, s, e->spec);
        break;
    case IAM_PLATFORM_ROLES:
        json_for_each (m, json_get(e->spec, STR("members"))) {
            struct subject *to = member(p, s, m);

            if (to)
                to->platform = true;
        }
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

void permissions_publish(struct permissions *p, uint64_t rev)
{
    struct snapshot *s = mem_zalloc(sizeof(*s)), *was;

    s->arena = arena_new();
    s->rev = rev;
    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        size_t at = 0;
        void *e;
        str name;

        while (map_each(&p->entries[k], &at, &name, &e))
            add(p, s, k, e);
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

static void step(struct walk *w, const struct subject *to)
{
    if (to)
        w->at[w->n++] = to;
}

/* Who had the credential made had the name before the object had it. */
static bool is_older(const struct identity *who, const struct subject *object)
{
    return who->since_s && who->since_s < object->created_s;
}

static void step_user(const struct snapshot *s, struct arena *a, struct walk *w,
                      const struct subject *user)
{
    step(w, user);
    for (size_t i = 0; user && i < user->ngroups; i++)
        step(w, find(s, a, "g", user->groups[i]));
}

static struct walk subjects_of(const struct snapshot *s, struct arena *a,
                               const struct identity *who)
{
    const struct subject *user = find(s, a, "u", who->user);
    const struct subject *other = s->elsewhere ? find(s, a, "U", who->user) : NULL;
    struct walk w = { .disabled = user && user->disabled };

    if (user && who->uid.n && str_eq(who->uid, user->uid))
        other = NULL; /* they have logged in here */
    if (user && is_older(who, user))
        user = NULL;
    w.at = arena_array(a, const struct subject *,
                       2 + (user ? user->ngroups : 0) + (other ? other->ngroups : 0) +
                           2 * who->ngroups);
    step_user(s, a, &w, user);
    step_user(s, a, &w, other);
    for (size_t i = 0; i < who->ngroups; i++) {
        const struct subject *group = find(s, a, "g", who->groups[i]);

        step(&w, group && is_older(who, group) ? NULL : group);
        if (s->elsewhere)
            step(&w, find(s, a, "G", who->groups[i]));
    }
    return w;
}

uint64_t permissions_revision(const struct permissions *p)
{
    const struct snapshot *s = atomic_load_explicit(&p->now, memory_order_acquire);

    return s ? s->rev : 0;
}

static bool live_uid(const struct permissions *p, struct arena *a, enum bound b, str name, str *out)
{
    *out = STR_NONE;
    return name.n && p->live.uid(p->live.arg, a, b == BOUND_CLUSTER, name, out);
}

static enum iam_role higher(const struct grants *g, str instance, str uid, enum iam_role best)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->p[i].role > best && uid.n && str_eq(g->p[i].uid, uid) &&
            str_eq(g->p[i].instance, instance))
            best = g->p[i].role;
    return best;
}

enum iam_role permissions_role(const struct permissions *p, const struct identity *who,
                               str instance)
{
    scoped_arena a = arena_new();
    str uid;

    (void)live_uid(p, a, BOUND_INSTANCE, instance, &uid);
    return permissions_role_in(p, who, instance, uid);
}

enum iam_role permissions_role_in(const struct permissions *p, const struct identity *who,
                                  str instance, str uid)
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
        best = higher(&w.at[i]->grants[BOUND_INSTANCE], instance, uid, best);
    }
    return best;
}

/* Those whose instance or cluster is still there. */
static void collect(const struct permissions *p, enum bound b, struct arena *a,
                    struct iam_grant **list, size_t *n, const struct grants *s)
{
    struct iam_grant *more = arena_array(a, struct iam_grant, *n + s->n);

    if (*n)
        memcpy(more, *list, *n * sizeof(*more));
    *list = more;
    for (size_t j = 0; j < s->n; j++) {
        size_t at = 0;
        str uid;

        if (!live_uid(p, a, b, s->p[j].instance, &uid) || !str_eq(s->p[j].uid, uid))
            continue;
        while (at < *n && !str_eq(more[at].instance, s->p[j].instance))
            at++;
        if (at == *n)
            more[(*n)++] = (struct iam_grant){ str_dup(a, s->p[j].instance), uid, IAM_NONE };
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
        collect(p, b, a, &list, n, &w.at[i]->grants[b]);
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

struct permissions *permissions_new(const struct permissions_live *live)
{
    struct permissions *p = mem_zalloc(sizeof(*p));

    p->live = *live;
    return p;
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
