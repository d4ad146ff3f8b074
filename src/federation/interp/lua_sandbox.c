/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interp/lua_sandbox.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/clock.h"
#include "federation/interp/lua_sandbox_internal.h"

enum { HOOK_STEPS = 100 }; /* between two looks at the limits */

struct sandbox *sandbox_of(lua_State *l)
{
    return *(struct sandbox **)lua_getextraspace(l);
}

/* ---- limits ---- */

static void *allocate(void *arg, void *old, size_t old_size, size_t size)
{
    struct sandbox *s = arg;
    size_t had = old ? old_size : 0; /* without an old block it says what it is for */
    void *now;

    if (size == 0) {
        free(old);
        s->memory -= had;
        return NULL;
    }
    if (size > had && size - had > SANDBOX_MEMORY_MAX - s->memory)
        return NULL;
    now = realloc(old, size);
    if (now)
        s->memory += size - had;
    return now;
}

static void stop(lua_State *l, const char *why)
{
    sandbox_of(l)->spent = true;
    luaL_error(l, "%s", why);
}

void sandbox_look_at_clock(lua_State *l)
{
    struct sandbox *s = sandbox_of(l);

    if (s->spent || clock_now_ms(clock_real()) > s->end_ms)
        stop(l, "it takes too long");
}

static void hook(lua_State *l, lua_Debug *d)
{
    struct sandbox *s = sandbox_of(l);

    (void)d;
    s->steps += HOOK_STEPS;
    if (s->steps > SANDBOX_STEPS_MAX)
        stop(l, "it takes too long");
    sandbox_look_at_clock(l);
}

static lua_State *open_state(struct sandbox *s)
{
    lua_State *l = lua_newstate(allocate, s);

    if (!l)
        return NULL;
    *(struct sandbox **)lua_getextraspace(l) = s;
    lua_sethook(l, hook, LUA_MASKCOUNT, HOOK_STEPS);
    return l;
}

/* ---- compiling ---- */

/*
 * Karmada's Lua says `<string> line:2(column:7) near 'x':   syntax error`; ours
 * `<string>:2: … near 'x'`, without a column: the first place of the word in that line is shown.
 */
static str column_text(struct arena *a, str script, int64_t line, str word)
{
    str rest = script, text = STR_NONE;
    size_t column = 1;

    for (int64_t n = 0; n < line && str_split(&rest, '\n', &text); n++)
        continue;
    for (size_t i = 0; word.n && i + word.n <= text.n; i++)
        if (memcmp(text.p + i, word.p, word.n) == 0) {
            column = i + 1;
            break;
        }
    return str_printf(a, "<string> line:%lld(column:%zu) near '%.*s':   syntax error",
                      (long long)line, column, STR_ARG(word));
}

static ptrdiff_t find_last(str s, str word)
{
    for (size_t at = s.n - (s.n < word.n ? s.n : word.n) + 1; at-- > 0;)
        if (at + word.n <= s.n && memcmp(s.p + at, word.p, word.n) == 0)
            return (ptrdiff_t)at;
    return -1;
}

static str syntax_text(struct arena *a, str script, str message)
{
    static const str prefix = STR_INIT("<string>:"), near_word = STR_INIT(" near ");
    ptrdiff_t colon, near;
    int64_t line = 0;
    str word;

    if (!str_starts(message, prefix))
        return str_dup(a, message);
    message = str_from(message, prefix.n);
    colon = str_find(message, ':', 0);
    near = find_last(message, near_word);
    if (colon < 0 || near < 0 || !str_to_i64(str_sub(message, 0, (size_t)colon), &line))
        return str_printf(a, "<string> line:%lld:   %.*s", (long long)line, STR_ARG(message));
    word = str_from(message, (size_t)near + near_word.n);
    if (str_is(word, "<eof>"))
        return STR("<string> at EOF:   syntax error");
    if (word.n >= 2 && word.p[0] == '\'')
        word = str_sub(word, 1, word.n - 2);
    return column_text(a, script, line, word);
}

static int append(lua_State *l, const void *p, size_t n, void *arg)
{
    (void)l;
    buf_append(arg, p, n);
    return 0;
}

struct compile {
    str script;
    struct buf *code;
};

static int compile_protected(lua_State *l)
{
    struct compile *c = lua_touserdata(l, 1);

    if (luaL_loadbufferx(l, c->script.p, c->script.n, "=<string>", "t") != LUA_OK)
        return lua_error(l);
    (void)lua_dump(l, append, c->code, 0);
    return 0;
}

int sandbox_compile(struct arena *a, str script, str *code, struct status *st)
{
    struct sandbox s = { .arena = a, .end_ms = INT64_MAX };
    scoped_buf out = { 0 };
    struct compile c = { script, &out };
    lua_State *l;
    int rc = 0;

    if (script.n > SANDBOX_SCRIPT_MAX)
        return status_set(st, REASON_INVALID, "a script has at most %d bytes", SANDBOX_SCRIPT_MAX);
    buf_init(&out, 8 * SANDBOX_SCRIPT_MAX);
    l = open_state(&s);
    if (!l)
        return status_set(st, REASON_INVALID, "not enough memory");
    lua_pushcfunction(l, compile_protected);
    lua_pushlightuserdata(l, &c);
    if (lua_pcall(l, 1, 0, 0) != LUA_OK) {
        size_t n = 0;
        const char *p = lua_tolstring(l, -1, &n);
        str text = syntax_text(a, script, (str){ p, n });

        rc = status_set(st, REASON_INVALID, "%.*s", STR_ARG(text));
    } else if (buf_overflown(&out)) {
        rc = status_set(st, REASON_INVALID, "the script is too long");
    } else {
        *code = str_dup(a, buf_str(&out));
    }
    lua_close(l);
    return rc;
}

/* ---- calling ---- */

static int call_protected(lua_State *l)
{
    struct sandbox *s = sandbox_of(l);
    struct sandbox_call *c = s->call;

    sandbox_open(l);
    if (luaL_loadbufferx(l, c->code.p, c->code.n, "=<string>", "b") != LUA_OK)
        return lua_error(l);
    lua_call(l, 0, 0);
    lua_settop(l, 0);
    if (lua_getglobal(l, c->function) == LUA_TNIL)
        return luaL_error(l, "not found function %s", c->function);
    if (!lua_isfunction(l, -1))
        return luaL_error(l, "%s is not a function: %s", c->function, luaL_typename(l, -1));
    for (size_t i = 0; i < c->nargs; i++)
        sandbox_push(l, c->args[i]);
    lua_call(l, (int)c->nargs, (int)c->nresults);
    for (size_t i = 0; i < c->nresults; i++)
        c->results[i] = sandbox_read(l, (int)i + 1, c->args, c->nargs);
    return 0;
}

static str error_text(struct arena *a, lua_State *l)
{
    size_t n = 0;
    const char *p = lua_type(l, -1) == LUA_TSTRING ? lua_tolstring(l, -1, &n) : NULL;
    str text = p ? (str){ p, n < 1000 ? n : 1000 } : STR("the script failed");

    return str_utf8_valid(text) ? str_dup(a, text) : STR("the script failed");
}

int sandbox_call(struct arena *a, struct sandbox_call *c, struct status *st)
{
    struct sandbox s = { .arena = a, .call = c, .arena_had = arena_size(a) };
    lua_State *l;
    int rc = 0;

    s.end_ms = clock_now_ms(clock_real()) + SANDBOX_TIME_MS;
    l = open_state(&s);
    if (!l)
        return status_set(st, REASON_INVALID, "not enough memory");
    lua_pushcfunction(l, call_protected);
    if (lua_pcall(l, 0, 0, 0) != LUA_OK) {
        str text = error_text(a, l);

        rc = status_set(st, REASON_INVALID, "%.*s", STR_ARG(text));
    }
    lua_close(l);
    return rc;
}
