/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/arena.h"
#include "base/rand.h"
#include "tap.h"

static int values[1000];

TEST(an_empty_map_has_nothing)
{
    struct map m = { 0 };
    size_t at = 0;
    str key;
    void *value;

    CHECK(map_get(&m, STR("x")) == NULL);
    CHECK(map_remove(&m, STR("x")) == NULL);
    CHECK(!map_each(&m, &at, &key, &value));
    CHECK(map_size(&m) == 0);
    map_release(&m);
}

TEST(put_get_replace_remove)
{
    struct map m = { 0 };

    CHECK(map_put(&m, STR("a"), &values[1]) == NULL);
    CHECK(map_put(&m, STR("b"), &values[2]) == NULL);
    CHECK(map_get(&m, STR("a")) == &values[1]);
    CHECK(map_put(&m, STR("a"), &values[3]) == &values[1]);
    CHECK(map_size(&m) == 2);
    CHECK(map_get(&m, STR("a")) == &values[3]);
    CHECK(map_remove(&m, STR("a")) == &values[3]);
    CHECK(map_get(&m, STR("a")) == NULL);
    CHECK(map_get(&m, STR("b")) == &values[2]);
    CHECK(map_size(&m) == 1);
    map_release(&m);
    CHECK(map_size(&m) == 0);
}

TEST(the_empty_string_is_a_key)
{
    struct map m = { 0 };

    CHECK(map_put(&m, STR_NONE, &values[1]) == NULL);
    CHECK(map_get(&m, STR("")) == &values[1]);
    map_release(&m);
}

/* The model is an array: key i has value model[i] or none. */
static void random_history(uint32_t keys, int steps)
{
    scoped_arena a = arena_new();
    struct rand_seq r = { keys };
    struct map m = { 0 };
    struct map64 m64 = { 0 };
    void *model[1000] = { NULL };
    size_t n = 0;

    for (int i = 0; i < steps; i++) {
        uint32_t k = rand_seq_below(&r, keys);
        str key = str_printf(a, "key-%u", k);
        void *value = &values[rand_seq_below(&r, 1000)];

        if (rand_seq_below(&r, 2)) {
            REQUIRE(map_put(&m, key, value) == model[k]);
            REQUIRE(map64_put(&m64, k * 65536ull, value) == model[k]);
            n += !model[k];
            model[k] = value;
        } else {
            REQUIRE(map_remove(&m, key) == model[k]);
            REQUIRE(map64_remove(&m64, k * 65536ull) == model[k]);
            n -= model[k] != NULL;
            model[k] = NULL;
        }
        REQUIRE(map_size(&m) == n && map64_size(&m64) == n);
    }
    for (uint32_t k = 0; k < keys; k++) {
        CHECK(map_get(&m, str_printf(a, "key-%u", k)) == model[k]);
        CHECK(map64_get(&m64, k * 65536ull) == model[k]);
    }
    map_release(&m);
    map64_release(&m64);
}

TEST(random_histories_agree_with_a_model)
{
    random_history(3, 1000);
    random_history(20, 5000);
    random_history(1000, 20000);
}

TEST(each_gives_every_entry_once)
{
    scoped_arena a = arena_new();
    struct map m = { 0 };
    bool seen[1000] = { false };
    size_t at = 0, n = 0;
    void *value;
    str key;

    for (int i = 0; i < 1000; i++)
        (void)map_put(&m, str_printf(a, "%d", i), &values[i]);
    while (map_each(&m, &at, &key, &value)) {
        ptrdiff_t i = (int *)value - values;

        CHECK(str_eq(key, str_printf(a, "%d", (int)i)));
        CHECK(!seen[i]);
        seen[i] = true;
        n++;
    }
    CHECK(n == 1000);
    map_release(&m);
}

TEST(numbers_of_every_size_are_keys)
{
    static const uint64_t keys[] = { 0, 1, UINT64_MAX, 1ull << 32, 1ull << 63 };
    struct map64 m = { 0 };
    uint64_t key, sum = 0;
    size_t at = 0;
    void *value;

    for (size_t i = 0; i < 5; i++)
        CHECK(map64_put(&m, keys[i], &values[i]) == NULL);
    for (size_t i = 0; i < 5; i++)
        CHECK(map64_get(&m, keys[i]) == &values[i]);
    CHECK(map64_get(&m, 2) == NULL);
    while (map64_each(&m, &at, &key, &value))
        sum ^= key;
    CHECK(sum == (1 ^ UINT64_MAX ^ 1ull << 32 ^ 1ull << 63));
    map64_release(&m);
}
