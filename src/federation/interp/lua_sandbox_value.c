/* SPDX-License-Identifier: Apache-2.0 */

/* Trees to tables and back. */

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"
#include "federation/interp/lua_sandbox_internal.h"

/*
 * Lua has one empty table.  Those that come from a tree carry one of these metatables, which have
 * nothing in them, so that they are told apart when they come back untouched.
 */
#define EMPTY_ARRAY  "kairship.array"
#define EMPTY_OBJECT "kairship.object"

static void push_empty(lua_State *l, const char *mark)
{
    lua_createtable(l, 0, 0);
    (void)luaL_newmetatable(l, mark);
    (void)lua_setmetatable(l, -2);
}

static void push_array(lua_State *l, const struct json *v)
{
    lua_Integer n = 0;

    lua_createtable(l, (int)v->n, 0);
    json_for_each (item, v) {
        sandbox_push(l, item);
        lua_rawseti(l, -2, ++n);
    }
}

static void push_object(lua_State *l, const struct json *v)
{
    lua_createtable(l, 0, (int)v->n);
    json_for_each_member (m, v) {
        (void)lua_pushlstring(l, m->name.p, m->name.n);
        sandbox_push(l, &m->value);
        lua_rawset(l, -3);
    }
}

void sandbox_push(lua_State *l, const struct json *v)
{
    luaL_checkstack(l, 4, "an object is too deep");
    switch (v ? v->type : JSON_NULL) {
    case JSON_NULL:
        lua_pushnil(l);
        break;
    case JSON_BOOL:
        lua_pushboolean(l, v->b);
        break;
    case JSON_INT:
        lua_pushinteger(l, v->i);
        break;
    case JSON_FLOAT:
        lua_pushnumber(l, v->f);
        break;
    case JSON_STRING:
        (void)lua_pushlstring(l, v->s, v->n);
        break;
    case JSON_ARRAY:
        if (v->n)
            push_array(l, v);
        else
            push_empty(l, EMPTY_ARRAY);
        break;
    case JSON_OBJECT:
        if (v->n)
            push_object(l, v);
        else
            push_empty(l, EMPTY_OBJECT);
        break;
    }
}

/* ---- back ---- */

enum { LIKE_MAX = 2 };

struct value_reader {
    lua_State *l;
    struct arena *arena;
    size_t values, bytes, depth;
};

/* Trees in which the same place is looked for. */
struct like {
    const struct json *at[LIKE_MAX];
};

static struct like like_member(const struct like *from, str name)
{
    struct like to;

    for (size_t i = 0; i < LIKE_MAX; i++)
        to.at[i] = json_get(from->at[i], name);
    return to;
}

static struct like like_item(const struct like *from, size_t n)
{
    struct like to;

    for (size_t i = 0; i < LIKE_MAX; i++)
        to.at[i] = json_at(from->at[i], n);
    return to;
}

static bool read_value(struct value_reader *r, int at, const struct like *like, struct json *out);

static str read_string(struct value_reader *r, int at)
{
    size_t n;
    const char *p = lua_tolstring(r->l, at, &n);
    char *copy;

    if (!str_utf8_valid((str){ p, n }))
        luaL_error(r->l, "a string is not UTF-8");
    r->bytes += n;
    if (r->bytes > SANDBOX_BYTES_MAX)
        luaL_error(r->l, "more than %d bytes are returned", SANDBOX_BYTES_MAX);
    copy = arena_alloc_raw(r->arena, n + 1);
    memcpy(copy, p, n);
    copy[n] = '\0';
    return (str){ copy, n };
}

static bool has_mark(lua_State *l, int at, const char *mark)
{
    bool same;

    if (!lua_getmetatable(l, at))
        return false;
    (void)luaL_getmetatable(l, mark);
    same = lua_rawequal(l, -1, -2);
    lua_pop(l, 2);
    return same;
}

/* False: nobody can tell what it is. */
static bool read_empty(struct value_reader *r, int at, const struct like *like, struct json *out)
{
    *out = json_empty_object;
    if (has_mark(r->l, at, EMPTY_OBJECT))
        return true;
    if (has_mark(r->l, at, EMPTY_ARRAY)) {
        *out = json_empty_array;
        return true;
    }
    for (size_t i = 0; i < LIKE_MAX; i++)
        if (like->at[i] && json_len(like->at[i]) == 0 &&
            (json_is(like->at[i], JSON_ARRAY) || json_is(like->at[i], JSON_OBJECT))) {
            *out = *like->at[i];
            return true;
        }
    return false;
}

static struct json read_array(struct value_reader *r, int at, const struct like *like)
{
    struct json_array list = json_array_new(r->arena);
    size_t n = (size_t)lua_rawlen(r->l, at), keys = 0;

    for (lua_pushnil(r->l); lua_next(r->l, at); lua_pop(r->l, 1), keys++)
        if (!lua_isinteger(r->l, -2))
            luaL_error(r->l, "a table has both numbers and names");
    if (keys != n)
        luaL_error(r->l, "a list has holes");
    for (size_t i = 0; i < n; i++) {
        struct like item = like_item(like, i);
        struct json v;

        (void)lua_rawgeti(r->l, at, (lua_Integer)i + 1);
        if (read_value(r, lua_gettop(r->l), &item, &v))
            json_push(&list, v);
        lua_pop(r->l, 1);
    }
    return json_array_value(&list);
}

static struct json read_object(struct value_reader *r, int at, const struct like *like)
{
    struct json_object o = json_object_new(r->arena);

    for (lua_pushnil(r->l); lua_next(r->l, at); lua_pop(r->l, 1)) {
        struct like member;
        struct json v;
        str name;

        if (lua_type(r->l, -2) != LUA_TSTRING)
            luaL_error(r->l, "a table has both numbers and names");
        name = read_string(r, -2);
        member = like_member(like, name);
        if (read_value(r, lua_gettop(r->l), &member, &v))
            json_add(&o, name, v);
    }
    return json_object_value(&o);
}

static bool read_table(struct value_reader *r, int at, const struct like *like, struct json *out)
{
    bool named;

    lua_pushnil(r->l);
    if (!lua_next(r->l, at))
        return read_empty(r, at, like, out);
    named = lua_type(r->l, -2) == LUA_TSTRING;
    lua_pop(r->l, 2);
    if (++r->depth > SANDBOX_DEPTH_MAX)
        luaL_error(r->l, "tables are nested more than %d deep", SANDBOX_DEPTH_MAX);
    *out = named ? read_object(r, at, like) : read_array(r, at, like);
    r->depth--;
    return true;
}

static struct json read_number(struct value_reader *r, int at)
{
    if (lua_isinteger(r->l, at))
        return json_of_int(lua_tointeger(r->l, at));
    if (!isfinite(lua_tonumber(r->l, at)))
        luaL_error(r->l, "a number is not finite");
    return json_of_float(lua_tonumber(r->l, at));
}

/* False: it is nothing. */
static bool read_value(struct value_reader *r, int at, const struct like *like, struct json *out)
{
    luaL_checkstack(r->l, 6, "a result is too deep");
    if (++r->values > SANDBOX_VALUES_MAX)
        luaL_error(r->l, "more than %d values are returned", SANDBOX_VALUES_MAX);
    switch (lua_type(r->l, at)) {
    case LUA_TNIL:
        return false;
    case LUA_TBOOLEAN:
        *out = json_of_bool(lua_toboolean(r->l, at));
        return true;
    case LUA_TNUMBER:
        *out = read_number(r, at);
        return true;
    case LUA_TSTRING:
        *out = json_of_str(read_string(r, at));
        return true;
    case LUA_TTABLE:
        return read_table(r, at, like, out);
    default:
        luaL_error(r->l, "a %s cannot be returned", luaL_typename(r->l, at));
        return false;
    }
}

struct sandbox_value sandbox_read(lua_State *l, int at, const struct json *const *like,
                                  size_t nlike)
{
    struct sandbox *s = sandbox_of(l);
    struct value_reader r = { .l = l, .arena = s->arena };
    struct like places = { { nlike > 0 ? like[0] : NULL, nlike > 1 ? like[1] : NULL } };
    struct sandbox_value v = { .type = SANDBOX_NOTHING };
    struct json j = json_empty_object;

    at = lua_absindex(l, at);
    if (!read_value(&r, at, &places, &j) && !lua_istable(l, at))
        return v;
    v.json = json_box(s->arena, j);
    switch (lua_type(l, at)) {
    case LUA_TBOOLEAN:
        v.type = SANDBOX_BOOL;
        break;
    case LUA_TNUMBER:
        v.type = SANDBOX_NUMBER;
        break;
    case LUA_TSTRING:
        v.type = SANDBOX_STRING;
        break;
    default:
        v.type = SANDBOX_TABLE;
    }
    return v;
}
