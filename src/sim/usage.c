/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/usage.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "sim/fit.h"
#include "sim/objects.h"

struct node {
    struct node *next; /* of the member */
    struct arena *arena;
    const struct json *tree; /* NULL: pods name it, but there is none */
    struct fit_amount all, used;
    size_t n;      /* pods that name it */
    uint64_t hash; /* of the tree */
    str name;
};

struct place { /* a member */
    struct node *nodes;
    struct pod *first, *last; /* that wait */
    size_t nnodes;
    char name[];
};

struct pod {
    struct place *place;
    struct node *node;
    struct pod *next, *prev; /* that wait */
    bool waits;
    struct fit_amount takes;
    uint64_t state, labels; /* hashes of what was told last */
    size_t n;
    char key[];
};

struct usage {
    pthread_mutex_t mu;
    struct map pods, places; /* guarded by mu, with all that is in them */
};

struct usage *usage_new(void)
{
    struct usage *u = mem_zalloc(sizeof(*u));

    (void)pthread_mutex_init(&u->mu, NULL);
    return u;
}

static void node_free(struct node *n)
{
    arena_free(n->arena);
    free(n);
}

void usage_free(struct usage *u)
{
    size_t at = 0;
    void *value;
    str key;

    if (!u)
        return;
    while (map_each(&u->pods, &at, &key, &value))
        free(value);
    for (at = 0; map_each(&u->places, &at, &key, &value);) {
        struct place *p = value;

        for (struct node *n = p->nodes, *next; n; n = next) {
            next = n->next;
            node_free(n);
        }
        free(p);
    }
    map_release(&u->pods);
    map_release(&u->places);
    (void)pthread_mutex_destroy(&u->mu);
    free(u);
}

static struct place *place_of_locked(struct usage *u, str instance)
{
    struct place *p = map_get(&u->places, instance);

    if (p)
        return p;
    p = mem_zalloc(sizeof(*p) + instance.n + 1);
    memcpy(p->name, instance.p, instance.n);
    (void)map_put(&u->places, (str){ p->name, instance.n }, p);
    return p;
}

static struct node *node_of_locked(struct place *p, str name)
{
    struct node *n = p->nodes;
    struct arena *a;

    while (n && !str_eq(n->name, name))
        n = n->next;
    if (n)
        return n;
    n = mem_zalloc(sizeof(*n));
    a = n->arena = arena_new();
    n->name = str_dup(a, name);
    n->next = p->nodes;
    p->nodes = n;
    return n;
}

/* A node that is gone stays as long as pods name it. */
static void node_let_go_locked(struct place *p, struct node *n)
{
    struct node **at = &p->nodes;

    if (n->tree || n->n)
        return;
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    node_free(n);
}

/* What placing looks at, and no more of it. */
static const struct json *excerpt(struct arena *a, const struct json *node)
{
    const struct json *v = &json_empty_object;
    static const char *const paths[] = { "metadata.name", "metadata.labels", "spec",
                                         "status.conditions" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (json_path(node, paths[i]))
            v = json_set(a, v, paths[i], json_path(node, paths[i]));
    return json_dup(a, v);
}

static bool node_set_locked(struct node *n, const struct json *node)
{
    struct arena *a = arena_new();
    const struct json *tree = excerpt(a, node);
    struct fit_amount all = fit_allocatable(node);
    str text = json_text(a, tree);
    uint64_t hash = str_hash(text, 0, 0);

    if (n->tree && n->hash == hash && memcmp(&n->all, &all, sizeof(all)) == 0) {
        arena_free(a);
        return false;
    }
    n->tree = tree;
    n->hash = hash;
    n->name = str_dup(a, n->name);
    arena_free(n->arena);
    n->arena = a;
    n->all = all;
    return true;
}

bool usage_node(struct usage *u, str instance, str name, const struct json *node)
{
    struct place *p;
    struct node *n;
    bool news;

    (void)pthread_mutex_lock(&u->mu);
    p = place_of_locked(u, instance);
    n = node_of_locked(p, name);
    p->nnodes -= n->tree != NULL;
    if (node) {
        news = node_set_locked(n, node);
    } else {
        news = n->tree != NULL;
        n->tree = NULL;
    }
    p->nnodes += n->tree != NULL;
    node_let_go_locked(p, n);
    (void)pthread_mutex_unlock(&u->mu);
    return news;
}

bool usage_has_node(struct usage *u, str instance, str name)
{
    struct node *n;
    bool has;

    (void)pthread_mutex_lock(&u->mu);
    n = place_of_locked(u, instance)->nodes;
    while (n && !str_eq(n->name, name))
        n = n->next;
    has = n && n->tree;
    (void)pthread_mutex_unlock(&u->mu);
    return has;
}

/* ---- pods ---- */

static void unwait_locked(struct pod *p)
{
    if (!p->waits)
        return;
    p->waits = false;
    *(p->prev ? &p->prev->next : &p->place->first) = p->next;
    *(p->next ? &p->next->prev : &p->place->last) = p->prev;
    p->next = p->prev = NULL;
}

static void wait_locked(struct pod *p)
{
    if (p->waits)
        return;
    p->waits = true;
    p->prev = p->place->last;
    p->next = NULL;
    *(p->prev ? &p->prev->next : &p->place->first) = p;
    p->place->last = p;
}

/* The node that it is on, or none.  True when that leaves room behind. */
static bool move_locked(struct pod *p, struct node *to, const struct fit_amount *takes)
{
    struct node *from = p->node;

    if (from) {
        from->used.cpu_m -= p->takes.cpu_m;
        from->used.memory -= p->takes.memory;
        from->used.pods -= p->takes.pods;
        from->n--;
    }
    p->node = to;
    if (to) {
        p->takes = *takes;
        to->used.cpu_m += takes->cpu_m;
        to->used.memory += takes->memory;
        to->used.pods += takes->pods;
        to->n++;
        unwait_locked(p);
    }
    if (from && from != to)
        node_let_go_locked(p->place, from);
    return from && from != to;
}

static struct pod *pod_of_locked(struct usage *u, str key, str instance)
{
    struct pod *p = map_get(&u->pods, key);

    if (p)
        return p;
    p = mem_zalloc(sizeof(*p) + key.n);
    p->n = key.n;
    memcpy(p->key, key.p, key.n);
    p->place = place_of_locked(u, instance);
    (void)map_put(&u->pods, (str){ p->key, p->n }, p);
    return p;
}

static uint64_t hash_of_labels(const struct json *pod)
{
    uint64_t h = 1;

    json_for_each_member (m, json_path(pod, "metadata.labels"))
        h = str_hash(json_str(&m->value), h, str_hash(m->name, 0, 0));
    return h;
}

static uint64_t hash_of_state(const struct json *pod)
{
    const struct json *ready = condition_find(json_path(pod, "status.conditions"), "Ready");
    uint64_t h = str_hash(json_get_str(pod, "status.phase"), obj_deleting(pod), 0);

    h = str_hash(json_get_str(ready, "status"), h, 1);
    return str_hash(json_get_str(pod, "status.podIP"), h, 2);
}

static unsigned gone_locked(struct usage *u, str key)
{
    struct pod *p = map_remove(&u->pods, key);
    bool freed;

    if (!p)
        return USAGE_STATE | USAGE_LABELS;
    unwait_locked(p);
    freed = move_locked(p, NULL, NULL);
    free(p);
    return USAGE_STATE | USAGE_LABELS | (freed ? USAGE_FREED : 0);
}

static unsigned seen_locked(struct usage *u, const struct informer_key *k, str key,
                            const struct json *pod)
{
    struct pod *p = pod_of_locked(u, key, k->instance);
    uint64_t state = hash_of_state(pod), labels = hash_of_labels(pod);
    unsigned change =
        (state != p->state ? USAGE_STATE : 0) | (labels != p->labels ? USAGE_LABELS : 0);
    str name = json_get_str(pod, "spec.nodeName");
    struct fit_amount takes = { 0 };

    p->state = state;
    p->labels = labels;
    if (pod_is_over(pod)) {
        unwait_locked(p);
        return change | (move_locked(p, NULL, NULL) ? USAGE_FREED : 0);
    }
    if (!name.n)
        return change; /* what was placed there a moment ago stays so */
    takes = fit_requests(pod);
    return change | (move_locked(p, node_of_locked(p->place, name), &takes) ? USAGE_FREED : 0);
}

unsigned usage_pod(struct usage *u, const struct informer_key *k, const struct json *pod,
                   bool deleted)
{
    scoped_arena a = arena_new();
    str key = informer_key_text(a, k);
    unsigned change;

    (void)pthread_mutex_lock(&u->mu);
    change = deleted ? gone_locked(u, key) : seen_locked(u, k, key, pod);
    (void)pthread_mutex_unlock(&u->mu);
    return change;
}

/* ---- placing ---- */

static struct node *best_locked(struct place *p, struct arena *a, const struct json *pod,
                                const struct fit_amount *wants, size_t count[FIT_RESULTS])
{
    struct node *best = NULL;
    int64_t lowest = 0;

    for (struct node *n = p->nodes; n; n = n->next) {
        enum fit_result r;
        int64_t load;

        if (!n->tree)
            continue;
        r = fit_allows(a, n->tree, pod);
        if (r == FIT_OK)
            r = fit_room(&n->all, &n->used, wants);
        count[r]++;
        if (r != FIT_OK)
            continue;
        load = fit_load(&n->all, &n->used, wants);
        if (best && load >= lowest)
            continue;
        best = n;
        lowest = load;
    }
    return best;
}

bool usage_place(struct usage *u, struct arena *a, const struct informer_key *k,
                 const struct json *pod, str *node, str *why)
{
    struct fit_amount wants = fit_requests(pod);
    size_t count[FIT_RESULTS] = { 0 };
    str key = informer_key_text(a, k);
    struct node *best;
    struct pod *p;

    (void)pthread_mutex_lock(&u->mu);
    p = pod_of_locked(u, key, k->instance);
    (void)move_locked(p, NULL, NULL);
    best = best_locked(p->place, a, pod, &wants, count);
    if (best) {
        (void)move_locked(p, best, &wants);
        *node = str_dup(a, best->name);
    } else {
        wait_locked(p);
        *why = fit_explain(a, count, p->place->nnodes);
    }
    (void)pthread_mutex_unlock(&u->mu);
    return best != NULL;
}

struct informer_key *usage_waiting(struct usage *u, struct arena *a, str instance, size_t max,
                                   size_t *n)
{
    struct informer_key *keys = arena_array(a, struct informer_key, max);
    struct pod *p;

    *n = 0;
    (void)pthread_mutex_lock(&u->mu);
    for (p = place_of_locked(u, instance)->first; p && *n < max; p = p->next)
        if (informer_key_parse(str_dup(a, (str){ p->key, p->n }), &keys[*n]))
            (*n)++;
    (void)pthread_mutex_unlock(&u->mu);
    return keys;
}
