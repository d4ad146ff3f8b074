/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "federation/interp/lua_sandbox.h"
#include "federation/interp/scripts.h"
#include "tap.h"

/* Texts with ' for ". */
static const struct json *tree(struct arena *a, const char *text)
{
    const struct json *v = NULL;
    char *z = str_z(a, str_of(text));
    struct status st;

    status_init(&st, a);
    for (char *p = z; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (json_parse(a, str_of(z), NULL, &v, &st) < 0)
        printf("# %s: %.*s\n", z, STR_ARG(st.message));
    return v;
}

static bool same(struct arena *a, const struct json *got, const char *want)
{
    const struct json *w = want ? tree(a, want) : NULL;

    if (got && w ? json_equal(got, w) : got == w)
        return true;
    printf("#  got: %s\n# want: %s\n", got ? json_text(a, got).p : "nothing", want);
    return false;
}

static const struct json *customization(struct arena *a, const char *name, const char *field,
                                        const char *script)
{
    const struct json *v = tree(a, "{'spec':{'target':{'apiVersion':'a/v1','kind':'B'}}}");
    const char *path = arena_printf(a, "spec.customizations.%s.luaScript", field);

    v = json_set(a, v, "metadata.name", json_box(a, json_of_str(str_of(name))));
    return json_set(a, v, path, json_box(a, json_of_str(str_of(script))));
}

static struct scripts *one(struct arena *a, const char *field, const char *script)
{
    const struct json *c = customization(a, "x", field, script);

    return scripts_new(&c, 1);
}

/* ---- the operations ---- */

TEST(replicas_and_requirements)
{
    static const struct {
        const char *body;
        int rc;
        int64_t replicas;
        const char *requirements, *fault;
    } cases[] = {
        { "return obj.spec.n, {resourceRequest = {cpu = '10m'}}", 1, 4,
          "{'resourceRequest':{'cpu':'10m'}}", NULL },
        { "return obj.spec.n", 1, 4, NULL, NULL },
        { "return obj.spec.n / 3 * 3, {}", 1, 4, "{}", NULL },
        { "return 2.9", 1, 2, NULL, NULL },
        { "return '4'", -1, 0, NULL, "expect the returned type is number" },
        { "return nil", -1, 0, NULL, "expect the returned type is number" },
        { "return 1e300", -1, 0, NULL, "1e+300 is too large for replicas" },
        { "return 0/0", -1, 0, NULL, "a number is not finite" },
        { "return 1, 2", -1, 0, NULL, "expect the returned type is table" },
        { "return 1, {1}", -1, 0, NULL, "expect the returned type is table" },
        { "return 1, {nodeClaim = 'x'}", -1, 0, NULL, "nodeClaim of the requirements is wrong" },
        { "return obj.nothing.at.all", -1, 0, NULL,
          "<string>:1: attempt to index a nil value (field 'nothing')" },
        { "local k = require('kube'); return 1, k.accuratePodRequirements(obj.spec.template)", 1, 1,
          "{'resourceRequest':{'cpu':'750m'},'nodeClaim':{'nodeSelector':{'a':'b'}}}", NULL },
    };
    scoped_arena a = arena_new();
    const struct json *object =
        tree(a, "{'apiVersion':'a/v1','kind':'B','spec':{'n':4,'template':{'spec':{'nodeSelector':"
                "{'a':'b'},'containers':[{'resources':{'requests':{'cpu':'500m'}}},"
                "{'resources':{'limits':{'cpu':'250m'}}}]}}}}");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *script = arena_printf(a, "function GetReplicas(obj) %s end", cases[i].body);
        struct scripts *s = one(a, "replicaResource", script);
        struct interp_replicas r = { 0 };
        struct status st;

        status_init(&st, a);
        CHECK(scripts_replicas(s, a, object, &r, &st) == cases[i].rc);
        CHECK(r.replicas == cases[i].replicas);
        CHECK(same(a, r.requirements, cases[i].requirements));
        CHECK_STR(str_z(a, st.message), cases[i].fault ? cases[i].fault : "");
        scripts_unref(s);
    }
}

TEST(objects_come_back_as_they_were)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "obj.spec.n = desired return obj",
          "{'kind':'B','spec':{'n':7,'list':[],'map':{},'deep':[{'x':[]},{'x':{}}],'f':1.5,"
          "'b':false,'s':'\\u00fc'}}" },
        { "return {kind = 'B', spec = {list = {}, map = {}, new = {}, deep = {{x = {}}}}}",
          "{'kind':'B','spec':{'list':[],'map':{},'deep':[{'x':[]}]}}" },
        { "obj.spec = {a = {1, 2, {}}} return obj", "{'kind':'B','spec':{'a':[1,2]}}" },
        { "return {}", "{}" },
    };
    scoped_arena a = arena_new();
    const struct json *object =
        tree(a, "{'kind':'B','spec':{'n':4,'list':[],'map':{},'deep':[{'x':[]},{'x':{}}],"
                "'f':1.5,'b':false,'s':'\\u00fc','null':null}}");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *script =
            arena_printf(a, "function ReviseReplica(obj, desired) %s end", cases[i].body);
        struct scripts *s = one(a, "replicaRevision", script);
        const struct json *out = NULL;
        struct status st;

        status_init(&st, a);
        CHECK(scripts_revise(s, a, object, 7, &out, &st) == 0);
        CHECK(same(a, out, cases[i].want));
        CHECK_STR(str_z(a, st.message), "");
        scripts_unref(s);
    }
}

TEST(status_and_health_and_what_stays)
{
    scoped_arena a = arena_new();
    const struct json *c[] = {
        customization(a, "a", "statusReflection",
                      "function ReflectStatus(o) if o.status == nil then return nil end "
                      "return {done = o.status.done} end"),
        customization(a, "b", "healthInterpretation",
                      "function InterpretHealth(o) return o.status.done >= o.spec.n end"),
        customization(a, "c", "retention",
                      "function Retain(d, o) d.spec.keep = o.spec.keep return d end"),
        customization(a, "d", "statusAggregation",
                      "function AggregateStatus(o, items) local n = 0 "
                      "for i = 1, #items do n = n + items[i].status.done end "
                      "o.status = {done = n} return o end"),
    };
    struct scripts *s = scripts_new(c, 4);
    const struct json *o = tree(a, "{'spec':{'n':2,'keep':'x'},'status':{'done':2,'noise':1}}");
    const struct json *fresh = tree(a, "{'spec':{'n':2}}"), *out;
    struct interp_moment m = { 0 };
    struct status st;

    status_init(&st, a);
    CHECK(scripts_reflect(s, a, o, &out, &st) == 0);
    CHECK(same(a, out, "{'done':2}"));
    CHECK(scripts_reflect(s, a, fresh, &out, &st) == 0);
    CHECK(same(a, out, NULL));
    CHECK(scripts_health(s, a, o) == INTERP_HEALTHY);
    CHECK(scripts_health(s, a, tree(a, "{'spec':{'n':3},'status':{'done':2}}")) ==
          INTERP_UNHEALTHY);
    CHECK(scripts_health(s, a, fresh) == INTERP_UNKNOWN); /* the script fails */
    CHECK(scripts_retain(s, a, fresh, o, &out, &st) == 0);
    CHECK(same(a, out, "{'spec':{'n':2,'keep':'x'}}"));
    CHECK(scripts_aggregate(s, a, fresh, tree(a, "[{'status':{'done':2}},{'status':{'done':3}}]"),
                            &m, &out, &st) == 0);
    CHECK(same(a, out, "{'done':5}"));
    CHECK(scripts_aggregate(s, a, json_set(a, fresh, "status", out),
                            tree(a, "[{'status':{'done':5}}]"), &m, &out, &st) == 0);
    CHECK(same(a, out, NULL)); /* nothing new */
    scripts_unref(s);
}

TEST(dependencies_of_all_scripts_each_once)
{
    scoped_arena a = arena_new();
    const struct json *c[] = {
        customization(a, "a", "dependencyInterpretation",
                      "function GetDependencies(o) return {"
                      "{apiVersion = 'v1', kind = 'Secret', namespace = 'd', name = 's'},"
                      "{apiVersion = 'v1', kind = 'ConfigMap', namespace = 'd', name = 'c'}} end"),
        customization(a, "b", "dependencyInterpretation",
                      "local kube = require('kube')\n"
                      "function GetDependencies(o)\n"
                      " return kube.getPodDependencies(o.spec.template, 'd') end"),
        customization(a, "c", "dependencyInterpretation",
                      "function GetDependencies(o) return {} end"),
    };
    struct scripts *s = scripts_new(c, 3);
    const struct json *out, *bad;
    struct status st;

    status_init(&st, a);
    CHECK(scripts_dependencies(s, a,
                               tree(a, "{'spec':{'template':{'spec':{'volumes':[{'configMap':"
                                       "{'name':'c'}}],'serviceAccountName':'z'}}}}"),
                               &out, &st) == 0);
    CHECK(same(a, out,
               "[{'apiVersion':'v1','kind':'ConfigMap','namespace':'d','name':'c'},"
               "{'apiVersion':'v1','kind':'Secret','namespace':'d','name':'s'},"
               "{'apiVersion':'v1','kind':'ServiceAccount','namespace':'d','name':'z'}]"));
    scripts_unref(s);
    bad = customization(a, "a", "dependencyInterpretation",
                        "function GetDependencies(o) return {{apiVersion = 'v1', name = 'x'}} end");
    s = scripts_new(&bad, 1);
    CHECK(scripts_dependencies(s, a, &json_empty_object, &out, &st) == -1);
    CHECK_STR(str_z(a, st.message),
              "dependencies[0].kind: Invalid value: \"\": missing required kind");
    scripts_unref(s);
}

TEST(without_a_script_the_table_answers)
{
    scoped_arena a = arena_new();
    const struct json *o = tree(a, "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':"
                                   "3}}"),
                      *out;
    struct scripts *s = one(a, "retention", "function Retain(d, o) return d end");
    struct interp_replicas r;
    struct status st;

    status_init(&st, a);
    for (int i = 0; i < 2; i++) {
        const struct scripts *asked = i ? s : NULL;

        CHECK(scripts_replicas(asked, a, o, &r, &st) == 1);
        CHECK(r.replicas == 3);
        CHECK(scripts_revise(asked, a, o, 5, &out, &st) == 0);
        CHECK(json_int(json_path(out, "spec.replicas"), 0) == 5);
        CHECK(scripts_replicas(asked, a, tree(a, "{'kind':'X'}"), &r, &st) == 0);
        CHECK(scripts_health(asked, a, tree(a, "{'kind':'X'}")) == INTERP_HEALTHY);
    }
    scripts_unref(s);
}

/* ---- what a script cannot do ---- */

/* The message of InterpretHealth's failure, or what it returned. */
static const char *run(struct arena *a, const char *script)
{
    static const struct json none = { .type = JSON_OBJECT };
    const struct json *arg = &none;
    struct sandbox_call c = { .function = "f", .args = &arg, .nargs = 1, .nresults = 1 };
    struct status st;

    status_init(&st, a);
    if (sandbox_compile(a, str_of(script), &c.code, &st) < 0 || sandbox_call(a, &c, &st) < 0)
        return str_z(a, st.message);
    return c.results[0].json ? json_text(a, c.results[0].json).p : "nothing";
}

TEST(limits)
{
    static const struct {
        const char *script, *want;
    } cases[] = {
        { "function f() while true do end end", "it takes too long" },
        { "while true do end", "it takes too long" },
        { "function f() while true do pcall(function() while true do end end) end end",
          "it takes too long" },
        { "function f() local s = 'x' while true do s = s .. s end end", "not enough memory" },
        { "function f() return #string.rep('x', 1e9) end", "not enough memory" },
        { "function f() local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1e7) .. i end end",
          "not enough memory" },
        { "function f() return pcall(string.rep, 'x', 1e9) end", "false" },
        { "function f() local function g() return 1 + g() end return g() end",
          "not enough memory" },
        { "function f() local t = {} t.t = t return t end",
          "tables are nested more than 100 deep" },
        { "function f() local t = {} for i = 1, 99 do t = {t} end return #t end", "1" },
        { "function f() local t = {1} for i = 1, 105 do t = {t} end return t end",
          "tables are nested more than 100 deep" },
        { "function f() local t = {1, 1} for i = 1, 30 do t = {t, t} end return t end",
          "more than 500000 values are returned" },
        { "function f() local s = string.rep('x', 1e6) local t = {} "
          "for i = 1, 100 do t[i] = s end return t end",
          "more than 8388608 bytes are returned" },
        { "function f() return ('a'):rep(1e5):find('.-.-.-.-b') end",
          "too much for a text of 100000 bytes" },
        { "function f() return ('v1.22.3'):match('^v(%d+)%.(%d+)%.([0-9]+)$') end", "\"1\"" },
        { "function f() return ('a.b'):find('.', 1, true) end", "2" },
        { "function f() return '\\255' end", "a string is not UTF-8" },
        { "function f() return {1, x = 2} end", "a table has both numbers and names" },
        { "function f() return {[1] = 1, [3] = 3} end", "a list has holes" },
        { "function f() return f end", "a function cannot be returned" },
        { "function f() error({}) end", "the script failed" },
        { "function f() error('my words') end", "my words" },
        { "x = 1", "not found function f" },
        { "f = 1", "f is not a function: number" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t from = clock_now_ms(clock_real());
        const char *got = run(a, cases[i].script);

        if (!strstr(got, cases[i].want))
            printf("# %s: %s\n", cases[i].script, got);
        CHECK(strstr(got, cases[i].want));
        CHECK(clock_now_ms(clock_real()) - from < 10 * SANDBOX_TIME_MS);
    }
}

TEST(no_way_out)
{
    static const char *const names[] = { "io",        "os",   "debug", "package",
                                         "coroutine", "utf8", "_ENV.x" };
    static const char *const functions[] = { "load",     "loadstring",   "loadfile",
                                             "dofile",   "rawset",       "rawget",
                                             "rawequal", "getmetatable", "setfenv",
                                             "xpcall",   "setmetatable", "collectgarbage" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK_STR((run(a, arena_printf(a, "function f() return %s == nil end", names[i]))), "true");
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        CHECK(strstr(run(a, arena_printf(a, "function f() return %s('x') end", functions[i])),
                     "is not supported"));
    CHECK_STR((run(a, "function f() return string.dump == nil end")), "true");
    CHECK(strstr(run(a, "function f() return require('os') end"), "module os not found"));
    CHECK(strstr(run(a, "\x1bLua"), "syntax error") || strstr(run(a, "\x1bLua"), "binary"));
    /* nothing stays for the next call */
    CHECK_STR((run(a, "function f() x = (x or 0) + 1 string.x = x return x end")), "1");
    CHECK_STR((run(a, "function f() return string.x == nil and x == nil end")), "true");
}

TEST(names_of_lua_5_1_and_quantities)
{
    static const char *const cases[][2] = {
        { "return table.getn({1, 2})", "2" },
        { "return table.maxn({1, [7] = 2})", "7" },
        { "return math.pow(2, 10)", "1024" },
        { "return (unpack({5}))", "5" },
        { "return require('kube').resourceAdd('500m', nil, '1')", "\"1500m\"" },
        { "return require('kube').resourceAdd('1Gi', '512Mi')", "\"1536Mi\"" },
        { "return require('kube').getResourceQuantity('250m')", "0.25" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR((run(a, arena_printf(a, "function f() %s end", cases[i][0]))), cases[i][1]);
    CHECK(strstr(run(a, "function f() return require('kube').resourceAdd('x') end"),
                 "it is no quantity"));
}

/* ---- admission ---- */

TEST(scripts_that_do_not_compile)
{
    static const char *const cases[][2] = {
        { "function GetReplicas(obj", "<string> at EOF:   syntax error" },
        { "x = 1\ny = = 2", "<string> line:2(column:3) near '=':   syntax error" },
        { "return }", "<string> line:1(column:8) near '}':   syntax error" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct status st;

        status_init(&st, a);
        CHECK(scripts_check(a, customization(a, "x", "replicaResource", cases[i][0]), NULL, &st) ==
              -1);
        CHECK_STR(str_z(a, st.message),
                  arena_printf(a, "InterpreterOperation(InterpretReplica) Lua script error: %s",
                               cases[i][1]));
    }
}

TEST(one_customization_for_an_operation)
{
    static const struct {
        const char *name, *field, *kind, *fault;
    } cases[] = {
        { "y", "replicaRevision", "B", "" },
        { "y", "retention", "B",
          "conflicting with InterpreterOperation(Retain) of existing "
          "ResourceInterpreterCustomization(y)" },
        { "y", "retention", "C", "" },
        { "x", "retention", "B", "" },
        { "y", "dependencyInterpretation", "B", "" },
    };
    scoped_arena a = arena_new();
    const struct json *x = customization(a, "x", "retention", "function Retain() end");

    x = json_set(a, x, "spec.customizations.dependencyInterpretation.luaScript",
                 json_box(a, json_of_str(STR("function GetDependencies() end"))));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct json *other = customization(a, cases[i].name, cases[i].field, "a = 1");
        struct json_array others = json_array_new(a);
        struct status st;

        status_init(&st, a);
        other =
            json_set(a, other, "spec.target.kind", json_box(a, json_of_str(str_of(cases[i].kind))));
        json_push(&others, *other);
        CHECK(scripts_check(a, x, json_array_done(&others), &st) == (*cases[i].fault ? -1 : 0));
        CHECK_STR(str_z(a, st.message), cases[i].fault);
    }
}
