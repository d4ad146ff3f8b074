/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a script can call.  The functions of Lua itself do their work between two looks at the
 * limits, so those that can take long for little are fenced here.
 */

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "base/banned.h"
#include "federation/interp/lua_sandbox_internal.h"

enum { PATTERN_WORK_MAX = 20000000 }; /* comparisons of one search */

/* ---- errors ---- */

/* A limit is not for a script to catch: it would go on for ever. */
static int protected_call(lua_State *l)
{
    luaL_checkany(l, 1);
    lua_pushboolean(l, 1);
    lua_insert(l, 1);
    if (lua_pcall(l, lua_gettop(l) - 2, LUA_MULTRET, 0) == LUA_OK)
        return lua_gettop(l);
    if (sandbox_of(l)->spent)
        return lua_error(l);
    lua_pushboolean(l, 0);
    lua_insert(l, -2);
    return 2;
}

static int refuse(lua_State *l)
{
    return luaL_error(l, "call function %s is not supported in customized resourceinterpreter.",
                      lua_tostring(l, lua_upvalueindex(1)));
}

static int print_nothing(lua_State *l)
{
    (void)l;
    return 0;
}

/* ---- patterns ---- */

/*
 * A pattern tries each repetition with each length at each place: no more than the length of the
 * text to the power of their number, and one more unless it is bound to the beginning.
 */
static double pattern_work(str pattern, size_t n)
{
    double work = pattern.n && pattern.p[0] == '^' ? 1 : (double)(n + 1);
    bool in_set = false;

    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];

        if (c == '%') {
            i++;
            if (!in_set && i < pattern.n && (pattern.p[i] == 'b' || pattern.p[i] == 'f'))
                work *= (double)(n + 1);
        } else if (in_set || c == '[') {
            in_set = c != ']';
        } else if (c == '*' || c == '+' || c == '-') {
            work *= (double)(n + 1);
        } else if (c == '?') {
            work *= 2;
        }
    }
    return work * (1 + (double)pattern.n / 16); /* sets are looked through */
}

static void check_pattern(lua_State *l)
{
    size_t n, np;
    const char *pattern;

    (void)luaL_checklstring(l, 1, &n);
    pattern = luaL_checklstring(l, 2, &np);
    if (pattern_work((str){ pattern, np }, n) > PATTERN_WORK_MAX)
        luaL_error(l, "a pattern with so many repetitions is too much for a text of %d bytes",
                   (int)n);
    sandbox_look_at_clock(l);
}

/* The function of Lua is the upvalue. */
static int search(lua_State *l)
{
    /* A plain find has nothing to repeat. */
    if (!lua_toboolean(l, lua_upvalueindex(2)) || !lua_toboolean(l, 4))
        check_pattern(l);
    lua_pushvalue(l, lua_upvalueindex(1));
    lua_insert(l, 1);
    lua_call(l, lua_gettop(l) - 1, LUA_MULTRET);
    return lua_gettop(l);
}

static void fence_strings(lua_State *l)
{
    static const char *const searching[] = { "find", "match", "gmatch", "gsub" };

    (void)lua_getglobal(l, "string");
    for (size_t i = 0; i < sizeof(searching) / sizeof(*searching); i++) {
        (void)lua_getfield(l, -1, searching[i]);
        lua_pushboolean(l, i == 0);
        lua_pushcclosure(l, search, 2);
        lua_setfield(l, -2, searching[i]);
    }
    lua_pushnil(l);
    lua_setfield(l, -2, "dump");
    lua_pop(l, 1);
}

/* ---- names of Lua 5.1 ---- */

static int length(lua_State *l)
{
    luaL_checktype(l, 1, LUA_TTABLE);
    lua_pushinteger(l, (lua_Integer)lua_rawlen(l, 1));
    return 1;
}

static int largest(lua_State *l)
{
    lua_Number most = 0;

    luaL_checktype(l, 1, LUA_TTABLE);
    for (lua_pushnil(l); lua_next(l, 1); lua_pop(l, 1))
        if (lua_type(l, -2) == LUA_TNUMBER && lua_tonumber(l, -2) > most)
            most = lua_tonumber(l, -2);
    lua_pushnumber(l, most);
    return 1;
}

static int power(lua_State *l)
{
    lua_pushnumber(l, luaL_checknumber(l, 1));
    lua_pushnumber(l, luaL_checknumber(l, 2));
    lua_arith(l, LUA_OPPOW);
    return 1;
}

static void add_old_names(lua_State *l)
{
    (void)lua_getglobal(l, "table");
    (void)lua_getfield(l, -1, "unpack");
    lua_setglobal(l, "unpack");
    lua_pushcfunction(l, length);
    lua_setfield(l, -2, "getn");
    lua_pushcfunction(l, largest);
    lua_setfield(l, -2, "maxn");
    lua_pop(l, 1);
    (void)lua_getglobal(l, "math");
    lua_pushcfunction(l, power);
    lua_setfield(l, -2, "pow");
    lua_pop(l, 1);
}

/* ---- all of it ---- */

static int require_module(lua_State *l)
{
    const char *name = luaL_checkstring(l, 1);

    if (strcmp(name, "kube") != 0)
        return luaL_error(l, "module %s not found", name);
    sandbox_push_kube(l);
    return 1;
}

void sandbox_open(lua_State *l)
{
    static const luaL_Reg libraries[] = { { LUA_GNAME, luaopen_base },
                                          { LUA_TABLIBNAME, luaopen_table },
                                          { LUA_STRLIBNAME, luaopen_string },
                                          { LUA_MATHLIBNAME, luaopen_math } };
    static const char *const refused[] = {
        "collectgarbage", "dofile",       "getfenv",  "getmetatable", "load",   "loadfile",
        "loadstring",     "module",       "newproxy", "rawequal",     "rawget", "rawset",
        "setfenv",        "setmetatable", "warn",     "xpcall",
    };

    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        luaL_requiref(l, libraries[i].name, libraries[i].func, 1);
        lua_pop(l, 1);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        (void)lua_pushstring(l, refused[i]);
        lua_pushcclosure(l, refuse, 1);
        lua_setglobal(l, refused[i]);
    }
    lua_register(l, "pcall", protected_call);
    lua_register(l, "print", print_nothing);
    lua_register(l, "require", require_module);
    fence_strings(l);
    add_old_names(l);
}
