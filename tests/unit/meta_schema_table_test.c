/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/schema_table.h"

#include "tap.h"

static const char meta_table[] = "table io.example.meta.v1\n"
                                 "type ObjectMeta | Metadata.\n"
                                 "  name 1 string\n"
                                 "type ListMeta\n"
                                 "  resourceVersion 6 string\n";

static const char core_table[] = "# Types for these tests.\n"
                                 "table io.example.core.v1        # all names begin so\n"
                                 "use meta io.example.meta.v1\n"
                                 "\n"
                                 "kind Thing | A thing | of sorts.\n"
                                 "  spec        2 ThingSpec always required | What it should be.\n"
                                 "  data        3 map[string]\n"
                                 "  raw         4 map[bytes]\n"
                                 "  extra       5 map[Extra]\n"
                                 "  matrix      6 [][]int32\n"
                                 "list Thing\n"
                                 "type ThingSpec atomic\n"
                                 "  port        1 int32 default=80 | A port.\n"
                                 "  protocol    2 string default=\"TCP\" enum=TCP,UDP\n"
                                 "  flag        3 *bool\n"
                                 "  items       4 []Item merge=name retain list=map(name,port)\n"
                                 "  words       5 []string merge list=set\n"
                                 "  args        6 []string list=atomic\n"
                                 "  plain       7 []string\n"
                                 "  selector    8 map[string] atomic\n"
                                 "  when        - time always\n"
                                 "\t+           9 Source\n"
                                 "type Item\n"
                                 "  name 1 string required\n"
                                 "type Source | Where from.\n"
                                 "  url  1 string\n"
                                 "  inner 2 *Item\n"
                                 "alias Extra 1 []string\n"
                                 "root Options\n"
                                 "  dryRun 1 []string\n";

static struct schema_set *load(struct arena *a)
{
    struct schema_set *s = schema_set_new();
    struct status st;

    status_init(&st, a);
    if (!CHECK(schema_set_add(s, str_of(core_table), &st) == 0) ||
        !CHECK(schema_set_add(s, str_of(meta_table), &st) == 0) ||
        !CHECK(schema_set_link(s, &st) == 0))
        printf("# %.*s\n", STR_ARG(st.message));
    return s;
}

static const struct schema_field *field(const struct schema_set *s, const char *type,
                                        const char *name)
{
    const struct schema *t = schema_set_find(s, str_of(type));

    return t ? schema_field(t, str_of(name)) : NULL;
}

TEST(a_kind_has_its_own_fields_and_those_of_every_kind)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const struct schema *t = schema_set_find(s, STR("io.example.core.v1.Thing"));

    CHECK(t && t->type == SCHEMA_OBJECT && t->nfields == 8);
    CHECK(t && str_is(t->name, "io.example.core.v1.Thing"));
    CHECK(t && str_is(t->doc, "A thing | of sorts."));
    for (size_t i = 1; t && i < t->nfields; i++)
        CHECK(str_cmp(t->fields[i - 1].name, t->fields[i].name) < 0);
    if (t) {
        const struct schema_field *f = schema_field(t, STR("metadata"));

        CHECK(f && f->proto == 1 && f->presence == SCHEMA_ALWAYS);
        CHECK(f && str_is(f->type->name, "io.example.meta.v1.ObjectMeta"));
        CHECK(schema_field(t, STR("kind")) && schema_field(t, STR("apiVersion")));
        CHECK(schema_field(t, STR("kind"))->proto == 0);
        CHECK(!schema_field(t, STR("Kind")) && !schema_field(t, STR("")));
        f = schema_field(t, STR("spec"));
        CHECK(f->required && f->proto == 2 && str_is(f->doc, "What it should be."));
    }
    schema_set_free(s);
}

TEST(a_list_is_made_of_its_kind)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const struct schema_field *f = field(s, "io.example.core.v1.ThingList", "items");

    CHECK(f && f->type->type == SCHEMA_LIST && f->required && f->proto == 2);
    CHECK(f && f->type->items == schema_set_find(s, STR("io.example.core.v1.Thing")));
    f = field(s, "io.example.core.v1.ThingList", "metadata");
    CHECK(f && str_is(f->type->name, "io.example.meta.v1.ListMeta"));
    schema_set_free(s);
}

TEST(types_nest)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const struct schema_field *f = field(s, "io.example.core.v1.Thing", "matrix");

    CHECK(f && f->type->type == SCHEMA_LIST && f->type->items->type == SCHEMA_LIST &&
          f->type->items->items->type == SCHEMA_INT32);
    f = field(s, "io.example.core.v1.Thing", "raw");
    CHECK(f && f->type->type == SCHEMA_MAP && f->type->items->type == SCHEMA_BYTES);
    f = field(s, "io.example.core.v1.Thing", "extra");
    CHECK(f && f->type->items->type == SCHEMA_LIST && f->type->items->wrapped == 1 &&
          f->type->items->items->type == SCHEMA_STRING);
    f = field(s, "io.example.core.v1.Options", "dryRun");
    CHECK(f && f->type->type == SCHEMA_LIST && f->type->wrapped == 0);
    schema_set_free(s);
}

TEST(flags_are_kept)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const char *spec = "io.example.core.v1.ThingSpec";
    const struct schema_field *f = field(s, spec, "items");

    CHECK(f && f->patch_merge && f->retain_keys && str_is(f->merge_key, "name"));
    CHECK(f && f->list_typed && f->list_type == SCHEMA_LIST_MAP && f->nlist_keys == 2 &&
          str_is(f->list_keys[0], "name") && str_is(f->list_keys[1], "port"));
    f = field(s, spec, "words");
    CHECK(f && f->patch_merge && f->merge_key.n == 0 && f->list_type == SCHEMA_LIST_SET);
    f = field(s, spec, "args");
    CHECK(f && f->list_typed && f->list_type == SCHEMA_LIST_ATOMIC && !f->patch_merge);
    f = field(s, spec, "plain");
    CHECK(f && !f->list_typed && f->list_type == SCHEMA_LIST_ATOMIC);
    f = field(s, spec, "flag");
    CHECK(f && f->presence == SCHEMA_POINTER && f->type->type == SCHEMA_BOOL && !f->absent);
    f = field(s, spec, "protocol");
    CHECK(f && f->nenums == 2 && str_is(f->enums[1], "UDP"));
    CHECK(f && f->default_value && str_is(json_str(f->default_value), "TCP"));
    CHECK(f && f->absent == f->default_value && f->fill);
    f = field(s, spec, "when");
    CHECK(f && f->proto == 0 && json_is(f->absent, JSON_NULL));
    CHECK(field(s, spec, "selector")->map_atomic && !field(s, spec, "plain")->map_atomic);
    CHECK(schema_set_find(s, str_of(spec))->map_atomic);
    schema_set_free(s);
}

TEST(embedded_fields_are_fields_without_a_number_of_their_own)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const struct schema *t = schema_set_find(s, STR("io.example.core.v1.ThingSpec"));
    const struct schema_field *f = t ? schema_field(t, STR("url")) : NULL;

    CHECK(f && f->proto == 0);
    CHECK(t && t->nembeds == 1 && t->embeds[0].proto == 9);
    CHECK(t && schema_field(t->embeds[0].type, STR("url"))->proto == 1);
    schema_set_free(s);
}

TEST(absent_objects_have_their_own_defaults)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    const struct schema_field *f = field(s, "io.example.core.v1.Thing", "spec");

    REQUIRE(f && f->absent);
    CHECK_STR(json_text(a, f->absent).p, "{\"port\":80,\"protocol\":\"TCP\",\"when\":null}");
    schema_set_free(s);
}

static void count(void *arg, const struct schema *t)
{
    str **names = arg;

    *(*names)++ = t->name;
}

TEST(what_is_filled_in_is_not_published)
{
    static const char table[] = "table io.example.x.v1\n"
                                "type Outer\n"
                                "  policy 1 string fill=\"Always\"\n"
                                "  grace  2 *int64 fill=30\n"
                                "  many   3 []Outer\n"
                                "  more   4 []Outer\n"
                                "  + 5 Inner\n"
                                "part Inner\n"
                                "  kind 1 string\n";
    scoped_arena a = arena_new();
    struct schema_set *s = schema_set_new();
    const struct schema *outer;
    const struct json *in, *out;
    struct status st;
    str names[4], *end = names;

    status_init(&st, a);
    REQUIRE(schema_set_add(s, str_of(table), &st) == 0 && schema_set_link(s, &st) == 0);
    outer = schema_set_find(s, STR("io.example.x.v1.Outer"));
    REQUIRE(outer && json_parse(a, STR("{\"policy\":\"\",\"kind\":\"k\"}"), NULL, &in, &st) == 0);
    REQUIRE(schema_decode(a, outer, in, NULL, &out, &st) == 0);
    CHECK_STR(json_text(a, out).p, "{\"kind\":\"k\",\"grace\":30,\"policy\":\"Always\"}");
    CHECK(!schema_field(outer, STR("policy"))->default_value);
    CHECK(schema_field(outer, STR("policy"))->defaulted);
    CHECK(schema_field(outer, STR("many"))->type == schema_field(outer, STR("more"))->type);
    schema_set_each(s, count, &end);
    CHECK(end - names == 1); /* a part is nothing by itself */
    schema_set_free(s);
}

TEST(all_objects_are_given_in_order)
{
    scoped_arena a = arena_new();
    struct schema_set *s = load(a);
    str names[16], *end = names;

    schema_set_each(s, count, &end);
    CHECK(end - names == 8);
    for (str *n = names + 1; n < end; n++)
        CHECK(str_cmp(n[-1], *n) < 0);
    CHECK(!schema_set_find(s, STR("io.example.core.v1.Nothing")));
    schema_set_free(s);
}

TEST(mistakes_are_told_with_their_line)
{
    static const struct {
        const char *table, *error;
    } cases[] = {
        { "", "table , line 1: no table line: \"\"" },
        { "type A\n", "table , line 1: out of place: \"type\"" },
        { "table t\ntable u\n", "table t, line 2: out of place: \"table\"" },
        { "table t\n  a 1 string\n", "table t, line 2: a field outside of a type: \"a\"" },
        { "table t\nthing A\n", "table t, line 2: not a line of a table: \"thing\"" },
        { "table t\ntype A big\n", "table t, line 2: not a type: \"big\"" },
        { "table t\ntype A union=a\n", "table t, line 2: not a type: \"union=a\"" },
        { "table t\ntype A union=a()\n", "table t, line 2: names are missing: \"\"" },
        { "table t\nfree A array\n", "table t, line 2: not free JSON: \"array\"" },
        { "table t\ntype A\n  a 1\n", "table t, line 3: not a field, or one too many: \"a\"" },
        { "table t\ntype A\n  a x string\n",
          "table t, line 3: not a protobuf field number: \"x\"" },
        { "table t\ntype A\n  a 0 string\n",
          "table t, line 3: not a protobuf field number: \"0\"" },
        { "table t\ntype A\n  a 1 m.X\n", "table t, line 3: prefix without a use line: \"m.X\"" },
        { "table t\ntype A\n  a 1 string big\n", "table t, line 3: not a flag: \"big\"" },
        { "table t\ntype A\n  a 1 string always=1\n", "table t, line 3: not a flag: \"always=1\"" },
        { "table t\ntype A\n  a 1 *string always\n",
          "table t, line 3: a pointer cannot be always there: \"a\"" },
        { "table t\ntype A\n  a 1 []string list=bag\n",
          "table t, line 3: not a list type: \"bag\"" },
        { "table t\ntype A\n  a 1 string default={\n", "table t, line 3: not a JSON value: \"{\"" },
        { "table t\ntype A\n  + - B\n",
          "table t, line 3: an embedding needs a protobuf number: \"B\"" },
        { "table t\ntype A\ntype A\n", "table t, line 3: defined twice: \"A\"" },
        { "table t\nkind A\n", "table t, line 2: prefix without a use line: \"meta.ObjectMeta\"" },
        { "table t\ntype A\n  a 1 [][][][][][][][][]string\n",
          "table t, line 3: too deep a type: \"[][][][][][][][][]string\"" },
        { "table t\nalias A 1 string\n",
          "table t, line 2: an alias is for a list in a message: \"string\"" },
        /* found when linking */
        { "table t\ntype A\n  b 1 []B\n", "table t, line 3: unknown type \"B\"" },
        { "table t\ntype A\n  a 1 string\n  a 2 string\n",
          "table t, line 2: a field stands twice in \"A\"" },
        { "table t\ntype A\n  a 1 A always\n", "table t, line 2: a type that holds itself: \"A\"" },
        { "table t\ntype A\n  + 1 A\n", "table t, line 2: a type that holds itself: \"A\"" },
        { "table t\nalias B 1 []string\ntype A\n  + 1 B\n",
          "table t, line 2: cannot be embedded: \"B\"" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        struct schema_set *s = schema_set_new();
        struct status st;

        status_init(&st, a);
        if (schema_set_add(s, str_of(cases[i].table), &st) == 0)
            CHECK(schema_set_link(s, &st) < 0);
        CHECK(status_is(&st, REASON_INTERNAL));
        CHECK_STR(st.message.p, cases[i].error);
        schema_set_free(s);
    }
}
