/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kills PROGRAM [KILLS [SEED]]: kills a server under mixed load, again and again, and proves each
 * time that nothing was lost, nothing half done, nothing told twice (crash/ledger.h).
 *
 * A cycle: start the server, see what is there, let all watches catch up, compare everything; then
 * load it and kill it.  Some servers are killed once more while they start.  After ten kills comes
 * a cycle in which it is told to end (SIGTERM): it must answer what it has done, and leave no leak.
 *
 * The seed decides what is written and when the server is killed, as far as the order of answers
 * does not.  30 kills by default; with SOAK in the environment 1,000.
 */

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "crash/doomed.h"
#include "crash/load.h"
#include "crash/watchers.h"

enum {
    KILLS = 30,
    KILLS_SOAK = 1000,
    READY_MS = 60000,
    CATCH_UP_MS = 30000,
    LOAD_MS = 4000, /* at most; a slow machine comes to fewer writes */
    ENDED_MS = 20000,
    CLEAN_AFTER = 10,  /* kills */
    KILL_AT_START = 4, /* one in so many */
};

struct kills {
    struct world world;
    struct load *load;
    struct watchers *watchers;
    struct dooms *dooms;
    unsigned target; /* acknowledgements before the kill */
    int64_t ready_us, ready_max_us;
    uint64_t total, total_doubt;
};

static struct kills kills;

/* ---- start ---- */

/* Once more in the middle of its recovery, at times. */
static bool killed_at_start(struct kills *k)
{
    struct world *w = &k->world;

    if (w->cycle == 0 || rand_seq_below(&w->rand, KILL_AT_START) != 0)
        return true;
    if (!process_start(&w->server))
        return false;
    (void)usleep((useconds_t)(rand_seq_u64(&w->rand) % (uint64_t)(k->ready_us + 1000)));
    process_signal(&w->server, SIGKILL);
    return process_ended(&w->server, SIGKILL, ENDED_MS);
}

static bool start(struct kills *k)
{
    struct world *w = &k->world;
    int64_t began;

    if (!killed_at_start(k))
        return false;
    began = now_us();
    if (!process_start(&w->server) || !process_ready(&w->server, READY_MS))
        return false;
    k->ready_us = now_us() - began;
    if (k->ready_us > k->ready_max_us)
        k->ready_max_us = k->ready_us;
    w->ledger.restart_rv = w->ledger.seen_rv;
    return world_connect(w);
}

static bool make(struct world *w, struct client_ref ref, const char *kind, str name)
{
    scoped_arena a = arena_new();
    struct json_object o = json_object_new(a), meta = json_object_new(a);
    struct client_request req;
    struct status st;

    json_add(&meta, STR("name"), json_of_str(name));
    json_add(&o, STR("apiVersion"),
             json_of_str(ref.group.n
                             ? str_printf(a, "%.*s/%.*s", STR_ARG(ref.group), STR_ARG(ref.version))
                             : ref.version));
    json_add(&o, STR("kind"), json_of_str(str_of(kind)));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    status_init(&st, a);
    req = client_request_create(a, &ref, NULL, json_object_done(&o));
    if (world_ask(w, a, &req, NULL, &st) == 0)
        return true;
    ledger_fail(&w->ledger, "%s %.*s: %.*s", kind, STR_ARG(name), STR_ARG(st.message));
    return false;
}

/* Instances and namespaces that stay. */
static bool furnish(struct world *w)
{
    for (unsigned h = 0; h < HOMES; h++) {
        struct client_ref instances = { .group = STR("tenancy.kairship.io"),
                                        .version = STR("v1alpha1"),
                                        .resource = STR("instances") };
        struct client_ref namespaces = { .instance = h ? str_of(homes[h]) : STR_NONE,
                                         .version = STR("v1"),
                                         .resource = STR("namespaces") };

        if (h > 0 && !make(w, instances, "Instance", str_of(homes[h])))
            return false;
        if (!make(w, namespaces, "Namespace", str_of(spaces[1])))
            return false;
    }
    return true;
}

/* ---- looking ---- */

/* A list of all, or of each instance; 0 or its revision. */
static uint64_t look(struct world *w, unsigned kind, int home, bool last)
{
    const char *when = last ? "at the end" : "after the restart";
    struct listed list = { .kind = kind, .home = home, .when = when, .last = last };
    struct target t = { .kind = kind, .instance = home < 0 ? STR("*") : str_of(homes[home]) };
    struct client_ref ref = content_ref(&t);
    scoped_arena a = arena_new();
    struct client_request req = client_request_list(a, &ref, NULL);
    const struct json *page;
    struct status st;

    status_init(&st, a);
    if (world_ask(w, a, &req, &page, &st) < 0) {
        ledger_fail(&w->ledger, "list %s: %.*s", when, STR_ARG(st.message));
        return 0;
    }
    ledger_list(&w->ledger, &list, t.instance, page);
    ledger_list_done(&w->ledger, &list);
    if (list.rv < w->ledger.restart_rv)
        ledger_fail(&w->ledger, "a list is at %llu, but %llu was seen before the restart",
                    (unsigned long long)list.rv, (unsigned long long)w->ledger.restart_rv);
    return list.rv;
}

/* Writes that every watch must hear of, after all others. */
static bool fence(struct kills *k, const struct target *t)
{
    struct world *w = &k->world;
    struct object *o = ledger_object(&w->ledger, t);
    struct op *op = ledger_op(&w->ledger, o->exists ? OP_UPDATE : OP_CREATE, t, true);
    uint64_t id = op->id;
    struct client_ref ref = content_ref(t);
    scoped_arena a = arena_new();
    const struct json *object;
    struct client_request req;

    op->prev = o->exists ? o->known.rv : 0;
    object = content_object(a, t, w->ledger.seed, id, op->prev);
    if (!o->exists)
        ref.name = STR_NONE;
    req = o->exists ? client_request_update(a, &ref, NULL, object)
                    : client_request_create(a, &ref, NULL, object);
    if (!world_write(w, id, &req))
        return false;
    watchers_expect(k->watchers, id);
    return true;
}

static bool fences(struct kills *k)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned h = 0; h < HOMES; h++)
            for (unsigned s = 0; s < SPACES; s++) {
                struct target t = { .kind = kind,
                                    .instance = str_of(homes[h]),
                                    .namespace = str_of(spaces[s]),
                                    .name = STR("fence") };

                if (!fence(k, &t))
                    return false;
            }
    return true;
}

static bool caught_up(struct world *w)
{
    (void)w;
    return watchers_caught_up(kills.watchers);
}

static bool verify(struct kills *k)
{
    struct world *w = &k->world;
    uint64_t rv = 0;

    for (unsigned kind = 0; kind < KINDS; kind++)
        rv = look(w, kind, -1, false);
    if (!k->watchers)
        k->watchers = watchers_new(w, rv);
    watchers_start(k->watchers);
    dooms_settle(k->dooms);
    if (!fences(k))
        return false;
    if (!world_wait(w, caught_up, CATCH_UP_MS)) {
        watchers_show(k->watchers);
        ledger_fail(&w->ledger, "watches do not catch up");
    }
    watchers_relist(k->watchers);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (int home = -1; home < HOMES; home++)
            (void)look(w, kind, home, true);
    ledger_verify(&w->ledger, watchers_story, k->watchers);
    watchers_verify(k->watchers);
    return w->ledger.failures == 0;
}

/* ---- load and end ---- */

static bool enough(struct world *w)
{
    return w->ledger.acknowledged >= kills.target;
}

static bool no_calls(struct world *w)
{
    return w->calls == 0;
}

/* What the sockets still hold was answered; then everything ends by itself. */
static bool drain(struct kills *k)
{
    struct world *w = &k->world;

    w->loaded = false;
    if (!world_wait(w, no_calls, ENDED_MS))
        ledger_fail(&w->ledger, "calls do not end though the server is gone");
    watchers_stop(k->watchers);
    world_disconnect(w);
    return true;
}

static bool load_and_end(struct kills *k, bool clean)
{
    struct world *w = &k->world;
    int sig = clean ? SIGTERM : SIGKILL;

    w->ledger.acknowledged = w->ledger.refused = w->ledger.doubtful = 0;
    w->ledger.doubtful_seen = 0;
    k->target = rand_seq_below(&w->rand, 4) ? rand_seq_below(&w->rand, 400) : 0;
    w->loaded = true;
    load_start(k->load);
    dooms_start(k->dooms);
    (void)world_wait(w, enough, LOAD_MS);
    (void)world_pause(w, rand_seq_below(&w->rand, 30));
    /* While the server works at what was just sent: before, at and after its sync. */
    (void)usleep(rand_seq_below(&w->rand, 8) ? rand_seq_below(&w->rand, 800) : 5000);
    w->ending = true;
    process_signal(&w->server, sig);
    if (clean)
        (void)world_wait(w, no_calls, ENDED_MS);
    if (!process_ended(&w->server, clean ? 0 : SIGKILL, ENDED_MS))
        return false;
    return drain(k);
}

/* ---- cycles ---- */

static void report(struct kills *k, unsigned n, bool ok, bool clean, uint64_t acknowledged)
{
    const struct ledger *l = &k->world.ledger;

    printf("%sok %u - %s: %llu acknowledged, %u in doubt (%u done), up to revision %llu, %lld ms\n",
           ok ? "" : "not ", n, clean ? "told to end" : "killed", (unsigned long long)acknowledged,
           l->doubtful, l->doubtful_seen, (unsigned long long)l->seen_rv,
           (long long)k->ready_us / 1000);
    (void)fflush(stdout);
}

static bool cycle(struct kills *k, unsigned n, uint64_t seed)
{
    struct world *w = &k->world;
    bool clean = n % (CLEAN_AFTER + 1) == 0, ok;
    uint64_t acknowledged;

    w->cycle = n;
    w->rand.state = content_mix(seed, n);
    ok = load_and_end(k, clean);
    acknowledged = w->ledger.acknowledged;
    w->rand.state = content_mix(seed ^ 1, n);
    ok = ok && start(k) && verify(k);
    if (clean && w->ledger.doubtful_seen) {
        ledger_fail(&w->ledger, "told to end, it did not answer all that it did");
        ok = false;
    }
    k->total += acknowledged;
    k->total_doubt += w->ledger.doubtful;
    report(k, n, ok, clean, acknowledged);
    return ok;
}

static bool run(struct kills *k, unsigned cycles, uint64_t seed)
{
    struct world *w = &k->world;
    bool ok = start(k) && furnish(w) && verify(k);
    unsigned n = 0;

    while (ok && n < cycles)
        ok = cycle(k, ++n, seed);
    if (!ok) {
        process_show_log(&w->server);
        printf("# seed %llu; the data are left in %s\n", (unsigned long long)seed, w->server.dir);
        printf("Bail out! cycle %u failed\n", n);
    }
    printf("# %llu writes acknowledged, %llu in doubt; ready again after at most %lld ms\n",
           (unsigned long long)k->total, (unsigned long long)k->total_doubt,
           (long long)k->ready_max_us / 1000);
    return ok;
}

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
    (void)sb;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void finish(struct kills *k, const char *dir, bool ok)
{
    struct world *w = &k->world;

    w->ending = true;
    if (k->watchers)
        watchers_stop(k->watchers);
    world_disconnect(w);
    process_signal(&w->server, SIGKILL);
    if (w->server.pid)
        (void)process_ended(&w->server, SIGKILL, ENDED_MS);
    if (ok)
        (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    load_free(k->load);
    watchers_free(k->watchers);
    dooms_free(k->dooms);
    ledger_release(&w->ledger);
    loop_free(w->loop);
}

static uint64_t number(const char *text, uint64_t otherwise)
{
    uint64_t n;

    return text && str_to_u64(str_of(text), &n) ? n : otherwise;
}

int main(int argc, char **argv)
{
    unsigned cycles = getenv("SOAK") ? KILLS_SOAK : KILLS;
    uint64_t seed = (uint64_t)clock_wall_us(clock_real());
    const char *tmp = getenv("TMPDIR");
    char dir[4096];
    bool ok;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: kills PROGRAM [KILLS [SEED]]\n");
        return 2;
    }
    cycles = (unsigned)number(argc > 2 ? argv[2] : NULL, cycles);
    cycles += cycles / CLEAN_AFTER;
    seed = number(argc > 3 ? argv[3] : NULL, seed);
    (void)snprintf(dir, sizeof(dir), "%s/kairship-kills-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        printf("Bail out! cannot make %s: %s\n", dir, strerrordesc_np(errno));
        return 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    printf("1..%u\n# seed %llu\n", cycles, (unsigned long long)seed);
    kills.world.server = (struct process){ .program = argv[1], .dir = dir };
    kills.world.loop = loop_new();
    ledger_init(&kills.world.ledger, seed);
    kills.load = load_new(&kills.world);
    kills.dooms = dooms_new(&kills.world);
    ok = run(&kills, cycles, seed);
    finish(&kills, dir, ok);
    return !ok;
}
