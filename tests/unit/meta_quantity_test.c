/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/quantity.h"

#include "tap.h"

TEST(quantities_are_printed_as_kubernetes_prints_them)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "0", "0" },
        { "0.5", "500m" },
        { "1024Mi", "1Gi" },
        { "1.5Gi", "1536Mi" },
        { "1", "1" },
        { "1000", "1k" },
        { "1000m", "1" },
        { "1500m", "1500m" },
        { "100000", "100k" },
        { "1Ki", "1Ki" },
        { "1025Ki", "1025Ki" },
        { "1024", "1024" },
        { "1000Ki", "1000Ki" },
        { "0.5Ki", "512" },
        { "0.001Ki", "1024m" },
        { "1.1Ki", "1126400m" },
        { "-1", "-1" },
        { "-0.5", "-500m" },
        { "-1024Ki", "-1Mi" },
        { "+5000", "5k" },
        { "1e3", "1e3" },
        { "1E3", "1E3" },
        { "12e6", "12e6" },
        { "1000e0", "1e3" },
        { "1.5e4", "1.5e4" },
        { "15e-1", "1500e-3" },
        { "1e+3", "1e+3" },
        { "0.1n", "1n" },
        { "1n", "1n" },
        { "1000n", "1u" },
        { "0.0000000001", "1n" },
        { "1E", "1E" },
        { "1Ei", "1Ei" },
        { "1000P", "1E" },
        { "1000E", "1000E" },
        { "9223372036854775807", "9223372036854775807" },
        { "8Ei", "9223372036854775807" },
        { "100Ei", "9223372036854775807" },
        { "1.0000000000000000000000000000000000000000001", "1000000001n" },
        { "0.00000000000000000000000000000000000000000000000000001Ei", "1n" },
        { "1e-1000000", "1e-9" },
        { "0e1000000", "0" },
        { "-0", "0" },
        { "00.100", "100m" },
        { ".5", "500m" },
        { "1.", "1." },
        { "5.G", "5.G" },
        /* not canonical, but kept: see quantity_canonical */
        { "1.500", "1.500" },
        { "05", "05" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        str out = STR_NONE;

        CHECK(quantity_canonical(a, str_of(cases[i].in), &out));
        CHECK_STR(str_z(a, out), cases[i].out);
    }
}

TEST(printing_is_canonical)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "1.500", "1500m" },   { "05", "5" },    { "1e+3", "1e3" },
        { "1.5e4", "15e3" },    { "1E3", "1e3" }, { "2000000Ki", "2000000Ki" },
        { "1048576Ki", "1Gi" }, { "5.G", "5G" },  { "100Mi", "100Mi" },
        { "1000000", "1M" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct quantity q, again;
        str text;

        REQUIRE(quantity_parse(str_of(cases[i].in), &q));
        text = quantity_print(a, &q);
        CHECK_STR(str_z(a, text), cases[i].out);
        CHECK(quantity_parse(text, &again) && quantity_cmp(&q, &again) == 0);
    }
}

TEST(what_is_no_quantity)
{
    static const char *const cases[] = { "",       "x",
                                         "1x",     "1.2.3",
                                         "1 ",     " 1",
                                         "1mm",    "1e",
                                         "1i",     "1ki",
                                         "1KI",    "--1",
                                         "1e1.5",  "0x10",
                                         "1,5",    "1e1m",
                                         "∞",      "1Zi",
                                         "NaN",    "1em",
                                         "1Ki100", "1e99999999999999999999" };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct quantity q;

        if (!CHECK(!quantity_parse(str_of(cases[i]), &q)))
            printf("# %s\n", cases[i]);
    }
}

TEST(values_are_compared_whatever_their_suffix)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        { "1", "1000m", 0 }, { "1Ki", "1024", 0 },    { "1k", "1Ki", -1 }, { "1e3", "1k", 0 },
        { "-1", "0", -1 },   { "1n", "0", 1 },        { "1Ei", "1E", 1 },  { "2", "1999m", 1 },
        { "8Ei", "9Ei", 0 }, { "-100Ei", "8Ei", -1 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct quantity x, y;

        REQUIRE(quantity_parse(str_of(cases[i].a), &x) && quantity_parse(str_of(cases[i].b), &y));
        CHECK(quantity_cmp(&x, &y) == cases[i].order);
        CHECK(quantity_cmp(&y, &x) == -cases[i].order);
    }
}
