/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_INTERP_LUA_SANDBOX_H
#define FEDERATION_INTERP_LUA_SANDBOX_H

/*
 * Runs a function of somebody's Lua script on trees, and cannot be hurt by it.
 *
 * A script sees the base, string, table and math libraries but for what loads code, looks below
 * tables or touches files, and `kube` (require("kube"), lua_sandbox_kube.c).  Memory, instructions,
 * time, the work of a pattern and the size of what it returns are bounded.  Each call has a state
 * of its own, so nothing passes from one object, or one instance, to another, and any thread may
 * call.  Only what is compiled is kept.
 *
 * Scripts are written for Lua 5.1, as Karmada runs them; this is 5.4 with the names it has lost
 * (unpack, table.getn, table.maxn, math.pow).
 */

#include "json/json.h"

enum {
    SANDBOX_SCRIPT_MAX = 128 << 10, /* bytes of a script */
    SANDBOX_MEMORY_MAX = 64 << 20,  /* bytes a call may hold */
    SANDBOX_STEPS_MAX = 20000000,   /* instructions of a call */
    SANDBOX_TIME_MS = 1000,         /* and how long it may take */
    SANDBOX_VALUES_MAX = 500000,    /* values it may return, */
    SANDBOX_BYTES_MAX = 8 << 20,    /* and bytes of strings */
    SANDBOX_DEPTH_MAX = 100,        /* of tables */
    SANDBOX_RESULTS = 2,
};

/*
 * The script, ready to run, in the arena.  -1 with INVALID and where it is wrong, in the words of
 * the Lua that Karmada uses.
 */
int sandbox_compile(struct arena *a, str script, str *code, struct status *st)
    __attribute__((warn_unused_result));

struct sandbox_value {
    enum { SANDBOX_NOTHING, SANDBOX_BOOL, SANDBOX_NUMBER, SANDBOX_STRING, SANDBOX_TABLE } type;
    /* NULL: nothing; an empty table is an empty object. */
    const struct json *json;
};

/*
 * Calls the function with those trees.  An empty table that comes back where an argument has an
 * empty array or object is that again; one that the script has made says nothing and is left out.
 * -1 with INVALID and what the script did wrong.
 */
struct sandbox_call {
    str code; /* by sandbox_compile(), from nowhere else */
    const char *function;
    const struct json *const *args;
    size_t nargs, nresults;
    struct sandbox_value results[SANDBOX_RESULTS];
};
int sandbox_call(struct arena *a, struct sandbox_call *c, struct status *st)
    __attribute__((warn_unused_result));

#endif
