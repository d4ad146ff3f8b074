/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "object/meta/schema.h"
#include "tap.h"
#include "unit/meta_tables.h"
#include "unit/parse.h"

/* JSON with ' for ", which reads better in C. */
struct merged {
    const char *kind, *doc, *patch, *out;
};

static void check_merged(const struct merged *c, bool fails)
{
    scoped_arena a = arena_new();
    struct schema_set *set = meta_tables_load();
    const struct schema *s = schema_set_find(set, str_printf(a, "io.k8s.api.core.v1.%s", c->kind));
    const struct json *doc = parse_quoted(a, c->doc), *patch = parse_quoted(a, c->patch),
                      *out = NULL;
    str before = json_text(a, doc);
    struct status st;
    int rc;

    status_init(&st, a);
    rc = strategic_merge(a, s, doc, patch, &out, &st);
    if (!CHECK((rc < 0) == fails))
        printf("# %s: %.*s\n", c->patch, STR_ARG(st.message));
    else if (fails)
        CHECK_STR(str_z(a, st.message), c->out);
    else
        CHECK_STR(str_z(a, json_text(a, out)), json_text(a, parse_quoted(a, c->out)).p);
    CHECK(str_eq(json_text(a, doc), before));
    schema_set_free(set);
}

#define POD(spec)        "{'spec':{" spec "}}"
#define CONTAINERS(list) POD("'containers':[" list "]")

TEST(patches_are_merged_as_kubernetes_merges_them)
{
    static const struct merged cases[] = {
        /* recorded: patch-strategic/maps-and-null */
        { "ConfigMap", "{'data':{'x':'1','y':'2'}}", "{'data':{'x':null,'z':'3'}}",
          "{'data':{'y':'2','z':'3'}}" },
        { "ConfigMap", "{'data':{'y':'2','z':'3'}}", "{'data':{'$patch':'replace','only':'1'}}",
          "{'data':{'only':'1'}}" },
        /* recorded: patch-strategic/primitive-lists */
        { "ConfigMap", "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c']}}",
          "{'metadata':{'finalizers':['c','a','b']}}" },
        { "ConfigMap", "{'metadata':{'finalizers':['c','a','b']}}",
          "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a','c']}}",
          "{'metadata':{'finalizers':['b']}}" },
        /* recorded: patch-strategic/merge-by-name */
        { "Pod", CONTAINERS("{'name':'a','image':'i:1'},{'name':'b','image':'i:1'}"),
          CONTAINERS("{'name':'b','image':'i:2'}"),
          CONTAINERS("{'name':'a','image':'i:1'},{'name':'b','image':'i:2'}") },
        { "Pod", CONTAINERS("{'name':'a','image':'i:1'},{'name':'b','image':'i:2'}"),
          CONTAINERS("{'name':'new','image':'i:3'}"),
          CONTAINERS("{'name':'new','image':'i:3'},{'name':'a','image':'i:1'},"
                     "{'name':'b','image':'i:2'}") },
        /* recorded: patch-strategic/replace-directive */
        { "Pod", CONTAINERS("{'name':'a'},{'name':'b'}"),
          CONTAINERS("{'$patch':'replace'},{'name':'z','image':'i:9'}"),
          CONTAINERS("{'name':'z','image':'i:9'}") },
        /* recorded: patch-strategic/element-order */
        { "Pod", CONTAINERS("{'name':'a'},{'name':'b'}"),
          POD("'$setElementOrder/containers':[{'name':'b'},{'name':'c'},{'name':'a'}],"
              "'containers':[{'name':'c','image':'i:3'}]"),
          CONTAINERS("{'name':'b'},{'name':'c','image':'i:3'},{'name':'a'}") },
        /* recorded: patch-strategic/atomic-lists */
        { "Pod", CONTAINERS("{'name':'a','args':['x','y']}"),
          CONTAINERS("{'name':'a','args':['z']}"), CONTAINERS("{'name':'a','args':['z']}") },
        /* recorded: patch-strategic/service-ports, with a number as key */
        { "Pod", CONTAINERS("{'name':'a','ports':[{'name':'a','containerPort':80}]}"),
          CONTAINERS("{'name':'a','ports':[{'containerPort':81,'name':'b'}]}"),
          CONTAINERS("{'name':'a','ports':[{'containerPort':81,'name':'b'},"
                     "{'name':'a','containerPort':80}]}") },
        { "Pod", CONTAINERS("{'name':'a','ports':[{'containerPort':81},{'containerPort':80}]}"),
          CONTAINERS("{'name':'a','ports':[{'containerPort':80,'$patch':'delete'}]}"),
          CONTAINERS("{'name':'a','ports':[{'containerPort':81}]}") },
        /* recorded: patch-strategic/kubectl-three-way */
        { "Pod",
          CONTAINERS("{'name':'a','image':'i:1','env':[{'name':'X','value':'1'}]},{'name':'b'}"),
          POD("'$setElementOrder/containers':[{'name':'a'}],'containers':[{'$setElementOrder/env':"
              "[{'name':'Z'}],'env':[{'name':'Z','value':'1'},{'$patch':'delete','name':'X'}],"
              "'name':'a'},{'$patch':'delete','name':'b'}]"),
          CONTAINERS("{'name':'a','image':'i:1','env':[{'name':'Z','value':'1'}]}") },
        /* woven: what the patch names in its order, the server's own in between */
        { "ConfigMap", "{'metadata':{'finalizers':['a','b','c','d']}}",
          "{'metadata':{'finalizers':['d','n','b']}}",
          "{'metadata':{'finalizers':['a','c','d','n','b']}}" },
        { "ConfigMap", "{'metadata':{'finalizers':['a','b','c']}}",
          "{'metadata':{'$setElementOrder/finalizers':['c','a']}}",
          "{'metadata':{'finalizers':['b','c','a']}}" },
        { "ConfigMap", "{'metadata':{'finalizers':['a','b','c']}}",
          "{'metadata':{'$setElementOrder/finalizers':['d','b'],'finalizers':['d'],"
          "'$deleteFromPrimitiveList/finalizers':['c']}}",
          "{'metadata':{'finalizers':['d','a','b']}}" },
        { "ConfigMap", "{'metadata':{'finalizers':['a','a','b']}}",
          "{'metadata':{'finalizers':['c','c','a']}}",
          "{'metadata':{'finalizers':['c','a','b']}}" },
        /* retainKeys */
        { "Pod", POD("'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}}"),
          POD("'strategy':{'$retainKeys':['type'],'type':'Recreate'}"),
          POD("'strategy':{'type':'Recreate'}") },
        { "Pod", POD("'volumes':[{'name':'v','emptyDir':{}}]"),
          POD("'volumes':[{'$retainKeys':['name','hostPath'],'name':'v','hostPath':{'path':'/'}}]"),
          POD("'volumes':[{'name':'v','hostPath':{'path':'/'}}]") },
        { "Pod", POD("'volumes':[{'name':'v','emptyDir':{}}]"),
          POD("'volumes':[{'$retainKeys':['name','hostPath'],'name':'v','emptyDir':null,"
              "'hostPath':{'path':'/'}}]"),
          POD("'volumes':[{'name':'v','hostPath':{'path':'/'}}]") },
        /* what is new comes without nulls and directives */
        { "Pod", "{}",
          POD("'$setElementOrder/containers':[{'name':'a'}],'containers':[{'name':'a','image':null,"
              "'$setElementOrder/env':[{'name':'X'}],'env':[{'name':'X'},{'name':'Y','$patch':"
              "'delete'}]}],'strategy':{'$patch':'delete'}"),
          CONTAINERS("{'name':'a','env':[{'name':'X'}]}") },
        { "Pod", CONTAINERS("{'name':'a'}"), CONTAINERS("{'name':'b','image':null}"),
          CONTAINERS("{'name':'b'},{'name':'a'}") },
        { "Pod", POD("'strategy':{}"),
          POD("'containers':[{'name':'x'},{'name':'y','$patch':'delete'}]"),
          POD("'strategy':{},'containers':[{'name':'x'}]") },
        /* deletions */
        { "Pod", POD("'strategy':{'type':'x'},'ratio':1"), POD("'strategy':{'$patch':'delete'}"),
          POD("'strategy':{},'ratio':1") },
        { "Pod", POD("'ratio':1"), POD("'strategy':null,'ratio':null"), POD("") },
        { "ConfigMap", "{'data':{'a':'1'}}", "{'$patch':'delete'}", "{}" },
        { "ConfigMap", "{'data':{'a':'1'}}", "{'$deleteFromPrimitiveList/data':['a']}",
          "{'data':{'a':'1'}}" },
        { "ConfigMap", "{}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
          "{'metadata':{}}" },
        { "ConfigMap", "{'metadata':{'finalizers':['a']}}",
          "{'metadata':{'$deleteFromPrimitiveList/finalizers':null}}", "{'metadata':{}}" },
        /* another type replaces (and is refused when it is decoded); recorded: errors/bad-patches
         */
        { "ConfigMap", "{'data':{'k':'v'}}", "{'data':['x']}", "{'data':['x']}" },
        { "ConfigMap", "{'data':{'k':'v'}}", "{'bogus':1}", "{'data':{'k':'v'},'bogus':1}" },
        { "ConfigMap", "{'data':{'k':'v'}}", "{}", "{'data':{'k':'v'}}" },
        /* items that stand twice */
        { "Pod", CONTAINERS("{'name':'a','image':'1'},{'name':'b'},{'name':'a','image':'2'}"),
          CONTAINERS("{'name':'a','image':'3'}"),
          CONTAINERS("{'name':'a','image':'3'},{'name':'a','image':'2'},{'name':'b'}") },
        { "Pod", CONTAINERS("{'name':'b'}"),
          CONTAINERS("{'name':'a','image':'1'},{'name':'a','args':['x']}"),
          CONTAINERS("{'name':'a','image':'1','args':['x']},{'name':'b'}") },
        { "Pod", CONTAINERS(""), CONTAINERS(""), CONTAINERS("") },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_merged(&cases[i], false);
}

TEST(what_cannot_be_merged_is_refused)
{
    static const struct merged cases[] = {
        /* recorded: patch-strategic/bad-directive */
        { "Pod", CONTAINERS("{'name':'a'}"), CONTAINERS("{'name':'a','$patch':'fold'}"),
          "unknown patch type: \"fold\"" },
        { "Pod", CONTAINERS("{'name':'a'}"), CONTAINERS("{'image':'i:2'}"),
          "map does not contain declared merge key: name" },
        { "Pod", CONTAINERS("{'name':'a'}"), CONTAINERS("{'$patch':'delete'}"),
          "map does not contain declared merge key: name" },
        { "Pod", CONTAINERS("{'name':'a'}"), CONTAINERS("{'name':'a','$patch':'merge'}"),
          "merging lists cannot yet be specified in the patch" },
        { "ConfigMap", "{'data':{}}", "{'data':{'$patch':'merge'}}",
          "unknown patch type: \"merge\"" },
        { "ConfigMap", "{'data':{}}", "{'data':{'$patch':1}}", "unknown patch type: 1" },
        { "ConfigMap", "{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':[['b']]}}",
          "lists of lists are not supported" },
        { "ConfigMap", "{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':[{'b':1}]}}",
          "list element types are not identical" },
        { "ConfigMap", "{'metadata':{}}", "{'metadata':{'$deleteFromPrimitiveList':['b']}}",
          "invalid patch format of primitive list" },
        { "ConfigMap", "{'metadata':{}}", "{'metadata':{'$setElementOrder/finalizers':1}}",
          "invalid patch format of setElementOrder list" },
        { "ConfigMap", "{'metadata':{}}", "{'metadata':{'$setElementOrder/nope':[]}}",
          "invalid patch format of setElementOrder list" },
        { "ConfigMap", "{'metadata':{}}", "{'metadata':{'$setElementOrder':[]}}",
          "invalid patch format of setElementOrder list" },
        { "ConfigMap", "{'metadata':{'finalizers':['a','b']}}",
          "{'metadata':{'$setElementOrder/finalizers':['b','a'],'finalizers':['a','b']}}",
          "The order in patch list:\n[\"a\",\"b\"]\n doesn't match $setElementOrder list" },
        { "Pod", POD("'strategy':{}"), POD("'strategy':{'$retainKeys':'type'}"),
          "invalid patch format of retainKeys" },
        { "Pod", POD("'strategy':{}"), POD("'strategy':{'$retainKeys':['a'],'type':'b'}"),
          "invalid patch format of retainKeys" },
        { "Pod", "{}", "[]", "invalid JSON document" },
        { "ConfigMap", "{'metadata':{'managedFields':[{'manager':'a'}]}}",
          "{'metadata':{'$deleteFromPrimitiveList/managedFields':[{'manager':'a'}]}}",
          "cannot merge lists without merge key" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_merged(&cases[i], true);
}

TEST(many_members_and_items_are_merged_in_time)
{
    enum { N = 20000 };
    scoped_arena a = arena_new();
    struct schema_set *set = meta_tables_load();
    struct json_object data = json_object_new(a), change = json_object_new(a);
    struct json_array names = json_array_new(a), more = json_array_new(a);
    const struct json *doc, *patch, *out = NULL;
    struct status st;

    status_init(&st, a);
    for (int i = 0; i < N; i++) {
        json_add(&data, str_printf(a, "k%d", i), json_of_str(STR("1")));
        json_add(&change, str_printf(a, "k%d", i + N / 2),
                 i % 2 ? json_null : json_of_str(STR("2")));
        json_push(&names, json_of_str(str_printf(a, "f%d", i)));
        json_push(&more, json_of_str(str_printf(a, "f%d", i + N / 2)));
    }
    doc = json_set(a, json_set(a, &json_empty_object, "data", json_object_done(&data)),
                   "metadata.finalizers", json_array_done(&names));
    patch = json_set(a, json_set(a, &json_empty_object, "data", json_object_done(&change)),
                     "metadata.finalizers", json_array_done(&more));
    CHECK(strategic_merge(a, schema_set_find(set, STR("io.k8s.api.core.v1.ConfigMap")), doc, patch,
                          &out, &st) == 0);
    CHECK(json_len(json_path(out, "data")) == N / 2 + N / 2);
    CHECK(json_len(json_path(out, "metadata.finalizers")) == N + N / 2);
    schema_set_free(set);
}

TEST(an_object_may_be_replaced_and_not_merged)
{
    static const char table[] = "table x\n"
                                "type Budget\n"
                                "  selector 1 *Selector replace\n"
                                "  other    2 *Selector\n"
                                "type Selector\n"
                                "  labels 1 map[string]\n"
                                "  names  2 []string\n";
    scoped_arena a = arena_new();
    struct schema_set *set = schema_set_new();
    const struct json *doc = parse_quoted(a, "{'selector':{'labels':{'a':'b'},'names':['x']},"
                                             "'other':{'labels':{'a':'b'}}}");
    const struct json *patch = parse_quoted(a, "{'selector':{'labels':{'c':'d'}},"
                                               "'other':{'labels':{'c':'d'}}}");
    const struct json *out = NULL;
    struct status st;

    status_init(&st, a);
    REQUIRE(schema_set_add(set, str_of(table), &st) == 0 && schema_set_link(set, &st) == 0);
    REQUIRE(strategic_merge(a, schema_set_find(set, STR("x.Budget")), doc, patch, &out, &st) == 0);
    CHECK_STR(str_z(a, json_text(a, out)),
              json_text(a, parse_quoted(a, "{'selector':{'labels':{'c':'d'}},"
                                           "'other':{'labels':{'a':'b','c':'d'}}}"))
                  .p);
    REQUIRE(strategic_merge(a, schema_set_find(set, STR("x.Budget")), doc,
                            parse_quoted(a, "{'selector':null}"), &out, &st) == 0);
    CHECK(!json_get(out, STR("selector")));
    schema_set_free(set);
}
