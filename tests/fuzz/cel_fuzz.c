/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crdschema/cel_estimate.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* An expression, a line's end, a JSON value for `x`.  What compiles runs to an end within its
 * limit; what does not says why. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct cel_var vars[] = { { STR("x"), &cel_types[CEL_DYN] } };
    struct cel_run run = { .arena = a, .limit = 20000 };
    str rest = { (const char *)data, size }, text, why = STR_NONE;
    const struct cel_program *p;
    const struct json *v;
    struct cel_value x;
    struct status st;

    status_init(&st, a);
    if (size > 4096 || !str_split(&rest, '\n', &text))
        return 0;
    p = cel_compile(a, text, vars, 1, &why);
    assert(p ? why.n == 0 : why.n > 0);
    assert(p || str_starts(why, STR("ERROR: <input>:")));
    if (!p || json_parse(a, rest, NULL, &v, &st) < 0)
        return 0;
    (void)cel_estimate(p);
    x = cel_of_json(&run, v, NULL);
    x = cel_eval(p, &x, &run);
    assert(!cel_over_limit(&run) || x.kind == CEL_ERROR);
    return 0;
}
