/* SPDX-License-Identifier: Apache-2.0 */
#include "client/object_scan.h"

#include "base/banned.h"
#include "tap.h"

TEST(says_which_object_it_is)
{
    struct object_scan g;

    CHECK(object_scan(STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                          "\"namespace\":\"b\",\"resourceVersion\":\"12\",\"x\":broken"),
                      false, &g));
    CHECK(str_is(g.name, "a"));
    CHECK(str_is(g.namespace, "b"));
    CHECK(str_is(g.version, "12"));
    CHECK(g.instance.n == 0);
}

TEST(looks_past_what_stands_before)
{
    struct object_scan g;

    CHECK(object_scan(STR("{\"spec\":{\"metadata\":{\"name\":\"no\"},\"s\":\"}\\\"{\\\\\"},"
                          "\"n\":[1,{\"name\":2}],\"metadata\":{\"labels\":{\"name\":\"no\"},"
                          "\"name\":\"node\",\"resourceVersion\":\"3\"}}"),
                      false, &g));
    CHECK(str_is(g.name, "node"));
    CHECK(str_is(g.version, "3"));
    CHECK(g.namespace.n == 0);
}

TEST(the_instance_is_an_annotation)
{
    static const char text[] =
        "{\"metadata\":{\"annotations\":{\"a\":\"b\",\"kairship.io/instance\":"
        "\"t1\",\"c\":\"d\"},\"name\":\"x\",\"namespace\":\"y\","
        "\"resourceVersion\":\"7\"}}";
    struct object_scan g;

    CHECK(object_scan(str_of(text), true, &g));
    CHECK(str_is(g.instance, "t1"));
    CHECK(str_is(g.name, "x"));
    CHECK(object_scan(str_of(text), false, &g));
    CHECK(g.instance.n == 0);
}

TEST(what_is_unusual_is_left_to_the_parser)
{
    static const str texts[] = {
        STR_INIT(""),
        STR_INIT("[]"),
        STR_INIT("{}"),
        STR_INIT("{ \"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}"),
        STR_INIT("{\"metadata\": {\"name\":\"a\",\"resourceVersion\":\"1\"}}"),
        STR_INIT("{\"metadata\":{\"name\":\"\\u0061\",\"resourceVersion\":\"1\"}}"),
        STR_INIT("{\"metadata\":{\"name\":\"a\"}}"),
        STR_INIT("{\"metadata\":{\"name\":1,\"resourceVersion\":\"1\"}}"),
        STR_INIT("{\"a\":\"\\\""),
        STR_INIT("{\"metadata\":{\"labels\":{\"a\":[\"b\","),
    };
    struct object_scan g;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        CHECK(!object_scan(texts[i], true, &g));
}
