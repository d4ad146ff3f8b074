/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/silence.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "object/meta/condition.h"

enum {
    INSTANCES_MAX = 1000, /* held; more: all are forgotten */
    PAGE = 500,
    TRIES = 3, /* to read an instance whose clusters change meanwhile */
};

/* Of an instance: the key, then {"cluster": "since"} as text; or of a cluster: the key. */
struct line {
    uint64_t state; /* of a cluster: a hash of since when it is silent, 0: it is not */
    size_t key_n, text_n;
    char bytes[];
};

struct silence {
    pthread_mutex_t mu;
    /* guarded by mu: */
    struct map instances, clusters;
    uint64_t changes; /* of any cluster */
    bool forgot;      /* who has asked: instances that were read are not held */
};

static struct line *line_new(str key, str text)
{
    struct line *l = mem_zalloc(sizeof(*l) + key.n + text.n + 1);

    l->key_n = key.n;
    l->text_n = text.n;
    memcpy(l->bytes, key.p, key.n);
    if (text.n)
        memcpy(l->bytes + key.n, text.p, text.n);
    return l;
}

static str line_key(const struct line *l)
{
    return (str){ l->bytes, l->key_n };
}

static void forget_all(struct map *m)
{
    size_t at = 0;
    void *line;
    str key;

    while (map_each(m, &at, &key, &line))
        free(line);
    map_release(m);
}

struct silence *silence_new(void)
{
    struct silence *s = mem_zalloc(sizeof(*s));

    (void)pthread_mutex_init(&s->mu, NULL);
    return s;
}

void silence_free(struct silence *s)
{
    if (!s)
        return;
    forget_all(&s->instances);
    forget_all(&s->clusters);
    (void)pthread_mutex_destroy(&s->mu);
    free(s);
}

str silence_since(const struct json *cluster)
{
    const struct json *ready = condition_find(json_path(cluster, "status.conditions"), "Ready");

    return ready && !str_is(json_get_str(ready, "status"), "True")
               ? json_get_str(ready, "lastTransitionTime")
               : STR_NONE;
}

/* ---- what happens ---- */

bool silence_note(struct silence *s, const struct informer_key *k, const struct json *cluster)
{
    scoped_arena a = arena_new();
    str key = informer_key_text(a, k), since = silence_since(cluster);
    uint64_t state = since.n ? str_hash(since, 0, 0) | 1 : 0;
    struct line *was, *now = cluster ? line_new(key, STR_NONE) : NULL, *read = NULL;
    bool anew;

    (void)pthread_mutex_lock(&s->mu);
    was = map_remove(&s->clusters, key);
    /* Of the first word of a cluster only those need to hear who have asked before it. */
    anew = was ? was->state != state : state || s->forgot || map_get(&s->instances, k->instance);
    if (now) {
        now->state = state;
        (void)map_put(&s->clusters, line_key(now), now);
    }
    if (anew)
        read = map_remove(&s->instances, k->instance);
    if (anew || !was) /* whoever reads now may be late */
        s->changes++;
    (void)pthread_mutex_unlock(&s->mu);
    free(was);
    free(read);
    return anew;
}

/* ---- what holds ---- */

static int read_clusters(struct client *client, struct arena *a, str instance,
                         const struct json **out, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters") };
    struct client_query page = { .limit = PAGE };
    struct json_object o = json_object_new(a);
    const struct json *list;

    do {
        if (client_list(client, a, &ref, &page, &list, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND)) /* an instance that does not have the type */
                return -1;
            status_reset(st);
            break;
        }
        json_for_each (c, json_get(list, STR("items"))) {
            str since = silence_since(c);

            if (since.n)
                json_put(&o, json_get_str(c, "metadata.name"), json_of_str(since));
        }
        page.continue_token = json_get_str(list, "metadata.continue");
    } while (page.continue_token.n);
    *out = json_object_done(&o);
    return 0;
}

/* NULL: it has not been read; *changes is how much has happened by now. */
static const struct json *held(struct silence *s, struct arena *a, str key, uint64_t *changes)
{
    const struct json *out = NULL;
    const struct line *l;
    struct status st;
    str text = STR_NONE;

    (void)pthread_mutex_lock(&s->mu);
    l = map_get(&s->instances, key);
    if (l)
        text = str_dup(a, (str){ l->bytes + l->key_n, l->text_n });
    *changes = s->changes;
    (void)pthread_mutex_unlock(&s->mu);
    status_init(&st, a);
    return text.n && json_parse(a, text, NULL, &out, &st) == 0 ? out : NULL;
}

/* False: something has happened since.  The last time it is not held, and that is remembered. */
static bool hold(struct silence *s, str key, str text, uint64_t changes, bool last)
{
    struct line *now = line_new(key, text), *was = NULL;
    bool same;

    (void)pthread_mutex_lock(&s->mu);
    same = changes == s->changes;
    if (same && map_size(&s->instances) >= INSTANCES_MAX) {
        forget_all(&s->instances);
        s->forgot = true;
    }
    s->forgot |= last && !same;
    if (same) {
        was = map_remove(&s->instances, key);
        (void)map_put(&s->instances, line_key(now), now);
    }
    (void)pthread_mutex_unlock(&s->mu);
    free(was);
    if (!same)
        free(now);
    return same;
}

int silence_get(struct silence *s, struct client *client, struct arena *a, str instance,
                const struct json **out, struct status *st)
{
    str key = instance.n ? instance : STR("root"); /* as an informer's key says it */
    uint64_t changes;

    *out = held(s, a, key, &changes);
    for (int i = 0; !*out; i++) {
        bool last = i == TRIES; /* where much happens all the time */
        const struct json *read;

        if (read_clusters(client, a, instance, &read, st) < 0)
            return -1;
        if (hold(s, key, json_text(a, read), changes, last) || last)
            *out = read;
        else
            *out = held(s, a, key, &changes);
    }
    return 0;
}
