/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"

enum {
    MAPPINGS_MAX = 4096, /* kinds of one member; beyond that it lies */
    STATUS_MAX = 1 << 20,
    PEACE_MS = 60000,
    FIGHT_MS = 20, /* doubled each time, up to 40 s */
    FIGHT_DOUBLINGS = 11,
};

/* ---- the member's types ---- */

static const struct mapping *mapping_find(const struct syncer *s, str api_version, str kind)
{
    for (const struct mapping *m = s->mappings; m; m = m->next)
        if (!m->doubtful && str_eq(m->kind, kind) && str_eq(m->api_version, api_version))
            return m;
    return NULL;
}

/* Jobs under way may still hold it. */
void sync_mapping_doubt(struct syncer *s, const struct mapping *doubted)
{
    for (struct mapping *m = s->mappings; m; m = m->next)
        m->doubtful = m->doubtful || m == doubted;
}

/* True when it was known, and is the same. */
static bool mapping_confirm(struct syncer *s, str api_version, str kind, str resource,
                            bool namespaced)
{
    for (struct mapping *m = s->mappings; m; m = m->next)
        if (str_eq(m->kind, kind) && str_eq(m->api_version, api_version) &&
            str_eq(m->resource, resource) && m->namespaced == namespaced) {
            m->doubtful = false;
            return true;
        }
    return false;
}

static char *lay(char *at, str from, str *to)
{
    if (from.n)
        memcpy(at, from.p, from.n);
    *to = (str){ at, from.n };
    return at + from.n;
}

static void mapping_add(struct syncer *s, str api_version, const struct json *resource)
{
    str kind = json_get_str(resource, "kind"), name = json_get_str(resource, "name");
    bool namespaced = json_bool(json_get(resource, STR("namespaced")));
    struct mapping *m;
    char *at;

    if (str_find(name, '/', 0) >= 0 || !name.n || !kind.n || s->nmappings >= MAPPINGS_MAX ||
        mapping_confirm(s, api_version, kind, name, namespaced))
        return;
    m = mem_zalloc(sizeof(*m) + api_version.n + kind.n + name.n);
    at = lay((char *)(m + 1), api_version, &m->api_version);
    at = lay(at, kind, &m->kind);
    (void)lay(at, name, &m->resource);
    m->namespaced = namespaced;
    m->next = s->mappings;
    s->mappings = m;
    s->nmappings++;
}

/* "/api/v1", "/apis/apps/v1" */
static str group_path(struct arena *a, str api_version)
{
    str rest = api_version, group;

    (void)str_split(&rest, '/', &group);
    if (!rest.p)
        return str_printf(a, "/api/%.*s", STR_ARG(percent_encode(a, group)));
    return str_printf(a, "/apis/%.*s/%.*s", STR_ARG(percent_encode(a, group)),
                      STR_ARG(percent_encode(a, rest)));
}

static void on_discovery(struct job *j, const struct json *list, const struct status *why)
{
    struct status st;

    if (why && !status_is(why, REASON_NOT_FOUND)) {
        j->mapped(j, NULL, why);
        return;
    }
    json_for_each (r, json_get(list, STR("resources")))
        mapping_add(j->syncer, j->api_version, r);
    j->mapping = mapping_find(j->syncer, j->api_version, j->kind);
    if (j->mapping) {
        j->mapped(j, NULL, NULL);
        return;
    }
    status_init(&st, j->arena);
    (void)status_set(&st, REASON_NOT_FOUND, "no matches for kind \"%.*s\" in version \"%.*s\"",
                     STR_ARG(j->kind), STR_ARG(j->api_version));
    j->mapped(j, NULL, &st);
}

void sync_job_map(struct job *j, str api_version, str kind, job_fn *then)
{
    struct client_request req = { .method = STR("GET") };

    j->mapping = mapping_find(j->syncer, api_version, kind);
    if (j->mapping) {
        then(j, NULL, NULL);
        return;
    }
    j->api_version = api_version;
    j->kind = kind;
    j->mapped = then;
    req.path = group_path(j->arena, api_version);
    sync_job_target(j, req, on_discovery);
}

/* ---- targets ---- */

static bool same_type(const struct client_ref *a, const struct client_ref *b)
{
    return str_eq(a->resource, b->resource) && str_eq(a->group, b->group) &&
           str_eq(a->version, b->version);
}

static struct watch *watch_of(struct syncer *s, const struct client_ref *ref,
                              const struct mapping *m);

static struct target *find_target(struct item *i, const struct client_ref *ref)
{
    str namespace, name;

    for (size_t n = 0; n < i->ntargets; n++) {
        struct target *t = i->targets[n];

        sync_split_key(t->key, &namespace, &name);
        if (same_type(&t->watch->ref, ref) && str_eq(name, ref->name) &&
            str_eq(namespace, ref->namespace))
            return t;
    }
    return NULL;
}

/* Two Works that want the same object: the one that came last hears of it. */
struct target *sync_target_at(struct item *i, const struct client_ref *ref, const struct mapping *m)
{
    struct target *t = find_target(i, ref);
    size_t n = ref->namespace.n + 1 + ref->name.n;
    char *at;

    if (t)
        return t;
    t = mem_zalloc(sizeof(*t) + n);
    at = (char *)(t + 1);
    t->key = (str){ at, n };
    if (ref->namespace.n)
        memcpy(at, ref->namespace.p, ref->namespace.n);
    at[ref->namespace.n] = '/';
    memcpy(at + ref->namespace.n + 1, ref->name.p, ref->name.n);
    t->item = i;
    t->watch = watch_of(i->syncer, ref, m);
    t->watch->ntargets++;
    loop_timer_cancel(i->syncer->loop, &t->watch->timer);
    (void)map_put(&t->watch->targets, t->key, t);
    i->targets = mem_realloc_n(i->targets, i->ntargets + 1, sizeof(struct target *));
    i->targets[i->ntargets++] = t;
    return t;
}

void sync_target_free(struct target *t)
{
    struct watch *w = t->watch;

    if (map_get(&w->targets, t->key) == t)
        (void)map_remove(&w->targets, t->key);
    if (--w->ntargets == 0 && !w->labels && !w->syncer->ended)
        loop_timer_set(w->syncer->loop, &w->timer, w->syncer->o.idle_ms);
    free(t->status);
    free(t);
}

static uint64_t version_of(const struct json *object)
{
    uint64_t n = 0;

    return str_to_u64(json_get_str(object, "metadata.resourceVersion"), &n) ? n : 0;
}

/*
 * The controllers of apps say which generation they have seen, with the first thing they do, and
 * then make pods, or take them away.
 */
static bool is_unfinished(const struct target *t, const struct json *object)
{
    int64_t generation = json_int(json_path(object, "metadata.generation"), 0);
    int64_t replicas = json_int(json_path(object, "status.replicas"), 0);

    return str_is(t->watch->ref.group, "apps") &&
           (json_int(json_path(object, "status.observedGeneration"), 0) < generation ||
            json_int(json_path(object, "spec.replicas"), replicas) != replicas);
}

/* Keeps the text until it is told, when it differs from what the source has. */
static void note_status(struct target *t, const struct json *object)
{
    scoped_arena a = arena_new();
    str text =
        t->watch->labels ? sync_label_status_text(a, object) : sync_work_status_text(t, a, object);
    uint64_t hash = sync_text_hash(t->item->syncer, text);

    t->unfinished = is_unfinished(t, object);
    free(t->status);
    t->status = NULL;
    if (!text.n || text.n > STATUS_MAX || hash == t->told)
        return;
    t->status = mem_alloc(text.n + 1);
    memcpy(t->status, text.p, text.n);
    t->status[text.n] = '\0';
    sync_news(t->item);
}

void sync_target_told(struct target *t)
{
    t->told = t->telling;
    if (t->status && sync_text_hash(t->item->syncer, str_of(t->status)) == t->told) {
        free(t->status);
        t->status = NULL;
    }
}

void sync_job_observe(struct job *j, const struct json *object)
{
    struct target *t = j->target;
    uint64_t version = version_of(object);

    informer_nudge(t->watch->informer); /* the type is there, whatever was so before */
    t->content = sync_content_hash(t->item->syncer, object);
    t->written = version;
    if (t->seen > version || t->ends != j->ends)
        return; /* a later event has told more, or its end was told while the answer was on its way
                 */
    t->drifted = false;
    note_status(t, object);
}

/* ---- somebody who changes it back ---- */

void sync_target_fixed(struct target *t)
{
    int64_t now = loop_now_ms(t->item->syncer->loop);

    t->fights = now - t->fixed_ms > PEACE_MS ? 1 : t->fights + 1;
    t->fixed_ms = now;
}

int64_t sync_target_patience(const struct target *t)
{
    int64_t since = loop_now_ms(t->item->syncer->loop) - t->fixed_ms;

    return t->fights && since <= PEACE_MS ? sync_growing(FIGHT_MS, t->fights, FIGHT_DOUBLINGS) : 0;
}

void sync_target_quiet(struct target *t)
{
    t->content = 0;
    t->drifted = false;
}

/* ---- watches ---- */

static void on_event(void *arg, const struct informer_key *k, const struct json *object)
{
    struct watch *w = arg;
    scoped_arena a = arena_new();
    struct target *t = map_get(&w->targets, sync_join_key(a, k->namespace, k->name));
    uint64_t version = version_of(object);

    if (!t && w->labels)
        sync_label_stray(w, object);
    if (!t || (version && version <= t->written))
        return;
    t->seen = version;
    if (sync_content_hash(w->syncer, object) != t->content)
        t->drifted = true;
    note_status(t, object);
    if (t->drifted)
        sync_item_wake_after(t->item, sync_target_patience(t));
    else if (t->status)
        sync_item_wake_after(t->item, sync_news_wait(t->item));
}

static void target_gone(struct target *t)
{
    t->content = t->seen = 0;
    t->drifted = true;
    t->ends++;
    sync_item_wake_after(t->item, sync_target_patience(t));
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    struct watch *w = arg;
    scoped_arena a = arena_new();
    struct target *t = map_get(&w->targets, sync_join_key(a, k->namespace, k->name));

    (void)last;
    if (t)
        target_gone(t);
}

/* What was applied before the list and is not in it may have gone in between: no event tells it. */
static void on_listed(void *arg)
{
    struct watch *w = arg;
    size_t at = 0;
    void *value;
    str key;

    while (map_each(&w->targets, &at, &key, &value)) {
        struct target *t = value;
        struct informer_key k = { .instance = STR_NONE };

        sync_split_key(key, &k.namespace, &k.name);
        if (t->content && !informer_knows(w->informer, &k))
            target_gone(t);
    }
}

/* Its type may be gone from the member, too: a watch of it would be tried again for ever. */
static void on_idle(struct loop_timer *t)
{
    struct watch *w = (struct watch *)(void *)t, **at = &w->syncer->watches;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    sync_watch_free(w);
}

static void watch_start(struct watch *w)
{
    scoped_arena a = arena_new();
    struct informer_options o = {
        .client = w->syncer->o.target,
        .ref = w->ref,
        .label_selector =
            w->labels ? str_printf(a, SYNCER_CLUSTER_LABEL "=%.*s", STR_ARG(w->syncer->o.cluster))
                      : STR(KARMADA_MANAGED "=true"),
        .gather = true,
        .added = on_event,
        .updated = on_event,
        .deleted = on_deleted,
        .listed = on_listed,
        .arg = w,
    };

    w->informer = informer_new(&o);
    informer_start(w->informer);
}

static struct watch *watch_of(struct syncer *s, const struct client_ref *ref,
                              const struct mapping *m)
{
    struct watch *w;

    for (w = s->watches; w; w = w->next)
        if (w->labels == !m && same_type(&w->ref, ref))
            return w;
    w = mem_zalloc(sizeof(*w));
    w->arena = arena_new();
    w->ref.group = str_dup(w->arena, ref->group);
    w->ref.version = str_dup(w->arena, ref->version);
    w->ref.resource = str_dup(w->arena, ref->resource);
    if (m) {
        w->kind = str_dup(w->arena, m->kind);
        w->api_version = str_dup(w->arena, m->api_version);
    }
    w->timer.fn = on_idle;
    w->syncer = s;
    w->labels = !m;
    w->next = s->watches;
    s->watches = w;
    watch_start(w);
    return w;
}

void sync_watch_ensure(struct syncer *s, const struct client_ref *ref)
{
    (void)watch_of(s, ref, NULL);
}

void sync_watches_nudge(struct syncer *s)
{
    for (struct watch *w = s->watches; w; w = w->next)
        informer_nudge(w->informer);
}

void sync_watch_free(struct watch *w)
{
    loop_timer_cancel(w->syncer->loop, &w->timer);
    informer_free(w->informer);
    map_release(&w->targets);
    arena_free(w->arena);
    free(w);
}
