/* SPDX-License-Identifier: Apache-2.0 */
#include "client/coalesce.h"

#include "base/banned.h"
#include "tap.h"

static struct object_scan object(const char *name)
{
    return (struct object_scan){ .namespace = STR("d"), .name = str_of(name) };
}

static void put(struct coalesce *g, const char *name, bool gone, const char *text)
{
    struct object_scan of = object(name);

    coalesce_put(g, &of, gone, str_of(text));
}

TEST(the_next_event_of_an_object_takes_the_place_of_the_last)
{
    struct coalesce g;
    struct coalesced *e;

    coalesce_init(&g);
    put(&g, "a", false, "one");
    put(&g, "b", false, "two");
    put(&g, "a", true, "three");
    CHECK(map_size(&g.events) == 2);
    e = coalesce_next(&g);
    CHECK(str_is(e->key, "/d/a") && e->gone && e->n == 5 && memcmp(e->text, "three", 5) == 0);
    coalesced_free(e);
    put(&g, "a", false, "four");
    e = coalesce_take(&g);
    CHECK(str_is(e->key, "/d/b") && !e->gone);
    CHECK(str_is(e->next->key, "/d/a") && !e->next->next);
    CHECK(!g.first && g.bytes == 0 && !coalesce_next(&g));
    coalesced_free(e);
}

TEST(bytes_are_those_that_are_held)
{
    struct coalesce g;

    coalesce_init(&g);
    put(&g, "a", false, "a long text");
    put(&g, "a", false, "short");
    CHECK(g.bytes == sizeof(struct coalesced) + 4 + 5);
    coalesced_free(coalesce_next(&g));
    CHECK(g.bytes == 0);
    put(&g, "a", false, "again");
    coalesce_release(&g);
    CHECK(!g.first && g.bytes == 0);
}

TEST(who_hears_little_does_not_wait)
{
    struct coalesce g;

    coalesce_init(&g);
    for (int n = 0; n < 19; n++)
        coalesce_count(&g, 1000);
    CHECK(coalesce_wait(&g, 1000) == 0);
    coalesce_count(&g, 1000);
    CHECK(coalesce_wait(&g, 1000) == 20);
    for (int n = 0; n < 1000; n++)
        coalesce_count(&g, 1000);
    CHECK(coalesce_wait(&g, 1000) == 500);
    CHECK(coalesce_wait(&g, 4000) == 0);
}
