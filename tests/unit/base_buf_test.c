/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdlib.h>

#include "tap.h"

TEST(appending_in_all_forms)
{
    scoped_buf b;

    buf_init(&b, 1000);
    buf_lit(&b, "a");
    buf_str_append(&b, STR("bc"));
    buf_str_append(&b, STR_NONE);
    buf_byte(&b, 'd');
    buf_u64(&b, 0);
    buf_u64(&b, UINT64_MAX);
    buf_byte(&b, ' ');
    buf_i64(&b, INT64_MIN);
    buf_printf(&b, " %s%d", "x", 5);
    CHECK(str_is(buf_str(&b), "abcd018446744073709551615 -9223372036854775808 x5"));
    CHECK(!buf_overflown(&b));
}

TEST(it_fills_up_to_its_maximum_and_no_further)
{
    scoped_buf b;

    buf_init(&b, 10);
    buf_lit(&b, "0123456789");
    CHECK(!buf_overflown(&b));
    buf_append(&b, "", 0);
    CHECK(!buf_overflown(&b));
    buf_byte(&b, 'x');
    CHECK(buf_overflown(&b));
    CHECK(str_is(buf_str(&b), "0123456789"));
}

TEST(an_overflown_buffer_stays_as_it_is)
{
    scoped_buf b;

    buf_init(&b, 4);
    buf_lit(&b, "ab");
    buf_lit(&b, "too long");
    buf_lit(&b, "c"); /* would fit, but there would be a hole */
    CHECK(buf_overflown(&b));
    CHECK(str_is(buf_str(&b), "ab"));
    buf_clear(&b);
    CHECK(!buf_overflown(&b));
    buf_lit(&b, "abcd");
    CHECK(str_is(buf_str(&b), "abcd"));
}

TEST(large_content_survives_growth)
{
    scoped_buf b;

    buf_init(&b, 1 << 20);
    for (unsigned i = 0; i < 100000; i++)
        buf_byte(&b, (char)(i % 251));
    REQUIRE(b.n == 100000);
    for (unsigned i = 0; i < 100000; i++)
        REQUIRE(b.p[i] == (char)(i % 251));
}

TEST(consume_drops_the_front)
{
    scoped_buf b;

    buf_init(&b, 100);
    buf_lit(&b, "hello world");
    buf_consume(&b, 6);
    CHECK(str_is(buf_str(&b), "world"));
    buf_consume(&b, 5);
    CHECK(buf_str(&b).n == 0);
}

TEST(reserved_room_can_be_written)
{
    scoped_buf b;
    char *p;

    buf_init(&b, 5000);
    p = buf_reserve(&b, 4000);
    REQUIRE(p);
    memset(p, 'x', 4000);
    b.n += 4000;
    CHECK(buf_reserve(&b, 1001) == NULL);
    CHECK(buf_overflown(&b));
}
