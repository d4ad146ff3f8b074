/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An informer before a server that fails in every way a server may: it is away, it forgets, its
 * watches are late, end early and in the middle of an event.  What was told must be a possible
 * history at each step, and the truth in the end.
 */

#include "client/informer.h"

#include "base/banned.h"
#include "base/rand.h"
#include "client_fake.h"
#include "tap.h"

enum { KEYS = 8, CHANGES_MAX = 4000 };

/* Change number i (from 1, its revision) sets the key to i, or removes it. */
struct change {
    int key;
    bool gone;
};

struct world {
    struct loop *loop;
    struct fake fake;
    struct client *client;
    struct informer *informer;
    struct rand_seq rand;
    struct change changes[CHANGES_MAX + 1];
    int head, floor; /* the newest revision; what is older than the floor is forgotten */
    bool faults;
    struct http_call *watch; /* that is open, or NULL */
    int watched;             /* up to which revision */
    int told[KEYS];          /* 0: it is not there, as far as anyone was told */
    int synced, lists, gone;
};

static uint32_t dice(struct world *w, uint32_t n)
{
    return rand_seq_below(&w->rand, n);
}

/* One in n, while things go wrong. */
static bool mishap(struct world *w, uint32_t n)
{
    return w->faults && dice(w, n) == 0;
}

/* The revision at which the key was set last, up to rev; 0 if it is not there. */
static int state_at(const struct world *w, int key, int rev)
{
    for (int i = rev; i > 0; i--)
        if (w->changes[i].key == key)
            return w->changes[i].gone ? 0 : i;
    return 0;
}

static void change(struct world *w)
{
    int key = (int)dice(w, KEYS);
    bool there = state_at(w, key, w->head) != 0;

    if (w->head == CHANGES_MAX)
        return;
    w->changes[++w->head] = (struct change){ key, there && dice(w, 3) == 0 };
}

/* ---- what is told ---- */

static int key_of(const struct informer_key *k)
{
    return k->name.p[0] - 'a';
}

static int version_of(const struct json *object)
{
    uint64_t n = 0;

    (void)str_to_u64(json_get_str(object, "metadata.resourceVersion"), &n);
    return (int)n;
}

static void on_added(void *arg, const struct informer_key *k, const struct json *now)
{
    struct world *w = arg;

    CHECK(w->told[key_of(k)] == 0);
    w->told[key_of(k)] = version_of(now);
}

static void on_updated(void *arg, const struct informer_key *k, const struct json *now)
{
    struct world *w = arg;

    CHECK(w->told[key_of(k)] != 0);
    CHECK(version_of(now) > w->told[key_of(k)]);
    w->told[key_of(k)] = version_of(now);
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    struct world *w = arg;

    (void)last;
    CHECK(w->told[key_of(k)] != 0);
    w->told[key_of(k)] = 0;
}

static void on_synced(void *arg)
{
    struct world *w = arg;

    w->synced++;
}

/* ---- the server ---- */

static int number_after(str path, const char *name)
{
    const char *at = strstr(path.p, name);

    return at ? (int)strtol(at + strlen(name), NULL, 10) : -1;
}

static void object(struct buf *b, int key, int rev)
{
    buf_printf(b, "{\"metadata\":{\"name\":\"%c\",\"resourceVersion\":\"%d\"}}", 'a' + key, rev);
}

static void answer_gone(struct world *w, struct http_call *call)
{
    w->gone++;
    fake_reply(call, 410, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
}

/* Three a page; the token is "revision-next key". */
static void list(struct world *w, struct http_call *call, str path)
{
    int rev = number_after(path, "continue="), n = 0, key = 0;
    scoped_buf b;

    buf_init(&b, 4096);
    if (rev >= 0)
        key = number_after(path, "-");
    else
        rev = w->head;
    if (rev < w->floor) {
        answer_gone(w, call);
        return;
    }
    w->lists++;
    buf_lit(&b, "{\"items\":[");
    for (; key < KEYS && n < 3; key++)
        if (state_at(w, key, rev)) {
            buf_printf(&b, "%s", n++ ? "," : "");
            object(&b, key, state_at(w, key, rev));
        }
    buf_printf(&b, "],\"metadata\":{\"resourceVersion\":\"%d\"", rev);
    if (key < KEYS)
        buf_printf(&b, ",\"continue\":\"%d-%d\"", rev, key);
    buf_lit(&b, "}}");
    buf_byte(&b, 0);
    fake_reply(call, 200, b.p);
}

static void serve(struct fake *f, struct http_call *call)
{
    struct world *w = f->arg;
    scoped_arena a = arena_new();
    str path = str_of(str_z(a, call->path));
    struct status st;

    status_init(&st, a);
    if (mishap(w, 5)) {
        (void)status_set(&st, REASON_UNAVAILABLE, "no route");
        fake_end(call, &st);
    } else if (mishap(w, 6)) {
        fake_reply(call, 500, "oh");
    } else if (!str_contains(path, STR("watch=true"))) {
        list(w, call, path);
    } else if (number_after(path, "resourceVersion=") < w->floor) {
        answer_gone(w, call);
    } else {
        w->watch = call;
        w->watched = number_after(path, "resourceVersion=");
        fake_open(call, 200);
    }
}

/* Some of what the watch has not seen yet, perhaps with a bookmark, perhaps cut. */
static void feed(struct world *w)
{
    int until = w->faults ? w->watched + (int)dice(w, 4) : w->head, cancels = w->fake.cancels;
    struct status st;
    scoped_arena a = arena_new();
    scoped_buf b;

    buf_init(&b, 1 << 20);
    while (w->watched < until && w->watched < w->head) {
        const struct change *c = &w->changes[++w->watched];
        bool first = state_at(w, c->key, w->watched - 1) == 0;

        buf_printf(&b, "{\"type\":\"%s\",\"object\":",
                   c->gone ? "DELETED"
                   : first ? "ADDED"
                           : "MODIFIED");
        object(&b, c->key, w->watched);
        buf_lit(&b, "}\n");
    }
    if (w->watched && dice(w, 3) == 0)
        buf_printf(&b,
                   "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}",
                   w->watched);
    if (mishap(w, 8))
        b.n = dice(w, (uint32_t)b.n + 1);
    else if (!mishap(w, 6))
        cancels = -1; /* goes on */
    buf_byte(&b, 0);
    fake_send(w->watch, b.p);
    if (cancels < 0 || cancels != w->fake.cancels)
        return;
    status_init(&st, a);
    (void)status_set(&st, REASON_UNAVAILABLE, "reset");
    fake_end(w->watch, dice(w, 2) ? &st : NULL);
    w->watch = NULL;
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

/* Something happens, then time goes by. */
static void step(struct world *w)
{
    int kept = (int)dice(w, 3);

    if (w->faults)
        for (uint32_t i = dice(w, 3); i > 0; i--)
            change(w);
    if (mishap(w, 10) && w->head - kept > w->floor)
        w->floor = w->head - kept;
    if (w->watch && !mishap(w, 3))
        feed(w);
    loop_skip_ms(w->loop, w->watch ? 100 : 45000);
    for (int i = 0; i < 4; i++) {
        loop_call(w->loop, stop_loop, w->loop);
        loop_run(w->loop);
    }
}

static bool knows_all(const struct world *w)
{
    for (int i = 0; i < KEYS; i++)
        if (w->told[i] != state_at(w, i, w->head))
            return false;
    return true;
}

static void try_world(uint64_t seed)
{
    struct world w = { .loop = loop_new(), .rand = { seed }, .faults = true };
    struct informer_options o = { .ref = { .version = STR("v1"), .resource = STR("things") },
                                  .page = 3,
                                  .added = on_added,
                                  .updated = on_updated,
                                  .deleted = on_deleted,
                                  .synced = on_synced,
                                  .arg = &w };
    int steps = 0;

    w.fake.serve = serve;
    w.fake.arg = &w;
    fake_init(&w.fake, w.loop);
    o.client = w.client = client_new(&w.fake.base);
    w.informer = informer_new(&o);
    for (int i = 0; i < 5; i++)
        change(&w);
    informer_start(w.informer);
    for (int i = 0; i < 600; i++)
        step(&w);
    w.faults = false;
    while (!knows_all(&w) && steps++ < 3000)
        step(&w);
    if (!CHECK(knows_all(&w) && w.synced == 1))
        printf("# seed %llu\n", (unsigned long long)seed);
    CHECK(w.lists > 3 && w.gone > 0); /* it was worth trying */
    informer_free(w.informer);
    CHECK(w.fake.open == 0);
    client_free(w.client);
    loop_free(w.loop);
}

TEST(what_is_told_is_the_truth_in_the_end)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        try_world(seed);
}
