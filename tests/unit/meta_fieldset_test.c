/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/fieldset.h"
#include "tap.h"
#include "unit/parse.h"

static struct fieldset set_of(struct arena *a, const char *text)
{
    struct fieldset s = { 0 };
    struct status st;

    status_init(&st, a);
    if (!CHECK(fieldset_parse(a, parse_quoted(a, text), &s, &st) == 0))
        printf("# %s: %.*s\n", text, STR_ARG(st.message));
    return s;
}

static const char *text_of(struct arena *a, struct fieldset s)
{
    scoped_buf b = { .max = 1 << 20 };
    char *z;

    fieldset_print(&b, &s);
    z = str_z(a, buf_str(&b));
    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

TEST(what_is_printed_is_what_was_parsed)
{
    static const char *const sets[] = {
        "{}",
        "{'f:data':{'.':{},'f:x':{}}}",
        "{'f:spec':{'f:a':{},'f:b':{'f:c':{}}}}",
        "{'f:l':{'v:1':{},'i:0':{}}}",
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        CHECK_STR(text_of(a, set_of(a, sets[i])), sets[i]);
}

TEST(elements_have_one_form)
{
    scoped_arena a = arena_new();
    struct fieldset x = set_of(a, "{'f:l':{'k:{ \\'b\\':1, \\'a\\':\\'x\\' }':{}}}");
    struct fieldset y = set_of(a, "{'f:l':{'k:{\\'a\\':\\'x\\',\\'b\\':1}':{'.':{}}}}");

    CHECK(fieldset_equal(&x, &y));
    /* one element in two spellings is one */
    x = set_of(a, "{'f:l':{'v:1':{},'v: 1':{'f:x':{}}}}");
    CHECK_STR(text_of(a, x), "{'f:l':{'v:1':{'.':{},'f:x':{}}}}");
}

TEST(what_is_no_set_is_refused)
{
    static const char *const wrong[] = {
        "[]",         "{'x':{}}",     "{'f:a':1}", "{'k:1':{}}", "{'k:{':{}}",
        "{'i:x':{}}", "{'i:1.5':{}}", "{'v:':{}}", "{'':{}}",
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct fieldset s;
        struct status st;

        status_init(&st, a);
        if (!CHECK(fieldset_parse(a, parse_quoted(a, wrong[i]), &s, &st) < 0))
            printf("# %s\n", wrong[i]);
    }
}

TEST(sets_are_combined)
{
    scoped_arena a = arena_new();
    struct fieldset x = set_of(a, "{'f:a':{'.':{},'f:x':{}},'f:b':{},'f:c':{'f:y':{}}}");
    struct fieldset y = set_of(a, "{'f:a':{},'f:b':{'f:z':{}},'f:c':{'f:y':{},'f:z':{}}}");
    struct fieldset none = { 0 };

    CHECK_STR(text_of(a, fieldset_union(a, &x, &y)),
              "{'f:a':{'.':{},'f:x':{}},'f:b':{'.':{},'f:z':{}},'f:c':{'f:y':{},'f:z':{}}}");
    CHECK_STR(text_of(a, fieldset_intersection(a, &x, &y)), "{'f:a':{},'f:c':{'f:y':{}}}");
    CHECK_STR(text_of(a, fieldset_difference(a, &x, &y)), "{'f:a':{'f:x':{}},'f:b':{}}");
    CHECK_STR(text_of(a, fieldset_without(a, &x, &y)), "{'f:b':{}}");
    CHECK_STR(text_of(a, fieldset_difference(a, &x, &none)), text_of(a, x));
    CHECK_STR(text_of(a, fieldset_union(a, &none, &y)), text_of(a, y));
    CHECK_STR(text_of(a, fieldset_intersection(a, &x, &none)), "{}");
}

struct paths {
    struct arena *arena;
    str text;
};

static void collect(void *arg, str path)
{
    struct paths *p = arg;

    p->text = str_printf(p->arena, "%.*s %.*s", STR_ARG(p->text), STR_ARG(path));
}

TEST(paths_are_written_as_messages_write_them)
{
    scoped_arena a = arena_new();
    struct fieldset s =
        set_of(a, "{'f:b':{'k:{\\'name\\':\\'x\\',\\'port\\':80}':{'.':{},'f:args':{}},"
                  "'v:\\'t\\'':{}},'f:c':{},'f:l':{'i:3':{}}}");
    struct paths p = { a, STR_NONE };

    fieldset_each(a, &s, collect, &p);
    CHECK_STR(str_z(a, p.text),
              " .c .b[name=\"x\",port=80] .b[=\"t\"] .b[name=\"x\",port=80].args .l[3]");
}

TEST(names_that_json_must_quote_come_back)
{
    scoped_arena a = arena_new();
    struct fieldset s = set_of(a, "{'f:a\\\\\\'\\n':{}}");

    CHECK_STR(text_of(a, s), "{'f:a\\\\\\'\\n':{}}");
    CHECK(fieldset_find(&s, PATH_NAME, STR("a\\\"\n")) != NULL);
    CHECK(fieldset_find(&s, PATH_VALUE, STR("a\\\"\n")) == NULL);
}
