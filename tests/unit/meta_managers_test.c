/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "object/meta/managers.h"
#include "object/meta/typed.h"
#include "tap.h"
#include "unit/meta_tables.h"
#include "unit/parse.h"

enum { NOW = 1767366245 }; /* 2026-01-02T15:04:05Z */

struct world {
    struct arena *arena;
    struct schema_set *set;
    const struct schema *schema;
    const struct json *live;
    struct managers managers;
    struct status st;
    int64_t now_s;
};

static struct world begin(const char *kind)
{
    struct world w = { .arena = arena_new(), .set = meta_tables_load(), .now_s = NOW };

    w.schema = schema_set_find(w.set, str_printf(w.arena, "io.k8s.api.core.v1.%s", kind));
    status_init(&w.st, w.arena);
    return w;
}

static void end(struct world *w)
{
    schema_set_free(w->set);
    arena_free(w->arena);
}

static struct managers_write write_of(struct world *w, const char *manager)
{
    return (struct managers_write){ .arena = w->arena,
                                    .schema = w->schema,
                                    .manager = str_of(manager),
                                    .api_version = STR("v1"),
                                    .now_s = w->now_s };
}

static const struct json *decoded(struct world *w, const struct json *v)
{
    const struct json *out = v;

    if (!CHECK(schema_decode(w->arena, w->schema, v, NULL, &out, &w->st) == 0))
        printf("# %.*s\n", STR_ARG(w->st.message));
    return out;
}

static void update(struct world *w, const char *manager, const char *now)
{
    struct managers_write e = write_of(w, manager);
    const struct json *obj = decoded(w, parse_quoted(w->arena, now));

    CHECK(managers_update(&e, w->live, obj, &w->managers, &w->st) == 0);
    w->live = obj;
}

static int apply(struct world *w, const char *manager, const char *config, bool force)
{
    struct managers_write e = write_of(w, manager);
    struct managers m = { arena_array(w->arena, struct manager, w->managers.n + 1), w->managers.n };
    const struct json *out;

    if (m.n)
        memcpy(m.list, w->managers.list, m.n * sizeof(*m.list));
    status_init(&w->st, w->arena);
    if (managers_apply(&e, w->live, parse_quoted(w->arena, config), force, &m, &out, &w->st) < 0)
        return -1;
    w->managers = m;
    w->live = decoded(w, out);
    return 0;
}

/* name/operation=set;… with ' for " */
static const char *owners(struct world *w)
{
    scoped_buf b = { .max = 1 << 20 };
    char *z;

    for (size_t i = 0; i < w->managers.n; i++) {
        const struct manager *m = &w->managers.list[i];

        buf_printf(&b, "%s%.*s/%s=", i ? ";" : "", STR_ARG(m->name), m->applied ? "A" : "U");
        fieldset_print(&b, &m->fields);
    }
    z = str_z(w->arena, buf_str(&b));
    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

#define LIVE(w, path) str_z((w).arena, json_text((w).arena, json_path((w).live, path)))

TEST(a_create_owns_all_it_says)
{
    struct world w = begin("ConfigMap");

    update(&w, "m", "{'metadata':{'name':'a','labels':{'l':'1'}},'data':{'x':'1'}}");
    CHECK_STR(owners(&w),
              "m/U={'f:data':{'.':{},'f:x':{}},'f:metadata':{'f:labels':{'.':{},'f:l':{}}}}");
    CHECK(w.managers.list[0].time_s == NOW);
    end(&w);
}

TEST(what_a_native_type_always_has_is_not_owned)
{
    struct world w = begin("Pod");

    update(&w, "m",
           "{'metadata':{'name':'a'},'spec':{'containers':[{'name':'c','image':'i','ports':"
           "[{'containerPort':80}]}],'restartPolicy':'Never'}}");
    CHECK_STR(owners(&w),
              "m/U={'f:spec':{'f:containers':{'.':{},'k:{\\'name\\':\\'c\\'}':{'.':{},'f:image':{},"
              "'f:name':{},'f:ports':{'.':{},'k:{\\'containerPort\\':80,\\'protocol\\':\\'TCP\\'}':"
              "{'.':{},'f:containerPort':{},'f:protocol':{}}}}},'f:gracePeriod':{},"
              "'f:restartPolicy':{}}}");
    end(&w);
}

TEST(a_key_that_is_left_out_counts_where_it_has_a_default)
{
    struct world w = begin("Pod");

    update(&w, "m", "{'spec':{'hints':[{'name':'a'},{'kind':'k'}]}}");
    CHECK(strstr(owners(&w), "'k:{\\'name\\':\\'a\\'}':{'.':{},'f:name':{}}"));
    CHECK(strstr(owners(&w), "'k:{\\'kind\\':\\'k\\',\\'name\\':\\'\\'}':"));
    end(&w);
}

TEST(an_update_takes_what_it_changes)
{
    struct world w = begin("ConfigMap");

    CHECK(apply(&w, "m1", "{'metadata':{'name':'a'},'data':{'x':'1','y':'1'}}", false) == 0);
    CHECK_STR(owners(&w), "m1/A={'f:data':{'f:x':{},'f:y':{}}}");
    update(&w, "editor", "{'metadata':{'name':'a'},'data':{'x':'2','y':'1'}}");
    CHECK_STR(owners(&w), "m1/A={'f:data':{'f:y':{}}};editor/U={'f:data':{'f:x':{}}}");
    /* what is removed is nobody's any more */
    update(&w, "editor", "{'metadata':{'name':'a'},'data':{'x':'2'}}");
    CHECK_STR(owners(&w), "editor/U={'f:data':{'f:x':{}}}");
    end(&w);
}

TEST(a_field_left_out_is_removed)
{
    struct world w = begin("ConfigMap");

    CHECK(apply(&w, "m1", "{'metadata':{'name':'a'},'data':{'x':'1','y':'2'}}", false) == 0);
    CHECK(apply(&w, "m1", "{'metadata':{'name':'a'},'data':{'x':'1'}}", false) == 0);
    CHECK_STR(LIVE(w, "data"), "{\"x\":\"1\"}");
    CHECK(apply(&w, "m1", "{'metadata':{'name':'a'}}", false) == 0);
    CHECK(json_get(w.live, STR("data")) == NULL);
    CHECK(w.managers.n == 0);
    end(&w);
}

TEST(what_another_owns_stays)
{
    struct world w = begin("ConfigMap");

    CHECK(apply(&w, "m1", "{'data':{'x':'1'}}", false) == 0);
    CHECK(apply(&w, "m2", "{'data':{'x':'1'}}", false) == 0);
    CHECK(w.managers.list[0].time_s == MANAGER_NO_TIME); /* nothing changed: no time */
    CHECK(apply(&w, "m1", "{'data':{}}", false) == 0);
    CHECK_STR(LIVE(w, "data"), "{\"x\":\"1\"}");
    CHECK(apply(&w, "m2", "{'data':{}}", false) == 0);
    CHECK(json_get(w.live, STR("data")) == NULL);
    CHECK_STR(owners(&w), "m1/A={'f:data':{}};m2/A={'f:data':{}}");
    end(&w);
}

TEST(conflicts_name_manager_and_field)
{
    struct world w = begin("ConfigMap");

    update(&w, "editor", "{'data':{'x':'1','y':'1'}}");
    CHECK(apply(&w, "m2", "{'data':{'x':'2'}}", false) < 0);
    CHECK(w.st.reason == REASON_CONFLICT);
    CHECK_STR(str_z(w.arena, w.st.message),
              "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.x");
    CHECK_STR(str_z(w.arena, w.st.causes->field), ".data.x");
    CHECK_STR(str_z(w.arena, w.st.causes->message), "conflict with \"editor\" using v1");
    CHECK(apply(&w, "m1", "{'data':{'z':'2'}}", false) == 0);
    CHECK(apply(&w, "m2", "{'data':{'x':'2','y':'2','z':'3'}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.message),
              "Apply failed with 3 conflicts: conflicts with \"editor\" using v1:\n- .data.x\n- "
              ".data.y\nconflicts with \"m1\":\n- .data.z");
    CHECK(apply(&w, "m2", "{'data':{'x':'2'}}", true) == 0);
    CHECK_STR(LIVE(w, "data.x"), "\"2\"");
    CHECK_STR(owners(&w), "m1/A={'f:data':{'f:z':{}}};m2/A={'f:data':{'f:x':{}}};"
                          "editor/U={'f:data':{'.':{},'f:y':{}}}");
    end(&w);
}

TEST(who_was_never_applied_to_is_before_first_apply)
{
    struct world w = begin("ConfigMap");

    w.live = decoded(&w, parse_quoted(w.arena, "{'metadata':{'name':'a'},'data':{'x':'1'}}"));
    update(&w, "m", "{'metadata':{'name':'a'},'data':{'x':'2'}}");
    CHECK(w.managers.n == 0); /* not tracked, and so it stays */
    CHECK(apply(&w, "m2", "{'data':{'x':'3'}}", false) < 0);
    CHECK_STR(
        str_z(w.arena, w.st.message),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.x");
    end(&w);
}

TEST(lists_are_merged_by_key_and_keep_their_order)
{
    struct world w = begin("Pod");

    CHECK(apply(&w, "m1", "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b'}]}}",
                false) == 0);
    CHECK(apply(&w, "m2", "{'spec':{'containers':[{'name':'c'},{'name':'b','image':'2'}]}}",
                false) == 0);
    CHECK_STR(LIVE(w, "spec.containers"),
              "[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"c\"},{\"image\":\"2\",\"name\":\"b\"}"
              "]");
    CHECK(apply(&w, "m1", "{'spec':{'containers':[{'name':'b'}]}}", false) == 0);
    CHECK_STR(LIVE(w, "spec.containers"), "[{\"name\":\"c\"},{\"image\":\"2\",\"name\":\"b\"}]");
    end(&w);
}

TEST(sets_grow_and_shrink_by_value)
{
    struct world w = begin("ConfigMap");

    CHECK(apply(&w, "m1", "{'metadata':{'finalizers':['x/a']}}", false) == 0);
    CHECK(apply(&w, "m2", "{'metadata':{'finalizers':['x/b']}}", false) == 0);
    CHECK_STR(LIVE(w, "metadata.finalizers"), "[\"x/a\",\"x/b\"]");
    CHECK(apply(&w, "m1", "{'metadata':{}}", false) == 0);
    CHECK_STR(LIVE(w, "metadata.finalizers"), "[\"x/b\"]");
    CHECK_STR(owners(&w), "m2/A={'f:metadata':{'f:finalizers':{'v:\\'x/b\\'':{}}}}");
    end(&w);
}

TEST(atomic_parts_are_one_field)
{
    struct world w = begin("Pod");

    CHECK(apply(&w, "m1",
                "{'spec':{'nodeSelector':{'a':'1'},'containers':[{'name':'a','args':"
                "['x']}]}}",
                false) == 0);
    CHECK_STR(owners(&w), "m1/A={'f:spec':{'f:containers':{'k:{\\'name\\':\\'a\\'}':{'.':{},"
                          "'f:args':{},'f:name':{}}},'f:nodeSelector':{}}}");
    CHECK(apply(&w, "m2", "{'spec':{'nodeSelector':{'b':'1'}}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.causes->field), ".spec.nodeSelector");
    CHECK(apply(&w, "m2", "{'spec':{'containers':[{'name':'a','args':['y']}]}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.causes->field), ".spec.containers[name=\"a\"].args");
    CHECK(apply(&w, "m2", "{'spec':{'nodeSelector':{'b':'1'}}}", true) == 0);
    CHECK_STR(LIVE(w, "spec.nodeSelector"), "{\"b\":\"1\"}");
    end(&w);
}

/* What a schema made that had them in parts. */
TEST(sets_follow_parts_that_became_one_field)
{
    struct world w = begin("Pod");
    struct fieldset set, same;
    scoped_buf b;

    buf_init(&b, 1 << 16);
    REQUIRE(
        fieldset_parse(w.arena,
                       parse_quoted(w.arena, "{'f:spec':{'f:containers':{'k:{\\'name\\':\\'a\\'}':{"
                                             "'f:args':{'i:0':{}},'f:name':{}}},'f:nodeSelector':{"
                                             "'f:a':{},'f:b':{}},'f:nope':{'f:x':{}}}}"),
                       &set, &w.st) == 0);
    typed_reconcile(w.arena, w.schema, &set);
    fieldset_print(&b, &set);
    CHECK_STR(str_z(w.arena, buf_str(&b)),
              "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:args\":{},"
              "\"f:name\":{}}},\"f:nodeSelector\":{},\"f:nope\":{\"f:x\":{}}}}");
    same = set;
    typed_reconcile(w.arena, w.schema, &same);
    CHECK(same.nodes == set.nodes);
    end(&w);
}

TEST(owned_items_go_with_what_is_in_them)
{
    struct world w = begin("Pod");

    CHECK(apply(&w, "m1", "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80}]}]}}",
                false) == 0);
    CHECK_STR(LIVE(w, "spec.containers"),
              "[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}]}]");
    CHECK(apply(&w, "m1", "{'spec':{'containers':[{'name':'a'}]}}", false) == 0);
    CHECK_STR(LIVE(w, "spec.containers"), "[{\"name\":\"a\"}]");
    end(&w);
}

TEST(many_updaters_become_ancient)
{
    struct world w = begin("ConfigMap");
    char *text;

    for (int i = 0; i < 12; i++) {
        text = arena_printf(w.arena, "{'data':{");
        for (int j = 0; j <= i; j++)
            text = arena_printf(w.arena, "%s%s'k%02d':'%d'", text, j ? "," : "", j, j);
        w.now_s++;
        update(&w, arena_printf(w.arena, "m%02d", i), arena_printf(w.arena, "%s}}", text));
    }
    CHECK(w.managers.n == 10);
    CHECK_STR(str_z(w.arena, w.managers.list[0].name), "ancient-changes");
    CHECK(w.managers.list[0].fields.nodes[0].below.n == 3);
    end(&w);
}

TEST(kubectl_takes_over_what_it_applied_by_itself)
{
    struct world w = begin("ConfigMap");
    static const char *const config = "{'apiVersion':'v1','kind':'ConfigMap','data':{'x':'2'}}";
    const char *last = "kubectl.kubernetes.io/last-applied-configuration";

    update(&w, "kubectl-client-side-apply",
           "{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':"
           "'{\\'apiVersion\\':\\'v1\\',\\'kind\\':\\'ConfigMap\\',\\'data\\':{\\'x\\':\\'1\\'}}'"
           "}},'data':{'x':'1'}}");
    CHECK(apply(&w, "other", config, false) < 0);
    CHECK(apply(&w, "kubectl", config, false) == 0);
    CHECK_STR(LIVE(w, "data.x"), "\"2\"");
    CHECK_STR(
        str_z(w.arena, json_str(json_get(json_path(w.live, "metadata.annotations"), str_of(last)))),
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"x\":\"2\"}}\n");
    end(&w);
}

TEST(what_cannot_be_applied_is_said)
{
    static const struct {
        const char *config, *wrong;
    } cases[] = {
        { "{'spec':{'restartPolicy':'Never'}}", "" },
        { "{'nope':1}", ".nope: field not declared in schema" },
        { "{'spec':{'nope':1}}", ".spec.nope: field not declared in schema" },
        { "{'spec':{'containers':[{'name':'a'},{'name':'a'}]}}",
          ".spec.containers: duplicate entries for key [name=\"a\"]" },
        /* what a built-in type requires is there, as its zero: its validation says the rest */
        { "{'spec':{'containers':[{'image':'a'}]}}", "" },
        { "{'spec':{'restartPolicy':1}}", ".spec.restartPolicy: expected string, got a number" },
        { "{'spec':{'restartPolicy':{'a':['b',null]}}}",
          ".spec.restartPolicy: expected string, got an object" },
        { "{'metadata':{'ownerReferences':[{'uid':'u','controller':'x'}]}}",
          ".metadata.ownerReferences[uid=\"u\"].controller: expected boolean, got a string" },
        { "{'spec':{'numbers':['x']}}",
          ".spec.numbers[0]: expected numeric (int or float), got a string" },
        { "{'spec':['b',{'z':1,'a':true}]}", ".spec: expected map, got an array" },
        { "{'spec':{'containers':[{'name':'a','args':[1]}]}}",
          ".spec.containers[name=\"a\"].args[0]: expected string, got a number" },
        { "{'metadata':{'a':1},'b':2}",
          "errors:\n  .metadata.a: field not declared in schema\n  .b: field not declared in "
          "schema" },
        /* nothing behind an unknown field is looked at */
        { "{'a':1,'b':2}", ".a: field not declared in schema" },
    };
    struct world w = begin("Pod");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(
            str_z(w.arena, typed_check(w.arena, w.schema, parse_quoted(w.arena, cases[i].config))),
            cases[i].wrong);
    end(&w);
}

TEST(packed_is_what_it_was)
{
    struct world w = begin("Pod");
    struct managers again;
    scoped_buf b = { .max = 1 << 20 };
    str packed;

    update(&w, "kubectl-create",
           "{'metadata':{'labels':{'a\\'b':'1'}},'spec':{'containers':"
           "[{'name':'c'}]}}");
    CHECK(apply(&w, "m2", "{'spec':{'hostAliases':[{'ip':'1'}]}}", false) == 0);
    w.managers.list[1].subresource = STR("status");
    packed = managers_pack(w.arena, &w.managers);
    CHECK(packed.n < 120);
    CHECK(managers_unpack(w.arena, packed, &again));
    CHECK(managers_equal(w.arena, &w.managers, &again));
    CHECK(again.list[0].time_s == NOW);
    managers_print(&b, packed);
    CHECK_STR(
        str_z(w.arena, buf_str(&b)),
        "[{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{"
        "\"f:hostAliases\":{\"k:{\\\"ip\\\":\\\"1\\\"}\":{\".\":{},\"f:ip\":{}}}}},\"manager\":"
        "\"m2\",\"operation\":\"Apply\",\"time\":\"2026-01-02T15:04:05Z\"},{\"apiVersion\":\"v1\","
        "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},"
        "\"f:a\\\"b\":{}}},\"f:spec\":{\"f:containers\":{\".\":{},\"k:{\\\"name\\\":\\\"c\\\"}\":{"
        "\".\":{},\"f:name\":{}}},\"f:gracePeriod\":{},\"f:restartPolicy\":{}}},\"manager\":"
        "\"kubectl-create\",\"operation\":\"Update\",\"subresource\":\"status\",\"time\":"
        "\"2026-01-02T15:04:05Z\"}]");
    end(&w);
}

TEST(broken_bytes_are_seen)
{
    struct world w = begin("ConfigMap");
    struct managers m;
    str packed;

    update(&w, "m", "{'data':{'x':'1','y':'2'}}");
    packed = managers_pack(w.arena, &w.managers);
    for (size_t n = 1; n < packed.n; n++) {
        scoped_buf b = { .max = 1 << 20 };

        CHECK(!managers_unpack(w.arena, str_sub(packed, 0, n), &m));
        managers_print(&b, str_sub(packed, 0, n));
        CHECK(str_is(buf_str(&b), "[]"));
    }
    end(&w);
}

TEST(lists_of_clients_are_read)
{
    struct world w = begin("ConfigMap");
    struct managers m;

    CHECK(managers_parse(w.arena,
                         parse_quoted(w.arena,
                                      "[{'manager':'k','operation':'Apply','apiVersion':'v1',"
                                      "'time':'2026-01-02T15:04:05Z','fieldsType':'FieldsV1',"
                                      "'fieldsV1':{'f:data':{'f:x':{}}}}]"),
                         &m, &w.st) == 0);
    CHECK(m.n == 1 && m.list[0].time_s == NOW && m.list[0].applied);
    CHECK(managers_parse(w.arena, parse_quoted(w.arena, "[{'operation':'Foo','apiVersion':'v1'}]"),
                         &m, &w.st) < 0);
    CHECK(managers_parse(w.arena,
                         parse_quoted(w.arena, "[{'operation':'Apply','apiVersion':'v1'}]"), &m,
                         &w.st) < 0);
    end(&w);
}
