/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/event_rate.h"

#include <pthread.h>
#include <stdlib.h>

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/rand.h"

enum { WAYS = 8, SECOND_US = 1000000, CACHE = 4096 };

static const struct event_limit defaults[] = {
    { EVENT_LIMIT_SERVER, 200, 10000, CACHE },
    { EVENT_LIMIT_NAMESPACE, 100, 5000, CACHE },
    { EVENT_LIMIT_USER, 100, 5000, CACHE },
};

struct bucket {
    uint64_t key;    /* a hash: two that share one share a bucket */
    int64_t full_us; /* when it will be full; 0: unused */
};

struct limit {
    struct event_limit is;
    struct bucket (*sets)[WAYS]; /* guarded by mu, as all below */
    size_t nsets;
    uint64_t refused;
};

struct event_rate {
    uint64_t seed[2];
    pthread_mutex_t mu;
    struct limit limits[EVENT_LIMITS_MAX];
    size_t nlimits;
};

struct event_rate *event_rate_new(const struct event_limit *limits, size_t n)
{
    struct event_rate *r = mem_zalloc(sizeof(*r));

    r->seed[0] = rand_u64();
    r->seed[1] = rand_u64();
    (void)pthread_mutex_init(&r->mu, NULL);
    r->nlimits = n ? n : sizeof(defaults) / sizeof(*defaults);
    for (size_t i = 0; i < r->nlimits; i++) {
        struct limit *l = &r->limits[i];

        l->is = n ? limits[i] : defaults[i];
        l->nsets = (l->is.cache + WAYS - 1) / WAYS;
        l->sets = mem_zalloc(l->nsets * sizeof(*l->sets));
    }
    return r;
}

void event_rate_free(struct event_rate *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->nlimits; i++)
        free(r->limits[i].sets);
    (void)pthread_mutex_destroy(&r->mu);
    free(r);
}

/* Under the lock. */
static struct bucket *find(struct limit *l, uint64_t key)
{
    struct bucket *set = l->sets[key % l->nsets], *least = set;

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key == key)
            return &set[i];
        if (set[i].full_us < least->full_us)
            least = &set[i];
    }
    *least = (struct bucket){ .key = key };
    return least;
}

static bool take(struct bucket *b, int64_t qps, int64_t burst, int64_t now_us)
{
    int64_t full = b->full_us > now_us ? b->full_us : now_us;

    if (full - now_us > (burst - 1) * SECOND_US / qps)
        return false;
    b->full_us = full + SECOND_US / qps;
    return true;
}

/* k8s: eventratelimit/limitenforcer.go getSourceAndObjectKey */
static str source_and_object(struct arena *a, const struct json *event)
{
    static const char *const places[][2] = {
        { "source.component", "deprecatedSource.component" },
        { "source.host", "deprecatedSource.host" },
        { "involvedObject.kind", "regarding.kind" },
        { "involvedObject.namespace", "regarding.namespace" },
        { "involvedObject.name", "regarding.name" },
        { "involvedObject.uid", "regarding.uid" },
        { "involvedObject.apiVersion", "regarding.apiVersion" },
    };
    scoped_buf b = { .max = 1 << 16 };

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        str part = json_get_str(event, places[i][0]);

        buf_str_append(&b, part.n ? part : json_get_str(event, places[i][1]));
    }
    return str_dup(a, buf_str(&b));
}

int event_rate_take(struct event_rate *r, uint32_t instance, str namespace_, str user,
                    const struct json *event, int64_t now_ms, struct status *st)
{
    str names[] = {
        [EVENT_LIMIT_NAMESPACE] = namespace_,
        [EVENT_LIMIT_SERVER] = STR_NONE,
        [EVENT_LIMIT_SOURCE_AND_OBJECT] = STR_NONE,
        [EVENT_LIMIT_USER] = user,
    };
    scoped_buf why = { .max = 1 << 20 };
    size_t refused = 0;

    for (size_t i = 0; i < r->nlimits; i++)
        if (r->limits[i].is.type == EVENT_LIMIT_SOURCE_AND_OBJECT)
            names[EVENT_LIMIT_SOURCE_AND_OBJECT] = source_and_object(st->arena, event);
    (void)pthread_mutex_lock(&r->mu);
    for (size_t i = 0; i < r->nlimits; i++) {
        struct limit *l = &r->limits[i];
        str name = names[l->is.type];
        uint64_t key = str_hash(name, r->seed[0] ^ (i << 32 | instance), r->seed[1]);

        if (take(find(l, key), l->is.qps, l->is.burst, now_ms * 1000))
            continue;
        l->refused++;
        buf_printf(&why, "%slimit reached on type %s for key %.*s", refused++ ? ", " : "",
                   event_limit_name(l->is.type), STR_ARG(name));
    }
    (void)pthread_mutex_unlock(&r->mu);
    if (!refused)
        return 0;
    return status_set(st, REASON_TOO_MANY_REQUESTS, "Too many requests: %s%.*s%s",
                      refused > 1 ? "[" : "", STR_ARG(buf_str(&why)), refused > 1 ? "]" : "");
}

void event_rate_print(struct event_rate *r, struct buf *out)
{
    static const struct metric_spec specs[] = {
        { "kairship_event_rate_limit", "Events that may be written in a second.", METRIC_GAUGE,
          .labels = { { .name = "type" } } },
        { "kairship_event_rate_rejected_total", "Events that were too many.", METRIC_COUNTER,
          .labels = { { .name = "type" } } },
    };
    int64_t values[2][EVENT_LIMITS_MAX];

    (void)pthread_mutex_lock(&r->mu);
    for (size_t i = 0; i < r->nlimits; i++) {
        values[0][i] = r->limits[i].is.qps;
        values[1][i] = (int64_t)r->limits[i].refused;
    }
    (void)pthread_mutex_unlock(&r->mu);
    for (size_t s = 0; s < 2; s++) {
        metric_head(out, &specs[s]);
        for (size_t i = 0; i < r->nlimits; i++) {
            str type = str_of(event_limit_name(r->limits[i].is.type));

            metric_row(out, &specs[s], &type, values[s][i]);
        }
    }
}

/* ---- admission ---- */

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;

    if (r->write.dry_run || (r->kind->group.n && !str_is(r->kind->group, "events.k8s.io")))
        return 0;
    return event_rate_take(a->server->event_rate, r->instance.id, r->namespace_, r->who->user, obj,
                           clock_now_ms(a->server->clock), st);
}

const struct admission_plugin admit_event_rate = {
    .name = "EventRateLimit",
    .optional = true,
    .group = "*",
    .resource = "events",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .validate = validate,
};
