/* SPDX-License-Identifier: Apache-2.0 */
#include "client/workqueue.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/banned.h"
#include "tap.h"

static struct workqueue *queue(struct clock *c)
{
    struct workqueue_options o = { .clock = c, .base_ms = 5, .cap_ms = 1000 };

    return workqueue_new(&o);
}

static void check_next(struct workqueue *q, const char *want)
{
    str key = STR_NONE;

    if (!want) {
        CHECK(!workqueue_poll(q, &key, NULL));
        return;
    }
    CHECK(workqueue_poll(q, &key, NULL));
    CHECK(str_is(key, want));
}

TEST(keys_come_once_and_in_order)
{
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);

    workqueue_add(q, STR("a"));
    workqueue_add(q, STR("b"));
    workqueue_add(q, STR("a"));
    CHECK(workqueue_len(q) == 2);
    check_next(q, "a");
    check_next(q, "b");
    check_next(q, NULL);
    workqueue_done(q, STR("a"));
    workqueue_done(q, STR("b"));
    check_next(q, NULL);
    workqueue_free(q);
}

TEST(added_while_handled_runs_again_after)
{
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);

    workqueue_add(q, STR("a"));
    check_next(q, "a");
    workqueue_add(q, STR("a"));
    workqueue_add(q, STR("a"));
    check_next(q, NULL); /* never two workers on one key */
    workqueue_done(q, STR("a"));
    check_next(q, "a");
    workqueue_done(q, STR("a"));
    check_next(q, NULL);
    workqueue_free(q);
}

TEST(delayed_keys_come_when_it_is_time)
{
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);
    int64_t wait = 0;
    str key;

    workqueue_add_after(q, STR("late"), 100);
    workqueue_add_after(q, STR("soon"), 10);
    workqueue_add_after(q, STR("mid"), 50);
    workqueue_add_after(q, STR("late"), 20); /* the earliest counts */
    workqueue_add_after(q, STR("late"), 500);
    CHECK(!workqueue_poll(q, &key, &wait));
    CHECK(wait == 10);
    clock_advance(&c, 10);
    check_next(q, "soon");
    workqueue_done(q, STR("soon"));
    clock_advance(&c, 10);
    check_next(q, "late");
    workqueue_done(q, STR("late"));
    clock_advance(&c, 30);
    check_next(q, "mid");
    workqueue_done(q, STR("mid"));
    clock_advance(&c, 1000);
    CHECK(!workqueue_poll(q, &key, &wait));
    CHECK(wait == -1);
    workqueue_free(q);
}

TEST(backoff_doubles_up_to_the_cap_until_forgotten)
{
    static const int64_t want[] = { 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000 };
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);
    int64_t wait;
    str key;

    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        workqueue_add_failed(q, STR("a"));
        CHECK(!workqueue_poll(q, &key, &wait));
        CHECK(wait == want[i]);
        clock_advance(&c, wait);
        check_next(q, "a");
        workqueue_done(q, STR("a"));
        CHECK(workqueue_failures(q, STR("a")) == i + 1);
    }
    workqueue_forget(q, STR("a"));
    CHECK(workqueue_failures(q, STR("a")) == 0);
    workqueue_add_failed(q, STR("a"));
    CHECK(!workqueue_poll(q, &key, &wait));
    CHECK(wait == 5);
    workqueue_free(q);
}

TEST(many_delays_in_any_order)
{
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);
    char text[16];
    unsigned x = 1;
    str key;

    for (int i = 0; i < 1000; i++) {
        x = x * 1103515245 + 12345;
        (void)snprintf(text, sizeof(text), "%06u", 1 + x / 65536 % 5000);
        workqueue_add_after(q, str_of(text), 1 + x / 65536 % 5000);
    }
    for (int ms = 0; ms <= 5000; ms++) {
        clock_advance(&c, 1);
        while (workqueue_poll(q, &key, NULL)) {
            uint64_t at = 0;

            CHECK(str_to_u64(key, &at) && at == (uint64_t)ms + 1);
            workqueue_done(q, key);
        }
    }
    workqueue_free(q);
}

TEST(shutdown_hands_out_what_waits_and_nothing_else)
{
    struct clock c = { 0 };
    struct workqueue *q = queue(&c);
    str key;

    workqueue_add(q, STR("a"));
    workqueue_add_after(q, STR("b"), 1);
    workqueue_shutdown(q);
    workqueue_add(q, STR("c"));
    CHECK(workqueue_take(q, &key) && str_is(key, "a"));
    workqueue_done(q, key);
    clock_advance(&c, 1000);
    CHECK(!workqueue_take(q, &key));
    workqueue_free(q);
}

/* Several workers, several writers: no key is handled by two at once, none is lost. */

enum { KEYS = 16, ROUNDS = 2000 };

static struct workqueue *shared;
static atomic_int busy[KEYS], wanted[KEYS], handled[KEYS], overlaps;

static void *worker(void *arg)
{
    str key;

    (void)arg;
    while (workqueue_take(shared, &key)) {
        int k = key.p[0] - 'a';

        if (atomic_fetch_add(&busy[k], 1) != 0)
            atomic_fetch_add(&overlaps, 1);
        atomic_store(&handled[k], atomic_load(&wanted[k])); /* the state of the world now */
        atomic_fetch_sub(&busy[k], 1);
        workqueue_done(shared, key);
    }
    return NULL;
}

TEST(workers_share_a_queue)
{
    pthread_t threads[3];

    shared = workqueue_new(NULL);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        char key[2] = { (char)('a' + i % KEYS), '\0' };

        atomic_fetch_add(&wanted[i % KEYS], 1);
        if (i % 100 == 0)
            workqueue_add_after(shared, str_of(key), 1);
        workqueue_add(shared, str_of(key));
    }
    workqueue_shutdown(shared);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(overlaps == 0);
    for (int k = 0; k < KEYS; k++)
        CHECK(handled[k] == wanted[k]);
    workqueue_free(shared);
}

TEST(what_waits_and_what_fails_is_counted)
{
    struct clock clock = { 0 };
    metric_slot waiting = 0, failing = 0;
    const struct workqueue_options o = { .clock = &clock,
                                         .waiting = &waiting,
                                         .failing = &failing };
    struct workqueue *q = workqueue_new(&o), *other = workqueue_new(&o);
    str key;

    (void)workqueue_add(q, STR("a"));
    (void)workqueue_add(q, STR("a"));
    (void)workqueue_add(q, STR("b"));
    (void)workqueue_add(other, STR("a"));
    CHECK(waiting == 3 && failing == 0);
    REQUIRE(workqueue_poll(q, &key, NULL));
    workqueue_add_failed(q, key);
    workqueue_done(q, key);
    CHECK(waiting == 2 && failing == 1);
    clock_advance(&clock, 1000);
    REQUIRE(workqueue_poll(q, &key, NULL)); /* b */
    workqueue_done(q, key);
    REQUIRE(workqueue_poll(q, &key, NULL)); /* a, which fails again and then does not */
    workqueue_add_failed(q, key);
    CHECK(waiting == 1 && failing == 1);
    workqueue_forget(q, key);
    workqueue_done(q, key);
    CHECK(waiting == 1 && failing == 0);
    (void)workqueue_add(q, STR("c"));
    workqueue_add_failed(q, STR("d"));
    CHECK(waiting == 2 && failing == 1);
    workqueue_free(q);
    CHECK(waiting == 1 && failing == 0);
    workqueue_free(other);
    CHECK(waiting == 0);
}
