/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/outline.h"

#include <stdlib.h>

#include "object/crdschema/structural.h"
#include "object/meta/managers.h"
#include "object/meta/typed.h"
#include "tap.h"
#include "unit/meta_tables.h"
#include "unit/parse.h"

static const char openapi[] =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'n':{'type':'integer'},"
    "'text':{'type':'string'},'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"
    "'atom':{'type':'object','x-kubernetes-map-type':'atomic','additionalProperties':{'type':"
    "'string'}},'list':{'type':'array','items':{'type':'object','properties':{'a':{'type':"
    "'string'}}}},'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}},"
    "'sizes':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'number'}},"
    "'ports':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['port',"
    "'protocol'],'items':{'type':'object','properties':{'port':{'type':'integer'},'protocol':{"
    "'type':'string','default':'TCP'},'name':{'type':'string'},'more':{'type':'object',"
    "'additionalProperties':{'type':'string'}}}}}}}}}";

struct world {
    struct arena *arena;
    struct schema_set *set;
    const struct schema *schema;
};

static struct world begin(void)
{
    struct world w = { .arena = arena_new(), .set = meta_tables_load() };
    struct status st;

    status_init(&st, w.arena);
    CHECK(structural_compile(
              w.arena,
              schema_set_find(w.set, STR("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")),
              parse_quoted(w.arena, openapi), false, &w.schema, &st) == 0);
    return w;
}

static void end(struct world *w)
{
    schema_set_free(w->set);
    arena_free(w->arena);
}

static const char *const objects[] = {
    "{}",
    "{'metadata':{'name':'x'}}",
    "{'metadata':{'labels':{'a':'1'}}}",
    "{'metadata':{'labels':{'b':'1'}}}",
    "{'metadata':{'labels':{}}}",
    "{'metadata':{'labels':null}}",
    "{'metadata':{'labels':{'a':{}}}}",
    "{'metadata':{'finalizers':['a']}}",
    "{'metadata':{'finalizers':['b']}}",
    "{'metadata':{'finalizers':['a','b']}}",
    "{'metadata':{'finalizers':['ab']}}",
    "{'spec':{}}",
    "{'spec':{'n':1}}",
    "{'spec':{'n':'1'}}",
    "{'spec':{'n':1,'text':'x'}}",
    "{'spec':{'text':null}}",
    "{'spec':{'nope':1}}",
    "{'spec':{'free':{}}}",
    "{'spec':{'free':{'a':{'b':1}}}}",
    "{'spec':{'free':{'a':{'b':{}}}}}",
    "{'spec':{'free':{'a':[1]}}}",
    "{'spec':{'atom':{'a':'1'}}}",
    "{'spec':{'atom':{'b':'1'}}}",
    "{'spec':{'atom':{'b':1}}}",
    "{'spec':{'list':[{'a':'1'}]}}",
    "{'spec':{'list':[{'a':1}]}}",
    "{'spec':{'list':[{'a':'1'},{}]}}",
    "{'spec':{'list':[]}}",
    "{'spec':{'list':[[]]}}",
    "{'spec':{'set':['a','b']}}",
    "{'spec':{'set':['b','a']}}",
    "{'spec':{'set':['a','a']}}",
    "{'spec':{'set':['a',null]}}",
    "{'spec':{'sizes':[1,2]}}",
    "{'spec':{'sizes':[1,3]}}",
    "{'spec':{'sizes':[1.5,2]}}",
    "{'spec':{'ports':[{'port':1}]}}",
    "{'spec':{'ports':[{'port':2}]}}",
    "{'spec':{'ports':[{'port':1},{'port':2}]}}",
    "{'spec':{'ports':[{'port':1},{'port':1}]}}",
    "{'spec':{'ports':[{'port':1,'protocol':'TCP'}]}}",
    "{'spec':{'ports':[{'port':1,'protocol':'UDP'}]}}",
    "{'spec':{'ports':[{'port':1,'name':'x'}]}}",
    "{'spec':{'ports':[{'port':1,'more':{'x':'1'}}]}}",
    "{'spec':{'ports':[{'port':1,'more':{'x':'1'}},{'port':2}]}}",
    "{'spec':{'ports':[{'port':1,'more':{'x':'1','port':'2'}}]}}",
    "{'spec':{'ports':[{'name':'x'}]}}",
    "{'spec':{'ports':[{}]}}",
    "{'spec':{'ports':[null]}}",
    "{'spec':{'ports':null}}",
    "{'spec':1}",
};

enum { OBJECTS = sizeof(objects) / sizeof(*objects) };

struct facts {
    struct outline applied, fresh;
    str wrong;
    struct fieldset fields, added;
};

static struct facts facts_of(struct world *w, const char *text)
{
    const struct json *v = parse_quoted(w->arena, text);

    return (struct facts){
        .applied = outline_of(w->arena, w->schema, 1, OUTLINE_APPLIED, NULL, v),
        .fresh = outline_of(w->arena, w->schema, 1, OUTLINE_NEW, NULL, v),
        .wrong = typed_check(w->arena, w->schema, v),
        .fields = typed_fields(w->arena, w->schema, v),
        .added = typed_compare(w->arena, w->schema, NULL, v).added,
    };
}

TEST(objects_of_one_outline_have_the_same_fields_and_faults)
{
    struct world w = begin();
    struct facts all[OBJECTS];

    for (size_t i = 0; i < OBJECTS; i++)
        all[i] = facts_of(&w, objects[i]);
    for (size_t i = 0; i < OBJECTS; i++)
        for (size_t j = 0; j < i; j++) {
            const struct facts *x = &all[i], *y = &all[j];

            if (x->applied.text.n && str_eq(x->applied.text, y->applied.text) &&
                !CHECK((x->wrong.n == 0) == (y->wrong.n == 0) &&
                       fieldset_equal(&x->fields, &y->fields)))
                printf("# %s %s\n", objects[i], objects[j]);
            if (x->fresh.text.n && str_eq(x->fresh.text, y->fresh.text) &&
                !CHECK(fieldset_equal(&x->added, &y->added)))
                printf("# %s %s\n", objects[i], objects[j]);
        }
    end(&w);
}

/* Else nothing would ever be known. */
TEST(values_are_no_part_of_it)
{
    static const struct {
        const char *x, *y;
    } pairs[] = {
        { "{'spec':{'n':1}}", "{'spec':{'n':2}}" },
        { "{'metadata':{'name':'x'}}", "{'metadata':{'name':'y'}}" },
        { "{'spec':{'atom':{'a':'1'},'set':['a']}}", "{'spec':{'atom':{'a':'2'},'set':['a']}}" },
        { "{'spec':{'ports':[{'port':1,'name':'x'}]}}",
          "{'spec':{'ports':[{'port':1,'name':'y'}]}}" },
    };
    struct world w = begin();

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct facts x = facts_of(&w, pairs[i].x), y = facts_of(&w, pairs[i].y);

        CHECK(x.applied.text.n && str_eq(x.applied.text, y.applied.text));
        CHECK(x.fresh.text.n && str_eq(x.fresh.text, y.fresh.text));
        CHECK(x.applied.hash == y.applied.hash && !str_eq(x.applied.text, x.fresh.text));
    }
    end(&w);
}

TEST(some_have_none)
{
    static const struct fieldset_node node = { .text = STR_INIT("status"), .member = true };
    static const struct fieldset ignored = { &node, 1 };
    struct world w = begin();
    const struct json *v = parse_quoted(w.arena, "{'spec':{'n':1}}");
    const struct json *owned = parse_quoted(w.arena, "{'metadata':{'ownerReferences':[]}}");
    scoped_buf b = { .max = 1 << 20 };
    struct outline x, y;

    CHECK(outline_of(w.arena, w.schema, 0, OUTLINE_NEW, NULL, v).text.n == 0);
    CHECK(outline_of(w.arena, w.schema, 1, OUTLINE_NEW, NULL, owned).text.n == 0);
    CHECK(outline_of(w.arena, w.schema, 1, OUTLINE_NEW, NULL, &json_null).text.n == 0);
    CHECK(outline_of(w.arena, schema_set_find(w.set, STR("io.k8s.api.core.v1.Pod")), 1, OUTLINE_NEW,
                     NULL, v)
              .text.n == 0);
    buf_printf(&b, "{'spec':{'free':{");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "'name-%d':1,", i);
    buf_printf(&b, "'x':1}}}");
    v = parse_quoted(w.arena, str_z(w.arena, buf_str(&b)));
    CHECK(outline_of(w.arena, w.schema, 1, OUTLINE_NEW, NULL, v).text.n == 0);
    CHECK(outline_of(w.arena, w.schema, 1, OUTLINE_APPLIED, NULL, v).text.n == 0);
    v = parse_quoted(w.arena, "{'spec':{'n':1}}");
    x = outline_of(w.arena, w.schema, 1, OUTLINE_NEW, NULL, v);
    y = outline_of(w.arena, w.schema, 2, OUTLINE_NEW, NULL, v);
    CHECK(x.text.n && y.text.n && !str_eq(x.text, y.text));
    y = outline_of(w.arena, w.schema, 1, OUTLINE_NEW, &ignored, v);
    CHECK(y.text.n && !str_eq(x.text, y.text));
    end(&w);
}

static str apply(struct world *w, uint64_t serial, const char *live, const char *config,
                 struct managers m)
{
    struct managers_write write = { .arena = w->arena,
                                    .schema = w->schema,
                                    .serial = serial,
                                    .manager = STR("m"),
                                    .api_version = STR("v1"),
                                    .now_s = 1 };
    const struct json *was = live ? parse_quoted(w->arena, live) : NULL, *out;
    const struct json *v = parse_quoted(w->arena, config);
    scoped_buf b = { .max = 1 << 20 };
    struct status st;

    status_init(&st, w->arena);
    write.outline = outline_of(w->arena, w->schema, serial, OUTLINE_APPLIED, NULL, v);
    if (managers_apply(&write, was, v, false, &m, &out, &st) < 0)
        return str_dup(w->arena, st.message);
    json_print_canonical(&b, out);
    managers_print(&b, managers_pack(w->arena, &m));
    return str_dup(w->arena, buf_str(&b));
}

static str create(struct world *w, uint64_t serial, const char *text, struct managers *m)
{
    struct managers_write write = { .arena = w->arena,
                                    .schema = w->schema,
                                    .serial = serial,
                                    .manager = STR("creator"),
                                    .api_version = STR("v1"),
                                    .now_s = 1 };
    struct status st;

    status_init(&st, w->arena);
    *m = (struct managers){ 0 };
    CHECK(managers_update(&write, NULL, parse_quoted(w->arena, text), m, &st) == 0);
    return managers_pack(w->arena, m);
}

/* The first time, when it is kept, and when it is known. */
TEST(known_fields_are_those_that_would_be_found)
{
    struct world w = begin();
    struct managers m;
    unsigned known = 0;

    for (size_t i = 0; i < OBJECTS; i++) {
        struct facts f = facts_of(&w, objects[i]);
        str packed = create(&w, 0, objects[i], &m);
        const char *live = "{'spec':{'n':5,'set':['z']}}";

        for (int n = 0; n < 3; n++)
            CHECK(str_eq(packed, create(&w, 1, objects[i], &m)));
        if (f.wrong.n)
            continue;
        for (int n = 0; n < 3; n++) {
            str now;

            CHECK(str_eq(apply(&w, 0, NULL, objects[i], (struct managers){ 0 }),
                         apply(&w, 1, NULL, objects[i], (struct managers){ 0 })));
            (void)create(&w, 0, live, &m);
            now = apply(&w, 0, live, objects[i], m);
            (void)create(&w, 0, live, &m);
            CHECK(str_eq(now, apply(&w, 1, live, objects[i], m)));
        }
        known += facts_of(&w, objects[i]).applied.fields.n != 0;
    }
    CHECK(known > OBJECTS / 3);
    end(&w);
}

/* What it does not speak of any more goes, known or not. */
TEST(applying_less_takes_away)
{
    static const char more[] = "{'spec':{'n':1,'text':'x','ports':[{'port':1},{'port':2}]}}";
    static const char less[] = "{'spec':{'n':2,'ports':[{'port':2}]}}";
    struct world w = begin();

    for (int n = 0; n < 4; n++) {
        struct managers_write write = { .arena = w.arena,
                                        .schema = w.schema,
                                        .serial = 3,
                                        .manager = STR("m"),
                                        .api_version = STR("v1"),
                                        .now_s = 1 };
        const struct json *live, *config = parse_quoted(w.arena, more);
        struct managers m = { 0 }, again;
        struct status st;

        status_init(&st, w.arena);
        write.outline = outline_of(w.arena, w.schema, 3, OUTLINE_APPLIED, NULL, config);
        CHECK(managers_apply(&write, NULL, config, false, &m, &live, &st) == 0);
        CHECK(managers_unpack(w.arena, managers_pack(w.arena, &m), &again));
        config = parse_quoted(w.arena, less);
        write.outline = outline_of(w.arena, w.schema, 3, OUTLINE_APPLIED, NULL, config);
        CHECK(managers_apply(&write, live, config, false, &again, &live, &st) == 0);
        CHECK(json_equal(live, config));
        CHECK(again.n == 1 && (n < 2 || write.outline.fields.n));
    }
    end(&w);
}
