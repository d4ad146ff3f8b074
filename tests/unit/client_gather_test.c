/* SPDX-License-Identifier: Apache-2.0 */
#include "client/gather.h"

#include "base/banned.h"
#include "tap.h"

static struct glance object(const char *name)
{
    return (struct glance){ .namespace = STR("d"), .name = str_of(name) };
}

static void put(struct gather *g, const char *name, bool gone, const char *text)
{
    struct glance of = object(name);

    gather_put(g, &of, gone, str_of(text));
}

TEST(the_next_event_of_an_object_takes_the_place_of_the_last)
{
    struct gather g;
    struct gathered *e;

    gather_init(&g);
    put(&g, "a", false, "one");
    put(&g, "b", false, "two");
    put(&g, "a", true, "three");
    CHECK(map_size(&g.events) == 2);
    e = gather_next(&g);
    CHECK(str_is(e->key, "/d/a") && e->gone && e->n == 5 && memcmp(e->text, "three", 5) == 0);
    gathered_free(e);
    put(&g, "a", false, "four");
    e = gather_take(&g);
    CHECK(str_is(e->key, "/d/b") && !e->gone);
    CHECK(str_is(e->next->key, "/d/a") && !e->next->next);
    CHECK(!g.first && g.bytes == 0 && !gather_next(&g));
    gathered_free(e);
}

TEST(bytes_are_those_that_are_held)
{
    struct gather g;

    gather_init(&g);
    put(&g, "a", false, "a long text");
    put(&g, "a", false, "short");
    CHECK(g.bytes == sizeof(struct gathered) + 4 + 5);
    gathered_free(gather_next(&g));
    CHECK(g.bytes == 0);
    put(&g, "a", false, "again");
    gather_release(&g);
    CHECK(!g.first && g.bytes == 0);
}

TEST(who_hears_little_does_not_wait)
{
    struct gather g;

    gather_init(&g);
    for (int n = 0; n < 19; n++)
        gather_count(&g, 1000);
    CHECK(gather_wait(&g, 1000) == 0);
    gather_count(&g, 1000);
    CHECK(gather_wait(&g, 1000) == 20);
    for (int n = 0; n < 1000; n++)
        gather_count(&g, 1000);
    CHECK(gather_wait(&g, 1000) == 500);
    CHECK(gather_wait(&g, 4000) == 0);
}
