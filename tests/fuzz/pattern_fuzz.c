/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/pattern.h"

#include <assert.h>

#include "base/arena.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

/* A pattern, a line's end, a text.  What is refused says why.  A pattern matches the same texts
 * with a flag that changes nothing, which keeps it from the small automaton. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str rest = { (const char *)data, size }, pattern, why = STR_NONE, again = STR_NONE;
    const struct pattern *p, *q;
    enum pattern_result r;

    if (size > 4096 || !str_utf8_valid(rest) || !str_split(&rest, '\n', &pattern))
        return 0;
    p = pattern_compile(a, pattern, &why);
    q = pattern_compile(a, str_printf(a, "(?-i:%.*s)", STR_ARG(pattern)), &again);
    assert(p ? why.n == 0 : str_starts(why, STR("error parsing regexp: ")));
    if (!p || !q)
        return 0;
    r = pattern_match(p, rest);
    if (r != PATTERN_TOO_COMPLEX && pattern_match(q, rest) != PATTERN_TOO_COMPLEX &&
        !str_contains(pattern, STR("\\Q")) && str_find(pattern, '\0', 0) < 0)
        assert(pattern_match(q, rest) == r);
    return 0;
}
