/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include <stdbool.h>

#include "tap.h"

TEST(bytes_differ_from_call_to_call)
{
    for (size_t n = 16; n < 600; n += 37) {
        unsigned char a[600] = { 0 }, b[600] = { 0 };

        rand_bytes(a, n);
        rand_bytes(b, n);
        CHECK(memcmp(a, b, n) != 0);
        CHECK(n == sizeof(a) || a[n] == 0); /* not written beyond n */
    }
    CHECK(rand_u64() != rand_u64());
}

TEST(every_bit_is_sometimes_one_and_sometimes_zero)
{
    uint64_t ones = 0, zeros = 0;

    for (int i = 0; i < 200; i++) {
        uint64_t v = rand_u64();

        ones |= v;
        zeros |= ~v;
    }
    CHECK(ones == UINT64_MAX && zeros == UINT64_MAX);
}

TEST(below_reaches_all_and_only_what_it_should)
{
    unsigned seen[7] = { 0 };

    for (int i = 0; i < 7000; i++) {
        uint32_t v = rand_below(7);

        REQUIRE(v < 7);
        seen[v]++;
    }
    for (size_t i = 0; i < 7; i++)
        CHECK(seen[i] > 700 && seen[i] < 1300); /* ten standard deviations */
    CHECK(rand_below(1) == 0);
}

TEST(suffixes_have_kubernetes_alphabet)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    bool seen[sizeof(alphabet)] = { false };

    for (int i = 0; i < 1000; i++) {
        char s[RAND_SUFFIX_LEN + 1];

        rand_suffix(s);
        REQUIRE(strlen(s) == 5);
        REQUIRE(strspn(s, alphabet) == 5);
        for (size_t k = 0; k < 5; k++)
            seen[strchr(alphabet, s[k]) - alphabet] = true;
    }
    for (size_t i = 0; i < sizeof(alphabet) - 1; i++)
        CHECK(seen[i]);
}

/* Test vectors of splitmix64 for the seed 1234567. */
TEST(a_sequence_repeats_for_its_seed)
{
    struct rand_seq a = { 1234567 }, b = { 1234567 };

    CHECK(rand_seq_u64(&a) == 6457827717110365317u);
    CHECK(rand_seq_u64(&a) == 3203168211198807973u);
    CHECK(rand_seq_u64(&b) == 6457827717110365317u);
    for (int i = 0; i < 1000; i++)
        REQUIRE(rand_seq_below(&b, 3) < 3);
}
