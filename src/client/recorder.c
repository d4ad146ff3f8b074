/* SPDX-License-Identifier: Apache-2.0 */
#include "client/recorder.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rand.h"

/* k8s: client-go/tools/record/events_cache.go and event.go */
enum {
    BURST = 25,
    REFILL_MS = 300000,
    SIMILAR_MAX = 10, /* messages of one reason … */
    SIMILAR_MS = 600000,
    RETRY_MS = 10000,
    TRIES_MAX = 12,
    WAITING_MAX = 1000,
    TOPICS_MAX = 1024,
    NOTES_MAX = 64,       /* of a topic */
    KEEP_MS = 3600000,    /* by then the server has removed it */
    MESSAGE_MAX = 1024,   /* what events.k8s.io allows */
    NAME_MAX_BYTES = 253, /* of an Event, with 17 for what makes it unique */
    TEXT_MAX = 512,       /* any other text */
};

#define COMBINED "(combined from similar events): "

struct topic;

/* One Event, on the server or on its way. */
struct note {
    struct note *next; /* of the topic */
    struct note *next_waiting;
    struct topic *topic;
    struct arena *arena; /* of its strings */
    struct recorder_object on;
    enum recorder_type type;
    str reason, name;
    struct buf message;
    bool combined, waiting, created;
    uint32_t count, sent; /* what was told, and what the server knows of it */
    int64_t first_s, last_s, last_ms;
};

/* One object that events are about. */
struct topic {
    struct topic *newer, *older; /* by use */
    struct note *notes;
    size_t nnotes;
    uint32_t tokens;
    int64_t refilled_ms;
    str key;
    char bytes[];
};

struct recorder {
    struct recorder_options o;
    struct arena *strings; /* of o */

    /* only the loop's: */
    struct client_call call;
    struct arena *arena; /* of the call in flight */
    struct note *sending;
    uint32_t sending_count;
    struct loop_timer retry;
    unsigned tries;

    pthread_mutex_t mu;
    /* guarded by mu: */
    struct map topics;
    struct topic *newest, *oldest;
    struct note *first_waiting, **last_waiting;
    uint32_t nwaiting;
    uint64_t dropped;
    struct loop_msg msg;
    bool posted, dead;
};

struct recorder_object recorder_object_of(str instance, const struct json *object)
{
    return (struct recorder_object){
        .instance = instance,
        .api_version = json_get_str(object, "apiVersion"),
        .kind = json_get_str(object, "kind"),
        .namespace = json_get_str(object, "metadata.namespace"),
        .name = json_get_str(object, "metadata.name"),
        .uid = json_get_str(object, "metadata.uid"),
        .resource_version = json_get_str(object, "metadata.resourceVersion"),
    };
}

/* ---- topics ---- */

static void topic_unlink(struct recorder *r, struct topic *t)
{
    *(t->newer ? &t->newer->older : &r->newest) = t->older;
    *(t->older ? &t->older->newer : &r->oldest) = t->newer;
    t->newer = t->older = NULL;
}

static void topic_use(struct recorder *r, struct topic *t)
{
    t->older = r->newest;
    *(r->newest ? &r->newest->newer : &r->oldest) = t;
    r->newest = t;
}

static void note_free(struct note *n)
{
    buf_release(&n->message);
    arena_free(n->arena);
    free(n);
}

static void topic_free(struct topic *t)
{
    for (struct note *n = t->notes, *next; n; n = next) {
        next = n->next;
        note_free(n);
    }
    free(t);
}

static bool topic_is_idle(const struct topic *t)
{
    for (const struct note *n = t->notes; n; n = n->next)
        if (n->waiting)
            return false;
    return true;
}

/* Makes room by the one that was longest unused. */
static bool evict(struct recorder *r)
{
    struct topic *t = r->oldest;

    while (t && !topic_is_idle(t))
        t = t->newer;
    if (!t)
        return false;
    topic_unlink(r, t);
    (void)map_remove(&r->topics, t->key);
    topic_free(t);
    return true;
}

static struct topic *topic_of(struct recorder *r, str key, int64_t now)
{
    struct topic *t = map_get(&r->topics, key);

    if (t) {
        topic_unlink(r, t);
        topic_use(r, t);
        return t;
    }
    if (map_size(&r->topics) >= TOPICS_MAX && !evict(r))
        return NULL;
    t = mem_zalloc(sizeof(*t) + key.n);
    memcpy(t->bytes, key.p, key.n);
    t->key = (str){ t->bytes, key.n };
    t->tokens = r->o.burst;
    t->refilled_ms = now;
    (void)map_put(&r->topics, t->key, t);
    topic_use(r, t);
    return t;
}

static bool take_token(const struct recorder *r, struct topic *t, int64_t now)
{
    int64_t more = (now - t->refilled_ms) / r->o.refill_ms;

    t->refilled_ms += more * r->o.refill_ms;
    if (more > r->o.burst - t->tokens)
        more = r->o.burst - t->tokens;
    t->tokens += (uint32_t)more;
    if (!t->tokens)
        return false;
    t->tokens--;
    return true;
}

/* ---- notes ---- */

static void expire(struct topic *t, int64_t now)
{
    struct note **at = &t->notes;

    while (*at) {
        struct note *n = *at;

        if (n->waiting || now - n->last_ms < KEEP_MS) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        t->nnotes--;
        note_free(n);
    }
}

static str cut(struct arena *a, str s, size_t max)
{
    return str_dup(a, str_cut(s, max));
}

/* The object's name as far as an Event may have it, and something unique. */
static str event_name(struct arena *a, str object)
{
    size_t max = NAME_MAX_BYTES - 17, n = object.n < max ? object.n : max;
    char *name = arena_printf(a, "%.*s.%016" PRIx64, (int)n, object.p ? object.p : "", rand_u64());

    for (size_t i = 0; i < n; i++)
        if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= '0' && name[i] <= '9') &&
            (name[i] != '.' || i == 0 || name[i - 1] == '.' || name[i - 1] == '-'))
            name[i] = i == 0 ? 'x' : '-';
    if (n && name[n - 1] != '.' && name[n - 1] == '-')
        name[n - 1] = 'x';
    return str_of(n ? name : name + 1);
}

static struct recorder_object object_dup(struct arena *a, const struct recorder_object *on)
{
    return (struct recorder_object){
        .instance = cut(a, on->instance, TEXT_MAX),
        .api_version = cut(a, on->api_version, TEXT_MAX),
        .kind = cut(a, on->kind, TEXT_MAX),
        .namespace = cut(a, on->namespace, TEXT_MAX),
        .name = cut(a, on->name, TEXT_MAX),
        .uid = cut(a, on->uid, TEXT_MAX),
        .resource_version = cut(a, on->resource_version, TEXT_MAX),
        .field_path = cut(a, on->field_path, TEXT_MAX),
    };
}

static struct note *note_new(struct recorder *r, struct topic *t, const struct recorder_object *on,
                             enum recorder_type type, str reason)
{
    struct note *n = mem_zalloc(sizeof(*n));

    n->arena = arena_new();
    n->topic = t;
    n->on = object_dup(n->arena, on);
    n->type = type;
    n->reason = cut(n->arena, reason, 128);
    n->name = event_name(n->arena, n->on.name);
    buf_init(&n->message, MESSAGE_MAX);
    n->first_s = clock_wall_s(r->o.clock);
    n->next = t->notes;
    t->notes = n;
    t->nnotes++;
    return n;
}

/* The note that counts this, old or new; NULL when there is no room. */
static struct note *note_of(struct recorder *r, struct topic *t, const struct recorder_object *on,
                            enum recorder_type type, str reason, str message)
{
    int64_t now = clock_now_ms(r->o.clock);
    struct note *same = NULL, *combined = NULL;
    size_t similar = 0;

    for (struct note *n = t->notes; n; n = n->next) {
        if (n->type != type || !str_eq(n->reason, reason))
            continue;
        if (n->combined)
            combined = n;
        else if (str_eq(buf_str(&n->message), message))
            same = n;
        similar += !n->combined && now - n->last_ms < SIMILAR_MS;
    }
    if (same)
        return same;
    if (similar >= SIMILAR_MAX && combined)
        return combined;
    if (t->nnotes >= NOTES_MAX)
        return NULL;
    same = note_new(r, t, on, type, reason);
    same->combined = similar >= SIMILAR_MAX;
    if (!same->combined)
        buf_str_append(&same->message, message);
    return same;
}

static void post_locked(struct recorder *r)
{
    if (r->posted)
        return;
    r->posted = true;
    loop_post(client_loop(r->o.client), &r->msg);
}

static bool tell_locked(struct recorder *r, const struct recorder_object *on,
                        enum recorder_type type, str reason, str key, str message)
{
    int64_t now = clock_now_ms(r->o.clock);
    struct topic *t = topic_of(r, key, now);
    struct note *n;

    if (!t)
        return false;
    expire(t, now);
    if (!take_token(r, t, now))
        return false;
    n = note_of(r, t, on, type, reason, message);
    if (!n || (!n->waiting && r->nwaiting >= r->o.waiting_max))
        return false;
    if (n->combined) { /* the newest stands for all */
        buf_clear(&n->message);
        buf_lit(&n->message, COMBINED);
        buf_str_append(&n->message, message);
    }
    n->count++;
    n->last_s = clock_wall_s(r->o.clock);
    n->last_ms = now;
    if (n->waiting)
        return true;
    n->waiting = true;
    n->next_waiting = NULL;
    *r->last_waiting = n;
    r->last_waiting = &n->next_waiting;
    r->nwaiting++;
    post_locked(r);
    return true;
}

void recorder_tell(struct recorder *r, const struct recorder_object *on, enum recorder_type type,
                   const char *reason, const char *fmt, ...)
{
    scoped_arena a = arena_new();
    str key = str_printf(a, "%.*s/%.*s/%.*s/%.*s/%.*s/%.*s", STR_ARG(on->instance),
                         STR_ARG(on->api_version), STR_ARG(on->kind), STR_ARG(on->namespace),
                         STR_ARG(on->name), STR_ARG(on->uid));
    str message;
    va_list ap;

    va_start(ap, fmt);
    message = cut(a, str_of(arena_vprintf(a, fmt, ap)), MESSAGE_MAX - sizeof(COMBINED));
    va_end(ap);
    (void)pthread_mutex_lock(&r->mu);
    if (!tell_locked(r, on, type, str_of(reason), key, message))
        r->dropped++;
    (void)pthread_mutex_unlock(&r->mu);
}

/* ---- sending, on the loop ---- */

static void add_text(struct json_object *o, const char *name, str value)
{
    if (value.n)
        json_add(o, str_of(name), json_of_str(value));
}

static struct json time_of(struct arena *a, int64_t s)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);

    return json_of_str((str){ text, time_format_seconds(text, s) });
}

static struct json involved(struct arena *a, const struct recorder_object *on)
{
    struct json_object o = json_object_new(a);

    add_text(&o, "kind", on->kind);
    add_text(&o, "namespace", on->namespace);
    add_text(&o, "name", on->name);
    add_text(&o, "uid", on->uid);
    add_text(&o, "apiVersion", on->api_version);
    add_text(&o, "resourceVersion", on->resource_version);
    add_text(&o, "fieldPath", on->field_path);
    return json_object_value(&o);
}

static str namespace_of(const struct note *n)
{
    return n->on.namespace.n ? n->on.namespace : STR("default");
}

/* What a patch of an Event changes, and a new one has, too. */
static void add_counts(struct json_object *o, const struct note *n)
{
    json_add(o, STR("message"), json_of_str(buf_str(&n->message)));
    json_add(o, STR("count"), json_of_int(n->count));
    json_add(o, STR("lastTimestamp"), time_of(o->arena, n->last_s));
}

static const struct json *whole_event(const struct recorder *r, struct arena *a,
                                      const struct note *n)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a),
                       source = json_object_new(a);

    add_text(&meta, "name", n->name);
    add_text(&meta, "namespace", namespace_of(n));
    add_text(&source, "component", r->o.component);
    add_text(&source, "host", r->o.host);
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(STR("Event")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("involvedObject"), involved(a, &n->on));
    json_add(&o, STR("reason"), json_of_str(n->reason));
    json_add(&o, STR("type"),
             json_of_str(n->type == RECORDER_WARNING ? STR("Warning") : STR("Normal")));
    json_add(&o, STR("source"), json_object_value(&source));
    json_add(&o, STR("firstTimestamp"), time_of(a, n->first_s));
    add_text(&o, "reportingComponent", r->o.component);
    add_text(&o, "reportingInstance", r->o.host);
    add_counts(&o, n);
    return json_object_done(&o);
}

static struct client_request request_of(const struct recorder *r, struct arena *a,
                                        const struct note *n)
{
    struct client_ref ref = { .instance = n->on.instance,
                              .version = STR("v1"),
                              .resource = STR("events"),
                              .namespace = namespace_of(n),
                              .name = n->name };
    struct json_object patch = json_object_new(a);

    if (!n->created)
        return client_request_create(a, &ref, NULL, whole_event(r, a, n));
    add_counts(&patch, n);
    return client_request_patch(a, &ref, NULL, CLIENT_PATCH_MERGE, json_object_done(&patch));
}

static void on_answer(struct client_call *call, const struct json *object,
                      const struct status *why);

/* The first that waits, if nothing is on its way. */
static void pump(struct recorder *r)
{
    struct note *n = NULL;

    if (r->sending)
        return;
    (void)pthread_mutex_lock(&r->mu);
    n = r->first_waiting;
    if (n) {
        r->arena = arena_new();
        r->call = (struct client_call){ .arena = r->arena, .done = on_answer, .user = r };
        r->call.req = request_of(r, r->arena, n);
        r->sending_count = n->count;
    }
    (void)pthread_mutex_unlock(&r->mu);
    r->sending = n;
    if (n)
        client_call(r->o.client, &r->call);
}

/* The first is done with: known to the server, or given up. */
static void settle(struct recorder *r, bool known)
{
    struct note *n = r->sending;

    r->tries = 0;
    (void)pthread_mutex_lock(&r->mu);
    r->first_waiting = n->next_waiting;
    if (!r->first_waiting)
        r->last_waiting = &r->first_waiting;
    r->nwaiting--;
    n->waiting = false;
    if (known) {
        n->created = true;
        n->sent = r->sending_count;
    } else {
        r->dropped += n->count - n->sent;
        n->sent = n->count;
    }
    if (n->count != n->sent) { /* told again meanwhile: once more, behind the others */
        n->waiting = true;
        n->next_waiting = NULL;
        *r->last_waiting = n;
        r->last_waiting = &n->next_waiting;
        r->nwaiting++;
    }
    (void)pthread_mutex_unlock(&r->mu);
}

static bool is_away(const struct status *why)
{
    int code = status_http(why);

    return code == 429 || code >= 500;
}

static void on_answer(struct client_call *call, const struct json *object, const struct status *why)
{
    struct recorder *r = call->user;
    struct arena *a = r->arena;
    struct loop *l = client_loop(r->o.client);

    (void)object;
    r->arena = NULL;
    if (!why) {
        settle(r, true);
    } else if (r->sending->created && status_is(why, REASON_NOT_FOUND)) {
        (void)pthread_mutex_lock(&r->mu);
        r->sending->created = false; /* it grew old on the server: again as a new one */
        (void)pthread_mutex_unlock(&r->mu);
    } else if (is_away(why) && ++r->tries < TRIES_MAX) {
        r->sending = NULL;
        loop_timer_set(l, &r->retry, r->o.retry_ms / 2 + rand_below((uint32_t)r->o.retry_ms));
        arena_free(a);
        return;
    } else {
        log_warn("an event is lost", log_str("event", r->sending->name), log_status(why));
        settle(r, false);
    }
    r->sending = NULL;
    arena_free(a);
    pump(r);
}

static void on_retry(struct loop_timer *t)
{
    pump((struct recorder *)((char *)t - __builtin_offsetof(struct recorder, retry)));
}

/* ---- life ---- */

static void destroy(struct recorder *r)
{
    size_t at = 0;
    void *t;
    str key;

    while (map_each(&r->topics, &at, &key, &t))
        topic_free(t);
    map_release(&r->topics);
    (void)pthread_mutex_destroy(&r->mu);
    arena_free(r->strings);
    free(r);
}

static void on_post(struct loop_msg *msg)
{
    struct recorder *r =
        (struct recorder *)((char *)msg - __builtin_offsetof(struct recorder, msg));
    bool dead;

    (void)pthread_mutex_lock(&r->mu);
    r->posted = false;
    dead = r->dead;
    (void)pthread_mutex_unlock(&r->mu);
    if (dead)
        destroy(r);
    else if (!r->retry.slot) /* not while the server is given time */
        pump(r);
}

struct recorder *recorder_new(const struct recorder_options *o)
{
    struct recorder *r = mem_zalloc(sizeof(*r));

    r->strings = arena_new();
    r->o = *o;
    r->o.clock = o->clock ? o->clock : clock_real();
    r->o.component = str_dup(r->strings, o->component);
    r->o.host = str_dup(r->strings, o->host);
    r->o.waiting_max = o->waiting_max ? o->waiting_max : WAITING_MAX;
    r->o.burst = o->burst ? o->burst : BURST;
    r->o.refill_ms = o->refill_ms ? o->refill_ms : REFILL_MS;
    r->o.retry_ms = o->retry_ms ? o->retry_ms : RETRY_MS;
    r->last_waiting = &r->first_waiting;
    r->retry.fn = on_retry;
    r->msg.fn = on_post;
    (void)pthread_mutex_init(&r->mu, NULL);
    return r;
}

void recorder_free(struct recorder *r)
{
    bool posted;

    if (!r)
        return;
    loop_timer_cancel(client_loop(r->o.client), &r->retry);
    client_call_cancel(&r->call);
    arena_free(r->arena);
    (void)pthread_mutex_lock(&r->mu);
    r->dead = true;
    posted = r->posted;
    (void)pthread_mutex_unlock(&r->mu);
    if (!posted)
        destroy(r); /* else the loop still has our message */
}

uint64_t recorder_dropped(struct recorder *r)
{
    uint64_t n;

    (void)pthread_mutex_lock(&r->mu);
    n = r->dropped;
    (void)pthread_mutex_unlock(&r->mu);
    return n;
}
