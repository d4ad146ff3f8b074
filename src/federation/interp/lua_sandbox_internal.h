/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_INTERP_LUA_SANDBOX_INTERNAL_H
#define FEDERATION_INTERP_LUA_SANDBOX_INTERNAL_H

/* What the files of the sandbox share.  All of it runs in a protected call and may raise. */

#include <lua.h>

#include "federation/interp/lua_sandbox.h"

/* One call; found from its state by sandbox_of(). */
struct sandbox {
    struct arena *arena;
    size_t arena_had; /* in the beginning */
    struct sandbox_call *call;
    size_t memory;
    uint64_t steps;
    int64_t end_ms;
    bool spent; /* a limit was reached: nothing catches that */
};
struct sandbox *sandbox_of(lua_State *l);

/* Raises when the call has taken too long. */
void sandbox_look_at_clock(lua_State *l);

/* lua_sandbox_value.c: pushes a tree; reads what is at an index, with trees it may come from. */
void sandbox_push(lua_State *l, const struct json *v);
struct sandbox_value sandbox_read(lua_State *l, int at, const struct json *const *like,
                                  size_t nlike);

/* lua_sandbox_kube.c: pushes the library. */
void sandbox_push_kube(lua_State *l);

/* lua_sandbox_library.c: the globals of a script. */
void sandbox_open(lua_State *l);

#endif
