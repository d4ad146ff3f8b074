/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/structural.h"
#include "object/meta/managers.h"
#include "tap.h"
#include "unit/parse.h"

/*
 * Two versions of a kind: what is spec.size and spec.color in v1 is spec.box.{size,color} in v2.
 * They are converted by somebody who is far away.
 */

#define NUMBER "{'type':'integer'}"
#define STRING "{'type':'string'}"
#define OBJ    "'obj':{'type':'object','properties':{'a':" STRING ",'b':" STRING "}}"
#define SPEC(properties)                                      \
    "{'type':'object','properties':{'spec':{'type':'object'," \
    "'properties':{" properties "}}}}"
#define V1 SPEC("'size':" NUMBER ",'color':" STRING "," OBJ)
#define V2 SPEC("'box':{'type':'object','properties':{'size':" NUMBER ",'color':" STRING "}}," OBJ)

enum { MANY = 64 };

struct world {
    struct arena *arena;
    const struct schema *v1, *v2;
    const struct json *live; /* as v1 has it */
    struct managers managers;
    struct status st;
    str asked[MANY]; /* what was converted, and to which version */
    unsigned nasked, known, rounds, calls;
    bool fails;
};

static const struct schema *compile(struct world *w, const char *text)
{
    static const struct schema nothing = { .type = SCHEMA_OBJECT };
    const struct schema *s = NULL;

    if (!CHECK(structural_compile(w->arena, &nothing, parse_quoted(w->arena, text), false, &s,
                                  &w->st) == 0))
        printf("# %.*s\n", STR_ARG(w->st.message));
    return s;
}

static void begin(struct world *w)
{
    *w = (struct world){ .arena = arena_new() };
    status_init(&w->st, w->arena);
    w->v1 = compile(w, V1);
    w->v2 = compile(w, V2);
}

static const struct json *moved(struct arena *a, const struct json *v, const char *from,
                                const char *to)
{
    const struct json *it = json_path(v, from);

    return it ? json_set(a, json_set(a, v, from, NULL), to, it) : v;
}

static const struct json *converted(struct arena *a, str to, const struct json *v)
{
    static const char *const places[][2] = { { "spec.size", "spec.box.size" },
                                             { "spec.color", "spec.box.color" } };
    bool old = str_is(to, "g/v1");

    for (int i = 0; i < 2; i++)
        v = moved(a, v, places[i][old], places[i][!old]);
    if (old)
        v = json_set(a, v, "spec.box", NULL);
    return v;
}

/* What is asked for the first time comes when it is asked again. */
static int convert(void *arg, str from, str to, const struct json *obj, const struct json **out,
                   const struct schema **schema, struct status *st)
{
    struct world *w = arg;
    str id = str_printf(w->arena, "%.*s %.*s", STR_ARG(to), STR_ARG(json_text(w->arena, obj)));

    CHECK(!str_eq(from, to));
    w->calls++;
    *schema = str_is(to, "g/v1") ? w->v1 : w->v2;
    if (!str_is(to, "g/v1") && !str_is(to, "g/v2"))
        return MANAGERS_GONE;
    if (w->fails)
        return status_set(st, REASON_INTERNAL, "nobody is there");
    for (unsigned i = 0; i < w->nasked; i++)
        if (str_eq(w->asked[i], id)) {
            *out = converted(w->arena, to, obj);
            return i < w->known ? 0 : MANAGERS_WAIT;
        }
    if (!CHECK(w->nasked < MANY))
        return MANAGERS_GONE;
    w->asked[w->nasked++] = id;
    return MANAGERS_WAIT;
}

static struct managers_write write_of(struct world *w, const char *manager, str version)
{
    return (struct managers_write){ .arena = w->arena,
                                    .schema = str_is(version, "g/v1") ? w->v1 : w->v2,
                                    .manager = str_of(manager),
                                    .api_version = version,
                                    .now_s = 1,
                                    .convert = convert,
                                    .arg = w };
}

static const struct json *live_in(struct world *w, str version)
{
    return w->live && str_is(version, "g/v2") ? converted(w->arena, version, w->live) : w->live;
}

static struct managers copy(struct world *w)
{
    struct managers m = { arena_array(w->arena, struct manager, w->managers.n + 1), w->managers.n };

    if (m.n)
        memcpy(m.list, w->managers.list, m.n * sizeof(*m.list));
    return m;
}

static bool again(struct world *w, int rc)
{
    w->known = w->nasked;
    w->rounds += rc == MANAGERS_WAIT;
    return rc == MANAGERS_WAIT && CHECK(w->rounds < MANY);
}

static int apply(struct world *w, const char *manager, str version, const char *config, bool force)
{
    const struct json *out = NULL;
    struct managers m;
    int rc;

    w->nasked = w->known = w->rounds = w->calls = 0;
    do {
        struct managers_write e = write_of(w, manager, version);

        m = copy(w);
        status_init(&w->st, w->arena);
        rc = managers_apply(&e, live_in(w, version), parse_quoted(w->arena, config), force, &m,
                            &out, &w->st);
    } while (again(w, rc));
    if (rc < 0)
        return -1;
    w->managers = m;
    w->live = str_is(version, "g/v2") ? converted(w->arena, STR("g/v1"), out) : out;
    return 0;
}

static int update(struct world *w, const char *manager, str version, const char *path,
                  const char *value)
{
    const struct json *live = live_in(w, version), *v = parse_quoted(w->arena, value);
    const struct json *now = json_set(w->arena, live, path, v->type == JSON_NULL ? NULL : v);
    struct managers m;
    int rc;

    w->nasked = w->known = w->rounds = w->calls = 0;
    do {
        struct managers_write e = write_of(w, manager, version);

        m = copy(w);
        status_init(&w->st, w->arena);
        rc = managers_update(&e, live, now, &m, &w->st);
    } while (again(w, rc));
    if (rc < 0)
        return -1;
    w->managers = m;
    w->live = str_is(version, "g/v2") ? converted(w->arena, STR("g/v1"), now) : now;
    return 0;
}

/* name/operation version=set;… with ' for " */
static const char *owners(struct world *w)
{
    scoped_buf b = { .max = 1 << 20 };
    char *z;

    for (size_t i = 0; i < w->managers.n; i++) {
        struct manager *m = &w->managers.list[i];

        buf_printf(&b, "%s%.*s/%s %.*s=", i ? ";" : "", STR_ARG(m->name), m->applied ? "A" : "U",
                   STR_ARG(str_from(m->api_version, 2)));
        fieldset_print(&b, manager_fields(w->arena, m));
    }
    z = str_z(w->arena, buf_str(&b));
    for (char *p = z; *p; p++)
        if (*p == '"')
            *p = '\'';
    return z;
}

static const char *spec(struct world *w)
{
    return str_z(w->arena, json_text(w->arena, json_path(w->live, "spec")));
}

TEST(conflicts_are_found_in_the_owner_s_version)
{
    struct world w;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1,'color':'red'}}", false) == 0);
    CHECK(w.calls == 0);
    CHECK(apply(&w, "b", STR("g/v2"), "{'spec':{'box':{'color':'blue'}}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.message),
              "Apply failed with 1 conflict: conflict with \"a\": .spec.color");
    /* The live and the new object, at once. */
    CHECK(w.rounds == 1 && w.nasked == 2);
    CHECK(apply(&w, "b", STR("g/v2"), "{'spec':{'box':{'color':'red'}}}", false) == 0);
    CHECK_STR(owners(&w), "b/A v2={'f:spec':{'f:box':{'f:color':{}}}};"
                          "a/A v1={'f:spec':{'f:color':{},'f:size':{}}}");
    CHECK(apply(&w, "b", STR("g/v2"), "{'spec':{'box':{'color':'blue'}}}", true) == 0);
    CHECK_STR(owners(&w), "a/A v1={'f:spec':{'f:size':{}}};"
                          "b/A v2={'f:spec':{'f:box':{'f:color':{}}}}");
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1,'color':'red'}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.message),
              "Apply failed with 1 conflict: conflict with \"b\": .spec.box.color");
    arena_free(w.arena);
}

TEST(what_was_applied_in_another_version_goes)
{
    struct world w;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1,'color':'red','obj':{'a':'1'}}}", false) ==
          0);
    CHECK(apply(&w, "a", STR("g/v2"), "{'spec':{'box':{'size':1}}}", false) == 0);
    CHECK_STR(spec(&w), "{\"size\":1}");
    CHECK_STR(owners(&w), "a/A v2={'f:spec':{'f:box':{'f:size':{}}}}");
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'obj':{'b':'2'}}}", false) == 0);
    CHECK_STR(spec(&w), "{\"obj\":{\"b\":\"2\"}}");
    arena_free(w.arena);
}

TEST(what_another_version_owns_stays)
{
    struct world w;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1,'color':'red'}}", false) == 0);
    CHECK(apply(&w, "b", STR("g/v2"), "{'spec':{'box':{'color':'red'}}}", false) == 0);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'obj':{'a':'1'}}}", false) == 0);
    CHECK_STR(spec(&w), "{\"color\":\"red\",\"obj\":{\"a\":\"1\"}}");
    CHECK(apply(&w, "b", STR("g/v2"), "{}", false) == 0);
    CHECK_STR(spec(&w), "{\"obj\":{\"a\":\"1\"}}");
    CHECK_STR(owners(&w), "a/A v1={'f:spec':{'f:obj':{'f:a':{}}}}");
    arena_free(w.arena);
}

TEST(an_update_takes_from_owners_of_other_versions)
{
    struct world w;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1,'color':'red'}}", false) == 0);
    CHECK(update(&w, "u", STR("g/v2"), "spec.box.color", "'blue'") == 0);
    CHECK(w.rounds == 1 && w.nasked == 2);
    CHECK_STR(owners(&w), "a/A v1={'f:spec':{'f:size':{}}};"
                          "u/U v2={'f:spec':{'f:box':{'f:color':{}}}}");
    CHECK(update(&w, "u", STR("g/v2"), "spec.box.size", "null") == 0);
    CHECK_STR(owners(&w), "u/U v2={'f:spec':{'f:box':{'f:color':{}}}}");
    arena_free(w.arena);
}

TEST(nobody_who_converts_is_a_failure)
{
    struct world w;
    const char *before;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1}}", false) == 0);
    before = owners(&w);
    w.fails = true;
    CHECK(apply(&w, "b", STR("g/v2"), "{'spec':{'obj':{'a':'1'}}}", false) < 0);
    CHECK_STR(str_z(w.arena, w.st.message), "nobody is there");
    CHECK(update(&w, "b", STR("g/v2"), "spec.obj.a", "'1'") < 0);
    CHECK_STR(owners(&w), before);
    CHECK(update(&w, "b", STR("g/v1"), "spec.size", "2") == 0);
    arena_free(w.arena);
}

TEST(who_owns_in_a_version_that_is_gone_owns_nothing)
{
    struct world w;

    begin(&w);
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1}}", false) == 0);
    w.managers.list[0].api_version = STR("g/v0");
    CHECK(update(&w, "b", STR("g/v1"), "spec.color", "'red'") == 0);
    CHECK_STR(owners(&w), "b/U v1={'f:spec':{'f:color':{}}}");
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'size':1}}", false) == 0);
    w.managers.list[0].api_version = STR("g/v0");
    CHECK(apply(&w, "a", STR("g/v1"), "{'spec':{'obj':{'a':'1'}}}", false) == 0);
    CHECK_STR(spec(&w), "{\"color\":\"red\",\"obj\":{\"a\":\"1\"},\"size\":1}");
    arena_free(w.arena);
}
