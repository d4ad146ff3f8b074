/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memo.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/epoch.h"
#include "tap.h"

static struct memo memo; /* one for all: what it holds is found at the end */

static bool holds(str key, const char *value)
{
    str found;
    bool is;

    epoch_enter();
    is = memo_find(&memo, key, memo_hash(key), &found) && str_is(found, value);
    epoch_exit();
    return is;
}

static void keep(str key, const char *value)
{
    memo_keep(&memo, key, memo_hash(key), str_of(value));
}

TEST(a_key_is_kept_when_it_comes_again)
{
    CHECK(!holds(STR("a key"), "x"));
    keep(STR("a key"), "x");
    CHECK(!holds(STR("a key"), "x"));
    keep(STR("a key"), "x");
    CHECK(holds(STR("a key"), "x"));
    CHECK(!holds(STR("a kez"), "x"));
    keep(STR_NONE, "");
    keep(STR_NONE, "");
    CHECK(holds(STR_NONE, ""));
}

TEST(what_is_too_large_is_not_kept)
{
    char big[MEMO_PAIR_MAX + 1];

    memset(big, 'x', sizeof(big));
    for (int i = 0; i < 3; i++)
        keep((str){ big, sizeof(big) }, "");
    CHECK(!holds((str){ big, sizeof(big) }, ""));
    for (int i = 0; i < 3; i++)
        keep((str){ big, sizeof(big) - 1 }, "");
    CHECK(holds((str){ big, sizeof(big) - 1 }, ""));
}

/* Two keys of one slot, and of one hash if need be: found by trying. */
TEST(one_of_a_slot_goes_for_another)
{
    str first = STR("first key");
    char other[32];
    uint64_t slot = memo_hash(first) % MEMO_SLOTS;

    for (int i = 0;; i++) {
        (void)snprintf(other, sizeof(other), "another key %d", i);
        if (memo_hash(str_of(other)) % MEMO_SLOTS == slot)
            break;
    }
    keep(first, "1");
    keep(first, "1");
    CHECK(holds(first, "1"));
    keep(str_of(other), "2");
    CHECK(holds(first, "1"));
    keep(first, "1"); /* between: the other one begins anew */
    keep(str_of(other), "2");
    CHECK(holds(first, "1") && !holds(str_of(other), "2"));
    keep(str_of(other), "2");
    CHECK(!holds(first, "1") && holds(str_of(other), "2"));
    epoch_drain();
}

TEST(a_hash_alone_is_no_key)
{
    str found;

    memo_keep(&memo, STR("this"), 7, STR("1"));
    memo_keep(&memo, STR("this"), 7, STR("1"));
    epoch_enter();
    CHECK(memo_find(&memo, STR("this"), 7, &found));
    CHECK(!memo_find(&memo, STR("that"), 7, &found));
    epoch_exit();
}

enum { ROUNDS = 4000, KEYS = 3 * MEMO_SLOTS };

static void *use(void *arg)
{
    char key[32];

    for (int i = 0; i < ROUNDS; i++) {
        int n = i * 7 % KEYS;
        str found, k = { key, (size_t)snprintf(key, sizeof(key), "key %d", n / 4) };

        epoch_enter();
        if (!memo_find(&memo, k, memo_hash(k), &found))
            memo_keep(&memo, k, memo_hash(k), k);
        else if (!str_eq(found, k))
            *(bool *)arg = true;
        epoch_exit();
        (void)epoch_reclaim();
    }
    return NULL;
}

TEST(threads_see_whole_pairs)
{
    pthread_t threads[4];
    bool wrong[4] = { false };

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, use, &wrong[i]) == 0);
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(!wrong[i]);
    }
    epoch_drain();
}
