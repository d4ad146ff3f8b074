/* SPDX-License-Identifier: Apache-2.0 */

/* require("kube").  karmada: pkg/resourceinterpreter/customized/declarative/luavm/kube.go */

#include <lauxlib.h>

#include "base/banned.h"
#include "federation/interp/interp_table.h"
#include "federation/interp/lua_sandbox_internal.h"
#include "object/meta/quantity.h"

static struct quantity check_quantity(lua_State *l, int at)
{
    struct quantity q = { .nanos = 0 };
    size_t n;
    const char *p;

    if (lua_isnoneornil(l, at))
        return q;
    luaL_checktype(l, at, LUA_TSTRING);
    p = lua_tolstring(l, at, &n);
    if (!quantity_parse((str){ p, n }, &q))
        luaL_argerror(l, at, "it is no quantity");
    return q;
}

/* resourceAdd(q, …): their sum, as a string. */
static int resource_add(lua_State *l)
{
    struct quantity sum = { .nanos = 0 };
    str text;

    for (int i = 1; i <= lua_gettop(l); i++) {
        struct quantity q = check_quantity(l, i);

        if (sum.nanos == 0)
            sum.format = q.format;
        if (__builtin_add_overflow(sum.nanos, q.nanos, &sum.nanos))
            luaL_argerror(l, i, "the sum is too large");
    }
    text = quantity_print(sandbox_of(l)->arena, &sum);
    (void)lua_pushlstring(l, text.p, text.n);
    return 1;
}

/* getResourceQuantity(q): as a number. */
static int resource_quantity(lua_State *l)
{
    struct quantity q;

    if (lua_gettop(l) != 1)
        return luaL_error(l, "getResourceQuantity only accepts one argument");
    q = check_quantity(l, 1);
    if (q.nanos < 0)
        return luaL_error(l, "the quantity is negative");
    lua_pushnumber(l, (double)q.nanos / 1e9);
    return 1;
}

/* A script may call this in a loop: what is made stays until the end of the call. */
static void check_arena(lua_State *l)
{
    struct sandbox *s = sandbox_of(l);

    if (arena_size(s->arena) - s->arena_had > SANDBOX_MEMORY_MAX)
        luaL_error(l, "not enough memory");
    sandbox_look_at_clock(l);
}

static const struct json *template_spec(lua_State *l)
{
    struct sandbox_value v;

    check_arena(l);
    luaL_checktype(l, 1, LUA_TTABLE);
    v = sandbox_read(l, 1, NULL, 0);
    return json_get(v.json, STR("spec"));
}

/* accuratePodRequirements(template): what a pod of it asks for. */
static int pod_requirements(lua_State *l)
{
    if (lua_gettop(l) != 1)
        return luaL_error(l, "accuratePodRequirements only accepts one argument");
    sandbox_push(l, interp_requirements(sandbox_of(l)->arena, template_spec(l)));
    return 1;
}

/* getPodDependencies(template, namespace): what a pod of it names. */
static int pod_dependencies(lua_State *l)
{
    struct arena *a = sandbox_of(l)->arena;
    struct json_object pod = json_object_new(a);
    const struct json *spec, *object;
    size_t n = 0;
    const char *namespace;

    if (lua_gettop(l) != 2)
        return luaL_error(l, "getPodDependencies only accepts two argument");
    spec = template_spec(l);
    namespace = luaL_optlstring(l, 2, "default", &n);
    json_add(&pod, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&pod, STR("kind"), json_of_str(STR("Pod")));
    if (spec)
        json_add(&pod, STR("spec"), *spec);
    object = json_set(a, json_object_done(&pod), "metadata.namespace",
                      json_box(a, json_of_str((str){ namespace, n })));
    sandbox_push(l, interp_dependencies(a, object));
    return 1;
}

void sandbox_push_kube(lua_State *l)
{
    static const luaL_Reg functions[] = {
        { "accuratePodRequirements", pod_requirements },
        { "getPodDependencies", pod_dependencies },
        { "getResourceQuantity", resource_quantity },
        { "resourceAdd", resource_add },
        { NULL, NULL },
    };

    luaL_newlib(l, functions);
}
