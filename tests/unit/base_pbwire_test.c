/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pbwire.h"

#include "tap.h"

TEST(varints_are_written_in_as_few_bytes_as_they_need)
{
    static const struct {
        uint64_t value;
        str bytes;
    } cases[] = {
        { 0, STR_INIT("\0") },
        { 1, STR_INIT("\x01") },
        { 127, STR_INIT("\x7f") },
        { 128, STR_INIT("\x80\x01") },
        { 300, STR_INIT("\xac\x02") },
        { UINT32_MAX, STR_INIT("\xff\xff\xff\xff\x0f") },
        { UINT64_MAX, STR_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pb_reader r = pb_reader(cases[i].bytes);
        uint64_t back = 1;
        struct buf b;

        buf_init(&b, 64);
        pb_put_varint(&b, cases[i].value);
        CHECK(str_eq(buf_str(&b), cases[i].bytes));
        CHECK(pb_next_varint(&r, &back) && back == cases[i].value && r.p == r.end && !r.bad);
        buf_release(&b);
    }
}

TEST(what_is_written_is_read_back)
{
    struct pb_reader r;
    struct pb_field f;
    struct buf b;
    size_t outer, inner;

    buf_init(&b, 1 << 20);
    pb_put_uint(&b, 1, 150);
    pb_put_bytes(&b, 2, STR("testing"));
    pb_put_double(&b, 3, -0.5);
    outer = pb_begin(&b, 100000);
    inner = pb_begin(&b, 4);
    for (int i = 0; i < 200; i++)
        pb_put_uint(&b, 1, 1);
    pb_end(&b, inner);
    pb_put_bytes(&b, 5, STR("x"));
    pb_end(&b, outer);
    pb_end(&b, pb_begin(&b, 6));
    CHECK(str_starts(buf_str(&b), STR("\x08\x96\x01\x12\x07testing\x19")));

    r = pb_reader(buf_str(&b));
    CHECK(pb_next(&r, &f) && f.number == 1 && f.wire == PB_VARINT && f.value == 150);
    CHECK(pb_next(&r, &f) && f.number == 2 && f.wire == PB_BYTES && str_is(f.bytes, "testing"));
    CHECK(pb_next(&r, &f) && f.number == 3 && f.wire == PB_FIXED64 && pb_double(f.value) == -0.5);
    CHECK(pb_next(&r, &f) && f.number == 100000 && f.bytes.n == 1 + 2 + 400 + 3);
    if (f.number == 100000) {
        struct pb_reader in = pb_reader(f.bytes);

        CHECK(pb_next(&in, &f) && f.number == 4 && f.bytes.n == 400);
        CHECK(pb_next(&in, &f) && f.number == 5 && str_is(f.bytes, "x"));
        CHECK(!pb_next(&in, &f) && !in.bad);
    }
    CHECK(pb_next(&r, &f) && f.number == 6 && f.bytes.n == 0);
    CHECK(!pb_next(&r, &f) && !r.bad);
    buf_release(&b);
}

TEST(groups_and_fixed_numbers_are_read_over_or_given_out)
{
    struct pb_reader r = pb_reader(STR("\x0b\x10\x05\x13\x14\x0c\x1d\x01\x02\x00\x00"));
    struct pb_field f;

    CHECK(pb_next(&r, &f) && f.number == 3 && f.wire == PB_FIXED32 && f.value == 0x201);
    CHECK(!pb_next(&r, &f) && !r.bad);
}

TEST(what_makes_no_sense_is_bad)
{
    static const str cases[] = {
        STR_INIT("\x08"),                                             /* no value */
        STR_INIT("\x08\x80"),                                         /* half a varint */
        STR_INIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),     /* 65 bits */
        STR_INIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* eleven bytes */
        STR_INIT("\x12\x05"
                 "ab"),                                           /* fewer bytes than said */
        STR_INIT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* far fewer */
        STR_INIT("\x19\x01\x02"),                                 /* half a fixed64 */
        STR_INIT("\x1d\x01"),                                     /* half a fixed32 */
        STR_INIT("\x00\x01"),                                     /* number 0 */
        STR_INIT("\xf8\xff\xff\xff\x7f\x01"),                     /* number too large */
        STR_INIT("\x0e\x01"),                                     /* wire type 6 */
        STR_INIT("\x0c"),                                         /* the end of no group */
        STR_INIT("\x0b\x10\x05"),                                 /* a group without an end */
        STR_INIT("\x0b\x14"),                                     /* the end of another group */
    };
    char groups[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pb_reader r = pb_reader(cases[i]);
        struct pb_field f;

        CHECK(!pb_next(&r, &f) && r.bad);
        CHECK(!pb_next(&r, &f));
    }
    memset(groups, 0x0b, sizeof(groups));
    for (struct pb_reader r = pb_reader((str){ groups, sizeof(groups) }); r.p < r.end;) {
        struct pb_field f;

        CHECK(!pb_next(&r, &f) && r.bad);
    }
}

TEST(nothing_is_a_message_without_fields)
{
    struct pb_reader r = pb_reader(STR_NONE);
    struct pb_field f;

    CHECK(!pb_next(&r, &f) && !r.bad);
}

TEST(a_buffer_that_is_full_stays_as_it_is)
{
    struct buf b;
    size_t mark;

    buf_init(&b, 8);
    mark = pb_begin(&b, 1);
    pb_put_bytes(&b, 1, STR("longer than that"));
    pb_end(&b, mark);
    CHECK(buf_overflown(&b));
    buf_release(&b);
    buf_init(&b, 2 + 200); /* room for all but the second byte of the length */
    mark = pb_begin(&b, 1);
    for (int i = 0; i < 100; i++)
        pb_put_uint(&b, 1, 1);
    CHECK(!buf_overflown(&b));
    pb_end(&b, mark);
    CHECK(buf_overflown(&b));
    buf_release(&b);
}
