/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"

#include "base/arena.h"
#include "base/rand.h"
#include "tap.h"

TEST(base64_of_rfc_4648)
{
    static const char *const plain[] = { "", "f", "fo", "foo", "foob", "fooba", "foobar" };
    static const char *const coded[] = { "",         "Zg==",     "Zm8=",    "Zm9v",
                                         "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < 7; i++) {
        str back;

        CHECK_STR(base64_encode(a, BASE64_STD, str_of(plain[i])).p, coded[i]);
        REQUIRE(base64_decode(a, BASE64_STD, str_of(coded[i]), &back));
        CHECK_STR(back.p, plain[i]);
    }
}

TEST(base64_for_urls_has_no_padding)
{
    scoped_arena a = arena_new();
    str out;

    CHECK_STR(base64_encode(a, BASE64_URL, STR("\xff\xfe")).p, "__4");
    CHECK_STR(base64_encode(a, BASE64_STD, STR("\xff\xfe")).p, "//4=");
    CHECK(base64_decode(a, BASE64_URL, STR("__4"), &out) && str_is(out, "\xff\xfe"));
    CHECK(!base64_decode(a, BASE64_URL, STR("__4="), &out));
    CHECK(!base64_decode(a, BASE64_URL, STR("//4"), &out));
    CHECK(!base64_decode(a, BASE64_STD, STR("__4="), &out));
}

TEST(base64_that_is_not_exactly_right_is_refused)
{
    static const char *const bad[] = {
        "Z",      "Zg",   "Zg=",  "Zg===", "Zm9v=",    "=",     "====",      "Zm9 v",
        "Zm9v\n", "Zh==", "Zm9=", "Z=g=",  "Zg==Zg==", "Zm9v!", "zz\xc3\xa4"
    };
    scoped_arena a = arena_new();
    str out = STR("untouched");

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (!CHECK(!base64_decode(a, BASE64_STD, str_of(bad[i]), &out)))
            printf("# %s\n", bad[i]);
    CHECK(str_is(out, "untouched"));
}

TEST(base64_as_go_reads_it)
{
    scoped_arena a = arena_new();
    str out;

    CHECK(base64_decode(a, BASE64_GO, STR("Zm9v\r\nYmE=\n"), &out) && str_is(out, "fooba"));
    CHECK(base64_decode(a, BASE64_GO, STR("Zh=\n="), &out) && str_is(out, "f"));
    CHECK(!base64_decode(a, BASE64_GO, STR("Zm9v YmE="), &out));
    CHECK(!base64_decode(a, BASE64_GO, STR("Zg"), &out));
}

TEST(random_bytes_come_back)
{
    struct rand_seq r = { 1 };

    for (size_t n = 0; n < 200; n++) {
        scoped_arena a = arena_new();
        char bytes[200], hex[400], again[200];
        str back;

        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)rand_seq_below(&r, 256);
        for (int form = BASE64_STD; form <= BASE64_GO; form++) {
            str text = base64_encode(a, (enum base64)form, (str){ bytes, n });

            REQUIRE(base64_decode(a, (enum base64)form, text, &back));
            CHECK(str_eq(back, (str){ bytes, n }));
        }
        REQUIRE(percent_decode(a, PERCENT_QUERY, percent_encode(a, (str){ bytes, n }), &back));
        CHECK(str_eq(back, (str){ bytes, n }));
        hex_encode(hex, bytes, n);
        REQUIRE(hex_decode((str){ hex, 2 * n }, again));
        CHECK(n == 0 || memcmp(bytes, again, n) == 0);
    }
}

TEST(hex_has_pairs_of_digits)
{
    unsigned char out[4] = { 9, 9, 9, 9 };

    CHECK(hex_decode(STR("00fFa5"), out));
    CHECK(out[0] == 0 && out[1] == 0xff && out[2] == 0xa5 && out[3] == 9);
    CHECK(!hex_decode(STR("abc"), out));
    CHECK(!hex_decode(STR("11gg"), out));
    CHECK(out[0] == 0);
}

TEST(percent_escapes)
{
    scoped_arena a = arena_new();
    str out = STR("untouched"), plain = STR("no-escapes");

    CHECK(percent_decode(a, PERCENT_PATH, plain, &out) && out.p == plain.p);
    CHECK(percent_decode(a, PERCENT_PATH, STR("a%2Fb%20c+d"), &out) && str_is(out, "a/b c+d"));
    CHECK(percent_decode(a, PERCENT_QUERY, STR("a%2Fb%20c+d"), &out) && str_is(out, "a/b c d"));
    CHECK(percent_decode(a, PERCENT_PATH, STR("%00"), &out) && out.n == 1 && out.p[0] == '\0');
    CHECK(!percent_decode(a, PERCENT_PATH, STR("%"), &out));
    CHECK(!percent_decode(a, PERCENT_PATH, STR("a%2"), &out));
    CHECK(!percent_decode(a, PERCENT_PATH, STR("%zz"), &out));
    CHECK(out.n == 1);
    CHECK_STR(percent_encode(a, STR("a b/c=d,\xc3\xa4~")).p, "a%20b%2Fc%3Dd%2C%C3%A4~");
}
