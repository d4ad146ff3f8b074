/* SPDX-License-Identifier: Apache-2.0 */
#include "server/event_rate.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "server/admission.h"
#include "server/internal.h"

enum { WAYS = 8, SETS = 512, LIMITS = 3, SECOND_US = 1000000 };

static const struct {
    const char *type;
    int64_t qps, burst;
} limits[LIMITS] = {
    { "Server", 200, 10000 },
    { "Namespace", 100, 5000 },
    { "User", 100, 5000 },
};

struct bucket {
    uint64_t key;    /* a hash: two that share one share a bucket */
    int64_t full_us; /* when it is; 0: nobody's */
};

struct event_rate {
    uint64_t seed[2];
    pthread_mutex_t mu;
    struct bucket buckets[SETS][WAYS]; /* guarded by mu, as all below */
    uint64_t refused[LIMITS];
};

struct event_rate *event_rate_new(void)
{
    struct event_rate *r = mem_zalloc(sizeof(*r));

    r->seed[0] = rand_u64();
    r->seed[1] = rand_u64();
    (void)pthread_mutex_init(&r->mu, NULL);
    return r;
}

void event_rate_free(struct event_rate *r)
{
    if (!r)
        return;
    (void)pthread_mutex_destroy(&r->mu);
    free(r);
}

/* Under the lock. */
static struct bucket *find(struct event_rate *r, uint64_t key)
{
    struct bucket *set = r->buckets[key % SETS], *least = set;

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

int event_rate_take(struct event_rate *r, uint32_t instance, str namespace_, str user,
                    int64_t now_ms, struct status *st)
{
    const str names[LIMITS] = { STR_NONE, namespace_, user };
    scoped_buf why = { .max = 4096 };
    size_t refused = 0;

    (void)pthread_mutex_lock(&r->mu);
    for (size_t i = 0; i < LIMITS; i++) {
        uint64_t key = str_hash(names[i], r->seed[0] ^ (i << 32 | instance), r->seed[1]);

        if (take(find(r, key), limits[i].qps, limits[i].burst, now_ms * 1000))
            continue;
        r->refused[i]++;
        buf_printf(&why, "%slimit reached on type %s for key %.*s", refused++ ? ", " : "",
                   limits[i].type, STR_ARG(names[i]));
    }
    (void)pthread_mutex_unlock(&r->mu);
    if (!refused)
        return 0;
    return status_set(st, REASON_TOO_MANY_REQUESTS, "Too many requests: %s%.*s%s",
                      refused > 1 ? "[" : "", STR_ARG(buf_str(&why)), refused > 1 ? "]" : "");
}

void event_rate_print(struct event_rate *r, struct buf *out)
{
    static const char qps[] = "kairship_event_rate_limit";
    static const char refused[] = "kairship_event_rate_rejected_total";
    uint64_t n[LIMITS];

    (void)pthread_mutex_lock(&r->mu);
    for (size_t i = 0; i < LIMITS; i++)
        n[i] = r->refused[i];
    (void)pthread_mutex_unlock(&r->mu);
    buf_printf(out, "# HELP %s Events that may be written in a second.\n# TYPE %s gauge\n", qps,
               qps);
    for (size_t i = 0; i < LIMITS; i++)
        buf_printf(out, "%s{type=\"%s\"} %lld\n", qps, limits[i].type, (long long)limits[i].qps);
    buf_printf(out, "# HELP %s Events that were too many.\n# TYPE %s counter\n", refused, refused);
    for (size_t i = 0; i < LIMITS; i++)
        buf_printf(out, "%s{type=\"%s\"} %llu\n", refused, limits[i].type,
                   (unsigned long long)n[i]);
}

/* ---- admission ---- */

static int validate(const struct admission *a, const struct json *obj, struct status *st)
{
    const struct rest_request *r = a->req;

    (void)obj;
    if (r->write.dry_run || (r->kind->group.n && !str_is(r->kind->group, "events.k8s.io")))
        return 0;
    return event_rate_take(a->server->event_rate, r->instance.id, r->namespace_, r->who->user,
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
