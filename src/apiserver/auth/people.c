/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/people.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/call/health.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "iam/permissions.h"
#include "rest/lookup.h"

#define PREFIX "kairship:"

enum {
    WAIT_MS = 1000, /* of a call; reading takes some milliseconds where there are thousands */
    TRIES = 3,      /* of reading, while what is read is forgotten behind it */
};

struct people {
    struct server *server;
    struct permissions *permissions;
    const struct kind *kinds[IAM_KINDS];
    struct map known[IAM_KINDS]; /* struct known, by its name; of whoever reads, */
    uint64_t round;              /* … the same */
    atomic_bool failed;          /* the last time */
    pthread_mutex_t mu;
    bool reading;            /* guarded by mu: somebody reads, or is about to, */
    uint64_t wanted;         /* … the same: until the cache is of this revision */
    struct waiting *waiting; /* … the same */
};

/* A call that came when the cache was older than what had been acknowledged. */
struct waiting {
    struct loop_msg msg; /* first */
    struct loop_timer timer;
    struct people *people;
    struct call *call;
    uint64_t wanted;
    struct waiting *next, **prev; /* prev NULL: in no list */
};

struct reading {
    struct worker_job job; /* first */
    struct people *people;
};

/* ---- reading ---- */

struct known { /* a row that was read */
    uint64_t rev, round;
    str name;
    char text[];
};

struct changed {
    struct changed *next;
    const struct json *object;
    uint64_t rev;
};

struct look { /* at the rows of one kind */
    struct people *people;
    struct arena *arena;
    enum iam_kind kind;
    uint64_t rev; /* of the row */
    struct changed *changed;
};

static bool know(void *arg, str row, uint64_t rev)
{
    struct look *l = arg;
    struct known *k = map_get(&l->people->known[l->kind], row);

    l->rev = rev;
    if (!k || k->rev != rev)
        return false;
    k->round = l->people->round;
    return true;
}

static bool add_changed(void *arg, const struct json *object)
{
    struct look *l = arg;
    struct changed *c = arena_new_of(l->arena, struct changed);

    *c = (struct changed){ .next = l->changed, .object = object, .rev = l->rev };
    l->changed = c;
    return true;
}

static void take_changed(struct look *l, const struct changed *c)
{
    str name = json_get_str(c->object, "metadata.name");
    struct known *k = mem_alloc(sizeof(*k) + name.n);

    *k = (struct known){ .rev = c->rev, .round = l->people->round, .name = { k->text, name.n } };
    if (name.n)
        memcpy(k->text, name.p, name.n);
    permissions_set(l->people->permissions, l->kind, name, c->object);
    free(map_put(&l->people->known[l->kind], k->name, k));
}

/* Those that were not seen in this round. */
static void forget_gone(struct look *l)
{
    struct map *known = &l->people->known[l->kind];
    struct known **gone = arena_array(l->arena, struct known *, map_size(known));
    size_t n = 0;
    void *value;
    str name;

    for (size_t at = 0; map_each(known, &at, &name, &value);)
        if (((struct known *)value)->round != l->people->round)
            gone[n++] = value;
    for (size_t i = 0; i < n; i++) {
        permissions_set(l->people->permissions, l->kind, gone[i]->name, NULL);
        free(map_remove(known, gone[i]->name));
    }
}

static int read_kind(struct people *p, enum iam_kind kind, struct status *st)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    scoped_arena a = arena_new();
    struct look l = { .people = p, .arena = a, .kind = kind };

    p->round++;
    if (lookup_unknown(p->server->rest, a, &root, p->kinds[kind], know, add_changed, &l, st) < 0)
        return -1;
    for (const struct changed *c = l.changed; c; c = c->next)
        take_changed(&l, c);
    forget_gone(&l);
    return 0;
}

static int read_kinds(struct people *p, struct status *st)
{
    int rc = 0;

    epoch_enter();
    for (enum iam_kind k = 0; rc == 0 && k < IAM_KINDS; k++)
        rc = read_kind(p, k, st);
    epoch_exit();
    return rc;
}

/* The revision first: what is written while we read makes the next request read again. */
static int read_all(struct people *p, struct status *st)
{
    uint64_t rev = 0;
    int rc = -1;

    for (int i = 0; rc < 0 && i < TRIES; i++) {
        status_reset(st);
        rev = store_head(p->server->store);
        rc = read_kinds(p, st);
    }
    atomic_store(&p->failed, rc < 0);
    if (rc == 0)
        permissions_publish(p->permissions, rev);
    return rc;
}

/* ---- waiting ---- */

static void link_locked(struct waiting *w)
{
    w->next = w->people->waiting;
    w->prev = &w->people->waiting;
    if (w->next)
        w->next->prev = &w->next;
    w->people->waiting = w;
}

static void unlink_locked(struct waiting *w)
{
    *w->prev = w->next;
    if (w->next)
        w->next->prev = w->prev;
    w->prev = NULL;
}

/* Tells those that need no more than this revision, or all; true: there is more to read. */
static bool tell(struct people *p, uint64_t rev, bool all)
{
    struct waiting *ready = NULL;
    bool more;

    (void)pthread_mutex_lock(&p->mu);
    for (struct waiting *w = p->waiting, *next; w; w = next) {
        next = w->next;
        if (w->wanted > rev && !all)
            continue;
        unlink_locked(w);
        w->next = ready;
        ready = w;
    }
    more = p->reading = p->wanted > rev && !all;
    (void)pthread_mutex_unlock(&p->mu);
    for (struct waiting *w = ready, *next; w; w = next) {
        next = w->next;
        w->call->stale = w->wanted > rev;
        loop_post(w->call->loop, &w->msg);
    }
    return more;
}

static void read_on(struct worker_job *job)
{
    struct people *p = ((struct reading *)(void *)job)->people;
    bool failed, more;

    do {
        scoped_arena a = arena_new();
        struct status st;
        uint64_t rev;

        status_init(&st, a);
        failed = read_all(p, &st) < 0;
        if (failed)
            log_warn("what people may do cannot be read", log_status(&st));
        epoch_enter();
        rev = permissions_revision(p->permissions);
        epoch_exit();
        more = tell(p, rev, failed);
    } while (more);
}

static void read_done(struct worker_job *job)
{
    free(job);
}

/* On the loop: sees to it that the cache reaches this revision, and that w, if there is one, is
 * told. */
static void want(struct people *p, uint64_t rev, struct waiting *w)
{
    struct reading *r;
    bool begins;

    (void)pthread_mutex_lock(&p->mu);
    begins = !p->reading;
    p->reading = true;
    if (p->wanted < rev)
        p->wanted = rev;
    if (w)
        link_locked(w);
    (void)pthread_mutex_unlock(&p->mu);
    if (!begins)
        return;
    r = mem_zalloc(sizeof(*r));
    *r = (struct reading){ .job = { .run = read_on, .done = read_done }, .people = p };
    if (workers_submit(p->server->workers, &r->job))
        return;
    free(r); /* no worker has time for it */
    (void)tell(p, permissions_revision(p->permissions), true);
}

uint64_t people_touched(struct people *p)
{
    uint64_t last = 0, rev;

    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        rev = store_touched(p->server->store, p->kinds[k]->type_id, INSTANCE_ROOT);
        last = rev > last ? rev : last;
    }
    return last;
}

bool people_reached(struct people *p, uint64_t rev)
{
    uint64_t known = permissions_revision(p->permissions);

    return known >= rev || people_touched(p) <= known;
}

void people_read(struct people *p)
{
    want(p, store_head(p->server->store), NULL);
}

static void told(struct loop_msg *msg)
{
    struct waiting *w = (struct waiting *)(void *)msg;

    loop_timer_cancel(w->call->loop, &w->timer);
    call_continue(w->call);
}

static void too_late(struct loop_timer *t)
{
    struct waiting *w = (struct waiting *)(void *)((char *)t - offsetof(struct waiting, timer));
    bool still;

    (void)pthread_mutex_lock(&w->people->mu);
    still = w->prev;
    if (still)
        unlink_locked(w);
    (void)pthread_mutex_unlock(&w->people->mu);
    if (!still)
        return; /* it is told in this very moment */
    w->call->stale = true;
    call_continue(w->call);
}

/* A part of our own program has its rights from no role. */
static bool acts_for_itself(const struct call *c)
{
    return c->who.rights && !call_header(c, "impersonate-user").n;
}

bool catch_up(struct call *c)
{
    struct people *p = c->server->people;
    uint64_t head = store_head(c->server->store);
    struct waiting *w;

    c->standing.rev = head;
    if (acts_for_itself(c) || !authn_has_credential(c) || people_reached(p, head))
        return true;
    w = arena_new_of(c->arena, struct waiting);
    *w = (struct waiting){ .msg = { .fn = told, .whose = c->rest.whose },
                           .timer.fn = too_late,
                           .people = p,
                           .call = c,
                           .wanted = head };
    loop_timer_set(c->loop, &w->timer, WAIT_MS);
    want(p, w->wanted, w);
    return false;
}

/* ---- life ---- */

static int check_failed(void *arg, struct status *st)
{
    struct people *p = arg;

    if (!atomic_load(&p->failed))
        return 0;
    return status_set(st, REASON_UNAVAILABLE, "what people may do cannot be read");
}

static bool live_uid(void *arg, struct arena *a, bool cluster, str name, str *out)
{
    const struct people *p = arg;
    struct status st;

    status_init(&st, a);
    return kinds_named_uid(p->server->rest, a, cluster ? NAMED_CLUSTER : NAMED_INSTANCE, name, out,
                           &st) > 0;
}

struct people *people_new(struct server *s, struct status *st)
{
    static const char *const plurals[IAM_KINDS] = { [IAM_USERS] = "users",
                                                    [IAM_GROUPS] = "groups",
                                                    [IAM_WORKSPACES] = "workspaces",
                                                    [IAM_PLATFORM_ROLES] = "platformroles" };
    struct people *p = mem_zalloc(sizeof(*p));
    struct permissions_live live = { .uid = live_uid, .arg = p };

    p->server = s;
    p->permissions = permissions_new(&live);
    (void)pthread_mutex_init(&p->mu, NULL);
    for (enum iam_kind k = 0; k < IAM_KINDS; k++)
        p->kinds[k] = catalog_find(kinds_catalog_root(), STR("iam.kairship.io"), STR("v1alpha1"),
                                   str_of(plurals[k]));
    if (read_all(p, st) < 0) {
        people_free(p);
        return NULL;
    }
    health_add(s->health, (struct health_check){ .name = STR("permissions"),
                                                 .endpoints = HEALTH_READYZ,
                                                 .fn = check_failed,
                                                 .arg = p });
    return p;
}

void people_free(struct people *p)
{
    void *known;
    str name;

    if (!p)
        return;
    for (enum iam_kind k = 0; k < IAM_KINDS; k++) {
        for (size_t at = 0; map_each(&p->known[k], &at, &name, &known);)
            free(known);
        map_release(&p->known[k]);
    }
    permissions_free(p->permissions);
    (void)pthread_mutex_destroy(&p->mu);
    free(p);
}

const struct permissions *people_permissions(const struct people *p)
{
    return p->permissions;
}

/* ---- what they may ---- */

/* Which groups a role is, from the last on. */
static const struct {
    enum iam_role role;
    str group;
} groups[] = {
    { IAM_VIEWER, STR_INIT(PREFIX "viewers") },  { IAM_EDITOR, STR_INIT(PREFIX "viewers") },
    { IAM_EDITOR, STR_INIT(PREFIX "editors") },  { IAM_ADMIN, STR_INIT(PREFIX "admins") },
    { IAM_PLATFORM, STR_INIT(PREFIX "admins") },
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

static bool has_ours(const struct identity *who)
{
    for (size_t i = 0; i < who->ngroups; i++)
        if (str_starts(who->groups[i], STR(PREFIX)))
            return true;
    return false;
}

void people_entitle(const struct people *p, struct arena *a, const struct instance *i,
                    struct identity *who)
{
    enum iam_role role;
    str *list;
    size_t n = 0;

    if (who->rights || i->id == STORE_ALL || str_is(who->user, "system:anonymous"))
        return;
    role = permissions_role_in(p->permissions, who, i->id == INSTANCE_ROOT ? STR_NONE : i->name,
                               i->uid);
    if (role == IAM_NONE && !has_ours(who))
        return;
    list = arena_array(a, str, who->ngroups + GROUPS);
    for (size_t g = 0; g < who->ngroups; g++)
        if (!str_starts(who->groups[g], STR(PREFIX))) /* that a credential claims */
            list[n++] = who->groups[g];
    for (size_t g = 0; g < GROUPS; g++)
        if (groups[g].role == role)
            list[n++] = groups[g].group;
    who->groups = list;
    who->ngroups = n;
}

bool people_admits(const struct people *p, str instance, const struct identity *who)
{
    if (permissions_is_disabled(p->permissions, who->user))
        return false;
    return !instance.n || permissions_role(p->permissions, who, instance) != IAM_NONE;
}

/* The cache is older than an acknowledged change: refuse rather than use rights that may be gone.
 */
static bool refuse_stale(struct call *c)
{
    struct status *st = call_status(c);

    st->retry_after_s = 1;
    (void)status_set(st, REASON_UNAVAILABLE,
                     "the roles of users have changed and cannot be read at this moment, try "
                     "again");
    call_fail(c, st);
    return false;
}

bool people_may_hand_on(const struct people *p, struct arena *a, const struct identity *who,
                        str type, str name)
{
    const struct iam_grant *grants;
    size_t n;

    if (identity_in_group(who, "system:masters"))
        return true;
    if (!str_is(type, "Cluster"))
        return permissions_role(p->permissions, who, name) >= (name.n ? IAM_ADMIN : IAM_PLATFORM);
    if (permissions_cluster_grants(p->permissions, a, who, &grants, &n) == IAM_PLATFORM)
        return true;
    for (size_t i = 0; i < n; i++)
        if (str_eq(grants[i].instance, name) && grants[i].role >= IAM_ADMIN)
            return true;
    return false;
}

bool entitle(struct call *c)
{
    if (c->no_instance)
        return true;
    if (c->stale && !c->who.rights && !str_is(c->who.user, "system:anonymous") &&
        !identity_in_group(&c->who, "system:masters"))
        return refuse_stale(c);
    people_entitle(c->server->people, c->arena, &c->rest.instance, &c->who);
    return true;
}
